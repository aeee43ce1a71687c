"""Total variation: how often two neighbouring outputs can differ at all.

delta(0) is the total variation distance of a pair. Distances of independent outputs add at most up, so where
the sum of all steps is at most delta, epsilon is 0: sampling at a rate far below delta, whatever the noise.
"""

from __future__ import annotations

import math

from dpcheck.accounting.accountants.interface import Accountant, AccountingMethod
from dpcheck.accounting.losses import Parts
from dpcheck.accounting.pairs.pair import composed_variation


class VariationAccountant(Accountant):
    """epsilon 0 where the total variation is within delta; nothing elsewhere."""

    method = AccountingMethod.VARIATION

    def supports(self, parts: Parts) -> bool:  # noqa: ARG002
        """Every pair has a distance."""
        return True

    def epsilon(self, parts: Parts, delta: float) -> float:
        """0 or infinite."""
        return 0.0 if composed_variation(parts) <= delta else math.inf

    def delta(self, parts: Parts, epsilon: float) -> float:  # noqa: ARG002
        """The distance: delta falls in epsilon."""
        return composed_variation(parts)
