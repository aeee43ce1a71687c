"""Privacy filters: stopping rules that hold though steps and stopping follow the outputs.

A filter adds up one or more numbers per release; as long as the sums prove epsilon within delta,
everything released together is (epsilon, delta)-DP, however the releases and the moment to stop
were chosen. An odometer may be read at any moment: whoever stops on reading e has
P(S) <= E_Q[e^e; S] + delta for every set S of outcomes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from scipy.special import ndtri

from dpcheck.accounting.accountants.gaussian import gdp_epsilon
from dpcheck.accounting.certify.gaussian import gdp_delta
from dpcheck.accounting.losses import Loss
from dpcheck.core.budget import Budget
from dpcheck.core.errors import InvalidParameter, UnknownName
from dpcheck.core.validate import finite
from dpcheck.ledger.pricing.certificate import (
    ANNOUNCED,
    ORDERS,
    SURPRISED,
    Certificate,
    best_order,
    certify,
    certify_order,
)
from dpcheck.ledger.pricing.costs import Floats
from dpcheck.ledger.pricing.mixture import EVENLY, SOME, Mixture, favouring

_ROUNDING = 1e-12


class Aim(NamedTuple):
    """What a filter is to prove, and whether the schedule was announced."""

    epsilon: float
    delta: float
    announced: bool = False


class Filter(Protocol):
    """What a ledger needs of a filter besides the sum of pure epsilons, which it always keeps."""

    name: ClassVar[str]
    theorem: ClassVar[str]

    @property
    def size(self) -> int:
        """How many numbers are added up."""

    @property
    def order(self) -> float | None:
        """The one order it was opened with, if it has one."""

    @property
    def adapts(self) -> bool:
        """Whether epsilon may be lowered after seeing outputs (late plans; see `certificate`)."""

    @property
    def certifies_loops(self) -> bool:
        """Whether a loop of the first event gets a share of delta (see `allocation`)."""

    def measure(self, loss: Loss) -> Floats:
        """The numbers one release adds, at or above the truth; infinite where there is none."""

    def certify(self, cost: Floats, aim: Aim) -> Certificate:
        """What is fixed before the first release, if most releases are of `cost`."""

    def allows(self, total: Floats, epsilon: float, delta: float, fixed: Certificate) -> bool:
        """Whether `total` proves (epsilon, delta)-DP by what was fixed with the first release."""

    def epsilon(self, total: Floats, delta: float, fixed: Certificate) -> float:
        """The least epsilon that `allows` accepts, or near it."""

    def odometer(self, total: Floats, delta: float) -> float:
        """The odometer."""

    def divergence(self, total: Floats, order: float) -> float:
        """The Renyi divergence of this order that `total` proves; infinite where it proves none."""


@dataclass(frozen=True, slots=True)
class PureFilter:
    """Basic composition: epsilons add up along every path of outputs, and so do deltas.

    Reference: [Rogers2016], basic composition. The sum is its own odometer.
    """

    name: ClassVar[str] = "pure"
    theorem: ClassVar[str] = "basic composition, adaptively [Rogers2016]"
    adapts: ClassVar[bool] = True
    certifies_loops: ClassVar[bool] = False
    size: ClassVar[int] = 0
    order: ClassVar[float | None] = None

    def measure(self, loss: Loss) -> Floats:  # noqa: ARG002 - the same for every loss
        """Nothing beside the pure epsilon, which the ledger keeps anyway."""
        return np.zeros(0)

    def certify(self, cost: Floats, aim: Aim) -> Certificate:  # noqa: ARG002
        """No order is used."""
        return Certificate(2.0)

    def allows(self, total: Floats, epsilon: float, delta: float, fixed: Certificate) -> bool:  # noqa: ARG002
        """No second rule."""
        return False

    def epsilon(self, total: Floats, delta: float, fixed: Certificate) -> float:  # noqa: ARG002
        """No second rule."""
        return math.inf

    def odometer(self, total: Floats, delta: float) -> float:  # noqa: ARG002
        """None but the sum itself."""
        return math.inf

    def divergence(self, total: Floats, order: float) -> float:  # noqa: ARG002
        """None: the sum of epsilons is a bound of every order, and the ledger keeps it."""
        return math.inf


@dataclass(frozen=True, slots=True)
class RenyiFilter:
    """Renyi divergences: of several orders that share delta, by what comes first, or of one order.

    Reference: [Feldman2021], fully adaptive composition; [Lecuyer2021]. `certificate` proves the
    rule for several orders; "stop when the last of them is spent" without shares has no such proof.
    """

    order: float | None = None
    name: ClassVar[str] = "rdp"
    theorem: ClassVar[str] = "Renyi filter [Feldman2021]"
    adapts: ClassVar[bool] = True
    certifies_loops: ClassVar[bool] = False

    @property
    def size(self) -> int:
        """One divergence per order."""
        return len(self._orders)

    @property
    def _orders(self) -> Floats:
        return ORDERS if self.order is None else np.array([self.order])

    def measure(self, loss: Loss) -> Floats:
        """The divergences, the larger of both directions."""
        return loss.renyi(self._orders)

    def certify(self, cost: Floats, aim: Aim) -> Certificate:
        """Most of delta for the order at which most releases of `cost` fit."""
        if self.order is not None:
            return certify_order(self.order, aim.epsilon, aim.delta)
        if aim.announced:
            return certify(cost, aim.epsilon, aim.delta, ANNOUNCED)
        return certify(cost, aim.epsilon, aim.delta, SURPRISED, waits=True)

    def _earlier(self, total: Floats, order: float) -> tuple[Mixture, Floats]:
        """What ledgers of earlier versions began with."""
        return (_favouring(order), total[::2]) if self.order is None else (_alone(order), total)

    def allows(self, total: Floats, epsilon: float, delta: float, fixed: Certificate) -> bool:
        """See `certificate`."""
        if fixed.limits:
            return fixed.lowest(self._orders, total) <= epsilon
        mixture, some = self._earlier(total, fixed.order)
        return mixture.allows(some, epsilon, delta)

    def epsilon(self, total: Floats, delta: float, fixed: Certificate) -> float:
        """See `certificate`; beyond its epsilon, what a filter without a favourite would need."""
        if fixed.limits:
            lowest = fixed.lowest(self._orders, total)
            if lowest > fixed.epsilon:
                evenly = self.odometer(total, delta)
                lowest = min(lowest, evenly) if evenly > fixed.epsilon else lowest
            return max(0.0, lowest)
        mixture, some = self._earlier(total, fixed.order)
        return mixture.epsilon(some, delta)

    def odometer(self, total: Floats, delta: float) -> float:
        """See `mixture`; no order is favoured, since any moment may be asked for."""
        if self.order is not None:
            return _alone(self.order).epsilon(total, delta)
        return EVENLY.epsilon(total[::2], delta)

    def divergence(self, total: Floats, order: float) -> float:
        """That of the next order that is added up: divergences grow with the order."""
        at = int(np.searchsorted(self._orders, order))
        return float(total[at]) if at < len(total) else math.inf


@dataclass(frozen=True, slots=True)
class LoopFilter(RenyiFilter):
    """The same beside a loop of the first event, which gets most of delta (see `allocation`)."""

    name: ClassVar[str] = "loop"
    theorem: ClassVar[str] = (
        "repetitions of the first event as one schedule, all else by the Renyi filter [Feldman2021]"
    )
    certifies_loops: ClassVar[bool] = True


_favouring = cache(favouring)


@cache
def _alone(order: float) -> Mixture:
    return Mixture(np.array([order]), np.ones(1))


@dataclass(frozen=True, slots=True)
class ConcentratedFilter:
    """rho of zero-concentrated DP, by one order at which rho-zCDP has divergence order * rho.

    Reference: [Feldman2021], fully adaptive composition at that order.
    """

    order: float
    name: ClassVar[str] = "zcdp"
    theorem: ClassVar[str] = "zCDP filter [Feldman2021]"
    adapts: ClassVar[bool] = True
    certifies_loops: ClassVar[bool] = False
    size: ClassVar[int] = 1

    def measure(self, loss: Loss) -> Floats:
        """rho, infinite where the event has no such bound."""
        return np.array([loss.concentration() * (1 + 1e-14)])

    def certify(self, cost: Floats, aim: Aim) -> Certificate:  # noqa: ARG002
        """The order it was opened with."""
        return Certificate(self.order)

    def allows(self, total: Floats, epsilon: float, delta: float, fixed: Certificate) -> bool:
        """By the divergence at its order."""
        order = fixed.order
        return _alone(order).allows(total * order * (1 + _ROUNDING), epsilon, delta)

    def epsilon(self, total: Floats, delta: float, fixed: Certificate) -> float:
        """By the divergence at its order."""
        order = fixed.order
        return _alone(order).epsilon(total * order * (1 + _ROUNDING), delta)

    def odometer(self, total: Floats, delta: float) -> float:
        """By the divergences at many orders."""
        return EVENLY.epsilon(total * SOME * (1 + _ROUNDING), delta)

    def divergence(self, total: Floats, order: float) -> float:
        """rho times the order."""
        return float(total[0]) * order * (1 + _ROUNDING)


@dataclass(frozen=True, slots=True)
class GaussianFilter:
    """mu^2 of Gaussian DP; every release must be mu-GDP, which sampled mechanisms are not.

    Reference: [Koskela2023], [Smith2022]: fully adaptive mu_i-GDP releases
    with sum mu_i^2 <= mu^2 are mu-GDP. No such rule holds for general trade-off curves.
    """

    name: ClassVar[str] = "gdp"
    theorem: ClassVar[str] = "GDP filter [Smith2022], [Koskela2023]"
    adapts: ClassVar[bool] = False
    certifies_loops: ClassVar[bool] = False
    size: ClassVar[int] = 1
    order: ClassVar[float | None] = None

    def measure(self, loss: Loss) -> Floats:
        """mu^2, infinite where the event has no such bound."""
        return np.array([self._mu_squared(loss)])

    def _mu_squared(self, loss: Loss) -> float:
        if loss.normal_shift is not None:
            return loss.normal_shift**2 * (1 + 1e-14)
        epsilon = loss.largest()[1]
        if math.isinf(epsilon):
            return math.inf
        # The trade-off curve of epsilon-DP has one corner, at 1/(1+e^epsilon) on both axes; the
        # convex Gaussian curve through it lies below both of its lines.
        if epsilon < 1e-3:  # 1/2 - corner would lose digits; Phi(x) - 1/2 >= (x - x^3/6)/sqrt(2 pi)
            s = math.sqrt(2 * math.pi) * epsilon / 4
            return (2 * s * (1 + s**2 / 3)) ** 2 * (1 + _ROUNDING)
        corner = 1 / (1 + math.exp(min(epsilon, 700.0)))
        return float((2 * ndtri(corner)) ** 2) * (1 + _ROUNDING)

    def certify(self, cost: Floats, aim: Aim) -> Certificate:  # noqa: ARG002
        """No order is used."""
        return Certificate(2.0)

    def allows(self, total: Floats, epsilon: float, delta: float, fixed: Certificate) -> bool:  # noqa: ARG002
        """Whether the Gaussian with this mu has delta(epsilon) <= delta; see `gdp_delta`."""
        mu = self._mu(total)
        return math.isfinite(mu) and epsilon >= 0 and gdp_delta(mu, epsilon)[1] <= delta

    def epsilon(self, total: Floats, delta: float, fixed: Certificate) -> float:  # noqa: ARG002
        """The exact curve of the Gaussian with this mu."""
        mu = self._mu(total)
        return gdp_epsilon(mu, delta)[1] if delta > 0 and math.isfinite(mu) else math.inf

    def odometer(self, total: Floats, delta: float) -> float:
        """mu-GDP has divergence a mu^2/2 at every order a."""
        return EVENLY.epsilon(total * SOME / 2 * (1 + _ROUNDING), delta)

    def divergence(self, total: Floats, order: float) -> float:
        """mu^2 times half the order."""
        return float(total[0]) * order / 2 * (1 + _ROUNDING)

    @staticmethod
    def _mu(total: Floats) -> float:
        return math.sqrt(float(total[0])) * (1 + 1e-15)


FILTERS: dict[str, Callable[[float | None, Budget], Filter]] = {
    "pure": lambda _order, _budget: PureFilter(),
    "loop": lambda _order, _budget: LoopFilter(),
    "rdp": lambda order, _budget: RenyiFilter(order),
    "zcdp": lambda order, budget: ConcentratedFilter(order or gaussian_order(budget)),
    "gdp": lambda _order, _budget: GaussianFilter(),
}
_WITHOUT_ORDER = frozenset({"pure", "loop", "gdp"})


def gaussian_order(budget: Budget) -> float:
    """The order at which the most Gaussian releases fit: divergences there grow like the order.

    >>> round(gaussian_order(Budget(3.0, 1e-5)), 2)
    7.61
    """
    return float(ORDERS[best_order(ORDERS, budget.epsilon, budget.delta)])


def choose_filter(budget: Budget, name: str | None = None, order: float | None = None) -> Filter:
    """The filter by name; by default `pure` without a delta and `loop` with one.

    With an `order`, `rdp` looks at that order alone; an order without a name means `rdp`.
    """
    if name is None:
        name = "pure" if budget.delta == 0 else "loop" if order is None else "rdp"
    if not isinstance(name, str) or name not in FILTERS:
        raise UnknownName(f"unknown filter {name!r}; use one of {', '.join(FILTERS)}.", value=name)
    if order is not None and name in _WITHOUT_ORDER:
        raise InvalidParameter(f"the {name} filter has no order; leave order out.", name="order")
    if budget.delta == 0 and name != "pure":
        raise InvalidParameter(
            f"the {name} filter needs a budget with delta above 0, for example "
            f"Budget({budget.epsilon:g}, 1e-6); with delta 0 use filter='pure'.",
            name="filter",
        )
    order = None if order is None else finite("order", order)
    if order is not None and order <= 1:
        raise InvalidParameter(f"order must be above 1, got {order:g}.", name="order", value=order)
    return FILTERS[name](order, budget)
