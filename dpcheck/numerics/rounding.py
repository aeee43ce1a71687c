"""The floating-point error model that every certified sum in this package is inflated by.

`UNIT` is the unit roundoff of float64. numpy's elementary functions err by at most a few units in
the last place (measured against ball arithmetic in tests/unit/numerics/test_tails.py, at most
2); `ELEMENTARY` allows 8.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float64]
Indices: TypeAlias = npt.NDArray[np.int64]

UNIT = 2.0**-53
ELEMENTARY = 8 * UNIT
# Below this a float64 has lost precision; it is added wherever an upper bound could underflow.
TINY = 1e-300
# Smaller results may have lost digits to underflow on the way; it is added to sums that may have.
FAINTEST = 1e-290
# e to the power of more than this, times a mass, may leave the range of floats.
LARGEST_EXPONENT = 600.0
