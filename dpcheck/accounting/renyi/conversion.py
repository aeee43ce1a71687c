"""From Renyi divergences to (epsilon, delta); any order gives a valid bound, so the best wins.

`classic` [Mironov2017, Proposition 3], `improved` [Canonne2020, Proposition 12] and `optimal`
[Asoodeh2021], each never looser than the one before. Orders (and the majorant of `optimal`) are
searched for in floating point; the value that is returned is proved at the best of them in ball
arithmetic (`proof`), so no rounding or cancellation of the search can undercut the truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np

from dpcheck.accounting.renyi.moments import Floats
from dpcheck.accounting.renyi.proof import (
    classic_epsilon,
    improved_delta,
    improved_epsilon,
    optimal_epsilon,
)

Curve = Callable[[Floats], Floats]


def classic(order: Floats, divergence: Floats, delta: float) -> Floats:
    """D + log(1/delta)/(a-1)."""
    return divergence + math.log(1 / delta) / (order - 1)


def improved(order: Floats, divergence: Floats, delta: float) -> Floats:
    """D + log((a-1)/a) - (log delta + log a)/(a-1)."""
    return divergence + np.log1p(-1 / order) - (math.log(delta) + np.log(order)) / (order - 1)


_GRID: Floats = np.linspace(0.0, 1.0, 25)


def optimal(order: Floats, divergence: Floats, delta: float, zooms: int = 4) -> Floats:
    """The smallest epsilon that every pair with this one divergence satisfies, for searching.

    The derivation is in `proof.optimal_epsilon`, which proves the result at one order.
    """
    return _optimal(order, divergence, delta, zooms)[0]


def _optimal(
    order: Floats, divergence: Floats, delta: float, zooms: int = 4
) -> tuple[Floats, Floats]:
    """(epsilon, u of the best majorant) per order; u is nan where `improved` is no worse."""
    order, divergence = np.atleast_1d(order), np.atleast_1d(divergence)
    # The best t is about sqrt(M - 1) below 1.
    log_moment = np.log(np.maximum((order - 1) * divergence, 1e-300))
    low = np.minimum(-30.0, log_moment / 2 - 5.0)
    high = np.full_like(order, 30.0)
    best, at = improved(order, divergence, delta), np.full_like(order, math.nan)
    for _ in range(zooms):  # t = 1/(1+e^u); zoom in on the best of a grid in u
        u = low + _GRID[:, None] * (high - low)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            values = _majorant(order, divergence, delta, u)
        values = np.where(np.isfinite(values), values, math.inf)
        where = values.argmin(axis=0)
        width = (high - low) / 24
        centre = np.take_along_axis(u, where[None], axis=0)[0]
        at = np.where(values.min(axis=0) < best, centre, at)
        best = np.minimum(best, values.min(axis=0))
        low, high = centre - width, centre + width
    return best, at


def _majorant(a: Floats, divergence: Floats, delta: float, u: Floats) -> Floats:
    log_t = -np.logaddexp(0.0, u)  # log of 1/(1+e^u)
    log_room = _log_room(a, (a - 1) * divergence, u)
    log_y = np.logaddexp((a - 1) * log_t, log_room - np.log(a) - math.log(delta)) / (a - 1)
    # lam (a-1) t^{a-1} (y - t), as a log; y > t always.
    log_gap = log_y + np.log(-np.expm1(np.minimum(log_t - log_y, -1e-300)))
    log_slope = math.log(delta) - log_room + np.log(a - 1) + (a - 1) * log_t + log_gap
    return np.logaddexp(log_y + np.log1p(-1 / a), log_slope)


def _log_room(a: Floats, log_moment: Floats, u: Floats) -> Floats:
    """log of M - a t^{a-1} + (a-1) t^a, also where M and t are next to 1.

    With s = 1 - t what is taken from 1 is a (a-1)/2 s^2 - a (a-1) (a-2)/3 s^3 + ...
    """
    log_t, s = -np.logaddexp(0.0, u), np.exp(-np.logaddexp(0.0, -u))
    power = np.exp((a - 1) * log_t)
    near = a * s < 1e-3
    left = np.where(
        near,
        a * (a - 1) / 2 * s**2 * (1 - 2 * (a - 2) / 3 * s),
        1 - power * (1 + (a - 1) * s),
    )
    converted: Floats = np.where(
        log_moment > 30,
        log_moment + np.log1p(np.maximum(left - 1, -1.0) * np.exp(-log_moment)),
        np.log(np.expm1(np.minimum(log_moment, 30.0)) + np.maximum(left, 0.0)),
    )
    return converted


class Conversion(Enum):
    """The three conversions, each never looser than the one before."""

    CLASSIC = "classic"
    IMPROVED = "improved"
    OPTIMAL = "optimal"


_FORMULAS: dict[Conversion, Callable[[Floats, Floats, float], Floats]] = {
    Conversion.CLASSIC: classic,
    Conversion.IMPROVED: improved,
    Conversion.OPTIMAL: optimal,
}


@dataclass(frozen=True, slots=True)
class Converted:
    """The best epsilon (or delta) over orders, and the order that gave it."""

    value: float
    order: float


_RATIO = 1.6
_SCAN: Floats = 1 + 0.002 * _RATIO ** np.arange(56, dtype=np.float64)
_CHUNK = 7


def best_order(
    divergences: Curve, cost: Callable[[Floats, Floats], Floats], enough: Callable[[float], bool]
) -> Converted:
    """Minimise cost(order, divergence) over orders in (1, inf): a growing scan, then zooming in.

    `enough(divergence)` ends the scan: divergences grow with the order, so no later one can win.
    """
    chunks = []
    for start in range(0, len(_SCAN), _CHUNK):
        chunks.append(divergences(_SCAN[start : start + _CHUNK]))
        if enough(float(chunks[-1][-1])):
            break
    values = np.concatenate(chunks)
    orders = _SCAN[: len(values)]
    best, where = math.inf, math.nan
    width = math.log(_RATIO)
    for _ in range(5):
        usable = np.isfinite(values)
        if not usable.any():
            break
        costs = np.full_like(orders, math.inf)
        costs[usable] = cost(orders[usable], values[usable])
        i = int(costs.argmin())
        if costs[i] < best:
            best, where = float(costs[i]), float(orders[i])
        centre, reach = _vertex(np.log(orders - 1), costs, i), width
        width /= 3
        orders = np.asarray(1 + np.exp(centre + np.linspace(-reach, reach, 7)), dtype=np.float64)
        values = divergences(orders)
    return Converted(best, where)


def _vertex(x: Floats, y: Floats, i: int) -> float:
    """Where the parabola through the best point and its neighbours is lowest."""
    if 0 < i < len(x) - 1 and np.isfinite(y[i - 1 : i + 2]).all():
        left, right = y[i - 1] - y[i], y[i + 1] - y[i]
        if left + right > 0:
            h = (x[i + 1] - x[i - 1]) / 2
            return float(x[i] + h / 2 * (left - right) / (left + right))
    return float(x[i])


def rdp_epsilon(
    curve: Curve, delta: float, conversion: Conversion = Conversion.OPTIMAL
) -> Converted:
    """The smallest epsilon the divergences prove at `delta`, over all orders.

    Guarantee: never below the true epsilon if `curve` is never below the true divergence.

    >>> round(rdp_epsilon(lambda a: a / 2, 1e-5).value, 4)  # one Gaussian, mu = 1; exact 4.3772
    4.7284
    """
    known = math.inf

    def enough(divergence: float) -> bool:
        # Every conversion gives at least D - 1.4 from order 2 on, so beyond known + 2 none can win.
        return math.isfinite(divergence) and divergence - 2 > known

    def divergences(orders: Floats) -> Floats:
        nonlocal known
        values = curve(orders)
        known = min(known, float(improved(orders, values, delta).min()))
        return values

    # `optimal` costs more to evaluate and its best order is near that of `improved`, unless the
    # moment e^{(a-1)D} is small; then it is searched for on its own.
    wanted = conversion is Conversion.OPTIMAL
    first = improved if wanted else _FORMULAS[conversion]
    best = best_order(divergences, lambda a, d: first(a, d, delta), enough)
    if not math.isfinite(best.value):
        return best
    if not wanted:
        return _proved(curve, best.order, delta, conversion)
    near = 1 + (best.order - 1) * np.array([0.98, 1.0, 1.02])
    moment = (best.order - 1) * float(curve(near)[1])
    if _optimal_gain(moment, best.order) <= 1e-7 * abs(best.value):
        return _proved(curve, best.order, delta, Conversion.IMPROVED)
    found = optimal(near, curve(near), delta)
    orders = [float(near[int(found.argmin())])]
    if float(found.min()) < best.value - 1e-4 * abs(best.value):
        search = best_order(divergences, lambda a, d: optimal(a, d, delta, zooms=2), enough)
        orders.append(search.order)
    proofs = [_proved(curve, order, delta, Conversion.OPTIMAL) for order in orders]
    proofs.append(_proved(curve, best.order, delta, Conversion.IMPROVED))
    return min(proofs, key=lambda proof: proof.value)


def _proved(curve: Curve, order: float, delta: float, conversion: Conversion) -> Converted:
    """The epsilon of one order, in ball arithmetic."""
    divergence = float(curve(np.array([order]))[0])
    if conversion is Conversion.CLASSIC:
        return Converted(classic_epsilon(order, divergence, delta), order)
    value = improved_epsilon(order, divergence, delta)
    if conversion is Conversion.OPTIMAL:
        u = float(_optimal(np.array([order]), np.array([divergence]), delta)[1][0])
        if not math.isnan(u):
            value = min(value, optimal_epsilon(order, divergence, delta, u))
    return Converted(value, order)


def linear_rdp_epsilon(rho: float, delta: float, conversion: Conversion) -> Converted | None:
    """`rdp_epsilon` for the divergences rho * order of Gaussian noise, by Newton's method.

    None where the optimal conversion gains more than 1e-5 on the improved one: its search is worth it.

    >>> round(linear_rdp_epsilon(0.5, 1e-5, Conversion.IMPROVED).value, 4)
    4.7284
    """
    log_room = -math.log(delta)
    gap = math.sqrt(log_room / rho)  # order - 1; the classic conversion is lowest here
    if conversion is not Conversion.CLASSIC:
        # The derivative of `improved` is rho - (log(1/delta) - log a) / (a - 1)^2, with one root;
        # any order is valid, so a root that is only nearly met costs tightness, not soundness.
        for _ in range(10):
            slope = rho * gap * gap - log_room + math.log1p(gap)
            gap = max(gap - slope / (2 * rho * gap + 1 / (1 + gap)), gap / 8)
    order = 1 + gap
    if order == 1 or not math.isfinite(order):
        return None
    divergence = math.nextafter(rho * order, math.inf)
    if conversion is Conversion.CLASSIC:
        return Converted(classic_epsilon(order, divergence, delta), order)
    value = improved_epsilon(order, divergence, delta)
    gain = _optimal_gain((order - 1) * divergence, order)
    if conversion is Conversion.OPTIMAL and gain > 1e-5 * value:
        return None
    return Converted(value, order)


def _optimal_gain(log_moment: float, order: float) -> float:
    """How far `optimal` can be below `improved` at an order, to first order in 1/M.

    e^eps >= y (1 - 1/a) with y^{a-1} >= (M - 1)/(a delta): all there is to gain is -log(1 - 1/M)/(a-1).
    """
    return math.exp(-min(log_moment, 700.0)) / (order - 1)


def rdp_delta(curve: Curve, epsilon: float) -> Converted:
    """The smallest delta the divergences prove at `epsilon`, over all orders.

    Reference: [Canonne2020] Proposition 12, solved for delta.
    """

    def log_delta(orders: Floats, d: Floats) -> Floats:
        return (orders - 1) * (d - epsilon + np.log1p(-1 / orders)) - np.log(orders)

    # Once D exceeds epsilon by log 2 the exponent grows with the order.
    best = best_order(curve, log_delta, lambda d: math.isfinite(d) and d > epsilon + 0.7)
    if not math.isfinite(best.value):
        return Converted(1.0, best.order)
    divergence = float(curve(np.array([best.order]))[0])
    return Converted(min(1.0, improved_delta(best.order, divergence, epsilon)), best.order)
