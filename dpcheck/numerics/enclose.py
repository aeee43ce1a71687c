"""Floats on a chosen side of an exact rational number."""

from __future__ import annotations

import math
from fractions import Fraction


def enclose(exact: Fraction) -> tuple[float, float]:
    """Floats just below and above an exact number; equal where it is representable."""
    near = float(exact)
    if Fraction(near) == exact:
        return near, near
    return math.nextafter(near, -math.inf), math.nextafter(near, math.inf)


def enclose_root(square: Fraction) -> tuple[float, float]:
    """Floats below and above the square root."""
    near = math.sqrt(float(square))
    if Fraction(near) ** 2 == square:
        return near, near
    # sqrt and the conversion are each within half a step; two steps are safe.
    down = math.nextafter(math.nextafter(near, 0.0), 0.0)
    up = math.nextafter(math.nextafter(near, math.inf), math.inf)
    return down, up
