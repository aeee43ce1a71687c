"""What has no guarantee."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpcheck.accounting.pairs.pair import Loss
from dpcheck.accounting.renyi.moments import Floats


@dataclass(frozen=True, slots=True)
class UnboundedLoss(Loss):
    """No guarantee at all."""

    reason: str
    endless: ClassVar[bool] = True

    @property
    def objection(self) -> str:
        """The reason."""
        return self.reason

    def renyi(self, orders: Floats) -> Floats:
        """Infinite."""
        return np.full_like(orders, math.inf)

    def renyi_lower(self, orders: Floats) -> Floats:
        """The same from below."""
        return np.full_like(orders, math.inf)
