"""Noisy max, exponential mechanism, sparse vector, PATE."""

from __future__ import annotations

import math

import numpy as np

from .base import Case

VOTES = np.array([3.0, 2.0, 0.0])
# One teacher changes its vote.
TURNED = np.array([2.0, 3.0, 0.0])


def noisy_max_without_enough_noise(votes, rng):
    return int(np.argmax(votes + rng.gumbel(scale=0.5, size=len(votes))))


def noisy_max_gumbel(votes, rng):
    return int(np.argmax(votes + rng.gumbel(scale=2.0, size=len(votes))))


def noisy_max_returns_the_score(votes, rng):
    # The winner's own noisy score, from the same draw, beside the winner.
    noisy = votes + rng.laplace(scale=2.0, size=len(votes))
    return {"scores": noisy, "best": int(np.argmax(votes))}


def noisy_max_of_scores(votes, rng):
    noisy = votes + rng.laplace(scale=2.0, size=len(votes))
    return {"scores": noisy}


def exponential_without_the_two(votes, rng):
    # exp(eps u / sensitivity): the 2 of the denominator is missing, and so is normal care.
    weight = np.exp(1.0 * (votes - votes.max()))
    return int(rng.choice(len(votes), p=weight / weight.sum()))


def exponential(votes, rng):
    weight = np.exp(1.0 * (votes - votes.max()) / 2)
    return int(rng.choice(len(votes), p=weight / weight.sum()))


def _softmax(u, k, scale):
    e = [math.exp(x / scale) for x in u]
    return e[k] / sum(e)


def pate_noise_on_labels(votes, rng):
    # Noise on each teacher's label instead of on the counts: the argmax of exact counts is out.
    counts = np.bincount(votes.astype(int), minlength=3)
    _ = votes + rng.laplace(scale=2.0, size=len(votes))
    return int(np.argmax(counts))


def pate_noise_on_counts(votes, rng):
    counts = np.bincount(votes.astype(int), minlength=3)
    return int(np.argmax(counts + rng.laplace(scale=4.0, size=3)))


LABELS = np.array([0.0, 0.0, 0.0, 1.0, 1.0])
FLIPPED = np.array([1.0, 0.0, 0.0, 1.0, 1.0])

QUERIES = np.array([0.0, 1.0])
MORE = np.array([1.0, 1.0])


def svt_without_noise_on_queries(queries, rng):
    threshold = 0.5 + rng.laplace(scale=2.0)
    found = []
    for q in queries:
        found.append(bool(q > threshold))
        if found[-1]:
            break
    return found


def svt(queries, rng):
    threshold = 0.5 + rng.laplace(scale=2.0)
    found = []
    for q in queries:
        found.append(bool(q + rng.laplace(scale=4.0) > threshold))
        if found[-1]:
            break
    return found


def svt_with_no_noisy_threshold(queries, rng):
    for index, q in enumerate(queries):
        if q + rng.laplace(scale=0.4) > 0.5:
            return index
    return None


def threshold_on_exact_count(queries, rng):
    # The noisy answer is only given where the exact one is large enough.
    total = queries.sum()
    if total < 1.5:
        return None
    return total + rng.laplace(scale=1.0)


def threshold_on_noisy_count(queries, rng):
    noisy = queries.sum() + rng.laplace(scale=1.0)
    return np.maximum(noisy, 0.0)


def median_by_sorting(queries, rng):
    return float(np.sort(queries)[len(queries) // 2] + rng.laplace(scale=1 / len(queries)))


def median_by_exponential_mechanism(queries, rng):
    grid = np.linspace(0, 1, 5)
    utility = -np.abs([(queries < g).sum() - len(queries) / 2 for g in grid])
    weight = np.exp(0.5 * utility)
    return float(rng.choice(grid, p=weight / weight.sum()))


LOWER = np.array([0.0, 0.0, 0.0, 1.0, 1.0])
UPPER = np.array([0.0, 0.0, 1.0, 1.0, 1.0])


def _svt_no_threshold_noise() -> float:
    """P(first above at 0): tails of a Laplace of scale 0.4 at 0.5 - q."""

    def above(q: float) -> float:
        tail = 0.5 * math.exp(-abs(q - 0.5) / 0.4)
        return 1 - tail if q > 0.5 else tail

    first = (above(0.0), above(1.0))
    second = ((1 - first[0]) * above(1.0), (1 - first[1]) * above(1.0))
    none = ((1 - first[0]) * (1 - above(1.0)), (1 - first[1]) * (1 - above(1.0)))
    return max(abs(math.log(a / b)) for a, b in (first, second, none))


def _threshold_only() -> float:
    """Without noise on queries, (False, True) needs 0 < threshold < 1 and is impossible for (1, 1)."""
    return math.inf


CASES = [
    Case(
        "noisy max with too little noise",
        noisy_max_without_enough_noise,
        noisy_max_gumbel,
        (VOTES, TURNED),
        1.0,
        math.log(_softmax(VOTES, 0, 0.5) / _softmax(TURNED, 0, 0.5)),
    ),
    Case(
        "the exact winner beside noisy scores",
        noisy_max_returns_the_score,
        noisy_max_of_scores,
        (VOTES, TURNED),
        1.0,
        math.inf,
    ),
    Case(
        "exponential mechanism without the 2",
        exponential_without_the_two,
        exponential,
        (VOTES, TURNED),
        0.99,
        math.log(_softmax(VOTES, 0, 1.0) / _softmax(TURNED, 0, 1.0)),
    ),
    Case(
        "PATE with noise on the labels",
        pate_noise_on_labels,
        pate_noise_on_counts,
        (LABELS, FLIPPED),
        1.0,
        math.inf,
    ),
    Case(
        "sparse vector without noise on queries",
        svt_without_noise_on_queries,
        svt,
        (QUERIES, MORE),
        1.0,
        _threshold_only(),
    ),
    Case(
        "first query above, threshold without noise",
        svt_with_no_noisy_threshold,
        svt,
        (QUERIES, MORE),
        1.0,
        _svt_no_threshold_noise(),
    ),
    Case(
        "a branch on the exact count",
        threshold_on_exact_count,
        threshold_on_noisy_count,
        (QUERIES, MORE),
        1.0,
        math.inf,
    ),
    Case(
        "median with the noise of a mean",
        median_by_sorting,
        median_by_exponential_mechanism,
        (LOWER, UPPER),
        1.0,
        5.0,
    ),
]
