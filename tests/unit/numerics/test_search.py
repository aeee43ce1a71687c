"""The search for an epsilon: guesses against closed forms, and curves no guess fits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp

from dpcheck.numerics.search import Question, Saddle, neighbours
from dpcheck.numerics.side import Side


@pytest.mark.parametrize("mu", [0.5, 2.0, 4.0])
def test_the_guess_is_exact_for_normal_losses(mu):
    """L is N(mu^2/2, mu^2); tilted by t it is N(mu^2/2 + t mu^2, mu^2), K = t mu^2/2 + t^2 mu^2/2."""
    for t in (0.5, 3.0):
        saddle = Saddle((t + t * t) * mu**2 / 2, t, (0.5 + t) * mu**2, mu, 0.0, 0.0)
        for epsilon in (0.3, 1.0, 0.8 * mu**2):
            near, far = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
            truth = mp.ncdf(near) - mp.exp(epsilon) * mp.ncdf(far)
            found, slope = saddle.log_divergence(epsilon)
            assert found == pytest.approx(float(mp.log(truth)), abs=1e-9)
            assert slope == pytest.approx(float(-mp.exp(epsilon) * mp.ncdf(far) / truth), rel=1e-6)
        near = saddle.mean + 0.5 * mu
        found, _ = saddle.log_divergence(near)
        assert saddle.epsilon(found, saddle.mean) == pytest.approx(near, abs=1e-3 * mu)


@pytest.mark.parametrize("side", list(Side))
@pytest.mark.parametrize("size", [40, 5000])
@pytest.mark.parametrize("mean", [-1e6, 0.0, 7.0, 1e6])
def test_neighbours_are_found_wherever_the_guess_points(side, size, mean):
    def evaluate(points):
        return np.exp(-0.01 * (points - 3.0)), np.zeros(len(points))

    saddle = Saddle(0.0, 1.0, mean, 1.0, 0.3, 0.1)
    for crossing in (3.5, size / 2 + 0.25, size - 1.75):
        delta = math.exp(-0.01 * (crossing - 3.0))
        found = neighbours(Question(evaluate, 0, size, 0.0, 0.1, delta, 0.0, side), saddle)
        assert found is not None
        low, known = found
        assert low == math.floor(crossing)
        assert known[low][0] > delta >= known[low + 1][0]
    outside = Question(evaluate, 0, size, 0.0, 0.1, 1e-300, 0.0, side)
    assert neighbours(outside, saddle) is None
