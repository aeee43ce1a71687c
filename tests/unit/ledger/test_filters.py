"""Filters: limits against 50-digit arithmetic, and adversaries that choose and stop adaptively."""

import math

import mpmath
import numpy as np
import pytest
from scipy.stats import norm

from dpcheck import Budget
from dpcheck.accounting import losses
from dpcheck.accounting.accountants.gaussian import gdp_epsilon
from dpcheck.core.errors import DpcheckError
from dpcheck.ledger.pricing.certificate import ORDERS, Certificate
from dpcheck.ledger.pricing.filters import (
    Aim,
    ConcentratedFilter,
    GaussianFilter,
    PureFilter,
    RenyiFilter,
    choose_filter,
    gaussian_order,
)
from dpcheck.ledger.pricing.mixture import EVENLY, SOME, Mixture, favouring, one_order

mpmath.mp.dps = 50
NO_ORDER = Certificate(2.0)


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
    limit = float(one_order(np.array([order]), epsilon, delta)[0])
    assert improved_delta(order, limit, epsilon) <= delta
    assert improved_delta(order, limit + 1e-9 * (1 + abs(limit)), epsilon) > delta


def slow_delta(mixture, weights, divergences, epsilon):
    """c(D) at 50 digits, over a fine grid of x: below the supremum, and near it."""
    best = mpmath.mpf(0)
    for y in np.geomspace(1e-4, 30.0, 1200):
        x = mpmath.mpf(epsilon) + mpmath.mpf(float(y))
        below = sum(
            mpmath.mpf(float(w))
            * mpmath.exp((mpmath.mpf(float(a)) - 1) * (x - mpmath.mpf(float(d))))
            for a, w, d in zip(mixture.orders, weights, divergences, strict=True)
            if math.isfinite(d)
        )
        best = max(best, (1 - mpmath.exp(-mpmath.mpf(float(y)))) / below)
    return best


@pytest.mark.parametrize("seed", range(6))
def test_the_mixture_bounds_its_supremum_from_above_and_closely(seed):
    rng = np.random.default_rng(seed)
    orders = 1 + np.geomspace(0.2, 60.0, 7)
    weights = rng.dirichlet(np.ones(7))
    rho = 10 ** rng.uniform(-3, 0.5)
    divergences = orders * rho + rng.uniform(0, 0.1, 7).cumsum()
    if seed % 2:
        divergences[-2:] = math.inf
    mixture, epsilon = Mixture(orders, weights), 10 ** rng.uniform(-1, 1)
    exact = slow_delta(mixture, weights, divergences, epsilon)
    log_c, _ = mixture.log_delta(divergences, epsilon)
    assert mpmath.log(exact) <= log_c <= mpmath.log(exact) + mpmath.mpf("1e-3")
    if log_c < 0:
        delta = math.exp(log_c)
        assert mixture.allows(divergences, epsilon, delta * (1 + 1e-9))
        assert not mixture.allows(divergences, epsilon, delta * (1 - 2e-3))
        assert mixture.epsilon(divergences, delta) == pytest.approx(epsilon, rel=1e-3, abs=1e-5)


@pytest.mark.parametrize("mixture", [EVENLY, favouring(8.0), favouring(60.0)])
@pytest.mark.parametrize("rho", [1e-4, 0.01, 0.3])
def test_a_reading_is_allowed_and_hardly_less_is(mixture, rho):
    divergences = SOME * rho
    for delta in (1e-3, 1e-6, 1e-10):
        epsilon = mixture.epsilon(divergences, delta)
        assert mixture.allows(divergences, epsilon * (1 + 1e-9), delta)
        assert not mixture.allows(divergences, 0.999 * epsilon, delta)


def test_no_weights_beat_the_best_single_order():
    divergences, epsilon = SOME * 0.05, 2.0
    best = min(improved_delta(a, d, epsilon) for a, d in zip(SOME, divergences, strict=True))
    for mixture in (EVENLY, favouring(3.0), favouring(20.0), favouring(100.0)):
        assert mixture.log_delta(divergences, epsilon)[0] >= mpmath.log(best) - 1e-9


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 20.0])
@pytest.mark.parametrize("delta", [0.1, 1e-5, 1e-15])
def test_the_gaussian_filter_allows_exactly_what_the_curve_does(epsilon, delta):
    low, high = mpmath.mpf(0), mpmath.mpf(100)
    for _ in range(150):
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(middle, epsilon) <= delta else (low, middle)
    limit = float(low) ** 2
    assert GaussianFilter().allows(np.array([limit * (1 - 1e-9)]), epsilon, delta, NO_ORDER)
    assert not GaussianFilter().allows(np.array([limit * (1 + 1e-9)]), epsilon, delta, NO_ORDER)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 4.0])
def test_a_pure_release_is_as_gaussian_as_the_gaussian_filter_says(epsilon):
    mu = math.sqrt(GaussianFilter().measure(losses.ResponseLoss(epsilon))[0])
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
    found = GaussianFilter().measure(losses.ResponseLoss(epsilon))[0]
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
    rho = ConcentratedFilter(8.0).measure(loss)[0]
    assert (loss.renyi(orders) <= rho * orders * (1 + 1e-9)).all()


def test_filters_refuse_what_they_cannot_measure():
    sampled = losses.GaussianMixtureLoss((1.0,), (0.01,))
    assert GaussianFilter().measure(sampled)[0] == math.inf
    assert ConcentratedFilter(8.0).measure(sampled)[0] == math.inf
    assert np.isfinite(RenyiFilter().measure(sampled)).all()
    assert len(PureFilter().measure(sampled)) == 0


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0.1, 1e-6), (3.0, 1e-5), (8.0, 1e-9), (60.0, 0.01)]
)
def test_the_default_order_is_nearly_the_best_for_gaussians(epsilon, delta):
    budget = Budget(epsilon, delta)
    order = gaussian_order(budget)
    finer = 1 + np.geomspace(1e-3, 1e4, 20001)
    best = float((one_order(finer, epsilon, delta) / finer).max())
    assert one_order(np.array([order]), epsilon, delta)[0] / order >= 0.98 * best


@pytest.mark.parametrize(
    ("budget", "arguments", "words"),
    [
        (Budget(1.0, 1e-5), {"name": "magic"}, "unknown filter"),
        (Budget(1.0), {"name": "gdp"}, "delta above 0"),
        (Budget(1.0), {"order": 4.0}, "no order"),
        (Budget(1.0, 1e-5), {"name": "gdp", "order": 4.0}, "no order"),
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


def gaussian_limit():
    """The largest mu^2 with delta(EPSILON) <= DELTA."""
    low, high = 0.0, 100.0
    for _ in range(60):
        middle = (low + high) / 2
        fits = GaussianFilter().allows(np.array([middle]), EPSILON, DELTA, NO_ORDER)
        low, high = (middle, high) if fits else (low, middle)
    return low


def test_the_gaussian_filter_holds_against_an_adaptive_adversary_and_no_more_would():
    limit = gaussian_limit()
    rng = np.random.default_rng(7)
    mean, error = hockey_stick(adaptive_losses(TRIALS, limit, rng), EPSILON)
    assert mean <= DELTA + 4 * error
    # Power: with a quarter more, the same adversary is caught.
    mean, error = hockey_stick(adaptive_losses(TRIALS, 1.25 * limit, rng), EPSILON)
    assert mean > DELTA + 4 * error


def test_the_renyi_filter_holds_against_an_adaptive_adversary():
    each = ORDERS / 2000  # of mu^2 = 1/1000
    found = RenyiFilter()
    fixed, steps = found.certify(each, Aim(EPSILON, DELTA)), 1
    while found.allows(each * (steps + 1), EPSILON, DELTA, fixed):
        steps += 1
    limit = steps / 1000
    assert 0.5 * gaussian_limit() < limit < gaussian_limit()  # Renyi is looser than GDP
    mean, error = hockey_stick(adaptive_losses(TRIALS, limit, np.random.default_rng(8)), EPSILON)
    assert mean <= DELTA + 4 * error


def worst_excess(bound, steps, mu_squared, trials, rng):
    """E[(1 - e^{bound(t) - L_t})_+] of an adversary who stops where the loss is furthest above."""
    loss, best = np.zeros(trials), np.zeros(trials)
    for t in range(1, steps + 1):
        loss += rng.normal(mu_squared / 2, math.sqrt(mu_squared), trials)
        best = np.maximum(best, -np.expm1(np.minimum(bound(t) - loss, 0.0)))
    return best.mean(), best.std() / math.sqrt(trials)


def test_the_odometer_holds_at_a_time_chosen_by_the_adversary_where_a_fixed_bound_does_not():
    steps, mu_squared, delta, trials = 300, 0.02, 0.05, 20_000
    readings = [
        RenyiFilter().odometer(ORDERS * mu_squared / 2 * t, delta) for t in range(steps + 1)
    ]

    def fixed_time(t):  # right at any one time given in advance
        return gdp_epsilon(math.sqrt(mu_squared * t), delta)[1]

    rng = np.random.default_rng(9)
    mean, error = worst_excess(readings.__getitem__, steps, mu_squared, trials, rng)
    assert mean <= delta + 4 * error
    mean, error = worst_excess(fixed_time, steps, mu_squared, trials, rng)
    assert mean > 1.2 * delta + 4 * error
