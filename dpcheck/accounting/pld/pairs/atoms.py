"""Outcomes that are listed one by one, put on a lattice from either side."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcheck.numerics.lattice import Lattice, LatticeLoss, spread_atoms
from dpcheck.numerics.rounding import ELEMENTARY, FAINTEST, UNIT, Array
from dpcheck.numerics.side import Side

# Rounding of atoms' masses and losses, in units, times (1 + |loss|).
ATOM_UNITS = 64
# The smallest number that a logarithm is taken of.
SMALLEST = math.ulp(0.0)


@dataclass(frozen=True, slots=True)
class Atoms:
    """Outcomes with masses p and q, each right within a relative `error`.

    `known` holds their losses in closed form, right within `units` units of 1 + |loss|; needed
    where a mass underflows.
    """

    p: Array
    q: Array
    error: float
    known: Array | None = None
    units: float = ATOM_UNITS

    def losses(self) -> Array:
        """log p/q, infinite where q is 0; -infinite where p is 0."""
        if self.known is not None:
            return np.where(self.p > 0, self.known, -math.inf)
        with np.errstate(divide="ignore"):
            return np.log(self.p) - np.where(self.p > 0, np.log(self.q), 0.0)

    def uncertain(self, losses: Array) -> Array:
        """Bounds on the errors of finite `losses`: those of the closed form, or of two logarithms."""
        sizes = np.where(np.isfinite(losses), np.abs(losses), 0.0)
        found = self.units * UNIT * (1 + sizes) + 2 * self.error
        if self.known is None:
            logs = np.abs(np.log(np.maximum(self.p, SMALLEST)))
            found += ELEMENTARY * (2 * logs + sizes)  # that of q is within the loss of that of p
        return np.asarray(found)


NO_ATOMS = Atoms(np.empty(0), np.empty(0), 0.0)


def upper_atoms(
    lattice: Lattice, atoms: Atoms, low: float = -math.inf, high: float = math.inf
) -> LatticeLoss:
    """Atoms on the lattice from above; below `low` raised, above `high` made infinite."""
    losses = atoms.losses()
    # `high` may come from the same losses by another order of operations, or rounded to ten digits by a plan.
    gone = (losses > high + 1e-9 * (1 + abs(high))) | (losses == math.inf)
    losses = losses + atoms.uncertain(losses)
    p = atoms.p * (1 + atoms.error + 2 * UNIT)
    infinite = float(np.sum(p[gone])) * (1 + 1e-13)
    kept = (~gone) & (p > 0)
    if not kept.any():
        return LatticeLoss(lattice, 0, np.zeros(1), infinite)
    index, left, right = spread_atoms(lattice, p[kept], np.maximum(losses[kept], low))
    first = int(index.min())
    size = int(index.max()) - first + 2
    lattice.affords(size)
    masses = np.zeros(size)
    masses += np.bincount(index - first, weights=left, minlength=size)
    masses += np.bincount(index - first + 1, weights=right, minlength=size)
    # Sums at a point err by a unit per atom, and a few for the shares of each.
    crowd = 8 + 4 * int(np.bincount(index - first).max())
    masses = np.asarray(masses * (1 + crowd * UNIT), dtype=np.float64)
    return LatticeLoss(lattice, first, masses, infinite)


def lower_atoms(atoms: Atoms) -> tuple[Array, Array, float, float]:
    """(p, q, infinite, slack) of atoms for `pool`."""
    losses = atoms.losses()
    p = atoms.p * max(1 - atoms.error - 2 * UNIT, 0.0)
    q = atoms.q * (1 + atoms.error + 2 * UNIT)
    infinite = float(np.sum(p[losses == math.inf])) * (1 - 1e-13)
    kept = np.isfinite(losses)
    largest = float(np.abs(losses[kept]).max(initial=0.0))
    # With this slack an atom on a lattice point stays there in spite of rounding.
    slack = 2 * atoms.units * UNIT * (1 + largest) + 4 * atoms.error
    return p[kept], q[kept], infinite, slack


def by_cells(lattice: Lattice, p: Array, q: Array, cells: int) -> tuple[Array, Array]:
    """The same outcomes merged by cells (merging is sound below), where that leaves fewer: one around each
    point, or halves between them.
    """
    seen = (p > FAINTEST) & (q > FAINTEST)
    p, q = p[seen], q[seen]
    place = (np.log(p) - np.log(q) - lattice.offset) * (cells / lattice.step)
    at = np.floor(place + (0.5 if cells == 1 else 0.0)).astype(np.int64)
    at -= at.min(initial=0)
    if int(at.max(initial=0)) > len(p):
        return p, q
    crowd = np.bincount(at)
    rounding = 2 * (int(crowd.max()) + 1) * UNIT  # a unit for each term of a sum
    more, less = (np.bincount(at, weights=mass)[crowd > 0] for mass in (p, q))
    return np.asarray(more * (1 - rounding)), np.asarray(less * (1 + rounding))


def atoms_epsilon(atoms: Atoms, rest: float, delta: float, side: Side) -> float | None:
    """epsilon at `delta` of a pair of tables, certified on `side`; None where masses underflow.

    The best test takes the outcomes of largest ratio, so delta(y) = max_k A_k - y B_k with prefix sums
    A, B in that order [Dong2022, Appendix A], and epsilon is the largest log((A_k - delta) / B_k). Below,
    any set of outcomes is a test. Above, the order of the rounded ratios is that of masses p (1 +- 2 units).
    """
    telling = atoms.q < FAINTEST
    sign = 1 if side is Side.UPPER else -1
    if sign > 0 and float(np.sum(atoms.p[telling & (atoms.q > 0)])) > 1e-9 * delta:
        return None
    sums = (16 + 4 * len(atoms.p)) * UNIT + atoms.error
    certain = float(np.sum(atoms.p[telling if sign > 0 else atoms.q == 0]))
    certain = certain * (1 + sign * sums) + (rest if sign > 0 else 0.0)
    if certain >= delta:
        return None
    p, q = atoms.p[~telling], atoms.q[~telling]
    order = np.argsort(-(p / q), kind="stable")
    a = np.cumsum(p[order]) * (1 + sign * sums) + certain
    b = np.cumsum(q[order]) * (1 - sign * sums)
    over = a > delta
    if not over.any():
        return 0.0
    value = float(np.max(np.log((a[over] - delta) / b[over])))
    return max(value + sign * (2 * ELEMENTARY * (1 + abs(value))), 0.0)


def lowered_atoms(lattice: Lattice, atoms: Atoms, low: float, high: float) -> LatticeLoss:
    """Each atom moved down to the next point: less loss, hence below; nothing is lost on the lattice."""
    losses = atoms.losses()
    p = atoms.p * max(1 - atoms.error - 2 * UNIT, 0.0)
    infinite = float(np.sum(p[losses == math.inf])) * (1 - 1e-13)
    kept = np.isfinite(losses) & (losses >= low)
    if not kept.any():
        return LatticeLoss(lattice, lattice.below(low), np.zeros(1), infinite)
    at = np.minimum(losses[kept], high)
    slack = 2 * atoms.units * UNIT * (1 + float(np.abs(at).max())) + 4 * atoms.error
    index = np.floor((at - lattice.offset + slack) / lattice.step).astype(np.int64)
    first = int(index.min())
    masses = np.bincount(index - first, weights=p[kept]) * (1 - 16 * UNIT * (1 + len(at)))
    return LatticeLoss(lattice, first, np.maximum(masses, 0.0), infinite, slack)


def common_span(losses: Array) -> float | None:
    """The distance of a lattice through all the losses (within rounding), if it is not too fine."""
    gaps = np.diff(np.unique(losses[np.isfinite(losses)]))
    noise = 1e-13 * (1 + float(np.abs(losses[np.isfinite(losses)]).max(initial=0.0)))
    gaps = gaps[gaps > noise]
    if not len(gaps) or len(gaps) > 64:
        return None
    span = float(gaps[0])
    for gap in gaps[1:].tolist():
        # Euclid's algorithm with a tolerance.
        low, high = sorted((span, gap))
        while low > 1e-6 * high and low > 100 * noise:
            low, high = sorted((high - low * round(high / low) if high > low else 0.0, low))
            low = abs(low)
        span = high
    steps = gaps / span
    on_it = np.abs(steps - np.round(steps)) * span <= noise
    return span if bool(on_it.all()) and float(gaps.sum()) / span <= 4096 else None
