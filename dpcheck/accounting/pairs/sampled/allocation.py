"""Gaussian noise on an epoch in which every record joins one batch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from dpcheck.accounting.pairs.pair import BOTH, Loss
from dpcheck.accounting.pld.pairs.allocation import AllocationPair
from dpcheck.accounting.pld.pairs.pair import LossPair
from dpcheck.accounting.renyi.divergence import ROUND_UP
from dpcheck.accounting.renyi.moments import Floats, half_square
from dpcheck.numerics.side import Side


@dataclass(frozen=True, slots=True)
class AllocationLoss(Loss):
    """P = (1/batches) sum_i N(mu e_i, I), Q = N(0, I): one of `batches` steps, chosen uniformly."""

    mu: float
    batches: int
    backwards: bool = False
    lattice_sides: ClassVar[tuple[Side, ...]] = BOTH
    endless: ClassVar[bool] = True

    def reversed(self) -> Loss:
        """The other direction."""
        return replace(self, backwards=not self.backwards)

    @property
    def steepness(self) -> float:
        """mu."""
        return self.mu

    def lattice(self, side: Side) -> LossPair:
        """The law of a mean of exponentials."""
        return AllocationPair(self.mu, self.batches, side, backwards=self.backwards)

    def renyi(self, orders: Floats) -> Floats:
        """That of one step."""
        # Quasi-convex in each argument [VanErven2014, Theorem 13]: a mixture of single steps is no worse
        # than one of them, in both directions.
        return half_square(orders, self.mu) * ROUND_UP
