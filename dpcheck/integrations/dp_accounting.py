"""To and from dp-accounting's DpEvent. Needs `pip install 'dpcheck[interop]'`.

dp-accounting's noise multiplier is noise over the add-remove sensitivity, which is dpcheck's norm
bound C: the numbers carry over unchanged. Under replace-one dpcheck takes the sensitivity to be 2C
throughout; dp-accounting's PLD accountant does too, its RDP accountant takes C (for five
Gaussians of multiplier 2 at delta 1e-5 they answer 11.48 and 5.38).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy.optimize import brentq

from dpcheck.accounting.renyi.divergence import expected_runs
from dpcheck.core.errors import InvalidEvent, UsageError
from dpcheck.core.events import event as combine
from dpcheck.core.events import guarantee, noise, selection, training
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
        case combine.Parallel(events) if _one_epoch(events) is not None:
            counts = [
                _filled(tree) for tree in events if isinstance(tree, training.TreeAggregation)
            ]
            return dp.SingleEpochTreeAggregationDpEvent(_one_epoch(events), counts)
        case combine.Sampled(inner, rate):
            return dp.PoissonSampledDpEvent(rate, to_dp_event(inner))
        case combine.RandomStopping(inner, _, 1.0):
            return to_dp_event(inner)
        case combine.RandomStopping(inner, shape, stop):
            return dp.RepeatAndSelectDpEvent(to_dp_event(inner), expected_runs(shape, stop), shape)
        case combine.PoissonStopping(inner, mean):
            return dp.RepeatAndSelectDpEvent(to_dp_event(inner), mean, math.inf)
        case guarantee.ZCDP(rho, None, xi):
            return dp.ZCDpEvent(rho, xi)
        case guarantee.NotPrivate():
            return dp.NonPrivateDpEvent()
    return _noise_to_dp_event(event)


def _noise_to_dp_event(event: Event) -> Foreign:
    dp = _dp_event()
    match event:
        case noise.Gaussian(sigma):
            return dp.GaussianDpEvent(sigma)
        case noise.Laplace(scale):
            return dp.LaplaceDpEvent(scale)
        case noise.DiscreteLaplace(scale, norm_bound):
            return dp.DiscreteLaplaceDpEvent(1 / scale, norm_bound)
        case noise.RandomizedResponse(random, kinds):
            return dp.RandomizedResponseDpEvent(random, kinds)
        case training.SampledGaussian(sigma, rate):
            return dp.PoissonSampledDpEvent(rate, dp.GaussianDpEvent(sigma))
        case training.SampledLaplace(scale, rate):
            return dp.PoissonSampledDpEvent(rate, dp.LaplaceDpEvent(scale))
        case training.FixedBatchGaussian(sigma, rows, batch):
            return dp.SampledWithoutReplacementDpEvent(rows, batch, dp.GaussianDpEvent(sigma))
        case training.TruncatedPoissonGaussian(sigma, rate, rows, most):
            return dp.TruncatedSubsampledGaussianDpEvent(rows, rate, most, sigma)
        case training.WithReplacementGaussian(sigma, rows, batch):
            return dp.SampledWithReplacementDpEvent(rows, batch, dp.GaussianDpEvent(sigma))
        case training.MixtureGaussian(sigma, contributions, probabilities):
            rest = max(0.0, 1.0 - math.fsum(probabilities))
            return dp.MixtureOfGaussiansDpEvent(
                sigma, [*contributions, 0.0], [*probabilities, rest]
            )
        case training.TreeAggregation(sigma, _, 1, _, _):
            return dp.SingleEpochTreeAggregationDpEvent(sigma, _filled(event))
    raise InvalidEvent(f"dp-accounting has no event for {type(event).__name__}.")


def _filled(tree: training.TreeAggregation) -> int:
    """The steps of a tree whose completed nodes, all that dp-accounting counts, are the nodes of this."""
    return tree.steps if tree.completed_only else 1 << (tree.steps - 1).bit_length()


def _one_epoch(events: tuple[Event, ...]) -> float | None:
    """The noise of trees over other people each, one participation a record; None for anything else."""
    noises = {
        tree.noise_multiplier
        for tree in events
        if isinstance(tree, training.TreeAggregation) and tree.participations == 1
    }
    trees = all(isinstance(tree, training.TreeAggregation) for tree in events)
    return noises.pop() if trees and len(noises) == 1 else None


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
        case dp.PoissonSampledDpEvent():
            return _poisson_sampled(event)
        case dp.RepeatAndSelectDpEvent():
            return _selected(event)
        case dp.UnsupportedDpEvent():
            return guarantee.NotPrivate("declared UnsupportedDpEvent: nothing is known about it")
    return _noise_from_dp_event(event)


def _noise_from_dp_event(event: Foreign) -> Event:
    dp = _dp_event()
    match event:
        case dp.GaussianDpEvent():
            return _noisy(noise.Gaussian, event)
        case dp.LaplaceDpEvent():
            return _noisy(noise.Laplace, event)
        case dp.DiscreteLaplaceDpEvent():
            return _discrete_laplace(event)
        case dp.RandomizedResponseDpEvent():
            return noise.RandomizedResponse(event.noise_parameter, event.num_buckets)
        case dp.ZCDpEvent():
            return guarantee.ZCDP(event.rho, xi=event.xi)
        case dp.SampledWithoutReplacementDpEvent() | dp.SampledWithReplacementDpEvent():
            return _drawn(event)
        case dp.MixtureOfGaussiansDpEvent():
            if event.standard_deviation == 0:
                return guarantee.NotPrivate("standard deviation 0")
            return training.MixtureGaussian(
                event.standard_deviation,
                tuple(event.sensitivities),
                tuple(event.sampling_probs),
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
            parts = tuple(
                training.TreeAggregation(event.noise_multiplier, n, completed_only=True)
                for n in trees
            )
            return parts[0] if len(parts) == 1 else combine.Parallel(parts)
    return _newer(event)


def _newer(event: Foreign) -> Event:
    """Kinds that came after 0.6.0, by name."""
    match type(event).__name__:
        case "EpsilonDeltaDpEvent":
            return guarantee.ApproxDP(event.epsilon, event.delta)
        case "ExponentialMechanismDpEvent":
            return noise.ExponentialMechanism(event.epsilon)
        case "PermuteAndFlipDpEvent":
            return selection.PermuteAndFlip(event.epsilon)
        case "DiscreteGaussianDpEvent" if hasattr(event, "sigma"):
            return noise.DiscreteGaussian(event.sigma, getattr(event, "sensitivity", 1))
    raise _unknown(event)


def _poisson_sampled(event: Foreign) -> Event:
    dp = _dp_event()
    rate = event.sampling_probability
    match event.event:
        case dp.GaussianDpEvent(noise_multiplier=sigma) if sigma > 0:
            return training.SampledGaussian(sigma, rate)
        case dp.LaplaceDpEvent(noise_multiplier=scale) if scale > 0:
            return training.SampledLaplace(scale, rate)
    return combine.Sampled(from_dp_event(event.event), rate)


def _drawn(event: Foreign) -> Event:
    dp = _dp_event()
    if not isinstance(event.event, dp.GaussianDpEvent):
        raise InvalidEvent(
            f"dpcheck has no bound for {type(event.event).__name__} on batches of fixed size; Gaussian "
            "steps have one."
        )
    if event.event.noise_multiplier == 0:
        return guarantee.NotPrivate("noise multiplier 0")
    once = isinstance(event, dp.SampledWithoutReplacementDpEvent)
    kind = training.FixedBatchGaussian if once else training.WithReplacementGaussian
    return kind(event.event.noise_multiplier, event.source_dataset_size, event.sample_size)


def _selected(event: Foreign) -> Event:
    """The best of a random number of runs, by the mean of that number instead of its stopping parameter."""
    if math.isinf(event.shape):
        return combine.PoissonStopping(from_dp_event(event.event), event.mean)
    if event.mean <= 1:
        raise InvalidEvent("RepeatAndSelectDpEvent with a mean of 1 run or less selects nothing.")
    # The mean falls from infinity to 1 as the stopping parameter rises from 0 to 1.
    stop = brentq(
        lambda log_stop: math.log(expected_runs(event.shape, math.exp(log_stop)) / event.mean),
        -600.0,
        -1e-9,
        xtol=1e-14,
    )
    return combine.RandomStopping(from_dp_event(event.event), event.shape, math.exp(stop))


def _noisy(kind: Callable[[float], Event], event: Foreign) -> Event:
    """dp-accounting allows a multiplier of 0 for 'no noise at all'."""
    if event.noise_multiplier == 0:
        return guarantee.NotPrivate("noise multiplier 0")
    return kind(event.noise_multiplier)


def _discrete_laplace(event: Foreign) -> Event:
    """dp-accounting has the rate of decay where dpcheck has the scale; a rate of 0 is no law at all."""
    if not event.noise_parameter > 0:
        raise InvalidEvent(
            f"DiscreteLaplaceDpEvent needs a noise_parameter above 0, got {event.noise_parameter!r}: no "
            "integer noise has that rate of decay."
        )
    return noise.DiscreteLaplace(1 / event.noise_parameter, event.sensitivity)


def _unknown(event: object) -> InvalidEvent:
    return InvalidEvent(f"dpcheck has no event for {type(event).__name__}.")
