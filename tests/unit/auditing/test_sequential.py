"""The e-processes against exact enumeration, quadrature and simulation."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from scipy.stats import binom, binomtest, multinomial

from dpcheck.auditing.statistics.intervals import conditional_binomial_lower
from dpcheck.auditing.statistics.sequential import (
    Bet,
    Counts,
    _typical,
    average_log_e,
    count,
    detectable,
    log_e,
    log_e_pure,
    lower_epsilon,
)

GUESS = Bet(1.0, 6.0, 2.0)


def expected_e(
    p: float, q: float, runs: int, epsilon: float, delta: float, bet: Bet = GUESS
) -> float:
    """E of the e-process after `runs` pairs, summed over all tables of counts."""
    cells = [p * q, p * (1 - q), (1 - p) * q, (1 - p) * (1 - q)]
    total = 0.0
    for a, b, c in itertools.product(range(runs + 1), repeat=3):
        d = runs - a - b - c
        if d < 0:
            continue
        chance = multinomial.pmf([a, b, c, d], runs, cells)
        counts = Counts(a, b, c, d)
        value = log_e(counts, epsilon, delta, bet)
        total += chance * math.exp(value)
    return total


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 3.0])
@pytest.mark.parametrize("q", [0.01, 0.2, 0.3, 0.5])
@pytest.mark.parametrize("by_pairs", [False, True])
def test_pure_e_value_has_mean_at_most_one_at_the_claim(epsilon, q, by_pairs):
    p = math.exp(epsilon) * q
    if p > 1:
        p, q = 1.0, math.exp(-epsilon)
    bet = Bet(1.0, 6.0, 2.0, by_pairs=by_pairs)
    assert expected_e(p, q, 7, epsilon, 0.0, bet) <= 1 + 1e-9


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-5), (1.0, 0.1), (2.0, 0.3)])
def test_approximate_e_value_has_mean_at_most_one_at_the_claim(epsilon, delta):
    q = 0.05
    p = math.exp(epsilon) * q + delta
    mean = expected_e(p, q, 7, epsilon, delta)
    assert mean <= 1 + 1e-9
    # p = e^eps q + delta exactly makes every factor fair, so the mean is 1: a wrong formula shows.
    assert mean >= 1 - 1e-9


def test_e_value_grows_beyond_one_when_the_claim_is_false():
    assert expected_e(0.9, 0.05, 7, 0.5, 0.0) > 2


def mixture(hits, other, epsilon, first, second):
    """By quadrature: nothing is bet below r0, the product of factors above."""
    r0 = 1 / (1 + mpmath.exp(-epsilon))

    def weighed(r):
        law = r ** (first - 1) * (1 - r) ** (second - 1) / mpmath.beta(first, second)
        return law * ((r / r0) ** hits * ((1 - r) / (1 - r0)) ** other if r > r0 else 1)

    return mpmath.quad(weighed, [0, r0 / 2, r0, (r0 + 1) / 2, 1])


@pytest.mark.parametrize(("hits", "other", "epsilon"), [(5, 1, 0.5), (30, 10, 1.0), (3, 0, 2.0)])
def test_mixture_is_the_integral_it_says(hits, other, epsilon):
    with mpmath.workdps(30):
        spread = mixture(hits, other, epsilon, mpmath.mpf(1) / 2, mpmath.mpf(1) / 2)
        guessed = mixture(hits, other, epsilon, 12, 3)
        expected = float(mpmath.log(spread)), float(mpmath.log((spread + guessed) / 2))
    assert log_e_pure(hits, other, epsilon) == pytest.approx(expected[0], abs=1e-6)
    bet = Bet(1.0, 12.0, 3.0)
    assert log_e_pure(hits, other, epsilon, bet) == pytest.approx(expected[1], abs=1e-6)


@pytest.mark.parametrize("bet", [Bet(), Bet(1.0, 40.0, 9.0), Bet(1.0, 5.0, 300.0)])
@pytest.mark.parametrize(("hits", "other"), [(0, 0), (7, 0), (900, 400), (4, 40), (10**6, 10**5)])
def test_evidence_falls_in_epsilon_wherever_it_is_above_one(bet, hits, other):
    found = [log_e_pure(hits, other, epsilon, bet) for epsilon in np.linspace(0, 6, 400)]
    for before, after in itertools.pairwise(found):
        assert after <= max(before, 0.0) + 1e-9


@pytest.mark.parametrize("bet", [Bet(1.0, 40.0, 9.0, True), Bet(1.0, 5.0, 300.0, True)])
@pytest.mark.parametrize(
    "counts", [Counts(), Counts(0, 7, 0, 3), Counts(250, 280, 220, 250), Counts(10, 4, 40, 5)]
)
def test_evidence_of_both_kinds_falls_in_epsilon_too(bet, counts):
    found = [log_e(counts, epsilon, 0.0, bet) for epsilon in np.linspace(0, 6, 400)]
    assert all(after <= max(before, 0.0) + 1e-9 for before, after in itertools.pairwise(found))


def test_pairs_of_runs_decide_small_epsilons_with_fewer_of_them():
    # Laplace noise under epsilon 0.1, its event of probability about 1/2, in expected counts.
    p = 1 / (1 + math.exp(-0.1))
    runs, q = 178_000, 1 - p
    counts = Counts(*(round(runs * share) for share in (p * q, p * p, q * q, p * q)))
    bet = Bet(1.0, 2000 * p, 2000 * q)
    assert detectable([counts], 0.1, 0.0, 5e-4, [bet]) > 0.125
    assert detectable([counts], 0.1, 0.0, 5e-4, [replace(bet, by_pairs=True)]) < 0.1225


def test_a_right_guess_gains_and_a_wrong_one_costs_at_most_a_factor_of_two():
    counts = [Counts(0, 19_500, 7200, 0)]
    plain, right, wrong = (
        lower_epsilon(counts, 0.0, 0.01, [bet])
        for bet in (Bet(), Bet(1.0, 1950.0, 720.0), Bet(1.0, 720.0, 1950.0))
    )
    assert right > plain + 0.005
    evidence = log_e_pure(19_500, 7200, plain, Bet(1.0, 720.0, 1950.0))
    assert evidence >= -math.log(0.01) - math.log(2) - 1e-6
    assert plain - 0.01 < wrong < plain


def test_looking_after_every_run_keeps_the_error_rate():
    rng = np.random.default_rng(5)
    alpha, sequences, runs, epsilon, q = 0.05, 1000, 400, 1.0, 0.15
    p, alarms = math.exp(epsilon) * q, 0
    for _ in range(sequences):
        hits = np.cumsum(rng.random(runs) < p)
        other = np.cumsum(rng.random(runs) < q)
        looks = range(9, runs, 10)
        alarms += any(log_e_pure(hits[t], other[t], epsilon) >= -math.log(alpha) for t in looks)
    assert alarms <= binom.ppf(0.999, sequences, alpha)


def test_lower_bound_approaches_the_truth_and_never_passes_it_by_much():
    epsilon, q = 1.0, 0.2
    p, previous = math.exp(epsilon) * q, 0.0
    for runs in (10**3, 10**4, 10**5, 10**6):
        both = round(p * q * runs)
        counts = Counts(both, round(p * runs) - both, round(q * runs) - both, 0)
        counts = Counts(
            counts.both,
            counts.first,
            counts.second,
            runs - sum((counts.both, counts.first, counts.second)),
        )
        bound = lower_epsilon([counts], 0.0, 1e-3)
        assert previous < bound < epsilon
        assert bound <= conditional_binomial_lower(counts.hits, counts.other, 1e-3)
        previous = bound
    assert previous > 0.98 * epsilon


@pytest.mark.parametrize(("hits", "other"), [(10, 3), (100, 0), (50, 49), (3000, 1000)])
def test_conditional_bound_is_clopper_pearson(hits, other):
    interval = binomtest(hits, hits + other, alternative="greater").proportion_ci(0.99, "exact")
    expected = max(0.0, math.log(interval.low / (1 - interval.low)))
    assert conditional_binomial_lower(hits, other, 0.01) == pytest.approx(expected, rel=1e-9)


def test_counts_of_paired_indicators():
    first = np.array([1, 1, 0, 0, 1], dtype=bool)
    second = np.array([1, 0, 1, 0, 0], dtype=bool)
    assert count(first, second) == Counts(both=1, first=2, second=1, neither=1)


def test_averaging_is_the_mean_of_e_values():
    tests = [Counts(0, 20, 2, 10), Counts(1, 3, 9, 10)]
    each = [math.exp(log_e_pure(t.hits, t.other, 0.5)) for t in tests]
    assert math.exp(average_log_e(tests, 0.5, 0.0)) == pytest.approx(np.mean(each))
    weighed = average_log_e(tests, 0.5, 0.0, [Bet(share=3.0), Bet(share=1.0)])
    assert math.exp(weighed) == pytest.approx(0.75 * each[0] + 0.25 * each[1])


def test_detectable_epsilon_is_detected_as_often_as_stated():
    rng = np.random.default_rng(1)
    runs, alpha = 20_000, 1e-3
    seen = Counts(1800, 3600, 1200, 13_400)
    found = detectable([seen], 1.0, 0.0, alpha)
    mass = (seen.hits + seen.other) / runs
    q = mass / (1 + math.exp(found))
    p = math.exp(found) * q
    caught = sum(
        log_e_pure(rng.binomial(runs, p), rng.binomial(runs, q), 1.0) >= -math.log(alpha)
        for _ in range(300)
    )
    assert 0.82 * 300 <= caught <= 0.97 * 300
    assert detectable([Counts(0, 0, 0, 50)], 1.0, 0.0, alpha) == math.inf


def test_an_event_that_becomes_certain_can_do_no_more():
    """P(S) = 1, and P'(S) = e^-candidate, at its unfavourable tenth percentile of 1,000 runs."""
    typical = _typical(Counts(900, 100, 0, 0), 1.0, 0.0, 3.0)
    q = math.exp(-3)
    assert typical.hits == 1000
    assert typical.other == pytest.approx(1000 * q + 1.2816 * math.sqrt(1000 * q * (1 - q)), abs=1)
    assert _typical(Counts(900, 100, 0, 0), 1.0, 0.5, 3.0).other < typical.other
