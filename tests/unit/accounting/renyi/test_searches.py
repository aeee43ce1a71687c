"""Searches for orders and majorants, and the curves of one run, against dense grids and exact sums."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import dpcheck
from dpcheck.accounting.accountants.distribution import DistributionAccountant
from dpcheck.accounting.accountants.renyi import RenyiOptimal
from dpcheck.accounting.accountants.selected import SelectionAccountant, curve_above
from dpcheck.accounting.certify.gaussian import gdp_delta, gdp_deltas
from dpcheck.accounting.losses import (
    ConcentratedLoss,
    FiniteLoss,
    GaussianLoss,
    GaussianMixtureLoss,
    LaplaceLoss,
    SelectedLoss,
)
from dpcheck.accounting.renyi import majorant
from dpcheck.accounting.renyi.conversion import rdp_epsilon
from dpcheck.accounting.renyi.divergence import composed_renyi, expected_runs
from dpcheck.accounting.renyi.search import lowest_by_slopes, lowest_near

P, Q = (0.55, 0.35, 0.1), (0.3, 0.45, 0.25)


FUNCTIONS = [
    (lambda x: 1 + (x - 3.3) ** 2, 3.3),
    (lambda x: 2 + max(5 * (x - 1.7), 0.3 * (1.7 - x)), 1.7),
    (lambda x: 2 + max(0.3 * (x - 1.7), 5 * (1.7 - x)), 1.7),
    (lambda x: math.exp(0.1 * x) + math.exp(-2 * x), math.log(20) / 2.1),
    (lambda x: 3 + float(np.logaddexp(30 * (x - 2), 0)) - x / 10, 2 - math.log(299) / 30),
    (lambda x: 1 - x / 100 if x < 2 else math.inf, 2.0),
    (lambda x: 12 + x, -10.0),
    (lambda x: 1 - x / 100, 40.0),
]
ENDS = (-10.0, 40.0)
# A search begins where the function is finite.
SEARCHES = [
    (function, where, start)
    for function, where in FUNCTIONS
    for start in (-7.0, 0.4, 30.0)
    if math.isfinite(function(start))
]


@pytest.mark.parametrize(("function", "where", "start"), SEARCHES)
def test_the_lowest_point_is_found_from_afar(function, where, start):
    around = tuple((x, function(x)) for x in (start - 0.3, start, start + 0.3))
    found, value = lowest_near(function, around, 1e-8, ENDS)
    assert value == function(found)
    assert value <= function(where - 1e-9) * (1 + 3e-5) + 1e-12


@pytest.mark.parametrize(("function", "where", "start"), SEARCHES)
@pytest.mark.parametrize("bend", [0.01, 1.0, 100.0])
def test_the_lowest_point_is_found_by_slopes(function, where, start, bend):
    asked = 0

    def cost(x):
        nonlocal asked
        asked += 1
        value = function(x)
        return value, (value - function(x - 1e-7)) / 1e-7 if math.isfinite(value) else 0.0

    found = lowest_by_slopes(cost, start, bend, 1e-7, ENDS)
    assert function(found) <= function(where - 1e-9) * (1 + 3e-6) + 1e-12
    assert asked <= 61


def test_a_search_ends_where_no_float_is_left_between():
    # Up next to 3 and down beyond it: every step from 3 leads up, until there is none.
    edge, tried = 3.0, []

    def cost(x):
        tried.append(x)
        return (1.0, -1.0) if x == edge else (2.0, -1.0)

    assert lowest_by_slopes(cost, edge, 1e-30, 0.0, (-10.0, 10.0)) == edge
    assert len(tried) < 61


FAINT = [
    (dpcheck.SampledGaussian(270.16196471343403, 3.4149142767777078e-09), 1.3e-70),
    (dpcheck.SampledGaussian(90.86283266872726, 3.544390154265231e-07), 1.5e-91),
    (dpcheck.SampledGaussian(1165.4316952396223, 5.6406012132260224e-08), 1.5e-17),
]


@pytest.mark.parametrize(("event", "delta"), FAINT)
def test_faint_steps_at_faint_deltas_cost_no_more_than_without_sampling(event, delta):
    found = dpcheck.epsilon(event, delta=delta)
    plain = dpcheck.epsilon(dpcheck.Gaussian(event.noise_multiplier), delta=delta)
    assert 0 <= found.lower <= found.upper <= plain.upper


@settings(max_examples=200, deadline=None)
@given(
    log_gap=st.floats(-2.0, 6.0),
    log_divergence=st.floats(-10.0, 3.0),
    log_growth=st.floats(-10.0, 2.0),
    log_delta=st.floats(-25.0, -0.1),
)
def test_slopes_of_majorants_are_their_differences(log_gap, log_divergence, log_growth, log_delta):
    """In the order, along the tangent of the divergence, and in u; `excess` 0 is where that is 0."""
    delta, growth = math.exp(log_delta), math.exp(log_growth)

    def at(gap, u):
        divergence = math.exp(log_divergence) + growth * (gap - math.exp(log_gap))
        return majorant._touching(1 + gap, (divergence, growth), delta, u)

    u, h = math.log(2 * delta), 1e-5
    here = at(math.exp(log_gap), u)
    assume(1e-3 < here.epsilon < 1e3 and growth * math.exp(log_gap) < 10 * here.divergence)
    less, more = (at(math.exp(log_gap + step), u).epsilon for step in (-h, h))
    noise = 1e-9 * (1 + here.epsilon) / h
    assert here.slope == pytest.approx((more - less) / (2 * h), rel=1e-3, abs=noise)
    less, more = (at(math.exp(log_gap), u + step).epsilon for step in (-1e-3, 1e-3))
    grows = here.bend * math.expm1(here.excess)
    assert grows == pytest.approx((more - less) / 2e-3, rel=1e-2, abs=1e-9 * (1 + here.epsilon))


def _majorant(a, divergence, delta, t):
    """[Asoodeh2021] as `proof.optimal_epsilon` derives it, in plain numbers."""
    room = math.exp((a - 1) * divergence) - a * t ** (a - 1) + (a - 1) * t**a
    lam = delta / room
    y = (t ** (a - 1) + 1 / (a * lam)) ** (1 / (a - 1))
    return math.log(y * (1 - 1 / a) + lam * (a - 1) * t ** (a - 1) * (y - t))


@pytest.mark.parametrize(
    ("curve", "delta"),
    [
        (lambda a: 0.05 * a, 0.02),
        (lambda a: 0.02 + 0.001 * a, 0.03),
        (lambda a: composed_renyi(((LaplaceLoss(0.3), 1),), a), 0.05),
        (lambda a: np.minimum(0.03 * a, 0.4), 0.05),
    ],
)
def test_no_majorant_of_a_dense_grid_proves_less(curve, delta):
    found = rdp_epsilon(curve, delta).value
    orders = 1 + np.geomspace(0.05, 300.0, 400)
    values = curve(orders)
    known = math.inf
    for a, divergence in zip(orders.tolist(), values.tolist(), strict=True):
        for s in np.geomspace(1e-4, 1.0, 300):
            if (a - 1) * divergence < 300:
                known = min(known, _majorant(a, divergence, delta, max(1 - s, 1e-12)))
    assert found == pytest.approx(known, rel=2e-4)
    assert found <= known * (1 + 1e-6)


@settings(max_examples=60, deadline=None)
@given(log_mu=st.floats(-9.0, 2.5), epsilons=st.lists(st.floats(0.0, 50.0), min_size=1, max_size=5))
def test_many_deltas_of_a_gaussian_are_just_above_the_exact_ones(log_mu, epsilons):
    mu = 10.0**log_mu
    for found, epsilon in zip(gdp_deltas(mu, np.array(epsilons)), epsilons, strict=True):
        low, high = gdp_delta(mu, epsilon)
        assert low <= found <= high * (1 + 1e-9) + 1e-13


def _exact(p, q, epsilon):
    return math.fsum(max(a - math.exp(epsilon) * b, 0.0) for a, b in zip(p, q, strict=True))


@pytest.mark.parametrize("steps", [1, 3, 8])
@pytest.mark.parametrize("backwards", [False, True])
def test_one_lattice_proves_the_deltas_of_both_directions(steps, backwards):
    p, q = (Q, P) if backwards else (P, Q)
    law = DistributionAccountant().one_law(((FiniteLoss(p, q), steps),), 1e-2)
    points = np.linspace(0.0, 0.9 * steps, 25)
    found, noises = law.deltas(points)
    whole = [[math.prod(x) for x in itertools.product(side, repeat=steps)] for side in (p, q)]
    for value, noise, epsilon in zip(found, noises, points, strict=True):
        exact = max(_exact(*whole, epsilon), _exact(*whole[::-1], epsilon))
        assert value >= exact * (1 - 1e-12)
        if noise < 1e-4:
            assert value <= exact * 1.05 + 1e-6
    assert noises[0] < 1e-4  # the bulk is no place for errors


@pytest.mark.parametrize("shape", [0.0, 1.0, 2.0])
@pytest.mark.parametrize("delta", [1e-2, 1e-4])
def test_no_selection_among_runs_of_three_answers_costs_more(shape, delta):
    """Two runs' answers in any of several orders of preference, both ways, by the law of the best."""
    stop, steps = 0.2, 2
    event = dpcheck.FinitePair(P, Q) * steps
    bound = dpcheck.epsilon(
        dpcheck.RandomStopping(event, shape, stop), delta=delta, adjacency="add-remove"
    )
    assert bound.method == "selection"

    def generated(x):  # E x^K of the truncated negative binomial law [Papernot2022, Definition 1]
        if shape == 0:
            return math.log1p(-(1 - stop) * x) / math.log(stop)
        return ((1 - (1 - stop) * x) ** -shape - 1) / (stop**-shape - 1)

    whole = [
        np.array([math.prod(x) for x in itertools.product(side, repeat=steps)]) for side in (P, Q)
    ]
    rng = np.random.default_rng(5)
    orders = [np.argsort(whole[0] / whole[1]), np.argsort(whole[1] / whole[0])]
    orders += [rng.permutation(len(whole[0])) for _ in range(30)]
    for order in orders:
        best = [
            np.diff([generated(min(x, 1.0)) for x in np.append(0.0, np.cumsum(side[order]))])
            for side in whole
        ]
        for one, two in (best, best[::-1]):
            assert _exact(one, two, bound.upper) <= delta * (1 + 1e-9)


def _gaussian_delta(mu, epsilon):
    """[Balle2018b] Theorem 8, in digits enough for any shift."""
    with mpmath.workdps(60):
        mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
        near, far = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
        return mpmath.ncdf(near) - mpmath.exp(epsilon) * mpmath.ncdf(far)


def _crossing(falling, high):
    low = 0.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return high


@pytest.mark.parametrize("mu", [3e-6, 4e-4, 0.05, 1.0, 6.0])
@pytest.mark.parametrize(("shape", "stop"), [(0.0, 0.03), (1.0, 0.5), (3.0, 1e-4)])
@pytest.mark.parametrize("delta", [1e-9, 1e-4])
def test_selecting_among_gaussian_runs_costs_what_bisection_says(mu, shape, stop, delta):
    odds = (1 - stop) / stop
    cost = _crossing(lambda e: math.log1p(odds * float(_gaussian_delta(mu, e))) - e, 50.0)
    wanted = delta / expected_runs(shape, stop)
    one = _crossing(lambda e: float(_gaussian_delta(mu, e)) - wanted, 100.0)
    exact = one + (1 + shape) * cost
    parts = ((SelectedLoss(((GaussianLoss(mu), 1),), shape, stop), 1),)
    assert exact * (1 - 1e-9) <= SelectionAccountant().epsilon(parts, delta) <= exact * (1 + 6e-5)


@pytest.mark.parametrize("rho", [1e-5, 0.004, 0.05, 1.5, 6.0])
@pytest.mark.parametrize(("shape", "stop"), [(0.0, 0.03), (1.0, 0.5), (3.0, 0.08)])
def test_selecting_among_concentrated_runs_costs_what_bisection_says(rho, shape, stop):
    odds, delta = (1 - stop) / stop, 1e-6
    inner = ((ConcentratedLoss(rho, rho / 3), 1),)

    def proved(at):
        return RenyiOptimal().epsilon(inner, at)

    most = math.log1p(odds) * (1 - 1e-9)
    cost = _crossing(lambda e: proved(math.expm1(e) / odds) - e, most)
    exact = proved(delta / expected_runs(shape, stop)) + (1 + shape) * cost
    parts = ((SelectedLoss(inner, shape, stop), 1),)
    assert SelectionAccountant().epsilon(parts, delta) == pytest.approx(exact, rel=6e-5)


def test_deltas_that_are_faint_beyond_an_epsilon_are_not_asked_for_one_by_one(monkeypatch):
    asked = []
    deltas = DistributionAccountant.deltas

    def counted(self, parts, epsilons):
        asked.extend(epsilons.tolist())
        return deltas(self, parts, epsilons)

    monkeypatch.setattr(DistributionAccountant, "deltas", counted)
    mu, rate = 0.01, 0.3
    parts = ((GaussianMixtureLoss((mu,), (rate,)), 1),)
    excess = np.array([1e-3, 1e-2, 0.1, 1.0])  # corners, where no line is drawn
    found = curve_above(parts, excess, 6593.0)
    assert 0 < len(asked) < 20
    for value, above in zip(excess.tolist(), found.tolist(), strict=True):
        # (1 - r) Q + r P - y Q = r (P - (1 + (y - 1)/r) Q), of a Gaussian; the other direction is less.
        with mpmath.workdps(50):
            epsilon = mpmath.log1p(mpmath.mpf(value) / rate)
            near = mpmath.ncdf(mpmath.mpf(mu) / 2 - epsilon / mu)
            far = mpmath.ncdf(-mpmath.mpf(mu) / 2 - epsilon / mu)
            exact = rate * (near - mpmath.exp(epsilon) * far)
        # The lattice of the large deltas is a little coarse for small ones.
        assert exact <= above <= exact * 1.05 + 1e-9
