"""The discrete Fourier transform of reals, with a proved bound on its rounding.

Theorem. For a size with no prime factor above 5 the computed transform differs from the exact one by
at most `transform_error(size)` |x|_1 in every coefficient, and by at most `transform_error(size)`
relatively in the 2-norm; the inverse likewise.

Proof. pocketfft is a mixed-radix Cooley-Tukey transform with factors 4, 2, 3, 5. Every number it
holds is a combination of inputs with coefficients of modulus 1, so its modulus is at most the 1-norm
of the inputs it has seen, and these sets are disjoint within a stage: errors of a stage add up to
c_r UNIT |x|_1 in each coefficient, and a stage is sqrt(r) times a unitary map, so it amplifies errors of
earlier stages by no more than the data ([Higham2002] section 24.1, [Brisebarre2020]). Per stage, in units:
a twiddle factor is a product of two table entries, each cos and sin of an angle of at most pi/4 with two
roundings (pi/2 units) evaluated within one unit (sqrt 2), so it errs by at most 2 (pi/2 + sqrt 2) +
sqrt 5 < 8.3; multiplying by it adds sqrt 5 [Brent2007]; the butterfly adds at most 1, 2, 8, 19 for radix
2, 4, 3, 5, in the 2-norm. With second-order terms that is below 12, 13, 19, 30 and so below
16 log2(r) = 16, 32, 25, 37 units.

Assumes: the C library's sin and cos err by at most one unit in the last place on [0, pi/4], and the
compiler did not reorder sums. tests/unit/numerics/test_fourier.py compares with ball arithmetic.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.fft import irfft, next_fast_len, rfft

from dpcheck.numerics.rounding import UNIT, Array

# Units per bit of the size: see the theorem above.
UNITS_PER_BIT = 16.0

Spectrum = npt.NDArray[np.complex128]


def fast_size(least: int) -> int:
    """The smallest size from `least` on with no prime factor above 5.

    >>> fast_size(1021)
    1024
    """
    return int(next_fast_len(least, real=True))


def transform_error(size: int) -> float:
    """The relative error of a transform of that size; see the theorem."""
    return UNITS_PER_BIT * max(math.log2(size), 1.0) * UNIT


def forward(x: Array) -> Spectrum:
    """The coefficients of frequencies 0 to size/2."""
    return np.asarray(rfft(x), dtype=np.complex128)


def backward(spectrum: Spectrum, size: int) -> Array:
    """The real sequence of that size; `spectrum` is overwritten."""
    return np.asarray(irfft(spectrum, size, overwrite_x=True), dtype=np.float64)
