"""Moments of sampled noise at whole orders, and the bound between them."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.accounting.renyi.moments import Floats, excess_log_moments, log_sum_exp

if TYPE_CHECKING:
    from dpcheck.accounting.pairs.sampled.batches import WithoutReplacementLoss
    from dpcheck.accounting.pairs.sampled.replaced import ReplacedSampleLoss


def replaced_moment(loss: ReplacedSampleLoss, order: int) -> float:
    """log(1 + sum_j C(a,j) q^j T_j) for p = (1-q) M0 + q M1 against p' with M1' in place of M1.

    (p - p')/p' = q (M1 - M1')/p'; expanding (1 + .)^a, the first-order term vanishes and the others
    are bounded through the joint convexity of |x|^j y^{1-j}:
    T_j = (1-q) E_M0 |M1/M0 - M1'/M0|^j + q E_M1' |M1/M1' - 1|^j. In the manner of [Wang2019] Theorem 9.
    """
    q, j = loss.rate, np.arange(2, order + 1, dtype=float)
    if not loss.base.normal:
        r = loss.base.steepness
        log_none = j * (r + math.log(-math.expm1(-2 * r)))  # |e^r - e^-r|^j
        log_same = j * (2 * r + math.log(-math.expm1(-2 * r)))  # (e^{2r} - 1)^j
    else:
        mu = loss.base.steepness
        # |a - b|^j <= a^j + b^j for a, b >= 0, and <= 2^{j-1} (|a-1|^j + |b-1|^j); the second moment
        # is exact (opposite records).
        log_none = math.log(2) + j * (j - 1) / 2 * mu**2
        log_none[0] = math.log(2) + mu**2 + math.log(-math.expm1(-2 * mu**2))
        log_same = np.logaddexp(2 * j * (j - 1) * mu**2, 0.0)
        few = min(order, _NUMERICAL_MOMENTS)
        away, apart = excess_log_moments(mu, few)[1], excess_log_moments(2 * mu, few)[1]
        log_none[: few - 1] = np.minimum(log_none[: few - 1], j[: few - 1] * math.log(2) + away)
        log_same[: few - 1] = np.minimum(log_same[: few - 1], apart)
    log_t = np.logaddexp(math.log1p(-q) + log_none, math.log(q) + log_same)
    return binomial_moment(order, q, log_t)


def without_replacement_moment(loss: WithoutReplacementLoss, order: int) -> float:
    """[Wang2019] Theorem 9 for the Gaussian, with its ternary divergence bounded more tightly.

    Needed is E_r |p-q|^j / r^j for three outputs p, q, r of pairwise neighbours. Where p >= q: if
    r >= q it is at most (p-q)^j / q^j under q, if r < q at most (p-r)^j / r^j under r; likewise where
    q > p. Hence at most 4 sup E_q (p/q - 1)_+^j, the positive part only.
    """
    j = np.arange(2, order + 1, dtype=float)
    log_t = math.log(2) + j * (j - 1) / 2 * loss.mu**2  # |p-q|^j <= p^j + q^j
    few = min(order, _NUMERICAL_MOMENTS)
    over = excess_log_moments(loss.mu, few)[0]
    log_t[: few - 1] = np.minimum(log_t[: few - 1], math.log(4) + over)
    return binomial_moment(order, loss.rate, log_t)


def binomial_moment(order: int, q: float, log_t: Floats) -> float:
    """log(1 + sum_{j>=2} C(order, j) q^j t_j)."""
    j = np.arange(2, order + 1, dtype=float)
    total = float(log_sum_exp(_log_choose(order) + j * math.log(q) + log_t))
    # Exponents are sums of logarithms and of squares, each within 10 units of itself; 1e-14 is 90.
    sizes = order * (math.log(order) - math.log(q)) + float(
        np.abs(log_t).max(where=np.isfinite(log_t), initial=0.0)
    )
    slack = 1e-14 * (1 + sizes)
    return float(np.log1p(np.exp(total)) if total < 30 else np.logaddexp(0.0, total)) * (
        1 + 1e-13
    ) + float(slack * min(1.0, math.exp(min(total, 0.0))))


@lru_cache(maxsize=128)
def _log_choose(order: int) -> Floats:
    """log C(order, j) for j = 2 .. order, of whole numbers: no gamma function has to be trusted."""
    logs, ways = [], 1
    for j in range(1, order + 1):
        ways = ways * (order - j + 1) // j
        logs.append(math.log(ways))
    return np.array(logs[1:])


_MAX_INTEGER_ORDER = 4096
_NUMERICAL_MOMENTS = 256  # beyond, only the closed-form bound on a moment is used


def interpolated(moment: Callable[[int], float], orders: Floats) -> Floats:
    """Divergences from moments at whole orders: (a-1) D_a is convex in a and 0 at a = 1."""
    known: dict[int, float] = {1: 0.0}

    def at(order: int) -> float:
        if order not in known:
            known[order] = moment(order)
        return known[order]

    result = np.full_like(orders, math.inf)
    for i, a in enumerate(orders):
        low = math.floor(a)
        if low < _MAX_INTEGER_ORDER:
            left, right = at(low), at(low + 1) if a > low else at(low)
            result[i] = (left + (a - low) * (right - left)) / (a - 1)
    return result
