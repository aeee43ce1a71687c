"""Sampling of any event and groups of any pair, against enumeration and closed forms."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

import dpcheck
from dpcheck.accounting.losses import (
    GaussianLoss,
    GaussianMixtureLoss,
    GroupedLoss,
    LaplaceLoss,
    SampledLaplaceLoss,
    SampledLoss,
)
from dpcheck.accounting.pld.distribution import pld_delta, pld_epsilon
from dpcheck.core.errors import UnsupportedAdjacency
from dpcheck.numerics.side import Side

EPSILONS = np.array([-0.3, 0.0, 0.05, 0.2, 0.7, 1.5])


@pytest.mark.parametrize(
    ("inner", "exact"),
    [
        (GaussianLoss(0.9), lambda q: GaussianMixtureLoss((0.9,), (q,))),
        (LaplaceLoss(1.3), lambda q: SampledLaplaceLoss(1.3, q)),
    ],
)
@pytest.mark.parametrize("rate", [0.5, 0.01, 1e-4])
@pytest.mark.parametrize("backwards", [False, True])
def test_one_step_is_the_known_pair(inner, exact, rate, backwards) -> None:
    general, known = SampledLoss(((inner, 1),), rate), exact(rate)
    if backwards:
        general, known = general.reversed(), known.reversed()
    for count, delta in ((1, rate / 50), (50, 1e-6)):
        low, high = (pld_epsilon([(general, count)], delta, s) for s in (Side.LOWER, Side.UPPER))
        least, most = (pld_epsilon([(known, count)], delta, s) for s in (Side.LOWER, Side.UPPER))
        assert low <= most
        assert least <= high <= most * 1.01
        assert low >= least * 0.99


def test_three_pure_steps_on_one_sample_by_enumeration() -> None:
    """Eight outcomes of three randomized responses, sampled at 0.2, once and twice."""
    heads = math.e / (1 + math.e)
    p = np.array([math.prod(o) for o in itertools.product((heads, 1 - heads), repeat=3)])
    q = p[::-1]
    mixed = 0.8 * q + 0.2 * p
    for count in (1, 2):
        top = mixed if count == 1 else np.outer(mixed, mixed).ravel()
        base = q if count == 1 else np.outer(q, q).ravel()
        event = dpcheck.Sampled(dpcheck.PureDP(1.0) * 3, 0.2) * count
        for epsilon in (0.0, 0.1, 0.4, 1.0):
            y = math.exp(epsilon)
            truth = max(np.maximum(top - y * base, 0).sum(), np.maximum(base - y * top, 0).sum())
            found = dpcheck.delta(event, epsilon=epsilon)
            assert found.lower <= truth * (1 + 1e-9)
            assert found.upper >= truth * (1 - 1e-9)
            assert found.upper - found.lower <= 0.01 * truth
    assert dpcheck.epsilon(event).upper == pytest.approx(2 * math.log1p(0.2 * math.expm1(3.0)))


def test_one_sample_of_many_gaussians_is_one_sampled_gaussian() -> None:
    many = dpcheck.Sampled(dpcheck.Gaussian(2.0) * 4, 0.05) * 30
    one = dpcheck.SampledGaussian(1.0, 0.05) * 30
    found, known = (dpcheck.epsilon(event, delta=1e-6) for event in (many, one))
    assert found.lower <= known.upper
    assert known.lower <= found.upper <= known.upper * 1.005
    assert found.lower >= known.lower * 0.995


def test_known_kinds_and_what_is_refused() -> None:
    for noise, kind in (
        (dpcheck.Gaussian, dpcheck.SampledGaussian),
        (dpcheck.Laplace, dpcheck.SampledLaplace),
    ):
        for adjacency in ("add-remove", "replace-one"):
            found = dpcheck.epsilon(
                dpcheck.Sampled(noise(1.1), 0.1), delta=1e-5, adjacency=adjacency
            )
            known = dpcheck.epsilon(kind(1.1, 0.1), delta=1e-5, adjacency=adjacency)
            assert (found.lower, found.upper) == (known.lower, known.upper)
    whole = dpcheck.Sampled(dpcheck.PureDP(1.0), 1.0)
    assert dpcheck.epsilon(whole, adjacency="replace-one").upper == 1.0
    with pytest.raises(UnsupportedAdjacency, match="add-remove"):
        dpcheck.epsilon(dpcheck.Sampled(dpcheck.PureDP(1.0), 0.1), adjacency="replace-one")
    # A leak leaks when it is drawn.
    leaky = dpcheck.Sampled(dpcheck.ApproxDP(0.5, 1e-3), 0.1)
    assert dpcheck.delta(leaky, epsilon=0.5).upper == pytest.approx(1e-4, rel=1e-3)
    # One of two branches, whichever costs more.
    either = dpcheck.Sampled(dpcheck.PureDP(1.0) | dpcheck.PureDP(2.0), 0.1)
    assert dpcheck.epsilon(either).upper == pytest.approx(math.log1p(0.1 * math.expm1(2.0)))


@pytest.mark.parametrize("size", [2, 3, 7])
def test_a_group_of_gaussians_is_a_gaussian(size: int) -> None:
    """The k-fold power of a Gaussian test is that of k times the shift [Dong2022, Theorem 2.14]."""
    mu = 0.4
    upper = pld_delta([(GroupedLoss(GaussianLoss(mu), size), 1)], EPSILONS, Side.UPPER)
    shift = size * mu
    exact = norm.cdf(shift / 2 - EPSILONS / shift) - np.exp(EPSILONS) * norm.cdf(
        -shift / 2 - EPSILONS / shift
    )
    assert (upper >= exact * (1 - 1e-9)).all()
    assert upper == pytest.approx(exact, rel=2e-3)


def test_a_group_of_sampled_laplace_steps_covers_the_pair_it_contains() -> None:
    """Two records drawn with probability 0.1 each: 0, 1 or 2 shifts of Laplace noise."""
    q, ratio = 0.1, 1.0
    x = np.linspace(-40, 40, 400_001)
    width = x[1] - x[0]
    density = [0.5 * np.exp(-np.abs(x - k * ratio)) for k in range(3)]
    top = (1 - q) ** 2 * density[0] + 2 * q * (1 - q) * density[1] + q**2 * density[2]

    def truth(epsilon: float) -> float:
        y = math.exp(epsilon)
        return float(np.maximum(top - y * density[0], 0).sum()) * width

    event = dpcheck.Grouped(dpcheck.SampledLaplace(1.0, q), 2)
    for delta in (1e-3, 1e-2):
        exact = brentq(lambda e: truth(e) - delta, 0.0, 1.0)  # noqa: B023
        found = dpcheck.epsilon(event, delta=delta, adjacency="add-remove")
        assert exact - 1e-6 <= found.upper <= 1.25 * exact
        assert found.method == "pld"
    loss = GroupedLoss(SampledLaplaceLoss(ratio, q), 2)
    assert (
        pld_epsilon([(loss, 1)], 1e-9, Side.UPPER) <= 2 * math.log1p(q * math.expm1(ratio)) + 1e-4
    )
