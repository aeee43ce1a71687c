"""Laying the lower lattice where the law of the loss has a steep end.

Half a cell on each side of a point merges to a ratio near that point only if the halves weigh about
the same. Poisson sampling at a small rate gives a law with nearly all mass next to one end of its
range: nothing beyond that end can help, and just inside it the masses fall by large factors. There,
whole cells are chained: from the light side toward the end, what a cell has too much (or lacks) at
its inner point is made up by a share of the next, heavier cell. The lattice is shifted
so that what remains at the end merges to a lattice point exactly. Any merging is sound; this one
wastes little.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from dpcheck.numerics.rounding import FAINTEST, UNIT, Array

# Neighbouring cells that differ by more than this factor count as steep.
STEEP = 2.5
MAX_CHAIN = 40
Point: TypeAlias = tuple[float, float]

# Where the level that an end merges to is looked for, as shares of the way to the other end.
_FROM_END = np.concatenate(([0.0], np.geomspace(1e-7, 1.0, 255)))
MAX_STEPS, MAX_SECANTS = 4, 60
# Edges beside it, in steps.
_BESIDE = np.arange(0.5, MAX_CHAIN + 1)


class Cuttable(Protocol):
    """What is needed of a pair."""

    ends: tuple[float, float]

    def cut(self, levels: Array) -> Array:
        """Points where the loss is about `levels`."""

    def lower_masses(self, cuts: Array) -> tuple[Array, Array]:
        """(p rounded down, q rounded up) between cuts."""

    def merged_to(self, level: float, sign: int) -> float | None:
        """About the loss that all from an end to `level` merges to; nan: to nothing, None: no formula."""


@dataclass(frozen=True, slots=True)
class End:
    """A steep end: the point `level` it merges to, with `chain` cells chained next to it.

    `sign` is 1 at the low end of the losses, -1 at the high end. `p` and `q` are the merged masses of
    everything from the end to the cut `stop`, half a step beyond the chain, the end's own last.
    """

    level: float
    sign: int
    chain: int
    p: Array
    q: Array
    stop: float


def _cells(pair: Cuttable, edges: Array, sign: int) -> tuple[Array, Array, Array]:
    """(p, q, cuts): masses from the end to the first of the edges, then between them, away from the end."""
    if sign > 0:
        cuts = pair.cut(edges)
        return *pair.lower_masses(np.append(pair.ends[0], cuts)), cuts
    cuts = pair.cut(edges[::-1])
    p, q = pair.lower_masses(np.append(cuts, pair.ends[1]))
    return p[::-1], q[::-1], cuts[::-1]


def _merged(pair: Cuttable, level: float, sign: int, chain: int, step: float) -> End:
    """The end with so many cells chained to it."""
    inner = level + sign * step * np.arange(1, chain + 1)
    p, q, cuts = _cells(pair, np.append(inner, level + sign * step * (chain + 0.5)), sign)
    merged_p, merged_q = [], []
    carry_p, carry_q = float(p[-1]), float(q[-1])
    for point, next_p, next_q in zip(
        inner[::-1].tolist(), p[-2::-1].tolist(), q[-2::-1].tolist(), strict=True
    ):
        ratio = math.exp(min(point, 700.0))
        # At the low end the carried cell lies above the point and the next one below it.
        too_much = sign * (carry_p - ratio * carry_q)
        room = sign * (ratio * next_q - next_p)
        share = too_much / room if room > 0 else 0.0
        # Aim a little above the point, so that no help is needed there.
        share = min(max(share * (1 - sign * 1e-8), 0.0), 1.0)
        merged_p.append(carry_p + share * next_p)
        merged_q.append(carry_q + share * next_q)
        carry_p, carry_q = (1 - share) * next_p, (1 - share) * next_q
    # Shares of a cell add up to it only up to rounding.
    p = np.array([*merged_p, carry_p]) * (1 - 8 * UNIT)
    q = np.array([*merged_q, carry_q]) * (1 + 8 * UNIT)
    return End(level, sign, chain, p, q, float(cuts[-1]))


def find_end(pair: Cuttable, step: float, low: float, high: float) -> End | None:
    """The steep end of the losses between `low` and `high`, if there is one."""
    for sign, near, far in ((1, low, high), (-1, high, low)):
        found = _look(pair, step, sign, near, far)
        if found is None:
            continue
        level, slope = found
        for _ in range(MAX_STEPS):
            p, q, cuts = _cells(pair, level + sign * step * _BESIDE, sign)
            missed = float(_beyond(p[:1], q[:1], np.array([level]), step, sign)[0])
            if _small(missed, step):
                break
            level -= missed / slope
        beside = np.maximum(p[1:], 1e-300)
        flat = np.flatnonzero(beside[1:] * STEEP > beside[:-1])
        chain = int(flat[0]) if len(flat) else MAX_CHAIN
        chained = _chained(pair, step, sign, chain, near, far) if chain > 0 else None
        return chained or End(level, sign, 0, p[:1], q[:1], float(cuts[0]))
    return None


def _look(
    pair: Cuttable, step: float, sign: int, near: float, far: float
) -> tuple[float, float] | None:
    """About the level that all from the end to half a step beyond it merges to, and the slope of what is
    missed there: by a formula, or from many levels at once.
    """
    if pair.merged_to(near, sign) is not None and pair.merged_to(far, sign) is not None:
        return _searched(pair, step, sign, near, far)
    levels = near + (far - near) * _FROM_END
    p, q, _ = _cells(pair, levels + sign * step / 2, sign)
    beyond = _beyond(np.cumsum(p), np.cumsum(q), levels, step, sign)
    if not beyond[0] > 0 > beyond[-1]:
        return None
    at = int(np.argmax(beyond <= 0))
    low, high = levels[at - 1 : at + 1].tolist()
    slope = float(beyond[at] - beyond[at - 1]) / (high - low)
    around = slice(max(at - 3, 0), at + 3)
    level = _inverse(beyond[around].tolist(), levels[around].tolist())
    return (level if min(low, high) <= level <= max(low, high) else low), slope


def _searched(
    pair: Cuttable, step: float, sign: int, near: float, far: float
) -> tuple[float, float] | None:
    """The same by the pair's formula."""

    def missed(level: float) -> float:
        merged = pair.merged_to(level + sign * step / 2, sign)
        if merged is None or math.isnan(merged):
            return step
        return sign * (merged - level - _inside(step))

    # The first crossing as seen from the end: all there is merges to a level too.
    away = step
    while away < abs(far - near) and missed(near + sign * away) > 0:
        away *= 1.25
    found = _crossing(missed, near, near + sign * min(away, abs(far - near)), step)
    if found is None:
        return None
    before, last = found
    run, rise = last[0] - before[0], last[1] - before[1]
    return last[0], rise / run if run and rise else -sign


def _inverse(values: Sequence[float], places: Sequence[float]) -> float:
    """Where the polynomial of the places through falling values is at 0 [Lagrange's formula]."""
    total = 0.0
    for i, place in enumerate(places):
        for j, value in enumerate(values):
            if j != i and values[i] != value:
                place *= value / (value - values[i])
        total += place
    return total


def _chained(
    pair: Cuttable, step: float, sign: int, chain: int, near: float, far: float
) -> End | None:
    """The end with cells chained to it, at the level it merges to."""
    ends: dict[float, End] = {}

    def missed(level: float) -> float:
        end = ends[level] = _merged(pair, level, sign, chain, step)
        return float(_beyond(end.p[-1:], end.q[-1:], np.array([level]), step, sign)[0])

    found = _crossing(missed, near, far, step)
    return None if found is None else ends[found[1][0]]


def _crossing(
    missed: Callable[[float], float], near: float, far: float, step: float
) -> tuple[Point, Point] | None:
    """The last two (level, missed there), the very last next to 0: by secants, kept between two levels."""
    low, high = (near, missed(near)), (far, missed(far))
    if not low[1] > 0 > high[1]:
        return None
    before, last = (low, high) if abs(low[1]) > abs(high[1]) else (high, low)
    for _ in range(MAX_SECANTS):
        rise = last[1] - before[1]
        level = last[0] - last[1] * (last[0] - before[0]) / rise if rise else math.nan
        if not min(low[0], high[0]) < level < max(low[0], high[0]):
            level = (low[0] + high[0]) / 2
        before, last = last, (level, missed(level))
        if _small(last[1], step) or before[0] == level:
            break
        low, high = (last, high) if last[1] > 0 else (low, last)
    return before, last


def _beyond(p: Array, q: Array, levels: Array, step: float, sign: int) -> Array:
    """How far inside of each level merged masses lie, as seen from the end."""
    faint = (p <= FAINTEST) | (q <= FAINTEST)
    losses = np.log(np.where(faint, 1.0, p)) - np.log(np.where(faint, 1.0, q))
    return np.where(faint, step, sign * (losses - levels - _inside(step)))


def _inside(step: float) -> float:
    """How far above its point an entry is wanted, so that rounding leaves it there."""
    return 1e-7 * step + 64 * UNIT


def _small(missed: float, step: float) -> bool:
    """Whether less is missed than `_beyond` leaves for rounding."""
    return abs(missed) <= 1e-8 * step + 16 * UNIT
