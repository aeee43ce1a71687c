"""Gaussian noise on a batch of fixed size, a record replaced."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpcheck.accounting.pairs.noise.gaussian import NORMAL_PEAK
from dpcheck.accounting.pairs.pair import ABOVE, Loss, rounded_sum
from dpcheck.accounting.pld.pairs.pair import LossPair
from dpcheck.accounting.pld.pairs.symmetric import WithoutReplacementPair, with_replacement_pair
from dpcheck.accounting.pld.verify.curves import Curve, FixedBatchCurve
from dpcheck.accounting.renyi.divergence import renyi_of_mixed_shifts
from dpcheck.accounting.renyi.moments import Floats
from dpcheck.accounting.renyi.sampled import interpolated, without_replacement_moment
from dpcheck.core.data import Plain
from dpcheck.numerics.side import Side
from dpcheck.numerics.tails import binomial_masses, binomial_tail


@dataclass(frozen=True, slots=True)
class WithoutReplacementLoss(Loss):
    """A Gaussian step of replace-one shift `mu` on a batch drawn without replacement at `rate`."""

    mu: float
    rate: float
    loose_renyi: ClassVar[bool] = True  # by a factor of 4
    lattice_sides: ClassVar[tuple[Side, ...]] = ABOVE
    endless: ClassVar[bool] = True

    def variation(self) -> float:
        """Neighbours differ only if the record is drawn."""
        return rounded_sum((self.rate * min(NORMAL_PEAK * self.mu, 1.0),))

    @property
    def steepness(self) -> float:
        """mu."""
        return self.mu

    def lattice(self, side: Side) -> LossPair:  # noqa: ARG002
        """The amplified curve."""
        return WithoutReplacementPair((self.mu,), (self.rate,))

    def ball_curve(self, side: Side) -> Curve:  # noqa: ARG002
        """The amplified curve."""
        return FixedBatchCurve(self.mu, self.rate)

    def stated(self) -> dict[str, Plain]:
        """Shift and rate."""
        return {"kind": "fixed-batch-gaussian", "shift": self.mu, "rate": self.rate}

    def renyi(self, orders: Floats) -> Floats:
        """From the moments at whole orders."""
        return interpolated(lambda order: without_replacement_moment(self, order), orders)


@dataclass(frozen=True, slots=True)
class WithReplacementLoss(Loss):
    """A Gaussian step of replace-one shift `mu` on `batch` draws with replacement from `rows` records."""

    mu: float
    rows: int
    batch: int
    lattice_sides: ClassVar[tuple[Side, ...]] = ABOVE
    endless: ClassVar[bool] = True

    @property
    def steepness(self) -> float:
        """mu."""
        return self.mu

    def lattice(self, side: Side) -> LossPair:  # noqa: ARG002
        """The amplified curves, by how often the record is drawn."""
        return with_replacement_pair(self.mu, self.rows, self.batch)

    def renyi(self, orders: Floats) -> Floats:
        """The mean over how often the record is drawn."""
        most = min(self.batch, 4096)
        draws = np.arange(1, most + 1, dtype=np.float64)
        weights = binomial_masses(draws, self.batch, 1 / self.rows)
        shifts = self.mu * draws
        if most < self.batch:
            shifts[-1] = self.mu * self.batch
            weights[-1] = binomial_tail(self.batch, 1 / self.rows, most)[1] + 1e-300
        with np.errstate(over="ignore"):
            return renyi_of_mixed_shifts(shifts, weights, orders)
