"""Rows where the truth was known and the answer was not: very many pure guarantees, one rare step."""

from __future__ import annotations

import math
from functools import partial

import mpmath
import numpy as np
import pytest
from mpmath import mp
from scipy.stats import binom, norm

import dpcheck
from dpcheck.accounting.accountants.optimal import optimal_composition
from dpcheck.accounting.certify import many
from dpcheck.accounting.losses import GaussianLoss, ResponseLoss
from dpcheck.accounting.pld.pairs.single import sampled_epsilon
from dpcheck.numerics.side import Side


@pytest.fixture(autouse=True)
def _digits():
    with mp.workdps(60):
        yield


def one_step(noise: float, rate: float, epsilon: float) -> mpmath.mpf:
    """The worse direction of a sampled Gaussian step, by quadrature of (p - y q)+ over pieces of the line."""
    mu, q, y = 1 / mp.mpf(noise), mp.mpf(rate), mp.e ** mp.mpf(epsilon)

    def ratio(x: mpmath.mpf) -> mpmath.mpf:
        return 1 - q + q * mp.e ** (mu * x - mu * mu / 2)

    cuts = []
    for level in (y, 1 / y):
        if level > 1 - q:
            cuts.append(mp.log((level - 1 + q) / q) / mu + mu / 2)
    ends = sorted({mp.mpf(-20), mp.mpf(0), mu, mu + 20, *cuts})
    forward = mp.quad(lambda x: max(ratio(x) - y, 0) * mp.npdf(x), ends)
    backward = mp.quad(lambda x: max(1 - y * ratio(x), 0) * mp.npdf(x), ends)
    return max(forward, backward)


@pytest.mark.parametrize(
    ("noise", "rate", "delta"),
    [
        (0.3, 1e-6, 1e-9),
        (0.5, 1e-8, 1e-11),
        (0.3, 1e-6, 3e-7),
        (1.0, 1e-6, 1e-9),
        (2.0, 0.3, 1e-2),
        (0.7, 0.9, 1e-5),
    ],
)
def test_one_step_is_exact(noise, rate, delta):
    found = dpcheck.epsilon(dpcheck.SampledGaussian(noise, rate), delta=delta)
    assert found.gap <= 1e-11 * found.upper
    slip = mp.mpf(10) ** -9  # of the quadrature
    assert one_step(noise, rate, found.upper * (1 + 1e-6)) <= delta * (1 + slip)
    assert one_step(noise, rate, found.lower * (1 - 1e-6)) >= delta * (1 - slip)


def test_the_listed_row():
    found = dpcheck.epsilon(dpcheck.SampledGaussian(0.3, 1e-6), delta=1e-9)
    assert round(found.lower, 5) == round(found.upper, 5) == 1.57087


@pytest.mark.parametrize("side", list(Side))
def test_one_step_at_the_ends(side):
    ask = partial(sampled_epsilon, 1.0, 0.1, side=side)
    # Without the record no loss is above -log(1 - q).
    assert ask(delta=1e-60, backwards=True) == pytest.approx(-math.log1p(-0.1), rel=1e-6)
    distance = 0.1 * (2 * norm.cdf(0.5) - 1)
    assert ask(delta=distance * (1 + 1e-9), backwards=False) == 0.0
    assert 0 < ask(delta=distance * (1 - 1e-6), backwards=False) < 1e-5


@pytest.mark.parametrize(("steps", "truth"), [(2, 2.142), (3, 2.4851), (10, 3.4995)])
def test_few_rare_steps_are_not_lost_between_two_heaps(steps, truth):
    """The truth by adding up the losses of all steps but one on a fine grid of the line."""
    noise, rate, delta = 0.3, 1e-6, 1e-9
    found = dpcheck.epsilon(dpcheck.SampledGaussian(noise, rate) * steps, delta=delta)
    assert found.gap <= 0.002 * found.upper
    assert found.upper == pytest.approx(truth, rel=2e-4)
    if steps == 2:
        mu, x = 1 / noise, np.linspace(-12, 16, 4001)
        loss = np.log1p(rate * np.expm1(mu * x - mu * mu / 2))
        weight = (norm.pdf(x) * (1 - rate) + rate * norm.pdf(x - mu)) * (x[1] - x[0])
        total = loss[:, None] + loss[None, :]
        kept = np.maximum(-np.expm1(found.upper - total), 0.0)
        assert weight @ kept @ weight == pytest.approx(delta, rel=1e-3)


def exact_delta(epsilon: float, times: int, at: float) -> float:
    """delta of `times` randomized responses by their binomial law."""
    i = np.arange(times + 1)
    p, q = (
        binom.pmf(i, times, 1 / (1 + math.exp(-epsilon))),
        binom.pmf(i, times, 1 / (1 + math.exp(epsilon))),
    )
    return float(np.maximum(p - math.exp(at) * q, 0).sum())


@pytest.mark.parametrize("epsilon", [1e-12, 1e-8, 1e-4])
def test_a_block_lies_between_two_gaussians(epsilon):
    """Against the binomial law itself, in 60 digits, at losses all over it."""
    block = many.BLOCK_ABOVE
    mu = mp.mpf(many._block_above(epsilon))
    assert mu < epsilon * math.sqrt(block) * 1.0011
    p = 1 / (1 + mp.e ** (-mp.mpf(epsilon)))
    masses = [mp.binomial(block, i) * p**i * (1 - p) ** (block - i) for i in range(block + 1)]
    for loss in [mp.mpf(epsilon) * k for k in (0, 1, 2, 7, 16, 40, 41, 90, 200)]:
        y = mp.e**loss
        attained = mp.fsum(max(masses[i] - y * masses[block - i], 0) for i in range(block + 1))
        gaussian = mp.ncdf(mu / 2 - loss / mu) - y * mp.ncdf(-mu / 2 - loss / mu)
        assert attained <= gaussian
    below = many._block_below(epsilon)
    assert epsilon * math.sqrt(many.BLOCK_BELOW) * 0.99 < below.mu
    assert below.hidden >= 2 * norm.sf(many.GLASS)


def test_a_gaussian_is_smaller_where_the_block_does_not_show_it(monkeypatch):
    monkeypatch.setattr(many, "SMALLER", (0.0, 0.004))
    many._block_below.cache_clear()
    try:
        assert many._block_below(1e-6).mu == pytest.approx(1e-6 * math.sqrt(8192) * 0.996)
        monkeypatch.setattr(many, "SMALLER", (-0.01, 0.0))
        many._block_below.cache_clear()
        assert many._block_below(1e-6) == (0.0, 0.0)
    finally:
        many._block_below.cache_clear()


def test_very_many_pure_guarantees_on_both_sides():
    """1e15 of 1e-8: the limit is a Gaussian of mu = 1e-8 sqrt(1e15), whose epsilon is a closed form."""
    limit = dpcheck.epsilon(dpcheck.Gaussian(1 / (1e-8 * math.sqrt(1e15))), delta=1e-5)
    found = dpcheck.epsilon(dpcheck.PureDP(1e-8) * 10**15, delta=1e-5)
    assert found.lower < limit.lower < limit.upper < found.upper
    assert found.gap <= 0.005 * found.upper
    for epsilon in (0.0, 1.0, 2.0):
        exact = dpcheck.delta(dpcheck.Gaussian(1 / (1e-8 * math.sqrt(1e15))), epsilon=epsilon)
        bound = dpcheck.delta(dpcheck.PureDP(1e-8) * 10**15, epsilon=epsilon)
        assert bound.lower < exact.lower < exact.upper < bound.upper < exact.upper * 1.05


def test_both_sides_at_a_count_that_can_be_listed(monkeypatch):
    """With the limit lowered, 40,000 guarantees: the optimum is known exactly."""
    monkeypatch.setattr(many, "MANY", 40_000)
    epsilon, times = 1e-4, 40_000
    parts = ((ResponseLoss(epsilon), times),)
    (above, one), ((below, _),) = many.dominated(parts)[0], many.shown(parts)[0]
    assert one == 1
    assert isinstance(above, GaussianLoss)
    for at in (0.0, 0.005, 0.02, 0.05):
        truth = exact_delta(epsilon, times, at)
        upper, lower = (
            norm.cdf(mu / 2 - at / mu) - math.exp(at) * norm.cdf(-mu / 2 - at / mu)
            for mu in (above.mu, below.mu)
        )
        assert lower <= truth * (1 + 1e-9) <= upper * (1 + 1e-8)
    low, high = optimal_composition(epsilon, times, 1e-6)
    assert low <= dpcheck.epsilon(dpcheck.GDP(above.mu), delta=1e-6).upper
    assert dpcheck.epsilon(dpcheck.GDP(below.mu), delta=1e-6).lower <= high


def test_beside_other_mechanisms_they_are_a_gaussian_too():
    alone = dpcheck.epsilon(dpcheck.SampledGaussian(1.0, 0.01) * 1000, delta=1e-5)
    both = dpcheck.SampledGaussian(1.0, 0.01) * 1000 + dpcheck.PureDP(1e-9) * 10**15
    found = dpcheck.epsilon(both, delta=1e-5)
    gaussian = dpcheck.SampledGaussian(1.0, 0.01) * 1000 + dpcheck.GDP(1e-9 * math.sqrt(1e15))
    truth = dpcheck.epsilon(gaussian, delta=1e-5)
    assert alone.upper < truth.lower <= found.upper <= truth.upper * 1.001


def test_only_plain_responses_are_put_together():
    assert many.is_many(ResponseLoss(1e-8), many.MANY)
    for loss in (ResponseLoss(1e-8, 0.1), ResponseLoss(1e-8, 0.0, 0.5), ResponseLoss(1e-3)):
        assert not many.is_many(loss, many.MANY)
    assert not many.is_many(ResponseLoss(1e-8), many.MANY - 1)
    assert not many.is_many(GaussianLoss(1e-8), many.MANY)
