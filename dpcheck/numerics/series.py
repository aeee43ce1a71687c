"""The window of a tilted sum, and the weights of a divergence as a series over its frequencies."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dpcheck.numerics.direct import roots
from dpcheck.numerics.fourier import Spectrum as Coefficients
from dpcheck.numerics.rounding import Array, Indices

# So many points next to each other share the turn of the first.
NEAR = 4


class Window(NamedTuple):
    """Where the tilted sum is computed: `size` lattice points from index `start`, at `tilt`.

    The slopes are those of the Chernoff bounds on the mass outside; any positive value is sound.
    """

    tilt: float
    start: int
    size: int
    slope_below: float
    slope_above: float


class Series:
    """The transform of w_j = e^{-t j h} (1 - e^{-j h}), j = 1 .. J, a difference of geometric series.

    With z = e^{-t h + i theta} and z' = e^{-h} z it is z (1 - e^{-h}) / ((1-z)(1-z')) - z^J z/(1-z)
    + z'^J z'/(1-z'): `bulk`, `end` and `end_fast` here, each over the size of the window and counted
    twice where a frequency stands for its conjugate. `near` are the turns e^{i theta k} of the first points.
    """

    def __init__(self, active: Indices, window: Window, h: float) -> None:
        self.slow, self.fast = window.tilt * h, (window.tilt + 1) * h
        theta = 2 * np.pi * active / window.size
        twice = np.where((active == 0) | (2 * active == window.size), 1.0, 2.0)
        turn = np.exp(1j * theta) * (twice / window.size)
        gap, gap_fast = _one_minus(self.slow, theta), _one_minus(self.fast, theta)
        self.bulk = turn * (math.exp(-self.slow) * -math.expm1(-h)) / (gap * gap_fast)
        self.end = turn * math.exp(-self.slow) / gap
        self.end_fast = turn * math.exp(-self.fast) / gap_fast
        self.sizes = np.abs(np.array([self.bulk, self.end, self.end_fast]))
        self.near = roots(np.arange(0, -NEAR, -1)[:, None] * active, window.size)


def _one_minus(decay: float, theta: Array) -> Coefficients:
    """1 - e^{-decay + i theta}, without cancellation."""
    shrunk = math.exp(-decay)
    real = -math.expm1(-decay) + shrunk * 2 * np.sin(theta / 2) ** 2
    return np.asarray(real - 1j * shrunk * np.sin(theta))
