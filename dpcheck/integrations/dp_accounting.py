"""To and from dp-accounting's DpEvent. Needs `pip install 'dpcheck[interop]'`.

dp-accounting's noise multiplier is noise over the add-remove sensitivity, which is dpcheck's norm
bound C: the numbers carry over unchanged. Under replace-one dpcheck takes the sensitivity to be 2C
throughout; dp-accounting's PLD accountant does too, its RDP accountant takes C (for five
Gaussians of multiplier 2 at delta 1e-5 they answer 11.48 and 5.38).
"""

from __future__ import annotations

from collections.abc import Callable

from dpcheck.accounting.renyi.divergence import expected_runs
from dpcheck.core.errors import InvalidEvent, UsageError
from dpcheck.core.events import event as combine
from dpcheck.core.events import guarantee, noise, training
from dpcheck.core.events.event import Event
from dpcheck.integrations.foreign import Foreign


def _dp_event() -> Foreign:
    try:
        from dp_accounting import dp_event
    except ImportError:
        raise UsageError(
            "dp-accounting is not installed; run: pip install 'dpcheck[interop]'"
        ) from None
    return dp_event


def to_dp_event(event: Event) -> Foreign:
    """The DpEvent that means the same; InvalidEvent where dp-accounting has none.

    >>> to_dp_event(noise.Gaussian(1.5) * 3)
    SelfComposedDpEvent(event=GaussianDpEvent(noise_multiplier=1.5), count=3)
    """
    dp = _dp_event()
    match event:
        case combine.Sequential(events):
            return dp.ComposedDpEvent([to_dp_event(e) for e in events])
        case combine.Repeated(inner, times):
            return dp.SelfComposedDpEvent(to_dp_event(inner), times)
        case noise.Gaussian(sigma):
            return dp.GaussianDpEvent(sigma)
        case noise.Laplace(scale):
            return dp.LaplaceDpEvent(scale)
        case noise.DiscreteLaplace(scale, norm_bound):
            return dp.DiscreteLaplaceDpEvent(1 / scale, norm_bound)
        case noise.RandomizedResponse(random, kinds):
            return dp.RandomizedResponseDpEvent(random, kinds)
        case guarantee.ZCDP(rho, None):
            return dp.ZCDpEvent(rho)
        case guarantee.NotPrivate():
            return dp.NonPrivateDpEvent()
        case training.SampledGaussian(sigma, rate):
            return dp.PoissonSampledDpEvent(rate, dp.GaussianDpEvent(sigma))
        case training.SampledLaplace(scale, rate):
            return dp.PoissonSampledDpEvent(rate, dp.LaplaceDpEvent(scale))
        case training.FixedBatchGaussian(sigma, rows, batch):
            return dp.SampledWithoutReplacementDpEvent(rows, batch, dp.GaussianDpEvent(sigma))
        case training.TruncatedPoissonGaussian(sigma, rate, rows, most):
            return dp.TruncatedSubsampledGaussianDpEvent(rows, rate, most, sigma)
        case training.TreeAggregation(sigma, steps, 1, _):
            return dp.SingleEpochTreeAggregationDpEvent(sigma, steps)
        case combine.RandomStopping(inner, shape, stop):
            return dp.RepeatAndSelectDpEvent(to_dp_event(inner), expected_runs(shape, stop), shape)
    raise InvalidEvent(f"dp-accounting has no event for {type(event).__name__}.")


def from_dp_event(event: Foreign) -> Event:
    """The dpcheck event that means the same; InvalidEvent where there is none.

    >>> from dp_accounting import dp_event
    >>> from_dp_event(dp_event.PoissonSampledDpEvent(0.01, dp_event.GaussianDpEvent(1.1)))
    SampledGaussian(noise_multiplier=1.1, sampling_rate=0.01)
    """
    dp = _dp_event()
    match event:
        case dp.ComposedDpEvent():
            return combine.Sequential(tuple(from_dp_event(e) for e in event.events))
        case dp.SelfComposedDpEvent():
            return from_dp_event(event.event) * int(event.count)
        case dp.NoOpDpEvent():
            return combine.Sequential(())
        case dp.NonPrivateDpEvent():
            return guarantee.NotPrivate("declared NonPrivateDpEvent")
        case dp.GaussianDpEvent():
            return _noisy(noise.Gaussian, event)
        case dp.LaplaceDpEvent():
            return _noisy(noise.Laplace, event)
        case dp.DiscreteLaplaceDpEvent():
            return noise.DiscreteLaplace(1 / event.noise_parameter, event.sensitivity)
        case dp.RandomizedResponseDpEvent():
            return noise.RandomizedResponse(event.noise_parameter, event.num_buckets)
        case dp.ZCDpEvent() if event.xi == 0:
            return guarantee.ZCDP(event.rho)
        case dp.PoissonSampledDpEvent():
            return _poisson_sampled(event)
        case dp.SampledWithoutReplacementDpEvent() if isinstance(event.event, dp.GaussianDpEvent):
            return training.FixedBatchGaussian(
                event.event.noise_multiplier, event.source_dataset_size, event.sample_size
            )
        case dp.TruncatedSubsampledGaussianDpEvent():
            return training.TruncatedPoissonGaussian(
                event.noise_multiplier,
                event.sampling_probability,
                event.dataset_size,
                event.truncated_batch_size,
            )
        case dp.SingleEpochTreeAggregationDpEvent():
            counts = event.step_counts
            trees = [counts] if isinstance(counts, int) else list(counts)
            # A record is in one of the trees, at one of its steps.
            parts = tuple(training.TreeAggregation(event.noise_multiplier, n) for n in trees)
            return parts[0] if len(parts) == 1 else combine.Parallel(parts)
    raise _unknown(event)


def _poisson_sampled(event: Foreign) -> Event:
    dp = _dp_event()
    match event.event:
        case dp.GaussianDpEvent(noise_multiplier=sigma):
            return training.SampledGaussian(sigma, event.sampling_probability)
        case dp.LaplaceDpEvent(noise_multiplier=scale):
            return training.SampledLaplace(scale, event.sampling_probability)
    raise _unknown(event)


def _noisy(kind: Callable[[float], Event], event: Foreign) -> Event:
    """dp-accounting allows a multiplier of 0 for 'no noise at all'."""
    if event.noise_multiplier == 0:
        return guarantee.NotPrivate("noise multiplier 0")
    return kind(event.noise_multiplier)


def _unknown(event: object) -> InvalidEvent:
    return InvalidEvent(f"dpcheck has no event for {type(event).__name__}.")
