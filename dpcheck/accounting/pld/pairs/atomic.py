"""Pairs with finitely many outcomes."""

from __future__ import annotations

import math

import numpy as np

from dpcheck.accounting.pld.pairs.atoms import (
    Atoms,
    atoms_epsilon,
    by_cells,
    lower_atoms,
    lowered_atoms,
    upper_atoms,
)
from dpcheck.accounting.pld.pairs.pair import LossPair
from dpcheck.numerics.lattice import LatticeLoss, anchored, pool
from dpcheck.numerics.rounding import LARGEST_EXPONENT, UNIT, Array
from dpcheck.numerics.side import Side

# More atoms than this are merged before they are put on a lower lattice.
CROWDED = 4096
# Pairs of so many outcomes are looked at as they are.
FEW_OUTCOMES = 256
# So many of them a cell are merged around its point.
DENSE = 4
# So many of the atoms that matter most are looked at to choose a step.
FEW_ATOMS = 64


class AtomicPair(LossPair):
    """Finitely many outcomes, and a bound on the P-mass of all others."""

    def __init__(self, atoms: Atoms, rest: float = 0.0, span: float | None = None) -> None:
        self.atoms, self.rest, self.span = atoms, rest, span
        self.exact, self.listed = span is not None, len(atoms.p) <= FEW_OUTCOMES
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
        if self.atoms.known is not None and float(np.abs(self.nodes()[0]).max()) > LARGEST_EXPONENT:
            return lowered_atoms(lattice, self.atoms, low, high)
        p, q, infinite, slack = lower_atoms(self.atoms)
        span = lattice.below(low) - 1, lattice.below(high) + 1
        if len(p) > DENSE * (span[1] - span[0]):
            p, q = by_cells(lattice, p, q, 1)  # what lies on either side of a point cancels
        elif len(p) > CROWDED:
            p, q = by_cells(lattice, p, q, 2)
        return pool(lattice, p, q, span, infinite, slack)
