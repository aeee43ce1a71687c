"""Divergences and conversions against 40-digit integrals, closed forms and a naive optimiser."""

import math

import mpmath
import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.optimize import brentq

import dpcheck
from dpcheck.accounting import losses
from dpcheck.accounting.renyi.closed_forms import sampled_gaussian_theorem
from dpcheck.accounting.renyi.conversion import (
    Conversion,
    improved,
    optimal,
    rdp_delta,
    rdp_epsilon,
)
from dpcheck.accounting.renyi.moments import laplace_log_moment, mixture_log_moments
from dpcheck.core.errors import TheoremConditionViolated, UnknownName


def mixture_log_moment(shifts, weights, exponent):
    return float(mixture_log_moments(shifts, weights, (exponent,))[0][0])


def gaussian_moment(shifts, weights, exponent):
    """log E (1 + v)^t by adaptive quadrature at 40 digits."""
    with mpmath.workdps(40):

        def integrand(x):
            base = 1 + sum(
                mpmath.mpf(w) * mpmath.expm1(mpmath.mpf(s) * x - mpmath.mpf(s) ** 2 / 2)
                for s, w in zip(shifts, weights, strict=True)
            )
            return mpmath.npdf(x) * base ** mpmath.mpf(exponent)

        low = -16 + min(exponent, 0.0) * max(shifts)
        high = 16 + max(exponent, 1.0) * max(shifts)
        points = [mpmath.mpf(p) for p in np.linspace(low, high, int(high - low) // 2 + 2)]
        return mpmath.log(mpmath.quad(integrand, points))


@pytest.mark.parametrize("seed", range(10))
def test_mixture_moment_matches_quadrature(seed):
    rng = np.random.default_rng(seed)
    mu, q = float(10 ** rng.uniform(-2, 0.15)), float(10 ** rng.uniform(-6, -0.1))
    exponent = (
        float(1 + 10 ** rng.uniform(-2, 0.8)) if seed % 3 else -float(10 ** rng.uniform(-1, 1))
    )
    shifts, weights = ((mu,), (q,)) if seed % 2 else ((mu, 2 * mu), (0.9 * q, 0.1 * q))
    expected = gaussian_moment(shifts, weights, exponent)
    assert mixture_log_moment(shifts, weights, exponent) == pytest.approx(
        float(expected), rel=1e-11
    )


def test_mixture_moment_keeps_its_digits_when_tiny():
    # To second order log E = t(t-1)/2 q^2 (e^{mu^2} - 1).
    q = 1e-12
    found = mixture_log_moment((1.0,), (q,), 3.0)
    assert found == pytest.approx(3 * q**2 * math.expm1(1.0), rel=1e-9)


def test_moments_together_are_moments_alone():
    together, _ = mixture_log_moments((0.7,), (0.02,), (1.01, 1.7, 9.0, 300.0, 4000.0))
    alone = [mixture_log_moment((0.7,), (0.02,), t) for t in (1.01, 1.7, 9.0, 300.0, 4000.0)]
    np.testing.assert_allclose(together, alone, rtol=1e-12)


def test_mixture_moment_when_huge():
    found = mixture_log_moment((5.0,), (0.5,), 40.0)
    # (1/2)^40 e^{40*39*25/2} dominates.
    assert found == pytest.approx(40 * math.log(0.5) + 40 * 39 * 25 / 2, rel=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_laplace_moment_matches_quadrature(seed):
    rng = np.random.default_rng(100 + seed)
    r, q = float(10 ** rng.uniform(-2, 0.8)), float(10 ** rng.uniform(-5, -0.1))
    t = float(1 + 10 ** rng.uniform(-2, 1.3)) if seed % 2 else -float(10 ** rng.uniform(-1, 1))
    with mpmath.workdps(40):
        ratio, rate, power = mpmath.mpf(r), mpmath.mpf(q), mpmath.mpf(t)
        pieces = int(r * (1 + abs(t))) + 2
        middle = mpmath.quad(
            lambda x: mpmath.exp(-x) / 2 * (1 + rate * mpmath.expm1(2 * x - ratio)) ** power,
            [ratio * k / pieces for k in range(pieces + 1)],
        )
        tails = (1 + rate * mpmath.expm1(-ratio)) ** power / 2
        tails += mpmath.exp(-ratio) / 2 * (1 + rate * mpmath.expm1(ratio)) ** power
        expected = float(mpmath.log(middle + tails))
    assert laplace_log_moment(r, q, t)[0] == pytest.approx(expected, rel=1e-11)


ORDERS = np.array([1.05, 1.7, 2.0, 4.5, 16.0])


def finite_divergence(p, q, order):
    with mpmath.workdps(50):
        total = mpmath.fsum(
            mpmath.mpf(a) ** mpmath.mpf(order) * mpmath.mpf(b) ** (1 - mpmath.mpf(order))
            for a, b in zip(p, q, strict=True)
        )
        return mpmath.log(total) / (mpmath.mpf(order) - 1)


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 8.0, 40.0])
def test_response_matches_its_definition(epsilon):
    with mpmath.workdps(60):
        heads = mpmath.exp(epsilon) / (1 + mpmath.exp(epsilon))
        pair = [heads, 1 - heads]
        for order, found in zip(ORDERS, losses.ResponseLoss(epsilon).renyi(ORDERS), strict=True):
            exact = finite_divergence(pair, pair[::-1], order)
            assert exact <= found <= exact * (1 + mpmath.mpf(10) ** -11)


@pytest.mark.parametrize("ratio", [1e-5, 0.05, 1.0, 12.0, 200.0])
def test_laplace_matches_its_closed_form(ratio):
    with mpmath.workdps(60):
        for order, found in zip(ORDERS, losses.LaplaceLoss(ratio).renyi(ORDERS), strict=True):
            a, r = mpmath.mpf(float(order)), mpmath.mpf(ratio)
            inside = a / (2 * a - 1) * mpmath.exp((a - 1) * r)
            inside += (a - 1) / (2 * a - 1) * mpmath.exp(-a * r)
            exact = mpmath.log(inside) / (a - 1)
            assert exact <= found <= exact * (1 + mpmath.mpf(10) ** -9)


def test_discrete_laplace_matches_a_direct_sum():
    scale, shift = 1.7, 3
    x = np.arange(-400, 401)
    mass = np.exp(-np.abs(x) / scale)
    p, q = np.exp(-np.abs(x - shift) / scale) / mass.sum(), mass / mass.sum()
    for order, found in zip(
        ORDERS, losses.DiscreteLaplaceLoss(scale, shift).renyi(ORDERS), strict=True
    ):
        assert found == pytest.approx(float(finite_divergence(p, q, order)), rel=1e-9)


def test_discrete_gaussian_is_covered():
    scale, shift = 1.3, 2
    x = np.arange(-40, 41)
    mass = np.exp(-(x**2) / (2 * scale**2))
    p, q = np.exp(-((x - shift) ** 2) / (2 * scale**2)) / mass.sum(), mass / mass.sum()
    for order, found in zip(
        ORDERS, losses.DiscreteGaussianLoss(scale, shift).renyi(ORDERS), strict=True
    ):
        exact = float(finite_divergence(p, q, order))
        assert exact * (1 - 1e-9) <= found <= exact * 1.05


def test_bounded_range_is_the_worst_two_point_pair():
    epsilon = 1.3
    grid = np.linspace(1e-6, epsilon - 1e-6, 4001)
    heads = (1 - np.exp(grid - epsilon)) / (np.exp(grid) - np.exp(grid - epsilon))
    for order, found in zip(ORDERS, losses.BoundedRangeLoss(epsilon).renyi(ORDERS), strict=True):
        moment = heads * np.exp(order * grid) + (1 - heads) * np.exp(order * (grid - epsilon))
        worst = np.log(moment).max() / (order - 1)
        assert worst <= found + 1e-12
        assert found == pytest.approx(worst, rel=1e-5)


@pytest.mark.parametrize("base", [losses.GaussianLoss(0.8), losses.LaplaceLoss(0.8)])
def test_replaced_sample_covers_opposite_and_equal_records(base):
    """Direct integration of (1-q) M(0) + q M(x) against x' for several records on the line."""
    q = 0.1
    x = np.linspace(-25, 25, 250_001)

    def density(at):
        if isinstance(base, losses.GaussianLoss):
            return np.exp(-((x - at * base.mu) ** 2) / 2) / math.sqrt(2 * math.pi)
        return np.exp(-np.abs(x - at * base.ratio)) / 2

    bound = losses.ReplacedSampleLoss(base, q).renyi(ORDERS)
    for one, two in ((1, -1), (1, 0), (0, 1), (1, 0.5), (-1, 1)):
        p = (1 - q) * density(0) + q * density(one)
        r = (1 - q) * density(0) + q * density(two)
        for order, upper in zip(ORDERS, bound, strict=True):
            moment = trapezoid(p * np.exp((order - 1) * (np.log(p) - np.log(r))), x)
            assert math.log(moment) / (order - 1) <= upper + 1e-9


def test_without_replacement_covers_the_line():
    """All other records at one end, at 0 or at the other end; the record itself swaps sides."""
    mu, q = 1.2, 0.2
    x = np.linspace(-25, 25, 250_001)
    bound = losses.WithoutReplacementLoss(mu, q).renyi(ORDERS)

    def density(at):
        return np.exp(-((x - at * mu / 2) ** 2) / 2) / math.sqrt(2 * math.pi)

    for others in (-1, 0, 1):  # mu is 2C over sigma, so a record sits between -mu/2 and mu/2
        p = (1 - q) * density(others) + q * density(1)
        r = (1 - q) * density(others) + q * density(-1)
        for order, upper in zip(ORDERS, bound, strict=True):
            moment = trapezoid(p * np.exp((order - 1) * (np.log(p) - np.log(r))), x)
            assert math.log(moment) / (order - 1) <= upper + 1e-9


def test_groups_cost_more_and_gaussian_groups_are_exact():
    event = dpcheck.SampledGaussian(2.0, 0.05)
    costs = [dpcheck.rdp(dpcheck.Grouped(event, k), order=4).upper for k in (1, 2, 3)]
    assert costs[0] < costs[1] < costs[2]
    whole = dpcheck.rdp(dpcheck.Grouped(dpcheck.Gaussian(3.0), 3), order=4).upper
    assert whole == pytest.approx(dpcheck.rdp(dpcheck.Gaussian(1.0), order=4).upper)


def naive_optimal(order, divergence, delta):
    """The largest epsilon of any two-point pair with this divergence: primal, where ours is dual."""
    moment = math.exp((order - 1) * divergence)
    best = 0.0
    for low in 1 - np.geomspace(1, 1e-7, 3000):

        def excess(log_high, low=low):
            high = math.exp(log_high)
            return low**order + (1 - low) * (high**order - low**order) / (high - low) - moment

        if excess(1e-9) > 0 or excess(60.0 / order + divergence + 5) < 0:
            continue
        high = math.exp(brentq(excess, 1e-9, 60.0 / order + divergence + 5))
        weight = (1 - low) / (high - low)
        if high - delta / weight > 0:
            best = max(best, math.log(high - delta / weight))
    return best


@pytest.mark.parametrize(
    ("order", "divergence", "delta"),
    [(2.0, 0.5, 1e-2), (5.0, 1.0, 1e-5), (1.5, 0.1, 0.05), (20.0, 0.3, 1e-3), (3.0, 0.01, 0.01)],
)
def test_optimal_conversion_matches_the_primal_problem(order, divergence, delta):
    found = optimal(order, divergence, delta)
    expected = naive_optimal(order, divergence, delta)
    assert found >= expected - 1e-9
    assert found == pytest.approx(expected, abs=2e-4)
    assert found <= float(improved(np.array([order]), np.array([divergence]), delta)[0])


def test_conversions_are_ordered_and_orders_are_continuous():
    values = [rdp_epsilon(lambda a: a / 2, 1e-5, name).value for name in Conversion]
    assert values == sorted(values, reverse=True)
    # Classic: D = a/2, minimise a/2 + L/(a-1): a = 1 + sqrt(2L), value (1 + 2 sqrt(2L))/2.
    log = math.log(1e5)
    assert values[0] == pytest.approx(0.5 + math.sqrt(2 * log), rel=1e-9)


def test_delta_inverts_epsilon():
    epsilon = rdp_epsilon(lambda a: a / 2, 1e-5, Conversion.IMPROVED).value
    assert rdp_delta(lambda a: a / 2, epsilon).value == pytest.approx(1e-5, rel=1e-5)


def test_unknown_conversion():
    with pytest.raises(UnknownName, match="rdp-classic"):
        dpcheck.epsilon(dpcheck.Gaussian(1.0), delta=1e-5, method="rdp-best")


@pytest.mark.parametrize(
    ("noise", "rate", "order", "condition"),
    [
        (6.0, 0.3, 2.0, "q <= 1/5"),
        (2.0, 0.1, 2.0, "sigma >= 4"),
        (6.0, 0.1, 1.0, "order > 1"),
        (6.0, 0.1, 500.0, "order <="),
    ],
)
def test_theorem_refuses_outside_its_conditions(noise, rate, order, condition):
    with pytest.raises(TheoremConditionViolated, match="DPC201") as caught:
        sampled_gaussian_theorem(noise, rate, order)
    assert condition in caught.value.data["condition"]


def test_theorem_covers_the_exact_divergence():
    for order in (1.5, 4.0, 10.0):
        exact = dpcheck.rdp(dpcheck.SampledGaussian(6.0, 32 / 539), order=order).upper
        assert exact <= sampled_gaussian_theorem(6.0, 32 / 539, order) <= 5 * exact


def test_selection_costs_what_the_theorem_says():
    # [Papernot2022] Theorem 2 with logarithmic stopping, pure mechanism: at most 2 eps as order grows.
    pure = dpcheck.epsilon(dpcheck.RandomStopping(dpcheck.PureDP(0.5), 0.0, 0.01))
    assert pure.upper == pytest.approx(1.0)
    geometric = dpcheck.epsilon(dpcheck.RandomStopping(dpcheck.PureDP(0.5), 1.0, 0.01))
    assert geometric.upper == pytest.approx(1.5)
    tuned = dpcheck.RandomStopping(dpcheck.Gaussian(10.0), 0.0, 0.1)
    best = min(
        a / 200 + (1 - 1 / b) * b / 200 + math.log(10) / b + math.log(9 / math.log(10)) / (a - 1)
        for a in (20.0,)
        for b in np.linspace(2, 200, 2000)
    )
    assert dpcheck.rdp(tuned, order=20).upper == pytest.approx(best, rel=1e-3)


@pytest.mark.parametrize("shift", [1e-3, 4e-3, 0.3, 1.0, 5.0])
def test_moments_of_the_excess_ratio_are_not_below_their_closed_form(shift):
    # E |r - 1|^j of even j is a binomial sum of E r^k = e^{k (k-1) s^2/2}. Small shifts have their peak at
    # sqrt(j) standard deviations, which a grid that ends at 14 cut off.
    from flint import arb

    from dpcheck.accounting.renyi.moments import excess_log_moments
    from dpcheck.numerics.balls import precision

    positive, both = excess_log_moments(shift, 256)
    with precision(4000):
        half = arb(shift) ** 2 / 2
        grown = [(k * (k - 1) * half).exp() for k in range(257)]
        for j in (2, 4, 18, 100, 200, 256):
            signed = (math.comb(j, k) * (-1) ** (j - k) * grown[k] for k in range(j + 1))
            true = sum(signed, arb(0)).log()
            off = float(arb(float(both[j - 2])) - true)
            assert 0 <= off <= 1e-8, (j, off)
            assert positive[j - 2] <= both[j - 2]
