"""The certified accountant: the workloads it is judged by, curves, trade-offs, refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from dpcheck.accounting.losses import (
    BoundedLoss,
    ConcentratedLoss,
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    FiniteLoss,
    GaussianLoss,
    GaussianMixtureLoss,
    LaplaceLoss,
    OppositeSampleLoss,
    ReplacedSampleLoss,
    ResponseLoss,
    SampledLaplaceLoss,
    WithoutReplacementLoss,
)
from dpcheck.accounting.pld.distribution import (
    compose,
    pld_delta,
    pld_epsilon,
    pld_tradeoff,
)
from dpcheck.core.errors import CannotCertify
from dpcheck.numerics.side import Side

# sampling rate, noise multiplier, steps, delta, and what Google's dp-accounting 0.6.0 answers
# (PLD at its default grid) where that is valid.
WORKLOADS = [
    (256 / 60000, 1.1, 14_063, 1e-5, 2.3817788),
    (0.01, 1.0, 1000, 1e-5, 1.8282436),
    (0.01, 0.8, 10_000, 1e-5, 10.0536588),
    (32 / 795, 6.0, 8770, 1e-5, 2.6032455),
    (0.001, 0.6, 100_000, 1e-5, 6.1131269),
    (1.0, 50.0, 1000, 1e-5, 2.5943895),
    (0.01, 1.0, 1000, 1e-10, 3.2904599),
    (0.01, 1.0, 1000, 1e-15, math.inf),
    (0.01, 1.0, 1000, 1e-30, math.inf),
    (0.001, 1.0, 10_000_000, 1e-5, 25.6014918),
    (0.01, 0.1, 100, 1e-5, 354.1960911),
    (1e-6, 0.5, 1_000_000, 1e-10, 0.9798970),
    (0.01, 1000.0, 1_000_000, 1e-10, 0.1556850),
    (1e-8, 1.0, 1_000_000, 1e-12, 0.0050595),
]


def _directions(rate: float, noise: float):
    if rate == 1:
        return [GaussianLoss(1 / noise)]
    forward = GaussianMixtureLoss((1 / noise,), (rate,))
    return [forward, forward.reversed()]


@pytest.mark.parametrize(("rate", "noise", "steps", "delta", "google"), WORKLOADS)
def test_workloads_are_bounded_within_a_thousandth(rate, noise, steps, delta, google) -> None:
    losses = _directions(rate, noise)
    upper = max(pld_epsilon([(loss, steps)], delta, Side.UPPER) for loss in losses)
    lower = max(pld_epsilon([(loss, steps)], delta, Side.LOWER) for loss in losses)
    assert 0 < lower <= upper
    assert upper - lower <= 1e-3 * upper + 1e-6
    assert upper <= google * (1 + 1e-4)


def test_heterogeneous_equals_homogeneous_when_the_parts_agree() -> None:
    loss = GaussianMixtureLoss((1.0,), (0.01,))
    other = GaussianMixtureLoss((1.0 + 1e-12,), (0.01,))
    once = pld_epsilon([(loss, 1000)], 1e-5, Side.UPPER)
    split = pld_epsilon([(loss, 400), (other, 600)], 1e-5, Side.UPPER)
    assert split == pytest.approx(once, rel=1e-4)


@pytest.mark.parametrize(
    "parts",
    [
        [(ResponseLoss(0.1), 50), (ResponseLoss(0.07), 30), (GaussianLoss(0.1), 20)],
        [(LaplaceLoss(0.1), 30), (GaussianMixtureLoss((1.0,), (0.01,)), 300)],
        [(DiscreteGaussianLoss(8.0, 1), 30), (SampledLaplaceLoss(0.5, 0.1), 30)],
        [(DiscreteLaplaceLoss(4.0, 2), 10), (GaussianMixtureLoss((0.5, 1.0), (0.1, 0.02)), 20)],
        [(FiniteLoss((0.5, 0.3, 0.2), (0.2, 0.35, 0.45)), 20)],
        [(SampledLaplaceLoss(0.5, 0.1, True), 50)],
    ],
)
def test_mixtures_of_all_kinds_have_close_bounds_in_both_directions(parts) -> None:
    for each in (parts, [(loss.reversed(), count) for loss, count in parts]):
        upper = pld_epsilon(each, 1e-6, Side.UPPER)
        lower = pld_epsilon(each, 1e-6, Side.LOWER)
        assert 0 < lower <= upper <= lower * 1.002


def test_discrete_gaussian_matches_brute_force() -> None:
    sigma, shift = 3.0, 1
    x = np.arange(-200, 201)
    weight = np.exp(-(x**2) / (2 * sigma**2))
    p = np.exp(-((x - shift) ** 2) / (2 * sigma**2)) / weight.sum()
    q = weight / weight.sum()
    two_p, two_q = np.outer(p, p).ravel(), np.outer(q, q).ravel()
    for epsilon in (0.0, 0.5, 2.0):
        true = float(np.maximum(two_p - np.exp(epsilon) * two_q, 0).sum())
        parts = [(DiscreteGaussianLoss(sigma, shift), 2)]
        assert pld_delta(parts, [epsilon], Side.LOWER)[0] <= true * (1 + 1e-12)
        assert pld_delta(parts, [epsilon], Side.UPPER)[0] >= true * (1 - 1e-12)
        assert pld_delta(parts, [epsilon], Side.UPPER)[0] == pytest.approx(true, rel=1e-5)


def test_curve_in_one_call_equals_single_calls_and_is_tight() -> None:
    parts = [(GaussianMixtureLoss((1.0,), (0.01,)), 1000)]
    epsilons = np.linspace(0.0, 5.0, 100)
    upper, lower = (pld_delta(parts, epsilons, side) for side in (Side.UPPER, Side.LOWER))
    assert (np.diff(upper) <= 0).all()
    assert (np.diff(lower) <= 0).all()
    assert (lower <= upper).all()
    assert (upper <= lower * 1.05).all()
    for at in (3, 50, 97):
        alone = pld_delta(parts, [epsilons[at]], Side.UPPER)[0]
        assert alone == pytest.approx(upper[at], rel=2e-2)


@pytest.mark.parametrize("mu", [0.3, 1.0, 3.0])
def test_tradeoff_of_the_gaussian(mu: float) -> None:
    rates = np.array([[1e-6, 1e-3, 0.01], [0.1, 0.5, 0.99]])
    exact = norm.cdf(norm.isf(rates) - mu)
    parts = [(GaussianLoss(mu), 1)]
    below, above = (pld_tradeoff(parts, rates, side) for side in (Side.LOWER, Side.UPPER))
    assert below.shape == rates.shape
    assert (below <= exact).all()
    assert (exact <= above).all()
    assert np.abs(below - exact).max() < 1e-4
    assert np.abs(above - exact).max() < 1e-4


def test_replaced_sample_curve_is_advanced_joint_convexity() -> None:
    rate, mu, epsilon = 0.1, 0.8, 0.7

    def gaussian(m: float, e: float) -> float:
        return float(norm.cdf(m / 2 - e / m) - np.exp(e) * norm.cdf(-m / 2 - e / m))

    inner = math.log1p(math.expm1(epsilon) / rate)
    share = math.exp(epsilon - inner)
    expected = rate * ((1 - share) * gaussian(mu, inner) + share * gaussian(2 * mu, inner))
    value = pld_delta([(ReplacedSampleLoss(GaussianLoss(mu), rate), 1)], [epsilon], Side.UPPER)[0]
    assert expected <= value <= expected * 1.001
    # A pair it covers stays below it, composed as well.
    upper = pld_epsilon([(ReplacedSampleLoss(GaussianLoss(mu), rate), 50)], 1e-5, Side.UPPER)
    lower = pld_epsilon([(OppositeSampleLoss(GaussianLoss(mu), rate), 50)], 1e-5, Side.LOWER)
    assert lower <= upper


def test_without_replacement_is_rate_times_the_gaussian() -> None:
    rate, mu, epsilon = 0.05, 1.4, 0.6
    inner = math.log1p(math.expm1(epsilon) / rate)
    expected = rate * float(
        norm.cdf(mu / 2 - inner / mu) - np.exp(inner) * norm.cdf(-mu / 2 - inner / mu)
    )
    value = pld_delta([(WithoutReplacementLoss(mu, rate), 1)], [epsilon], Side.UPPER)[0]
    assert expected <= value <= expected * 1.001
    lower = pld_epsilon([(OppositeSampleLoss(GaussianLoss(mu / 2), rate), 50)], 1e-5, Side.LOWER)
    assert lower <= pld_epsilon([(WithoutReplacementLoss(mu, rate), 50)], 1e-5, Side.UPPER)


def test_known_calibration_point() -> None:
    def epsilon(noise: float) -> float:
        forward = GaussianMixtureLoss((1 / noise,), (0.01,))
        return max(
            pld_epsilon([(loss, 10_000)], 1e-5, Side.UPPER)
            for loss in (forward, forward.reversed())
        )

    assert epsilon(3.814) <= 1.0 < epsilon(3.811)


def test_ends_of_the_scale() -> None:
    assert pld_epsilon([], 1e-5, Side.UPPER) == 0.0
    assert pld_delta([], [-1.0, 0.0, 1.0], Side.UPPER) == pytest.approx([1 - math.exp(-1), 0, 0])
    pure = [(ResponseLoss(0.5), 4)]
    assert pld_epsilon(pure, 0.0, Side.LOWER) <= 2.0 <= pld_epsilon(pure, 0.0, Side.UPPER)
    assert pld_epsilon(pure, 0.0, Side.UPPER) == pytest.approx(2.0, abs=1e-10)
    assert pld_epsilon([(GaussianLoss(1.0), 1)], 0.0, Side.LOWER) == math.inf
    assert pld_epsilon([(GaussianLoss(1.0), 1)], 0.9, Side.UPPER) == 0.0
    leaky = [(ResponseLoss(0.5, 0.01), 100)]
    floor = 1 - 0.99**100
    assert pld_delta(leaky, [60.0], Side.UPPER)[0] == pytest.approx(floor, rel=1e-9)
    assert pld_delta(leaky, [60.0], Side.LOWER)[0] == pytest.approx(floor, rel=1e-9)


def test_a_bounded_loss_is_randomized_response() -> None:
    bounded = pld_epsilon([(BoundedLoss(0.1, 0.05), 100)], 1e-6, Side.UPPER)
    assert bounded == pld_epsilon([(ResponseLoss(0.1), 100)], 1e-6, Side.UPPER)


def test_supports_and_refusals_name_the_bound_that_still_holds() -> None:
    assert GaussianLoss(1.0).on_lattice(Side.UPPER)
    assert not OppositeSampleLoss(GaussianLoss(1.0), 0.1).on_lattice(Side.UPPER)
    assert OppositeSampleLoss(GaussianLoss(1.0), 0.1).on_lattice(Side.LOWER)
    assert not BoundedLoss(1.0, 1.0).on_lattice(Side.LOWER)
    assert not ConcentratedLoss(0.1).on_lattice(Side.UPPER)
    with pytest.raises(CannotCertify, match="method='rdp'"):
        compose([(ConcentratedLoss(0.1), 1)], Side.UPPER)
    with pytest.raises(CannotCertify, match=r"within memory.*method='rdp'"):
        pld_epsilon([(GaussianMixtureLoss((1.0,), (0.001,)), 10**12)], 1e-5, Side.UPPER)
    with pytest.raises(CannotCertify, match=r"within memory.*method='rdp'"):
        pld_epsilon([(DiscreteGaussianLoss(1e6, 1), 1)], 1e-5, Side.UPPER)
