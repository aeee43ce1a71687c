"""Pure differential privacy: the largest loss of a pair, added up along a composition."""

from __future__ import annotations

import math

from dpcheck.accounting.accountants.interface import Accountant, AccountingMethod
from dpcheck.accounting.certify.bound import Plan
from dpcheck.accounting.certify.closed import (
    by_largest,
    by_largest_below,
    not_private,
    not_private_at,
)
from dpcheck.accounting.losses import Parts
from dpcheck.numerics.rounding import Array


class PureAccountant(Accountant):
    """Basic composition of largest losses."""

    method = AccountingMethod.PURE

    def plan_above(self, parts: Parts, delta: float) -> Plan:  # noqa: ARG002
        """The sum of the largest losses, at any delta."""
        known = by_largest(parts)
        return Plan(known) if math.isfinite(known.epsilon) else Plan()

    def plan_below(self, parts: Parts, delta: float) -> Plan:
        """Exact at delta 0; above it only what is not private at all is known."""
        return Plan(by_largest_below(parts) if delta <= 0 else not_private(parts, delta))

    def curve_above(self, parts: Parts, epsilons: Array) -> Plan:  # noqa: ARG002
        """Nothing is left beyond the largest loss; below it this accountant knows nothing."""
        return Plan(by_largest(parts))

    def curve_below(self, parts: Parts, epsilons: Array) -> Plan:
        """1 for what is not private at all."""
        return Plan(not_private_at(parts, epsilons))
