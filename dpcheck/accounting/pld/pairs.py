"""Pairs (P, Q) on the line, cut into cells whose masses are certified.

A smooth pair has a loss that increases with x. `cut` need only be roughly right: the loss at every
cut is evaluated with an error bound, and the upper construction pays for what the cut misses
(`Cells.under`, `Cells.over`); the lower one does not need to know where the cuts are.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from dpcheck.accounting.pld.grading import Grading
from dpcheck.accounting.pld.steep import find_end
from dpcheck.numerics.lattice import (
    Cells,
    Lattice,
    LatticeLoss,
    anchored,
    pool,
    spread,
    spread_atoms,
)
from dpcheck.numerics.rounding import ELEMENTARY, UNIT, Array
from dpcheck.numerics.side import Side

# Rounding of atoms' masses and losses, in units, times (1 + |loss|).
ATOM_UNITS = 64
# More atoms than this are merged before they are put on a lower lattice.
CROWDED = 4096
# So many of the atoms that matter most are looked at to choose a step.
FEW_ATOMS = 64


@dataclass(frozen=True, slots=True)
class Atoms:
    """Outcomes with masses p and q, each right within a relative `error`.

    `known` holds their losses in closed form, right within ATOM_UNITS units of 1 + |loss|; needed
    where a mass underflows.
    """

    p: Array
    q: Array
    error: float
    known: Array | None = None

    def losses(self) -> Array:
        """log p/q, infinite where q is 0; -infinite where p is 0."""
        if self.known is not None:
            return np.where(self.p > 0, self.known, -math.inf)
        with np.errstate(divide="ignore"):
            return np.log(self.p) - np.where(self.p > 0, np.log(self.q), 0.0)


NO_ATOMS = Atoms(np.empty(0), np.empty(0), 0.0)


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

    def upper(
        self, step: float, low: float, high: float, grading: Grading | None = None
    ) -> LatticeLoss:
        """Connect the dots: see `dpcheck.numerics.lattice`; those of a grading, if it is given."""
        lattice = anchored(step, self.anchor)
        index = lattice.covering(low, high)
        if grading is not None:
            index = grading.among(index, lattice, self.anchor)
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
        """Merged half cells, chained next to a steep end: see `pld_steep`."""
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


def upper_atoms(
    lattice: Lattice, atoms: Atoms, low: float = -math.inf, high: float = math.inf
) -> LatticeLoss:
    """Atoms on the lattice from above; below `low` raised, above `high` made infinite."""
    losses = atoms.losses()
    # `high` may come from the same losses by another order of operations, or rounded to ten digits by a plan.
    gone = (losses > high + 1e-9 * (1 + abs(high))) | (losses == math.inf)
    finite = np.where(np.isfinite(losses), losses, 0.0)
    losses = losses + ATOM_UNITS * UNIT * (1 + np.abs(finite)) + 2 * atoms.error
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
    slack = 2 * ATOM_UNITS * UNIT * (1 + largest) + 4 * atoms.error
    return p[kept], q[kept], infinite, slack


def _by_half_cells(lattice: Lattice, p: Array, q: Array) -> tuple[Array, Array]:
    """The same outcomes merged by halves of cells (merging is sound below), where that leaves fewer."""
    seen = (p > FAINTEST) & (q > FAINTEST)
    p, q = p[seen], q[seen]
    at = np.floor((np.log(p) - np.log(q) - lattice.offset) * (2 / lattice.step)).astype(np.int64)
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


# Masses below this may have lost digits.
FAINTEST = 1e-290
# Beyond this loss e^loss times a mass leaves the range of floats.
STEEPEST_LOSS = 600.0


def lowered_atoms(lattice: Lattice, atoms: Atoms, low: float, high: float) -> LatticeLoss:
    """Each atom moved down to the next point: less loss, hence below; nothing is lost on the lattice."""
    losses = atoms.losses()
    p = atoms.p * max(1 - atoms.error - 2 * UNIT, 0.0)
    infinite = float(np.sum(p[losses == math.inf])) * (1 - 1e-13)
    kept = np.isfinite(losses) & (losses >= low)
    if not kept.any():
        return LatticeLoss(lattice, lattice.below(low), np.zeros(1), infinite)
    at = np.minimum(losses[kept], high)
    slack = 2 * ATOM_UNITS * UNIT * (1 + float(np.abs(at).max())) + 4 * atoms.error
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


class AtomicPair(LossPair):
    """Finitely many outcomes, and a bound on the P-mass of all others."""

    def __init__(self, atoms: Atoms, rest: float = 0.0, span: float | None = None) -> None:
        self.atoms, self.rest, self.span = atoms, rest, span
        self.exact = span is not None
        losses = atoms.losses()
        finite = np.isfinite(losses)
        heaviest = int(np.argmax(np.where(finite, atoms.p, -1.0)))
        self.anchor = float(losses[heaviest]) if finite.any() else 0.0
        self.loose_atoms = float(np.sum(atoms.p[finite])) - float(atoms.p[heaviest])
        self.certain_infinite = float(np.sum(atoms.p[losses == math.inf])) * (1 - 1e-12)
        infinite = rest > 0 or bool((atoms.p[losses == math.inf] > 0).any())
        self.top = math.inf if infinite else float(losses[atoms.p > 0].max())

    def merging(self, steps: Array, tilt: float) -> Array:
        """Atoms further from others than a step go to the nearer point (the first up, the last down), at the
        cost of a variance that grows with the distance to the atom that helps, or of the move itself.
        """
        found, logs = self.nodes()
        if not len(found):
            return np.zeros_like(steps)
        losses, of = np.unique(found, return_inverse=True)
        exponents = logs + tilt * found
        weights = np.bincount(of, weights=np.exp(exponents - exponents.max()))
        gaps = np.diff(losses, prepend=-math.inf, append=math.inf)
        alone = np.minimum(gaps[:-1], gaps[1:])
        costs = weights * np.minimum(alone * (tilt + 1) / 2, 1.0)
        few = np.argsort(costs)[-FEW_ATOMS:]  # in place of all
        at = (losses[few] - self.anchor) / steps[:, None]
        up, down = (1e-9 - at) % 1.0, (1e-9 + at) % 1.0
        moved = np.where(few == 0, up, np.where(few == len(losses) - 1, down, np.minimum(up, down)))
        moved = np.where(alone[few] > steps[:, None], moved, 0.0)
        share = np.sum(costs) / (np.sum(costs[few]) * np.sum(weights))
        return np.asarray(steps * (moved @ costs[few]) * share)

    def single_epsilon(self, delta: float, side: Side) -> float | None:
        """No lattice is needed for one use: see `atoms_epsilon`."""
        return atoms_epsilon(self.atoms, self.rest, delta, side)

    def nodes(self) -> tuple[Array, Array]:
        """The atoms themselves."""
        losses = self.atoms.losses()
        kept = np.isfinite(losses)
        return losses[kept], np.log(self.atoms.p[kept])

    def upper(self, step: float, low: float, high: float) -> LatticeLoss:
        """Each atom between its two neighbouring points."""
        lattice = anchored(step, self.anchor)
        result = upper_atoms(lattice, self.atoms, low, high)
        infinite = result.infinite + self.rest
        return LatticeLoss(lattice, result.first, result.masses, infinite * (1 + 2 * UNIT))

    def lower(self, step: float, low: float, high: float) -> LatticeLoss:
        """Atoms merged onto points: see `pool`."""
        lattice = anchored(step, self.anchor)
        if self.atoms.known is not None and float(np.abs(self.nodes()[0]).max()) > STEEPEST_LOSS:
            return lowered_atoms(lattice, self.atoms, low, high)
        p, q, infinite, slack = lower_atoms(self.atoms)
        if len(p) > CROWDED:
            p, q = _by_half_cells(lattice, p, q)
        span = lattice.below(low) - 1, lattice.below(high) + 1
        return pool(lattice, p, q, span, infinite, slack)
