"""Which parabola bounds the opposite direction best: see `dpcheck.numerics.opposite`.

Nothing here is certified and nothing needs to be: what is chosen is proved, or gives no bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpcheck.accounting.pld.window import Cumulants
from dpcheck.numerics.opposite import Parabola

# Slopes over the tilt of this direction that are tried.
_SLOPES = np.geomspace(0.7, 2.5, 7)
# Epsilons are found by this many fixed-point steps, and raised by this share for what the picture misses.
STEPS, ROOM = 5, 1e-3


def best_parabola(
    cumulants: Cumulants, counts: Sequence[int], tilt: float, log_delta: float
) -> tuple[Parabola, float] | None:
    """The parabola that proves the least epsilon of the reversed pair at delta, and about that epsilon."""
    slopes = tilt * _SLOPES
    value, mean, variance = cumulants.counted(counts)(-1 - slopes)
    variance = np.maximum(variance, 1e-200)
    epsilons = (value - log_delta - np.log1p(slopes)) / slopes
    touches = np.log1p(1 / slopes)
    widths = slopes
    for _ in range(STEPS):
        # The best width is that of Cantelli's inequality.
        ahead = np.maximum(epsilons + mean + touches, 1e-3 * np.sqrt(variance))
        widths = ahead + variance / ahead
        touches = np.log1p(1 / (slopes + 2 / widths))
        logs = np.log(-np.expm1(-touches) / widths / widths) - slopes * touches
        square = variance + (widths - ahead) ** 2
        epsilons = (value + logs + np.log(square) - log_delta) / slopes
    best = int(np.argmin(epsilons))
    epsilon = float(epsilons[best])
    if not 0 < epsilon < math.inf:
        return None
    return Parabola(float(slopes[best]), float(widths[best])), epsilon * (1 + ROOM)
