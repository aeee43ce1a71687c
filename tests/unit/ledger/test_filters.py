"""Filters: limits against 50-digit arithmetic, and adversaries that choose and stop adaptively."""

import math

import mpmath
import numpy as np
import pytest
from scipy.stats import norm

from dpcheck import Budget
from dpcheck.accounting import losses
from dpcheck.accounting.renyi.divergence import renyi
from dpcheck.core.errors import DpcheckError
from dpcheck.ledger.filters import (
    ConcentratedFilter,
    GaussianFilter,
    PureFilter,
    RenyiFilter,
    best_order,
    choose_filter,
    renyi_limit,
)

mpmath.mp.dps = 50


def improved_delta(order, divergence, epsilon):
    """[Canonne2020] Proposition 12, at 50 digits."""
    a, d, e = mpmath.mpf(order), mpmath.mpf(divergence), mpmath.mpf(epsilon)
    return mpmath.exp((a - 1) * (d - e)) / (a - 1) * (1 - 1 / a) ** a


def gaussian_delta(mu, epsilon):
    m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
    return mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)


@pytest.mark.parametrize("order", [1.05, 2.0, 8.0, 33.5, 1024.0])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 20.0])
@pytest.mark.parametrize("delta", [0.1, 1e-5, 1e-15])
def test_renyi_limit_is_the_largest_that_proves_the_budget(order, epsilon, delta):
    limit = renyi_limit(order, epsilon, delta)
    assert improved_delta(order, limit, epsilon) <= delta
    assert improved_delta(order, limit + 1e-9 * (1 + abs(limit)), epsilon) > delta


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 20.0])
@pytest.mark.parametrize("delta", [0.1, 1e-5, 1e-15])
def test_gaussian_limit_is_the_largest_that_proves_the_budget(epsilon, delta):
    limit = mpmath.mpf(GaussianFilter(8.0).limit(epsilon, delta))
    assert gaussian_delta(mpmath.sqrt(limit), epsilon) <= delta
    assert gaussian_delta(mpmath.sqrt(limit) * (1 + mpmath.mpf("1e-12")), epsilon) > delta


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 4.0])
def test_a_pure_release_is_as_gaussian_as_the_gaussian_filter_says(epsilon):
    mu = math.sqrt(GaussianFilter(8.0).measure(losses.ResponseLoss(epsilon)))
    fpr = np.linspace(1e-6, 1 - 1e-6, 20001)
    pure = np.maximum(1 - math.exp(epsilon) * fpr, math.exp(-epsilon) * (1 - fpr))
    gaussian = norm.cdf(-norm.ppf(fpr) - mu)
    assert (gaussian <= pure + 1e-12).all()
    less = norm.cdf(-norm.ppf(fpr) - 0.999 * mu)
    assert (less > pure).any()  # no smaller mu would do


@pytest.mark.parametrize("epsilon", [1e-12, 1e-6, 9e-4, 1.1e-3, 0.3, 20.0])
def test_the_gaussian_measure_of_a_pure_release_is_never_too_small(epsilon):
    corner = 1 / (1 + mpmath.exp(mpmath.mpf(epsilon)))
    mu = -2 * mpmath.sqrt(2) * mpmath.erfinv(2 * corner - 1)
    found = GaussianFilter(8.0).measure(losses.ResponseLoss(epsilon))
    assert mu**2 <= found <= mu**2 * (1 + 1e-6)


@pytest.mark.parametrize(
    "loss",
    [
        losses.GaussianLoss(0.7),
        losses.DiscreteGaussianLoss(2.0, 1),
        losses.ConcentratedLoss(0.3),
        losses.ResponseLoss(1.3),
        losses.BoundedRangeLoss(0.9),
        losses.LaplaceLoss(0.8),
    ],
)
def test_rho_bounds_the_divergence_at_every_order(loss):
    orders = np.array([1.1, 2.0, 8.0, 64.0, 500.0])
    rho = ConcentratedFilter(8.0).measure(loss)
    assert (renyi(loss, orders) <= rho * orders * (1 + 1e-9)).all()


def test_filters_refuse_what_they_cannot_measure():
    sampled = losses.GaussianMixtureLoss((1.0,), (0.01,))
    assert GaussianFilter(8.0).measure(sampled) == math.inf
    assert ConcentratedFilter(8.0).measure(sampled) == math.inf
    assert math.isfinite(RenyiFilter(8.0).measure(sampled))
    assert PureFilter().measure(sampled) == math.inf


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0.1, 1e-6), (3.0, 1e-5), (8.0, 1e-9), (60.0, 0.01)]
)
def test_the_default_order_is_nearly_the_best_for_gaussians(epsilon, delta):
    budget = Budget(epsilon, delta)
    order = best_order(budget, 0.0)
    finer = 1 + np.geomspace(1e-3, 1e4, 20001)
    best = max(renyi_limit(a, epsilon, delta) / a for a in finer)
    assert renyi_limit(order, epsilon, delta) / order >= 0.98 * best


@pytest.mark.parametrize(
    ("budget", "arguments", "words"),
    [
        (Budget(1.0, 1e-5), {"name": "magic"}, "unknown filter"),
        (Budget(1.0), {"name": "gdp"}, "delta above 0"),
        (Budget(1.0), {"order": 4.0}, "no order"),
        (Budget(1.0, 1e-5), {"order": 1.0}, "above 1"),
        (Budget(1.0, 1e-5), {"order": math.nan}, "finite"),
    ],
)
def test_bad_filters_are_one_line_errors(budget, arguments, words):
    with pytest.raises(DpcheckError, match=words) as caught:
        choose_filter(budget, **arguments)
    assert "\n" not in str(caught.value)


# An adversary against the Gaussian mechanism: it sees the privacy loss, chooses the next noise and
# when to stop. mu^2 is the size of a step; the loss of one step is N(mu^2/2, mu^2) under P.


def adaptive_losses(trials, limit, rng):
    """Small steps, then all of the rest at once when that is most promising for the attacker."""
    loss, spent = np.zeros(trials), np.zeros(trials)
    for _ in range(10):
        # Big step where the loss is middling (a lot to gain), nothing more where it is high.
        left = np.maximum(limit - spent, 0.0)  # rounding
        size = np.where(loss > 1.0, 0.0, np.where(loss > 0.3, left, np.minimum(left, limit / 20)))
        loss += rng.normal(size / 2, np.sqrt(size))
        spent += size
    # Whoever is still low gambles the rest.
    left = np.where(loss < 1.0, np.maximum(limit - spent, 0.0), 0.0)
    return loss + rng.normal(left / 2, np.sqrt(left))


def hockey_stick(loss, epsilon):
    """Mean and standard error of delta(epsilon) from samples of the loss under P."""
    values = np.maximum(-np.expm1(np.minimum(epsilon - loss, 0.0)), 0.0)
    return values.mean(), values.std() / math.sqrt(len(values))


EPSILON, DELTA, TRIALS = 1.0, 0.05, 400_000


def test_the_gaussian_filter_holds_against_an_adaptive_adversary_and_no_more_would():
    limit = GaussianFilter(4.0).limit(EPSILON, DELTA)
    rng = np.random.default_rng(7)
    mean, error = hockey_stick(adaptive_losses(TRIALS, limit, rng), EPSILON)
    assert mean <= DELTA + 4 * error
    # Power: with a quarter more, the same adversary is caught.
    mean, error = hockey_stick(adaptive_losses(TRIALS, 1.25 * limit, rng), EPSILON)
    assert mean > DELTA + 4 * error


def test_the_renyi_filter_holds_against_an_adaptive_adversary():
    found = choose_filter(Budget(EPSILON, DELTA), reserve=0.0)
    limit = 2 * found.limit(EPSILON, DELTA) / found.order  # divergence a mu^2/2
    assert limit < GaussianFilter(4.0).limit(EPSILON, DELTA)  # one order is looser than GDP
    mean, error = hockey_stick(adaptive_losses(TRIALS, limit, np.random.default_rng(8)), EPSILON)
    assert mean <= DELTA + 4 * error


def first_crossing_rate(bound, steps, mu_squared, trials, rng):
    """How often the loss is above bound(t) at some time t: the adversary stops there."""
    loss, crossed = np.zeros(trials), np.zeros(trials, dtype=bool)
    for t in range(1, steps + 1):
        loss += rng.normal(mu_squared / 2, math.sqrt(mu_squared), trials)
        crossed |= loss > bound(t)
    return crossed.mean()


def test_the_odometer_holds_at_a_time_chosen_by_the_adversary_where_a_fixed_bound_does_not():
    steps, mu_squared, delta, trials = 300, 0.02, 0.05, 20_000
    meter = RenyiFilter(3.0)

    def odometer(t):
        return meter.odometer(3.0 * mu_squared / 2 * t, delta)

    def fixed_time(t):  # right at any one time given in advance: P(loss > bound) = delta
        return mu_squared * t / 2 + math.sqrt(mu_squared * t) * norm.isf(delta)

    rng = np.random.default_rng(9)
    margin = 4 * math.sqrt(delta * (1 - delta) / trials)
    assert first_crossing_rate(odometer, steps, mu_squared, trials, rng) <= delta + margin
    assert first_crossing_rate(fixed_time, steps, mu_squared, trials, rng) > 2 * delta
