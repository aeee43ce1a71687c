"""The order and the majorant with which the optimal conversion proves least, searched for in floats.

What a majorant is, and why any of them is valid, stands in `proof.optimal_epsilon`. Nothing here is part of a
proof: a search that ends too early costs tightness only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from dpcheck.accounting.renyi.search import LOG_ORDERS, STEPS, lowest_by_slopes

# A divergence at one order, and how fast it grows with the order.
Growing = Callable[[float], tuple[float, float]]

# Searches end where they promise less than these shares of epsilon: over majorants, over orders.
CLOSE, CLOSE_ORDER = 1e-7, 5e-7
# The logarithms of (1 - t)/t that are searched.
LOG_ODDS = (-600.0, 30.0)
# How an excess grows with u: hardly where delta is next to 1, and nowhere faster than e^u.
_FLATTEST, _STEEPEST = 1e-3, 1.0


class Majorant(NamedTuple):
    """An epsilon that is not proved yet, the order and divergence, and u of t = 1/(1 + e^u).

    Epsilon grows with log(order - 1) by `slope`, and with u by `bend` (e^excess - 1).
    """

    epsilon: float
    order: float
    divergence: float
    u: float
    slope: float = 0.0
    bend: float = 0.0
    excess: float = 0.0


def best_majorant(
    curve: Growing, order: float, delta: float, like: Majorant | None = None
) -> Majorant:
    """The majorant and the order, `order` at first, with the least epsilon; `like` is one to start from."""
    best = like
    # How `improved` bends at its best order if the divergence is linear.
    bend = 2 * max(-math.log(delta * order), 0.0) / (order - 1) + 1 / order

    def cost(log_order: float) -> tuple[float, float]:
        nonlocal best
        tried = 1 + math.exp(log_order)
        found = majorant(tried, curve(tried), delta, best, bend)
        if best is None or best is like or found.epsilon < best.epsilon:
            best = found
        return found.epsilon, found.slope

    lowest_by_slopes(cost, math.log(order - 1), bend, CLOSE_ORDER, LOG_ORDERS)
    assert best is not None
    return _settled(best, 0.0, delta, math.inf)


def majorant(
    order: float,
    divergence: tuple[float, float],
    delta: float,
    like: Majorant | None = None,
    bend: float = math.inf,
) -> Majorant:
    """A good majorant at one order; `like` is one of another order.

    To second order in s = 1 - t and y - 1 the best has s = 2 delta. It is good enough if another order, with
    that `bend`, improves upon it by more than another u does.
    """
    u = _better(like, _STEEPEST) if like else math.log(2 * delta)
    return _settled(_touching(order, divergence, delta, u), divergence[1], delta, bend)


def _settled(best: Majorant, growth: float, delta: float, bend: float) -> Majorant:
    """Another u at the same order, where the excess is 0, by secants."""
    steepness = _STEEPEST
    for _ in range(STEPS):
        gain = best.bend * best.excess * best.excess / (2 * steepness)
        enough = max(CLOSE * min(best.epsilon, 1.0), best.slope * best.slope / (2 * bend))
        u = _better(best, steepness)
        if gain <= enough or u == best.u:
            break
        found = _touching(best.order, (best.divergence, growth), delta, u)
        if not found.epsilon < best.epsilon:
            break
        steepness = (found.excess - best.excess) / (found.u - best.u)
        steepness = min(max(steepness, _FLATTEST), _STEEPEST)
        best = found
    return best


def _better(known: Majorant, steepness: float) -> float:
    """The u at which the excess is 0, by Newton's method."""
    return min(max(known.u - known.excess / steepness, LOG_ODDS[0]), LOG_ODDS[1])


def _touching(a: float, divergence: tuple[float, float], delta: float, u: float) -> Majorant:
    """The majorant at u, its epsilon at least 0; infinite where floats do not reach.

    It is lam k, k(x) = x^a - t^a - a t^{a-1} (x - t), with lam = delta/R, R = E k, and e^eps is the largest
    x - lam k(x), at x = y: so e^eps changes with t and a as -delta k(y)/R does. With t it stands still where
    (1 - t) k(y) = R (y - t), which says that the ratios t and y with mean 1 have the moment M; the excess is
    the logarithm of the quotient of these two. Beside R and its terms everything is divided by y.
    """
    less, log_delta, log_t = a - 1, math.log(delta), -_log_sum(u, 0.0)
    log_s, log_power, log_moment = u + log_t, less * log_t, less * divergence[0]
    s, t = math.exp(log_s), math.exp(log_t)
    log_room = _log_room(a, log_moment, s, log_power)
    if not -700 < log_room < math.inf:
        return Majorant(math.inf, a, divergence[0], u)
    log_y = _log_sum(log_power, log_room - math.log(a) - log_delta) / less
    gap = -math.expm1(min(log_t - log_y, -1e-300))  # y > t always
    power = math.exp(log_power - log_room)  # t^{a-1}/R
    lam_power = delta * power
    lam_k = 1 / a - lam_power * less * gap
    epsilon = log_y + math.log1p(-lam_k)
    if not (epsilon > 0 and lam_k > 0):
        return Majorant(max(epsilon, 0.0), a, divergence[0], u)
    rest = 1 + a * log_t
    k_grows = (1 / a + lam_power) * log_y - lam_power * ((1 - gap) * log_t + gap * rest)
    room_grows = math.exp(log_moment - log_room) * (divergence[0] + less * divergence[1])
    room_grows -= power * (t * log_t + s * rest)
    return Majorant(
        epsilon,
        a,
        divergence[0],
        u,
        slope=less * (lam_k * room_grows - k_grows) / (1 - lam_k),
        bend=lam_power * a * less * s * gap / (1 - lam_k),
        excess=log_s + math.log(lam_k / gap) - log_delta,
    )


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
