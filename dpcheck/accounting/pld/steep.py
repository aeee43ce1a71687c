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
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dpcheck.numerics.rounding import UNIT, Array

# Neighbouring cells that differ by more than this factor count as steep.
STEEP = 2.5
MAX_CHAIN = 40
# Where the point that an end merges to is looked for, as shares of the way to the other end; then by secants.
_FROM_END = np.concatenate(([0.0], np.geomspace(1e-7, 1.0, 63)))
_EVENLY = np.linspace(0.0, 1.0, 32)
MAX_SECANTS = 60


class Cuttable(Protocol):
    """What is needed of a pair."""

    ends: tuple[float, float]

    def cut(self, levels: Array) -> Array:
        """Points where the loss is about `levels`."""

    def lower_masses(self, cuts: Array) -> tuple[Array, Array]:
        """(p rounded down, q rounded up) between cuts."""


@dataclass(frozen=True, slots=True)
class End:
    """A steep end: the point `level` it merges to, with `chain` cells chained next to it.

    `sign` is 1 at the low end of the losses, -1 at the high end.
    """

    level: float
    sign: int
    chain: int


def entries_at(pair: Cuttable, end: End, step: float) -> tuple[Array, Array]:
    """Merged (p, q) of everything from the end to half a step beyond the chain; the end's own last."""
    inner = end.level + end.sign * step * np.arange(1, end.chain + 1)
    edges = np.append(inner, end.level + end.sign * step * (end.chain + 0.5))
    if end.sign > 0:
        p, q = pair.lower_masses(np.append(pair.ends[0], pair.cut(edges)))
    else:
        p, q = pair.lower_masses(np.append(pair.cut(edges[::-1]), pair.ends[1]))
        p, q = p[::-1], q[::-1]
    merged_p, merged_q = [], []
    carry_p, carry_q = float(p[-1]), float(q[-1])
    for level, next_p, next_q in zip(
        inner[::-1].tolist(), p[-2::-1].tolist(), q[-2::-1].tolist(), strict=True
    ):
        ratio = math.exp(min(level, 700.0))
        # At the low end the carried cell lies above the point and the next one below it.
        too_much = end.sign * (carry_p - ratio * carry_q)
        room = end.sign * (ratio * next_q - next_p)
        share = too_much / room if room > 0 else 0.0
        # Aim a little above the point, so that no help is needed there.
        share = min(max(share * (1 - end.sign * 1e-8), 0.0), 1.0)
        merged_p.append(carry_p + share * next_p)
        merged_q.append(carry_q + share * next_q)
        carry_p, carry_q = (1 - share) * next_p, (1 - share) * next_q
    # Shares of a cell add up to it only up to rounding.
    p = np.array([*merged_p, carry_p]) * (1 - 8 * UNIT)
    return p, np.array([*merged_q, carry_q]) * (1 + 8 * UNIT)


def find_end(pair: Cuttable, step: float, low: float, high: float) -> End | None:
    """The steep end of the losses between `low` and `high`, if there is one."""
    for sign, near, far in ((1, low, high), (-1, high, low)):
        level = _lone_level(pair, step, sign, near, far)
        if level is None:
            continue
        edges = level + sign * step * (0.5 + np.arange(MAX_CHAIN + 1))
        p, _ = pair.lower_masses(pair.cut(np.sort(edges)))
        p = np.maximum(p if sign > 0 else p[::-1], 1e-300)
        flat = np.flatnonzero(p[1:] * STEEP > p[:-1])
        chain = int(flat[0]) if len(flat) else MAX_CHAIN
        if chain > 0:
            better = _chained_level(pair, step, sign, chain, near, far)
            if better is not None:
                return End(better, sign, chain)
        return End(level, sign, 0)
    return None


def _lone_level(pair: Cuttable, step: float, sign: int, near: float, far: float) -> float | None:
    """Where all from the end to half a step beyond merges to; looked for at many levels at once first."""
    low, high = near, far
    for shares in (_FROM_END, _EVENLY):
        levels = low + (high - low) * shares
        edges = levels + sign * step / 2
        if sign > 0:
            p, q = pair.lower_masses(np.append(pair.ends[0], pair.cut(edges)))
        else:
            p, q = pair.lower_masses(np.append(pair.cut(edges[::-1]), pair.ends[1]))
            p, q = p[::-1], q[::-1]
        beyond = _beyond(np.cumsum(p), np.cumsum(q), levels, step, sign)
        if not beyond[0] > 0 > beyond[-1]:
            return None
        at = int(np.argmax(beyond <= 0))
        low, high = levels[at - 1 : at + 1].tolist()
    start, stop = ((low, float(beyond[at - 1])), (high, float(beyond[at])))
    return _crossing(lambda level: _missed(pair, step, End(level, sign, 0)), start, stop, step)


def _chained_level(
    pair: Cuttable, step: float, sign: int, chain: int, near: float, far: float
) -> float | None:
    """The same with so many cells chained."""

    def off(level: float) -> float:
        return _missed(pair, step, End(level, sign, chain))

    start, stop = (near, off(near)), (far, off(far))
    return _crossing(off, start, stop, step) if start[1] > 0 > stop[1] else None


def _missed(pair: Cuttable, step: float, end: End) -> float:
    p, q = entries_at(pair, end, step)
    return float(_beyond(p[-1:], q[-1:], np.array([end.level]), step, end.sign)[0])


def _beyond(p: Array, q: Array, levels: Array, step: float, sign: int) -> Array:
    """How far inside of each level merged masses lie, as seen from the end."""
    faint = (p <= 1e-290) | (q <= 1e-290)
    losses = np.log(np.where(faint, 1.0, p)) - np.log(np.where(faint, 1.0, q))
    # A little inside, so that rounding leaves the merged entry above its point.
    return np.where(faint, step, sign * (losses - levels - 1e-7 * step - 64 * UNIT))


def _crossing(
    off: Callable[[float], float], low: tuple[float, float], high: tuple[float, float], step: float
) -> float:
    """Where `off` is about 0, between a level where it is above and one where it is not."""
    before, last = (low, high) if abs(low[1]) > abs(high[1]) else (high, low)
    for _ in range(MAX_SECANTS):
        rise = last[1] - before[1]
        level = last[0] - last[1] * (last[0] - before[0]) / rise if rise else math.nan
        if not min(low[0], high[0]) < level < max(low[0], high[0]):
            level = (low[0] + high[0]) / 2
        before, last = last, (level, off(level))
        # What is left is less than what `off` leaves for rounding.
        if abs(last[1]) <= 1e-8 * step + 16 * UNIT:
            break
        low, high = (last, high) if last[1] > 0 else (low, last)
    return last[0]
