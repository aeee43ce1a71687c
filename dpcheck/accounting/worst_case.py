"""Where an event meets an adjacency: event -> worst-case pair of distributions, one case per event.

Every number is rounded to the safe side: the upper pair never has less shift, the lower never more.
"""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from functools import singledispatch

from flint import arb

from dpcheck.accounting.losses import (
    BoundedLoss,
    BoundedRangeLoss,
    ConcentratedLoss,
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    FiniteLoss,
    GaussianLoss,
    GaussianObjectiveLoss,
    GroupedLoss,
    LaplaceLoss,
    LatticeMassLoss,
    Loss,
    LossBounds,
    ObjectiveLoss,
    ResponseLoss,
    SphericalLoss,
    UnboundedLoss,
)
from dpcheck.accounting.objective import event_epsilon
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.errors import InvalidEvent, UnsupportedAdjacency
from dpcheck.core.events import guarantee, noise, training
from dpcheck.core.events.event import Event, stated_adjacency
from dpcheck.numerics.balls import above, below, precision
from dpcheck.numerics.enclose import (
    enclose,
    enclose_product,
    enclose_quotient,
    enclose_ratio,
    enclose_root,
    enclose_root_ratio,
)

OBJECTIVE = (
    "objective perturbation: the exact minimiser is released, the number of rows is public, "
    "rows are clipped to a public norm bound"
)


@singledispatch
def worst_case(event: Event, adjacency: Adjacency, group: int = 1) -> LossBounds:
    """The pair that dominates `event` between neighbours, and one it contains.

    `group` is the number of records one person owns. Both directions of add-remove are obtained
    with `Loss.reversed`.

    Guarantee: `upper` dominates every pair of outputs of every mechanism the event describes.
    """
    raise InvalidEvent(f"{type(event).__name__} is no event that dpcheck can account for.")


def stated_under(event: Event, stated: Adjacency) -> Event:
    """The event with its guarantee stated under `stated`, unless it says itself under which.

    Whatever has a field `adjacency` is known by what was proved under one. Mechanisms that are described by
    their noise need no statement: what they do between neighbours of any relation follows from the
    description.
    """
    if is_dataclass(event) and any(field.name == "adjacency" for field in fields(event)):
        return event if stated_adjacency(event) is not None else replace(event, adjacency=stated)
    return event


def stated_steps(stated: Adjacency | None, adjacency: Adjacency) -> int:
    """How many stated steps make one accounted step; an error where none do."""
    if stated is None or stated is adjacency:
        return 1
    if adjacency is Adjacency.REPLACE_ONE:
        return 2  # a replacement is a removal and an addition [Dwork2014, Theorem 2.2]
    if stated is Adjacency.REPLACE_ONE and adjacency is Adjacency.ZERO_OUT:
        return 1  # a null record is one of the records it may be replaced by
    raise UnsupportedAdjacency(
        f"a guarantee stated under {stated} says nothing under {adjacency}, where the number of "
        f"rows {'changes' if adjacency is Adjacency.ADD_REMOVE else 'stays'}; account it under "
        f"{stated} or state it anew.",
        stated=stated,
        adjacency=adjacency,
    )


@worst_case.register
def _(event: noise.Gaussian, adjacency: Adjacency, group: int = 1) -> LossBounds:
    down, up = enclose_quotient(adjacency.moves * group, event.noise_multiplier)
    return LossBounds(GaussianLoss(up), GaussianLoss(down))


@worst_case.register
def _(event: noise.Laplace, adjacency: Adjacency, group: int = 1) -> LossBounds:
    down, up = enclose_quotient(adjacency.moves * group, event.noise_multiplier)
    return LossBounds(LaplaceLoss(up), LaplaceLoss(down))


@worst_case.register
def _(event: noise.DiscreteGaussian, adjacency: Adjacency, group: int = 1) -> LossBounds:
    # Larger shifts dominate smaller ones: the noise is log-concave, so likelihood ratios are monotone.
    loss = DiscreteGaussianLoss(event.scale, event.norm_bound * adjacency.moves * group)
    return LossBounds(loss, loss)


@worst_case.register
def _(event: noise.DiscreteLaplace, adjacency: Adjacency, group: int = 1) -> LossBounds:
    loss = DiscreteLaplaceLoss(event.scale, event.norm_bound * adjacency.moves * group)
    return LossBounds(loss, loss)


@worst_case.register
def _(event: noise.RandomizedResponse, adjacency: Adjacency, group: int = 1) -> LossBounds:
    if adjacency is not Adjacency.REPLACE_ONE:
        raise UnsupportedAdjacency(
            f"randomized response has one output per person, so {adjacency} changes what is "
            "released; account it under replace-one.",
            adjacency=adjacency,
        )
    (random, whole), kinds = event.noise.as_integer_ratio(), event.categories
    # The mass of the true answer over that of another is 1 + (1 - noise) kinds / noise.
    low, high = _log_one_plus((whole - random) * kinds, random)
    neutral_low, neutral_high = enclose_ratio((kinds - 2) * random, kinds * whole)
    if group > 1:
        raise InvalidEvent("the records of a group answer one by one; compose them.")
    return LossBounds(
        ResponseLoss(high, neutral=max(0.0, neutral_low)),
        ResponseLoss(low, neutral=neutral_high),
    )


def _log_one_plus(part: int, whole: int) -> tuple[float, float]:
    """Floats below and above log(1 + part / whole), of whole numbers that are not negative."""
    if not part:
        return 0.0, 0.0
    with precision(128):
        ball = (arb(part) / arb(whole)).log1p()
        return max(0.0, below(ball)), above(ball)


@worst_case.register
def _(event: noise.ExponentialMechanism, adjacency: Adjacency, group: int = 1) -> LossBounds:
    steps = stated_steps(event.adjacency, adjacency) * group
    # Two candidates with opposite utilities attain half of the range on each side.
    return LossBounds(
        BoundedRangeLoss(enclose_product(event.epsilon, steps)[1]),
        ResponseLoss(enclose_product(event.epsilon, steps)[0] / 2),
    )


@worst_case.register
def _(event: noise.FinitePair, adjacency: Adjacency, group: int = 1) -> LossBounds:
    tables = (event.q, event.p) if event.with_record == "q" else (event.p, event.q)
    loss, sided = FiniteLoss(*tables), event.with_record is not None
    steps = stated_steps(event.adjacency, adjacency) * group
    upper = loss if steps == 1 else GroupedLoss(loss, steps, mixed=True)
    return LossBounds(upper, loss, sided=sided)


@worst_case.register
def _(event: guarantee.PureDP, adjacency: Adjacency, group: int = 1) -> LossBounds:
    steps = stated_steps(event.adjacency, adjacency) * group
    down, up = enclose_product(event.epsilon, steps)
    # Over several steps randomized response no longer chains, but Laplace noise does.
    return LossBounds(ResponseLoss(up), ResponseLoss(down) if steps == 1 else LaplaceLoss(down))


@worst_case.register
def _(event: guarantee.ApproxDP, adjacency: Adjacency, group: int = 1) -> LossBounds:
    steps = stated_steps(event.adjacency, adjacency) * group
    attained = ResponseLoss(event.epsilon, event.delta)
    if steps == 1:
        return LossBounds(attained, attained)
    # [Vadhan2017] Lemma 2.2: delta grows by sum_{i<k} e^{i eps}.
    if (steps - 1) * event.epsilon > 700:
        growth = math.inf if event.delta else 0.0
    else:
        growth = math.fsum(math.exp(i * event.epsilon) for i in range(steps))
    # An exponent of up to 700 errs by as many units, 1e-12 is 9,000.
    delta = math.nextafter(event.delta * growth * (1 + 1e-12), math.inf) if event.delta else 0.0
    if delta >= 1:
        return LossBounds(UnboundedLoss(f"delta of a group of {steps} exceeds 1"), attained)
    return LossBounds(ResponseLoss(enclose_product(event.epsilon, steps)[1], delta), attained)


@worst_case.register
def _(event: guarantee.ZCDP, adjacency: Adjacency, group: int = 1) -> LossBounds:
    if not event.rho:  # no divergence is above xi, so no loss is
        return worst_case(guarantee.PureDP(event.xi, event.adjacency), adjacency, group)
    steps = stated_steps(event.adjacency, adjacency) * group
    # Group privacy of zCDP is quadratic [Bun2016, Proposition 1.9]; the Gaussian attains it.
    above, below = event.rho.as_integer_ratio()
    above *= steps**2
    offset = event.xi
    if steps > 1:
        offset = enclose(Fraction(event.xi) * steps * _harmonic(steps))[1]
    return LossBounds(
        ConcentratedLoss(enclose_ratio(above, below)[1], offset),
        GaussianLoss(enclose_root_ratio(2 * above, below)[0]),
    )


def _harmonic(steps: int) -> Fraction:
    """1 + 1/2 + ... + 1/steps, of many at most 1 + log(steps), rounded up by more than a logarithm errs."""
    if steps > 1000:
        return 1 + Fraction(math.log(steps) * (1 + 1e-14))
    return sum((Fraction(1, i) for i in range(1, steps + 1)), Fraction(0))


@worst_case.register
def _(event: guarantee.GDP, adjacency: Adjacency, group: int = 1) -> LossBounds:
    # Group privacy of GDP is linear [Dong2022, Theorem 2.14].
    down, up = enclose_product(event.mu, stated_steps(event.adjacency, adjacency) * group)
    return LossBounds(GaussianLoss(up), GaussianLoss(down))


@worst_case.register
def _(event: guarantee.LossDistribution, adjacency: Adjacency, group: int = 1) -> LossBounds:
    steps = stated_steps(event.adjacency, adjacency) * group
    loss: Loss = LatticeMassLoss(event.step, event.first, event.masses, event.infinite, event.added)
    given = "the privacy-loss distribution that was given bounds the mechanism's"
    # It is an upper bound: nothing is known below.
    upper = loss if steps == 1 else GroupedLoss(loss, steps, mixed=True)
    return LossBounds(upper, None, assumes=(given,))


@worst_case.register
def _(event: guarantee.NotPrivate, adjacency: Adjacency, group: int = 1) -> LossBounds:
    return LossBounds(UnboundedLoss(event.reason), UnboundedLoss(event.reason))


@worst_case.register
def _(event: training.BandedMatrix, adjacency: Adjacency, group: int = 1) -> LossBounds:
    # Columns `bands` apart have disjoint support, so participations add in squares
    # [ChoquetteChoo2023, Theorem 2]. The sampled form is expanded before it gets here.
    takes = min(event.participations, 1 + (event.steps - 1) // event.bands)
    scale = Fraction(adjacency.moves * group) / Fraction(event.noise_multiplier)
    down, up = enclose_root(takes * scale**2)
    return LossBounds(GaussianLoss(up), GaussianLoss(down))


@worst_case.register
def _(event: training.ObjectivePerturbation, adjacency: Adjacency, group: int = 1) -> LossBounds:
    if adjacency is Adjacency.ADD_REMOVE:
        reason = "adding a record changes rows * regularization, and the loss is unbounded"
        return LossBounds(UnboundedLoss(reason), UnboundedLoss(reason))
    attained, upper = event_epsilon(event, adjacency)
    loss: Loss = BoundedLoss(enclose_product(upper, group)[1], attained)
    least = loss
    if adjacency is Adjacency.REPLACE_ONE and group == 1 and _is_tabled(event.dimension, upper):
        least, loss = _objective(event, upper, attained)
    return LossBounds(loss, least, assumes=(OBJECTIVE,))


@worst_case.register
def _(
    event: training.GaussianObjectivePerturbation, adjacency: Adjacency, group: int = 1
) -> LossBounds:
    if adjacency is Adjacency.ADD_REMOVE:
        reason = (
            "adding a record changes rows * regularization, which many weights together tell apart"
        )
        return LossBounds(UnboundedLoss(reason), UnboundedLoss(reason))
    modulus = event.rows * Fraction(event.regularization)
    upper: Loss = GaussianObjectiveLoss(
        enclose_quotient(1, event.noise_multiplier)[1],
        enclose(Fraction(event.norm_bound) ** 2 / modulus)[1],
        adjacency is Adjacency.REPLACE_ONE,
    )
    if group > 1:
        upper = GroupedLoss(upper, group)
    # With all slopes next to 1 the minimiser is a Gaussian answer (`pld.pairs.objective`).
    down, _ = enclose_quotient(adjacency.moves * group, event.noise_multiplier)
    return LossBounds(upper, GaussianLoss(down), assumes=(OBJECTIVE,))


@worst_case.register
def _(event: training.OutputPerturbation, adjacency: Adjacency, group: int = 1) -> LossBounds:
    steps = stated_steps(event.adjacency, adjacency) * group
    down, up = enclose(Fraction(event.rate) * Fraction(event.sensitivity) * steps)
    # In one dimension this is the Laplace mechanism; where the dimension is not told, it may be one.
    if event.dimension == 1:
        return LossBounds(LaplaceLoss(up), LaplaceLoss(down))
    if event.dimension is not None and _is_tabled(event.dimension, up):
        return LossBounds(SphericalLoss(up, event.dimension), SphericalLoss(down, event.dimension))
    return LossBounds(ResponseLoss(up), LaplaceLoss(down) if event.dimension is None else None)


def _is_tabled(dimension: int | None, largest: float) -> bool:
    """Whether floats resolve e^loss along the whole curve; beyond, the largest loss is what is known."""
    return dimension is not None and dimension > 1 and 1e-4 <= largest <= 300


def _objective(
    event: training.ObjectivePerturbation, upper: float, attained: float
) -> tuple[ObjectiveLoss, ObjectiveLoss]:
    """The noise of density exp(-noise_epsilon |b| / 2) in its own units, on the lower and the upper side."""
    bound = Fraction(event.norm_bound)
    modulus = event.rows * (Fraction(event.regularization) + Fraction(event.extra_regularization))
    ratio = enclose(Fraction(event.noise_epsilon) * bound / 2)
    curvature = enclose(bound**2 / modulus)
    dimension = event.dimension or 1
    return (
        ObjectiveLoss(upper, attained, ratio[0], curvature[0], dimension),
        ObjectiveLoss(upper, attained, ratio[1], curvature[1], dimension),
    )
