"""The p-value of calls in an event fixed before, against sums by hand and the laws at the claim's edge."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcheck.auditing.statistics.game import exact_p_value, score_guesses
from dpcheck.auditing.statistics.sequential import Counts


def _binomial(k, n, p):
    return math.comb(n, k) * p**k * (1 - p) ** (n - k)


@pytest.mark.parametrize(
    ("right", "wrong", "calls", "epsilon", "delta"),
    [(20, 0, 40, 1.0, 0.0), (30, 6, 90, 0.5, 0.1), (41, 9, 120, 1.5, 0.02), (3, 9, 40, 0.1, 0.3)],
)
def test_it_is_the_tail_of_the_hits_that_delta_does_not_excuse(right, wrong, calls, epsilon, delta):
    excused = 0
    if delta > 0:
        while sum(_binomial(k, calls, delta / 2) for k in range(excused + 1)) < 1 - 1e-9:
            excused += 1
    best, hits = math.exp(epsilon) / (1 + math.exp(epsilon)), right + wrong
    tail = sum(_binomial(k, hits, best) for k in range(max(0, right - excused), hits + 1))
    expected = min(1.0, tail + (1e-9 if delta else 0.0))
    assert exact_p_value(right, wrong, calls, epsilon, delta) == pytest.approx(expected, rel=1e-9)


def test_it_is_a_probability_where_nothing_was_hit():
    assert exact_p_value(0, 10, 10, 1.0, 0.2) == exact_p_value(0, 0, 10, 1.0) == 1.0
    assert exact_p_value(20, 0, 40, 1.0) == exact_p_value(20, 0, 40, 1.0, 0.0) < 0.002


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.0), (1.0, 0.2), (0.3, 0.05)])
@pytest.mark.parametrize("rate", [0.2, 0.9])
def test_a_law_at_the_edge_of_the_claim_is_accused_as_rarely_as_it_says(epsilon, delta, rate):
    """A call is excused and right with probability delta/2, else a hit at `rate`, right as epsilon allows."""
    calls, best = 40, math.exp(epsilon) / (1 + math.exp(epsilon))
    right = delta / 2 + (1 - delta / 2) * rate * best
    wrong = (1 - delta / 2) * rate * (1 - best)
    law = {}
    for r in range(calls + 1):
        for w in range(calls - r + 1):
            ways = math.comb(calls, r) * math.comb(calls - r, w)
            chance = ways * right**r * wrong**w * max(0.0, 1 - right - wrong) ** (calls - r - w)
            p = exact_p_value(r, w, calls, epsilon, delta)
            law[p] = law.get(p, 0.0) + chance
    below = 0.0
    for p in sorted(law):
        below += law[p]
        assert below <= p * (1 + 1e-9), p


def test_guesses_are_counted_one_by_one():
    rng = np.random.default_rng(0)
    guesses, sides = rng.integers(-1, 2, size=200).astype(np.int8), rng.random(200) < 0.5
    right = wrong = passed = 0
    for guess, side in zip(guesses.tolist(), sides.tolist(), strict=True):
        if guess == -1:
            passed += 1
        elif bool(guess) is side:
            right += 1
        else:
            wrong += 1
    assert score_guesses(guesses, sides) == Counts(0, right, wrong, passed)
