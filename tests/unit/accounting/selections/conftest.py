"""What the tests of selections share."""

import math

import numpy as np
import pytest


def _probabilities(shape: float, stop: float):
    """Of 1, 2, ... runs, by their definition; what is below 1e-25 is left out."""
    k = np.arange(1, 20_000, dtype=float)
    if shape == 0:
        logs = k * math.log1p(-stop) - np.log(k)
    else:
        logs = k * math.log1p(-stop) + np.cumsum(np.log(np.abs((k - 1 + shape) / k)))
    mass = np.exp(logs - logs.max())
    mass /= mass.sum()
    assert mass[-1] < 1e-18
    return mass[: int(np.flatnonzero(mass > 1e-25)[-1]) + 1]


@pytest.fixture
def probabilities():
    """Of the truncated negative binomial number of runs, as a function of shape and stop."""
    return _probabilities
