"""Noise around a vector of weights, whose length decides its density; what is solved under it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dpcheck.accounting.pairs.known.finite import FiniteLoss
from dpcheck.accounting.pairs.pair import BOTH, Loss
from dpcheck.accounting.pld.pairs.pair import LossPair
from dpcheck.accounting.renyi.moments import Floats
from dpcheck.numerics.side import Side


@dataclass(frozen=True, slots=True)
class SphericalLoss(Loss):
    """Noise of density exp(-|b|) in `dimension` >= 2 dimensions, moved by a vector of length `ratio`."""

    ratio: float
    dimension: int
    lattice_sides: ClassVar[tuple[Side, ...]] = BOTH

    def largest(self) -> tuple[float, float]:
        """Attained where the noise points along the shift."""
        return self.ratio, self.ratio

    @property
    def steepness(self) -> float:
        """ratio."""
        return self.ratio

    def lattice(self, side: Side) -> LossPair:
        """That of its table."""
        return self.table(side).lattice(side)

    def table(self, side: Side) -> FiniteLoss:
        """A table that bounds its losses from that side."""
        from dpcheck.accounting.pld.pairs.spherical import contained, dominating

        return dominating(self) if side is Side.UPPER else contained(self)

    def renyi(self, orders: Floats) -> Floats:
        """That of its table."""
        return self.table(Side.UPPER).renyi(orders)

    def renyi_lower(self, orders: Floats) -> Floats:
        """The same from below."""
        return self.table(Side.LOWER).renyi_lower(orders)


@dataclass(frozen=True, slots=True)
class ObjectiveLoss(Loss):
    """Objective perturbation, one record replaced: |log P/Q| <= epsilon, whose supremum is >= `attained`.

    One record moves the noise, of density exp(-|b|) in `dimension` >= 2 dimensions, by at most 2 `ratio`,
    and the determinants by a factor of at most 1 + s(1-s) `curvature`, where s is the record's slope.
    """

    epsilon: float
    attained: float
    ratio: float
    curvature: float
    dimension: int
    lattice_sides: ClassVar[tuple[Side, ...]] = BOTH

    @property
    def flipped(self) -> SphericalLoss:
        """The pair of datasets that differ in one label."""
        return SphericalLoss(self.ratio, self.dimension)

    def largest(self) -> tuple[float, float]:
        """As `accounting.objective` proves."""
        return self.attained, self.epsilon

    @property
    def steepness(self) -> float:
        """ratio."""
        return self.ratio

    def lattice(self, side: Side) -> LossPair:
        """That of its table."""
        return self.table(side).lattice(side)

    def table(self, side: Side) -> FiniteLoss:
        """A table that bounds its losses from that side."""
        from dpcheck.accounting.pld.pairs.spherical import dominating_replaced

        return dominating_replaced(self) if side is Side.UPPER else self.flipped.table(side)

    def renyi(self, orders: Floats) -> Floats:
        """That of its table."""
        return self.table(Side.UPPER).renyi(orders)

    def renyi_lower(self, orders: Floats) -> Floats:
        """The same from below."""
        return self.table(Side.LOWER).renyi_lower(orders)
