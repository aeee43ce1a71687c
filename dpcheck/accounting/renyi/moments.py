"""log E_Q[(P/Q)^t] of sampled mechanisms with a bound on its error, also when it is tiny.

Written as (1 + v)^t - 1 - t v with E_Q[v] = 0: for t > 1 and t < 0 every term is non-negative
(Bernoulli), so nothing cancels in the sum and a cost of 1e-20 keeps its digits.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpcheck.numerics.rounding import LARGEST_EXPONENT, UNIT

Floats = NDArray[np.float64]

# Relative error of the sum of terms but for their exponents (`_slip`): quadrature below 2e-11; a term loses a
# factor of at most 130 to cancellation (`_bernoulli_excess`), 4e-13; a pairwise sum 64 units.
RELATIVE_ERROR = 1e-10

# Smaller weights are raised to this: the divergence from Q of (1-w) Q + w M, and back, is convex in w and 0
# at w = 0, so it grows with w.
LEAST_WEIGHT = 1e-19

# Sums longer than this (times the number of shifts) are not formed: the moment counts as unknown. That
# happens where the divergence is in the thousands; there convexity loses a thousandth of it at most.
MOST_TERMS = 100_000


# |v| < 0.1/(1+|t|) makes each term of the series at most a tenth of the one before.
_SERIES_TERMS = 15
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)


@lru_cache(maxsize=2048)  # searches over steps and budgets ask for the same orders again
def mixture_log_moments(
    shifts: tuple[float, ...], weights: tuple[float, ...], exponents: tuple[float, ...]
) -> tuple[Floats, Floats]:
    """(log E_{x~N(0,1)} (1 + sum_j w_j (e^{s_j x - s_j^2/2} - 1))^t, error), for all t > 1 or all t < 0.

    The weights are exact; where they add up to more than 1 what they leave is 0.

    The trapezoidal rule on the line. With b below the distance of the nearest singularity its
    relative error is at most 2 e^{b^2/2} / (e^{2 pi b/h} - 1) times the growth of the integrand on
    the shifted line; h is chosen to make that below 2 e^-75 times the growth. Of the power itself it is at
    most e, which is enough where the excess over 1 + t v is above 1e-20. Below, by Taylor's theorem
    |(1+z)^t - 1 - t z| is at most |t (t-1)|/2 |z|^2 times the largest |1 + theta z|^(t-2), 0 <= theta <= 1
    (for 1 < t < 2, where 1 + z may be 0, at most 30 (t-1) |z|^2): t next to 0 or 1 changes nothing. Of one
    shift |z|^2 = v^2 + 2 w^2 e^a (1 - cos s b) <= v^2 + w^2 e^a s^2 b^2. Where v < 1/t or e^a < 2 the second
    term times (1+v)^(t-2) averages to at most e w^2 s^2 b^2, against an excess of at least
    t (t-1) w^2 s^2/4; where e^a >= 2 it is at most 2 s^2 b^2 v^2. With s b <= pi and b <= 12 that is a
    growth below 1e4, of n shifts n times it.
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
        return _one_by_one(shifts, weights, exponents)
    x = np.arange(np.floor(low / step), np.ceil(high / step) + 1) * step
    terms = s[:, None] * x - s[:, None] ** 2 / 2
    norm = step / np.sqrt(2 * np.pi)
    # 1 - sum w, rounded once however little it is: negative powers are as large as it is small.
    rest = max(math.fsum((1.0, *(-weight for weight in weights))), 0.0)
    top, half = float(terms.max()), x**2 / 2
    slip = _slip(t, max(top, -float(terms.min())), max(-float(x[0]), float(x[-1])), len(s))
    if top > 690.0 and len(t) > 1:
        return _one_by_one(shifts, weights, exponents)
    if top > 690.0:  # too steep for plain numbers; digits near 1 are lost
        log_terms = np.logaddexp.reduce(np.log(w)[:, None] + terms, axis=0)
        log_base = np.logaddexp(math.log(rest) if rest > 0 else -math.inf, log_terms)
        total = float(log_sum_exp(t[0] * log_base - half)) + float(np.log(norm))
        return np.array([total]), slip + 1e-12 * (1 + abs(total))
    v = w @ np.expm1(terms)
    # Near v = -1 the digits of 1 + v are those of the sum without the 1.
    near = v < -0.5
    log_base = np.log1p(np.where(near, 0.0, v))
    base = rest + w @ np.exp(terms[:, near])
    with np.errstate(
        divide="ignore"
    ):  # where it underflows a negative power is infinite: says nothing
        log_base[near] = np.log(np.where(base > 1e-300, base, 0.0))
    growth = t[:, None] * log_base
    height = growth - half
    density = np.exp(-half)
    tops = height.max(axis=1)
    # Where the power alone could overflow, its product with the density is formed first.
    steep = growth > 50.0
    gentle = _bernoulli_excess(np.where(steep, 0.0, v), np.where(steep, 0.0, log_base), t[:, None])
    excess = gentle * density
    if steep.any():
        direct = np.exp(np.minimum(height, 400.0)) - density * (1 + t[:, None] * v)
        little = (t > 1) & (t < 2)
        if little.any():  # as in `_bernoulli_excess`
            more = t[little, None] - 1
            with np.errstate(over="ignore"):
                grown = np.exp(log_base - half) * np.expm1(np.minimum(more * log_base, 700.0))
            direct[little] = grown - density * (more * v)
        excess = np.where(steep, direct, excess)
    excess = excess.sum(axis=1)
    # Far above 1, the 1 + t v that is subtracted is lost in rounding anyway.
    result: Floats = np.log1p(norm * np.where(tops > 300.0, 0.0, excess))
    for row in np.flatnonzero(tops > 300.0):
        result[row] = log_sum_exp(height[row]) + np.log(norm)
    return result, _error(result, slip)


def _one_by_one(
    shifts: tuple[float, ...], weights: tuple[float, ...], exponents: tuple[float, ...]
) -> tuple[Floats, Floats]:
    """Each exponent alone: the widest must not cost the others their digits, or their sum."""
    if len(exponents) == 1:
        return np.full(1, np.inf), np.zeros(1)  # says nothing
    found = [mixture_log_moments(shifts, weights, (t,)) for t in exponents]
    return np.array([value[0] for value, _ in found]), np.array([error[0] for _, error in found])


def _slip(t: Floats, steepest: float, furthest: float, shifts: int) -> Floats:
    """A bound on the rounding of t log(1+v) - x^2/2 with all |s x - s^2/2| <= A, |x| <= X, in itself.

    A node errs by a unit, s x - s^2/2 by 4 units of A, each w (e^a - 1) by these and 10 more, their sum by
    one a shift; relative to 1 + v three times that, since |1 + v| >= 1/2 or its digits are those of the sum
    of positive terms; the logarithm, at most A, by 8 of itself, the product by one, x^2/2 by 3. Together
    |t| (12 A + 30 + 3 n + 9 A) + 2 X^2 units; 24 pays for what underflows, too.
    """
    return np.asarray(UNIT * (np.abs(t) * (24 * steepest + 40 + 4 * shifts) + 2 * furthest**2))


def _error(value: Floats, slip: Floats) -> Floats:
    """The error of log(1 + y) = value if y is right within RELATIVE_ERROR and a factor e^slip.

    y/(1+y) <= min(1, log(1+y)); the logarithm and its argument err by few units of the value.
    """
    grown = np.expm1(np.minimum(slip, 1.0)) if float(slip.max()) < 1 else np.full_like(slip, np.inf)
    return np.asarray(RELATIVE_ERROR * np.abs(value) + grown * np.minimum(1.0, np.abs(value)))


@lru_cache(maxsize=8192)
def laplace_log_moment(ratio: float, rate: float, exponent: float) -> tuple[float, float]:
    """(log E_{x~Laplace(0,1)} (1 + q (e^{|x| - |x-r|} - 1))^t, error), for t > 1 or t < 0.

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
    # As for the normal law: no loss is above the ratio, and log(mass) stands for x^2/2.
    slip = _slip(np.array([exponent]), ratio, math.sqrt(ratio + 40), 1)
    if ratio > LARGEST_EXPONENT:  # too steep for plain numbers; digits near 1 are lost
        log_base = np.logaddexp(_log_rest(rate), np.log(rate) + loss)
        inner = np.log(0.5 * half[:, None] * _WEIGHTS) - x  # the masses themselves may underflow
        log_mass = np.concatenate([inner.ravel(), [-math.log(2) - ratio, -math.log(2)]])
        total = float(log_sum_exp(exponent * log_base + log_mass))
        return total, 1e-12 * (1 + abs(total) + abs(exponent) * ratio)
    v = rate * np.expm1(loss)
    near = v < -0.5  # as for the normal law
    log_base = np.log1p(np.where(near, 0.0, v))
    log_base[near] = np.log((1.0 - rate) + rate * np.exp(loss[near]))
    height = exponent * log_base + np.log(mass)
    if height.max() > 300.0:
        value = float(log_sum_exp(height))
    else:
        value = float(np.log1p((_bernoulli_excess(v, log_base, exponent) * mass).sum()))
    return value, float(_error(np.array([value]), slip)[0])


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
    if shift > LARGEST_EXPONENT:
        unknown = np.full(most - 1, np.inf)
        return unknown, unknown  # says nothing
    # Orders ask for few or many: a table for each power of two serves all of them.
    positive, both = _excess_table(shift, 1 << max(most - 1, 15).bit_length())
    return positive[: most - 1], both[: most - 1]


@lru_cache(maxsize=1024)  # of up to 4 kilobytes: a composition may have hundreds of shifts
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
    # Exponents are differences of numbers of about this size; log(e^y - 1) is about log(shift) next to 0.
    slip = RELATIVE_ERROR + 4e-15 * j * (
        shift * (j * shift + root + _BEYOND) + abs(math.log(shift))
    )
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


def _bernoulli_excess(v: Floats, log_base: Floats, t: Floats | float) -> Floats:
    """(1 + v)^t - 1 - t v from log(1 + v); at most a factor of 130 is lost to cancellation.

    For 1 < t < 2 it is (1 + v) ((1 + v)^(t-1) - 1) - (t-1) v: both parts fall with t - 1, as the excess does.
    """
    small = np.abs(v) < 0.1 / (1 + np.abs(t))
    logs, plain = np.where(small, 0.0, log_base), np.where(small, 0.0, v)
    low = np.asarray((t > 1) & (np.asarray(t) < 2))
    with np.errstate(over="ignore"):
        if low.all():
            direct = (1 + plain) * np.expm1((t - 1) * logs) - (t - 1) * plain
        else:
            direct = np.expm1(t * logs) - t * plain
            if low.any():
                gained = (1 + plain) * np.expm1((t - 1) * logs) - (t - 1) * plain
                direct = np.where(low, gained, direct)
    series = _binomial_tail(np.where(small, v, 0.0), t)
    return np.where(small, series, direct)


def _binomial_tail(v: Floats, t: Floats | float) -> Floats:
    """sum_{j=2}^{terms} C(t, j) v^j."""
    total = np.ones_like(v * t)
    for j in range(_SERIES_TERMS, 2, -1):
        total *= v
        total *= (t - j + 1) / j
        total += 1
    return (t * v) * ((t - 1) * v) / 2 * total


# 2/k! for k = 12, ..., 2: e^x - 1 - x is x^2/2 times their polynomial, of |x| < 0.1 within 1e-22.
_BEYOND_FIRST = tuple(2 / math.factorial(k) for k in range(12, 1, -1))


def exp_beyond_first(x: Floats) -> Floats:
    """e^x - 1 - x, accurate near 0."""
    near = np.abs(x) < 0.1
    plain = np.expm1(x) - x
    if not near.any():
        return np.asarray(plain)
    y = np.where(near, x, 0.0)
    series = np.full_like(y, _BEYOND_FIRST[0])
    for factor in _BEYOND_FIRST[1:]:
        series *= y
        series += factor
    return np.where(near, y * y / 2 * series, plain)


def half_square(orders: Floats, mu: float) -> Floats:
    """orders mu^2/2, in an order in which nothing underflows that a large order brings back."""
    with np.errstate(over="ignore"):
        return np.asarray(orders * mu * mu / 2)


def log_sum_exp(values: Floats) -> Floats:
    """log of the sum of exponentials over the last axis; the sum itself errs by few units only."""
    top = values.max(axis=-1, keepdims=True)
    if not np.isfinite(top).all():  # a sum with an infinite term, or of none
        top = np.where(np.isfinite(top), top, 0.0)
        with np.errstate(over="ignore", divide="ignore"):
            return np.asarray(top[..., 0] + np.log(np.exp(values - top).sum(axis=-1)))
    return np.asarray(top[..., 0] + np.log(np.exp(values - top).sum(axis=-1)))
