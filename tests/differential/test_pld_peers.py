"""Against Google's dp-accounting, within its own error bars."""

from __future__ import annotations

import pytest
from dp_accounting.pld import privacy_loss_distribution as google

from dpcheck.accounting.losses import GaussianLoss, GaussianMixtureLoss, LaplaceLoss
from dpcheck.accounting.pld.distribution import pld_delta, pld_epsilon
from dpcheck.numerics.side import Side


def _bounds(losses, steps: int, delta: float) -> tuple[float, float]:
    upper = max(pld_epsilon([(loss, steps)], delta, Side.UPPER) for loss in losses)
    return max(pld_epsilon([(loss, steps)], delta, Side.LOWER) for loss in losses), upper


@pytest.mark.parametrize(
    ("rate", "noise", "steps", "delta"),
    [
        (0.01, 1.0, 1000, 1e-5),
        (0.05, 2.0, 200, 1e-7),
        (32 / 795, 6.0, 8770, 1e-5),
        (0.2, 1.5, 30, 1e-4),
    ],
)
def test_sampled_gaussian_agrees(rate, noise, steps, delta) -> None:
    forward = GaussianMixtureLoss((1 / noise,), (rate,))
    lower, upper = _bounds((forward, forward.reversed()), steps, delta)
    interval = 1e-3
    high = google.from_gaussian_mechanism(
        noise, sampling_prob=rate, value_discretization_interval=interval
    ).self_compose(steps)
    low = google.from_gaussian_mechanism(
        noise,
        sampling_prob=rate,
        value_discretization_interval=interval,
        pessimistic_estimate=False,
    ).self_compose(steps)
    assert lower <= high.get_epsilon_for_delta(delta) + 1e-9
    assert low.get_epsilon_for_delta(delta) <= upper + 1e-9
    assert upper <= high.get_epsilon_for_delta(delta) * (1 + 1e-4)


def test_laplace_agrees() -> None:
    lower, upper = _bounds((LaplaceLoss(0.2),), 40, 1e-6)
    peer = google.from_laplace_mechanism(5.0, value_discretization_interval=1e-4).self_compose(40)
    assert lower <= peer.get_epsilon_for_delta(1e-6) * (1 + 1e-9)
    assert upper == pytest.approx(peer.get_epsilon_for_delta(1e-6), rel=2e-4)


def test_the_hole_at_small_delta_is_not_ours() -> None:
    """1e4 Gaussian steps of noise 100, mu = 1: dp-accounting 0.6.0 says 7.2234 at 1e-12, 7.2385 is exact."""
    upper = pld_epsilon([(GaussianLoss(0.01), 10_000)], 1e-12, Side.UPPER)
    lower = pld_epsilon([(GaussianLoss(0.01), 10_000)], 1e-12, Side.LOWER)
    assert lower <= 7.23855 <= upper * (1 + 1e-5)
    assert upper == pytest.approx(7.2385, abs=1e-3)
    # The same divergence without the shortcut for Gaussians: a mixture of weight almost 1.
    almost = GaussianMixtureLoss((0.01,), (1 - 1e-12,))
    assert pld_delta([(almost, 10_000)], [upper], Side.LOWER)[0] <= 1e-12
