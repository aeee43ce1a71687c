"""The best of a random number of runs from below: a test of the exact law of some selection attains it.

The law is computed here from the probabilities of the number of runs, over grids of thresholds: outcomes
below one are the best, those above another come second. Nothing of the product's formulas is used.
"""

import math

import numpy as np
import pytest
from scipy import stats

import dpcheck
from dpcheck.accounting.accountants.selected_below import selected_epsilon
from dpcheck.accounting.accountants.selected_runs import Better
from dpcheck.accounting.losses import (
    GaussianLoss,
    LaplaceLoss,
    PoissonSelectedLoss,
    ResponseLoss,
    SelectedLoss,
)

SHAPES = (-0.5, 0.0, 0.5, 1.0, 3.0)


def _poisson(mean: float):
    return stats.poisson.pmf(np.arange(1, int(mean + 20 * math.sqrt(mean) + 30)), mean)


def _between(mass, worse, width):
    """The chance that the best run is in a class of probability `width` that `worse` does not beat."""
    top = 1 - worse
    # top^k - (top - width)^k, without cancellation for narrow classes.
    narrow = np.log1p(-np.minimum(width / np.maximum(top, 1e-300), 1 - 1e-15))
    found, power = np.zeros(np.broadcast(worse, width).shape), np.ones(np.shape(top))
    for k, chance in enumerate(mass, 1):
        power = power * top
        if chance > 1e-12 * mass.max():
            found -= chance * power * np.expm1(k * narrow)
    return found


def attained_delta(mass, masses, thresholds, epsilon, few=None):
    """The largest P'(Y) - e^epsilon Q'(Y) over all B below and all Y, or parts of it, above a threshold."""
    few = thresholds[::8] if few is None else few
    p, q = masses(thresholds)  # below each threshold
    p_b, q_b = (below[:, None] for below in masses(few))
    best = -math.inf
    for share in (1.0, 0.1, 0.01, 1e-3, 1e-4, 1e-6):
        p_y, q_y = share * (1 - p)[None, :], share * (1 - q)[None, :]
        fits = few[:, None] <= thresholds[None, :]
        gap = _between(mass, p_b, p_y) - math.exp(epsilon) * _between(mass, q_b, q_y)
        best = max(best, float(np.max(np.where(fits, gap, -math.inf))))
    return best


def _normal(mu):
    return lambda x: (stats.norm.cdf(x - mu), stats.norm.cdf(x))


def _laplace(ratio):
    return lambda x: (stats.laplace.cdf(x - ratio), stats.laplace.cdf(x))


def _sampled(mu, rate):
    def masses(x):
        moved = (1 - rate) * stats.norm.cdf(x) + rate * stats.norm.cdf(x - mu)
        return moved, stats.norm.cdf(x)

    return masses


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("mu", [0.2, 1.0])
@pytest.mark.parametrize("delta", [1e-2, 1e-5])
def test_some_selection_of_gaussian_runs_costs_as_much(shape, mu, delta, probabilities):
    found = dpcheck.epsilon(
        dpcheck.RandomStopping(dpcheck.Gaussian(1 / mu), shape, 0.1), delta=delta
    )
    points = np.linspace(-6.0, 6.0 + mu, 400)
    reached = attained_delta(probabilities(shape, 0.1), _normal(mu), points, found.lower)
    assert reached >= delta * (1 - 5e-3)  # thresholds of a grid
    assert found.lower >= dpcheck.epsilon(dpcheck.Gaussian(1 / mu), delta=delta).lower * (1 - 1e-12)
    assert found.upper <= found.lower * 1.11 or delta > 1e-5


@pytest.mark.parametrize("mean", [0.3, 3.0, 30.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-7])
def test_some_poisson_selection_of_gaussian_runs_costs_as_much(mean, delta):
    found = dpcheck.epsilon(dpcheck.PoissonStopping(dpcheck.Gaussian(3.0), mean), delta=delta)
    points = np.linspace(-6.0, 6.5, 400)
    reached = attained_delta(_poisson(mean), _normal(1 / 3), points, found.lower)
    assert reached >= delta * (1 - 5e-3)
    assert found.lower > dpcheck.epsilon(dpcheck.Gaussian(3.0), delta=delta * 4).lower


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("delta", [0.0, 1e-6, 1e-3])
def test_some_selection_of_laplace_runs_costs_as_much(shape, delta, probabilities):
    ratio = 0.4
    found = dpcheck.epsilon(
        dpcheck.RandomStopping(dpcheck.Laplace(1 / ratio), shape, 0.05), delta=delta
    )
    points, few = (
        np.linspace(0.0, ratio, 25),
        np.concatenate((np.linspace(-9, 0, 20), np.linspace(0, ratio, 101))),
    )
    asked = found.lower - (0.0 if delta else 1e-5)  # at delta 0 in the limit of small parts
    reached = attained_delta(probabilities(shape, 0.05), _laplace(ratio), points, asked, few)
    assert reached >= delta * (1 - 5e-3)
    assert found.lower > (1.05 + shape / 2) * ratio * (1 - 30 * math.sqrt(delta))


def test_some_selection_of_sampled_runs_costs_as_much(probabilities):
    """By the lattice of a run with one step, whose exact law is known."""
    mass, rate, mu = probabilities(1.0, 0.1), 0.2, 1.25
    found = dpcheck.epsilon(
        dpcheck.RandomStopping(dpcheck.SampledGaussian(1 / mu, rate), 1.0, 0.1), delta=1e-5
    )
    points = np.linspace(-6.0, 7.0, 400)
    assert attained_delta(mass, _sampled(mu, rate), points, found.lower) >= 1e-5 * (1 - 5e-3)
    assert found.lower < found.upper < 1.2 * found.lower


@pytest.mark.parametrize(
    ("event", "number", "masses"),
    [
        (
            dpcheck.RandomStopping(dpcheck.Gaussian(2.0), 1.0, 0.1),
            lambda runs: runs(1.0, 0.1),
            _normal(0.5),
        ),
        (
            dpcheck.PoissonStopping(dpcheck.Gaussian(2.0), 3.0),
            lambda _: _poisson(3.0),
            _normal(0.5),
        ),
        (
            dpcheck.RandomStopping(dpcheck.SampledGaussian(0.8, 0.2), 1.0, 0.1),
            lambda runs: runs(1.0, 0.1),
            _sampled(1.25, 0.2),
        ),
    ],
    ids=["negative binomial", "Poisson", "sampled"],
)
def test_some_selection_needs_as_much_delta(event, number, masses, probabilities):
    mass = number(probabilities)
    epsilons = [2.5, 0.0, 1.0, 50.0, 1.0, 3.0]  # in any order, one of them twice
    found = dpcheck.delta(event, epsilon=epsilons)
    points = np.linspace(-6.0, 7.0, 400)
    for epsilon, bound in zip(epsilons, found, strict=True):
        assert 0 <= bound.lower <= bound.upper
        reached = attained_delta(mass, masses, points, epsilon)
        assert bound.lower == 0 or reached >= bound.lower * (1 - 1e-2)
    assert found[2].lower == found[4].lower
    # As the other question says, but for how far the search goes.
    known = dpcheck.epsilon(event, delta=1e-5)
    assert dpcheck.delta(event, epsilon=known.lower).lower >= 1e-5 * 0.9


def _exact_responses(mass, epsilon, asked):
    """delta of two answers of which a part of one is the best and a part of the other second."""
    more, less = math.exp(epsilon) / (1 + math.exp(epsilon)), 1 / (1 + math.exp(epsilon))
    parts = np.geomspace(1e-9, 1.0, 250)
    p_b, q_b = parts[:, None] * less, parts[:, None] * more
    p_y, q_y = parts[None, :] * more, parts[None, :] * less
    gap = _between(mass, p_b, p_y) - math.exp(asked) * _between(mass, q_b, q_y)
    return float(gap.max())


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 3.0])
@pytest.mark.parametrize("delta", [0.0, 1e-8, 1e-4])
def test_some_selection_of_pure_runs_costs_as_much(epsilon, delta, probabilities):
    mass = probabilities(1.0, 0.02)
    found = dpcheck.epsilon(dpcheck.RandomStopping(dpcheck.PureDP(epsilon), 1.0, 0.02), delta=delta)
    limit = 0.0 if delta else 1e-5
    assert _exact_responses(mass, epsilon, found.lower - limit) >= delta * (1 - 5e-2)
    one = dpcheck.epsilon(dpcheck.PureDP(epsilon), delta=delta).lower
    assert found.lower >= (2 if delta < 1e-4 else 1) * one * (
        1 - 1e-9
    )  # of three at most [Liu2019]
    poisson = dpcheck.epsilon(dpcheck.PoissonStopping(dpcheck.PureDP(epsilon), 5.0), delta=delta)
    assert _exact_responses(_poisson(5.0), epsilon, poisson.lower - limit) >= delta * (1 - 5e-2)
    if delta == 0:  # the whole loss: one run's and 5 tanh(epsilon / 2)
        assert poisson.lower == pytest.approx(epsilon + 5 * math.tanh(epsilon / 2), rel=1e-4)


@pytest.mark.parametrize("base", [-0.05, -1e-3, 0.0, 0.02])
@pytest.mark.parametrize("far", [0.0, 1e-3])
def test_the_gain_is_that_of_the_worst_class_in_its_range(base, far):
    """A bound on Q(B) below 0 is one of 0, so the worst is between the ends; by brute force."""
    better = Better(-1.0, 0.0, 0.2, base, 1.6)
    for runs in (
        SelectedLoss((), 1.0, 0.05),
        SelectedLoss((), -0.5, 0.3),
        PoissonSelectedLoss((), 9.0),
    ):
        number = runs.number()
        p = np.linspace(better.least, better.most, 20_001)
        q = np.maximum(base + 1.6 * p, 0.0)
        worst = min(
            number.fall(b) - number.fall(a + far / 2)
            for a, b in zip(p.tolist(), q.tolist(), strict=True)
        )
        assert better.gain(number, far) <= worst + 1e-12
        assert better.gain(number, far) == pytest.approx(worst, abs=1e-3)


def test_a_run_that_tells_nothing_costs_nothing():
    for runs in (SelectedLoss(((GaussianLoss(0.0), 1),), 1.0, 0.1),):
        assert selected_epsilon(runs, 1e-6) == 0.0
    # At a delta above all that is spent nothing is proved.
    assert selected_epsilon(SelectedLoss(((GaussianLoss(0.1), 1),), 1.0, 0.5), 0.9) == 0.0
    assert selected_epsilon(PoissonSelectedLoss(((LaplaceLoss(0.1), 1),), 0.1), 0.5) == 0.0


@pytest.mark.parametrize("mean", [1e-300, 1e-9, 1e4, 1e15, 1e200])
@pytest.mark.parametrize(
    "loss", [GaussianLoss(1e-9), GaussianLoss(40.0), LaplaceLoss(300.0)], ids=repr
)
def test_any_number_of_runs_is_accounted_without_errors(mean, loss):
    for delta in (0.0, 1e-300, 1e-9, 0.4):
        value = selected_epsilon(PoissonSelectedLoss(((loss, 1),), mean), delta)
        assert 0 <= value < math.inf


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "run",
    [
        dpcheck.DiscreteGaussian(0.026183611033391493, norm_bound=5),  # losses of thousands
        dpcheck.DiscreteLaplace(0.001),
        dpcheck.SampledGaussian(0.05, 0.01) * 3,
        dpcheck.FinitePair((0.5, 0.5, 0.0), (0.5, 0.0, 0.5)),
    ],
    ids=repr,
)
def test_steep_runs_are_selected_without_warnings(run):
    for event in (dpcheck.PoissonStopping(run, 2.2), dpcheck.RandomStopping(run, 0.0, 0.01)):
        for delta in (0.0, 1e-7, 0.2):
            found = dpcheck.epsilon(event, delta=delta, adjacency="add-remove")
            assert 0 <= found.lower <= found.upper


def test_a_failing_run_has_the_bounds_of_before():
    """A run that may leak everything is left to the bounds of one run."""
    leaking = dpcheck.RandomStopping(dpcheck.ApproxDP(0.5, 1e-8), 0.0, 0.02)
    found = dpcheck.epsilon(leaking, delta=1e-6)
    assert found.lower == pytest.approx(0.5, rel=1e-4)
    poisson = dpcheck.PoissonStopping(dpcheck.ApproxDP(0.5, 1e-8), 3.0)
    assert dpcheck.epsilon(poisson, delta=1e-6).lower == 0.0


def test_classes_that_overlap_prove_nothing():
    """Many runs of strong answers: a class B up to the top would contain the far class."""
    for mean in (50.0, 100.0, 1000.0):
        loss = PoissonSelectedLoss(((ResponseLoss(0.5), 1),), mean)
        value = selected_epsilon(loss, 1e-6)
        assert _exact_responses(_poisson(mean), 0.5, value) >= 1e-6 * (1 - 5e-2)
