"""Matrix mechanisms against all participation patterns of small cases."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

import dpcheck
from dpcheck.accounting.streams import squared_sensitivity
from dpcheck.core.errors import InvalidParameter, UnsupportedAdjacency


def naive(strategy: np.ndarray, takes: int, apart: int) -> float:
    """The largest squared movement over all patterns and all signs of scalar contributions."""
    steps, best = len(strategy), 0.0
    for size in range(1, takes + 1):
        for pattern in itertools.combinations(range(steps), size):
            if all(b - a >= apart for a, b in itertools.pairwise(pattern)):
                for signs in itertools.product((1.0, -1.0), repeat=size):
                    moved = strategy[:, pattern] @ np.array(signs)
                    best = max(best, float(moved @ moved))
    return best


def toeplitz(coefficients: list[float], steps: int) -> np.ndarray:
    rows = np.zeros((steps, steps))
    for i, c in enumerate(coefficients[:steps]):
        rows += c * np.eye(steps, k=-i)
    return rows


@pytest.mark.parametrize(("takes", "apart"), [(1, 1), (2, 3), (3, 2), (4, 1)])
def test_all_patterns_of_small_strategies(takes: int, apart: int) -> None:
    rng = np.random.default_rng(takes * 10 + apart)
    roots = [math.comb(2 * i, i) / 4**i for i in range(8)]  # the square root of the prefix sums
    inverse = toeplitz([0.5**i for i in range(8)], 8)  # the inverse of a band
    assert np.allclose(np.linalg.inv(inverse), toeplitz([1.0, -0.5], 8))
    mixed = np.tril(rng.normal(size=(8, 8)))
    for strategy in (toeplitz(roots, 8), inverse, np.tril(np.ones((8, 8))), mixed, np.eye(8)):
        most, some = squared_sensitivity(strategy, takes, apart)
        truth = naive(strategy, takes, apart)
        assert some <= truth * (1 + 1e-9)
        assert truth * (1 - 1e-9) <= most
        if strategy is not mixed:  # decreasing columns: the first pattern is the worst
            assert most == pytest.approx(truth) == some


def test_the_event_is_a_gaussian_of_its_sensitivity() -> None:
    band = toeplitz([0.8, 0.6], 12)
    event = dpcheck.MatrixMechanism(3.0, tuple(map(tuple, band)), 4, 3)
    known = dpcheck.BandedMatrix(3.0, 12, 3, 4)  # disjoint columns of norm 1
    for adjacency in ("add-remove", "replace-one"):
        found = dpcheck.epsilon(event, delta=1e-6, adjacency=adjacency)
        exact = dpcheck.epsilon(known, delta=1e-6, adjacency=adjacency)
        assert found.upper == pytest.approx(exact.upper, rel=1e-9)
        # The last of four starts may be cut off at the end; the first is not.
        assert found.lower == pytest.approx(exact.lower, rel=1e-9)


@pytest.mark.parametrize(
    "rows", [((1.0, 1.0), (0.0, 1.0)), ((1.0,), (1.0, 1.0)), ((math.nan,),), ()]
)
def test_what_is_no_strategy_is_refused(rows) -> None:
    with pytest.raises(InvalidParameter):
        dpcheck.MatrixMechanism(1.0, rows)


def _banded(steps: int, weights: tuple[float, ...]) -> tuple[tuple[float, ...], ...]:
    """A lower-triangular Toeplitz matrix with these weights below its diagonal."""
    return tuple(
        tuple(weights[t - j] if 0 <= t - j < len(weights) else 0.0 for j in range(steps))
        for t in range(steps)
    )


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_a_banded_strategy_under_cyclic_poisson_sampling_is_sampled_steps(adjacency) -> None:
    """Columns of norm 1 but for the last: 12 steps, 3 groups, 4 turns at rate 0.2."""
    event = dpcheck.MatrixMechanism(2.0, _banded(12, (0.8, 0.6)), 1, 3, 0.2)
    steps = dpcheck.epsilon(dpcheck.SampledGaussian(2.0, 0.2) * 4, delta=1e-6, adjacency=adjacency)
    found = dpcheck.epsilon(event, delta=1e-6, adjacency=adjacency)
    assert found.upper == pytest.approx(steps.upper, rel=1e-6)
    assert found.lower == pytest.approx(steps.lower, rel=1e-6)


def test_two_sampled_turns_against_a_plane_integral() -> None:
    """Two turns with columns (1, 0.5) and 1: the product of two sampled Gaussians, on a grid."""
    rate, noise, epsilon = 0.3, 0.9, 0.4
    event = dpcheck.MatrixMechanism(noise, _banded(3, (1.0, 0.5)), 1, 2, rate)
    x = np.arange(-9.0, 11.0, 0.02)

    def ratio(norm: float) -> np.ndarray:
        mu = norm / noise
        return 1 - rate + rate * np.exp(mu * x - mu * mu / 2)

    normal = np.exp(-x * x / 2) / math.sqrt(2 * math.pi) * 0.02
    first, second = ratio(math.sqrt(1.25)), ratio(1.0)
    gains = np.maximum(np.multiply.outer(first, second) - math.exp(epsilon), 0.0)
    truth = float(normal @ gains @ normal)
    found = dpcheck.delta(event, epsilon=epsilon)
    assert found.lower <= truth * (1 + 1e-4)
    assert truth <= found.upper * (1 + 1e-4)
    assert found.upper - found.lower < 0.01 * truth


def test_more_bands_than_the_groups_keep_apart_are_not_amplified() -> None:
    rows = _banded(6, (1.0, 1.0, 1.0, 1.0))
    sampled = dpcheck.MatrixMechanism(5.0, rows, 1, 2, 0.1)
    whole = dpcheck.MatrixMechanism(5.0, rows, 3, 2)
    found = dpcheck.epsilon(sampled, delta=1e-5)
    assert found.upper == pytest.approx(dpcheck.epsilon(whole, delta=1e-5).upper, rel=1e-6)
    one = dpcheck.epsilon(dpcheck.SampledGaussian(5.0 / 2, 0.1), delta=1e-5)
    assert found.lower == pytest.approx(one.lower, rel=1e-3)


def completed_squares(steps, takes, apart):
    """The largest sum of squared counts over the nodes whose steps are all done, over all patterns."""
    best = 0
    for size in range(1, takes + 1):
        for pattern in itertools.combinations(range(steps), size):
            if any(b - a < apart for a, b in itertools.pairwise(pattern)):
                continue
            total = 0
            for level in range(steps.bit_length()):
                width = 2**level
                for first in range(0, steps - width + 1, width):
                    total += sum(first <= step < first + width for step in pattern) ** 2
            best = max(best, total)
    return best


def squared(event):
    """mu^2 of a Gaussian from both sides: its Renyi divergence at order 2."""
    bound = dpcheck.rdp(event, order=2.0)
    return bound.lower, bound.upper


def test_completed_nodes_of_all_small_trees():
    exact = 0
    for steps, takes, apart in itertools.product(range(1, 11), (1, 2, 3), (1, 2, 3, 5)):
        truth = completed_squares(steps, takes, apart)
        low, high = squared(dpcheck.TreeAggregation(1.0, steps, takes, apart, completed_only=True))
        assert low <= truth * (1 + 1e-12)
        assert truth <= high * (1 + 1e-12)
        exact += low == pytest.approx(high)
    assert exact >= 100  # of 120


@pytest.mark.parametrize(
    ("apart", "completed", "all_nodes"), [(1, 26, 35), (2, 20, 29), (3, 20, 29), (4, 11, 23)]
)
def test_the_listed_trees(apart, completed, all_nodes):
    assert completed_squares(9, 3, apart) == completed
    for only, truth in ((True, completed), (False, all_nodes)):
        event = dpcheck.TreeAggregation(1.0, 9, 3, apart, completed_only=only)
        assert squared(event)[1] == pytest.approx(truth)


def test_a_full_tree_has_no_other_nodes():
    for steps in (1, 2, 8, 64):
        trees = [dpcheck.TreeAggregation(1.0, steps, 3, 2, completed_only=o) for o in (True, False)]
        assert dpcheck.rdp(trees[0], order=2.0) == dpcheck.rdp(trees[1], order=2.0)
    with pytest.raises(InvalidParameter, match="completed_only must be True or False"):
        dpcheck.TreeAggregation(1.0, 8, completed_only="yes")


@pytest.mark.parametrize(
    "event",
    [
        dpcheck.BandedMatrix(2.0, 12, 3, sampling_rate=0.2),
        dpcheck.MatrixMechanism(2.0, ((1.0, 0.0), (0.5, 1.0)), min_separation=2, sampling_rate=0.2),
    ],
)
def test_groups_over_cyclic_sampling_are_refused(event):
    assert dpcheck.epsilon(event, delta=1e-5).upper > 0
    with pytest.raises(UnsupportedAdjacency, match="different cyclic groups"):
        dpcheck.epsilon(dpcheck.Grouped(event, 2), delta=1e-5)
    # Where everybody is drawn norms add up, in whatever groups the records are.
    everybody = dpcheck.Grouped(replace(event, sampling_rate=1.0), 2)
    plain = replace(event, sampling_rate=None, participations=12)
    assert dpcheck.epsilon(everybody, delta=1e-5).upper == pytest.approx(
        dpcheck.epsilon(dpcheck.Grouped(plain, 2), delta=1e-5).upper
    )
