"""What the hits of a sparse vector can cost at most, on any path: read off the tests that end it.

Lemma. When answer k is given, every test on its path has its answer. A test `this answer is a hit` that is
false says that one was none. A number that starts at a public value and grows by a public weight with every
hit is a linear form of them, where an answer that was not given counts as none; so a test of it against a
public limit is `sum of weights of hits <= most`. What the hits before k cost is at most the largest sum of
prices under such a test, and the last hit of a path is one more.

The number is computed in floats. It is exact where all its terms are multiples of one power of two and small
enough; else `most` is larger by the rounding of that many operations.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.program.facts.kinds import Public

if TYPE_CHECKING:
    from dpcheck.program.graph import Node
    from dpcheck.program.joints import Bit

Weights = Mapping[int, Fraction]  # of answers, by identity
_EXACT = 2**53


@dataclass(frozen=True, slots=True)
class Tally:
    """base + the weights of the answers that are hits, in at most `steps` operations on numbers of at most
    `reach` that are multiples of `grain`."""

    base: Fraction
    weights: Weights
    reach: Fraction
    grain: Fraction
    steps: int = 0

    def error(self) -> Fraction:
        """How far off its floats may be."""
        if self.reach <= _EXACT * self.grain:
            return Fraction(0)
        return self.steps * self.reach / 2**52


@dataclass(frozen=True, slots=True)
class Limit:
    """The weights of hits add up to `most` at most; all of them are positive."""

    weights: Weights
    most: Fraction

    def implies(self, other: Limit) -> bool:
        """Whether the other one says nothing new."""
        mine = self.weights
        return self.most <= other.most and all(mine.get(i) == w for i, w in other.weights.items())


@dataclass(slots=True)
class Known:
    """What a path says about the answers on it."""

    misses: set[int] = field(default_factory=set)
    limits: list[Limit] = field(default_factory=list)

    def add(self, limit: Limit) -> None:
        """One test more."""
        if limit.most <= 0:
            self.misses |= set(limit.weights)
        elif not any(each.implies(limit) for each in self.limits):
            self.limits = [each for each in self.limits if not limit.implies(each)] + [limit]

    def most(self, prices: Weights) -> Fraction:
        """The largest sum of prices of hits."""
        left = {i: price for i, price in prices.items() if i not in self.misses}
        return min(
            [sum(left.values(), Fraction(0)), *(_dearest(left, limit) for limit in self.limits)]
        )


def _dearest(prices: Weights, limit: Limit) -> Fraction:
    """As many of the dearest as fit, and a part of the next; those without a weight are free."""
    total, room = Fraction(0), limit.most
    weighed = []
    for i, price in prices.items():
        if i in limit.weights:
            weighed.append((price / limit.weights[i], limit.weights[i]))
        else:
            total += price
    for rate, weight in sorted(weighed, reverse=True):
        part = min(room, weight)
        total, room = total + rate * part, room - part
    return total


def dearest_hits(
    bits: Sequence[Bit], prices: Sequence[Fraction], up: bool
) -> tuple[Fraction, Fraction]:
    """The most that the hits before an answer cost, and those of a whole path.

    A hit is an answer above, or else below.
    """
    reading = _Reading(bits, up)
    before, most = Fraction(0), Fraction(0)
    given: dict[int, Fraction] = {}
    for bit, price in zip(bits, prices, strict=True):
        earlier = reading.known(bit.path).most(given)
        before, most = max(before, earlier), max(most, earlier + price)
        given[id(bit)] = price
    return before, most


class _Reading:
    """Tests read once each."""

    def __init__(self, bits: Sequence[Bit], up: bool) -> None:
        self._bits, self._up = {id(bit): bit for bit in bits}, up
        self._tallies: dict[int, Tally | None] = {}
        self._path: list[tuple[Node, bool]] = []
        self._known = Known()

    def known(self, path: Sequence[tuple[Node, bool]]) -> Known:
        """What a path says; most go on from the one before."""
        if [*path[: len(self._path)]] != self._path:
            self._path, self._known = [], Known()
        for node, answer in path[len(self._path) :]:
            limit = self._limit(node, answer)
            if limit is not None:
                self._known.add(limit)
            self._path.append((node, answer))
        return self._known

    # Tests ------------------------------------------------------------------------------------------

    def _limit(self, node: Node, answer: bool) -> Limit | None:
        node, answer = _positive(node, answer)
        hit = self._hit(node)
        if hit is not None:
            return Limit({id(hit[0]): Fraction(1)}, Fraction(0)) if answer != hit[1] else None
        if node.primitive == "select" and not answer:
            return self._both(node)
        if node.primitive not in _ENDS or len(node.args) != 2:
            return None
        name, (left, right) = node.primitive, node.args
        if isinstance(left.fact, Public):
            name, left, right = _MIRRORED[name], right, left
        limit, tally = _public(right), self.tally(left)
        if limit is None or tally is None:
            return None
        if name in ("equal", "not_equal"):
            return self._unequal(tally, limit, answer == (name == "equal"))
        below, strict = name in ("less", "less_equal"), name in ("less", "greater")
        if not answer:
            below, strict = not below, not strict
        return _limited(tally, limit, below, strict)

    def _unequal(self, tally: Tally, limit: Fraction, same: bool) -> Limit | None:
        """A number that is not yet its limit, which it cannot jump over."""
        if same:
            return _limited(tally, limit, True, False)
        most = tally.base + self._known.most(tally.weights)
        return _limited(tally, limit, True, True) if most <= limit and not tally.error() else None

    def _both(self, node: Node) -> Limit | None:
        """Not (this is a hit, and then a test holds): if it is one, the test does not hold.

        With the weight that is left where it is no hit, both say the same sum is at most that.
        """
        test, then, other = node.args
        hit = self._hit(test)
        if hit is None or not hit[1] or _public(other) != 0:
            return None
        inner = self._limit(then, False)
        if inner is None or id(hit[0]) in inner.weights:
            return None
        most = self._known.most(inner.weights)
        if most <= inner.most:
            return None
        return Limit({**inner.weights, id(hit[0]): most - inner.most}, most)

    def _hit(self, node: Node) -> tuple[Bit, bool] | None:
        """The answer a truth value is, and which value of it is a hit."""
        from dpcheck.program.joints import Bit

        node, straight = _positive(node, True)
        bit = getattr(node.fact, "release", None)
        return (bit, (bit.above == self._up) == straight) if isinstance(bit, Bit) else None

    # Numbers ----------------------------------------------------------------------------------------

    def tally(self, node: Node) -> Tally | None:
        """The weights of hits that a number adds up."""
        if node.id not in self._tallies:
            self._tallies[node.id] = self._tally(node)
        return self._tallies[node.id]

    def _tally(self, node: Node) -> Tally | None:
        value = _public(node)
        if value is not None:
            grain = Fraction(1, value.denominator)
            return Tally(value, {}, abs(value), grain)
        if node.dtype.kind not in "if" or node.dtype.itemsize != 8:
            return None  # it may wrap around, or be rounded more
        if node.primitive in ("convert", "number"):
            hit = self._hit(node.args[0])
            if hit is not None:
                unit = Fraction(1)
                return Tally(Fraction(0), {id(hit[0]): unit}, unit, unit) if hit[1] else None
            return self.tally(node.args[0]) if node.args[0].dtype == node.dtype else None
        if node.primitive in ("add", "subtract"):
            one, two = (self.tally(arg) for arg in node.args)
            sign = 1 if node.primitive == "add" else -1
            return None if one is None or two is None else _sum(node, one, two, sign)
        if node.primitive != "select":
            return None
        one, two = (self.tally(arg) for arg in node.args[1:])
        return None if one is None or two is None else self._either(node.args[0], one, two)

    def _either(self, test: Node, one: Tally, two: Tally) -> Tally | None:
        """One number where a test holds, else another; answers of one side only are no hits on the other."""
        node, straight = _positive(test, True)
        first, second = (one, two) if straight else (two, one)
        hit = self._hit(node)
        weights: dict[int, Fraction] = {}
        for i in {**first.weights, **second.weights}:
            mine, theirs = first.weights.get(i, Fraction(0)), second.weights.get(i, Fraction(0))
            if hit is not None and i == id(hit[0]):
                return None
            if mine == theirs or self._given(i, node, True):
                weights[i] = mine
            elif self._given(i, node, False):
                weights[i] = theirs
            else:
                return None
        base = second.base
        if hit is not None:
            more, less = (first, second) if hit[1] else (second, first)
            weights[id(hit[0])], base = more.base - less.base, less.base
        elif first.base != second.base:
            return None
        return Tally(
            base,
            weights,
            max(first.reach, second.reach),
            min(first.grain, second.grain),
            max(first.steps, second.steps) + 1,
        )

    def _given(self, answer: int, test: Node, value: bool) -> bool:
        """Whether an answer is given only where a test has this value."""
        bit = self._bits.get(answer)
        return bit is not None and any(
            _positive(node, told) == (test, value) for node, told in bit.path
        )


_ENDS = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
_MIRRORED = {
    "less": "greater",
    "greater": "less",
    "less_equal": "greater_equal",
    "greater_equal": "less_equal",
    "equal": "equal",
    "not_equal": "not_equal",
}


def _positive(node: Node, answer: bool) -> tuple[Node, bool]:
    while node.primitive == "logical_not":
        node, answer = node.args[0], not answer
    return node, answer


def _public(node: Node) -> Fraction | None:
    if not isinstance(node.fact, Public) or node.ndim or node.dtype.kind not in "biuf":
        return None
    value = np.asarray(node.fact.value).item()
    return Fraction(value) if math.isfinite(value) else None


def _sum(node: Node, one: Tally, two: Tally, sign: int) -> Tally | None:
    weights = dict(one.weights)
    for i, weight in two.weights.items():
        weights[i] = weights.get(i, Fraction(0)) + sign * weight
    reach, grain = one.reach + two.reach, min(one.grain, two.grain)
    if node.dtype.kind == "i" and reach > _EXACT:
        return None
    return Tally(one.base + sign * two.base, weights, reach, grain, one.steps + two.steps + 1)


def _limited(tally: Tally, limit: Fraction, below: bool, strict: bool) -> Limit | None:
    """tally <= limit, or at least it; a smaller weight that lowers the sum makes room for the others."""
    sign = 1 if below else -1
    room = sign * (limit - tally.base) + tally.error()
    weights = {i: sign * weight for i, weight in tally.weights.items()}
    room -= sum((w for w in weights.values() if w < 0), Fraction(0))
    weights = {i: w for i, w in weights.items() if w > 0}
    if not weights:
        return None
    below_all = math.lcm(*(w.denominator for w in weights.values()))
    unit = Fraction(math.gcd(*(int(w * below_all) for w in weights.values())), below_all)
    steps = math.ceil(room / unit) - 1 if strict else math.floor(room / unit)
    return Limit(weights, steps * unit)
