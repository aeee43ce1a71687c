"""PLR with Gaussian noise: the minimiser, its density, its budget, and its loss over the certified curve."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize

import dpcheck
from dpcheck.mechanisms import GaussianPLR, Labelled, exact_loss

DATA = Labelled(np.array([[1.0], [-0.4], [0.7], [-1.0]]), np.array([1.0, 1.0, -1.0, 1.0]))


def test_releases_are_the_minimisers_scipy_finds_for_the_same_noise() -> None:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((40, 3))
    X /= 2 * np.linalg.norm(X, axis=1, keepdims=True)
    data, center = Labelled(X, rng.choice([-1.0, 1.0], 40)), np.array([0.3, -0.2, 0.1])
    model = GaussianPLR(1.0, 1e-4, 0.05, norm_bound=0.5, center=center)
    event = model.release_event(data=data)
    sampled = model.sample_releases(data, 5, np.random.default_rng(9))
    noise = event.noise_multiplier * np.random.default_rng(9).standard_normal((5, 3))
    signed = 2 * data.X * data.y[:, None]
    for w, b in zip(sampled, noise, strict=True):

        def objective(v: np.ndarray, b: np.ndarray = b) -> float:
            ridge = 40 * 0.05 * np.sum((v - center) ** 2) / 2
            return float(np.sum(np.logaddexp(0, -signed @ v)) + ridge + b @ v)

        found = minimize(objective, np.zeros(3), method="BFGS", options={"gtol": 1e-5})
        np.testing.assert_allclose(found.x, w, atol=1e-4)


def test_the_density_integrates_to_one_and_is_that_of_the_releases() -> None:
    model = GaussianPLR(1.0, 1e-3, 0.5)
    wide = 12 * model.release_event(data=DATA).noise_multiplier / 2

    def density(w: float) -> float:
        return math.exp(float(model.log_density(DATA, np.array([w]))))

    assert quad(density, -wide, wide, limit=200)[0] == pytest.approx(1, abs=1e-8)
    releases = model.sample_releases(DATA, 40_000, np.random.default_rng(0))[:, 0]
    for cut in (-3.0, 0.0, 3.0):
        share = quad(density, -wide, cut, limit=200)[0]
        assert (releases < cut).mean() == pytest.approx(share, abs=0.01)


def test_the_noise_is_the_least_within_the_budget() -> None:
    model = GaussianPLR(1.0, 1e-5, 0.1)
    many = Labelled(np.zeros((1000, 2)), np.ones(1000))
    event = model.release_event(data=many)
    assert dpcheck.epsilon(event, delta=1e-5, adjacency="replace-one").upper <= 1.0
    less = dpcheck.GaussianObjectivePerturbation(0.999 * event.noise_multiplier, 1000, 0.1)
    assert dpcheck.epsilon(less, delta=1e-5, adjacency="replace-one").upper > 1.0
    few = GaussianPLR(1.0, 1e-5, 0.01).release_event(data=Labelled(np.zeros((3, 2)), np.ones(3)))
    assert few.regularization == pytest.approx(1 / (12 * math.expm1(0.5)))
    assert dpcheck.epsilon(few, delta=1e-5, adjacency="replace-one").upper <= 1.0
    with pytest.raises(dpcheck.DpcheckError):
        GaussianPLR(1.0, 0.0).release_event(data=many)


def test_pld_lays_the_exact_losses_over_the_certified_curve() -> None:
    """A record that sets itself off, and the same turned: its noise moves by nearly twice its norm."""
    X, other = np.zeros((20, 2)), np.zeros((20, 2))
    X[0], other[0] = [-0.05, 0.998], [-0.05, -0.998]
    first, second = (Labelled(rows, np.ones(20)) for rows in (X, other))
    model = GaussianPLR(2.0, 1e-3, 0.1, center=[500.0, 0.0])
    event = model.release_event(data=first)
    target = dpcheck.audited(claim=event, adjacency="replace-one", neighbours=[(first, second)])(
        model
    )
    report = dpcheck.pld(target, runs=20_000, seed=1)
    assert len(report.entries) == 2
    for entry in report.entries:
        assert all(point.observed[0] <= point.proved[1] for point in entry.curve)
        middle = [point for point in entry.curve if 0.02 < point.proved[1] < 0.3]
        assert middle
        # The pair is as bad as they come: what is seen meets what is proved.
        assert all(point.observed[1] >= 0.95 * point.proved[0] for point in middle)
    releases = model.sample_releases(first, 20_000, np.random.default_rng(5))
    losses = exact_loss(model, first, second, releases)
    bound = dpcheck.delta(event, epsilon=1.0, adjacency="replace-one")
    seen = np.maximum(-np.expm1(1.0 - losses), 0).mean()
    assert 0.9 * bound.lower <= seen <= 1.1 * bound.upper
