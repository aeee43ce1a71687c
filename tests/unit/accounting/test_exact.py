"""Pure DP, optimal composition and GDP against 50-digit arithmetic and naive twins."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.stats import laplace as scipy_laplace
from scipy.stats import norm

import dpcheck
from dpcheck.accounting.accountants.gaussian import gdp_epsilon
from dpcheck.accounting.accountants.optimal import optimal_composition
from dpcheck.accounting.certify import many
from dpcheck.accounting.certify.gaussian import gdp_delta
from dpcheck.accounting.ties import exact_epsilon
from dpcheck.core import errors
from dpcheck.core.adjacency import Adjacency


def gaussian_delta(mu, epsilon):
    with mpmath.workdps(60):
        mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
        return mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(
            -mu / 2 - epsilon / mu
        )


@pytest.mark.parametrize("mu", [1e-6, 0.01, 0.3, 1.0, 4.0, 30.0])
@pytest.mark.parametrize("delta", [0.3, 1e-5, 1e-12, 1e-30])
def test_gaussian_epsilon_is_enclosed(mu, delta):
    lower, upper = gdp_epsilon(mu, delta)
    assert upper - lower <= 1e-12 * upper
    assert gaussian_delta(mu, upper) <= delta
    if lower > 0:
        assert gaussian_delta(mu, lower) >= delta


@pytest.mark.parametrize(("mu", "epsilon"), [(1.0, 1.0), (0.1, 2.0), (5.0, 0.0), (1e-4, 1e-4)])
def test_gaussian_delta_is_enclosed(mu, epsilon):
    lower, upper = gdp_delta(mu, epsilon)
    assert lower <= gaussian_delta(mu, epsilon) <= upper
    assert upper - lower <= 1e-12 * upper


def naive_composition_delta(epsilon0, times, epsilon):
    """delta(epsilon) of `times` randomized responses by enumerating all outcomes."""
    heads = math.exp(epsilon0) / (1 + math.exp(epsilon0))
    total = 0.0
    for outcome in itertools.product((0, 1), repeat=times):
        p = math.prod(heads if bit else 1 - heads for bit in outcome)
        q = math.prod(1 - heads if bit else heads for bit in outcome)
        total += max(0.0, p - math.exp(epsilon) * q)
    return total


@pytest.mark.parametrize(("epsilon0", "times"), [(0.5, 1), (0.5, 4), (0.1, 9), (2.0, 5)])
@pytest.mark.parametrize("delta", [0.2, 0.01, 1e-4])
def test_optimal_composition_is_exact(epsilon0, times, delta):
    lower, upper = optimal_composition(epsilon0, times, delta)
    assert upper - lower < 1e-12
    if upper == 0:
        assert naive_composition_delta(epsilon0, times, 0.0) <= delta
    else:
        assert naive_composition_delta(epsilon0, times, upper) == pytest.approx(delta, rel=1e-9)


def test_leaks_compose_as_the_theorem_says():
    # [Kairouz2017] Theorem 3.3: 1 - (1 - delta)^k (1 - delta').
    leak, times, target = 1e-3, 5, 0.02
    room = 1 - (1 - target) / (1 - leak) ** times
    expected = optimal_composition(0.3, times, room)[1]
    found = dpcheck.epsilon(dpcheck.ApproxDP(0.3, leak) * times, delta=target)
    assert found.upper == pytest.approx(expected, rel=1e-9)
    assert found.lower == pytest.approx(expected, rel=1e-9)
    below_leak = dpcheck.epsilon(dpcheck.ApproxDP(0.3, leak), delta=leak / 2)
    assert below_leak.lower == below_leak.upper == math.inf
    exactly = dpcheck.epsilon(dpcheck.ApproxDP(0.3, leak), delta=leak)
    assert exactly.upper == 0.3


def test_gaussians_of_different_noise_are_one_gaussian():
    event = dpcheck.Gaussian(2.0) * 4 + dpcheck.Gaussian(1.0) + dpcheck.GDP(0.5)
    whole = dpcheck.epsilon(dpcheck.GDP(1.5), delta=1e-6)  # 4/4 + 1 + 1/4 = 1.5^2
    found = dpcheck.epsilon(event, delta=1e-6, adjacency="add-remove")
    assert found.upper == pytest.approx(whole.upper, rel=1e-12)
    assert found.method == "gdp"


@pytest.mark.parametrize(
    ("event", "adjacency", "expected"),
    [
        (dpcheck.Laplace(2.0), "add-remove", 0.5),
        (dpcheck.Laplace(2.0), "zero-out", 0.5),
        (dpcheck.Laplace(2.0), "replace-one", 1.0),
        (dpcheck.DiscreteLaplace(4.0, 2), "replace-one", 1.0),
        (dpcheck.RandomizedResponse(0.5, 2), "replace-one", math.log(3)),
        (dpcheck.RandomizedResponse(0.2, 5), "replace-one", math.log(21)),
        (dpcheck.PureDP(0.5, "add-remove"), "replace-one", 1.0),
        (dpcheck.PureDP(0.5, "replace-one"), "zero-out", 0.5),
        (dpcheck.OutputPerturbation(5.0, 0.2), "replace-one", 1.0),
        (dpcheck.ExponentialMechanism(0.7), "add-remove", 0.7),
        (dpcheck.Grouped(dpcheck.PureDP(0.5), 3), "add-remove", 1.5),
        (dpcheck.FinitePair((0.75, 0.25), (0.5, 0.5)), "add-remove", math.log(2)),
        (dpcheck.SampledLaplace(1.0, 0.1), "add-remove", math.log1p(0.1 * math.expm1(1.0))),
        (dpcheck.PureDP(0.0), "add-remove", 0.0),
    ],
    ids=str,
)
def test_pure_epsilons(event, adjacency, expected):
    found = dpcheck.epsilon(event, adjacency=adjacency)
    assert found.upper == pytest.approx(expected, rel=1e-12)
    assert found.adjacency == adjacency


def test_a_table_that_lacks_mass_is_not_pure():
    whole = dpcheck.FinitePair((0.5, 0.3, 0.2), (0.2, 0.3, 0.5))
    assert dpcheck.epsilon(whole).upper == pytest.approx(math.log(2.5), rel=1e-12)
    assert dpcheck.epsilon(dpcheck.FinitePair((0.5, 0.5 - 1e-10), (0.5, 0.5))).upper == math.inf
    assert dpcheck.epsilon(dpcheck.FinitePair((0.5, 0.5, 0.0), (0.5, 0.4, 0.1))).upper == math.inf


def test_guarantees_that_say_nothing_are_refused():
    for event, adjacency in (
        (dpcheck.PureDP(1.0, "replace-one"), "add-remove"),
        (dpcheck.PureDP(1.0, "add-remove"), "zero-out"),
        (dpcheck.FixedBatchGaussian(1.0, 10, 2), "add-remove"),
        (dpcheck.RandomizedResponse(0.5), "add-remove"),
    ):
        with pytest.raises(errors.UnsupportedAdjacency, match="DPC104"):
            dpcheck.epsilon(event, delta=1e-5, adjacency=adjacency)


def test_tree_and_bands_reduce_to_gaussians():
    # 8 leaves: 4 levels, a record is in one node of each.
    tree = dpcheck.epsilon(dpcheck.TreeAggregation(3.0, 8), delta=1e-5)
    assert tree.upper == pytest.approx(dpcheck.epsilon(dpcheck.GDP(2 / 3), delta=1e-5).upper)
    bands = dpcheck.BandedMatrix(3.0, 100, 10, participations=4)
    assert dpcheck.epsilon(bands, delta=1e-5).upper == pytest.approx(tree.upper)
    sampled = dpcheck.BandedMatrix(3.0, 95, 10, sampling_rate=0.1)
    assert dpcheck.epsilon(sampled, delta=1e-5) == dpcheck.epsilon(
        dpcheck.SampledGaussian(3.0, 0.1) * 10, delta=1e-5
    )


def naive_tree_sensitivity(steps, participations, separation):
    """The largest squared norm of node counts over all participation patterns."""
    levels = (steps - 1).bit_length() + 1
    best = 0
    for pattern in itertools.combinations(range(steps), participations):
        if any(b - a < separation for a, b in itertools.pairwise(pattern)):
            continue
        total = 0
        for level in range(levels):
            counts = np.bincount([leaf >> level for leaf in pattern])
            total += int((counts**2).sum())
        best = max(best, total)
    return best


@pytest.mark.parametrize(
    ("steps", "takes", "apart"), [(8, 2, 1), (8, 3, 2), (10, 2, 4), (16, 3, 5)]
)
def test_tree_with_repeated_participation_covers_the_worst_pattern(steps, takes, apart):
    event = dpcheck.TreeAggregation(1.0, steps, takes, apart)
    worst = math.sqrt(naive_tree_sensitivity(steps, takes, apart))
    found = dpcheck.rdp(event, order=2)
    assert found.upper >= worst**2 * (1 - 1e-12)  # order 2: mu^2
    assert found.upper <= 2 * worst**2


def test_truncated_batches_pay_for_the_overflow():
    plain = dpcheck.SampledGaussian(1.1, 0.01) * 100
    roomy = dpcheck.TruncatedPoissonGaussian(1.1, 0.01, 1000, 60) * 100
    tight = dpcheck.TruncatedPoissonGaussian(1.1, 0.01, 1000, 12) * 100
    values = [dpcheck.epsilon(e, delta=1e-5).upper for e in (plain, roomy, tight)]
    # Equal but for rounding: 60 of 10 on average is hardly ever reached.
    assert values[0] * (1 - 1e-12) <= values[1] < values[0] * 1.001
    # A batch of 12 of 10 on average is cut often; dp-accounting 0.6.0 proves 3.7022710 for it.
    assert values[1] < values[2] <= 3.7022710


def test_tradeoff_of_the_gaussian_and_of_pure_dp():
    for fpr in (0.01, 0.3, 0.9):
        found = dpcheck.tradeoff(dpcheck.Gaussian(0.8), fpr)
        exact = norm.cdf(norm.ppf(1 - fpr) - 1.25)
        assert found.lower <= exact <= found.upper
        assert found.upper - found.lower < 1e-12
        laplace = dpcheck.tradeoff(dpcheck.Laplace(1.0), fpr)
        # The Laplace trade-off at epsilon = 1 [Dong2022, section 2.2]: reject where x is large.
        threshold = -math.log(2 * fpr) if fpr < 0.5 else math.log(2 * (1 - fpr))
        missed = float(scipy_laplace.cdf(threshold - 1.0))
        assert laplace.lower <= missed <= laplace.upper
        assert laplace.upper - laplace.lower < 5e-3


def test_delta_matches_epsilon():
    event = dpcheck.Gaussian(1.0) * 3
    bound = dpcheck.epsilon(event, delta=1e-6)
    back = dpcheck.delta(event, epsilon=bound.upper)
    assert back.upper == pytest.approx(1e-6, rel=1e-9)
    assert dpcheck.delta(dpcheck.PureDP(0.5), epsilon=0.5).upper == 0.0
    assert dpcheck.delta(dpcheck.NotPrivate("x"), epsilon=9.0).lower == 1.0


@pytest.mark.parametrize(("leak", "times"), [(1e-15, 1000), (1e-7, 65), (1e-3, 5000)])
def test_many_leaks_are_enclosed(leak, times):
    event = dpcheck.ApproxDP(0.0, leak) * times
    with mpmath.workdps(50):
        exact = 1 - (1 - mpmath.mpf(leak)) ** times
        found = dpcheck.delta(event, epsilon=0.0)
        assert found.lower <= exact <= found.upper
        assert found.upper - found.lower <= 1e-11 * exact


@pytest.mark.parametrize(
    ("noise", "rate", "steps", "delta"),
    [(13.496093162265836, 3.538481373100878e-06, 129165, 9.6e-7), (34.4323, 1.11e-4, 4910, 7e-6)],
)
def test_many_small_steps_beside_a_few_large_ones(noise, rate, steps, delta):
    event = dpcheck.SampledGaussian(noise, rate) * steps + dpcheck.Laplace(noise * 10) * 7
    event = event + dpcheck.PureDP(0.01) * 3 + dpcheck.Gaussian(noise * 5)
    found = dpcheck.epsilon(event, delta=delta, adjacency="add-remove")
    alone = dpcheck.epsilon(
        dpcheck.Laplace(noise * 10) * 7 + dpcheck.PureDP(0.01) * 3,
        delta=delta,
        adjacency="add-remove",
    )
    renyi = dpcheck.epsilon(event, delta=delta, adjacency="add-remove", method="rdp").upper
    assert alone.lower <= found.lower <= found.upper <= renyi
    assert found.gap <= 2e-3 * found.upper


ADD = Adjacency.ADD_REMOVE
TIES = [
    (dpcheck.Laplace(3.0) * 3, ADD, 1.0),
    (dpcheck.Laplace(6.0) * 3, Adjacency.REPLACE_ONE, 1.0),
    (dpcheck.Laplace(49.0) * 49, ADD, 1.0),
    (dpcheck.Laplace(5.0) + dpcheck.Laplace(1.25), ADD, 1.0),
    (dpcheck.Laplace(3.0) * 2 + dpcheck.DiscreteLaplace(3.0), Adjacency.ZERO_OUT, 1.0),
    (dpcheck.Laplace(7.0) * 14, ADD, 2.0),
    (dpcheck.PureDP(0.5) * 2, ADD, 1.0),
]


@pytest.mark.parametrize(("event", "adjacency", "claim"), TIES)
def test_exact_ties_are_within(event, adjacency, claim):
    assert dpcheck.epsilon(event, delta=0, adjacency=adjacency).upper == claim


def test_a_hair_above_is_above():
    """The float 0.1 is more than a tenth: ten of them are more than 1."""
    assert 10 * Fraction(0.1) > 1
    assert dpcheck.epsilon(dpcheck.PureDP(0.1) * 10, delta=0, adjacency=ADD).upper > 1.0
    # 1 / 0.7 is rounded down, so that noise of this scale protects a little less than 0.7.
    assert 1 / Fraction(1 / 0.7) > Fraction(0.7)
    assert dpcheck.epsilon(dpcheck.Laplace(1 / 0.7), delta=0, adjacency=ADD).upper > 0.7


def test_what_is_no_sum_of_fractions():
    for event in (dpcheck.Gaussian(1.0), dpcheck.Laplace(1.0) + dpcheck.Gaussian(1.0)):
        assert exact_epsilon(event, ADD) is None
    assert exact_epsilon(dpcheck.PureDP(0.25, adjacency="add-remove"), ADD) == Fraction(1, 4)
    stated = dpcheck.PureDP(0.25, adjacency="add-remove")
    assert exact_epsilon(stated, Adjacency.REPLACE_ONE) == Fraction(1, 2)


def test_what_is_shown_beside_something_private_is_shown():
    event = dpcheck.Gaussian(1.0) + dpcheck.NotPrivate("shown") + dpcheck.PureDP(0.1)
    assert dpcheck.epsilon(event, delta=0.3).lower == math.inf
    assert [found.lower for found in dpcheck.delta(event, epsilon=[0.0, 5.0])] == [1.0, 1.0]


def test_a_block_shows_no_larger_gaussian(monkeypatch):
    assert many._block_below(1e-6).mu > 0
    monkeypatch.setattr(many, "SMALLER", (-0.02, -1e-3))
    many._block_below.cache_clear()
    assert many._block_below(1e-6).mu == 0
    many._block_below.cache_clear()
