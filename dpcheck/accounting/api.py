"""The four questions: epsilon at a delta, delta at an epsilon, Renyi divergence, trade-off function."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import partial
from typing import TypeGuard, overload

import numpy as np

from dpcheck.accounting.accountants import best
from dpcheck.accounting.accountants.accuracy import refined
from dpcheck.accounting.assumptions import PLAIN_ARITHMETIC, RANDOMNESS
from dpcheck.accounting.certify.bound import (
    assuming,
    between,
    known,
    least_of,
    proved_by,
    worst_of,
)
from dpcheck.accounting.compose import Profile, profiles
from dpcheck.accounting.renyi.divergence import composed_renyi, composed_renyi_lower
from dpcheck.accounting.sides import lower_side, upper_side
from dpcheck.accounting.ties import exact_epsilon
from dpcheck.accounting.tradeoff import best_tradeoff
from dpcheck.core.adjacency import Adjacency, as_adjacency
from dpcheck.core.bound import Bound
from dpcheck.core.data import Plain
from dpcheck.core.errors import InvalidParameter
from dpcheck.core.events.event import Event, natural_adjacency
from dpcheck.core.validate import chance, finite, non_negative, positive, probability
from dpcheck.numerics.enclose import enclose
from dpcheck.numerics.rounding import Array

# Products with larger orders leave the range of floats.
LARGEST_ORDER = 1e150


def _resolve(event: Event, adjacency: Adjacency | str | None) -> Adjacency:
    if not isinstance(event, Event):
        raise InvalidParameter(f"expected an event, got {event!r}.", value=event)
    return natural_adjacency(event) if adjacency is None else as_adjacency(adjacency)


@overload
def epsilon(
    event: Event,
    *,
    delta: float = 0.0,
    adjacency: Adjacency | str | None = None,
    method: str = "best",
    accuracy: float | None = None,
) -> Bound: ...


@overload
def epsilon(
    event: Event,
    *,
    delta: Iterable[float],
    adjacency: Adjacency | str | None = None,
    method: str = "best",
    accuracy: float | None = None,
) -> list[Bound]: ...


def epsilon(
    event: Event,
    *,
    delta: float | Iterable[float] = 0.0,
    adjacency: Adjacency | str | None = None,
    method: str = "best",
    accuracy: float | None = None,
) -> Bound | list[Bound]:
    """What `event` spends at `delta`: proved lower and upper bounds on its epsilon.

    Without `adjacency` the one the event is usually stated under is used; the answer carries it.
    `method` names one accountant instead of the best of all; `lower` is then 0. Many deltas, in a list or an
    array, are answered by a list. With an `accuracy` both sides are refined until they are within that share
    of the upper one; CannotCertify, with the closest that is proved, where they cannot be.

    Guarantee: no mechanism the event describes has an epsilon above `upper`; some has one of at least
    `lower`.
    Assumes: what the answer's `assumes` lists.

    >>> from dpcheck import PureDP, SampledGaussian
    >>> epsilon(PureDP(0.5) * 3).upper
    1.5
    >>> bound = epsilon(SampledGaussian(1.0, 0.01) * 1000, delta=1e-5, accuracy=1e-6)
    >>> round(bound.lower, 5), round(bound.upper, 5)
    (1.82824, 1.82824)
    """
    relation, chosen = _resolve(event, adjacency), best.accountants(method)
    within = None if accuracy is None else positive("accuracy", accuracy)
    if within is not None and method != best.BEST:
        raise InvalidParameter("accuracy= needs all accountants: leave out method=.")
    options = list(profiles(event, relation))

    def answer(target: float) -> Bound:
        found = best.alternatives_epsilon(options, target, chosen) if target < 1 else _any(options)
        if within is not None:
            found = refined(options, found, target, within)
        bounds = [_assuming(profile, bound) for profile, bound in zip(options, found, strict=True)]
        worst = worst_of(bounds, relation, partial(_explain, event, target, relation))
        exact = exact_epsilon(event, relation) if target == 0 and method == best.BEST else None
        upper = min(worst.upper, enclose(exact)[1]) if exact else worst.upper
        return proved_by(worst, partial(_at_least, event, worst, delta=target), upper)

    if _many(delta):
        return [answer(one) for one in [chance("delta", one) for one in delta]]
    return answer(chance("delta", delta))


def _many(values: object) -> TypeGuard[Iterable[object]]:
    """Whether it is a list of numbers, or an array of them, rather than one."""
    alone = isinstance(values, str | bytes) or getattr(values, "ndim", 1) == 0
    return isinstance(values, Iterable) and not alone


def _any(options: Sequence[Profile]) -> list[Bound]:
    """At a delta of 1 everything is allowed."""
    return [known(0.0, "delta-1") for _ in options]


def _at_least(event: Event, answer: Bound, upper: float, *, delta: float) -> dict[str, Plain]:
    """The certificate of a bound; the kernel adds up losses that were rounded upward one by one."""
    return _certificate(event, answer, max(upper, answer.upper), delta=delta)


def _certificate(
    event: Event,
    answer: Bound,
    upper: float,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
) -> dict[str, Plain]:
    """That of an upper bound on the one of the two that was not asked at."""
    from dpcheck.accounting.proofs.certificates import certificate

    assert answer.adjacency is not None
    claim = (upper if epsilon is None else epsilon, upper if delta is None else delta)
    return certificate(event, answer.adjacency, *claim, answer.assumes)


def _explain(event: Event, delta: float, adjacency: Adjacency) -> object:
    from dpcheck.accounting.explain import explain_epsilon

    return explain_epsilon(event, delta, adjacency)


def epsilon_upper(
    event: Event, *, delta: float, adjacency: Adjacency | str | None, method: str = "best"
) -> float:
    """The upper side of `epsilon` alone, at half the price; for searches.

    Guarantee: never below the true epsilon.
    """
    relation, target = _resolve(event, adjacency), chance("delta", delta)
    chosen = best.accountants(method)
    if target == 1:
        return 0.0
    costs = [
        min(best.epsilon_upper(upper_side(profile), target, accountant) for accountant in chosen)
        for profile in profiles(event, relation)
    ]
    return max(costs, default=0.0)


def epsilon_lower(event: Event, *, delta: float, adjacency: Adjacency | str | None = None) -> float:
    """The lower side of `epsilon` alone; for refuting other accountants.

    Guarantee: some mechanism the event describes spends at least that much.
    """
    relation, target = _resolve(event, adjacency), chance("delta", delta)
    if target == 1:
        return 0.0
    sides = [lower_side(profile) for profile in profiles(event, relation)]
    return max((best.epsilon_lower(side, target) for side in sides), default=0.0)


def verify_epsilon(
    event: Event, *, delta: float, adjacency: Adjacency | str | None = None
) -> Bound:
    """`epsilon` by the PLD, proved a second time in ball arithmetic; seconds to minutes.

    Guarantee: raises CannotCertify unless a slow, independent proof confirms the upper side; `lower` is 0
    where none confirms it.
    """
    from dpcheck.accounting.proofs.verification import verified

    relation, target = _resolve(event, adjacency), probability("delta", delta)
    return worst_of([verified(profile, target) for profile in profiles(event, relation)], relation)


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
    if _many(epsilon):
        targets = np.array([non_negative("epsilon", one) for one in epsilon])
        return _deltas(event, targets, relation)
    return _deltas(event, np.array([non_negative("epsilon", epsilon)]), relation)[0]


def _deltas(event: Event, targets: Array, relation: Adjacency) -> list[Bound]:
    options = list(profiles(event, relation))
    answers = best.alternatives_deltas(options, targets)
    found = [
        _all_assuming(profile, bounds) for profile, bounds in zip(options, answers, strict=True)
    ]
    worst = [worst_of([one[i] for one in found], relation) for i in range(len(targets))]
    return [
        proved_by(bound, partial(_certificate, event, bound, epsilon=target))
        for bound, target in zip(worst, targets.tolist(), strict=True)
    ]


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
        side, contained = upper_side(profile), lower_side(profile)
        finite_cost = not side.leak and not side.failure
        upper = float(composed_renyi(side.parts, orders)[0]) if finite_cost else math.inf
        lower = math.inf
        if not contained.leak:
            lower = float(composed_renyi_lower(contained.parts, orders)[0])
        found = between(lower, upper, "rdp", assumes=(PLAIN_ARITHMETIC,))
        bounds.append(_assuming(profile, found))
    return worst_of(bounds, relation)


def tradeoff(event: Event, fpr: float, *, adjacency: Adjacency | str | None = None) -> Bound:
    """The least false-negative rate of any test of one neighbour against the other, at `fpr`.

    Guarantee: no test with that false-positive rate misses less often than `lower`.
    Reference: [Dong2022] Proposition 2.13 for the step from (epsilon, delta) to f.

    >>> from dpcheck import Gaussian
    >>> round(tradeoff(Gaussian(1.0), 0.05).lower, 6)
    0.740489
    """
    relation, alpha = _resolve(event, adjacency), chance("fpr", fpr)
    if alpha == 1:  # who always says yes misses nobody
        return known(0.0, "fpr-1", relation)
    bounds = [
        _assuming(profile, best_tradeoff(profile, alpha)) for profile in profiles(event, relation)
    ]
    if not bounds:
        return between(*enclose(1 - Fraction(alpha)), "empty", relation)
    return least_of(bounds, relation)


def _assuming(profile: Profile, bound: Bound) -> Bound:
    """The bound with what its composition assumes."""
    return _all_assuming(profile, [bound])[0]


def _all_assuming(profile: Profile, bounds: list[Bound]) -> list[Bound]:
    """The bounds with what their composition assumes."""
    found = dict.fromkeys(text for leaf, _ in profile for text in leaf.assumes)
    for leaf, _ in profile:
        if leaf.upper.objection is not None:
            found[f"not private: {leaf.upper.objection}"] = None
    assumed = (*found, RANDOMNESS)
    return [assuming(one, assumed) for one in bounds]
