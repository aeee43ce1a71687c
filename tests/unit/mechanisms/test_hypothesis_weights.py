"""Hypothesis weights, prior and posterior of DPHTL against a grid and naive twins."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit

from dpcheck.core.errors import CannotCertify
from dpcheck.mechanisms import (
    bayesian_logistic,
    hypothesis_weights,
    informative_prior,
)
from dpcheck.mechanisms.output.bayes import Prior


@pytest.fixture
def rng():
    return np.random.default_rng(6)


def _divergence(target, sources, weights):
    return float(np.sum(target * np.log(target / (weights @ sources))))


def test_projection_is_optimal_against_a_grid(rng):
    grid = [(a, b, 1 - a - b) for a in np.linspace(0, 1, 101) for b in np.linspace(0, 1 - a, 101)]
    for _ in range(10):
        sources = rng.dirichlet(np.full(6, 0.5), 3) + 1e-9
        target = rng.dirichlet(np.full(6, 0.5)) + 1e-9
        sources, target = sources / sources.sum(1, keepdims=True), target / target.sum()
        found = hypothesis_weights(np.log(target), np.log(sources))
        best = min(_divergence(target, sources, np.array(w)) for w in grid if min(w) >= 0)
        mine = _divergence(target, sources, found.weights)
        assert found.divergence == pytest.approx(mine, abs=1e-9)
        assert mine - found.gap <= best  # the certificate: nothing is better by more than the gap
        assert mine <= best + 1e-6
        assert found.weights.sum() == pytest.approx(1)


@pytest.mark.parametrize("truth", [(1.0, 0.0, 0.0), (0.2, 0.0, 0.8), (0.3, 0.3, 0.4)])
def test_projection_recovers_a_mixture(truth, rng):
    sources = rng.dirichlet(np.ones(50), 3)
    found = hypothesis_weights(np.log(np.array(truth) @ sources), np.log(sources))
    np.testing.assert_allclose(found.weights, truth, atol=2e-3)
    assert found.gap <= 1e-7


def test_projection_survives_weights_that_underflow(rng):
    logs = rng.normal(size=(4, 300)) * 5000  # e^-20000 is 0 in floats
    found = hypothesis_weights(rng.normal(size=300) * 5000, logs)
    assert found.gap <= 1e-7
    assert np.isfinite(found.divergence)


def test_projection_with_identical_sources_is_still_certified():
    logs = np.log(np.array([[0.5, 0.5], [0.5, 0.5]]))
    assert hypothesis_weights(np.log([0.1, 0.9]), logs).gap <= 1e-7


def test_projection_says_when_it_cannot_certify(monkeypatch):
    monkeypatch.setattr("dpcheck.mechanisms.output.hypothesis_weights._MAX_STEPS", 20)
    logs = np.log(np.array([[0.5, 0.5], [0.9, 0.1]]))
    with pytest.raises(CannotCertify, match="certified"):
        hypothesis_weights(np.log([0.7, 0.3]), logs, tolerance=-1.0)


# Prior and posterior -----------------------------------------------------------------------------


def test_prior_is_equation_three():
    models, w = np.array([[1.0, 0.0], [3.0, 0.0], [5.0, 6.0]]), np.array([0.5, 0.25, 0.25])
    prior = informative_prior(models, w)
    assert prior.mean.tolist() == [2.5, 1.5]
    # 3/2 (0.5 * 1.5^2 + 0.25 * 0.5^2 + 0.25 * 2.5^2) = 4.125; 3/2 (0.75 * 1.5^2 + .25 * 4.5^2)
    np.testing.assert_allclose(prior.deviation**2, [4.125, 10.125])


def test_posterior_mode_against_a_naive_minimiser(rng):
    X, y = rng.normal(size=(15, 4)), rng.choice([-1.0, 1.0], 15)
    prior = Prior(rng.normal(size=4), np.array([0.5, 2.0, 0.1, 1.0]))

    def cost(w):
        fit = np.logaddexp(0, -y * (X @ w)).sum()
        return fit + np.sum((w - prior.mean) ** 2 / (2 * prior.deviation**2))

    naive = minimize(cost, prior.mean, method="BFGS", options={"gtol": 1e-8}).x
    found = bayesian_logistic(X, y, prior)
    np.testing.assert_allclose(found.mode, naive, atol=1e-5)
    s = expit(X @ found.mode)
    hessian = np.diag(prior.deviation**-2.0) + (X.T * (s * (1 - s))) @ X
    new = rng.normal(size=(6, 4))
    wanted = np.einsum("ij,jk,ik->i", new, np.linalg.inv(hessian), new)
    np.testing.assert_allclose(found.variances(new), wanted, rtol=1e-9)
    np.testing.assert_allclose(found.variances(sparse.csr_matrix(new)), wanted, rtol=1e-9)


def test_zero_deviation_fixes_a_weight_and_is_the_limit(rng):
    X, y = rng.normal(size=(30, 3)), rng.choice([-1.0, 1.0], 30)
    mean = np.array([1.0, -2.0, 0.5])
    fixed = bayesian_logistic(X, y, Prior(mean, np.array([0.0, 1.0, 1.0])))
    assert fixed.mode[0] == 1.0
    near = bayesian_logistic(X, y, Prior(mean, np.array([1e-5, 1.0, 1.0])))
    np.testing.assert_allclose(fixed.mode, near.mode, atol=1e-6)
    point = bayesian_logistic(X, y, Prior(mean, np.zeros(3)))
    assert point.mode.tolist() == mean.tolist()
    assert point.variances(X).tolist() == [0.0] * 30
    floored = informative_prior(np.array([[1.0], [1.0]]), np.array([0.5, 0.5]), deviation_floor=0.3)
    assert floored.deviation.tolist() == [0.3]
