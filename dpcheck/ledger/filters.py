"""Privacy filters: stopping rules that hold though steps and stopping follow the outputs.

A filter fixes a limit before the first release and adds up one number per release; as long as the
sum stays within the limit, everything released together is (epsilon, delta)-DP, however the
releases and the moment to stop were chosen. An odometer may be read at any moment: with probability
1 - delta the privacy loss is below it at all times at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from scipy.special import ndtri

from dpcheck.accounting import losses
from dpcheck.accounting.accountants.gaussian import gdp_delta
from dpcheck.accounting.accountants.pure import largest_loss
from dpcheck.accounting.losses import Loss
from dpcheck.accounting.renyi.divergence import renyi
from dpcheck.core.budget import Budget
from dpcheck.core.errors import InvalidParameter, UnknownName
from dpcheck.core.validate import finite

# The formulas below are a handful of elementary functions of numbers up to about 1e3.
_ROUNDING = 1e-12


class Filter(Protocol):
    """What a ledger needs of a filter besides the sum of pure epsilons, which it always keeps."""

    name: ClassVar[str]
    theorem: ClassVar[str]

    @property
    def quantity(self) -> str:
        """What is added up, in words."""

    @property
    def adapts(self) -> bool:
        """Whether the limit may be lowered by an adaptively chosen epsilon (see `renyi_limit`)."""

    def measure(self, loss: Loss) -> float:
        """The number one release adds, at or above the truth; infinite if there is none."""

    def limit(self, epsilon: float, delta: float) -> float:
        """The largest sum that proves (epsilon, delta)-DP; negative where none does."""

    def odometer(self, total: float, delta: float) -> float:
        """A bound on the loss at all times at once, but with probability delta."""


@dataclass(frozen=True, slots=True)
class PureFilter:
    """Basic composition: epsilons add up along every path of outputs, and so do deltas.

    Reference: [Rogers2016], basic composition. The sum is its own odometer.
    """

    name: ClassVar[str] = "pure"
    theorem: ClassVar[str] = "basic composition, adaptively [Rogers2016]"
    adapts: ClassVar[bool] = True
    quantity: ClassVar[str] = "epsilon"

    def measure(self, loss: Loss) -> float:
        """Nothing beside the pure epsilon, which the ledger keeps anyway."""
        return math.inf if math.isinf(largest_loss(loss)[1]) else 0.0

    def limit(self, epsilon: float, delta: float) -> float:  # noqa: ARG002 - never used alone
        """No second rule."""
        return -1.0

    def odometer(self, total: float, delta: float) -> float:  # noqa: ARG002 - see the class
        """None but the sum itself."""
        return math.inf


def renyi_limit(order: float, epsilon: float, delta: float) -> float:
    """The largest Renyi divergence of `order` that proves (epsilon, delta)-DP.

    delta <= e^{(a-1)(D - epsilon)} (1 - 1/a)^a / (a - 1) solved for D. It is linear in epsilon,
    which is what lets `epsilon` be lowered after seeing outputs: with M = e^{(a-1)(L - D)} a
    supermartingale, E[M] <= 1 gives the same delta on every path.

    Guarantee: never above the true limit.
    Reference: [Canonne2020] Proposition 12.

    >>> round(renyi_limit(8, 3.0, 1e-5), 4)
    1.7859
    """
    if delta <= 0:
        return -1.0
    bought = -math.log1p(-1 / order) + (math.log(delta) + math.log(order)) / (order - 1)
    return epsilon + bought - _ROUNDING * (1 + epsilon + abs(bought))


@dataclass(frozen=True, slots=True)
class RenyiFilter:
    """Renyi divergences of one order, fixed when the ledger opens.

    Reference: [Feldman2021], fully adaptive composition; [Lecuyer2021]. With several orders at once
    the rule "stop when the last of them is spent" has no such proof, so there is one.
    """

    order: float
    name: ClassVar[str] = "rdp"
    theorem: ClassVar[str] = "Renyi filter at one order [Feldman2021]"
    adapts: ClassVar[bool] = True

    @property
    def quantity(self) -> str:
        """What is added up, in words."""
        return f"Renyi divergence of order {self.order:g}"

    def measure(self, loss: Loss) -> float:
        """The divergence, the larger of both directions."""
        return float(renyi(loss, np.array([self.order]))[0])

    def limit(self, epsilon: float, delta: float) -> float:
        """See `renyi_limit`."""
        return renyi_limit(self.order, epsilon, delta)

    def odometer(self, total: float, delta: float) -> float:
        """Ville's inequality for e^{(a-1)(L - D)}: always L <= D + log(1/delta)/(a-1).

        Reference: [Whitehouse2023] for the technique; the formula is the classic
        conversion of [Mironov2017] Proposition 3.
        """
        return _classic(total, self.order, delta)


def _classic(divergence: float, order: float, delta: float) -> float:
    if delta <= 0:
        return math.inf
    return (divergence - math.log(delta) / (order - 1)) * (1 + _ROUNDING)


@dataclass(frozen=True, slots=True)
class ConcentratedFilter:
    """rho of zero-concentrated DP; the limit is that of one order, fixed when the ledger opens.

    Reference: [Feldman2021], fully adaptive composition at that order, where rho-zCDP has
    divergence order * rho.
    """

    order: float
    name: ClassVar[str] = "zcdp"
    theorem: ClassVar[str] = "zCDP filter [Feldman2021]"
    adapts: ClassVar[bool] = True
    quantity: ClassVar[str] = "rho of zCDP"

    def measure(self, loss: Loss) -> float:
        """rho, infinite where the event has no such bound."""
        return _rho(loss) * (1 + 1e-14)

    def limit(self, epsilon: float, delta: float) -> float:
        """The Renyi limit over the order."""
        return renyi_limit(self.order, epsilon, delta) / self.order

    def odometer(self, total: float, delta: float) -> float:
        """See `RenyiFilter.odometer`."""
        return _classic(total * self.order, self.order, delta)


def _rho(loss: Loss) -> float:
    if isinstance(loss, losses.GaussianLoss):
        return loss.mu**2 / 2
    if isinstance(loss, losses.ConcentratedLoss):
        return loss.rho
    if isinstance(loss, losses.DiscreteGaussianLoss):
        return (loss.shift / loss.scale) ** 2 / 2  # [Canonne2020] Proposition 5
    epsilon = largest_loss(loss)[1]
    if isinstance(loss, losses.BoundedRangeLoss):
        return epsilon**2 / 8  # [Cesar2021]
    return epsilon**2 / 2  # [Bun2016] Proposition 3.3


@dataclass(frozen=True, slots=True)
class GaussianFilter:
    """mu^2 of Gaussian DP; every release must be mu-GDP, which sampled mechanisms are not.

    Reference: [Koskela2023], [Smith2022]: fully adaptive mu_i-GDP releases
    with sum mu_i^2 <= mu^2 are mu-GDP. No such rule holds for general trade-off curves.
    """

    order: float
    name: ClassVar[str] = "gdp"
    theorem: ClassVar[str] = "GDP filter [Smith2022], [Koskela2023]"
    adapts: ClassVar[bool] = False
    quantity: ClassVar[str] = "mu^2 of Gaussian DP"

    def measure(self, loss: Loss) -> float:
        """mu^2, infinite where the event has no such bound."""
        if isinstance(loss, losses.GaussianLoss):
            return loss.mu**2 * (1 + 1e-14)
        epsilon = largest_loss(loss)[1]
        if math.isinf(epsilon):
            return math.inf
        # The trade-off curve of epsilon-DP has one corner, at 1/(1+e^epsilon) on both axes; the
        # convex Gaussian curve through it lies below both of its lines.
        if epsilon < 1e-3:  # 1/2 - corner would lose digits; Phi(x) - 1/2 >= (x - x^3/6)/sqrt(2 pi)
            s = math.sqrt(2 * math.pi) * epsilon / 4
            return (2 * s * (1 + s**2 / 3)) ** 2 * (1 + _ROUNDING)
        corner = 1 / (1 + math.exp(min(epsilon, 700.0)))
        return float((2 * ndtri(corner)) ** 2) * (1 + _ROUNDING)

    def limit(self, epsilon: float, delta: float) -> float:
        """The largest mu^2 with delta(epsilon) <= delta; see `gdp_delta`."""
        if delta <= 0:
            return -1.0
        low, high = 0.0, 1.0
        while gdp_delta(high, epsilon)[1] <= delta:
            low, high = high, 2 * high
        for _ in range(60):
            middle = (low + high) / 2
            if not low < middle < high:
                break
            if gdp_delta(middle, epsilon)[1] <= delta:
                low = middle
            else:
                high = middle
        return low**2 * (1 - 1e-15)

    def odometer(self, total: float, delta: float) -> float:
        """mu-GDP has divergence a mu^2/2 at every order a; then as `RenyiFilter.odometer`."""
        return _classic(total * self.order / 2, self.order, delta)


ORDERS = tuple(1 + i / 20 for i in range(1, 20)) + tuple(float(a) for a in range(2, 1025))
FILTERS: dict[str, Callable[[float], Filter]] = {
    "rdp": RenyiFilter,
    "zcdp": ConcentratedFilter,
    "gdp": GaussianFilter,
}


def best_order(budget: Budget, reserve: float) -> float:
    """The order at which the most Gaussian releases fit: divergences there grow like the order.

    >>> best_order(Budget(3.0, 1e-5), 0.1)
    8.0
    """
    delta = budget.delta * (1 - reserve)
    return max(ORDERS, key=lambda order: renyi_limit(order, budget.epsilon, delta) / order)


def choose_filter(
    budget: Budget, name: str | None = None, order: float | None = None, reserve: float = 0.1
) -> Filter:
    """The filter by name; by default `pure` without a delta and `rdp` with one.

    `order` defaults to `best_order`.
    """
    if name is None:
        name = "pure" if budget.delta == 0 else "rdp"
    if name == "pure":
        if order is not None:
            raise InvalidParameter("the pure filter has no order; leave order out.", name="order")
        return PureFilter()
    if name not in FILTERS:
        known = ", ".join(["pure", *FILTERS])
        raise UnknownName(f"unknown filter {name!r}; use one of {known}.", value=name)
    if budget.delta == 0:
        raise InvalidParameter(
            f"the {name} filter needs a budget with delta above 0, for example "
            f"Budget({budget.epsilon:g}, 1e-6); with delta 0 use filter='pure'.",
            name="filter",
        )
    if order is None:
        order = best_order(budget, reserve)
    elif finite("order", order) <= 1:
        raise InvalidParameter(f"order must be above 1, got {order:g}.", name="order", value=order)
    return FILTERS[name](float(order))
