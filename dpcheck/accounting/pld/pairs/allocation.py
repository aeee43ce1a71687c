"""Random allocation: every record joins exactly one of t Gaussian steps, chosen uniformly.

P = (1/t) sum_i N(mu e_i, I), Q = N(0, I) in t dimensions dominates the epoch, adaptive steps included, and
is attained ([Chua2025], [Feldman2025]: the dominating pair of balls-and-bins sampling). Its likelihood
ratio is S/t with S a sum of t independent copies of Y = e^{mu Z - mu^2/2} under Q, so F(y) = E_Q (S/t - y)+
and, backwards, E_Q (1 - y S/t)+: expectations of convex functions of S. A variable that is larger in
convex order, put in place of Y or of a partial sum, can only raise both, a smaller one only lower both.

The law of S is built by doubling on grids as fine as the spread of the partial sum in the middle and
geometric outside, so that probabilities of 1e-30 have the same relative accuracy as those of 1/2. Above, a
value between two grid points is split between them with its mean kept; below, all values between two
points are merged at their mean. Masses are sums of products of non-negative numbers, so their relative
errors are bounded by the number of terms; what lies beyond the grid counts as infinite loss above and as
nothing below.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dpcheck.accounting.pld.pairs.atomic import AtomicPair
from dpcheck.accounting.pld.pairs.atoms import Atoms
from dpcheck.core.errors import CannotCertify
from dpcheck.numerics.rounding import FAINTEST, UNIT, Array, Indices
from dpcheck.numerics.side import Side
from dpcheck.numerics.tails import normal_masses

# Distance of grid points in units of the spread of the sum; of logarithms, of mu where that is above 1.
FINENESS = 0.02
# Y is cut this many standard deviations of its logarithm out: probability 1e-41.
REACH = 13.5
# Shifts beyond this many noise scales leave the range of floats.
STEEPEST = 20.0
# More batches than this take tens of seconds.
MOST_BATCHES = 2**24
# Partial sums with less mass than this, at either end, are dropped or counted as lost.
FAINT = 1e-45
# A point found between two others, and what is split between them, errs by less than this share.
MISPLACED = 1e-12
ROWS = 16


@dataclass(frozen=True, slots=True)
class _Sum:
    """The law of a partial sum: masses right within a share `error`, positions within `moved`."""

    copies: int
    x: Array
    mass: Array
    error: float
    moved: float
    lost: float = 0.0


class AllocationPair(AtomicPair):
    """One epoch of random allocation, on one side."""

    def __init__(self, mu: float, batches: int, side: Side, *, backwards: bool) -> None:
        # Below, the law of the sum is the same for both directions.
        total = _total(mu, batches, side, backwards and side is Side.UPPER)
        # Above, losses are raised by what positions may err, below they are lowered.
        up = (side is Side.UPPER) != backwards
        ratio = total.x / batches * (1 + (total.moved if up else -total.moved))
        p, q = (total.mass, ratio * total.mass) if backwards else (ratio * total.mass, total.mass)
        kept = (p > FAINTEST) & (q > FAINTEST)
        rest = 0.0
        if side is Side.UPPER:
            rest = (total.lost + float(np.sum(p[~kept]))) * (1 + 1e-12) + FAINTEST
        super().__init__(Atoms(p[kept], q[kept], total.error + 64 * UNIT), rest=rest)


@lru_cache(maxsize=32)
def _total(mu: float, batches: int, side: Side, backwards: bool) -> _Sum:
    """The law of the sum of all copies, by doubling."""
    if mu > STEEPEST:
        raise CannotCertify(
            f"random allocation with sensitivity over noise {mu:.3g} has likelihood ratios beyond the range "
            "of floats; account the epoch as one Gaussian step of all records instead (its Renyi bound, "
            "method='rdp', holds)."
        )
    if batches > MOST_BATCHES:
        raise CannotCertify(
            f"random allocation to {batches} batches takes too many doublings; account the epoch as one "
            "Gaussian step of all records instead (its Renyi bound, method='rdp', holds)."
        )
    power = _one(mu, batches, side, decreasing=backwards)
    total: _Sum | None = None
    for bit in range(batches.bit_length()):
        if bit:
            power = _add(power, power, mu, batches, side)
        if batches >> bit & 1:
            total = power if total is None else _add(total, power, mu, batches, side)
    assert total is not None
    return total


@dataclass(frozen=True, slots=True)
class _Grid:
    """Points about the mean of a partial sum: geometric below it, and above it from its spread on."""

    mean: float
    width: float
    fineness: float

    @staticmethod
    def of(copies: int, mu: float, batches: int) -> _Grid:
        """Each doubling costs as much as the last, so many of them get a finer grid."""
        spread = math.sqrt(copies * math.expm1(mu * mu))
        fineness = FINENESS * max(1.0, mu) * math.sqrt(7 / max(7, batches.bit_length()))
        return _Grid(float(copies), min(spread, float(copies)), fineness)

    def place(self, x: Array) -> Array:
        """The index below each x, up to rounding."""
        above = x >= self.mean
        ratio = np.where(above, 1 + (x - self.mean) / self.width, x / self.mean)
        up, down = self._steps()
        return np.asarray(np.floor(np.log(ratio) * np.where(above, 1 / up, 1 / down)))

    def _steps(self) -> tuple[float, float]:
        """Logarithmic distances above and below the mean; the same distance next to it."""
        return math.log1p(self.fineness), math.log1p(self.fineness * self.width / self.mean)

    def points(self, first: int, last: int) -> Array:
        """The points from one index to another, increasing."""
        index = np.arange(first, last + 1, dtype=np.float64)
        up, down = self._steps()
        above = self.mean + self.width * np.expm1(np.maximum(index, 0) * up)
        below = self.mean * np.exp(np.minimum(index, 0) * down)
        return np.asarray(np.where(index >= 0, above, below))


def _one(mu: float, batches: int, side: Side, *, decreasing: bool) -> _Sum:
    """Y itself, cut at both ends. Above, rounding raises the mean for an increasing function."""
    grid = _Grid.of(1, mu, batches)
    ends = np.exp(mu * np.array([-REACH, mu + REACH]) - mu * mu / 2)
    first, last = (int(i) for i in grid.place(ends))
    points = grid.points(first, last + 1)
    cuts = np.concatenate(([-np.inf], np.log(points) / mu + mu / 2, [np.inf]))
    q, q_error = normal_masses(cuts, 0.0)
    m, m_error = normal_masses(cuts, mu)  # first moments of Y
    # A cut errs by a few units of log Y / mu and of mu: as if Y erred by that share.
    slip = 16 * UNIT * (1 + float(np.abs(np.log(points)).max()) + mu * mu)
    lost = 2 * batches * float(q[0] + q[-1]) + 2 * float(m[0] + m[-1])
    q, q_error, m, m_error = q[1:-1], q_error[1:-1], m[1:-1], m_error[1:-1]
    if side is Side.LOWER:
        kept = (q_error < 1e-9 * q) & (m_error < 1e-9 * m)
        q, q_error, m, m_error = q[kept], q_error[kept], m[kept], m_error[kept]
        share = float(np.max(q_error / q)), float(np.max(m_error / m))
        return _Sum(1, m / q, q, share[0] + 4 * UNIT, sum(share) + slip + 8 * UNIT)
    left, width = points[:-1], np.diff(points)
    error = (m_error + left * q_error + slip * (left + width) * q) / width
    right = (m - left * q) / width + (-error if decreasing else error)
    right = np.clip(right, 0.0, q + q_error)
    mass = np.zeros(len(points))
    mass[:-1] += q + q_error - right
    mass[1:] += right
    return _Sum(1, points, mass, 8 * UNIT, slip, lost)


def _add(a: _Sum, b: _Sum, mu: float, batches: int, side: Side) -> _Sum:
    """The sum of two independent partial sums on a grid of its own."""
    copies = a.copies + b.copies
    grid = _Grid.of(copies, mu, batches)
    ends = grid.place(np.array([a.x[0] + b.x[0], a.x[-1] + b.x[-1]]))
    first, last = int(ends[0]) - 1, int(ends[1]) + 2
    points = grid.points(first, last)
    size, gaps = len(points), np.diff(points)
    mass, moment = np.zeros(size), np.zeros(size)
    for start in range(0, len(a.x), ROWS):
        # The square of one law: pairs i <= j, those apart counted twice.
        begin = start if a is b else 0
        x = a.x[start : start + ROWS, None] + b.x[None, begin:]
        weight = a.mass[start : start + ROWS, None] * b.mass[None, begin:]
        if a is b:
            rows = weight.shape[0]
            weight[:, rows:] *= 2.0
            weight[:, :rows] *= np.triu(np.full((rows, rows), 2.0), 1) + np.eye(rows)
        x, weight = x.ravel(), weight.ravel()
        at: Indices = np.clip(grid.place(x).astype(np.int64) - first, 0, size - 2)
        if side is Side.LOWER:
            mass += np.bincount(at, weights=weight, minlength=size)
            moment += np.bincount(at, weights=weight * x, minlength=size)
            continue
        share = np.clip((x - points[at]) / gaps[at], 0.0, 1.0) * weight
        mass += np.bincount(at, weights=weight - share, minlength=size)
        mass += np.bincount(at + 1, weights=share, minlength=size)
    terms = (ROWS * len(b.x) + len(a.x) / ROWS + 16) * UNIT
    moved = max(a.moved, b.moved) + (MISPLACED if side is Side.UPPER else 2 * terms)
    if side is Side.LOWER:
        points = moment / np.maximum(mass, FAINTEST)
    kept, faint = _weighty(points, mass, batches)
    # A partial sum that is left out is one of batches/copies; the sum then averages 1 + its own share.
    lost = max(a.lost, b.lost) + 2 * faint * batches / copies
    return _Sum(copies, points[kept], mass[kept], a.error + b.error + terms, moved, lost)


def _weighty(x: Array, mass: Array, batches: int) -> tuple[slice, float]:
    """Where the mass is, but for ends that are faint in mass and mean; and what is left out."""
    stakes = mass * (1 + x / batches)
    below, above = np.cumsum(stakes), np.cumsum(stakes[::-1])[::-1]
    kept = np.flatnonzero((below > FAINT) & (above > FAINT) & (mass > 0))
    inside = slice(int(kept[0]), int(kept[-1]) + 1)
    return inside, float(np.sum(stakes[: inside.start]) + np.sum(stakes[inside.stop :]))
