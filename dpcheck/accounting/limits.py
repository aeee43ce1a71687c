"""What events cost at the ends of their range: no noise, no sample, no guarantee, nobody drawn.

Formulas divide there; the mechanisms are plain. Without noise whoever is drawn is seen: a record that is
drawn with probability r leaks with probability r, and that is all there is to see.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from dpcheck.accounting.losses import (
    NO_LOSS,
    FiniteLoss,
    Loss,
    LossBounds,
    ResponseLoss,
    UnboundedLoss,
)
from dpcheck.accounting.worst_case import stated_steps, worst_case
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.events import guarantee, noise, selection, training
from dpcheck.core.events.event import Event, PoissonStopping, Sampled
from dpcheck.numerics.enclose import enclose

# As a pure guarantee of epsilon 0, which every ledger can add.
NOTHING = LossBounds(ResponseLoss(0.0), ResponseLoss(0.0))
_WITHOUT_NOISE = UnboundedLoss("no noise is added")
_SEEN = LossBounds(_WITHOUT_NOISE, _WITHOUT_NOISE)
# Known from above only: how likely the record decides what is released is not worked out.
_PERHAPS_SEEN = LossBounds(_WITHOUT_NOISE, None)

# Events whose record is always in what is released, by the field that is their noise.
_ALWAYS = {
    noise.Gaussian: "noise_multiplier",
    noise.Laplace: "noise_multiplier",
    noise.DiscreteGaussian: "scale",
    noise.DiscreteLaplace: "scale",
    noise.RandomizedResponse: "noise",
    selection.ReportNoisyMax: "noise_multiplier",
    training.RandomAllocationGaussian: "noise_multiplier",
    training.TreeAggregation: "noise_multiplier",
}
_SAMPLED = (
    training.SampledGaussian,
    training.SampledLaplace,
    training.TruncatedPoissonGaussian,
    training.RealisedBatchGaussian,
    training.BandedMatrix,
    training.MatrixMechanism,
)


def limit(event: Event, adjacency: Adjacency, group: int) -> LossBounds | None:
    """What an event costs where a parameter is at the end of its range; None elsewhere.

    Guarantee: as for `worst_case`.
    """
    if isinstance(event, Sampled) and event.rate == 0:
        return NOTHING
    if isinstance(event, PoissonStopping) and event.mean == 0:  # no run, no release
        return NOTHING
    if isinstance(event, selection.ShuffledReports) and event.epsilon == 0:
        return _as_refused(replace(event, epsilon=1.0), adjacency, NOTHING)
    if isinstance(event, guarantee.ApproxDP) and event.delta == 1:
        stated_steps(event.adjacency, adjacency)
        anything = UnboundedLoss("a delta of 1 guarantees nothing")
        return LossBounds(anything, anything)
    if isinstance(event, _SAMPLED) and event.sampling_rate == 0:
        sampled = replace(event, sampling_rate=0.5, noise_multiplier=1.0)
        return _as_refused(sampled, adjacency, NOTHING)
    field = _ALWAYS.get(type(event))
    if field is not None and getattr(event, field) == 0:
        return _as_refused(_with(event, field, 0.5), adjacency, _SEEN)
    if isinstance(event, selection.AboveThreshold):
        if event.threshold_noise and event.query_noise:
            return None
        queries = replace(event, threshold_noise=1.0, query_noise=1.0)
        return _as_refused(queries, adjacency, _PERHAPS_SEEN)
    if getattr(event, "noise_multiplier", None) == 0:
        usual = _with(event, "noise_multiplier", 1.0)
        return _as_refused(usual, adjacency, _without_noise(event, adjacency, group), group)
    return None


def _with(event: Event, field: str, value: float) -> Event:
    return replace(event, **{field: value})  # type: ignore[type-var]  # events are dataclasses


def _as_refused(
    usual: Event, adjacency: Adjacency, found: LossBounds, group: int = 1
) -> LossBounds:
    """`found`, unless what is usual of the event is refused under the relation."""
    if not isinstance(usual, training.MatrixMechanism | training.BandedMatrix):
        worst_case(usual, adjacency, group)
    return found


def _without_noise(event: Event, adjacency: Adjacency, group: int) -> LossBounds:
    """A batch whose sum is released as it is."""
    match event:
        case training.SampledGaussian() | training.SampledLaplace():
            return drawn(event.sampling_rate, adjacency, group)
        case training.MixtureGaussian():
            chances = zip(event.contributions, event.probabilities, strict=True)
            total = sum((Fraction(p) for c, p in chances if c > 0), Fraction(0))
            return _leaking(min(total, Fraction(1)), min(total, Fraction(1)), adjacency)
        case training.FixedBatchGaussian():
            # Where none of the group is drawn both batches are the same; where one is, both may show it.
            one = Fraction(event.batch, event.rows)
            return _leaking(one, min(one * group, Fraction(1)), Adjacency.REPLACE_ONE)
        case training.WithReplacementGaussian() if event.batch <= _FEW:
            one, any_ = Fraction(1, event.rows), min(Fraction(group, event.rows), Fraction(1))
            some = [1 - (1 - share) ** event.batch for share in (one, any_)]
            return _leaking(some[0], some[1], Adjacency.REPLACE_ONE)
    return _PERHAPS_SEEN


# Powers of fractions up to this one are taken.
_FEW = 64


def drawn(rate: float, adjacency: Adjacency, group: int) -> LossBounds:
    """A Poisson sample of which everything is released."""
    some = 1 - (1 - Fraction(rate)) ** group if group <= _FEW else Fraction(1)
    return _leaking(some if group <= _FEW else Fraction(rate), some, adjacency)


def _leaking(least: Fraction, most: Fraction, adjacency: Adjacency) -> LossBounds:
    """With a chance between these the records decide what is seen."""
    below, above = max(enclose(least)[0], 0.0), min(enclose(most)[1], 1.0)
    return LossBounds(_leak(above, adjacency), _leak(below, adjacency))


def _leak(chance: float, adjacency: Adjacency) -> Loss:
    if chance == 0:
        return NO_LOSS
    if chance == 1:
        return _WITHOUT_NOISE
    if adjacency is Adjacency.REPLACE_ONE:
        return ResponseLoss(0.0, chance)
    # Rounded up: no more than `chance` is to be missing.
    return FiniteLoss((enclose(1 - Fraction(chance))[1], chance), (1.0, 0.0))
