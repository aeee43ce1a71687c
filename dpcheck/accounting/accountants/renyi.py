"""Renyi differential privacy as accountants: one divergence curve, three conversions to epsilon."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from dpcheck.accounting.accountants.interface import Accountant, AccountingMethod
from dpcheck.accounting.certify.bound import Plan
from dpcheck.accounting.certify.renyi import by_renyi, renyi_curve
from dpcheck.accounting.losses import Parts
from dpcheck.accounting.renyi.closed_forms import concentration
from dpcheck.accounting.renyi.conversion import (
    Conversion,
    likely_delta_order,
    likely_linear_order,
    likely_order,
)
from dpcheck.accounting.renyi.divergence import composed_renyi
from dpcheck.numerics.rounding import Array


class RenyiAccountant(Accountant):
    """Divergences add along a composition; a conversion turns their sum into epsilon."""

    conversion: ClassVar[Conversion]
    by_name_only = True
    asked_last = True

    def plan_above(self, parts: Parts, delta: float) -> Plan:
        """The order that is likely to prove the least; none at delta 0."""
        if delta <= 0:
            return Plan()
        linear = concentration(parts)
        found = likely_linear_order(*linear, delta, self.conversion) if linear else None
        if found is None:
            found = likely_order(partial(composed_renyi, parts), delta, self.conversion)
        classic = self.conversion is Conversion.CLASSIC
        return Plan(by_renyi(parts, delta, found.order, found.u, classic=classic))


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

    def curve_above(self, parts: Parts, epsilons: Array) -> Plan:
        """The order of each; only the optimal conversion is solved for delta."""
        curve = partial(composed_renyi, parts)
        orders = [likely_delta_order(curve, epsilon).order for epsilon in epsilons.tolist()]
        return Plan(renyi_curve(parts, epsilons, orders))
