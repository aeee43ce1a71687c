"""Sampling mechanisms that are known by their Renyi divergences, against tables listed in full."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

import dpcheck
from dpcheck.accounting.renyi.amplified import (
    LARGEST_ORDER,
    amplified,
    amplified_moment,
    with_record,
    without_record,
)
from dpcheck.core.errors import UnsupportedAdjacency


def divergence(p, q, order):
    with mpmath.workdps(40):
        total = mpmath.fsum(
            mpmath.mpf(a) ** order * mpmath.mpf(b) ** (1 - order) for a, b in zip(p, q, strict=True)
        )
        return mpmath.log(total) / (order - 1)


def both(p, q, order):
    return max(divergence(p, q, order), divergence(q, p, order))


def tables(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    laws = [rng.dirichlet(np.full(n, 10 ** rng.uniform(-1, 1))) for _ in range(2)]
    laws = [np.maximum(law, 1e-9) / np.maximum(law, 1e-9).sum() for law in laws]
    return (*laws, 10 ** rng.uniform(-4, -0.02), int(rng.integers(2, 14)))


@pytest.mark.parametrize("seed", range(300))
def test_never_below_either_direction(seed):
    p, q, rate, order = tables(seed)
    curve = np.array([float(both(p, q, k)) for k in range(2, order + 1)])
    mixed = mixture(p, q, rate)
    truth = (order - 1) * max(divergence(mixed, q, order), divergence(q, mixed, order))
    found = amplified_moment(rate, curve)
    assert found >= truth * (1 - mpmath.mpf("1e-9")) - mpmath.mpf("1e-13")


def mixture(p, q, rate):
    pairs = zip(p, q, strict=True)
    return [
        (1 - mpmath.mpf(rate)) * mpmath.mpf(b) + mpmath.mpf(rate) * mpmath.mpf(a) for a, b in pairs
    ]


@pytest.mark.parametrize("seed", range(300))
def test_each_direction_from_its_own_divergences(seed):
    p, q, rate, order = tables(seed)
    forward, backward = (
        np.array([float(divergence(*laws, k)) for k in range(2, order + 1)])
        for laws in ((p, q), (q, p))
    )
    mixed = mixture(p, q, rate)
    with_it, without = ((order - 1) * divergence(*laws, order) for laws in ((mixed, q), (q, mixed)))
    close = mpmath.mpf("1e-9"), mpmath.mpf("1e-13")
    assert with_it * (1 - close[0]) - close[1] <= with_record(rate, forward)
    assert with_record(rate, forward) <= with_it * (1 + close[0]) + close[1]  # an identity
    assert without * (1 - close[0]) - close[1] <= without_record(rate, float(forward[0]), backward)


@pytest.mark.parametrize(
    ("rate", "order", "rare"), [(0.3, 8, 0.2), (0.5, 20, 0.3), (0.1, 40, 1e-3)]
)
def test_an_outcome_that_is_hardly_seen_with_the_record(rate, order, rare):
    """There the direction without the record is the worse one, and each part of its bound is needed."""
    p, q = (1 - rare / 1e3, rare / 1e3), (1 - rare, rare)
    backward = np.array([float(divergence(q, p, k)) for k in range(2, order + 1)])
    second = float(divergence(p, q, 2))
    truth = (order - 1) * divergence(q, mixture(p, q, rate), order)
    found = without_record(rate, second, backward)
    assert truth <= found
    # Taylor's term alone, its factor left out, is below the truth.
    s = order - 1
    assert math.log1p(s * (s + 1) / 2 * rate**2 * math.expm1(second)) < truth
    forward = np.array([float(divergence(p, q, k)) for k in range(2, order + 1)])
    assert with_record(rate, forward) < truth


def test_a_rate_near_one_where_the_largest_loss_is_attained():
    """p is 0 where q is nearly 1: the loss is -log(1 - q) nearly always."""
    rate, order = 0.999, 6
    p, q = (1 - 1e-12, 1e-12), (1e-6, 1 - 1e-6)
    backward = np.array([float(divergence(q, p, k)) for k in range(2, order + 1)])
    truth = (order - 1) * divergence(q, mixture(p, q, rate), order)
    found = without_record(rate, float(divergence(p, q, 2)), backward)
    assert truth <= found <= truth * (1 + mpmath.mpf("1e-4"))


def test_the_convex_bound_where_nothing_else_is_small():
    """Few outcomes at a small rate and a high order: the mean of the moments is what is left."""
    rate, order = 1e-3, 30
    p, q = (0.5, 0.5), (0.4, 0.6)
    backward = np.array([float(divergence(q, p, k)) for k in range(2, order + 1)])
    truth = (order - 1) * divergence(q, mixture(p, q, rate), order)
    assert truth <= without_record(rate, float(divergence(p, q, 2)), backward)


@pytest.mark.parametrize("noise", [0.7, 1.0, 4.0])
@pytest.mark.parametrize("rate", [1e-4, 0.01, 0.3])
def test_a_gaussian_is_one_of_those_it_covers(noise, rate):
    guarantee = dpcheck.Sampled(dpcheck.ZCDP(1 / (2 * noise**2)), rate)
    exact = dpcheck.SampledGaussian(noise, rate)
    for order in (1.5, 2.0, 2.5, 4.0, 7.3, 16.0, 63.0, 300.0):
        bound, truth = dpcheck.rdp(guarantee, order=order).upper, dpcheck.rdp(exact, order=order)
        assert bound >= truth.lower
    # At whole orders the direction with the record is the exact moment of the Gaussian; the other costs a
    # factor of at most (1 - q)^-(order + 1).
    most = (1 - rate) ** -5
    assert (
        dpcheck.rdp(guarantee, order=4.0).upper <= dpcheck.rdp(exact, order=4.0).upper * most * 1.05
    )


def test_the_listed_row():
    found = dpcheck.epsilon(dpcheck.Sampled(dpcheck.ZCDP(0.5), 0.01) * 1000, delta=1e-6)
    exact = dpcheck.epsilon(dpcheck.SampledGaussian(1.0, 0.01) * 1000, delta=1e-6)
    assert found.upper < 2.44  # 28.7 without
    assert exact.lower <= found.upper
    assert found.lower <= exact.upper
    assert found.method == "rdp-optimal"


@pytest.mark.parametrize(
    "event", [dpcheck.ZCDP(0.3, xi=0.1), dpcheck.ZCDP(0.2) + dpcheck.PureDP(0.5)]
)
def test_offsets_and_compositions_inside(event):
    sampled = dpcheck.rdp(dpcheck.Sampled(event, 0.05), order=5.0).upper
    inside = np.array([dpcheck.rdp(event, order=float(k)).upper for k in range(2, 6)])
    assert sampled == pytest.approx(amplified_moment(0.05, inside) / 4, rel=1e-9)
    assert sampled < inside[-1] / 10


def test_beyond_the_orders_that_are_known_nothing_is_said():
    curve = np.full(3, 0.1)
    found = amplified(0.1, curve, np.array([1.5, 4.0, 4.5, LARGEST_ORDER + 1.0]))
    assert np.isfinite(found[:2]).all()
    assert np.isinf(found[2:]).all()
    assert math.isinf(amplified(0.1, np.array([0.1, math.inf]), np.array([3.0]))[0])
    assert amplified_moment(0.1, np.zeros(5)) <= 1e-13


def test_a_null_record_is_as_good_as_none():
    event = dpcheck.Sampled(dpcheck.ZCDP(0.5), 0.01) * 100
    nulled = dpcheck.epsilon(event, delta=1e-6, adjacency="zero-out")
    assert nulled.upper == dpcheck.epsilon(event, delta=1e-6, adjacency="add-remove").upper
    assert any("null record in the sample" in text for text in nulled.assumes)
    for refused in (
        dpcheck.Sampled(dpcheck.PureDP(1.0), 0.1),
        dpcheck.Sampled(dpcheck.ZCDP(1.0) + dpcheck.PureDP(1.0), 0.1),
    ):
        with pytest.raises(UnsupportedAdjacency):
            dpcheck.epsilon(refused, delta=1e-6, adjacency="zero-out")
    with pytest.raises(UnsupportedAdjacency):
        dpcheck.epsilon(event, delta=1e-6, adjacency="replace-one")


def test_sampled_zcdp_says_why_its_sides_do_not_meet() -> None:
    gap = dpcheck.epsilon(
        dpcheck.Sampled(dpcheck.ZCDP(0.5), 0.01) * 1000, delta=1e-6, adjacency="add-remove"
    )
    assert gap.upper > 1.1 * gap.lower
    assert any("which of the mechanisms is the worst is not known" in text for text in gap.assumes)
    for closed in (
        dpcheck.Sampled(dpcheck.Gaussian(1.0), 0.01),
        dpcheck.Sampled(dpcheck.ZCDP(0.5), 1.0),
    ):
        told = dpcheck.epsilon(closed * 1000, delta=1e-6, adjacency="add-remove").assumes
        assert not any("is not known" in text for text in told)
