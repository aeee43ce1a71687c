"""Guessing, from few earlier calls, which side of a pair one output came from.

Each guesser turns outputs into scores, and scores into guesses by two cut-offs, one per side;
between them it passes. It is fitted on earlier calls only and is right or wrong on its own account:
nothing it does can make a private mechanism look leaky, only miss a leak.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Sides = NDArray[np.bool_]  # True where the output came from the first dataset
Guess = NDArray[np.int8]  # 1 first, 0 second, -1 pass
PASS = -1
_MOST_COLUMNS = 512  # of stumps and distances; wider outputs are read by their most telling columns
_MOST_SEEN = 512  # calls that distances are taken to
_MOST_VALUES = 64  # of a column, each of which may be telling
_MOST_NUMBERS = 1 << 20  # in memory at once


@dataclass(frozen=True, slots=True)
class Rule:
    """Guess the first side where a score is at least `high`, the second where at most `low`."""

    name: str
    score: Callable[[Array], Array]
    high: float
    low: float
    worth: float  # estimated growth of evidence per call, in nats
    column: int | None = None  # the one it reads, if it reads one
    sign: float = 1.0

    def guess(self, outputs: Array) -> Guess:
        """A guess per output."""
        scores = self.score(outputs)
        found = np.full(len(outputs), PASS, dtype=np.int8)
        found[scores >= self.high] = 1
        found[(scores <= self.low) & (scores < self.high)] = 0
        return found


def growth(right: Array, wrong: Array, calls: int, epsilon: float) -> Array:
    """Evidence per call against epsilon from so many right and wrong guesses, one wrong one added.

    The relative entropy of right guesses to the best accuracy epsilon allows, e^eps/(1+e^eps).
    """
    wrong = wrong + 1.0
    total = right + wrong
    share, best = right / total, 1.0 / (1.0 + math.exp(-epsilon))
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = share * np.log(share / best) + (1 - share) * np.log((1 - share) / (1 - best))
    result: Array = np.where(share > best, total / calls * gain, 0.0)
    return result


def _cut(scores: Array, sides: Sides, epsilon: float) -> tuple[float, float]:
    """(cut-off, worth) of the best upper tail that means the first side."""
    order = np.argsort(-scores, kind="stable")
    ordered, hits = scores[order], sides[order]
    last = np.append(ordered[:-1] > ordered[1:], True)  # a tail ends only between values
    right, wrong = np.cumsum(hits)[last], np.cumsum(~hits)[last]
    worth = growth(right.astype(float), wrong.astype(float), len(scores), epsilon)
    best = int(np.argmax(worth))
    if worth[best] <= 0:
        return math.inf, 0.0
    ends = ordered[last]
    # Between two values, so that fresh outputs near the last one are judged alike.
    cut = ends[best] if best + 1 == len(ends) else 0.5 * (ends[best] + ends[best + 1])
    return float(cut), float(worth[best])


def as_rule(
    name: str,
    score: Callable[[Array], Array],
    scores: Array,
    sides: Sides,
    epsilon: float,
    column: int | None = None,
    sign: float = 1.0,
) -> Rule:
    """The rule with the best two cut-offs on earlier calls, whose scores are given."""
    high, first = _cut(scores, sides, epsilon)
    low, second = _cut(-scores, ~sides, epsilon)
    return Rule(name, score, high, -low, first + second, column, sign)


@dataclass(frozen=True, slots=True)
class Column:
    """One column, or with `sign` -1 its negative."""

    index: int
    sign: float

    def __call__(self, outputs: Array) -> Array:
        """The scores."""
        return self.sign * outputs[:, self.index]


@dataclass(frozen=True, slots=True)
class Values:
    """One column of few values, which need no order: how much likelier each is on the first side."""

    index: int
    values: Array
    scores: Array

    def __call__(self, outputs: Array) -> Array:
        """The scores; 0 for a value that was not seen."""
        column = outputs[:, self.index]
        at = np.minimum(np.searchsorted(self.values, column), len(self.values) - 1)
        result: Array = np.where(self.values[at] == column, self.scores[at], 0.0)
        return result


def _balance(first: Array, second: Array) -> Array:
    """From -1 (second side) to 1, and near 0 for what was seen rarely."""
    result: Array = (first - second) / (first + second + 2.0)
    return result


def _by_value(column: Array, sides: Sides, index: int, epsilon: float) -> Rule | None:
    """A rule by the values of a column; None where they are two, which are in order, or many."""
    values, which = np.unique(column, return_inverse=True)
    if not 2 < len(values) <= min(_MOST_VALUES, len(column) // 4):
        return None
    first, second = (
        np.bincount(which[chosen], minlength=len(values)).astype(float)
        for chosen in (sides, ~sides)
    )
    # The cut-offs are chosen on scores that leave the call itself out: else many values, each seen
    # a few times, would seem to tell much.
    left_out = _balance(first[which] - sides, second[which] - ~sides)
    score = Values(index, values, _balance(first, second))
    return as_rule("one value", score, left_out, sides, epsilon)


@dataclass(frozen=True, slots=True)
class Direction:
    """A weighted sum of columns, the weights learned from differences of means."""

    weights: Array

    def __call__(self, outputs: Array) -> Array:
        """The scores."""
        result: Array = outputs @ self.weights
        return result


@dataclass(frozen=True, slots=True)
class Distance:
    """How far an output lies from the common centre: sees noise whose scale differs, not its place."""

    centre: Array
    scale: Array
    sign: float

    def __call__(self, outputs: Array) -> Array:
        """The mean distance over columns, in units of their spread."""
        far = np.abs(outputs - self.centre) / self.scale
        result: Array = self.sign * far.mean(axis=1)
        return result


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Which side the nearest earlier outputs came from: + 1 for the first, - 1 for the second."""

    outputs: Array
    signs: Array
    scale: Array
    count: int

    def __call__(self, outputs: Array) -> Array:
        """The mean over the nearest; of equally near ones all count."""
        return self._scores(outputs, own=False)

    def left_out(self) -> Array:
        """The scores of the earlier outputs themselves, each without its own side."""
        return self._scores(self.outputs, own=True)

    def _scores(self, outputs: Array, *, own: bool) -> Array:
        ours, theirs = self.outputs / self.scale, outputs / self.scale
        found = np.empty(len(outputs))
        step = max(1, _MOST_NUMBERS // ours.size)  # rows at once
        for start in range(0, len(outputs), step):
            rows = theirs[start : start + step]
            distances = np.abs(ours - rows[:, None, :]).sum(axis=2)
            if own:
                each = np.arange(len(rows))
                distances[each, start + each] = math.inf
            nearest = np.partition(distances, self.count - 1, axis=1)[:, self.count - 1, None]
            near = distances <= nearest
            found[start : start + step] = (near @ self.signs) / near.sum(axis=1)
        return found


def fit(outputs: Array, sides: Sides, epsilon: float) -> list[Rule]:
    """One rule per kind of guesser, in a fixed order; a kind that sees nothing passes always."""
    outputs, columns = _telling(outputs, sides)
    return [
        _best_column(outputs, sides, epsilon, columns),
        _direction(outputs, sides, epsilon, columns),
        _distance(outputs, sides, epsilon, columns),
        _neighbours(outputs, sides, epsilon, columns),
    ]


KINDS = 4  # rules that `fit` returns


def _telling(outputs: Array, sides: Sides) -> tuple[Array, NDArray[np.intp]]:
    """The columns that vary, the most different ones first where there are very many."""
    columns = np.flatnonzero((outputs != outputs[0]).any(axis=0))
    if len(columns) == 0:
        columns = np.array([0])
    if len(columns) > _MOST_COLUMNS:
        kept = outputs[:, columns]
        gap = np.abs(kept[sides].mean(axis=0) - kept[~sides].mean(axis=0))
        columns = columns[np.argsort(-gap / _spread(kept, sides), kind="stable")[:_MOST_COLUMNS]]
    return outputs[:, columns], columns


def _spread(outputs: Array, sides: Sides) -> Array:
    inside = np.sqrt(0.5 * (outputs[sides].var(axis=0) + outputs[~sides].var(axis=0)))
    whole = outputs.std(axis=0)
    result: Array = np.maximum(inside, np.maximum(1e-9 * whole, 1e-150))  # its square is a number
    return result


def _best_column(outputs: Array, sides: Sides, epsilon: float, columns: NDArray[np.intp]) -> Rule:
    best: Rule | None = None
    for place, index in enumerate(columns):
        for sign in (1.0, -1.0):
            score = Column(int(index), sign)
            rule = as_rule(
                "one value", score, sign * outputs[:, place], sides, epsilon, int(index), sign
            )
            if best is None or rule.worth > best.worth:
                best = rule
        by_value = _by_value(outputs[:, place], sides, int(index), epsilon)
        if by_value is not None and (best is None or by_value.worth > best.worth):
            best = by_value
    assert best is not None
    return best


def _direction(outputs: Array, sides: Sides, epsilon: float, columns: NDArray[np.intp]) -> Rule:
    gap = outputs[sides].mean(axis=0) - outputs[~sides].mean(axis=0)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        weights = gap / _spread(outputs, sides) ** 2
        largest = float(np.abs(weights).max())
        weights = weights / largest if 0 < largest < math.inf else np.zeros_like(weights)
    score = _Chosen(Direction(weights), columns)
    return as_rule("weighted sum", score, score.inner(outputs), sides, epsilon)


def _distance(outputs: Array, sides: Sides, epsilon: float, columns: NDArray[np.intp]) -> Rule:
    centre, scale = np.median(outputs, axis=0), _scale(outputs)
    both = (Distance(centre, scale, sign) for sign in (1.0, -1.0))
    rules = [
        as_rule("distance from the centre", _Chosen(score, columns), score(outputs), sides, epsilon)
        for score in both
    ]
    return max(rules, key=lambda rule: rule.worth)


def _scale(outputs: Array) -> Array:
    spread = outputs.std(axis=0)
    result: Array = np.where(spread > 0, spread, 1.0)
    return result


def _neighbours(outputs: Array, sides: Sides, epsilon: float, columns: NDArray[np.intp]) -> Rule:
    outputs, sides = outputs[-_MOST_SEEN:], sides[-_MOST_SEEN:]
    count = max(1, round(math.sqrt(len(outputs)) / 2))
    inner = Neighbours(outputs, np.where(sides, 1.0, -1.0), _scale(outputs), count)
    return as_rule("nearest outputs", _Chosen(inner, columns), inner.left_out(), sides, epsilon)


@dataclass(frozen=True, slots=True)
class _Chosen:
    """A score that reads some columns."""

    inner: Callable[[Array], Array]
    columns: NDArray[np.intp]

    def __call__(self, outputs: Array) -> Array:
        return self.inner(outputs[:, self.columns])


def worth(rules: Sequence[Rule]) -> float:
    """What the best of several rules seems to bring per call."""
    return max((rule.worth for rule in rules), default=0.0)
