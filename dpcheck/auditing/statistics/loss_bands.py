"""The trade-off curve where losses are exact: far narrower than counting above thresholds.

T(a) = max over eps of 1 - delta(eps) - e^eps a, and delta(eps) = E[(1 - e^(eps - L))+] is the mean of
numbers in [0, 1] that are tiny where losses are. Each of a few deltas is enclosed by betting; the
lines then enclose the curve. Losses arrive as counts in bins and are rounded to the safe side.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpcheck.auditing.auditors.likelihood import STAKES
from dpcheck.auditing.statistics.bands import convex
from dpcheck.core.evidence import TradeoffBand

Array = NDArray[np.float64]
METHOD = (
    "deltas of exact losses enclosed by betting, union bound over epsilons, directions and sides"
)
_POINTS = 64  # epsilons a direction; more make the upper side tighter and cost little confidence


def loss_band(first: Array, second: Array, edges: Array, alpha: float) -> TradeoffBand:
    """The band from counts of exact losses on D and on D': below, in every bin, above.

    Guarantee: the trade-off function of the two datasets lies between `lower` and `upper`
    everywhere with probability at least 1 - alpha.
    Reference: [Dong2022] Proposition 2.13 for the lines; [WaudbySmithRamdas2024] for betting.
    Assumes: independent runs; bins chosen on other runs.
    """
    grid = float(edges[-1]) * np.linspace(0.0, 1.0, _POINTS) ** 1.5
    share = alpha / (4 * _POINTS)
    # Left and right ends of every bin; the outer two reach to infinity.
    left, right = np.concatenate([[-np.inf], edges]), np.concatenate([edges, [np.inf]])
    forward = _deltas(first, left, right, grid, share)
    # On D' the loss of the other direction is -L: its bins are mirrored.
    backward = _deltas(second, -right, -left, grid, share)
    # delta(-eps) = 1 - e^-eps + e^-eps delta'(eps), with the two sides exchanged.
    shrink = np.exp(-grid[:0:-1])
    epsilons = np.concatenate([-grid[:0:-1], grid])
    low, middle, high = (
        np.concatenate([1 - shrink + shrink * back[:0:-1], ahead])
        for back, ahead in zip(backward, forward, strict=True)
    )
    slopes = np.exp(epsilons)
    # Between two epsilons delta is at least that of the larger, the slope at least that of the
    # smaller; below the smallest delta >= 1 - e^eps, above the largest it is at least 0.
    starts = np.concatenate([[slopes[0]], 1 - low[1:], [1.0]])
    upper = _envelope(starts, np.concatenate([[slopes[0]], slopes[:-1], [slopes[-1]]]))
    return TradeoffBand(
        estimate=convex(_envelope(1 - middle, slopes)),
        # Fewer lines keep the lower side low, fewer corners the upper side high.
        lower=convex(_envelope(1 - high[::2], slopes[::2])),
        upper=convex(upper[::2]),
        confidence=1 - alpha,
        method=METHOD,
        thresholds=len(epsilons),
    )


def _deltas(
    counts: Array, left: Array, right: Array, epsilons: Array, alpha: float
) -> tuple[Array, Array, Array]:
    """(lower limit, estimate, upper limit) of delta at every epsilon."""
    low = _gains(left, epsilons)
    high = _gains(right, epsilons)
    middle = (low @ counts + high @ counts) / (2 * counts.sum())
    return mean_lower(low, counts, alpha), middle, 1 - mean_lower(1 - high, counts, alpha)


def _gains(losses: Array, epsilons: Array) -> Array:
    with np.errstate(over="ignore"):
        gap = np.minimum(0.0, epsilons[:, None] - losses[None, :])
    return -np.expm1(gap)


def mean_lower(values: Array, counts: Array, alpha: float) -> Array:
    """Lower limits of the means of numbers in [0, 1], one row of values each, seen `counts` times.

    Guarantee: each is above the mean with probability at most alpha. The wealth of a fixed set of
    bets falls with the mean that is bet against, so bisection is exact.
    Reference: [WaudbySmithRamdas2024].

    >>> mean_lower(np.array([[0.0, 1.0]]), np.array([50.0, 50.0]), 0.05).round(3)
    array([0.343])
    """
    needed = -math.log(alpha) + math.log(len(STAKES))
    high = values @ counts / counts.sum()
    low: Array = np.zeros_like(high)
    seen = counts > 0
    values, counts = values[:, seen], counts[seen]
    for _ in range(32):
        middle = np.maximum(0.5 * (low + high), 1e-300)
        ratio = values / middle[:, None] - 1
        logs = np.stack([np.log1p(stake * ratio) @ counts for stake in STAKES])
        top = logs.max(axis=0)
        rejected = top + np.log(np.exp(logs - top).sum(axis=0)) >= needed
        low, high = np.where(rejected, middle, low), np.where(rejected, high, middle)
    return low


def _envelope(starts: Array, slopes: Array) -> Array:
    """The corners of max(0, starts - slopes a) on [0, 1], from steep lines to flat ones."""
    lines = sorted([*zip(slopes.tolist(), starts.tolist(), strict=True), (0.0, 0.0)], reverse=True)
    kept: list[tuple[float, float, float]] = []  # where a line takes over, its slope, its start
    for slope, start in lines:
        at = 0.0
        while kept:
            since, steeper, before = kept[-1]
            at = (before - start) / (steeper - slope) if steeper > slope else math.inf
            if at > since:
                break
            kept.pop()
            at = 0.0
        if at < 1.0:
            kept.append((at, slope, start))
    corners = [(at, start - slope * at) for at, slope, start in kept]
    _, slope, start = kept[-1]
    return np.array([*corners, (1.0, start - slope)])
