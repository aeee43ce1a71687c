"""Matrix mechanisms against all participation patterns of small cases."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import dpcheck
from dpcheck.accounting.streams import squared_sensitivity
from dpcheck.core.errors import InvalidParameter


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
