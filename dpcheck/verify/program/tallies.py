"""What the hits of a sparse vector may cost on any path, read off the tests that end it.

Lemma. Where an answer is given, every test of its path has the value that the path says. A number that
starts at a public value and grows by a public weight with every hit is a linear form of them, if an answer
that was not given counts as none; a test of it says `sum of weights <= most`. Under it the hits cost at most
the largest sum of prices that fits: the dearest for their weight first, and a part of the next. One hit may
follow. Floats are exact while all terms are multiples of one power of two and add up to less than 2^53 of
it; else `most` grows by the rounding of all steps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from dpcheck.verify.program.common import Node, scalar_value

Weights = Mapping[int, Fraction]  # of answers, by their nodes
_EXACT = 2**53
_SAME = {"equal": "equal", "not_equal": "not_equal"}
_MIRRORED = _SAME | {
    "less": "greater",
    "greater": "less",
    "less_equal": "greater_equal",
    "greater_equal": "less_equal",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """Whether a noisy query is above a noisy threshold; `above` is the truth value that says so."""

    node: int
    release: int
    above: bool
    path: tuple[tuple[Node, bool], ...]


@dataclass(frozen=True, slots=True)
class Form:
    """base + weights of hits, by `steps` operations on multiples of `grain` that are `reach` at most."""

    base: Fraction
    weights: Weights
    reach: Fraction
    grain: Fraction
    steps: int = 0

    @property
    def error(self) -> Fraction:
        """How far off its floats may be."""
        exact = self.reach <= _EXACT * self.grain
        return Fraction(0) if exact else self.steps * self.reach / 2**52


@dataclass(frozen=True, slots=True)
class Limit:
    """Positive weights of hits that add up to `most` at most."""

    weights: Weights
    most: Fraction


@dataclass(slots=True)
class Path:
    """What the tests of one path say."""

    limits: list[Limit] = field(default_factory=list)

    def add(self, limit: Limit) -> None:
        """One test more; one that says no more than another is dropped."""
        self.limits = [each for each in self.limits if not _implies(limit, each)] + [limit]

    def most(self, prices: Weights) -> Fraction:
        """The largest sum of prices of hits."""
        none = {i for limit in self.limits if limit.most <= 0 for i in limit.weights}
        left = {i: price for i, price in prices.items() if i not in none}
        sums = [_fitting(left, limit) for limit in self.limits if limit.most > 0]
        return min([sum(left.values(), Fraction(0)), *sums])


def _implies(one: Limit, other: Limit) -> bool:
    return one.most <= other.most and all(one.weights.get(i) == w for i, w in other.weights.items())


def _fitting(prices: Weights, limit: Limit) -> Fraction:
    room, weights = limit.most, limit.weights
    found = sum((price for i, price in prices.items() if i not in weights), Fraction(0))
    rates = sorted(((p / weights[i], weights[i]) for i, p in prices.items() if i in weights))
    for rate, weight in reversed(rates):
        part = min(room, weight)
        found, room = found + rate * part, room - part
    return found


@dataclass(slots=True)
class Tallies:
    """The answers of one threshold; a hit is an answer above (`up`), or one below."""

    answers: Mapping[int, Answer]
    up: bool
    forms: dict[int, Form | None] = field(default_factory=dict)

    def dearest(self, prices: Weights) -> Fraction:
        """What the hits of any path cost at most."""
        worst, given = Fraction(0), {}  # type: ignore[var-annotated]
        path, known = Path(), 0
        before: Sequence[tuple[Node, bool]] = ()
        for answer in self.answers.values():
            if answer.path[:known] != before:
                path, known = Path(), 0
            for test, value in answer.path[known:]:
                limit = self.limit(test, value, path)
                if limit is not None:
                    path.add(limit)
            before, known = answer.path, len(answer.path)
            worst = max(worst, path.most(given) + prices[answer.node])
            given[answer.node] = prices[answer.node]
        return worst

    def hit(self, node: Node) -> tuple[int, bool] | None:
        """The answer that a truth value is, and which value of it is a hit."""
        node, straight = positive(node, True)
        answer = self.answers.get(node.id)
        return None if answer is None else (node.id, (answer.above == self.up) == straight)

    def limit(self, node: Node, value: bool, path: Path) -> Limit | None:
        """What a test says."""
        node, value = positive(node, value)
        hit = self.hit(node)
        if hit is not None:
            return Limit({hit[0]: Fraction(1)}, Fraction(0)) if value != hit[1] else None
        if node.primitive == "select" and not value:
            return self._both(node, path)
        if node.primitive not in _MIRRORED or len(node.args) != 2:
            return None
        name, (left, right) = node.primitive, node.args
        if scalar_value(left) is not None:
            name, left, right = _MIRRORED[name], right, left
        end, form = scalar_value(right), self.form(left)
        if end is None or form is None:
            return None
        if name in _SAME:
            if value == (name == "equal"):
                return _limited(form, end, below=True, strict=False)
            # It is not yet the limit, and it is at most that.
            reached = form.base + path.most(form.weights) <= end and not form.error
            return _limited(form, end, below=True, strict=True) if reached else None
        below, strict = (
            name.startswith("less") == value,
            (name in ("less", "greater")) == value,
        )
        return _limited(form, end, below, strict)

    def _both(self, node: Node, path: Path) -> Limit | None:
        """Not (a hit, and then a test): either the test is false, or this is no hit."""
        test, then, other = node.args
        hit = self.hit(test)
        if hit is None or not hit[1] or scalar_value(other) != 0:
            return None
        inner = self.limit(then, False, path)
        if inner is None or hit[0] in inner.weights:
            return None
        most = path.most(inner.weights)
        more = most - inner.most
        return Limit({**inner.weights, hit[0]: more}, most) if more > 0 else None

    def form(self, node: Node) -> Form | None:
        """A number as a public one plus weights of hits."""
        if node.id not in self.forms:
            self.forms[node.id] = self._form(node)
        return self.forms[node.id]

    def _form(self, node: Node) -> Form | None:
        value = scalar_value(node)
        if value is not None:
            return Form(value, {}, abs(value), Fraction(1, value.denominator))
        if node.dtype not in ("int64", "float64") or not node.args:
            return None
        if node.primitive in ("convert", "number"):
            hit, one = self.hit(node.args[0]), Fraction(1)
            if hit is not None:
                return Form(Fraction(0), {hit[0]: one}, one, one) if hit[1] else None
            return self.form(node.args[0]) if node.args[0].dtype == node.dtype else None
        if len(node.args) < 2 or node.primitive not in ("add", "subtract", "select"):
            return None
        first, second = (self.form(arg) for arg in node.args[-2:])
        if first is None or second is None:
            return None
        if node.primitive == "select":
            return self._either(node.args[0], first, second)
        return _sum(node, first, second, 1 if node.primitive == "add" else -1)

    def _either(self, test: Node, one: Form, two: Form) -> Form | None:
        """One of two; an answer that is given on one side only is no hit on the other."""
        test, straight = positive(test, True)
        first, second = (one, two) if straight else (two, one)
        hit, weights, base = self.hit(test), {}, second.base
        for i in {**first.weights, **second.weights}:
            mine, other = first.weights.get(i, Fraction(0)), second.weights.get(i, Fraction(0))
            where = {value for node, value in self._path(i) if node is test}
            if i == test.id or (mine != other and not where):
                return None
            weights[i] = other if mine != other and where == {False} else mine
        if hit is not None:
            more, less = (first, second) if hit[1] else (second, first)
            weights[test.id], base = more.base - less.base, less.base
        elif first.base != second.base:
            return None
        reach, grain = max(one.reach, two.reach), min(one.grain, two.grain)
        return Form(base, weights, reach, grain, max(one.steps, two.steps) + 1)

    def _path(self, answer: int) -> list[tuple[Node, bool]]:
        return [positive(*each) for each in self.answers[answer].path]


def positive(node: Node, value: bool) -> tuple[Node, bool]:
    """A truth value without the `not` before it."""
    while node.primitive == "logical_not":
        node, value = node.args[0], not value
    return node, value


def _sum(node: Node, one: Form, other: Form, sign: int) -> Form | None:
    weights = dict(one.weights)
    for i, weight in other.weights.items():
        weights[i] = weights.get(i, Fraction(0)) + sign * weight
    reach, grain = one.reach + other.reach, min(one.grain, other.grain)
    if node.dtype == "int64" and reach > _EXACT:
        return None  # it might wrap around
    return Form(one.base + sign * other.base, weights, reach, grain, one.steps + other.steps + 1)


def _limited(form: Form, end: Fraction, below: bool, strict: bool) -> Limit | None:
    sign = 1 if below else -1
    weights = {i: sign * weight for i, weight in form.weights.items() if weight}
    room = sign * (end - form.base) + form.error - sum(w for w in weights.values() if w < 0)
    weights = {i: w for i, w in weights.items() if w > 0}
    if not weights:
        return None
    least = math.lcm(*(w.denominator for w in weights.values()))
    unit = Fraction(math.gcd(*(int(w * least) for w in weights.values())), least)
    many = math.ceil(room / unit) - 1 if strict else math.floor(room / unit)
    return Limit(weights, many * unit)
