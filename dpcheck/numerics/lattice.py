"""Privacy losses on a lattice that bound a given loss from above or from below.

A loss L with law P is known through F(y) = E_P (1 - y e^{-L})+, the divergence at epsilon = log y.
If F <= G for all y > 0 then the same holds after adding any independent loss, hence under
composition: E F(y e^{-R}) <= E G(y e^{-R}), for any non-negative measures. So a lattice measure
certifies a side as soon as its own F lies on that side; it need not be a probability measure, and
rounding is harmless as long as it goes the right way.

- `spread` (upper): mass p, q of a cell [l, l+h] goes to its two ends, b to the right one, where
  b (1 - e^{-h}) >= p - e^l q and a + b >= p. F of the cell is convex and linear outside it, so the
  chord lies above ("connect the dots" [Doroshenko2022]). h may be any multiple of the step.
- `pool` (lower): any set of outcomes may be merged into one, (p - y q)+ <= F. To put a merged
  (p, q) with u = p - e^l q at the lattice point l exactly: if u > 0 it is merged with
  D <= u / (e^(l - l') - 1) of the mass at a point l' < l, if u < 0 with
  D >= -u / (1 - e^-(l' - l)) of the mass at a point l' > l; then p + D >= e^l (q + D e^-l'). By
  subadditivity of (.)+, (p - y q)+ >= (p + D)(1 - y e^{-l})+ - D (1 - y e^{-l'})+ for each
  entry on its own, so the sum over entries holds whatever their order; only the final masses must
  not be negative, which `pool` repairs by moving entries down (always sound). An entry at a distance d
  from l costs about as much as a variance of d (l - l'), so the nearest point with mass helps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcheck.core.errors import CannotCertify
from dpcheck.numerics.rounding import ELEMENTARY, UNIT, Array, Indices

# Some arrays of so many numbers are within a few hundred megabytes.
MOST_POINTS = 2**22


@dataclass(frozen=True, slots=True)
class Lattice:
    """The points offset + k * step."""

    step: float
    offset: float = 0.0

    def levels(self, indices: Indices) -> Array:
        """The losses at `indices`."""
        return np.asarray(self.offset + indices * self.step, dtype=np.float64)

    def below(self, loss: float) -> int:
        """The last index at or below `loss`, up to rounding."""
        return int(np.floor((loss - self.offset) / self.step))

    def covering(self, low: float, high: float) -> Indices:
        """Indices from at most `low` to at least `high`, two at least, none spare on lattice points."""
        near = 1e-9 * self.step
        first = self.below(low + near)
        last = max(self.below(high - near), first) + 1
        self.affords(last - first)
        return np.arange(first, last + 1)

    def affords(self, points: int) -> None:
        """Refuse to lay so many points, for memory's sake."""
        if points > MOST_POINTS:
            raise CannotCertify(
                f"the losses need {points:.3g} lattice points at a step of {self.step:.3g}; the Renyi bound "
                "may still hold: ask for it with method='rdp'."
            )

    def nearest(self, loss: float) -> int:
        """The index of the point next to `loss`."""
        return round((loss - self.offset) / self.step)


def anchored(step: float, anchor: float) -> Lattice:
    """The lattice of that step with a point at `anchor`."""
    return Lattice(step, anchor - step * math.floor(anchor / step))


@dataclass(frozen=True, slots=True)
class LatticeLoss:
    """P-masses of the losses offset + (first + i) step, and the P-mass of an infinite loss.

    Upper measures stand for losses at most that large, lower ones for losses at least that large
    less `slack`.
    """

    lattice: Lattice
    first: int
    masses: Array
    infinite: float = 0.0
    slack: float = 0.0

    @property
    def levels(self) -> Array:
        """The losses of the masses."""
        return self.lattice.levels(np.arange(self.first, self.first + len(self.masses)))


@dataclass(frozen=True, slots=True)
class Cells:
    """Certified masses between increasing lattice points: of outcomes whose loss lies in
    [level(points[i]) - under, level(points[i+1]) + over].

    For `spread`: p at or above the truth, q at or below it.
    """

    points: Indices
    p: Array
    q: Array
    under: Array
    over: Array


def spread(lattice: Lattice, cells: Cells, infinite: float) -> LatticeLoss:
    """The upper lattice measure of `cells`; see the module's first construction.

    Losses below the cell by at most `under` are raised to its left end, which adds p (e^under - 1)
    to the right end's share; losses above it by at most `over` are spread between its right end and
    the next point, which needs at most p (1 - e^-over) / (1 - e^-h) there, h the distance to it. The left
    end has what is left of p, if anything: a cell needs no more mass than it has.
    """
    points, first = cells.points, int(cells.points[0])
    # Distances are rounded once, which moves 1 - e^-h by no more.
    ends = np.append(points, points[-1] + 1)
    widths = -np.expm1((ends[1:] - ends[:-1]) * -lattice.step)
    levels = lattice.levels(points[:-1])
    # exp(level) errs by the rounding of the level too.
    # Beyond e^700 the Q-masses count as 0: that only moves mass to the right.
    far = float(levels[-1]) > 700.0
    scaled = cells.q * np.exp(np.minimum(levels, 700.0) if far else levels)
    scaled *= 1 - (ELEMENTARY + 4 * UNIT * np.abs(levels))
    if far:
        scaled[levels > 700.0] = 0.0
    # More than e^700 times the mass is all of it, below.
    raised = np.expm1(np.minimum(cells.under, 700.0)) + 4 * UNIT
    right = (cells.p - scaled) + cells.p * raised
    with np.errstate(over="ignore"):  # beyond the largest float is beyond p, and below -it below 0
        right = np.maximum(np.minimum(right * ((1 + 2 * ELEMENTARY) / widths[:-1]), cells.p), 0.0)
    beyond = cells.p * ((1 + 2 * ELEMENTARY) * -np.expm1(-cells.over) / widths[1:])
    at = ends - first
    masses = np.zeros(int(at[-1]) + 1)
    # The difference of `beyond` errs by a unit of it, of which every mass gets eight more below.
    masses[at[:-2]] = np.maximum(cells.p - right - beyond, 0.0)
    masses[at[1:-1]] += right
    masses[at[2:]] += beyond
    masses *= 1 + 8 * UNIT
    return LatticeLoss(lattice, first, masses, infinite)


def spread_atoms(lattice: Lattice, p: Array, loss: Array) -> tuple[Indices, Array, Array]:
    """(index, left mass, right mass) of atoms p (at or above the truth) at most at `loss`."""
    h = lattice.step
    guard = 4 * UNIT * (np.abs(loss) + abs(lattice.offset) + h)
    index = np.floor((loss + guard - lattice.offset) / h).astype(np.int64)
    over = loss + guard - lattice.levels(index)
    index = np.where(over > h, index + 1, index)
    over = np.clip(loss + 2 * guard - lattice.levels(index), 0.0, h)
    right = np.minimum(p * ((1 + 2 * ELEMENTARY) * np.expm1(-over) / np.expm1(-h)), p)
    return index, p - right, right


def pool(
    lattice: Lattice, p: Array, q: Array, span: tuple[int, int], infinite: float, slack: float
) -> LatticeLoss:
    """The lower lattice measure of merged outcomes: p at or below the truth, q at or above it.

    Each entry lies between two points. A share `left` of it is put at the left one, helped by the
    next mass further left, the rest at the right one, helped by the next mass further right; the
    nearer point first, the other where that help is not there. Losses above the last point of
    `span` go to it, losses below its first are dropped.
    """
    h = lattice.step
    q = np.maximum(q, 1e-300)
    where = (np.log(np.maximum(p, 1e-305)) - np.log(q) + slack - lattice.offset) / h
    kept = (p > 0) & np.isfinite(q) & (where >= span[0])
    p, q, where, last = p[kept], q[kept], where[kept], span[1]
    if not len(p):
        return LatticeLoss(lattice, last, np.zeros(1), infinite, slack)
    at = np.minimum(np.floor(where), last).astype(np.int64)
    over = _excess(lattice, at, p, q, slack)
    high = np.flatnonzero(over < 0)
    if len(high):
        at[high] -= 1
        over[high] = _excess(lattice, at[high], p[high], q[high], slack)
    # An entry that is still below its point is dropped (F only shrinks).
    p = np.where(over >= 0, p, 0.0)
    # On a point but for rounding: ask for no help.
    over = np.where(over <= p * (4 * slack + 3e-7 * h + 128 * UNIT), 0.0, over)
    under = np.maximum(-_excess(lattice, at + 1, p, q, slack), 0.0)
    left = np.where(where - at < 0.5, 1.0, 0.0)
    first, size = int(at.min()), int(at.max() - at.min()) + 2
    lattice.affords(size)
    at -= first
    # Nothing is left of the first cell, or right of the last one, that could help.
    left[(at == 0) & (over > 0)] = 0.0
    left[at == size - 2] = 1.0
    before, after = _helpers(at, left, size)
    lone = after == at + 1
    left[lone] = 1.0  # and stays: what nothing helps may not go up
    # A distance that is rounded once moves its expm1 by 1 + distance units relatively.
    far = np.maximum(at - before, 1) * h
    with np.errstate(over="ignore"):  # nothing helps across a distance beyond all floats
        from_left = over * ((1 - 2 * ELEMENTARY - 4 * UNIT * far) / np.expm1(far))
    from_left = np.where(before < at, np.maximum(from_left, 0.0), 0.0)
    far = np.maximum(after - at - 1, 1) * h
    from_right = np.where(lone, 0.0, under * ((1 + 2 * ELEMENTARY) / -np.expm1(-far)))

    # Sums at a point err by a unit of the gross mass per entry, and a few for each entry itself.
    crowd = max(int(np.bincount(points).max()) for points in (at, before, after))
    units = (16 + 4 * crowd) * UNIT
    for turn in range(80):
        stay, go = left * from_left, (1 - left) * from_right
        needed = _summed(before, stay, size) + _summed(after, go, size)
        masses = _summed(at, left * p + stay, size) + _summed(at + 1, (1 - left) * p + go, size)
        masses = masses * (1 - units) - needed * (1 + units)
        if masses.min() >= 0:
            break
        # Meet a little less than what is there, so that rounding cannot undo it.
        lack = np.minimum(masses, 0.0)  # never more than what is needed there
        met = np.maximum(1 + lack * (1 + 1e-9) / np.maximum(needed, 1e-305) - 1e-12, 0.0)
        met = np.where(masses < 0, np.minimum(met, 1.0), 1.0)
        lefts, rights = left * met[before], (1 - left) * met[after]
        # What is not met goes to the other point at first, then down.
        stays = lone | (turn >= 6)
        from_left = np.where(stays, from_left * met[before], from_left)
        left = np.where(stays | (stay == 0), left, lefts) + (1 - left - rights) * (from_right > 0)
    else:
        masses = _summed(at, p, size) * (1 - units)
    return LatticeLoss(lattice, first, np.maximum(masses, 0.0), infinite, slack)


def _helpers(at: Indices, left: Array, size: int) -> tuple[Indices, Indices]:
    """The nearest points with mass below `at` and above `at` + 1; these themselves where there are none.

    All are among the points 0, 1, ..., size - 1.
    """
    filled = np.where(left > 0, at, at + 1)
    before, after = np.full(size + 1, -1), np.full(size + 1, size)
    before[filled + 1] = filled
    after[filled] = filled
    before = np.maximum.accumulate(before)[at]
    after = np.minimum.accumulate(after[::-1])[::-1][at + 2]
    return np.where(before < 0, at, before), np.where(after == size, at + 1, after)


def _summed(at: Indices, weights: Array, size: int) -> Array:
    return np.asarray(np.bincount(at, weights=weights, minlength=size), dtype=np.float64)


def _excess(lattice: Lattice, at: Indices, p: Array, q: Array, slack: float) -> Array:
    """p - e^(level - slack) q, rounded down."""
    levels = lattice.levels(at)
    scaled = q * np.exp(np.minimum(levels - slack, 700.0))
    if float(levels.max(initial=0.0)) > 700.0:
        # In logarithms, with room for their rounding.
        logs = np.log(q) * (1 - 4 * UNIT) + levels * (1 + 4 * UNIT) - slack + ELEMENTARY
        scaled = np.where(levels > 690.0, np.exp(np.minimum(logs, 700.0)), scaled)
    return p - scaled - (p + scaled) * (ELEMENTARY + 4 * UNIT * (np.abs(levels) + slack + 1))
