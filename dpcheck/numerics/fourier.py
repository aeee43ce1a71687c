"""The discrete Fourier transform of reals, with a proved bound on its rounding.

Theorem. For a size with no prime factor above 5 each coefficient of the computed transform differs
from the exact one by at most `transform_error(size)` |x|_1, and the computed inverse by at most
`transform_error(size)` relatively in the 2-norm (underflow aside, which `dpcheck.numerics.tilted`
adds as FAINTEST).

The transform is scipy's pocketfft for real data: for these sizes a Cooley-Tukey transform in
`stages` of radix 4, 2, 3, 5, never Bluestein's (which it takes only where the largest prime factor
exceeds the root of the size, from size 50 on). Every complex number it holds after a stage is a sum
of inputs times roots of unity, so

- forward: let the computed numbers that enter a butterfly of radix r err by E times the 1-norm of
  the inputs they depend on. These sets of inputs are disjoint. A stage that adds errors of at most
  c times the sum of the moduli that enter makes that E + c (1 + E), so all stages together 1 + E <=
  prod (1 + c);
- backward: a stage is sqrt(r) times a unitary map. If it adds errors of at most c sqrt(r) times the
  2-norm of what enters, relative errors in the 2-norm grow by the same rule ([Higham2002] section
  24.1).

c, in units of UNIT, is T and the butterfly's share: 1, 2, 4.3, 7.1 forward and 1, 2, 5.5, 11.7
backward for radix 2, 4, 3, 5. T = TWIDDLE_UNITS + sqrt 5 is the error of a twiddle factor and of
the product with it ([Brent2007]; with fused multiply-add 2 instead of sqrt 5, [Jeannerod2017]).
docs/explanation/certified.md derives the shares from the operations;
tests/unit/numerics/described_transform.py carries these operations out one by one, and scipy's
results are the same to the last bit. The inverse is scaled by 1/size: 2 units more.

Assumes: no twiddle factor errs by more than TWIDDLE_UNITS; `dpcheck.numerics.twiddles` proves it
for the installed scipy and a size.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt
import scipy

from dpcheck.core.errors import CannotCertify
from dpcheck.numerics.rounding import UNIT, Array

# A twiddle factor is a product (sqrt 5) of two table entries, each the cosine and sine of an angle of at most
# pi/4 with roundings of pi, of the quotient and of the product (2.36 pi/4 < 1.86), evaluated within a unit in
# the last place (sqrt 2): 2 (1.86 + sqrt 2) + sqrt 5 < 8.8.
TWIDDLE_UNITS = 9.0
# Units a stage adds, above T + its share of both directions (T < 11.24), and units added once.
STAGE_UNITS = {2: 12.5, 4: 13.5, 3: 17.0, 5: 23.0}
SCALING_UNITS = 3.0

# scipy lets anybody replace its transforms process-wide (`scipy.fft.set_global_backend`). The theorem is on
# scipy's own, so no other is asked.
PROVED = "scipy"
# From 1.18 on scipy carries out other operations, of which nothing is proved here.
PROVED_BELOW = (1, 18)

Spectrum = npt.NDArray[np.complex128]


def fast_size(least: int) -> int:
    """The smallest size from `least` on with no prime factor above 5.

    >>> fast_size(1021)
    1024
    """
    from scipy.fft import next_fast_len  # slow to import, and most answers need no transform

    return int(next_fast_len(least, real=True))


def stages(size: int) -> list[int]:
    """The radices of a transform, the last one to be carried out first.

    >>> stages(1440)
    [2, 4, 4, 3, 3, 5]
    """
    radices, rest = [], size
    for radix in (4, 2, 3, 5):
        while rest % radix == 0:
            radices.append(radix)
            rest //= radix
    if rest != 1:
        raise CannotCertify(
            f"a transform of size {size} has a prime factor above 5, for which no error bound is proved.",
            size=size,
        )
    if 2 in radices:  # the one factor of 2 that is left stands first
        at = radices.index(2)
        radices[0], radices[at] = 2, radices[0]
    return radices


@lru_cache(maxsize=1024)
def transform_error(size: int) -> float:
    """The relative error of a transform of that size; see the theorem."""
    if tuple(int(part) for part in scipy.__version__.split(".")[:2]) >= PROVED_BELOW:
        below = ".".join(map(str, PROVED_BELOW))
        raise CannotCertify(
            f"scipy {scipy.__version__} transforms in another way than the one whose error is proved; run: "
            f"pip install 'scipy<{below}'",
            version=scipy.__version__,
        )
    return UNIT * (SCALING_UNITS + sum(STAGE_UNITS[radix] for radix in stages(size)))


def forward(x: Array) -> Spectrum:
    """The coefficients of frequencies 0 to size/2."""
    from scipy.fft import rfft, set_backend

    with set_backend(PROVED, only=True):
        return np.asarray(rfft(x), dtype=np.complex128)


def backward(spectrum: Spectrum, size: int) -> Array:
    """The real sequence of that size; `spectrum` is overwritten."""
    from scipy.fft import irfft, set_backend

    with set_backend(PROVED, only=True):
        return np.asarray(irfft(spectrum, size, overwrite_x=True), dtype=np.float64)
