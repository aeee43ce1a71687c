"""The order and the majorant with which the optimal conversion proves least, searched for in floats.

What a majorant is, and why any of them is valid, stands in `proof.optimal_epsilon`. Nothing here is part of a
proof: a search that ends too early costs tightness only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from dpcheck.accounting.renyi.search import LOG_ORDERS, lowest

# Searches end where a parabola promises less than these shares of epsilon: over majorants, over orders.
CLOSE, CLOSE_ORDER = 1e-8, 1e-6
# The logarithms of (1 - t)/t that are searched.
LOG_ODDS = (-600.0, 30.0)
# How far the first steps of a search go.
_ORDER_STEP, _ODDS_STEP, _LIKE_STEP = 0.3, 1.0, 0.2


@dataclass(frozen=True, slots=True)
class Majorant:
    """An epsilon that is not proved yet, the order and divergence, and u of t = 1/(1 + e^u)."""

    epsilon: float
    order: float
    divergence: float
    u: float


def best_majorant(divergence: Callable[[float], float], order: float, delta: float) -> Majorant:
    """The majorant and the order, near `order` at first, with the least epsilon."""
    known: dict[float, Majorant] = {}

    def cost(log_order: float) -> float:
        if log_order not in known:
            tried = 1 + math.exp(log_order)
            best = min(known.values(), key=lambda one: one.epsilon, default=None)
            known[log_order] = majorant(tried, divergence(tried), delta, best)
        return known[log_order].epsilon

    start = math.log(order - 1)
    return known[lowest(cost, start, _ORDER_STEP, CLOSE_ORDER, LOG_ORDERS)[0]]


def majorant(
    order: float, divergence: float, delta: float, like: Majorant | None = None
) -> Majorant:
    """The best majorant at one order; `like` is a good one of another order.

    It touches 0 at s = 1 - t. The worst ratios are t and y, with s (y^a - t^a) = (M - t^a) (y - t) for their
    mean is 1 and their moment M. To second order in s and y - 1 that and the formula for y say s = 2 delta.
    """
    if not math.isfinite(divergence):
        return Majorant(math.inf, order, divergence, math.log(2 * delta))
    start, step = (like.u, _LIKE_STEP) if like else (math.log(2 * delta), _ODDS_STEP)
    u, epsilon = lowest(_heights(order, divergence, delta), start, step, CLOSE, LOG_ODDS)
    return Majorant(epsilon, order, divergence, u)


def _heights(a: float, divergence: float, delta: float) -> Callable[[float], float]:
    """The epsilon of the majorant at u, at least 0; infinite where floats do not reach."""
    log_delta, log_a, less = math.log(delta), math.log(a), a - 1
    log_less, shrunk, log_moment = math.log(less), math.log1p(-1 / a), less * divergence

    def height(u: float) -> float:
        log_t = -_log_sum(u, 0.0)  # t = 1/(1 + e^u), and 1 - t is e^u t
        log_room = _log_room(a, log_moment, math.exp(u + log_t), less * log_t)
        if not math.isfinite(log_room):
            return math.inf
        log_y = _log_sum(less * log_t, log_room - log_a - log_delta) / less
        # lam (a-1) t^{a-1} (y - t), as a log; y > t always.
        log_gap = log_y + math.log(-math.expm1(min(log_t - log_y, -1e-300)))
        log_slope = log_delta - log_room + log_less + less * log_t + log_gap
        return max(_log_sum(log_y + shrunk, log_slope), 0.0)

    return height


def _log_room(a: float, log_moment: float, s: float, log_power: float) -> float:
    """log of M - a t^{a-1} + (a-1) t^a, also where M and t are next to 1.

    With s = 1 - t what is taken from 1 is a (a-1)/2 s^2 - a (a-1) (a-2)/3 s^3 + ...
    """
    if a * s < 1e-3:
        left = a * (a - 1) / 2 * s * s * (1 - 2 * (a - 2) / 3 * s)
    else:
        left = 1 - math.exp(log_power) * (1 + (a - 1) * s)
    if log_moment > 30:
        return log_moment + math.log1p(max(left - 1, -1.0) * math.exp(-log_moment))
    room = math.expm1(log_moment) + max(left, 0.0)
    return math.log(room) if room > 0 else -math.inf


def _log_sum(x: float, y: float) -> float:
    """log(e^x + e^y)."""
    if x < y:
        x, y = y, x
    return x + math.log1p(math.exp(y - x)) if y > -math.inf else x
