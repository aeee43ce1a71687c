"""The best of a random number of runs."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dpcheck.accounting.pairs.pair import Loss, Parts, composed_largest_loss
from dpcheck.accounting.renyi.conversion import best_order
from dpcheck.accounting.renyi.divergence import ROUND_UP, composed_renyi, log_expected_runs
from dpcheck.accounting.renyi.moments import Floats
from dpcheck.numerics.enclose import enclose
from dpcheck.numerics.rounding import LARGEST_EXPONENT, UNIT


class Number(NamedTuple):
    """The number of runs: P(any) and log m from below; fall(x) = log m - log f'(1 - x), its derivative and
    inverse.
    """

    any: float
    log_mean: float
    fall: Callable[[float], float]
    slope: Callable[[float], float]
    inverse: Callable[[float], float]


@dataclass(frozen=True, slots=True)
class SelectingLoss(Loss):
    """The best of a random number of runs of a composition."""

    inner: Parts

    @property
    def selection(self) -> SelectingLoss:
        """Itself."""
        return self

    @property
    def binomial(self) -> SelectedLoss | None:
        """Itself, where the number of runs is truncated negative binomial."""
        return None

    @abstractmethod
    def number(self) -> Number | None:
        """The number of runs; None where there are more than floats tell."""


@dataclass(frozen=True, slots=True)
class SelectedLoss(SelectingLoss):
    """The best of K runs of a composition, K truncated negative binomial(shape, stop)."""

    shape: float
    stop: float

    @property
    def binomial(self) -> SelectedLoss:
        """Itself."""
        return self

    def number(self) -> Number | None:
        """f'(1 - x) is proportional to (1 + odds x)^-power."""
        power, odds = 1 + self.shape, (1 - self.stop) / self.stop
        log_mean = log_expected_runs(self.shape, self.stop)  # rounded up, from 320 bits
        if not log_mean < LARGEST_EXPONENT or not odds < 1e300:
            return None
        return Number(
            1.0,
            log_mean * (1 - 8 * UNIT),
            lambda x: power * math.log1p(odds * x),
            lambda x: power * odds / (1 + odds * x),
            lambda fall: math.expm1(min(fall / power, LARGEST_EXPONENT)) / odds,
        )

    def largest(self) -> tuple[float, float]:
        """(2 + shape) eps [Papernot2022, Corollary 3], or [Liu2019]'s 3 eps for geometric stopping."""
        lower, upper = composed_largest_loss(self.inner)
        if math.isinf(upper):
            return lower, upper
        return lower, enclose((2 + Fraction(self.shape)) * Fraction(upper))[1]

    def one_run(self, times: int) -> Parts:
        """The first run, where all score alike."""
        return tuple((loss, count * times) for loss, count in self.inner)

    def renyi(self, orders: Floats) -> Floats:
        """[Papernot2022] Theorem 2."""
        selecting = _cost_of_selecting(self) * (1 + 1e-12)
        runs = log_expected_runs(self.shape, self.stop)
        return (composed_renyi(self.inner, orders) + selecting + runs / (orders - 1)) * ROUND_UP


@dataclass(frozen=True, slots=True)
class PoissonSelectedLoss(SelectingLoss):
    """The best of K runs of a composition, K Poisson; nothing where K is 0."""

    mean: float

    def number(self) -> Number | None:
        """fall is linear."""
        mean = self.mean
        if mean > 1e15:
            return None
        log_mean = math.log(mean) - 8 * UNIT * abs(math.log(mean))
        any_ = -math.expm1(-mean) * (1 - 8 * UNIT)
        return Number(any_, log_mean, lambda x: mean * x, lambda _: mean, lambda fall: fall / mean)

    def largest(self) -> tuple[float, float]:
        """f'(F_P)/f'(F_Q) = e^{mean (F_P - F_Q)} beside the ratio of one run (see `selected`), and F_P - F_Q
        is at most the total variation, tanh(eps/2) [Kairouz2017, Theorem 3.1].
        """
        lower, upper = composed_largest_loss(self.inner)
        apart = -math.expm1(-upper) / (1 + math.exp(-upper))
        return lower, math.nextafter(upper + self.mean * apart * (1 + 1e-12), math.inf)

    def one_run(self, times: int) -> Parts:  # noqa: ARG002
        """There may be none."""
        return ()

    def renyi(self, orders: Floats) -> Floats:
        """log(e^-mean + mean e^{(a-1) (D_a + mean delta)})/(a-1), delta that of one run at log(1 + 1/(a-1)).

        [Papernot2022] Theorem 6 for what is released; with e^-mean nothing is, under P and Q alike.
        """
        from dpcheck.accounting.accountants.selected import curve_above  # it asks all accountants

        one = curve_above(self.inner, (1 / (orders - 1)) * (1 - 1e-15), self.mean)
        moved = composed_renyi(self.inner, orders) + self.mean * one * (1 + 1e-14)
        released = (orders - 1) * moved + math.log(self.mean)
        total = np.logaddexp(-self.mean, released)
        # Terms of both signs, each right within a few units of itself.
        rounding = 1e-14 * (1 + (orders - 1) * moved + abs(math.log(self.mean)) + self.mean)
        return np.asarray(np.maximum(total + rounding, 0.0) / (orders - 1) * ROUND_UP)


@lru_cache(maxsize=64)
def _cost_of_selecting(loss: SelectedLoss) -> float:
    """(1 + shape) ((1 - 1/a) D_a + log(1/stop)/a) at the best order a; any is valid.

    (a-1) D_a is convex in a, so that this has one minimum.
    """
    room = -math.log(loss.stop)
    known = math.inf

    def cost(orders: Floats, divergences: Floats) -> Floats:
        return (1 - 1 / orders) * divergences + room / orders

    def curve(orders: Floats) -> Floats:
        nonlocal known
        found = composed_renyi(loss.inner, orders)
        known = min(known, float(cost(orders, found).min()))
        return found

    # Beyond an order of 2 the cost is at least half the divergence, which grows.
    return (1 + loss.shape) * best_order(curve, cost, lambda d: d / 2 > known).value
