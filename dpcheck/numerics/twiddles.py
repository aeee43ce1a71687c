"""The twiddle factors that the installed transform uses, read from it and compared with ball arithmetic.

An impulse at place j L, L the product of the radices before a stage (`stages`) and 0 < j < radix, meets one
twiddle factor that is not 1: earlier butterflies hold a single 1 and zeros, later ones pass the number on at
place 0, and sums with zeros and products with 1 are exact. So coefficient i of its transform *is* the factor
e^{-2 pi i (j L) i/size} of that stage as the table holds it, for 0 < i < width/2, width = size/(L radix). All
factors of all stages are found so, in less than 5 transforms a stage.
"""

from __future__ import annotations

import math

import numpy as np
from flint import arb, fmpq

from dpcheck.numerics.balls import above, precision
from dpcheck.numerics.fourier import forward, stages
from dpcheck.numerics.rounding import UNIT

# Bits of the balls: their radii are far below a unit of the factors.
_BITS = 100


def twiddle_units(size: int) -> float:
    """The largest error of a twiddle factor of that size, in units, rounded up.

    Guarantee: every factor of the installed transform is within that many units of the root of unity.

    >>> twiddle_units(1000) < 4
    True
    """
    worst, before = 0.0, 1
    with precision(_BITS):
        for radix in stages(size):
            width = size // (before * radix)
            for place in range(before, before * radix, before):
                impulse = np.zeros(size)
                impulse[place] = 1.0
                found = forward(impulse)[1 : (width + 1) // 2].tolist()
                errors = (_error(w, place * i, size) for i, w in enumerate(found, 1))
                worst = max(worst, max(errors, default=0.0))
            before *= radix
    return worst


def _error(found: complex, steps: int, size: int) -> float:
    sine, cosine = arb.sin_cos_pi_fmpq(fmpq(2 * steps, size))
    square = (cosine - found.real) ** 2 + (sine + found.imag) ** 2
    return math.nextafter(math.sqrt(above(square)), math.inf) / UNIT
