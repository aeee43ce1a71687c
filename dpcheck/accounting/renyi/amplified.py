"""What sampling does to a mechanism that is known by its Renyi divergences alone."""

from __future__ import annotations

import math

import numpy as np

from dpcheck.accounting.renyi.moments import Floats
from dpcheck.accounting.renyi.sampled import binomial_moment, interpolated

# Whole orders up to this one are looked at.
LARGEST_ORDER = 1024
# The c that are tried; any is sound.
_DEPTHS = np.array([0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9])


def amplified(rate: float, curve: Floats, orders: Floats) -> Floats:
    """Divergences of both directions on a Poisson sample, from those at the orders 2, 3, ... without it.

    Infinite at orders beyond.
    """

    def moment(order: int) -> float:
        divergences = curve[: order - 1]
        known = order - 1 <= len(curve) and bool((order * divergences < 1e300).all())
        return amplified_moment(rate, divergences) if known else math.inf

    found = interpolated(moment, orders)
    return np.where(np.isnan(found), math.inf, found)  # between two that are infinite


def amplified_moment(rate: float, divergences: Floats) -> float:
    """log of a bound on both moments of order a = len(divergences) + 1 of (1-q) Q + q P against Q.

    `divergences` bound those of (P, Q) in both directions, at the orders 2 .. a.
    Reference: [ZhuWang2019] Theorem 6 has the binomial sum with a factor of 3 on its terms from the third on,
    for both directions; here each has its own proof.
    """
    return max(
        with_record(rate, divergences), without_record(rate, float(divergences[0]), divergences)
    )


def with_record(rate: float, forward: Floats) -> float:
    """log E_Q (1 - q + q r)^a, r = P/Q, from bounds `forward` on D_k(P|Q), k = 2 .. a.

    It is 1 + sum_{k>=2} C(a,k) (1-q)^{a-k} q^k (E r^k - 1), and E r^k is e^{(k-1) D_k(P|Q)}.
    """
    order = len(forward) + 1
    k = np.arange(2, order + 1, dtype=float)
    return binomial_moment(
        order, rate, (order - k) * math.log1p(-rate) + _log_expm1((k - 1) * forward)
    )


def without_record(rate: float, second: float, backward: Floats) -> float:
    """log E_Q (1 - q + q r)^{-s}, s = a - 1, from bounds on D_2(P|Q) and on D_k(Q|P), k = 2 .. a.

    Let w = r - 1, of mean 0. By Taylor's theorem (1 + q w)^{-s} is 1 - s q w + s (s+1)/2 q^2 w^2 (1 + q
    v)^{-s-2} for some v between 0 and w >= -1. Where w >= -c the last factor is at most (1 - q c)^{-s-2};
    elsewhere r < 1 - c, w^2 <= 1, and the factor is at most (1-q)^{-s-2}. So for any c the mean is at most
    1 + s (s+1)/2 q^2 ((1 - q c)^{-s-2} E w^2 + (1-q)^{-s-2} P(r < 1 - c)), with E w^2 = e^{D_2(P|Q)} - 1
    and P(r < 1 - c) <= (1-c)^t E r^{-t} for any t, where E r^{-t} is e^{t D_{t+1}(Q|P)}. Nor is the mean
    more than (1-q)^{-s}, since 1 + q w >= 1 - q, or than 1 - q + q E r^{-s}, since x^{-s} is convex.
    """
    order = len(backward) + 1
    k, s, keep = np.arange(2, order + 1, dtype=float), order - 1, math.log1p(-rate)
    half = math.log(s * (s + 1) / 2) + 2 * math.log(rate)
    spread = float(_log_expm1(np.array([second]))[0])
    rare = np.min((k - 1)[:, None] * (np.log1p(-_DEPTHS) + backward[:, None]), axis=0)
    shallow = np.logaddexp(spread - (s + 2) * np.log1p(-rate * _DEPTHS), rare - (s + 2) * keep)
    deepest = spread - (s + 2) * keep  # c = 1: nothing is elsewhere
    mixed = math.log(rate) + float(_log_expm1(np.array([s * float(backward[-1])]))[0])
    exponent = min(half + min(float(shallow.min()), deepest), mixed)
    found = min(_log_one_plus(exponent), -s * keep)
    # Exponents are sums of a few terms, each right within some units of itself.
    sizes = order * (1 - math.log(rate) - keep) + s * float(backward[-1]) + abs(max(spread, -745.0))
    return found * (1 + 1e-13 * (1 + sizes))


def _log_expm1(x: Floats) -> Floats:
    """log(e^x - 1), without overflow; -inf at 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(
            np.where(x > 1, x + np.log1p(-np.exp(-x)), np.log(np.expm1(np.minimum(x, 1.0))))
        )


def _log_one_plus(log_x: float) -> float:
    """log(1 + e^log_x)."""
    return log_x + math.log1p(math.exp(-log_x)) if log_x > 0 else math.log1p(math.exp(log_x))
