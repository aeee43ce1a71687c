"""Floats on a chosen side of an exact rational number, over the whole range of float64."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

LARGEST = math.nextafter(math.inf, 0.0)
SMALLEST = math.ulp(0.0)
# Bits of a square root that are computed before it is cut to the 53 of a float; at least 54.
_ROOT_BITS = 64


def enclose(exact: Fraction) -> tuple[float, float]:
    """Floats just below and above an exact number; equal where it is representable.

    >>> enclose(Fraction(1, 4))
    (0.25, 0.25)
    """
    return enclose_ratio(*exact.as_integer_ratio())


def enclose_ratio(above: int, below: int) -> tuple[float, float]:
    """The same of `above` / `below` > 0, without a fraction in lowest terms, which takes ten times as long.

    >>> enclose_ratio(3, 12)
    (0.25, 0.25)
    """
    try:
        near = above / below
    except OverflowError:
        return (LARGEST, math.inf) if above > 0 else (-math.inf, -LARGEST)
    near_above, near_below = near.as_integer_ratio()
    off = near_above * below - above * near_below
    if not off:
        return near, near
    if off < 0:
        return near, math.nextafter(near, math.inf)
    return math.nextafter(near, -math.inf), near


def enclose_quotient(times: int, value: float) -> tuple[float, float]:
    """The same of `times` / `value`, of a value above 0."""
    above, below = value.as_integer_ratio()
    return enclose_ratio(times * below, above)


def enclose_product(value: float, times: int) -> tuple[float, float]:
    """The same of `value` * `times`."""
    above, below = value.as_integer_ratio()
    return enclose_ratio(above * times, below)


def enclose_root(square: Fraction) -> tuple[float, float]:
    """Floats below and above the square root of a non-negative number.

    With r = floor(sqrt(square) 2^k), r 2^-k <= root <= (r + 1) 2^-k holds exactly in whole numbers, and what
    is cut off r leaves two neighbours among the floats.

    >>> enclose_root(Fraction(9, 16))
    (0.75, 0.75)
    """
    return enclose_root_ratio(*square.as_integer_ratio())


def enclose_root_ratio(above: int, below: int) -> tuple[float, float]:
    """The same of the square root of `above` / `below`, as they are."""
    if not above:
        return 0.0, 0.0
    shift = _ROOT_BITS - (above.bit_length() - below.bit_length()) // 2
    above, below = (above << 2 * shift, below) if shift > 0 else (above, below << -2 * shift)
    scaled, rest = divmod(above, below)
    root = math.isqrt(scaled)
    cut = root.bit_length() - 53
    low = root >> cut
    exact = not rest and root * root == scaled and low << cut == root
    high, exponent = low if exact else low + 1, cut - shift
    if -1074 <= exponent <= 970:  # both are normal floats
        return math.ldexp(low, exponent), math.ldexp(high, exponent)
    unit = Fraction(2) ** exponent
    return enclose(low * unit)[0], enclose(high * unit)[1]


def enclose_norm(values: Iterable[tuple[float, int]]) -> tuple[float, float]:
    """Floats below and above the root of the sum of squares, each value so many times.

    >>> enclose_norm([(0.5, 9), (2.0, 1)])
    (2.5, 2.5)
    """
    ratios = [(*value.as_integer_ratio(), times) for value, times in values]
    # Denominators of floats are powers of two: all are multiplied up to the largest.
    most = max((below for _, below, _ in ratios), default=1)
    total = sum((above * (most // below)) ** 2 * times for above, below, times in ratios)
    return enclose_root_ratio(total, most**2)
