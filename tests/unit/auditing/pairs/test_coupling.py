"""How far the same draws are moved, where noise is there on some datasets only."""

from __future__ import annotations

import numpy as np

from dpcheck.auditing.mechanism import Pair, as_mechanism
from dpcheck.auditing.pairs.coupling import coupled_batch


def suppressed(data, rng):
    """Small cells are left out by the true count."""
    counts = np.array([sum(v == name for v in data) for name in "ab"], float)
    return np.where(counts >= 5, counts + rng.laplace(0, 1, 2), 0.0)


def test_a_cell_with_noise_on_few_pairs_is_measured_by_that_noise():
    crossing = Pair(["a"] * 5, ["a"] * 4, "crosses the threshold")
    above = Pair(["a"] * 9, ["a"] * 8, "one of many")
    below = [Pair(["b"] * n, ["b"] * (n - 1), "left out") for n in (1, 2, 3, 4)]
    mechanism = as_mechanism(suppressed)
    wins = 0
    for seed in range(20):
        found = coupled_batch(
            mechanism, [crossing, above, *below, *below], np.random.SeedSequence(seed)
        )
        score = found["score"].tolist()
        assert score[2:] == [0.0] * 8
        wins += score[0] > score[1]
    assert wins >= 17  # 5 units against 1, each moved by noise


def test_a_number_that_never_has_noise_counts_as_certain():
    def exact(data, rng):
        return float(len(data)), rng.laplace()

    pairs = [Pair([0] * n, [0] * (n + 1), "") for n in range(6)]
    score = coupled_batch(as_mechanism(exact), pairs, np.random.SeedSequence(0))["score"]
    assert (score >= 1000.0).all()
