"""Renyi divergences of several orders at once, at a time that was chosen by looking at outputs.

Let L be the privacy loss so far and D_j the sum of the divergences of order a_j, each known before
its release. Every e^{(a_j - 1)(L - D_j)} is a supermartingale of mean at most 1, hence so is

    M = sum_j w_j e^{(a_j - 1)(L - D_j)}     for weights w_j that add up to 1.

With c(D) = sup_x (1 - e^{epsilon - x})_+ / sum_j w_j e^{(a_j - 1)(x - D_j)} the hockey stick is at
most E[(1 - e^{epsilon - L})_+] <= E[c(D) M], which is at most delta if c(D) <= delta on every path
[Feldman2021]. Where epsilon is read off the path, as the least with c(D) <= delta, the same line
bounds E[(1 - e^{epsilon(D) - L})_+]: that is the odometer.

One order alone gives the conversion of [Canonne2020] Proposition 12. No mixture gets below the best
single order for given D: at the saddle point of (x, a) one mass at x satisfies every order's moment.
Weights buy not having to know that order before the first release. What `spend` enforces since is in
`certificate`; this is the odometer, and the filter of ledgers that began with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dpcheck.ledger.pricing.certificate import ORDERS, one_order
from dpcheck.ledger.pricing.costs import Floats

SOME: Floats = ORDERS[::2]  # neighbours add up, so every other order is enough
# In ledgers of earlier versions, which go on as they began: the weight of the order that suits the
# first event, and how the rest falls off around it.
FAVOURED, FALL = 0.6, 0.75

# The formulas below are a handful of elementary functions of numbers up to about 1e3.
_ROUNDING = 1e-12


class Mixture:
    """Fixed orders and weights, and what divergences mean under them."""

    __slots__ = ("_log_weights", "_steps", "orders")

    def __init__(self, orders: Floats, weights: Floats) -> None:
        self.orders = orders
        self._steps = orders - 1
        # Rounded down, so that the weights certainly add up to at most 1.
        self._log_weights = np.log(weights / weights.sum()) - _ROUNDING

    def allows(self, divergences: Floats, epsilon: float, delta: float) -> bool:
        """Whether c(D) <= delta; any single order that proves it by its share of delta suffices."""
        if delta <= 0 or epsilon < 0:
            return False
        limits = one_order(self.orders, epsilon, delta) + self._log_weights / self._steps
        if bool((divergences <= limits).any()):
            return True
        return self.log_delta(divergences, epsilon)[0] <= math.log(delta)

    def log_delta(self, divergences: Floats, epsilon: float) -> tuple[float, float]:
        """(log c(D), and minus its slope in epsilon).

        Guarantee: never below the supremum. The logarithm of the quotient is concave in x, so its
        tangents on either side of the maximum meet above it.
        """
        finite = np.isfinite(divergences)
        if not finite.any():
            return math.inf, 1.0
        steps = self._steps[finite]
        bases = self._log_weights[finite] + steps * (epsilon - divergences[finite])

        def quotient(y: float) -> tuple[float, float, float, float]:
            """Value, slope and curvature at x = epsilon + y, and the tilted mean of a - 1."""
            powers = bases + steps * y
            top = float(powers.max())
            terms = np.exp(powers - top)
            total = float(terms.sum())
            mean = float(terms @ steps) / total
            spread = float(terms @ steps**2) / total - mean**2
            odds = 1 / math.expm1(y)
            value = math.log(-math.expm1(-y)) - top - math.log(total)
            return value, odds - mean, -odds * (1 + odds) - max(0.0, spread), mean

        # For one order a the maximum is at y = log(a/(a-1)); a mixture's lies between its orders'.
        least, most = math.log1p(1 / float(steps[-1])), math.log1p(1 / float(steps[0]))
        y = math.sqrt(least * most)
        for _ in range(30):
            _, slope, curvature, mean = quotient(y)
            near = y - slope / curvature
            if not least <= near <= most:
                near = min(max(near, (y + least) / 2), (y + most) / 2)
            moved, y = abs(near - y), near
            if moved <= 1e-4 * y:
                break
        log_c = _where_tangents_meet(lambda point: quotient(point)[:2], y)
        return log_c + _ROUNDING * (1 + abs(log_c) + float(np.abs(bases).max())), mean

    def epsilon(self, divergences: Floats, delta: float) -> float:
        """The least epsilon with c(D) <= delta, to four digits above; infinite where none is."""
        if delta <= 0 or not np.isfinite(divergences).any():
            return math.inf
        target = math.log(delta)
        # With its own share of delta each order alone proves this much; the best is a start.
        alone = (
            divergences
            + np.log1p(-1 / self.orders)
            - (target + self._log_weights + np.log(self.orders)) / self._steps
        )
        best = float(alone.min())
        best = max(0.0, best + _ROUNDING * (1 + abs(best)))
        trial = best
        for _ in range(6):
            log_c, slope = self.log_delta(divergences, trial)
            if log_c <= target:
                best = min(best, trial)
            step = (log_c - target) / slope
            if abs(step) < 1e-5 * (1e-3 + best) or best == 0:
                break
            trial = max(0.0, trial + step * (1 + 1e-9) + 1e-6 * best)
        return best


def _where_tangents_meet(curve: Callable[[float], tuple[float, float]], y: float) -> float:
    """An upper bound on the maximum of a concave `curve` (value, slope) that lies near `y`."""
    width = 1e-3
    while width < 1e3:
        left, right = y / (1 + width), y * (1 + width)
        (low, rising), (high, falling) = curve(left), curve(right)
        if rising >= 0 >= falling:
            if rising == falling:  # both flat
                return max(low, high)
            meet = (high - low + rising * left - falling * right) / (rising - falling)
            return low + rising * (meet - left)
        width *= 8
    return math.inf


def favouring(order: float) -> Mixture:
    """Most weight on the order nearest to `order`, less and less around it, some everywhere."""
    best = int(np.argmin(np.abs(np.log((SOME - 1) / (order - 1)))))
    around = FALL ** np.abs(np.arange(len(SOME)) - best)
    weights = (1 - FAVOURED) * (0.9 * around / around.sum() + 0.1 / len(SOME))
    weights[best] += FAVOURED
    return Mixture(SOME, weights)


EVENLY = Mixture(SOME, np.ones(len(SOME)))
