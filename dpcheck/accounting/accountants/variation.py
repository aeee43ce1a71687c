"""Total variation: how often two neighbouring outputs can differ at all.

delta(0) is the total variation distance of a pair. Distances of independent outputs add at most up, so where
the sum of all steps is at most delta, epsilon is 0: sampling at a rate far below delta, whatever the noise.
"""

from __future__ import annotations

from dpcheck.accounting.accountants.interface import Accountant, AccountingMethod
from dpcheck.accounting.certify.bound import Plan
from dpcheck.accounting.certify.closed import by_variation
from dpcheck.accounting.losses import Parts
from dpcheck.numerics.rounding import Array


class VariationAccountant(Accountant):
    """epsilon 0 where the total variation is within delta; nothing elsewhere."""

    method = AccountingMethod.VARIATION

    def plan_above(self, parts: Parts, delta: float) -> Plan:  # noqa: ARG002
        """0 or infinite."""
        return Plan(by_variation(parts))

    def curve_above(self, parts: Parts, epsilons: Array) -> Plan:  # noqa: ARG002
        """The distance: delta falls in epsilon."""
        return Plan(by_variation(parts))
