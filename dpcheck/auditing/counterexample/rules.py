"""An event that somebody can read: at most three conditions, learned after the verdict."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpcheck.auditing.counterexample.conditions import (
    Condition,
    as_python,
    as_python_sees,
    is_named,
    takes_order,
)
from dpcheck.auditing.learning.guessers import growth
from dpcheck.auditing.outputs.reader import Reader

Array = NDArray[np.float64]
_CONDITIONS = 3
_BETTER = 1.1  # how much better a further condition must make a rule
_CUTS, _VALUES = 64, 16


@dataclass(frozen=True, slots=True)
class Rule:
    """All conditions hold; `swapped`: likelier on the second dataset. `worth` is nats per call.

    Rows are given as Python sees them (`as_python_sees`).
    """

    conditions: tuple[Condition, ...]
    swapped: bool
    worth: float

    def holds(self, rows: Array) -> NDArray[np.bool_]:
        """Which outputs, read as rows, are in the event."""
        found = np.ones(len(rows), dtype=bool)
        for condition in self.conditions:
            found &= condition.holds(rows)
        return found

    def as_python(self, reader: Reader) -> str:
        """The event as an expression of `out`."""
        return " and ".join(str(as_python(reader, c)) for c in self.conditions)


def learn_rule(first: Array, second: Array, reader: Reader, epsilon: float) -> Rule | None:
    """The rule that seems to refute epsilon fastest; None if no condition tells anything.

    Guarantee: none; fresh runs judge it.
    """
    first, second = as_python_sees(reader, first), as_python_sees(reader, second)
    named = [column for column in range(first.shape[1]) if is_named(reader, column)]
    best: Rule | None = None
    for swapped in (False, True):
        mine, theirs = (second, first) if swapped else (first, second)
        rule = _grown(mine, theirs, reader, named, epsilon, swapped)
        if rule is not None and (best is None or rule.worth > best.worth):
            best = rule
    if best is None:
        return None
    mine, theirs = (second, first) if best.swapped else (first, second)
    return _rounded(best, mine, theirs, epsilon)


_ALIKE = 0.97  # of a rule's worth that a rounder one must keep


def _rounded(rule: Rule, mine: Array, theirs: Array, epsilon: float) -> Rule:
    """The rule with the fewest digits that is about as good."""
    conditions = list(rule.conditions)
    for place, condition in enumerate(conditions):
        if condition.sign == "==":
            continue
        for digits in range(1, 8):
            short = replace(condition, cut=float(f"{condition.cut:.{digits}g}"))
            simpler = replace(
                rule, conditions=(*conditions[:place], short, *conditions[place + 1 :])
            )
            hits, other = (np.array([float(simpler.holds(side).sum())]) for side in (mine, theirs))
            if growth(hits, other, len(mine) + len(theirs), epsilon)[0] >= _ALIKE * rule.worth:
                conditions[place] = short
                break
    return replace(rule, conditions=tuple(conditions))


def _grown(
    mine: Array, theirs: Array, reader: Reader, named: list[int], epsilon: float, swapped: bool
) -> Rule | None:
    rule = Rule((), swapped, 0.0)
    calls = len(mine) + len(theirs)
    while len(rule.conditions) < _CONDITIONS:
        inside, outside = rule.holds(mine), rule.holds(theirs)
        options = [
            (worth, condition)
            for column in named
            for worth, condition in _options(
                mine[inside], theirs[outside], column, takes_order(reader, column), epsilon, calls
            )
        ]
        if not options:
            break
        worth, condition = max(options, key=lambda one: one[0])
        if worth <= max(0.0, _BETTER * rule.worth):
            break
        rule = Rule((*rule.conditions, condition), swapped, worth)
    return rule if rule.conditions else None


def _options(
    mine: Array, theirs: Array, column: int, ordered: bool, epsilon: float, calls: int
) -> list[tuple[float, Condition]]:
    """The best condition of each sign on one column."""
    a, b = (side[:, column][~np.isnan(side[:, column])] for side in (mine, theirs))
    values, counts = np.unique(np.concatenate([a, b]), return_counts=True)
    if len(values) < (2 if len(a) + len(b) == len(mine) + len(theirs) else 1):
        return []
    found = []
    often = values[np.argsort(-counts, kind="stable")[:_VALUES]]
    often = often[np.isin(often, values[counts > 1])] if ordered else often
    if len(often):
        hits, other = ((side[:, None] == often).sum(axis=0).astype(float) for side in (a, b))
        found.append(_best(hits, other, often, "==", column, epsilon, calls))
    values = values[np.isfinite(values)]
    if ordered and len(values) > 1:
        cuts = _between(values)
        a, b = np.sort(a), np.sort(b)
        above = [(len(side) - np.searchsorted(side, cuts)).astype(float) for side in (a, b)]
        below = [np.searchsorted(side, cuts, side="right").astype(float) for side in (a, b)]
        found.append(_best(above[0], above[1], cuts, ">=", column, epsilon, calls))
        found.append(_best(below[0], below[1], cuts, "<=", column, epsilon, calls))
    return found


def _best(
    hits: Array, other: Array, cuts: Array, sign: str, column: int, epsilon: float, calls: int
) -> tuple[float, Condition]:
    worth = growth(hits, other, calls, epsilon)
    best = int(np.argmax(worth))
    return float(worth[best]), Condition(column, sign, float(cuts[best]))


def _between(values: Array) -> Array:
    """Cuts between values that were seen, as round as fits between them."""
    if len(values) > _CUTS:
        at = np.unique(np.linspace(0, len(values) - 2, _CUTS).astype(int))
        tail = np.unique(np.geomspace(1, len(values) - 1, _CUTS // 2).astype(int))
        at = np.unique(np.concatenate([at, tail - 1, len(values) - 1 - tail]))
    else:
        at = np.arange(len(values) - 1)
    return np.array([_round(values[i], values[i + 1]) for i in at])


def _round(low: float, high: float) -> float:
    """The number with fewest digits strictly between two others.

    >>> _round(3.1415, 3.2718)
    3.2
    """
    middle = 0.5 * (low + high)
    for digits in range(1, 16):
        short = float(f"{middle:.{digits}g}")
        if low < short < high:
            return short
    return middle
