"""Renyi differential privacy as accountants: one divergence curve, three conversions to epsilon."""

from __future__ import annotations

import math
from typing import ClassVar

from dpcheck.accounting.accountants.interface import Accountant, AccountingMethod
from dpcheck.accounting.losses import Parts
from dpcheck.accounting.renyi.closed_forms import concentration
from dpcheck.accounting.renyi.conversion import (
    Conversion,
    linear_rdp_epsilon,
    rdp_delta,
    rdp_epsilon,
)
from dpcheck.accounting.renyi.divergence import composed_renyi


class RenyiAccountant(Accountant):
    """Divergences add along a composition; a conversion turns their sum into epsilon."""

    conversion: ClassVar[Conversion]
    by_name_only = True
    asked_last = True

    def supports(self, parts: Parts) -> bool:  # noqa: ARG002
        """Every loss has a divergence, if only an infinite one."""
        return True

    def epsilon(self, parts: Parts, delta: float) -> float:
        """The smallest epsilon over all orders; none at delta 0."""
        if delta <= 0:
            return math.inf
        linear = concentration(parts)
        known = linear_rdp_epsilon(*linear, delta, self.conversion) if linear else None
        if known is None:
            known = rdp_epsilon(
                lambda orders: composed_renyi(parts, orders), delta, self.conversion
            )
        return known.value

    def delta(self, parts: Parts, epsilon: float) -> float:  # noqa: ARG002
        """Only the optimal conversion is solved for delta."""
        return 1.0


class RenyiClassic(RenyiAccountant):
    """[Mironov2017] Proposition 3."""

    method = AccountingMethod.RENYI_CLASSIC
    conversion = Conversion.CLASSIC


class RenyiImproved(RenyiAccountant):
    """[Canonne2020] Proposition 12."""

    method = AccountingMethod.RENYI_IMPROVED
    conversion = Conversion.IMPROVED


class RenyiOptimal(RenyiAccountant):
    """[Asoodeh2021]: the tightest conversion of one divergence."""

    method = AccountingMethod.RENYI_OPTIMAL
    conversion = Conversion.OPTIMAL
    by_name_only = False

    def delta(self, parts: Parts, epsilon: float) -> float:
        """The smallest delta over all orders."""
        return rdp_delta(lambda orders: composed_renyi(parts, orders), epsilon).value
