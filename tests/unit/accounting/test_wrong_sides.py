"""Bounds that once lay on the wrong side of the truth, each by its smallest example."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import dpcheck
from dpcheck.accounting import losses
from dpcheck.accounting.accountants.best import ACCOUNTANTS, deltas_upper
from dpcheck.accounting.accountants.gaussian import gdp_epsilon
from dpcheck.accounting.accountants.interface import AccountingMethod
from dpcheck.accounting.curves import from_curve
from dpcheck.accounting.pairs.pair import composed_largest_loss
from dpcheck.accounting.pld.built import build
from dpcheck.accounting.pld.distribution import pld_epsilon
from dpcheck.accounting.pld.pairs.atoms import ATOM_UNITS
from dpcheck.accounting.renyi.divergence import composed_renyi, composed_renyi_lower
from dpcheck.accounting.renyi.moments import (
    _NODES,
    _WEIGHTS,
    laplace_log_moment,
    mixture_log_moments,
)
from dpcheck.accounting.sides import OneSide
from dpcheck.numerics.rounding import UNIT
from dpcheck.numerics.side import Side


def true_moment(shifts, weights, t):
    """log E (1 + v)^t by the trapezoidal rule at 100 digits, weights taken as the floats they are."""
    widest = max(shifts)
    angle = math.pi if t > 0 and len(shifts) == 1 else math.pi / 2
    angle = min(angle, 1 / math.sqrt(-t)) if t < 0 else angle
    strip = min(0.98 * angle / widest, 12.0)
    with mpmath.workdps(100):
        h = mpmath.mpf(2 * math.pi * strip / (120 + strip**2 / 2))
        s, w, power = (
            [mpmath.mpf(x) for x in shifts],
            [mpmath.mpf(x) for x in weights],
            mpmath.mpf(t),
        )
        rest = max(1 - mpmath.fsum(w), mpmath.mpf(0))
        total = mpmath.mpf(0)
        low, high = -15.5 + min(t, 0) * widest, 15.5 + max(t, 1) * widest
        for k in range(int(low / h) - 1, int(high / h) + 2):
            x = k * h
            v = mpmath.fsum(b * mpmath.expm1(a * x - a * a / 2) for a, b in zip(s, w, strict=True))
            base = 1 + v
            if v < -0.5:
                grown = (b * mpmath.exp(a * x - a * a / 2) for a, b in zip(s, w, strict=True))
                base = rest + mpmath.fsum(grown)
            total += (base**power - 1 - power * v) * mpmath.exp(-x * x / 2)
        return mpmath.log1p(total * h / mpmath.sqrt(2 * mpmath.pi))


@pytest.mark.parametrize(
    ("shifts", "weights"),
    [
        (
            (8.0, 8.3, 8.6),
            (0.1, 0.2, 0.7),
        ),  # 2.8e-17 short of 1, though the sum of the floats is 1.0
        ((8.0, 8.3), (0.3, 0.7 - 2 * 2.0**-53)),
        ((8.0, 8.3), (0.5 - 2.0**-55, 0.5 - 2.0**-54)),
        ((6.0, 9.0), (0.999, 0.001 - 2e-15)),
        ((0.01, 0.02), (0.5, 0.5 - 2.0**-54)),
    ],
)
@pytest.mark.parametrize("exponent", [-1e-9, -0.2, -1.0])
def test_negative_moments_of_weights_that_nearly_add_up_to_one(shifts, weights, exponent):
    (found,), (error,) = mixture_log_moments(shifts, weights, (exponent,))
    truth = true_moment(shifts, weights, exponent)
    assert abs(mpmath.mpf(float(found)) - truth) <= error
    assert error <= 1.1e-10 * found


@pytest.mark.parametrize(
    ("shifts", "weights", "order"),
    [
        ((1.0,), (0.01,), 1 + 1e-7),
        ((1.0,), (0.01,), 1 + 1e-10),
        ((0.1, 2.0), (0.01, 0.3), 1 + 1e-9),
        ((12.0, 0.5), (1e-5, 1e-3), 1 + 1e-8),
        ((30.0,), (1e-19,), 1.001),
        ((30.0,), (1e-6,), 1.001),
        ((1e-6,), (0.5,), 3.0),
        ((0.02,), (1e-3,), 3e4),  # exponents of 2e5: their rounding is more than 1e-10
    ],
)
def test_divergences_at_orders_next_to_one_and_of_steep_shifts(shifts, weights, order):
    loss = losses.GaussianMixtureLoss(shifts, weights)
    at = np.array([order])
    truth = true_moment(shifts, weights, order) / (mpmath.mpf(order) - 1)
    assert loss.renyi_lower(at)[0] <= truth <= loss.renyi(at)[0]


@pytest.mark.parametrize(
    ("ratio", "rate", "exponent"),
    [
        (40.0, 1 - 2.0**-53, -1.0),
        (36.0, 1 - 2.0**-53, -2.0),
        (20.0, 0.3, 1 + 1e-9),
        (1.0, 0.1, -1e-9),
    ],
)
def test_laplace_moments_at_rates_next_to_one_and_orders_next_to_one(ratio, rate, exponent):
    with mpmath.workdps(45):
        r, q, t = mpmath.mpf(ratio), mpmath.mpf(rate), mpmath.mpf(exponent)

        def excess(loss):
            v = q * mpmath.expm1(loss)
            return (1 + v) ** t - 1 - t * v

        pieces = mpmath.linspace(0, r, int(ratio) + 2)
        middle = mpmath.quad(lambda x: mpmath.exp(-x) / 2 * excess(2 * x - r), pieces)
        truth = mpmath.log1p(middle + mpmath.exp(-r) / 2 * excess(r) + excess(-r) / 2)
        found, error = laplace_log_moment(ratio, rate, exponent)
        assert abs(mpmath.mpf(found) - truth) <= error <= 2e-10 * found


def test_a_lower_lattice_sees_what_the_weights_leave():
    # Backwards no loss is above log(1/rest), however far the shifts are.
    weights = (0.1, 0.2, 0.7)
    rest = 1 - sum(map(Fraction, weights))
    loss = losses.GaussianMixtureLoss((10.0, 15.0, 20.0), weights, backwards=True)
    assert pld_epsilon([(loss, 1)], 1e-5, Side.LOWER) <= -math.log(rest) + 1e-9


@pytest.mark.parametrize(("ratio", "rate"), [(30.0, 1 - 2.0**-53), (12.0, 0.99999), (3.0, 0.9)])
@pytest.mark.parametrize("backwards", [False, True])
def test_atoms_of_sampled_laplace_noise_at_rates_next_to_one(ratio, rate, backwards):
    pair = build(losses.SampledLaplaceLoss(ratio, rate, backwards), Side.UPPER)
    with mpmath.workdps(60):
        r, q = mpmath.mpf(ratio), mpmath.mpf(rate)
        ends = [mpmath.log(1 - q + q * mpmath.exp(sign * r)) for sign in (-1, 1)]
        for found, true in zip(
            pair.atoms.known, sorted(-x if backwards else x for x in ends), strict=True
        ):
            assert abs(mpmath.mpf(float(found)) - true) <= ATOM_UNITS * UNIT * (1 + abs(true))


def test_probabilities_above_one_are_scaled_to_both_sides():
    event = dpcheck.MixtureGaussian(1.0, (1.0, 2.0), (0.3, 0.7 + 1e-10))
    from dpcheck.accounting.worst_case import worst_case
    from dpcheck.core.adjacency import Adjacency

    bounds = worst_case(event, Adjacency.ADD_REMOVE)
    total = sum(map(Fraction, event.probabilities))
    for more, exact, fewer in zip(
        bounds.upper.weights, event.probabilities, bounds.lower.weights, strict=True
    ):
        assert Fraction(fewer) <= Fraction(exact) / total <= Fraction(more)


def test_steep_trade_offs_do_not_claim_what_a_clipped_exponential_says():
    # f(a) <= e^-1000 / (4 a) for Laplace noise of ratio 1000.
    assert dpcheck.tradeoff(dpcheck.Laplace(0.001), 1e-310).lower < 1e-100


def test_rare_groups_are_not_sampled_at_less_than_their_rate():
    both = losses.OppositeMixtureLoss((1.0, 2.0), (1.4e-16, 4.9e-33))  # two records at 7e-17
    one = losses.GroupedLoss(losses.ReplacedSampleLoss(losses.GaussianLoss(1.0), 6.99e-17), 2)
    assert both.renyi(np.array([2.0]))[0] >= one.renyi(np.array([2.0]))[0] > 0


def test_sampled_losses_beyond_the_range_of_balls():
    assert losses.SampledLoss(((losses.LaplaceLoss(1e9), 1),), 0.5).largest()[1] >= 1e9 - 1
    huge = ((losses.LaplaceLoss(1e308), 10),)
    assert composed_largest_loss(huge)[1] == math.inf


def test_selection_is_rounded_up():
    for shape in (0.1, 0.3, 1.7):
        for epsilon in (0.1, 0.7, 1.3):
            inner = ((losses.ResponseLoss(epsilon), 1),)
            found = losses.SelectedLoss(inner, shape, 0.5).largest()[1]
            assert Fraction(found) >= (2 + Fraction(shape)) * Fraction(epsilon)


def test_runs_that_hardly_repeat_keep_their_digits():
    # log of the mean number of runs is about (1 - stop)(1 + shape)/2 where stop is next to 1.
    loss = losses.SelectedLoss(((losses.GaussianLoss(1e-9), 1),), 2.0, 1 - 1e-10)
    assert loss.renyi(np.array([2.0]))[0] >= 1.5e-10


def test_squares_of_huge_shifts():
    mu = 1.35e154
    assert gdp_epsilon(mu, 1e-5)[0] <= Fraction(mu) ** 2 / 2 + 100 * Fraction(mu)


def test_variation_does_not_underflow_to_nothing():
    parts = ((losses.GaussianMixtureLoss((1e-308,), (1e-300,)), 1),)
    assert ACCOUNTANTS[AccountingMethod.VARIATION].epsilon(parts, 0.0) == math.inf


def test_failures_at_an_epsilon_beyond_the_exponential():
    side = OneSide((), Fraction(0), 1e-320)
    assert deltas_upper(side, np.array([720.0]), ACCOUNTANTS[AccountingMethod.PURE])[0] >= 5e-8


def test_faint_outcomes_of_tables_at_large_orders():
    p, order = 1e-300 * math.exp(1e-3), 7e5
    loss = losses.FiniteLoss((p, 1 - p), (1e-300, 1 - 1e-300))
    with mpmath.workdps(60):
        ratio = mpmath.mpf(p) / mpmath.mpf(1e-300)
        truth = mpmath.log(mpmath.mpf(1e-300) * ratio**order + 1) / (order - 1)
    at = np.array([order])
    assert loss.renyi_lower(at)[0] <= truth <= loss.renyi(at)[0]


def test_squares_that_underflow_before_a_large_order():
    at = np.array([1e40])
    parts = ((losses.GaussianLoss(1e-160), 1),)
    truth = Fraction(1e40) * Fraction(1e-160) ** 2 / 2
    assert composed_renyi_lower(parts, at)[0] <= truth <= composed_renyi(parts, at)[0]
    tiny = ((losses.LaplaceLoss(1.3e-160), 1),)
    assert composed_renyi_lower(tiny, np.array([2.0]))[0] == 0


def test_measures_of_curves_lie_above_them_everywhere():
    # Exactly, at every point of the lattice and at y = 0.
    step, first, count = 1e-3, -3000, 6001
    epsilons = (first + np.arange(count)) * step
    deltas = np.maximum(-np.expm1(np.minimum(epsilons, 0.0)), 0.0) + 1e-9 * np.exp(-3 * epsilons)
    deltas = np.minimum(deltas, 1.0)
    _, masses, infinite = from_curve(step, first, deltas)
    assert Fraction(infinite) + sum(map(Fraction, masses)) >= 1
    with mpmath.workdps(40):
        decay, sums, value = mpmath.exp(-mpmath.mpf(step)), mpmath.mpf(0), mpmath.mpf(infinite)
        for i in range(count - 1, -1, -1):
            value += (1 - decay) * sums
            assert value >= deltas[i]
            sums = mpmath.mpf(masses[i]) + decay * sums


def test_gauss_legendre_nodes_and_weights():
    from flint import arb

    for i, (node, weight) in enumerate(zip(_NODES[::-1], _WEIGHTS[::-1], strict=True)):
        root, true_weight = arb.legendre_p_root(24, i, weight=True)
        assert abs(root - arb(float(node))) < 4 * UNIT
        # numpy's weights are right within 1e-12, a hundredth of RELATIVE_ERROR.
        assert abs(true_weight / arb(float(weight)) - 1) < 1e-12


def test_renyi_answers_say_what_their_arithmetic_assumes():
    event = dpcheck.SampledGaussian(1.0, 0.01) * 100
    for bound in (dpcheck.epsilon(event, delta=1e-5, method="rdp"), dpcheck.rdp(event, 8.0)):
        assert any("elementary functions" in text for text in bound.assumes)
    exact = dpcheck.epsilon(dpcheck.Gaussian(1.0), delta=1e-5)
    assert not any("elementary functions" in text for text in exact.assumes)


def test_bounded_ranges_at_huge_orders():
    """At orders beyond 1e17 the loss next to the range was lost in rounding, and the divergence with it."""
    loss = losses.BoundedRangeLoss(0.026134224680499866)
    orders = np.array([2.0, 1e4, 1e8, 1e12, 1e16, 1e18, 1e30])
    found = loss.renyi(orders)
    assert (np.diff(found) >= -1e-12).all()
    with mpmath.workdps(80):
        e = mpmath.mpf(loss.epsilon)
        for order, value in zip(orders.tolist(), found.tolist(), strict=True):
            a = mpmath.mpf(order)
            # The loss is t or t - e; the worst t is stationary.
            t = mpmath.log((a - 1) / a * -mpmath.expm1(-a * e) / -mpmath.expm1((1 - a) * e)) + e
            head = mpmath.expm1(t - e) / mpmath.expm1(-e) * mpmath.exp(-t)
            moment = head * mpmath.exp(a * t) + (1 - head) * mpmath.exp(a * (t - e))
            assert mpmath.log(moment) / (a - 1) <= value <= loss.epsilon * (1 + 1e-12)


@pytest.mark.parametrize("t", [1 + 1e-12, 1 + 1e-6, 1.001, 3.0, -2.0])
def test_steep_sampled_laplace_moments_whose_masses_underflow(t):
    """Masses of e^-740 were raised to 1e-320: the lower side at order 1 + 1e-12 was 5e12."""
    ratio, rate = 1 / 0.0013406527420924573, 0.0015362966149510993
    value, error = laplace_log_moment(ratio, rate, t)
    with mpmath.workdps(50):
        r, q, power = mpmath.mpf(ratio), mpmath.mpf(rate), mpmath.mpf(t)

        def grown(loss):
            return (1 + q * mpmath.expm1(loss)) ** power

        between = mpmath.quad(
            lambda x: mpmath.exp(-x) / 2 * grown(2 * x - r), mpmath.linspace(0, r, 120)
        )
        truth = mpmath.log(between + mpmath.exp(-r) / 2 * grown(r) + grown(-r) / 2)
    assert abs(truth - value) <= error <= 1e-8
    event = dpcheck.SampledLaplace(1 / ratio, rate)
    if t > 1:
        assert dpcheck.rdp(event, t, adjacency="add-remove").lower <= truth / (t - 1)
