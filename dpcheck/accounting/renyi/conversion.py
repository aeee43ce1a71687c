"""From Renyi divergences to (epsilon, delta); any order gives a valid bound, so the best wins.

`classic` [Mironov2017, Proposition 3], `improved` [Canonne2020, Proposition 12] and `optimal`
[Asoodeh2021], each never looser than the one before. Orders (and the majorant of `optimal`) are
searched for in floating point; the value that is returned is proved at the best of them in ball
arithmetic (`proof`), so no rounding or cancellation of the search can undercut the truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from dpcheck.accounting.certify.conversion import (
    classic_epsilon,
    improved_delta,
    improved_epsilon,
    optimal_epsilon,
)
from dpcheck.accounting.renyi.majorant import Growing, Majorant, best_majorant, majorant
from dpcheck.accounting.renyi.moments import Floats
from dpcheck.accounting.renyi.search import LOG_ORDERS, Point, lowest_near

Curve = Callable[[Floats], Floats]


def classic(order: Floats, divergence: Floats, delta: float) -> Floats:
    """D + log(1/delta)/(a-1)."""
    return divergence + math.log(1 / delta) / (order - 1)


def improved(order: Floats, divergence: Floats, delta: float) -> Floats:
    """D + log((a-1)/a) - (log delta + log a)/(a-1)."""
    return divergence + np.log1p(-1 / order) - (math.log(delta) + np.log(order)) / (order - 1)


def optimal(order: float, divergence: float, delta: float) -> float:
    """The smallest epsilon that every pair with this one divergence satisfies, for searching.

    The derivation is in `proof.optimal_epsilon`, which proves the result.
    """
    least = _improved(order, divergence, delta)
    return min(least, majorant(order, (divergence, 0.0), delta).epsilon)


def _improved(order: float, divergence: float, delta: float) -> float:
    """`improved` at one order."""
    rest = (math.log(delta) + math.log(order)) / (order - 1)
    return divergence + math.log1p(-1 / order) - rest


class Conversion(Enum):
    """The three conversions, each never looser than the one before."""

    CLASSIC = "classic"
    IMPROVED = "improved"
    OPTIMAL = "optimal"


@dataclass(frozen=True, slots=True)
class Converted:
    """The best epsilon (or delta) over orders, with its order and divergence, and the u of its majorant."""

    value: float
    order: float
    divergence: float
    u: float = math.inf


_RATIO = 1.6
_SCAN: Floats = 1 + 0.002 * _RATIO ** np.arange(56, dtype=np.float64)
# The scan in parts, so that divergences of orders that cannot win are not asked for: few do below 2.
_PARTS = tuple(np.split(_SCAN, (14, 21, 28, 35)))
# A search ends where a parabola promises less than this share.
_CLOSE = 1e-6
# The optimal conversion is searched for where it may gain more than this share.
_WORTHWHILE = 1e-6
# Newton's method ends with a step of this share: the next is of its square.
_STILL = 1e-5
# Orders, less 1, of majorants to start from are not smaller than that of `improved` by this factor.
_LOST = 4


def best_order(
    divergences: Curve, cost: Callable[[Floats, Floats], Floats], enough: Callable[[float], bool]
) -> Converted:
    """Minimise cost(order, divergence) over orders in (1, inf): a growing scan, then zooming in.

    `enough(divergence)` ends the scan: divergences grow with the order, so no later one can win.
    """
    chunks = []
    for part in _PARTS:
        chunks.append(divergences(part))
        if enough(float(chunks[-1][-1])):
            break
    values = np.concatenate(chunks)
    orders = _SCAN[: len(values)]
    usable = np.isfinite(values)
    if not usable.any():
        return Converted(math.inf, math.nan, math.inf)
    costs = np.full_like(orders, math.inf)
    costs[usable] = cost(orders[usable], values[usable])
    i, logs = int(costs.argmin()), np.log(orders - 1)
    best = Converted(float(costs[i]), float(orders[i]), float(values[i]))

    def one(log_order: float) -> float:
        nonlocal best
        order = np.array([1 + math.exp(log_order)])
        value = divergences(order)
        spent = float(cost(order, value)[0]) if math.isfinite(value[0]) else math.inf
        if spent < best.value:
            best = Converted(spent, float(order[0]), float(value[0]))
        return spent

    def point(k: int) -> Point:
        if 0 <= k < len(logs):
            return float(logs[k]), float(costs[k])
        beyond = float(logs[i]) + (k - i) * math.log(_RATIO)
        return beyond, one(beyond)

    lowest_near(one, (point(i - 1), point(i), point(i + 1)), _CLOSE, LOG_ORDERS)
    return best


def rdp_epsilon(
    curve: Curve, delta: float, conversion: Conversion = Conversion.OPTIMAL
) -> Converted:
    """The smallest epsilon the divergences prove at `delta`, over all orders.

    Guarantee: never below the true epsilon if `curve` is never below the true divergence.

    >>> round(rdp_epsilon(lambda a: a / 2, 1e-5).value, 4)  # one Gaussian, mu = 1; exact 4.3772
    4.7284
    """
    return _proved(likely_order(curve, delta, conversion), delta, conversion)


def likely_order(curve: Curve, delta: float, conversion: Conversion) -> Converted:
    """The order, and the u of the majorant, that are likely to prove the least; nothing is proved yet."""
    known = math.inf

    def enough(divergence: float) -> bool:
        # Every conversion gives at least D - 1.4 from order 2 on, so beyond known + 2 none can win.
        return math.isfinite(divergence) and divergence - 2 > known

    def divergences(orders: Floats) -> Floats:
        nonlocal known
        values = curve(orders)
        known = min(known, float(improved(orders, values, delta).min()))
        return values

    formula = classic if conversion is Conversion.CLASSIC else improved
    best = best_order(divergences, lambda a, d: np.maximum(formula(a, d, delta), 0.0), enough)
    if not math.isfinite(best.value):
        return best
    return _likely(best.order, best.divergence, _growing(curve), delta, conversion)


# Between two orders so close, as a share of order - 1, a divergence is straight.
_NEARBY = 1e-4


def _growing(curve: Curve) -> Growing:
    """The divergence at one order, and its growth by a difference to one that is finite too."""

    def at(order: float) -> tuple[float, float]:
        step = _NEARBY * (order - 1)
        here, there = curve(np.array([order, order + step])).tolist()
        if math.isinf(there):
            step = -step
            there = float(curve(np.array([order + step]))[0])
        return here, (there - here) / step if math.isfinite(there - here) else 0.0

    return at


def _likely(
    order: float, divergence: float, curve: Growing, delta: float, conversion: Conversion
) -> Converted:
    """One order, or that of the best majorant if that is likely to prove less."""
    value = max(_improved(order, divergence, delta), 0.0)
    if conversion is Conversion.OPTIMAL and _worthwhile(order, divergence, value):
        best = best_majorant(curve, order, delta)
        if best.epsilon < value:
            return Converted(best.epsilon, best.order, best.divergence, best.u)
    return Converted(value, order, divergence)


def _proved(found: Converted, delta: float, conversion: Conversion) -> Converted:
    """The same with an epsilon that is proved, in ball arithmetic."""
    if not math.isfinite(found.value):
        return found
    if conversion is Conversion.CLASSIC:
        value = classic_epsilon(found.order, found.divergence, delta)
    elif math.isfinite(found.u):
        value = optimal_epsilon(found.order, found.divergence, delta, found.u)
    else:
        value = improved_epsilon(found.order, found.divergence, delta)
    return replace(found, value=value)


def linear_rdp_epsilon(
    rho: float, offset: float, delta: float, conversion: Conversion
) -> Converted | None:
    """`rdp_epsilon` for the divergences offset + rho * order of Gaussian noise.

    None where the best order is next to 1 or beyond all floats.

    >>> round(linear_rdp_epsilon(0.5, 0.0, 1e-5, Conversion.IMPROVED).value, 4)
    4.7284
    """
    found = likely_linear_order(rho, offset, delta, conversion)
    return None if found is None else _proved(found, delta, conversion)


def likely_linear_order(
    rho: float, offset: float, delta: float, conversion: Conversion
) -> Converted | None:
    """`likely_order` for these divergences."""
    order = _linear_order(rho, delta, conversion)
    if order == 1 or not math.isfinite(order):
        return None
    curve = _linear(rho, offset)
    return _likely(order, curve(order)[0], curve, delta, conversion)


def linear_majorant(
    rho: float, offset: float, delta: float, like: Majorant | None = None
) -> Majorant | None:
    """What `linear_rdp_epsilon` would prove, not proved yet; `like` is the one of another delta."""
    order = _linear_order(rho, delta, Conversion.OPTIMAL)
    if order == 1 or not math.isfinite(order):
        return None
    curve = _linear(rho, offset)
    divergence = curve(order)[0]
    value = max(_improved(order, divergence, delta), 0.0)
    plain = Majorant(value, order, divergence, math.inf)
    if not _worthwhile(order, divergence, value):
        return plain
    # Next to an order of 1 epsilon is flat in log(order - 1), and no search goes back.
    if like is None or math.isinf(like.u) or like.order - 1 < (order - 1) / _LOST:
        best = best_majorant(curve, order, delta)
    else:
        best = best_majorant(curve, like.order, delta, like)
    return best if best.epsilon < value else plain


def majorant_epsilon(found: Majorant, delta: float) -> float:
    """The epsilon that a majorant proves: t = 0 is `improved`.

    Guarantee: never below the epsilon of a pair with its divergence.
    """
    if math.isinf(found.u):
        return improved_epsilon(found.order, found.divergence, delta)
    return optimal_epsilon(found.order, found.divergence, delta, found.u)


def _linear(rho: float, offset: float) -> Growing:
    """offset + rho * order from above: three roundings; 1e-15 is nine."""
    return lambda order: ((offset + rho * order) * (1 + 1e-15), rho)


def _linear_order(rho: float, delta: float, conversion: Conversion) -> float:
    """The order at which a linear divergence is converted best, by Newton's method."""
    log_room = -math.log(delta)
    gap = math.sqrt(log_room / rho)  # order - 1; the classic conversion is lowest here
    if conversion is not Conversion.CLASSIC:
        # The derivative of `improved` is rho - (log(1/delta) - log a) / (a - 1)^2, with one root;
        # any order is valid, so a root that is only nearly met costs tightness, not soundness.
        for _ in range(10):
            slope = rho * gap * gap - log_room + math.log1p(gap)
            before, gap = gap, max(gap - slope / (2 * rho * gap + 1 / (1 + gap)), gap / 8)
            if abs(gap - before) <= _STILL * gap:
                break
    return 1 + gap


def _worthwhile(order: float, divergence: float, epsilon: float) -> bool:
    """Whether `optimal` may gain anything on `improved`, whose epsilon is given."""
    return _optimal_gain((order - 1) * divergence, order) > _WORTHWHILE * epsilon > 0


def _optimal_gain(log_moment: float, order: float) -> float:
    """How far `optimal` can be below `improved` at an order, to first order in 1/M.

    e^eps >= y (1 - 1/a) with y^{a-1} >= (M - 1)/(a delta): all there is to gain is -log(1 - 1/M)/(a-1).
    """
    return math.exp(-min(log_moment, 700.0)) / (order - 1)


def rdp_delta(curve: Curve, epsilon: float) -> Converted:
    """The smallest delta the divergences prove at `epsilon`, over all orders.

    Reference: [Canonne2020] Proposition 12, solved for delta.
    """
    best = likely_delta_order(curve, epsilon)
    if not math.isfinite(best.value):
        return Converted(1.0, best.order, best.divergence)
    value = improved_delta(best.order, best.divergence, epsilon)
    return Converted(min(1.0, value), best.order, best.divergence)


def likely_delta_order(curve: Curve, epsilon: float) -> Converted:
    """The order that proves the least delta, with about its logarithm."""

    def log_delta(orders: Floats, d: Floats) -> Floats:
        with np.errstate(over="ignore"):  # below all floats is what it is
            return (orders - 1) * (d - epsilon + np.log1p(-1 / orders)) - np.log(orders)

    # Once D exceeds epsilon by log 2 the exponent grows with the order.
    return best_order(curve, log_delta, lambda d: math.isfinite(d) and d > epsilon + 0.7)
