"""Random allocation against closed forms, quadrature and simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

import dpcheck
from dpcheck.accounting.losses import AllocationLoss, GaussianLoss, GaussianMixtureLoss, reverse
from dpcheck.accounting.pld.distribution import pld_delta, pld_epsilon
from dpcheck.core.errors import CannotCertify, UnsupportedAdjacency
from dpcheck.numerics.side import Side

EPSILONS = np.array([0.0, 0.3, 1.0, 2.0])


def test_one_batch_is_the_gaussian() -> None:
    exact = norm.cdf(0.5 - EPSILONS) - np.exp(EPSILONS) * norm.cdf(-0.5 - EPSILONS)
    for backwards in (False, True):
        value = pld_delta([(AllocationLoss(1.0, 1, backwards), 1)], EPSILONS, Side.UPPER)
        assert (value >= exact).all()
        assert value[:2] == pytest.approx(exact[:2], rel=2e-3)
    forward = pld_delta([(AllocationLoss(1.0, 1), 1)], EPSILONS, Side.UPPER)
    assert forward == pytest.approx(exact, rel=1e-3)


def test_two_batches_by_quadrature() -> None:
    grid = np.linspace(-11, 12, 3001)
    weight = norm.pdf(grid) * (grid[1] - grid[0])
    ratio = np.exp(grid - 0.5)
    mean = (ratio[:, None] + ratio[None, :]) / 2
    both = weight[:, None] * weight[None, :]
    for epsilon in EPSILONS.tolist():
        y = np.exp(epsilon)
        forward = float((np.maximum(mean - y, 0) * both).sum())
        backward = float((np.maximum(1 - y * mean, 0) * both).sum())
        upper = pld_delta([(AllocationLoss(1.0, 2), 1)], [epsilon], Side.UPPER)[0]
        assert forward * (1 - 1e-5) <= upper <= forward * 1.002
        assert pld_delta([(AllocationLoss(1.0, 2, True), 1)], [epsilon], Side.UPPER)[
            0
        ] >= backward * (1 - 1e-5)


def test_many_batches_by_simulation() -> None:
    """200,000 runs: the bound is above the estimate and within 1% plus 5 standard errors of it."""
    rng = np.random.default_rng(4)
    batches, runs, epsilon = 50, 200_000, 0.3
    total = np.zeros(runs)
    for k in range(batches):
        z = rng.standard_normal(runs) + (1.0 if k == 0 else 0.0)  # under P the first step holds it
        total += np.exp(z - 0.5)
    gains = np.maximum(1 - np.exp(epsilon) * batches / total, 0)
    estimate, error = gains.mean(), gains.std() / np.sqrt(runs)
    upper = pld_delta([(AllocationLoss(1.0, batches), 1)], [epsilon], Side.UPPER)[0]
    assert estimate - 5 * error <= upper <= estimate * 1.01 + 5 * error


def test_epochs_cost_less_than_poisson_sampling_and_more_than_the_sum() -> None:
    epochs, batches = 5, 100
    loss = AllocationLoss(1.0, batches)
    upper = max(pld_epsilon([(way, epochs)], 1e-5, Side.UPPER) for way in (loss, reverse(loss)))
    poisson = pld_epsilon(
        [(GaussianMixtureLoss((1.0,), (1 / batches,)), epochs * batches)], 1e-5, Side.LOWER
    )
    total = pld_epsilon([(GaussianLoss(1.0 / batches**0.5), epochs)], 1e-5, Side.LOWER)
    assert total < upper < poisson


def test_the_event_states_its_condition_and_its_adjacencies() -> None:
    event = dpcheck.RandomAllocationGaussian(2.0, 20)
    bound = dpcheck.epsilon(event, delta=1e-5, adjacency="add-remove")
    assert 0 < bound.lower <= bound.upper < dpcheck.epsilon(dpcheck.Gaussian(2.0), delta=1e-5).upper
    assert any("independently" in line for line in bound.assumes)
    with pytest.raises(UnsupportedAdjacency, match="add-remove or zero-out"):
        dpcheck.epsilon(event, delta=1e-5, adjacency="replace-one")


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(CannotCertify, match="within memory"):
        pld_epsilon([(AllocationLoss(3.0, 10), 1)], 1e-5, Side.UPPER)
    with pytest.raises(CannotCertify, match="lower side"):
        pld_epsilon([(AllocationLoss(1.0, 10), 1)], 1e-5, Side.LOWER)
