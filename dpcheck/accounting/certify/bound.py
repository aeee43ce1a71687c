"""`certify`: from a plan, good or bad, to a bound that is true; and bounds from bounds.

A plan is a number of theorems. What counts of it is which of them answer the question, and the best that
does; where none does the bound says nothing. Two kinds of probability are taken out beforehand: a leak
reveals everything, and with total leak D delta(eps) = D + (1-D) delta_0(eps) [Kairouz2017, Theorem 3.3]; a
failure is a total variation distance t on either side, which adds (1 + e^eps) t.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dpcheck.accounting.assumptions import ARITHMETIC
from dpcheck.accounting.certify.theorem import Spends, Theorem, contains, excess, ways
from dpcheck.accounting.pairs.pair import Parts
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.bound import Bound
from dpcheck.core.data import Plain
from dpcheck.core.errors import ProofsContradict
from dpcheck.numerics.enclose import enclose
from dpcheck.numerics.rounding import Array
from dpcheck.numerics.side import Side

NO_LEAK = Fraction(0)
# Beyond this e^epsilon leaves the range of floats.
LARGEST = 700.0
# Sides that cross by more than this are no rounding.
CROSSED, CROSSED_ABSOLUTE = 1e-9, 1e-14


@dataclass(frozen=True, slots=True, init=False)
class Plan:
    """What is to be made use of."""

    theorems: tuple[Theorem, ...]

    def __init__(self, *theorems: Theorem | None) -> None:
        object.__setattr__(self, "theorems", tuple(one for one in theorems if one is not None))


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """What a composition costs in its worse direction, from one side: epsilon at `delta`, or delta at each of
    `epsilons`.

    Where something may fail, `at` is the epsilon that is to be proved.
    """

    parts: Parts
    side: Side
    delta: float | None = None
    epsilons: Array | None = None
    leak: Fraction = NO_LEAK
    failure: float = 0.0
    at: float = math.inf


def certify(plan: Plan, question: Question, method: str) -> Bound:
    """The bound that a plan proves, trivial on its other side.

    Guarantee: true of every plan.
    """
    if question.delta is not None:
        found = proved_epsilon(plan, question)
        if question.side is Side.UPPER:
            return Bound(0.0, max(found.value, 0.0), method, assumes=found.assumes)
        return Bound(max(found.value, 0.0), math.inf, method, assumes=found.assumes)
    (bound,) = certify_each(plan, question, method)
    return bound


def certify_each(plan: Plan, question: Question, method: str) -> list[Bound]:
    """The bounds on delta at each epsilon.

    Guarantee: true of every plan.
    """
    found = proved_deltas(plan, question)
    assumes = found.assumes
    if question.side is Side.UPPER:
        return [Bound(0.0, one, method, assumes=assumes) for one in found.values.tolist()]
    return [Bound(one, 1.0, method, assumes=assumes) for one in found.values.tolist()]


@dataclass(frozen=True, slots=True)
class Epsilon:
    """An epsilon that is proved, and what that assumes."""

    value: float
    assumes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Deltas:
    """Deltas that are proved, and what that assumes."""

    values: Array
    assumes: tuple[str, ...] = ()

    def among(self, places: npt.NDArray[np.bool_], side: Side) -> Deltas:
        """The same at some of more places; at the others nothing is known."""
        values = np.full(len(places), 1.0 if side is Side.UPPER else 0.0)
        values[places] = self.values
        return Deltas(values, self.assumes)


def proved_epsilon(plan: Plan, question: Question) -> Epsilon:
    """epsilon at the delta of the question.

    Guarantee: above never below the true one, below never above it.
    """
    assert question.delta is not None
    if question.side is Side.LOWER:
        room = room_below(question.leak, question.delta)
        return Epsilon(math.inf) if room < 0 else _below(plan, question.parts, room)
    room = room_above(question.leak, question.failure, question.delta, question.at)
    if room < 0:
        return Epsilon(math.inf)
    found = _above(plan, question.parts, room)
    if not question.failure:
        return found
    return replace(found, value=question.at if found.value <= question.at else math.inf)


def room_above(leak: Fraction, failure: float, delta: float, at: float) -> float:
    """What is left of `delta` beside leaks, and failures at that epsilon, rounded down; -1 for nothing."""
    if not leak and not failure:
        return delta if delta >= 0 else -1.0
    left = Fraction(delta)
    if failure:
        if not at <= LARGEST:
            return -1.0
        left -= Fraction((1 + math.exp(at)) * failure * (1 + 1e-12))
    if left < leak:
        return -1.0
    return max(0.0, enclose((left - leak) / (1 - leak))[0]) if left > leak else 0.0


def room_below(leak: Fraction, delta: float) -> float:
    """What of `delta` is left beside the leak, rounded up; -1 where the leak is larger."""
    if not leak:
        return delta
    exact = (Fraction(delta) - leak) / (1 - leak) if leak < 1 else Fraction(-1)
    return -1.0 if exact < 0 else enclose(exact)[1] if exact else 0.0


def _above(plan: Plan, parts: Parts, delta: float) -> Epsilon:
    """The worse direction, each by the best theorem about it."""
    worst, used = 0.0, dict[str, None]()
    for way in ways(parts) if parts else ():
        least, assumes = math.inf, tuple[str, ...]()
        for one in plan.theorems:
            if isinstance(one, Spends) and one.side is Side.UPPER and one.delta <= delta:
                more = _excess(parts, way, one)
                value = math.nextafter(one.epsilon + more, math.inf) if more else one.epsilon
                if value < least:
                    least, assumes = value, one.assumes
        worst = max(worst, least)
        used |= dict.fromkeys(assumes)
    return Epsilon(worst, tuple(used))


def _below(plan: Plan, parts: Parts, delta: float) -> Epsilon:
    """The best theorem about either direction."""
    best = Epsilon(0.0)
    for one in plan.theorems:
        if isinstance(one, Spends) and one.side is Side.LOWER and one.delta >= delta:
            known = any(contains(way, one.parts) for way in ways(parts))
            if known and one.epsilon > best.value:
                best = Epsilon(one.epsilon, one.assumes)
    return best


def proved_deltas(plan: Plan, question: Question) -> Deltas:
    """delta at each epsilon of the question.

    Guarantee: above never below the true ones, below never above them.
    """
    assert question.epsilons is not None
    if question.side is Side.LOWER:
        found = _deltas_below(plan, question.parts, question.epsilons)
        values = found.values
        if question.leak:
            exact = [question.leak + (1 - question.leak) * Fraction(x) for x in values.tolist()]
            values = np.array([max(0.0, enclose(x)[0]) for x in exact])
        return replace(found, values=values)
    found = _deltas_above(plan, question.parts, question.epsilons)
    if not question.leak and not question.failure:
        return found
    pairs = zip(found.values.tolist(), question.epsilons.tolist(), strict=True)
    return replace(found, values=np.array([_with_leak(question, *pair) for pair in pairs]))


def _with_leak(question: Question, plain: float, epsilon: float) -> float:
    total = question.leak + (1 - question.leak) * Fraction(plain)
    if question.failure:
        if epsilon > LARGEST:
            return 1.0
        total += Fraction((1 + math.exp(epsilon)) * question.failure * (1 + 1e-12))
    return min(1.0, enclose(total)[1])


def _deltas_above(plan: Plan, parts: Parts, epsilons: Array) -> Deltas:
    worst, assumes = np.zeros(len(epsilons)), dict[str, None]()
    for way in ways(parts) if parts else ():
        best = np.ones(len(epsilons))
        for one in plan.theorems:
            if one.side is Side.UPPER and math.isfinite(more := _excess(parts, way, one)):
                left = np.nextafter(epsilons - more, -math.inf) if more else epsilons
                best = np.minimum(best, deltas_above(one, left))
                assumes |= dict.fromkeys(one.assumes)
        worst = np.maximum(worst, best)
    return Deltas(worst, tuple(assumes))


def _deltas_below(plan: Plan, parts: Parts, epsilons: Array) -> Deltas:
    best, assumes = np.zeros(len(epsilons)), dict[str, None]()
    for one in plan.theorems:
        if one.side is Side.LOWER and any(contains(way, one.parts) for way in ways(parts)):
            best = np.maximum(best, deltas_below(one, epsilons))
            assumes |= dict.fromkeys(one.assumes)
    return Deltas(best, tuple(assumes))


def _excess(parts: Parts, way: Parts, one: Theorem) -> float:
    return excess(parts, one.parts) if one.both else excess(way, one.parts, directed=True)


def deltas_above(one: Theorem, epsilons: Array) -> Array:
    """What a theorem from above says at each epsilon: delta falls, so smaller ones tell too."""
    known, deltas = _sorted(one)
    least = np.append(1.0, np.minimum(np.minimum.accumulate(deltas), 1.0))
    return np.asarray(least[np.searchsorted(known, epsilons, "right")])


def deltas_below(one: Theorem, epsilons: Array) -> Array:
    """What a theorem from below says at each epsilon: larger ones tell too."""
    known, deltas = _sorted(one)
    most = np.append(np.maximum.accumulate(deltas[::-1])[::-1], 0.0)
    return np.asarray(most[np.searchsorted(known, epsilons, "left")])


def _sorted(one: Theorem) -> tuple[Array, Array]:
    if isinstance(one, Spends):
        return np.array([one.epsilon]), np.array([one.delta])
    order = np.argsort(one.epsilons)
    return one.epsilons[order], one.deltas[order]


# -- bounds from bounds ------------------------------------------------------------------------


def tightest(uppers: Mapping[str, Bound], lowers: Mapping[str, Bound]) -> Bound:
    """Of bounds of the same number the tightest on either side, with what these assume."""
    method = min(uppers, key=lambda name: uppers[name].upper)
    proof = max(lowers, key=lambda name: lowers[name].lower)
    upper, lower = uppers[method], lowers[proof]
    value = agreed(lower.lower, upper.upper, proof, method)
    name = "unbounded" if math.isinf(upper.upper) else method
    return Bound(value, upper.upper, name, assumes=_either(upper.assumes, lower.assumes))


def tightest_each(uppers: Mapping[str, Deltas], lowers: Mapping[str, Deltas]) -> list[Bound]:
    """The same of deltas, one bound for each."""
    names, proofs = list(uppers), list(lowers)
    most = np.array([uppers[name].values for name in names])
    least = np.array([lowers[name].values for name in proofs])
    found = []
    for i, (a, b) in enumerate(zip(most.argmin(axis=0), least.argmax(axis=0), strict=True)):
        method, proof = names[a], proofs[b]
        value = agreed(float(least[b, i]), float(most[a, i]), proof, method)
        assumes = _either(uppers[method].assumes, lowers[proof].assumes)
        found.append(Bound(value, float(most[a, i]), method, assumes=assumes))
    return found


def _either(upper: tuple[str, ...], lower: tuple[str, ...]) -> tuple[str, ...]:
    # It says all that the plainer assumption says.
    return (ARITHMETIC,) if ARITHMETIC in (*upper, *lower) else upper


def finer(bound: Bound, upper: Bound, lower: Bound) -> Bound:
    """The bound, with another upper and another lower one of the same number that may be closer."""
    above = upper if upper.upper < bound.upper else bound
    below = lower if lower.lower > bound.lower else bound
    value = agreed(below.lower, above.upper, below.method, above.method)
    assumes = dict.fromkeys((*bound.assumes, *upper.assumes, *lower.assumes))
    return Bound(value, above.upper, above.method, bound.adjacency, tuple(assumes))


def larger(some: Deltas, others: Deltas | None) -> Deltas:
    """The larger of two lower bounds at each place."""
    if others is None:
        return some
    return Deltas(np.maximum(some.values, others.values), (*some.assumes, *others.assumes))


def from_missed(missed: Bound, least: float) -> Bound:
    """Rates of true positives, of at least `least`, from rates of false negatives."""
    lower, upper = max(least, down(1 - missed.upper)), min(1.0, up(1 - missed.lower))
    return replace(missed, lower=lower, upper=upper)


def from_advantage(gain: Bound) -> Bound:
    """How often the best attacker is right about a fair coin, from the advantage."""
    lower, upper = max(0.5, down((1 + gain.lower) / 2)), min(1.0, up((1 + gain.upper) / 2))
    return replace(gain, lower=lower, upper=upper)


def down(value: float) -> float:
    """A sum of numbers up to 1, halved: one rounding."""
    return math.nextafter(value, -math.inf)


def up(value: float) -> float:
    """The same on the other side."""
    return math.nextafter(value, math.inf)


def between(
    lower: float,
    upper: float,
    method: str,
    adjacency: Adjacency | None = None,
    assumes: tuple[str, ...] = (),
) -> Bound:
    """A bound from two numbers that are each proved where they are computed: Renyi divergences, trade-off
    functions, what filters of a ledger allow, what a replay found.
    """
    value = agreed(lower, upper, "its lower side", method)
    return Bound(value, upper, method, adjacency, assumes)


def worst_of(
    bounds: Sequence[Bound],
    adjacency: Adjacency | None,
    question: Callable[[], object] | None = None,
) -> Bound:
    """The most expensive alternative: the largest upper bound, and the largest lower one."""
    if not bounds:
        return Bound(0.0, 0.0, "empty", adjacency, (), question)
    top = max(bounds, key=lambda bound: bound.upper)
    lower = max(bound.lower for bound in bounds)
    assumes = tuple(dict.fromkeys(text for bound in bounds for text in bound.assumes))
    return Bound(lower, top.upper, top.method, adjacency, assumes, question)


def least_of(bounds: Sequence[Bound], adjacency: Adjacency) -> Bound:
    """Of trade-off functions, of which a person may meet any: the least lower and the least upper one."""
    worst = min(bounds, key=lambda bound: bound.lower)
    upper = min(bound.upper for bound in bounds)
    return replace(worst, lower=min(worst.lower, upper), upper=upper, adjacency=adjacency)


def proved_by(
    bound: Bound, proof: Callable[[float], dict[str, Plain]], upper: float = math.inf
) -> Bound:
    """The same with its certificate; `upper` is another proved upper side, an exact sum."""
    return replace(bound, upper=min(bound.upper, upper), proof=proof)


def known(value: float, method: str, adjacency: Adjacency | None = None) -> Bound:
    """What needs no proof, as that nothing is spent where nothing is released."""
    return Bound(value, value, method, adjacency)


def assuming(bound: Bound, assumes: Iterable[str]) -> Bound:
    """The same with more assumptions, named first."""
    return replace(bound, assumes=(*assumes, *bound.assumes))


def agreed(lower: float, upper: float, proof: str, method: str) -> float:
    """The lower side, at most the upper one. Both are proved, so they cross by the last digits or not at all.

    >>> agreed(1.0 + 1e-12, 1.0, "pld", "rdp")
    1.0
    """
    if lower > upper * (1 + CROSSED) + CROSSED_ABSOLUTE:
        raise ProofsContradict(
            f"two proofs contradict each other: at least {lower:.17g} by {proof}, at most {upper:.17g} by "
            f"{method}. One of them is a mistake in dpcheck: trust neither, and please report the event."
        )
    return min(lower, upper)
