"""Answers in the corners: tiny epsilons, one-sided bounds, adjacency; truth at 60 digits."""

import math
from fractions import Fraction
from itertools import combinations, pairwise

import mpmath
import numpy as np
import pytest

import dpcheck
from dpcheck.accounting.accountants.best import METHODS
from dpcheck.core.errors import UnsupportedAdjacency
from dpcheck.core.events.event import Moved
from dpcheck.numerics.enclose import (
    enclose,
    enclose_norm,
    enclose_product,
    enclose_quotient,
    enclose_ratio,
    enclose_root,
    enclose_root_ratio,
)

mp = mpmath.mp.clone()
mp.dps = 60


def gaussian_delta(mu, epsilon):
    mu, epsilon = mp.mpf(mu), mp.mpf(epsilon)
    return mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)


def sampled_laplace_delta(ratio, rate, epsilon):
    """Remove direction: the mixture over Laplace(0, 1), loss log(1 + q (e^l - 1)) for l in [-r, r]."""
    ratio, rate, epsilon = mp.mpf(ratio), mp.mpf(rate), mp.mpf(epsilon)
    inner = mp.log1p(mp.expm1(epsilon) / rate)
    if inner >= ratio:
        return mp.mpf(0)
    base = 1 - mp.exp((inner - ratio) / 2)  # delta of the unsampled mechanism at `inner`
    return rate * base


def true_epsilon(curve, delta, high):
    """The root of a decreasing curve by bisection."""
    if curve(mp.mpf(0)) <= delta:
        return mp.mpf(0)
    low, high = mp.mpf(0), mp.mpf(high)
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if curve(middle) > delta else (low, middle)
    return high


@pytest.mark.parametrize(
    ("event", "delta", "curve", "high"),
    [
        (dpcheck.GDP(3.76e-7), 8.12e-8, lambda e: gaussian_delta(3.76e-7, e), 1),
        (dpcheck.GDP(1.58e-11), 7.5e-14, lambda e: gaussian_delta(1.58e-11, e), 1),
        (
            dpcheck.SampledLaplace(552.9, 7.966e-8),
            4.723e-12,
            lambda e: sampled_laplace_delta(1 / mp.mpf(552.9), 7.966e-8, e),
            1,
        ),
    ],
)
def test_tiny_epsilons_are_not_undercut(event, delta, curve, high):
    truth = true_epsilon(curve, delta, high)
    assert truth > 0
    for method in METHODS:
        assert dpcheck.epsilon(event, delta=delta, method=method).upper >= truth, method
    answer = dpcheck.epsilon(event, delta=delta)
    assert answer.lower <= truth <= answer.upper
    assert answer.upper <= truth * (1 + mp.mpf("1e-3"))


def test_listed_truths():
    """The figures the wrong answers were reported with."""
    assert float(true_epsilon(lambda e: gaussian_delta(3.76e-7, e), 8.12e-8, 1)) == pytest.approx(
        1.67e-7, rel=3e-3
    )
    assert float(gaussian_delta(3.76e-7, 0)) == pytest.approx(1.5e-7, rel=3e-3)
    assert float(true_epsilon(lambda e: gaussian_delta(1.58e-11, e), 7.5e-14, 1)) == pytest.approx(
        3.5e-11, rel=1e-2
    )
    sampled = true_epsilon(
        lambda e: sampled_laplace_delta(1 / mp.mpf(552.9), 7.966e-8, e), 4.723e-12, 1
    )
    assert float(sampled) == pytest.approx(1.35e-10, rel=1e-2)


def test_nothing_underflows_to_a_free_release():
    far = dpcheck.delta(dpcheck.Gaussian(10.0), epsilon=5.0)
    truth = gaussian_delta(mp.mpf(1) / 10, 5)
    assert 0 < truth < mp.mpf("1e-500")
    assert far.lower == 0 < far.upper == math.ulp(0.0)
    tiny = dpcheck.epsilon(dpcheck.Gaussian(1e200), delta=1e-300)
    mp.dps, before = 500, mp.dps
    try:
        truth = true_epsilon(lambda e: gaussian_delta(mp.mpf(1) / mp.mpf(1e200), e), 1e-300, 1e-190)
    finally:
        mp.dps = before
    assert 0 < tiny.lower <= truth <= tiny.upper < 1.001 * truth


def test_random_tiny_gaussians_by_every_method():
    rng = np.random.default_rng(5)
    for _ in range(40):
        mu = 10 ** rng.uniform(-12, -2)
        delta = mu * 10 ** rng.uniform(-4, -0.5)
        truth = true_epsilon(lambda e, mu=mu: gaussian_delta(mu, e), delta, 50 * mu)
        for method in ("rdp-classic", "rdp-improved", "rdp-optimal", "gdp"):
            assert dpcheck.epsilon(dpcheck.GDP(mu), delta=delta, method=method).upper >= truth


@pytest.mark.parametrize("square", ["0", "1e-400", "2", "9/16", "1e500", "123456789/7"])
def test_square_roots_over_the_whole_range(square):
    exact = Fraction(square)
    low, high = enclose_root(exact)
    assert Fraction(low) ** 2 <= exact <= Fraction(high) ** 2
    assert high <= low * (1 + 2.0**-51)


def test_enclosures_at_the_ends_of_the_range():
    assert enclose(Fraction(1, 10**400)) == (0.0, math.ulp(0.0))
    assert enclose(Fraction(-1, 10**400)) == (-math.ulp(0.0), 0.0)
    assert enclose(Fraction(10**400)) == (math.nextafter(math.inf, 0.0), math.inf)


@pytest.mark.parametrize("value", [0.1, 1.0, 3e-308, 7.3e300, 2.0**-1074 * 3, 12345.678])
@pytest.mark.parametrize("times", [1, 2, 3, 10**15])
def test_enclosures_without_fractions_are_those_of_fractions(value, times):
    assert enclose_quotient(times, value) == enclose(times / Fraction(value))
    assert enclose_product(value, times) == enclose(times * Fraction(value))
    above, below = value.as_integer_ratio()
    assert enclose_ratio(6 * above, 6 * below) == (value, value)
    assert enclose_root_ratio(6 * times * above, 6 * below) == enclose_root(times * Fraction(value))


def test_norms_are_those_of_exact_sums():
    rng = np.random.default_rng(4)
    values = [(float(10.0 ** rng.uniform(-300, 10)), int(rng.integers(1, 99))) for _ in range(30)]
    values += [(0.1, 3), (2.0**-1074, 5), (0.0, 2)]
    exact = sum((Fraction(value) ** 2 * times for value, times in values), Fraction(0))
    assert enclose_norm(values) == enclose_root(exact)
    assert enclose_norm([]) == (0.0, 0.0)
    assert enclose_norm([(3.0, 1), (4.0, 1)]) == (5.0, 5.0)


def discrete_gaussian_divergence(scale, shift, order):
    """Direct sum at 60 digits."""
    scale, order = mp.mpf(scale), mp.mpf(order)
    mass = {x: mp.exp(-(mp.mpf(x) ** 2) / (2 * scale**2)) for x in range(-60, 61)}
    total = sum(mass.values())
    moment = sum(
        (mass[x] / total) ** (1 - order) * (mass.get(x - shift, mp.mpf(0)) / total) ** order
        for x in range(-60, 61)
    )
    return mp.log(moment) / (order - 1)


@pytest.mark.parametrize(
    ("scale", "shift", "order"),
    [(0.4, 1, 1.5), (0.3, 2, 1.01), (0.7, 1, 7.3), (1.9, 3, 2.6), (2.5, 1, 1.5)],
)
def test_discrete_gaussian_divergences(scale, shift, order):
    truth = discrete_gaussian_divergence(scale, shift, order)
    bound = dpcheck.rdp(dpcheck.DiscreteGaussian(scale, shift), order=order)
    assert bound.lower <= truth <= bound.upper
    assert bound.upper <= truth * (1 + mp.mpf("1e-9")) + mp.mpf("1e-9")


def test_the_listed_divergences():
    assert dpcheck.rdp(dpcheck.DiscreteGaussian(0.4), order=1.5).upper == pytest.approx(
        4.346687, abs=1e-6
    )
    # Two answers of one person: p = 3/4, twice the divergence log(p^2/(1-p) + (1-p)^2/p).
    twice = dpcheck.rdp(dpcheck.Grouped(dpcheck.RandomizedResponse(0.5), 2), order=2)
    truth = 2 * mp.log(mp.mpf(9) / 4 + mp.mpf(1) / 12)
    assert float(truth) == pytest.approx(1.694596, abs=1e-6)
    assert twice.lower <= truth <= twice.upper
    assert twice.gap < 1e-9


def test_where_only_an_upper_bound_is_known_the_lower_side_is_trivial():
    bound = dpcheck.rdp(dpcheck.ObjectivePerturbation(0.95, 100, 0.1), order=2.0)
    assert bound.lower == 0 < bound.upper
    assert dpcheck.rdp(dpcheck.ExponentialMechanism(1.0) * 3, order=2.0).lower < 1e-3 + 3 / 4
    stopped = dpcheck.rdp(dpcheck.PoissonStopping(dpcheck.PureDP(0.1), 2.0), order=4.0)
    assert stopped.lower == 0 < stopped.upper


def test_lower_divergences_follow_the_worse_direction_of_the_whole_composition():
    pair = ((0.5, 0.3, 0.2), (0.1, 0.6, 0.3))
    events = dpcheck.FinitePair(*pair) + dpcheck.FinitePair(pair[1], pair[0])
    order = mp.mpf(3)

    def divergence(p, q):
        terms = [mp.mpf(a) ** order * mp.mpf(b) ** (1 - order) for a, b in zip(p, q, strict=True)]
        return mp.log(sum(terms)) / (order - 1)

    truth = divergence(*pair) + divergence(*pair[::-1])
    bound = dpcheck.rdp(events, order=3.0)
    assert bound.lower <= truth + mp.mpf("1e-12") <= bound.upper + mp.mpf("1e-12")
    assert bound.lower >= truth * (1 - mp.mpf("1e-9"))


def most_squares_by_enumeration(steps, takes, apart):
    """Every pattern of participations, every node of the tree."""
    best = 0
    for chosen in combinations(range(steps), takes):
        if all(b - a >= apart for a, b in pairwise(chosen)):
            total = 0
            for level in range((steps - 1).bit_length() + 1):
                nodes = [step >> level for step in chosen]
                total += sum(nodes.count(node) ** 2 for node in set(nodes))
            best = max(best, total)
    return best


@pytest.mark.parametrize(
    ("steps", "takes", "apart"), [(8, 3, 3), (8, 2, 1), (12, 3, 2), (16, 4, 4), (13, 3, 5)]
)
def test_tree_aggregation_against_all_patterns(steps, takes, apart):
    squares = most_squares_by_enumeration(steps, takes, apart)
    mu = mp.sqrt(squares) / 10
    truth = mp.ncdf(-mp.mpf(mpmath.sqrt(2) * mpmath.erfinv(2 * 0.05 - 1)) - mu)
    bound = dpcheck.tradeoff(dpcheck.TreeAggregation(10.0, steps, takes, apart), 0.05)
    assert bound.lower <= truth + mp.mpf("1e-12")
    assert truth <= bound.upper + mp.mpf("1e-12")


def test_the_listed_tree():
    bound = dpcheck.tradeoff(dpcheck.TreeAggregation(10, 8, 3, 3), 0.05)
    assert bound.lower <= 0.884471 + 1e-6
    assert bound.upper >= 0.884471 - 1e-6
    assert bound.gap < 1e-9  # 20 squares are both the most and attained


def test_under_answers_in_the_adjacency_asked_for():
    stated = dpcheck.Under("add-remove", dpcheck.Gaussian(1.0))
    asked = dpcheck.epsilon(stated, delta=1e-5, adjacency="replace-one")
    truth = true_epsilon(lambda e: gaussian_delta(2, e), 1e-5, 50)
    assert asked.lower <= truth <= asked.upper
    assert asked.upper == pytest.approx(9.997, abs=1e-3)
    assert dpcheck.epsilon(stated, delta=1e-5).adjacency == "add-remove"
    assert dpcheck.epsilon(stated, delta=1e-5).upper == pytest.approx(4.377, abs=1e-3)


def test_a_guarantee_stated_under_add_remove_costs_twice_under_replace_one():
    part = dpcheck.Under("add-remove", dpcheck.PureDP(1.0))
    for event in (part, part | part):
        assert dpcheck.epsilon(event, adjacency="replace-one").upper == 2.0
        assert dpcheck.epsilon(event, adjacency="add-remove").upper == 1.0
    pair = dpcheck.Under("add-remove", dpcheck.FinitePair((0.6, 0.4), (0.4, 0.6)))
    assert dpcheck.epsilon(pair, adjacency="replace-one").upper == pytest.approx(2 * math.log(1.5))


@pytest.mark.parametrize(
    ("stated", "asked"), [("replace-one", "add-remove"), ("add-remove", "zero-out")]
)
def test_under_refuses_what_cannot_be_translated(stated, asked):
    with pytest.raises(UnsupportedAdjacency):
        dpcheck.epsilon(dpcheck.Under(stated, dpcheck.PureDP(1.0)), adjacency=asked)


def test_moved_records_pay_once_for_each_part():
    """A replaced record that leaves one part of a private split and enters another."""
    parts = Moved(dpcheck.PureDP(1.0)) + Moved(dpcheck.PureDP(0.5))
    assert dpcheck.epsilon(parts, adjacency="replace-one").upper == 1.5
