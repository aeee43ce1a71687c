"""Densities that somebody wrote down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dpcheck.accounting.pairs.pair import BOTH, Loss
from dpcheck.accounting.pld.pairs.pair import LossPair
from dpcheck.numerics.side import Side

if TYPE_CHECKING:
    from flint import acb


@dataclass(frozen=True, slots=True)
class DensityLoss(Loss):
    """Two densities on the line, as functions of a python-flint complex ball, and cells to integrate over.

    `p` and `q` take and return `flint.acb` and must be analytic and positive inside every cell
    between consecutive `knots`; mass of P outside the knots counts as infinite loss.
    """

    p: Callable[[acb], acb]
    q: Callable[[acb], acb]
    knots: tuple[float, ...]
    lattice_sides: ClassVar[tuple[Side, ...]] = BOTH

    def reversed(self) -> Loss:
        """The densities swapped."""
        return DensityLoss(self.q, self.p, self.knots)

    def lattice(self, side: Side) -> LossPair:
        """Integrated cell by cell."""
        from dpcheck.accounting.pld.pairs.densities import density_pair

        return density_pair(self, side)
