"""What is known by zero-concentrated differential privacy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from dpcheck.accounting.pairs.pair import Loss, numbers_at_most
from dpcheck.accounting.renyi.divergence import ROUND_UP
from dpcheck.accounting.renyi.moments import Floats
from dpcheck.core.data import Plain


@dataclass(frozen=True, slots=True)
class ConcentratedLoss(Loss):
    """Renyi divergence at most offset + rho * order at every order."""

    rho: float
    offset: float = 0.0
    moments_checked: ClassVar[bool] = True
    by_curve: ClassVar[bool] = True

    def concentration(self) -> float:
        """rho, where nothing is added to it."""
        return self.rho if not self.offset else math.inf

    def linear_renyi(self) -> tuple[float, float]:
        """By definition."""
        return self.rho, self.offset

    def no_worse(self, other: Loss) -> bool:
        """Smaller divergences at every order."""
        return numbers_at_most(self, other)

    def stated(self) -> dict[str, Plain]:
        """rho and offset."""
        return {"kind": "concentrated", "rho": self.rho, "offset": self.offset}

    def renyi(self, orders: Floats) -> Floats:
        """By definition."""
        return (orders * self.rho + self.offset) * ROUND_UP
