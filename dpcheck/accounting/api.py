"""The four questions: epsilon at a delta, delta at an epsilon, Renyi divergence, trade-off function."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial
from typing import overload

import numpy as np

from dpcheck.accounting.accountants import best
from dpcheck.accounting.assumptions import PLAIN_ARITHMETIC, RANDOMNESS
from dpcheck.accounting.compose import Profile, profiles
from dpcheck.accounting.losses import UnboundedLoss
from dpcheck.accounting.renyi.divergence import composed_renyi
from dpcheck.accounting.renyi.lower import composed_renyi_lower
from dpcheck.accounting.sides import lower_side, upper_side
from dpcheck.accounting.tradeoff import best_tradeoff
from dpcheck.core.adjacency import Adjacency, as_adjacency
from dpcheck.core.bound import Bound
from dpcheck.core.errors import InvalidParameter
from dpcheck.core.events.event import Event, natural_adjacency
from dpcheck.core.validate import finite, non_negative, probability
from dpcheck.numerics.enclose import enclose
from dpcheck.numerics.rounding import Array

# Products with larger orders leave the range of floats.
LARGEST_ORDER = 1e150


def _resolve(event: Event, adjacency: Adjacency | str | None) -> Adjacency:
    if not isinstance(event, Event):
        raise InvalidParameter(f"expected an event, got {event!r}.", value=event)
    return natural_adjacency(event) if adjacency is None else as_adjacency(adjacency)


def epsilon(
    event: Event,
    *,
    delta: float = 0.0,
    adjacency: Adjacency | str | None = None,
    method: str = "best",
) -> Bound:
    """What `event` spends at `delta`: proved lower and upper bounds on its epsilon.

    Without `adjacency` the one the event is usually stated under is used; the answer carries it.
    `method` names one accountant instead of the best of all; `lower` is then 0.

    Guarantee: no mechanism the event describes has an epsilon above `upper`; some has one of at least
    `lower`.
    Assumes: what the answer's `assumes` lists.

    >>> from dpcheck import PureDP
    >>> epsilon(PureDP(0.5) * 3).upper
    1.5
    """
    relation, target = _resolve(event, adjacency), probability("delta", delta)
    chosen = best.accountants(method)
    options = list(profiles(event, relation))
    found = best.alternatives_epsilon(options, target, chosen)
    bounds = [_assuming(profile, bound) for profile, bound in zip(options, found, strict=True)]
    return _worst(bounds, relation, partial(_explain, event, target, relation))


def _explain(event: Event, delta: float, adjacency: Adjacency) -> object:
    from dpcheck.accounting.explain import explain_epsilon

    return explain_epsilon(event, delta, adjacency)


def epsilon_upper(
    event: Event, *, delta: float, adjacency: Adjacency | str | None, method: str = "best"
) -> float:
    """The upper side of `epsilon` alone, at half the price; for searches.

    Guarantee: never below the true epsilon.
    """
    relation, target = _resolve(event, adjacency), probability("delta", delta)
    chosen = best.accountants(method)
    costs = [
        min(best.epsilon_upper(upper_side(profile), target, accountant) for accountant in chosen)
        for profile in profiles(event, relation)
    ]
    return max(costs, default=0.0)


def epsilon_lower(event: Event, *, delta: float, adjacency: Adjacency | str | None = None) -> float:
    """The lower side of `epsilon` alone; for refuting other accountants.

    Guarantee: some mechanism the event describes spends at least that much.
    """
    relation, target = _resolve(event, adjacency), probability("delta", delta)
    sides = [lower_side(profile) for profile in profiles(event, relation)]
    return max((best.epsilon_lower(side, target) for side in sides), default=0.0)


def verify_epsilon(
    event: Event, *, delta: float, adjacency: Adjacency | str | None = None
) -> Bound:
    """`epsilon` by the PLD, proved a second time in ball arithmetic; seconds to minutes.

    Guarantee: raises CannotCertify unless a slow, independent proof confirms the upper side; `lower` is 0
    where none confirms it.
    """
    from dpcheck.accounting.verification import verified

    relation, target = _resolve(event, adjacency), probability("delta", delta)
    return _worst([verified(profile, target) for profile in profiles(event, relation)], relation)


@overload
def delta(event: Event, *, epsilon: float, adjacency: Adjacency | str | None = None) -> Bound: ...


@overload
def delta(
    event: Event, *, epsilon: Iterable[float], adjacency: Adjacency | str | None = None
) -> list[Bound]: ...


def delta(
    event: Event,
    *,
    epsilon: float | Iterable[float],
    adjacency: Adjacency | str | None = None,
) -> Bound | list[Bound]:
    """The delta `event` needs at `epsilon`: proved lower and upper bounds.

    Many epsilons, in a list or an array, are answered together, by the same few lattices where they can be.

    Guarantee: as for `epsilon`.

    >>> from dpcheck import Gaussian
    >>> round(delta(Gaussian(1.0), epsilon=1.0).upper, 6)
    0.126937
    >>> [round(bound.upper, 6) for bound in delta(Gaussian(1.0), epsilon=[0.0, 1.0, 2.0])]
    [0.382925, 0.126937, 0.020924]
    """
    relation = _resolve(event, adjacency)
    alone = isinstance(epsilon, str) or getattr(epsilon, "ndim", 1) == 0
    if isinstance(epsilon, Iterable) and not alone:
        targets = np.array([non_negative("epsilon", one) for one in epsilon])
        return _deltas(event, targets, relation)
    return _deltas(event, np.array([non_negative("epsilon", epsilon)]), relation)[0]


def _deltas(event: Event, targets: Array, relation: Adjacency) -> list[Bound]:
    options = list(profiles(event, relation))
    answers = best.alternatives_deltas(options, targets)
    found = [
        _all_assuming(profile, bounds) for profile, bounds in zip(options, answers, strict=True)
    ]
    return [_worst([one[i] for one in found], relation) for i in range(len(targets))]


def rdp(event: Event, order: float, *, adjacency: Adjacency | str | None = None) -> Bound:
    """The Renyi divergence of `event` at `order` > 1, in the worse direction.

    Guarantee: never below the divergence; `lower` is 0 where no exact pair is known.

    >>> from dpcheck import Gaussian
    >>> round(rdp(Gaussian(2.0), order=8).upper, 12)
    1.0
    """
    relation, alpha = _resolve(event, adjacency), finite("order", order)
    if alpha <= 1:
        raise InvalidParameter(f"order must be above 1, got {alpha:g}.", name="order", value=alpha)
    if alpha > LARGEST_ORDER:
        raise InvalidParameter(
            f"order must be at most {LARGEST_ORDER:g}, got {alpha:g}; epsilon at delta 0 is the limit.",
            name="order",
            value=alpha,
        )
    orders = np.array([alpha])
    bounds = []
    for profile in profiles(event, relation):
        side, known = upper_side(profile), lower_side(profile)
        finite_cost = not side.leak and not side.failure
        upper = float(composed_renyi(side.parts, orders)[0]) if finite_cost else math.inf
        lower = math.inf if known.leak else float(composed_renyi_lower(known.parts, orders)[0])
        lower = best.agreed(lower, upper, "its lower side", "rdp")
        found = Bound(lower, upper, "rdp", assumes=(PLAIN_ARITHMETIC,))
        bounds.append(_assuming(profile, found))
    return _worst(bounds, relation)


def tradeoff(event: Event, fpr: float, *, adjacency: Adjacency | str | None = None) -> Bound:
    """The least false-negative rate of any test of one neighbour against the other, at `fpr`.

    Guarantee: no test with that false-positive rate misses less often than `lower`.
    Reference: [Dong2022] Proposition 2.13 for the step from (epsilon, delta) to f.

    >>> from dpcheck import Gaussian
    >>> round(tradeoff(Gaussian(1.0), 0.05).lower, 6)
    0.740489
    """
    relation, alpha = _resolve(event, adjacency), probability("fpr", fpr)
    bounds = [
        _assuming(profile, best_tradeoff(profile, alpha)) for profile in profiles(event, relation)
    ]
    if not bounds:
        return Bound(*enclose(1 - Fraction(alpha)), "empty", relation)
    # A person may be in any of the compositions: the least of the lower and of the upper bounds.
    worst = min(bounds, key=lambda bound: bound.lower)
    upper = min(bound.upper for bound in bounds)
    return Bound(min(worst.lower, upper), upper, worst.method, relation, worst.assumes)


def _assuming(profile: Profile, bound: Bound) -> Bound:
    """The bound with what its composition assumes."""
    return _all_assuming(profile, [bound])[0]


def _all_assuming(profile: Profile, bounds: list[Bound]) -> list[Bound]:
    """The bounds with what their composition assumes."""
    found = dict.fromkeys(text for leaf, _ in profile for text in leaf.assumes)
    for leaf, _ in profile:
        if isinstance(leaf.upper, UnboundedLoss):
            found[f"not private: {leaf.upper.reason}"] = None
    assumed = (*found, RANDOMNESS)
    return [
        Bound(one.lower, one.upper, one.method, one.adjacency, (*assumed, *one.assumes))
        for one in bounds
    ]


def _worst(
    bounds: list[Bound], adjacency: Adjacency, question: Callable[[], object] | None = None
) -> Bound:
    """The most expensive alternative: the largest upper bound, and the largest lower one."""
    if not bounds:
        return Bound(0.0, 0.0, "empty", adjacency, (), question)
    top = max(bounds, key=lambda bound: bound.upper)
    lower = max(bound.lower for bound in bounds)
    assumes = tuple(dict.fromkeys(text for bound in bounds for text in bound.assumes))
    return Bound(lower, top.upper, top.method, adjacency, assumes, question)
