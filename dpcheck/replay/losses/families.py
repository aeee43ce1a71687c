"""Distribution functions of standard families, accurate in both tails.

Relative errors of scipy's functions here are below 1e-12 (tests compare with mpmath); `SLACK` is what
every probability is widened by before it enters a certified number.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dpcheck.numerics.rounding import Array
from dpcheck.replay.draws import Family

SLACK = 1e-11


def _laplace(x: Array) -> Array:
    return np.where(x < 0, 0.5 * np.exp(np.minimum(x, 0)), 1 - 0.5 * np.exp(-np.maximum(x, 0)))


def _exponential(x: Array) -> Array:
    return -np.expm1(-np.maximum(x, 0.0))


def _gumbel(x: Array) -> Array:
    with np.errstate(over="ignore"):
        return np.exp(-np.exp(-x))


def _gumbel_tail(x: Array) -> Array:
    with np.errstate(over="ignore"):
        return -np.expm1(-np.exp(-x))


def _cauchy(x: Array) -> Array:
    return np.arctan2(1.0, -x) / np.pi


def _ndtr(x: Array) -> Array:
    from scipy.special import ndtr  # slow to import, and most noise needs none

    return np.asarray(ndtr(x))


def _ndtri(p: Array) -> Array:
    from scipy.special import ndtri

    return np.asarray(ndtri(p))


def _expit(x: Array) -> Array:
    from scipy.special import expit

    return np.asarray(expit(x))


BELOW: dict[Family, Callable[[Array], Array]] = {
    Family.LAPLACE: _laplace,
    Family.NORMAL: _ndtr,
    Family.UNIFORM: lambda x: np.clip(x, 0.0, 1.0),
    Family.EXPONENTIAL: _exponential,
    Family.GUMBEL: _gumbel,
    Family.LOGISTIC: _expit,
    Family.CAUCHY: _cauchy,
}
ABOVE: dict[Family, Callable[[Array], Array]] = {
    Family.LAPLACE: lambda x: _laplace(-x),
    Family.NORMAL: lambda x: _ndtr(-x),
    Family.UNIFORM: lambda x: np.clip(1.0 - x, 0.0, 1.0),
    Family.EXPONENTIAL: lambda x: np.exp(-np.maximum(x, 0.0)),
    Family.GUMBEL: _gumbel_tail,
    Family.LOGISTIC: lambda x: _expit(-x),
    Family.CAUCHY: lambda x: _cauchy(-x),
}
_QUANTILE: dict[Family, Callable[[Array], Array]] = {
    Family.LAPLACE: lambda p: np.where(p < 0.5, np.log(2 * p), -np.log(2 * (1 - p))),
    Family.NORMAL: _ndtri,
    Family.UNIFORM: lambda p: p,
    Family.EXPONENTIAL: lambda p: -np.log1p(-p),
    Family.GUMBEL: lambda p: -np.log(-np.log(p)),
    Family.LOGISTIC: lambda p: np.log(p) - np.log1p(-p),
    Family.CAUCHY: lambda p: np.tan(np.pi * (p - 0.5)),
}


def between(family: Family, left: Array, right: Array) -> Array:
    """The mass of [left, right], from the side where it is small; 0 where right < left."""
    left, right = np.asarray(left, dtype=float), np.asarray(right, dtype=float)
    low = BELOW[family](right) - BELOW[family](left)
    high = ABOVE[family](left) - ABOVE[family](right)
    upper = BELOW[family](left) > 0.5
    return np.where(right > left, np.maximum(np.where(upper, high, low), 0.0), 0.0)


def quantile(family: Family, chance: Array) -> Array:
    """Roughly the point with this mass below; only where to cut, never a probability."""
    with np.errstate(all="ignore"):
        return _QUANTILE[family](np.asarray(chance, dtype=float))
