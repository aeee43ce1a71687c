"""Choices, thresholds and shuffled reports against enumeration, quadrature and simulation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom

import dpcheck
from dpcheck.core.errors import InvalidParameter, UnsupportedAdjacency


def hockey_stick(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    """The worse of the two directions of two tables."""
    y = math.exp(epsilon)
    return max(float(np.maximum(p - y * q, 0).sum()), float(np.maximum(q - y * p, 0).sum()))


def permute_and_flip(scores: tuple[float, ...], epsilon: float) -> np.ndarray:
    """Its exact law by all orders of the candidates, sensitivity 1."""
    chance = np.exp(epsilon * (np.array(scores) - max(scores)) / 2)
    law = np.zeros(len(scores))
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        left = 1.0
        for candidate in order:
            law[candidate] += left * chance[candidate] / len(orders)
            left *= 1 - chance[candidate]
    return law


def test_permute_and_flip_covers_all_small_cases() -> None:
    epsilon, found = 1.2, dpcheck.PermuteAndFlip(1.2)
    grid = [(0.0, a, b) for a in (0.0, 1.0, 2.0) for b in (-1.0, 0.5, 2.0)]
    moved = list(itertools.product((-1.0, 1.0), repeat=3))
    at = {e: dpcheck.delta(found, epsilon=e) for e in (0.0, 0.3, 0.8)}
    attained = dict.fromkeys(at, 0.0)
    for scores, move in itertools.product(grid, moved):
        p = permute_and_flip(scores, epsilon)
        q = permute_and_flip(tuple(np.add(scores, move)), epsilon)
        for e, bound in at.items():
            truth = hockey_stick(p, q, e)
            attained[e] = max(attained[e], truth)
            assert truth <= bound.upper * (1 + 1e-12)
    for e, bound in at.items():
        assert bound.lower <= attained[e] * (1 + 1e-9)
        assert bound.lower >= 0.5 * bound.upper
    assert dpcheck.epsilon(found).upper == pytest.approx(epsilon)


def test_noisy_max_of_three_scores_by_quadrature() -> None:
    """P(i wins) is an integral over the winner's noise."""
    x = np.linspace(-40, 40, 80_001)
    width = x[1] - x[0]
    density = 0.5 * np.exp(-np.abs(x))

    def cdf(z: np.ndarray) -> np.ndarray:
        return np.where(z < 0, 0.5 * np.exp(np.minimum(z, 0)), 1 - 0.5 * np.exp(-np.maximum(z, 0)))

    def law(scores: np.ndarray) -> np.ndarray:
        s = scores / 2.0  # noise multiplier 2
        return (
            np.array(
                [
                    (
                        density
                        * np.prod([cdf(x + s[i] - s[j]) for j in range(3) if j != i], axis=0)
                    ).sum()
                    for i in range(3)
                ]
            )
            * width
        )

    bounds = {e: dpcheck.delta(dpcheck.ReportNoisyMax(2.0), epsilon=e) for e in (0.0, 0.4)}
    best = dict.fromkeys(bounds, 0.0)
    for gap in (0.0, 1.0, 3.0):
        p, q = law(np.array([gap, 0.0, 0.0]) / 1), law(np.array([gap - 1, 1.0, 1.0]))
        for e, bound in bounds.items():
            best[e] = max(best[e], hockey_stick(p, q, e))
            assert best[e] <= bound.upper
    two = dpcheck.delta(dpcheck.ReportNoisyMax(2.0), epsilon=0.0).lower
    assert two == pytest.approx(0.5 - math.exp(-1.0) * 3 / 4, rel=1e-6)
    gumbel = dpcheck.ReportNoisyMax(4.0, "gumbel") * 20
    same = dpcheck.ExponentialMechanism(0.5) * 20
    assert dpcheck.epsilon(gumbel, delta=1e-6).upper == dpcheck.epsilon(same, delta=1e-6).upper


def test_monotone_scores_cost_half_and_twice_that_when_replaced() -> None:
    event = dpcheck.ReportNoisyMax(2.0, monotone=True)
    assert dpcheck.epsilon(event, adjacency="add-remove").upper == 0.5
    assert dpcheck.epsilon(event, adjacency="replace-one").upper == 1.0
    with pytest.raises(InvalidParameter, match="laplace, gumbel"):
        dpcheck.ReportNoisyMax(1.0, "normal")


def test_above_threshold_by_simulation_of_its_worst_known_pattern() -> None:
    """Lyu et al.: epsilon_1 + epsilon_2; a stream of queries that all move by one comes close to it."""
    event = dpcheck.AboveThreshold(2.0, 4.0)  # 1/2 + 2/4
    bound = dpcheck.epsilon(event)
    assert bound.upper == 1.0
    assert bound.lower == 0.0  # only the upper side is known
    assert dpcheck.epsilon(dpcheck.AboveThreshold(2.0, 4.0, 3)).upper == 2.0
    assert dpcheck.epsilon(dpcheck.AboveThreshold(2.0, 4.0, 3, monotone=True)).upper == 1.25
    rng = np.random.default_rng(5)
    runs, queries = 400_000, 6
    noise = rng.laplace(0, 2.0, (runs, 1)), rng.laplace(0, 4.0, (runs, queries + 1))
    hits = []
    for sign in (1.0, -1.0):
        scores = np.append(np.full(queries, -3.0 - sign / 2), 3.0 + sign / 2)
        over = scores + noise[1] > noise[0]
        hits.append((~over[:, :-1]).all(axis=1) & over[:, -1])
    rates = [h.mean() for h in hits]
    error = sum(5 * math.sqrt(r / runs) / r for r in rates)
    assert math.log(rates[0] / rates[1]) <= 1.0 + error


@pytest.mark.parametrize(("local", "people"), [(1.0, 1000), (3.0, 500), (0.1, 50)])
def test_shuffled_reports_cover_randomized_response(local: float, people: int) -> None:
    """Binary randomized response by everybody: the count of ones, whatever the others answer."""
    heads = math.e**local / (1 + math.e**local)
    event = dpcheck.ShuffledReports(local, people)

    def counts(ones: int) -> np.ndarray:
        first = binom.pmf(np.arange(people + 1), ones, heads)
        second = binom.pmf(np.arange(people + 1), people - ones, 1 - heads)
        return np.convolve(first, second)[: people + 1]

    for epsilon in (0.02, 0.1, 0.3):
        found = dpcheck.delta(event, epsilon=epsilon)
        for ones in (0, people // 3, people // 2):
            truth = hockey_stick(counts(ones), counts(ones + 1), epsilon)
            assert truth <= found.upper * (1 + 1e-9)
            if ones == 0:
                assert found.lower <= truth * (1 + 1e-9)
                assert found.lower >= truth * 0.99 - 1e-12


def test_shuffled_reports_by_enumeration_of_the_clones() -> None:
    """The pair of Feldman, McMillan and Talwar, summed over all counts without windows or rounding."""
    local, people = 1.0, 60
    clone, heads = math.exp(-local), math.e / (1 + math.e)
    for epsilon in (0.1, 0.4):
        y, truth = math.exp(epsilon), 0.0
        for c in range(people):
            half = binom.pmf(np.arange(c + 1), c, 0.5)
            up, down = np.append(0, half), np.append(half, 0)
            p, q = heads * up + (1 - heads) * down, (1 - heads) * up + heads * down
            truth += binom.pmf(c, people - 1, clone) * np.maximum(p - y * q, 0).sum()
        found = dpcheck.delta(dpcheck.ShuffledReports(local, people), epsilon=epsilon)
        assert truth * (1 - 1e-9) <= found.upper <= truth * 1.01
    many = dpcheck.epsilon(dpcheck.ShuffledReports(1.0, 10**7), delta=1e-8)
    assert many.upper < 0.01
    assert dpcheck.epsilon(dpcheck.ShuffledReports(1.0, 1)).upper == 1.0
    with pytest.raises(UnsupportedAdjacency, match="replace-one"):
        dpcheck.epsilon(dpcheck.ShuffledReports(1.0, 100), adjacency="add-remove")
