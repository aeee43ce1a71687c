"""The best of a random number of runs: bounds against the exact law of one selection."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

import dpcheck
from dpcheck.accounting.accountants.selected import curve_above
from dpcheck.accounting.losses import GaussianLoss, LaplaceLoss, SampledLaplaceLoss
from dpcheck.accounting.renyi.divergence import expected_runs

SHAPES = (-0.5, 0.0, 0.5, 1.0, 3.0)


def _slope(mass):
    """f' of the number of runs: summed from its probabilities, not from a formula for f'; and their mean."""
    k = np.arange(1, len(mass) + 1)
    return lambda u: float(np.sum(k * mass * u ** (k - 1))), float(np.sum(k * mass))


def _exact_delta(
    slope, inner: stats.rv_continuous, shift: float, epsilon: float, sign: int
) -> float:
    """delta of releasing the largest (sign 1) or smallest of the runs, moved by `shift` against not."""

    def excess(x: float) -> float:
        below = (
            (inner.cdf if sign > 0 else inner.sf)(x - shift),
            (inner.cdf if sign > 0 else inner.sf)(x),
        )
        p, q = inner.pdf(x - shift) * slope(below[0]), inner.pdf(x) * slope(below[1])
        return max(p - math.exp(epsilon) * q, 0.0)

    points = np.linspace(-9, 9 + shift, 13)
    pieces = itertools.pairwise(points)
    return math.fsum(quad(excess, a, b, limit=200, epsabs=1e-14)[0] for a, b in pieces)


def test_the_mean_is_that_of_the_probabilities(probabilities):
    for shape in SHAPES:
        assert expected_runs(shape, 0.05) == pytest.approx(
            _slope(probabilities(shape, 0.05))[1], rel=1e-9
        )
    assert expected_runs(1.0, 1 - 1e-9) == pytest.approx(1.0, rel=1e-8)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("mu", [0.2, 1.0])
@pytest.mark.parametrize("delta", [1e-2, 1e-5])
def test_no_selection_of_gaussian_runs_costs_more(shape, mu, delta, probabilities):
    """Every order of the outcomes is allowed: the two that tell most of a shift, both ways."""
    stop = 0.1
    slope, _ = _slope(probabilities(shape, stop))
    event = dpcheck.RandomStopping(dpcheck.Gaussian(1 / mu), shape, stop)
    bound = dpcheck.epsilon(event, delta=delta)
    for sign in (1, -1):
        for shift in (mu, -mu):
            exact = _exact_delta(slope, stats.norm, shift, bound.upper, sign)
            assert exact <= delta * (1 + 1e-9)
    assert dpcheck.delta(event, epsilon=bound.upper).upper <= delta * 3


@pytest.mark.parametrize(("mean", "ratio", "delta"), [(5.0, 0.5, 1e-3), (50.0, 0.1, 1e-5)])
def test_no_poisson_selection_of_laplace_runs_costs_more(mean, ratio, delta):
    event = dpcheck.PoissonStopping(dpcheck.Laplace(1 / ratio), mean)
    bound = dpcheck.epsilon(event, delta=delta).upper
    for sign in (1, -1):
        for shift in (ratio, -ratio):
            exact = _exact_delta(
                lambda u: mean * math.exp(mean * (u - 1)), stats.laplace, shift, bound, sign
            )
            assert exact <= delta * (1 + 1e-9)
    # At delta 0 the whole loss counts: e^{mean (F_P - F_Q)} beside one run's.
    largest = ratio + mean * (stats.laplace.cdf(ratio / 2) - stats.laplace.cdf(-ratio / 2))
    assert (
        largest
        <= dpcheck.epsilon(event).upper
        == pytest.approx(ratio + mean * math.tanh(ratio / 2), rel=1e-9)
    )


def test_it_is_no_looser_than_the_renyi_bound_and_mostly_much_tighter():
    for shape in SHAPES:
        event = dpcheck.RandomStopping(dpcheck.SampledGaussian(1.0, 0.01) * 500, shape, 0.05)
        tight = dpcheck.epsilon(event, delta=1e-5)
        assert tight.method == "selection"
        assert tight.upper < 0.9 * dpcheck.epsilon(event, delta=1e-5, method="rdp").upper
        assert tight.lower > 0


def test_an_exact_search_of_the_second_order_is_not_beaten():
    """[Papernot2022] Theorem 2 for Gaussian runs: the cost is least at order sqrt(log(1/stop)/rho)."""
    mu, shape, stop, order = 0.5, 1.0, 0.05, 6.0
    rho, room = mu**2 / 2, math.log(1 / stop)
    best = math.sqrt(room / rho)
    cost = (1 + shape) * (rho * (best - 1) + room / best)
    wanted = rho * order + cost + math.log(expected_runs(shape, stop)) / (order - 1)
    found = dpcheck.rdp(dpcheck.RandomStopping(dpcheck.Gaussian(2.0), shape, stop), order=order)
    assert found.upper == pytest.approx(wanted, rel=1e-6)
    assert found.upper >= wanted * (1 - 1e-12)


def test_poisson_selections_compose():
    event = dpcheck.PoissonStopping(dpcheck.Gaussian(5.0), 8.0)
    once, twice = (dpcheck.epsilon(event * n, delta=1e-5).upper for n in (1, 2))
    assert once < twice <= 2 * dpcheck.epsilon(event, delta=5e-6).upper
    assert dpcheck.rdp(event, order=4.0).upper < math.inf
    failing = dpcheck.PoissonStopping(dpcheck.NotPrivate("no noise"), 8.0)
    assert dpcheck.epsilon(failing, delta=1e-5).upper == math.inf


@pytest.mark.parametrize(
    "loss", [GaussianLoss(0.7), LaplaceLoss(0.7), SampledLaplaceLoss(0.7, 0.2)], ids=repr
)
def test_lines_between_the_corners_are_above_the_curve(loss):
    excess = np.array([0.0, 3e-4, 0.011, 0.1234, 0.5, 0.9, 2.0, 150.0])
    found = curve_above(((loss, 1),), excess, 10.0)
    for value, y in zip(found, 1 + excess, strict=True):
        if isinstance(loss, GaussianLoss):
            e, m = math.log(y), loss.mu
            exact = stats.norm.cdf(m / 2 - e / m) - y * stats.norm.cdf(-m / 2 - e / m)
        else:
            rate, r = getattr(loss, "rate", 1.0), loss.ratio
            inner = 1 + (y - 1) / rate  # sampling: [Balle2018]
            exact = rate * max(1 - math.exp((math.log(inner) - r) / 2), 0.0)
        assert exact <= value <= exact * 1.02 + 1e-6


@pytest.mark.parametrize("mean", [0.01, 0.5, 1.0, 3.0])
def test_a_poisson_number_of_runs_counts_that_there_may_be_none(mean):
    """A coin of two faces, the second better, by hand: without e^-mean few runs cost less than 0."""
    p, q, order = (0.7, 0.3), (0.4, 0.6), 3.0

    def law(table):  # e^-mean, then the best is the first face or the second
        none, below = math.exp(-mean), math.exp(-mean * table[1])
        return (none, below - none, 1 - below)

    event = dpcheck.PoissonStopping(dpcheck.FinitePair(p, q), mean)
    found = dpcheck.rdp(event, order=order, adjacency="add-remove").upper
    for one, two in ((p, q), (q, p)):
        moment = sum(a**order / b ** (order - 1) for a, b in zip(law(one), law(two), strict=True))
        assert math.log(moment) / (order - 1) <= found


def test_a_poisson_number_of_runs_names_the_lattice_its_curve_may_come_from():
    runs = dpcheck.PoissonStopping(dpcheck.SampledGaussian(1.0, 0.01) * 100, 10.0)
    found = dpcheck.epsilon(runs, delta=1e-5)
    assert found.method.startswith("rdp")
    assert any("A1 to A4" in text for text in found.assumes)
    assert len(set(found.assumes)) == len(found.assumes)
