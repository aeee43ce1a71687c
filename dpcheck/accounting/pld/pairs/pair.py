"""Pairs (P, Q) on the line, cut into cells whose masses are certified.

A smooth pair has a loss that increases with x. `cut` need only be roughly right: the loss at every
cut is evaluated with an error bound, and the upper construction pays for what the cut misses
(`Cells.under`, `Cells.over`); the lower one does not need to know where the cuts are.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import replace

import numpy as np

from dpcheck.accounting.pld.pairs.atoms import NO_ATOMS, Atoms, lower_atoms, upper_atoms
from dpcheck.accounting.pld.pairs.steep import find_end
from dpcheck.numerics.lattice import Cells, LatticeLoss, anchored, pool, spread
from dpcheck.numerics.rounding import ELEMENTARY, UNIT, Array
from dpcheck.numerics.side import Side


class LossPair(ABC):
    """A pair (P, Q) that can be put on a lattice from either side."""

    #: A loss that should lie on the lattice: a large atom, or the middle of the bulk.
    anchor: float
    #: Distance of the lattice all losses lie on, if there is one.
    span: float | None = None
    #: Whether all losses lie on that lattice, so that it costs nothing.
    exact: bool = False
    #: P-mass that certainly has infinite loss.
    certain_infinite: float = 0.0
    #: P-mass of atoms that need not lie on a lattice through the anchor.
    loose_atoms: float = 0.0
    #: Largest loss; infinite if unbounded.
    top: float = math.inf
    #: Whether `nodes` are all its outcomes, and few of them.
    listed: bool = False
    #: Whether `nodes` shows all that Q may do, so that it is a picture of the reversed pair too.
    shows_both: bool = False

    @abstractmethod
    def nodes(self) -> tuple[Array, Array]:
        """(losses, log P-masses) of a coarse picture, for planning only."""

    def merging(self, steps: Array, tilt: float) -> Array:  # noqa: ARG002
        """About the loss that atoms off a lower lattice of each step give away a use, for planning only."""
        return self.loose_atoms * steps / 2

    def single_epsilon(self, delta: float, side: Side) -> float | None:  # noqa: ARG002
        """epsilon at `delta` > 0 of one use, certified on `side`; None where only the lattice knows."""
        return None

    @abstractmethod
    def upper(self, step: float, low: float, high: float) -> LatticeLoss:
        """A measure above this pair; losses below `low` are raised, above `high` made infinite."""

    @abstractmethod
    def lower(self, step: float, low: float, high: float) -> LatticeLoss:
        """A measure below this pair, merging losses beyond `low` and `high`."""


class SmoothPair(LossPair):
    """A loss increasing on an interval of the line, plus atoms at its ends."""

    atoms: Atoms = NO_ATOMS
    ends: tuple[float, float] = (-math.inf, math.inf)

    @abstractmethod
    def loss(self, x: Array) -> tuple[Array, Array]:
        """(loss, bound on its error) at finite x."""

    @abstractmethod
    def cut(self, levels: Array) -> Array:
        """Points where the loss is about `levels`, not decreasing, the ends where out of range."""

    @abstractmethod
    def masses(self, cuts: Array) -> tuple[Array, Array, Array, Array]:
        """(p, error of p, q, error of q) between consecutive cuts."""

    def upper(self, step: float, low: float, high: float) -> LatticeLoss:
        """Connect the dots: see `dpcheck.numerics.lattice`."""
        lattice = anchored(step, self.anchor)
        index = lattice.covering(low, high)
        levels = lattice.levels(index)
        x = self.cut(levels)
        if levels[-1] >= self.top - step / 2:
            x[-1] = self.ends[1]  # the last cell takes all there is; nothing is left to be infinite
        off = np.zeros(len(x))
        start, stop = (
            int(np.searchsorted(x, self.ends[0], "right")),
            int(np.searchsorted(x, self.ends[1])),
        )
        value, error = self.loss(x[start:stop])
        wanted = levels[start:stop]
        off[start:stop] = np.abs(value - wanted) + error + 4 * UNIT * np.abs(wanted)
        # Where a cut is an end of the support the level must be at or beyond the loss there.
        for at_end, sign in ((slice(0, start), 1.0), (slice(stop, None), -1.0)):
            if len(x[at_end]):
                off[at_end] = np.maximum(sign * (levels[at_end] - self.end_loss(sign)), 0.0)
        cuts = np.concatenate(([self.ends[0]], x, [self.ends[1]]))
        p, p_error, q, q_error = self.masses(cuts)
        p, q = p + p_error, np.maximum(q - q_error, 0.0)
        p[cuts[1:] == cuts[:-1]] = 0.0  # nothing lies between equal cuts, whatever the error bound
        # Everything below the first cut is raised to it; above the last it counts as infinite.
        cells = Cells(index, p[1:-1], q[1:-1], off[:-1], off[1:])
        result = spread(lattice, cells, float(p[-1]) * (1 + 4 * UNIT))
        masses = result.masses
        over = float(-np.expm1(-off[0]) / -np.expm1(-lattice.step)) * (1 + 2 * ELEMENTARY)
        masses[0] += p[0]
        masses[1] += p[0] * over
        if len(self.atoms.p):
            result = _with_atoms(result, self.atoms, low, high)
        return result

    def lower(self, step: float, low: float, high: float) -> LatticeLoss:
        """Merged half cells, chained next to a steep end: see `steep`."""
        end = None if len(self.atoms.p) else find_end(self, step, low, high)
        lattice = anchored(step, self.anchor if end is None else end.level)
        index = covered = lattice.covering(low, high)
        entries = []
        (left, right), last = self.ends, int(covered[-1])
        if end is not None:
            entries.append((end.p, end.q))
            nearest = lattice.nearest(end.level)
            edge = nearest + end.sign * (end.chain + 1)
            # The rest begins, or ends, at the very cut where the end stops: nothing counts twice.
            if end.sign > 0:
                index, left = index[index >= edge], end.stop
            else:
                index, right, last = index[index <= edge], end.stop, nearest
        middle = np.clip(self.cut(lattice.levels(index[:-1]) + step / 2), left, right)
        entries.append(self.lower_masses(np.concatenate(([left], middle, [right]))))
        slack, infinite = 0.0, 0.0
        if len(self.atoms.p):
            atom_p, atom_q, infinite, slack = lower_atoms(self.atoms)
            entries.append((atom_p, atom_q))
        p = np.concatenate([entry[0] for entry in entries])
        q = np.concatenate([entry[1] for entry in entries])
        return pool(lattice, p, q, (int(covered[0]) - 1, last), infinite, slack)

    def lower_masses(self, cuts: Array) -> tuple[Array, Array]:
        """(p rounded down, q rounded up) between cuts."""
        p, p_error, q, q_error = self.masses(np.maximum.accumulate(cuts))
        return np.maximum(p - p_error, 0.0), q + q_error

    def merged_to(self, level: float, sign: int) -> float | None:  # noqa: ARG002
        """About the loss that all from the low end (sign 1) or the high end (-1) to `level` merges to; nan if
        that is nothing, None if there is no formula.
        """
        return None

    @abstractmethod
    def end_loss(self, sign: float) -> float:
        """The infimum (sign 1) or supremum (sign -1) of the loss, on the far side of rounding."""


def _with_atoms(base: LatticeLoss, atoms: Atoms, low: float, high: float) -> LatticeLoss:
    """Add atoms to an upper measure of losses between `low` and `high`."""
    result = upper_atoms(base.lattice, atoms, low, high)
    if not result.masses.any():  # nor is there a place for it
        return replace(base, infinite=base.infinite + result.infinite)
    first = min(base.first, result.first)
    last = max(base.first + len(base.masses), result.first + len(result.masses))
    masses = np.zeros(last - first)
    for part in (base, result):
        masses[part.first - first : part.first - first + len(part.masses)] += part.masses
    return LatticeLoss(
        base.lattice, first, masses * (1 + 2 * UNIT), base.infinite + result.infinite
    )
