"""Fourier coefficients of a law at its lowest frequencies only, each summed directly.

Many steps leave a spectrum that matters at a few low frequencies of a large window. Which ones is proved
before anything is transformed: of two masses a, b at distance D,

    |a + b e^{i D theta}| = sqrt((a + b)^2 - 2 a b (1 - cos D theta))
        <= a + b - (1 - cos D theta) a b/(a + b),

so a law cut into such pairs has |f(theta)| <= 1 - s_D (1 - cos D theta), s_D = sum a b/(a + b), and a product
of laws with counts n is at most exp(-S_D (1 - cos D theta)), S_D = sum n s_D. With phi_D the angle where
S_D (1 - cos phi_D) = flat, a distance covers theta from phi_D/D to (2 pi - phi_D)/D; distances 1, 2, 4, ...
overlap while phi_2D + 2 phi_D <= 2 pi, and together they cover everything from phi_D/D of the last one to pi.

Laws of a few heavy masses have no such distance in common. But |f(theta)|^2 = (sum x)^2 - 2 sum_{i<j} x_i x_j
(1 - cos (j-i) theta), so |f| <= exp(-sum x_i x_j (1 - cos (j-i) theta)) over any of the pairs: summed over
many laws, a single transform of the x_i x_j at their distances bounds the product at every frequency.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpcheck.numerics.fourier import Spectrum as Coefficients
from dpcheck.numerics.fourier import forward, transform_error
from dpcheck.numerics.rounding import UNIT, Array, Indices

# Rounding of e^{i theta}, in units: an angle below 2 pi with three roundings (19) and two functions (8 each,
# 12 in modulus). Four such factors, three products of them (sqrt 5 each) and one with a mass stay below 160.
ANGLE_UNITS = 160
# Frequencies whose factors are products with one of so many.
TOGETHER = 16
# Masses of a law whose pairs are looked at, and how many different laws make that worth a transform.
HEAVY, MANY = 6, 16


def low_frequencies(laws: Sequence[tuple[Array, int]], size: int, flat: float) -> int | None:
    """How many of the lowest frequencies of a window may have a product above e^-flat; None: any may.

    Each law comes with its count, as masses on consecutive points that add up to 1.
    """
    reached: float | None = None
    before = math.pi  # phi of the distance before; half of a turn asks nothing of the first
    widest = max(len(x) for x, _ in laws)
    distance = 1
    while distance < widest:
        strength = sum(count * _pair_strength(x, distance) for x, count in laws) * (1 - 1e-9)
        if 2 * strength <= flat:
            break
        # 1 - cos = 2 sin^2 of half the angle: right within a few units, however small it is.
        angle = 2 * math.asin(math.sqrt(flat / (2 * strength))) * (1 + 1e-9)
        if distance > 1 and angle + 2 * before > 2 * math.pi:
            break
        reached = min(angle / distance, reached if reached is not None else math.pi)
        if angle / distance > 1.2 * reached:
            break
        before = angle
        distance *= 2
    if reached is None:
        return None
    return min(math.floor(reached * size / (2 * math.pi) * (1 + 1e-9)) + 2, size // 2 + 1)


def heavy_frequencies(laws: Sequence[tuple[Array, int]], size: int, flat: float) -> int | None:
    """The same as `low_frequencies` by pairs of the heaviest masses of each law."""
    # All pairs of a law together take off at most 1/2, twice: fewer uses cannot do it.
    if len(laws) < MANY or sum(count for _, count in laws) < flat:
        return None
    strengths = np.zeros(size)
    for x, count in laws:
        heavy = np.argpartition(x, -HEAVY)[-HEAVY:] if len(x) > HEAVY else np.arange(len(x))
        i, j = np.triu_indices(len(heavy), 1)
        apart = np.abs(heavy[i] - heavy[j]) % size
        np.add.at(strengths, apart, count * x[heavy[i]] * x[heavy[j]])
    total = float(np.sum(strengths))
    # Masses and products are right within units, which 1e-9 is room for.
    least = (total - forward(strengths).real) * (1 - 1e-9) - transform_error(size) * total
    return int(np.flatnonzero(least < flat)[-1]) + 1  # the first one always matters


def _pair_strength(x: Array, distance: int) -> float:
    """sum a b/(a + b) over disjoint pairs of masses `distance` apart."""
    width = 2 * distance
    whole = len(x) - len(x) % width
    a = x[:whole].reshape(-1, 2, distance)
    total = float(_harmonic(a[:, 0], a[:, 1]))
    rest = x[whole:]
    if len(rest) > distance:
        total += _harmonic(rest[: len(rest) - distance], rest[distance:])
    return total


def _harmonic(a: Array, b: Array) -> float:
    both = a + b
    return float(np.sum(a * b / np.where(both > 0, both, 1.0)))


def direct_error(length: int) -> float:
    """A bound on the error of `low_coefficients` of so many masses, relative to their sum.

    Sums of A and then B terms err by as many units in whatever order they are added [Higham2002] section
    3.1, real and imaginary parts each (sqrt 2, with room for second-order terms 1.5).
    """
    rows, columns = _shape(length)
    return 1.5 * (ANGLE_UNITS + rows + columns) * UNIT


def low_coefficients(x: Array, origin: int, size: int, count: int) -> Coefficients:
    """sum_j x_j e^{-2 pi i k (j - origin)/size} for k < count, with j = columns b + a in two levels."""
    rows, columns = _shape(len(x))
    padded = np.zeros(rows * columns)
    padded[: len(x)] = x
    inner = _turns(count, np.arange(columns), size)
    outer = _turns(count, np.arange(rows) * columns - origin, size)
    table = padded.reshape(rows, columns).T
    real, imaginary = inner.real @ table, inner.imag @ table
    return np.asarray(np.sum((real + 1j * imaginary) * outer, axis=1))


def _turns(count: int, places: Indices, size: int) -> Coefficients:
    """e^{-2 pi i k place/size} for k < count: factors of the k below TOGETHER, and of multiples."""
    fine = roots(np.arange(TOGETHER)[:, None] * places, size)
    coarse = roots(np.arange(0, count, TOGETHER)[:, None] * places, size)
    return np.asarray((coarse[:, None] * fine).reshape(-1, len(places))[:count])


def roots(steps: Indices, size: int) -> Coefficients:
    """e^{-2 pi i step/size}; by cosine and sine, which take half the time of an exponential."""
    # Reduced in whole numbers, exactly.
    angle = (-2 * np.pi / size) * (steps % size)
    found = np.empty(angle.shape, dtype=np.complex128)
    np.cos(angle, out=found.real)
    np.sin(angle, out=found.imag)
    return found


def _shape(length: int) -> tuple[int, int]:
    columns = max(1, 1 << (max(length - 1, 1).bit_length() // 2))
    return -(-length // columns), columns


def direct_cost(lengths: Sequence[int], count: int) -> float:
    """Nanoseconds, as measured, that so many coefficients take: a product of matrices, and its factors."""
    cost = 5e4
    for length in lengths:
        factors = sum(_shape(length))
        cost += count * (0.07 * length + 9 * factors) + 35 * TOGETHER * factors
    return cost


def worth_looking(lengths: Sequence[int], size: int) -> bool:
    """Whether to find out how many frequencies matter costs less than to transform all of them."""
    looking = sum((1.2e4 + 4 * length) * math.log2(length + 1) for length in lengths)
    return looking + direct_cost(lengths, 1) < transform_cost(lengths, size)


def transform_cost(lengths: Sequence[int], size: int) -> float:
    """Nanoseconds, as measured, that a fast transform of each takes; it leaves its caches at some size."""
    return len(lengths) * size * (1.5 * math.log2(size) + 6) * (0.4 if size < 2**16 else 0.8)
