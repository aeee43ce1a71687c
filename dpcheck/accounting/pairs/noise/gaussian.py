"""Gaussian noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpcheck.accounting.pairs.pair import BOTH, Loss, numbers_at_most
from dpcheck.accounting.pld.pairs.mixtures import Mixture, NormalPair
from dpcheck.accounting.pld.pairs.pair import LossPair
from dpcheck.accounting.renyi.divergence import ROUND_DOWN, ROUND_UP
from dpcheck.accounting.renyi.moments import Floats, half_square
from dpcheck.core.data import Plain
from dpcheck.numerics.rounding import Array
from dpcheck.numerics.side import Side

# 1/sqrt(2 pi), the largest density of the normal law, rounded up.
NORMAL_PEAK = 0.3990


@dataclass(frozen=True, slots=True)
class GaussianLoss(Loss):
    """P = N(mu, 1), Q = N(0, 1)."""

    mu: float
    moments_checked: ClassVar[bool] = True
    sideless: ClassVar[bool] = True
    smooth: ClassVar[bool] = True
    normal: ClassVar[bool] = True
    lattice_sides: ClassVar[tuple[Side, ...]] = BOTH
    endless: ClassVar[bool] = True

    @property
    def normal_shift(self) -> float:
        """mu."""
        return self.mu

    def variation(self) -> float:
        """P(|Z| <= mu/2) <= mu / sqrt(2 pi)."""
        return min(NORMAL_PEAK * self.mu, 1.0)

    def concentration(self) -> float:
        """mu^2/2."""
        return self.mu**2 / 2

    def linear_renyi(self) -> tuple[float, float]:
        """mu^2/2 * order; in a product, since a power raises where this is infinite."""
        return self.mu * self.mu / 2, 0.0

    @property
    def steepness(self) -> float:
        """mu."""
        return self.mu

    def lattice(self, side: Side) -> LossPair:  # noqa: ARG002
        """One shifted normal law."""
        return NormalPair(Mixture((self.mu,), (1.0,)), Mixture())

    def no_worse(self, other: Loss) -> bool:
        """A smaller shift is a larger one with noise added."""
        return numbers_at_most(self, other)

    def stated(self) -> dict[str, Plain]:
        """A Gaussian that is always drawn."""
        return {"kind": "gaussian", "shift": self.mu, "rate": 1.0}

    def drawn(self, size: int, rng: np.random.Generator) -> Array:
        """Normal themselves."""
        return np.asarray(self.mu**2 / 2 + self.mu * rng.standard_normal(size))

    def shrunk(self, share: float) -> Loss:
        """A smaller shift, of a few digits."""
        return GaussianLoss(float(f"{self.mu * (1 - share):.12g}") * (1 - share))

    def renyi(self, orders: Floats) -> Floats:
        """order mu^2 / 2."""
        return half_square(orders, self.mu) * ROUND_UP  # [Mironov2017] Proposition 7

    def renyi_lower(self, orders: Floats) -> Floats:
        """The same from below."""
        return self.renyi(orders) * ROUND_DOWN


# Nothing is seen.
NO_LOSS = GaussianLoss(0.0)
