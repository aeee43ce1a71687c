"""Floats on a chosen side of an exact rational number, over the whole range of float64."""

from __future__ import annotations

import math
from fractions import Fraction

LARGEST = math.nextafter(math.inf, 0.0)
SMALLEST = math.ulp(0.0)
# Bits of a square root that are computed exactly before it is rounded to the 53 of a float.
_ROOT_BITS = 80


def enclose(exact: Fraction) -> tuple[float, float]:
    """Floats just below and above an exact number; equal where it is representable.

    >>> enclose(Fraction(1, 4))
    (0.25, 0.25)
    """
    try:
        near = float(exact)
    except OverflowError:
        return (LARGEST, math.inf) if exact > 0 else (-math.inf, -LARGEST)
    if Fraction(near) == exact:
        return near, near
    low, high = math.nextafter(near, -math.inf), math.nextafter(near, math.inf)
    # Rounding never crosses 0: next to it the float keeps the sign of the number.
    return (max(low, 0.0), high) if exact > 0 else (low, min(high, 0.0))


def enclose_root(square: Fraction) -> tuple[float, float]:
    """Floats below and above the square root of a non-negative number.

    With r = floor(sqrt(square) 2^k), r 2^-k <= root <= (r + 1) 2^-k holds exactly in whole numbers.

    >>> enclose_root(Fraction(9, 16))
    (0.75, 0.75)
    """
    if square == 0:
        return 0.0, 0.0
    size = square.numerator.bit_length() - square.denominator.bit_length()
    shift = _ROOT_BITS - size // 2
    scaled = square * Fraction(4) ** shift
    root = math.isqrt(scaled.numerator // scaled.denominator)
    unit = Fraction(2) ** -shift
    if root * root == scaled:
        return enclose(root * unit)
    return enclose(root * unit)[0], enclose((root + 1) * unit)[1]
