"""Densities and probabilities of the benchmark's mechanisms, exact but for rounding.

Laplace laws are exponentials on each side of their centre. So an integral over a noisy threshold of
a product of Laplace distribution functions is, between the centres, the integral of a polynomial in
u = e^(x/scale) and 1/u: closed form, evaluated with 50 digits.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import cache
from itertools import pairwise

import mpmath
import numpy as np

EPS = 0.1
Polynomial = dict[int, mpmath.mpf]  # power of u -> coefficient
_DIGITS = 50


def times(one: Polynomial, two: Polynomial) -> Polynomial:
    result: Polynomial = {}
    for i, a in one.items():
        for j, b in two.items():
            result[i + j] = result.get(i + j, mpmath.mpf(0)) + a * b
    return result


def power(base: Polynomial, exponent: int) -> Polynomial:
    result: Polynomial = {0: mpmath.mpf(1)}
    for _ in range(exponent):
        result = times(result, base)
    return result


def integral(polynomial: Polynomial, low, high, scale) -> mpmath.mpf:
    """Of the polynomial in u = e^(x/scale) over x from low to high."""
    total = mpmath.mpf(0)
    for k, a in polynomial.items():
        if k == 0:
            total += a * (high - low)
        else:
            total += a * scale / k * (mpmath.exp(k * high / scale) - mpmath.exp(k * low / scale))
    return total


class Piecewise:
    """Laplace and exponential laws as polynomials in e^(x/scale), on one side of their centre."""

    def __init__(self, scale: float) -> None:
        self.scale = mpmath.mpf(scale)

    def _grow(self, centre, factor: int, sign: int) -> Polynomial:
        return {sign * factor: mpmath.exp(-sign * factor * mpmath.mpf(centre) / self.scale)}

    def laplace_below(self, centre, factor: int, right: bool) -> Polynomial:
        """P(centre + Laplace(scale/factor) < x), for x right (or left) of the centre."""
        half = {k: v / 2 for k, v in self._grow(centre, factor, -1 if right else 1).items()}
        return {0: mpmath.mpf(1), **{k: -v for k, v in half.items()}} if right else half

    def laplace_density(self, centre, factor: int, right: bool) -> Polynomial:
        """The density at x."""
        grow = self._grow(centre, factor, -1 if right else 1)
        return {k: v * factor / (2 * self.scale) for k, v in grow.items()}

    def exponential_below(self, centre, factor: int, right: bool) -> Polynomial:
        """P(centre + Exponential(scale/factor) < x)."""
        if not right:
            return {}
        falling = self._grow(centre, factor, -1)
        return {0: mpmath.mpf(1), **{k: -v for k, v in falling.items()}}

    def exponential_density(self, centre, factor: int, right: bool) -> Polynomial:
        """The density at x."""
        falling = self._grow(centre, factor, -1)
        return {k: v * factor / self.scale for k, v in falling.items()} if right else {}


def one_minus(polynomial: Polynomial) -> Polynomial:
    result = {k: -v for k, v in polynomial.items()}
    result[0] = result.get(0, mpmath.mpf(0)) + 1
    return result


def integrate(factors, centres, scale) -> mpmath.mpf:
    """Over all x of the product of factors(is_right), a function of which centres x is right of."""
    ends = sorted(set(centres))
    far = mpmath.mpf(200) * scale  # e^-200 is left out
    bounds = [ends[0] - far, *ends, ends[-1] + far]
    total = mpmath.mpf(0)
    for low, high in pairwise(bounds):
        middle = (low + high) / 2
        product: Polynomial = {0: mpmath.mpf(1)}
        for base, exponent in factors(lambda centre, at=middle: at > centre):
            product = times(product, power(base, exponent))
        total += integral(product, low, high, scale)
    return total


@cache
def log_argmax(index_value: float, others: tuple[tuple[float, int], ...], kind: str) -> float:
    """log P(this entry is the largest), entries plus noise of scale 20."""
    with mpmath.workdps(_DIGITS):
        laws = Piecewise(2 / EPS)
        density = getattr(laws, f"{kind}_density")
        below = getattr(laws, f"{kind}_below")

        def factors(right):
            yield density(index_value, 1, right(index_value)), 1
            for value, number in others:
                yield below(value, 1, right(value)), number

        centres = [mpmath.mpf(v) for v in {index_value, *(value for value, _ in others)}]
        return float(mpmath.log(integrate(factors, centres, laws.scale)))


@cache
def log_threshold(
    answers: tuple[tuple[float, bool, int], ...],
    rho_factor: int,
    query_factor: int,
    scale: float,
    threshold: float,
) -> float:
    """log P(these answers), each (query, above?, how often): all queries meet one noisy threshold."""
    with mpmath.workdps(_DIGITS):
        laws = Piecewise(scale)
        zero = mpmath.mpf(0)
        # A query q is below if q + noise < rho + T, so as a function of rho its centre is q - T.
        centres = {zero, *(mpmath.mpf(q) - threshold for q, _, _ in answers)}

        def factors(right):
            yield laws.laplace_density(zero, rho_factor, right(zero)), 1
            for query, above, number in answers:
                centre = mpmath.mpf(query) - threshold
                below = laws.laplace_below(centre, query_factor, right(centre))
                yield (one_minus(below) if above else below), number

        return float(mpmath.log(integrate(factors, list(centres), laws.scale)))


def by_row(function):
    """A density of many outputs from one of a single output, each distinct one computed once."""

    def density(data, outputs):
        table = np.atleast_2d(outputs.T).T
        rows, place = np.unique(table, axis=0, return_inverse=True)
        return np.array([function(data, row) for row in rows])[place.reshape(-1)]

    density.anywhere = True
    return density


def everywhere(function):
    function.anywhere = True
    return function


def laplace_sum(scale, *, steps=False):
    """Independent Laplace noise on every value, or on every step of a running sum."""

    @everywhere
    def density(data, outputs):
        values = np.diff(outputs, axis=1, prepend=0.0) if steps else outputs
        return -np.abs(values - data).sum(axis=1) / scale - values.shape[1] * math.log(2 * scale)

    return density


def _laplace_cdf(x, scale):
    return np.where(
        x < 0, np.exp(np.minimum(x, 0) / scale) / 2, 1 - np.exp(-np.maximum(x, 0) / scale) / 2
    )


def largest(kind):
    """The largest of values plus Laplace or exponential noise of scale 20."""

    @everywhere
    def density(data, outputs):
        scale = 2 / EPS
        shifted = outputs - data[None, :]
        if kind == "laplace":
            below, at = _laplace_cdf(shifted, scale), np.exp(-np.abs(shifted) / scale) / (2 * scale)
        else:
            inside = np.maximum(shifted, 0)
            below = np.where(shifted > 0, -np.expm1(-inside / scale), 0.0)
            at = np.where(shifted > 0, np.exp(-inside / scale) / scale, 0.0)
        total = np.zeros(len(outputs))
        for index in range(len(data)):
            total += at[:, index] * np.delete(below, index, axis=1).prod(axis=1)
        with np.errstate(divide="ignore"):
            return np.log(total)

    return density


def argmax(kind):
    def density(data, row):
        index = int(row[0])
        others = Counter(np.delete(data, index).tolist())
        return log_argmax(float(data[index]), tuple(sorted(others.items())), kind)

    return by_row(density)


def _grouped(data, answers):
    pairs = Counter((float(q), bool(a)) for q, a in zip(data, answers, strict=True))
    return tuple(sorted((q, a, number) for (q, a), number in pairs.items()))


def sparse_vector(rho_factor, query_factor, scale, threshold, *, stops):
    """Answers to queries against one noisy threshold; after the first TRUE only -1 if it stops."""

    def density(data, row):
        answers = row[row >= 0]
        if stops:
            proper = np.concatenate([np.zeros(max(0, len(answers) - 1)), answers[-1:]])
            full = len(answers) == len(row) or (len(answers) > 0 and answers[-1] == 1)
            if not full or (answers != proper).any() or (row[: len(answers)] < 0).any():
                return -math.inf
        elif len(answers) < len(row):
            return -math.inf
        grouped = _grouped(data[: len(answers)], answers == 1)
        return log_threshold(grouped, rho_factor, query_factor, scale, threshold)

    return by_row(density)


def noiseless_queries(data, row):
    """Queries without noise of their own: TRUE for all at least rho + 1."""
    above = row == 1
    low = max((q - 1 for q, a in zip(data, above, strict=True) if not a), default=-math.inf)
    high = min((q - 1 for q, a in zip(data, above, strict=True) if a), default=math.inf)
    scale = 2 / EPS
    if low >= high:
        return -math.inf
    return math.log(float(_laplace_cdf(np.array(high), scale) - _laplace_cdf(np.array(low), scale)))


def bits(chance_of_one):
    """Independent bits; `chance_of_one` of a true bit."""

    @everywhere
    def density(data, outputs):
        one = np.array([chance_of_one(bit) for bit in data])
        return np.where(outputs == 1, np.log(one), np.log1p(-one)).sum(axis=1)

    return density


def truncated_geometric(data, row, n=5):
    """From the definition: the step of its cumulative table."""
    k = math.ceil(math.log(2 / EPS))
    base, d = 2**k + 1, (2 ** (k + 1) + 1) * (2**k + 1) ** (n - 1)
    c, z = int(data[0]), int(row[0])
    f = [0]
    f += [2 ** (k * (c - y)) * base ** (n - (c - y)) for y in range(c)]
    f += [d - 2 ** (k * (y - c + 1)) * base ** (n - 1 - (y - c)) for y in range(c, n)]
    f += [d]
    return math.log((f[z + 1] - f[z]) / d)


def _permanent(f):
    return lambda bit: f / 2 + (1 - f) * bit


def _instantaneous(bit, f=0.75, p=0.45, q=0.55):
    one = _permanent(f)(bit)
    return one * q + (1 - one) * p


DENSITIES = {
    "Laplace": laplace_sum(1 / EPS),
    "TruncatedGeometric": by_row(truncated_geometric),
    "NoisyHist1": laplace_sum(1 / EPS),
    "NoisyHist2": laplace_sum(EPS),
    "NoisyMax1": argmax("laplace"),
    "NoisyMax2": argmax("exponential"),
    "NoisyMax3": largest("laplace"),
    "NoisyMax4": largest("exponential"),
    "SVT1": sparse_vector(2, 1, 4 / EPS, 0.5, stops=True),
    "SVT2": sparse_vector(2, 1, 4 / EPS, 1.0, stops=True),
    "SVT4": sparse_vector(1, 3, 4 / EPS, 1.0, stops=True),
    "SVT5": by_row(noiseless_queries),
    "SVT6": sparse_vector(1, 1, 2 / EPS, 1.0, stops=False),
    "RAPPOR": bits(_instantaneous),
    "OneTimeRAPPOR": bits(_permanent(0.95)),
    "LaplaceParallel": laplace_sum(200.0),
    "PrefixSum": laplace_sum(1 / EPS, steps=True),
}
