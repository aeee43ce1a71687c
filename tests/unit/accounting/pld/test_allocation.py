"""Random allocation against closed forms, quadrature and simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

import dpcheck
from dpcheck.accounting.losses import AllocationLoss, GaussianLoss, GaussianMixtureLoss
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
    upper = max(pld_epsilon([(way, epochs)], 1e-5, Side.UPPER) for way in (loss, loss.reversed()))
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


def linear_law(
    mu: float, batches: int, width: float, reach: float
) -> tuple[np.ndarray, np.ndarray]:
    """A naive twin: the sum of lognormals on a linear grid by one FFT, cells at their means."""
    edges = np.arange(0, reach, width)
    with np.errstate(divide="ignore"):
        z = np.log(edges) / mu + mu / 2
    mass, moment = np.diff(norm.cdf(z)), np.diff(norm.cdf(z - mu))
    right = np.clip((moment - edges[:-1] * mass) / width, 0, mass)
    one = np.zeros(len(edges))
    one[:-1] += mass - right
    one[1:] += right
    # In the middle of the sum's mass, cell by cell: what wraps around is below 1e-9.
    spectrum = np.fft.rfft(one)
    return edges, np.maximum(np.fft.irfft(spectrum**batches, len(edges)), 0)


def test_both_directions_at_noise_one() -> None:
    """0.858 (remove) and 0.487 (add) at noise 1, 100 batches, delta 1e-6.

    A simulation of the other steps finds 0.802: it misses that one of them is large by chance, which a
    likelihood ratio averaged over 100 steps cannot tell from the record's.
    """
    s, mass = linear_law(1.0, 100, 0.01, 6000.0)
    for backwards, known in ((False, 0.858), (True, 0.4865)):
        loss = [(AllocationLoss(1.0, 100, backwards), 1)]
        low, high = (pld_epsilon(loss, 1e-6, side) for side in (Side.LOWER, Side.UPPER))
        assert low <= known + 1e-3
        assert high >= known - 1e-3
        assert high - low < 0.01 * low
        for end, sign in ((low, 1), (high, -1)):
            y = np.exp(end)
            gain = 1 - y * s / 100 if backwards else s / 100 - y
            assert sign * (float(mass @ np.maximum(gain, 0)) - 1e-6) > -2e-9


def test_removal_at_half_noise_by_conditional_simulation() -> None:
    """6.393 at noise 0.5, 100 batches, delta 1e-6; the other 99 steps drawn, the record's integrated."""
    mu, batches = 2.0, 100
    rng = np.random.default_rng(8)
    rest = np.exp(mu * rng.standard_normal((4000, batches - 1)) - mu**2 / 2).sum(axis=1)
    z = np.linspace(-8, 8, 1601) + mu
    weight = norm.pdf(z - mu) * (z[1] - z[0])
    own = np.exp(mu * z - mu**2 / 2)

    def interval(epsilon: float) -> tuple[float, float]:
        total = own[None, :] + rest[:, None]
        gains = np.maximum(1 - np.exp(epsilon) * batches / total, 0) @ weight
        return gains.mean(), 5 * gains.std() / np.sqrt(len(rest))

    bound = dpcheck.epsilon(dpcheck.RandomAllocationGaussian(0.5, 100), delta=1e-6)
    assert 6.393 * 0.999 <= bound.lower <= 6.3935
    assert 6.3925 <= bound.upper <= 6.393 * 1.001
    (low, low_error), (high, high_error) = interval(bound.lower), interval(bound.upper)
    assert low + low_error >= 1e-6
    assert high - high_error <= 1e-6


@pytest.mark.parametrize(
    ("noise", "batches", "epochs", "delta"),
    [(2.0, 10, 3, 1e-8), (100.0, 50, 10, 1e-5), (0.2, 30, 1, 1e-10), (1.0, 300, 4, 1e-12)],
)
def test_both_sides_are_close(noise: float, batches: int, epochs: int, delta: float) -> None:
    bound = dpcheck.epsilon(dpcheck.RandomAllocationGaussian(noise, batches) * epochs, delta=delta)
    assert bound.lower <= bound.upper <= 1.01 * bound.lower


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(CannotCertify, match="range of floats"):
        pld_epsilon([(AllocationLoss(30.0, 10), 1)], 1e-5, Side.UPPER)
    steep = dpcheck.epsilon(dpcheck.RandomAllocationGaussian(1 / 30, 10), delta=1e-5)
    assert steep.upper <= dpcheck.epsilon(dpcheck.Gaussian(1 / 30), delta=1e-5).upper * 1.05
