"""log E_Q[(P/Q)^t] of sampled mechanisms, to about 1e-11 relative, also when it is tiny.

Written as (1 + v)^t - 1 - t v with E_Q[v] = 0: for t > 1 and t < 0 every term is non-negative
(Bernoulli), so nothing cancels in the sum and a cost of 1e-20 keeps its digits.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Relative error of what this module returns: at most 1e-13 per term from exp of numbers up to 700,
# and a few hundred terms of one sign. Callers inflate by this.
RELATIVE_ERROR = 1e-10

# Smaller weights are raised to this: the divergence from Q of (1-w) Q + w M, and back, is convex in w and 0
# at w = 0, so it grows with w.
LEAST_WEIGHT = 1e-19

# Sums longer than this (times the number of shifts) are not formed: the moment counts as unknown. That
# happens where the divergence is in the thousands; there convexity loses a thousandth of it at most.
MOST_TERMS = 100_000

# Losses beyond this leave the range of floats.
STEEPEST = 600.0

# |v| < 0.1/(1+|t|) makes each term of the series at most a tenth of the one before.
_SERIES_TERMS = 15
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)


@lru_cache(maxsize=2048)  # searches over steps and budgets ask for the same orders again
def mixture_log_moments(
    shifts: tuple[float, ...], weights: tuple[float, ...], exponents: tuple[float, ...]
) -> Floats:
    """log E_{x~N(0,1)} (1 + sum_j w_j (e^{s_j x - s_j^2/2} - 1))^t, for all t > 1 or all t < 0.

    The trapezoidal rule on the line. With b below the distance of the nearest singularity its
    relative error is at most 2 e^{b^2/2} / (e^{2 pi b/h} - 1) times the growth of the integrand on
    the shifted line; h is chosen to make that below 2 e^-75 times the growth. Of the power itself it is at
    most e, which is enough where the excess over 1 + t v is above 1e-20. Below, |(1+z)^t - 1 - t z| is at
    most t^2 |z|^2 max(|1+z|^(t-2), 1) and |z|^2 = v^2 + 2 w^2 e^a (1 - cos s b). The second term averages to
    at most w s^2 b^2 (1 + 1e-20), the excess is at least w^2 s^2/2: a growth of 2 b^2/w <= 300/w, so that
    the relative error is below 1e-11 for w >= 1e-19 (`LEAST_WEIGHT`).
    Reference: [Trefethen2014] Theorem 5.1; [Mironov2019] Theorem 4 for the divergence.
    """
    s, w, t = np.asarray(shifts), np.asarray(weights), np.asarray(exponents)
    widest, lowest = float(s.max()), float(t.min())
    # Positive powers: |1 + v(x+ib)| <= 1 + v(x), analytic while s_j b < pi (one shift) or pi/2.
    # Negative ones: |1 + v(x+ib)| >= cos(s b/2) (1 + v(x)); s b <= 1/sqrt|t| keeps the power below e.
    angle = np.pi if lowest > 0 and len(s) == 1 else np.pi / 2
    if lowest < 0:
        angle = min(angle, 1 / np.sqrt(-lowest))
    strip = min(float(angle) / widest, 12.0)
    step = 2 * np.pi * strip / (75.0 + strip**2 / 2)
    # The integrand is exp(t log(1+v) - x^2/2): its bulk lies between 0 and t * (largest shift);
    # the v that is subtracted has its own at the largest shift.
    low = -13.0 + min(lowest, 0.0) * widest
    high = 13.0 + max(float(t.max()), 1.0) * widest
    if (high - low) / step * len(s) > MOST_TERMS:
        if len(t) > 1:
            return np.array([mixture_log_moments(shifts, weights, (p,))[0] for p in exponents])
        return np.full(1, np.inf)  # says nothing
    x = np.arange(np.floor(low / step), np.ceil(high / step) + 1) * step
    terms = s[:, None] * x - s[:, None] ** 2 / 2
    norm = step / np.sqrt(2 * np.pi)
    if (
        terms.max() > 690.0 and len(t) > 1
    ):  # the widest exponent must not cost the others their digits
        return np.array([mixture_log_moments(shifts, weights, (p,))[0] for p in exponents])
    if terms.max() > 690.0:  # too steep for plain numbers; digits near 1 are lost, so round up
        log_terms = np.logaddexp.reduce(np.log(w)[:, None] + terms, axis=0)
        log_base = np.logaddexp(_log_rest(float(w.sum())), log_terms)
        total = float(log_sum_exp(t[0] * log_base - x**2 / 2)) + float(np.log(norm))
        return np.array([total + 1e-12 * (1 + abs(total))])
    v = w @ np.expm1(terms)
    # Near v = -1 the digits of 1 + v are those of the sum without the 1.
    rest = max(1.0 - math.fsum(weights), 0.0)
    near = v < -0.5
    log_base = np.log1p(np.where(near, 0.0, v))
    base = rest + w @ np.exp(terms[:, near])
    with np.errstate(
        divide="ignore"
    ):  # where it underflows a negative power is infinite: says nothing
        log_base[near] = np.log(np.where(base > 1e-300, base, 0.0))
    growth = t[:, None] * log_base
    height = growth - x**2 / 2
    density = np.exp(-(x**2) / 2)
    tops = height.max(axis=1)
    # Where the power alone could overflow, its product with the density is formed first.
    steep = growth > 50.0
    gentle = _bernoulli_excess(np.where(steep, 0.0, v), np.where(steep, 0.0, growth), t[:, None])
    direct = np.exp(np.minimum(height, 400.0)) - density * (1 + t[:, None] * v)
    excess = np.where(steep, direct, gentle * density).sum(axis=1)
    # Far above 1, the 1 + t v that is subtracted is lost in rounding anyway.
    result: Floats = np.log1p(norm * np.where(tops > 300.0, 0.0, excess))
    for row in np.flatnonzero(tops > 300.0):
        result[row] = log_sum_exp(height[row]) + np.log(norm)
    return result


@lru_cache(maxsize=8192)
def laplace_log_moment(ratio: float, rate: float, exponent: float) -> float:
    """log E_{x~Laplace(0,1)} (1 + q (e^{|x| - |x-r|} - 1))^t, for t > 1 or t < 0.

    The two tails have constant loss; the part between is done by Gauss-Legendre with 24 nodes on panels of
    half-length h <= 2/(1 + 2|t|). The integrand is analytic while |Im x| < pi/2, where 1 + v = 0. Error of a
    panel: at most 6 M rho^-46 times h, M the largest modulus on the ellipse whose semi-axes add up to rho h
    ([Trefethen2013] Theorem 19.3). For t > 1 take rho = 4: |1 + v(x + iy)| <= 1 + v(x), so the power grows by
    at most e^{2 t (2.13 - 1) h} < e^3, and 4^-46 < 1e-27. For t <= -1 take rho = 3.5, y <= 1.61 h: |1 + v| >=
    cos(y) (1 + v), whose power is below e^2, and 3.5^-46 < 1e-24. For -1 < t < 0 take rho = 1.9, y <= 1.38:
    cos(1.38) > 0.18 and 1.9^-46 < 2e-13. What is subtracted, 1 + t v, is no larger.
    """
    panels = 1 + int(np.ceil(ratio * (1 + 2 * abs(exponent)) / 4))
    edges = np.linspace(0.0, ratio, panels + 1)
    half = (edges[1:] - edges[:-1]) / 2
    x = ((edges[1:] + edges[:-1]) / 2)[:, None] + half[:, None] * _NODES
    inner_mass = 0.5 * np.exp(-x) * half[:, None] * _WEIGHTS
    loss = np.concatenate([(2 * x - ratio).ravel(), [ratio, -ratio]])
    mass = np.concatenate([inner_mass.ravel(), [0.5 * np.exp(-ratio), 0.5]])
    if ratio > STEEPEST:  # too steep for plain numbers; digits near 1 are lost, so round up
        log_base = np.logaddexp(_log_rest(rate), np.log(rate) + loss)
        total = float(log_sum_exp(exponent * log_base + np.log(np.maximum(mass, 1e-320))))
        return total + 1e-12 * (1 + abs(total) + abs(exponent) * ratio)
    height = exponent * np.log1p(rate * np.expm1(loss)) + np.log(mass)
    if height.max() > 300.0:
        return float(log_sum_exp(height))
    v = rate * np.expm1(loss)
    growth = exponent * np.log1p(v)
    return float(np.log1p((_bernoulli_excess(v, growth, exponent) * mass).sum()))


def _log_rest(weight: float) -> float:
    """log(1 - weight)."""
    return float(np.log1p(-weight)) if weight < 1 else -np.inf


# An integrand of log-curvature at most -1 has less than e^-80 of its mass so far from its peak.
_BEYOND = 14.0


def excess_log_moments(shift: float, most: int) -> tuple[Floats, Floats]:
    """log E_{x~N(0,1)} (r - 1)_+^j and log E |r - 1|^j with r = e^{s x - s^2/2}, for j = 2..most.

    With y = s x - s^2/2 both log |e^y - 1| are concave, so every integrand is log-concave with curvature
    at most -1 and less spread than a normal law: all but e^-80 lies within 14 of its peak. Above r = 1 the
    peak solves x = j s + j s/(e^y - 1), which is at least j s and at most j s + sqrt(j), since
    j s/(e^y - 1) <= j s/y and y >= s (x - j s); below, it lies between -sqrt(j) and 0.

    Gauss-Legendre on panels of at most half a standard deviation. The integrand (r - 1)^j e^{-x^2/2} is
    entire. With 24 nodes the error of a panel is at most 6 M 16^-46 times its length, M the largest modulus
    on the ellipse that reaches 2 beyond the panel ([Trefethen2013] Theorem 19.3). At a distance d from where
    r = 1, |1 - 1/r| grows there by at most 1 + 2/d and e^{j s x - x^2/2}, a normal density at j s, by
    e^{2 |x - j s| + 4}. At the peak d (d + s/2) >= j and d >= (j - 1/2) s, so d^2 >= j - 1/2, and
    |x - j s| <= sqrt(j): together below e^{4 sqrt(j) + 5} <= e^69 for j <= 256. At distance D from it the
    integrand is e^{-D^2/2} of the peak, which pays for e^{2 D}. And 16^-46 < e^-127.
    """
    if shift > STEEPEST:
        unknown = np.full(most - 1, np.inf)
        return unknown, unknown  # says nothing
    # Orders ask for few or many: a table for each power of two serves all of them.
    positive, both = _excess_table(shift, 1 << max(most - 1, 15).bit_length())
    return positive[: most - 1], both[: most - 1]


@lru_cache(maxsize=64)
def _excess_table(shift: float, most: int) -> tuple[Floats, Floats]:
    j = np.arange(2, most + 1, dtype=np.float64)
    root, centre = np.sqrt(j), shift / 2  # r = 1 at the centre
    above = _excess_integral(
        shift,
        j,
        np.maximum(j * shift - _BEYOND, centre),
        j * shift + root + _BEYOND,
    )
    below = _excess_integral(shift, j, -root - _BEYOND, np.full_like(j, min(centre, _BEYOND)))
    # Exponents are differences of numbers of about this size.
    slip = RELATIVE_ERROR + 4e-15 * j * shift * (j * shift + root + _BEYOND)
    return above + slip, np.logaddexp(above, below) + slip


def _excess_integral(shift: float, j: Floats, low: Floats, high: Floats) -> Floats:
    """log of the integral of |r - 1|^j phi between `low` and `high`, each j on panels of its own."""
    panels = int(np.ceil(2 * float(np.max(high - low))))
    half = ((high - low) / (2 * panels))[:, None, None]
    x = low[:, None, None] + half * (2 * np.arange(panels)[:, None] + 1 + _NODES)
    y = shift * x - shift**2 / 2
    with np.errstate(divide="ignore"):
        distance = np.log(np.abs(np.expm1(np.minimum(y, 40.0)))) + np.maximum(y - 40.0, 0.0)
    terms = j[:, None, None] * distance - x**2 / 2 + np.log(_WEIGHTS)
    scale = np.log(half[:, 0, 0]) - 0.5 * np.log(2 * np.pi)
    return np.asarray(log_sum_exp(terms.reshape(len(j), -1)) + scale)


def _bernoulli_excess(v: Floats, growth: Floats, t: Floats | float) -> Floats:
    """(1 + v)^t - 1 - t v without cancellation, from growth = t log(1 + v)."""
    small = np.abs(v) < 0.1 / (1 + np.abs(t))
    with np.errstate(over="ignore"):
        direct = np.expm1(np.where(small, 0.0, growth)) - t * np.where(small, 0.0, v)
    series = _binomial_tail(np.where(small, v, 0.0), t)
    return np.where(small, series, direct)


def _binomial_tail(v: Floats, t: Floats | float) -> Floats:
    """sum_{j=2}^{terms} C(t, j) v^j."""
    total = np.ones_like(v * t)
    for j in range(_SERIES_TERMS, 2, -1):
        total *= v
        total *= (t - j + 1) / j
        total += 1
    return t * (t - 1) / 2 * v**2 * total


def log_sum_exp(values: Floats) -> Floats:
    """log of the sum of exponentials over the last axis; the sum itself errs by few units only."""
    top = values.max(axis=-1, keepdims=True)
    if not np.isfinite(top).all():  # a sum with an infinite term, or of none
        top = np.where(np.isfinite(top), top, 0.0)
        with np.errstate(over="ignore", divide="ignore"):
            return np.asarray(top[..., 0] + np.log(np.exp(values - top).sum(axis=-1)))
    return np.asarray(top[..., 0] + np.log(np.exp(values - top).sum(axis=-1)))
