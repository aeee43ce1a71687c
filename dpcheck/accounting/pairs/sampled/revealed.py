"""A Poisson-sampled Gaussian step that tells the size of its batch."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dpcheck.accounting.pairs.pair import ABOVE, Loss
from dpcheck.accounting.pld.pairs.pair import LossPair
from dpcheck.accounting.pld.pairs.revealed import revealed_size_pair
from dpcheck.accounting.renyi.moments import Floats
from dpcheck.numerics.side import Side


@dataclass(frozen=True, slots=True)
class RevealedSizeLoss(Loss):
    """A Poisson-sampled Gaussian step whose batch size m is released, a record added or removed.

    With n = `rows`, the record among them: P(m) = Binomial(n, rate), Q(m) = Binomial(n-1, rate), and given m
    the sum is moved by `mu` with probability m/n under P.
    """

    mu: float
    rate: float
    rows: int
    backwards: bool = False
    lattice_sides: ClassVar[tuple[Side, ...]] = ABOVE
    endless: ClassVar[bool] = True

    def reversed(self) -> Loss:
        """The other direction."""
        return replace(self, backwards=not self.backwards)

    @property
    def steepness(self) -> float:
        """mu."""
        return self.mu

    def lattice(self, side: Side) -> LossPair:  # noqa: ARG002
        """Size by size."""
        return revealed_size_pair(self.mu, self.rate, self.rows, backwards=self.backwards)

    def renyi(self, orders: Floats) -> Floats:
        """Infinite."""
        # A size of all rows is seen with the record only, and without it never: no divergence is finite.
        return np.full_like(orders, math.inf)
