"""Sampled integer noise, Gaussian answers on one sample and batches of fixed size, against other ways."""

import math

import numpy as np
import pytest
from scipy import stats

import dpcheck


def _masses(kind: str, scale: float, at: np.ndarray) -> np.ndarray:
    wide = np.arange(-600, 601)
    law = np.exp(-np.abs(wide) / scale) if kind == "laplace" else np.exp(-((wide / scale) ** 2) / 2)
    return np.interp(at, wide, law / law.sum())


def _delta(p: np.ndarray, q: np.ndarray, times: int, epsilon: float) -> float:
    """delta of a composition, the larger direction, by adding up all pairs of outcomes."""
    worst = 0.0
    for a, b in ((p, q), (q, p)):
        many_a, many_b = a, b
        for _ in range(times - 1):
            many_a, many_b = np.outer(many_a, a).ravel(), np.outer(many_b, b).ravel()
        worst = max(worst, float(np.sum(np.maximum(many_a - math.exp(epsilon) * many_b, 0.0))))
    return worst


@pytest.mark.parametrize(
    ("kind", "scale", "moved"), [("laplace", 2.0, 1), ("laplace", 3.0, 4), ("gauss", 1.5, 2)]
)
@pytest.mark.parametrize("rate", [0.02, 0.6])
@pytest.mark.parametrize("times", [1, 2])
def test_sampled_integer_noise_by_enumeration(kind, scale, moved, rate, times):
    noise = dpcheck.DiscreteLaplace if kind == "laplace" else dpcheck.DiscreteGaussian
    event = dpcheck.Sampled(noise(scale, moved), rate) * times
    x = np.arange(-150, 151)
    reference = _masses(kind, scale, x)
    drawn = (1 - rate) * reference + rate * _masses(kind, scale, x - moved)
    for epsilon in (0.01, 0.1, 0.5):
        exact = _delta(drawn, reference, times, epsilon)
        bound = dpcheck.delta(event, epsilon=epsilon)
        assert bound.lower <= exact + 1e-12
        assert exact <= bound.upper + 1e-12
        assert bound.upper - bound.lower <= 0.02 * bound.upper + 1e-6


def test_sampled_shift_of_one_is_exact():
    event = dpcheck.Sampled(dpcheck.DiscreteLaplace(2.0), 0.01) * 1000
    bound = dpcheck.epsilon(event, delta=1e-5)
    assert bound.upper - bound.lower <= 1e-7 * bound.upper


def test_gaussian_answers_on_one_sample_are_one_answer():
    inner = dpcheck.Gaussian(3.0) * 4 + dpcheck.Gaussian(6.0)
    sigma = (4 / 9 + 1 / 36) ** -0.5
    for adjacency in ("add-remove", "replace-one", "zero-out"):
        found = dpcheck.epsilon(dpcheck.Sampled(inner, 0.05) * 100, delta=1e-5, adjacency=adjacency)
        one = dpcheck.SampledGaussian(sigma, 0.05) * 100
        wanted = dpcheck.epsilon(one, delta=1e-5, adjacency=adjacency)
        assert found.upper == pytest.approx(wanted.upper, rel=1e-9)
        assert found.lower == pytest.approx(wanted.lower, rel=1e-9)
    nothing = dpcheck.Sampled(dpcheck.Gaussian(3.0) * 0, 0.05)
    assert dpcheck.epsilon(nothing, delta=1e-5).upper == 0


def test_a_fixed_batch_contains_the_pair_that_moves_twice():
    """One step, all others opposite: the batch's sum moves by 2C where x is drawn; the bound is attained."""
    sigma, rows, batch = 4.0, 100, 7
    mu, rate = 2 / sigma, batch / rows
    for epsilon in (0.0, 0.01, 0.05):
        # Where (1-q) + q e^{mu z - mu^2/2} = e^eps under N(0, 1).
        z = (math.log1p(math.expm1(epsilon) / rate) + mu**2 / 2) / mu
        drawn = (1 - rate) * stats.norm.sf(z) + rate * stats.norm.sf(z - mu)
        exact = drawn - math.exp(epsilon) * stats.norm.sf(z)
        event = dpcheck.FixedBatchGaussian(sigma, rows, batch)
        bound = dpcheck.delta(event, epsilon=epsilon, adjacency="replace-one")
        assert bound.lower <= exact * (1 + 1e-9)
        assert exact <= bound.upper * (1 + 1e-9)
        assert bound.upper - bound.lower <= 0.01 * bound.upper


def test_drawn_with_replacement_is_bounded_from_below():
    event = dpcheck.WithReplacementGaussian(4.0, 1000, 20) * 100
    bound = dpcheck.epsilon(event, delta=1e-5, adjacency="replace-one")
    assert 0.7 * bound.upper <= bound.lower <= bound.upper
