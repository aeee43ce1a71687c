"""Bands of delta(epsilon) from losses, each run with a weight where draws were tilted.

delta(eps) = E_P[(1 - e^(eps - L))+]. Runs drawn from R instead of P count W = dP/dR; W (1 - e^(eps-L))+ has
the same mean, and a known range [0, B] makes its empirical-Bernstein interval a proof.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def gains(losses: Array, epsilon: float) -> Array:
    """(1 - e^(eps - L))+; 1 where the loss is infinite."""
    with np.errstate(over="ignore"):
        return np.asarray(-np.expm1(np.minimum(0.0, epsilon - losses)))


def bernstein(values: Array, largest: float, alpha: float) -> tuple[float, float]:
    """Limits of the mean of independent numbers in [0, largest].

    Guarantee: the mean lies outside with probability at most alpha.
    Reference: [MaurerPontil2009] Theorem 4, for the numbers and for `largest` minus them.

    >>> bernstein(np.tile([0.0, 1.0], 5000), 1.0, 0.05)
    (0.4841..., 0.5158...)
    """
    n = len(values)
    mean, variance = float(values.mean()), float(values.var(ddof=1)) if n > 1 else 0.0
    log = math.log(4 / alpha)  # two sides, and a union over each
    reach = math.sqrt(2 * variance * log / n) + 7 * largest * log / (3 * max(1, n - 1))
    return max(0.0, mean - reach), min(largest, mean + reach)


def plain_band(losses: Array, epsilon: float, alpha: float) -> tuple[float, float]:
    """The band at one epsilon from runs of P itself."""
    low, high = bernstein(gains(losses, epsilon), 1.0, alpha)
    return low, min(1.0, high)
