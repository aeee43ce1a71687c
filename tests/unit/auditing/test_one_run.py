"""One-run bounds: exact tails, false alarms under tight nulls, power."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom, norm

from dpcheck.auditing.statistics.curves import gaussian_tradeoff, ideal_guesses, mu_of_lines
from dpcheck.auditing.statistics.guesses import (
    Guesses,
    audit_one_run,
    best_guess_count,
    guess,
    lines_tradeoff,
    one_run_lower,
    one_run_lower_by_curve,
    p_value,
    refutes_curve,
)
from dpcheck.core.errors import BadOutput, InvalidParameter


def naive_p_value(m, r, v, eps, delta):
    """The definition, term by term."""
    q = math.exp(eps) / (1 + math.exp(eps))
    pmf = [math.comb(r, k) * q**k * (1 - q) ** (r - k) for k in range(r + 1)]
    tail = sum(pmf[v:])
    worst = max((sum(pmf[v - i : v]) / i for i in range(1, v + 1)), default=0.0)
    return min(1.0, tail + 2 * m * delta * worst)


@pytest.mark.parametrize(
    ("m", "r", "v", "eps", "delta"),
    [(50, 20, 15, 0.3, 0.0), (50, 20, 15, 0.3, 1e-3), (30, 30, 29, 1.0, 1e-2), (9, 4, 0, 0.0, 0.1)],
)
def test_p_value_is_the_definition(m, r, v, eps, delta):
    assert p_value(Guesses(m, r, v), eps, delta) == pytest.approx(
        naive_p_value(m, r, v, eps, delta)
    )


def randomized_response(epsilon):
    """The worst case of pure DP: every coin is released through randomized response."""

    def scores(included, rng):
        keep = rng.random(len(included)) < 1 / (1 + math.exp(-epsilon))
        return np.where(keep, included, ~included) + 1e-6 * rng.random(len(included))

    return scores


def test_tight_null_keeps_the_level_and_the_bound_is_close():
    epsilon, alpha, repeats, above, bounds = 1.0, 0.05, 400, 0, []
    for seed in range(repeats):
        found = audit_one_run(
            randomized_response(epsilon),
            canaries=1000,
            guessed=1000,
            delta=0.0,
            alpha=alpha,
            seed=np.random.SeedSequence(seed),
        )
        above += found.epsilon > epsilon
        bounds.append(found.epsilon)
    assert above <= binom.ppf(0.999, repeats, alpha)
    assert above > 0  # the null is tight: a bound that never errs would be broken
    assert np.median(bounds) > 0.8


def gaussian_scores(mu, included, rng):
    return rng.normal(mu * included, 1.0)


def gaussian_curve(mu):
    return lambda fpr: float(norm.cdf(norm.ppf(1 - fpr) - mu)) if 0 < fpr < 1 else 1.0 - fpr


def test_curve_test_keeps_its_level_and_has_power():
    rng = np.random.default_rng(0)
    claimed, alpha, repeats = 0.5, 0.05, 40
    false = caught = 0
    for _ in range(repeats):
        included = rng.random(400) < 0.5
        fair = guess(gaussian_scores(claimed, included, rng), included, 400)
        false += refutes_curve(fair, gaussian_curve(claimed), alpha)
        leaky = guess(gaussian_scores(2.0, included, rng), included, 400)
        caught += refutes_curve(leaky, gaussian_curve(claimed), alpha)
    assert false <= binom.ppf(0.999, repeats, alpha)
    assert caught > 0.99 * repeats


def test_curve_test_beats_the_pure_one_on_gaussian_leaks():
    # So many right guesses refute the curve of mu = 0.5, but not its point (eps, 1e-5).
    seen = Guesses(400, 400, 320)
    assert refutes_curve(seen, gaussian_curve(0.5), 0.05)
    epsilon = 0.5 * norm.isf(1e-5) + 0.125  # an upper bound on eps(1e-5) of mu = 0.5
    assert p_value(seen, epsilon, 1e-5) > 0.05


def test_lines_meet_the_trade_off_function_they_support():
    curve = gaussian_curve(1.0)

    def delta_at(epsilon):
        return norm.cdf(0.5 - epsilon) - math.exp(epsilon) * norm.cdf(-0.5 - epsilon)

    lines = lines_tradeoff([(e, delta_at(e)) for e in np.linspace(0, 4, 400)])
    for rate in (0.001, 0.03, 0.2, 0.5, 0.9, 0.999):
        assert lines(rate) <= curve(rate) + 1e-12
        assert lines(rate) == pytest.approx(curve(rate), rel=1e-3)
    assert lines_tradeoff([(0.0, 0.0)])(0.3) == pytest.approx(0.7)
    assert lines_tradeoff([(1.0, 0.2)])(0.9) == 0.0


def test_bound_by_the_curve_keeps_its_level_and_beats_delta():
    epsilon, alpha, repeats = 1.0, 0.05, 200
    above = 0
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        included = rng.random(300) < 0.5
        seen = guess(randomized_response(epsilon)(included, rng), included, 300)
        above += refutes_curve(seen, lines_tradeoff([(epsilon, 0.0)]), alpha)
    assert above <= binom.ppf(0.999, repeats, alpha)
    everything = Guesses(1000, 900, 900)
    assert one_run_lower_by_curve(everything, 1e-5, 1e-4) > 4
    assert one_run_lower(everything, 1e-5, 1e-4) < 3
    assert one_run_lower_by_curve(Guesses(100, 100, 50), 1e-5, 0.05) == 0.0


def test_bound_grows_with_right_guesses_and_falls_with_delta():
    values = [one_run_lower(Guesses(100, 40, v), 0.0, 0.05) for v in (20, 30, 36, 40)]
    assert values == sorted(values)
    assert values[0] == 0.0
    assert one_run_lower(Guesses(100, 40, 40), 1e-3, 0.05) < values[-1]


def test_misuse():
    with pytest.raises(InvalidParameter, match="correct <= guessed"):
        Guesses(10, 12, 3)
    with pytest.raises(BadOutput, match="one finite score"):
        guess(np.zeros(3), np.zeros(4, dtype=bool), 2)


@pytest.mark.parametrize(("correct", "delta"), [(80, 0.0), (97, 0.0), (90, 1e-4)])
def test_the_bound_is_the_smallest_epsilon_that_is_not_rejected(correct, delta):
    seen, alpha = Guesses(100, 100, correct), 0.01
    bound = one_run_lower(seen, delta, alpha)
    assert p_value(seen, bound, delta) <= alpha
    assert p_value(seen, bound + 1e-6, delta) > alpha


def test_curves_at_their_ends_and_back():
    assert gaussian_tradeoff(1.0)(0.0) == 1.0
    assert gaussian_tradeoff(1.0)(1.0) == 0.0
    # Total variation of mu-GDP, from its line at epsilon 0.
    for mu in (0.3, 2.0):
        variation = 2 * norm.cdf(mu / 2) - 1
        assert mu_of_lines(((0.0, variation), (5.0, 0.5))) == pytest.approx(mu)
    assert math.isfinite(mu_of_lines(((40.0, 0.9),)))


def test_ideal_scores_guess_as_often_rightly_as_they_can():
    """Of all coins mu/2 standard deviations from the middle; of the surest, more."""
    every, surest = (ideal_guesses(10_000, guessed, 1.0) for guessed in (10_000, 1000))
    assert every.correct / every.guessed == pytest.approx(norm.cdf(0.5), abs=2e-3)
    assert surest.correct / surest.guessed > 0.85
    assert [best_guess_count(canaries) for canaries in (2, 80, 1000)] == [2, 20, 250]
