"""Exact losses: importance-sampled delta against the Gaussian closed form."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom, norm

from dpcheck.auditing.auditors.likelihood import delta_lower, epsilon_lower, gains, sample_losses
from dpcheck.auditing.mechanism import Mechanism, Pair
from dpcheck.core.errors import BadOutput
from dpcheck.execution.runner import Runner

MU = 1.0


def gaussian_delta(epsilon: float, mu: float) -> float:
    return float(
        norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
    )


def losses(rng, size):
    return rng.normal(MU**2 / 2, MU, size)


def test_mean_gain_is_delta():
    rng = np.random.default_rng(0)
    mean = gains(losses(rng, 400_000), 1.0).mean()
    assert mean == pytest.approx(gaussian_delta(1.0, MU), rel=0.02)


def test_lower_bounds_keep_their_level_and_are_close():
    rng = np.random.default_rng(1)
    alpha, repeats, delta = 0.05, 40, 0.05
    truth = gaussian_delta(1.0, MU)
    epsilon = 1.0
    while gaussian_delta(epsilon, MU) > delta:
        epsilon += 1e-4
    above_delta = above_epsilon = 0
    for _ in range(repeats):
        sample = losses(rng, 3000)
        bound = delta_lower(sample, 1.0, alpha)
        above_delta += bound > truth
        assert bound > 0.8 * truth
        above_epsilon += epsilon_lower([sample], delta, alpha) > epsilon
    limit = binom.ppf(0.999, repeats, alpha)
    assert above_delta <= limit
    assert above_epsilon <= limit


def gaussian(sign=1.0):
    return Mechanism(
        lambda data, size, rng: rng.normal(data, 1.0, size),
        True,
        None,
        lambda data, outputs: sign * norm.logpdf(outputs[:, 0], data),
    )


def test_losses_of_runs_are_the_closed_form():
    sample = sample_losses(gaussian(), Pair(1.0, 0.0, "shift"), 2000, Runner(seed=1))
    expected = sample.output[0] - 0.5 if not sample.swapped else 0.5 - sample.output[0]
    assert sample.best == pytest.approx(expected, abs=1e-9)
    assert sample.losses[0].mean() == pytest.approx(0.5, abs=0.1)


def test_a_density_of_the_wrong_shape_is_refused():
    bad = Mechanism(lambda d, s, r: r.normal(size=s), True, None, lambda d, o: np.zeros(3))
    with pytest.raises(BadOutput, match="one number per output"):
        sample_losses(bad, Pair(0.0, 1.0), 100, Runner())
