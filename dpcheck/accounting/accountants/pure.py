"""Pure differential privacy: the largest loss of a pair, added up along a composition."""

from __future__ import annotations

import math

from dpcheck.accounting.accountants.interface import Accountant, AccountingMethod
from dpcheck.accounting.losses import Parts
from dpcheck.accounting.pairs.pair import composed_largest_loss


class PureAccountant(Accountant):
    """Basic composition of largest losses."""

    method = AccountingMethod.PURE

    def supports(self, parts: Parts) -> bool:
        """Whether every loss is bounded."""
        return math.isfinite(composed_largest_loss(parts)[1])

    def epsilon(self, parts: Parts, delta: float) -> float:  # noqa: ARG002
        """The sum of the largest losses, at any delta."""
        return composed_largest_loss(parts)[1]

    def delta(self, parts: Parts, epsilon: float) -> float:
        """Nothing is left beyond the largest loss; below it this accountant knows nothing."""
        return 0.0 if composed_largest_loss(parts)[1] <= epsilon else 1.0

    def epsilon_lower(self, parts: Parts, delta: float) -> float:
        """Exact at delta 0; above it only what is not private at all is known."""
        if delta <= 0:
            return composed_largest_loss(parts)[0]
        return math.inf if _unbounded(parts) else 0.0

    def delta_lower(self, parts: Parts, epsilon: float) -> float:  # noqa: ARG002
        """1 for what is not private at all."""
        return 1.0 if _unbounded(parts) else 0.0


def _unbounded(parts: Parts) -> bool:
    return any(loss.objection is not None for loss, _ in parts)
