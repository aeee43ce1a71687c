"""From a curve, or from tests, to a table of masses on its side; symmetric, so for both directions."""

from __future__ import annotations

import math

import numpy as np

from dpcheck.accounting.losses import FiniteLoss
from dpcheck.core.errors import CannotCertify
from dpcheck.numerics.rounding import Array


def from_curve(levels: Array, values: Array, beyond: float = 0.0) -> FiniteLoss:
    """The pair whose delta is, from epsilon 0 on, the lower convex hull of these values over e^level.

    The hull of points above a convex curve is above it. Between kinks the curve is straight, and a kink
    at y is a mass q, the change of slope, with p = y q. From the last level on delta is `beyond`, the mass of
    an outcome that the other side never has.
    """
    y, values = np.exp(levels), np.append(values[:-1], beyond)
    kept = _hull(y, values)
    y, values = y[kept], values[kept]
    slopes = np.append(np.diff(values) / np.diff(y), 0.0)
    if 1 - values[0] + 2 * slopes[0] >= 0:
        q = np.diff(slopes)
        return _mirrored(y[1:] * q, q, beyond)
    # A kink at y = 1 that is not convex: the hull goes straight on to the mirror image of a later knot.
    for i in range(1, len(y)):
        mirrored = 1 - 1 / y[i] + values[i] / y[i]
        across = (values[i] - mirrored) / (y[i] - 1 / y[i])
        if slopes[i] >= across:
            q = np.diff(np.append(across, slopes[i:]))
            return _mirrored(y[i:] * q, q, beyond)
    raise CannotCertify("a curve that is no curve of a pair; this is a mistake of dpcheck.")


def _hull(x: Array, y: Array) -> list[int]:
    """The corners of the lower convex hull, x ascending."""
    kept: list[int] = []
    for i in range(len(x)):
        while len(kept) > 1:
            a, b = kept[-2], kept[-1]
            if (y[b] - y[a]) * (x[i] - x[a]) <= (y[i] - y[a]) * (x[b] - x[a]):
                break
            kept.pop()
        kept.append(i)
    return kept


def from_tests(power: Array, level: Array) -> FiniteLoss:
    """The pair whose tests are mixtures of these: its delta is below that of any pair that has them."""
    order = np.argsort(level)
    x, y = np.append(0.0, level[order]), np.append(0.0, power[order])
    kept = _hull(x, -y)
    return _mirrored(np.diff(y[kept]), np.diff(x[kept]))


def _mirrored(p: Array, q: Array, alone: float = 0.0) -> FiniteLoss:
    """Outcomes that P has more often, the same exchanged, and one of loss 0 for what is left.

    `alone` is the mass of what only one side has.
    """
    seen = (p > q) & (q > 0)
    ahead, behind = p[seen].tolist(), q[seen].tolist()
    if alone > 0:
        ahead, behind = [*ahead, alone], [*behind, 0.0]
    rest = 1.0 - math.fsum([*ahead, *behind])
    middle = [rest] if rest > 0 else []
    return FiniteLoss((*ahead, *middle, *behind), (*behind, *middle, *ahead))
