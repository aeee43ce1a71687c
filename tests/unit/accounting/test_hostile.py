"""Questions of a stranger: odd types, absurd sizes, targets at the ends of what is searched."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

import dpcheck
from dpcheck.accounting.api import epsilon_lower
from dpcheck.accounting.worst_case import worst_case
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.errors import InvalidParameter
from dpcheck.core.events.event import Grouped, Parallel, Sequential
from dpcheck.numerics.binomial import binomial_mass_below


@pytest.mark.parametrize(
    "event",
    [
        dpcheck.ReportNoisyMax(1e-3, "laplace", True),
        dpcheck.ReportNoisyMax(1e-3, "exponential", False),
        dpcheck.PermuteAndFlip(1000.0),
        dpcheck.PermuteAndFlip(1e6),
        dpcheck.ShuffledReports(745.0, 10),
        dpcheck.ShuffledReports(1e6, 1000),
    ],
)
@pytest.mark.parametrize("delta", [0.0, 1e-100, 1e-5])
def test_a_probability_that_underflows_is_no_infinite_loss_below(event, delta):
    # The lower side was infinite, and hidden by being cut at the upper one.
    found = epsilon_lower(event, delta=delta, adjacency="replace-one")
    assert 400 < found <= dpcheck.epsilon(event, delta=delta, adjacency="replace-one").upper


@pytest.mark.parametrize(
    "wrong", [-1.0, 5e-324, 1e-310, math.nan, math.inf, True, "1", None, 10**400]
)
def test_scales_that_are_none_are_refused(wrong):
    for kind in (dpcheck.Gaussian, dpcheck.Laplace, dpcheck.ShuffledReports):
        with pytest.raises(InvalidParameter):
            kind(wrong, 3) if kind is dpcheck.ShuffledReports else kind(wrong)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
def test_scales_without_a_square_are_refused_where_it_is_needed(scale):
    # Overflows and domain errors of the standard library came through.
    for kind in (
        dpcheck.DiscreteGaussian,
        dpcheck.DiscreteLaplace,
        lambda value: dpcheck.SampledGaussian(value, 0.5),
        lambda value: dpcheck.SampledLaplace(value, 0.5),
    ):
        with pytest.raises(InvalidParameter):
            kind(scale)


@pytest.mark.parametrize("epsilon", [1e-300, 1e-15, 1e-13])
def test_margins_for_rounding_do_not_turn_a_lower_side_around(epsilon):
    # Answers moved together by 1e-12 were 2e-12 apart the other way, 2e-4 in all.
    event = dpcheck.PermuteAndFlip(epsilon) * 10**8
    assert epsilon_lower(event, delta=0.0) <= epsilon * 10**8


@pytest.mark.parametrize("wrong", [1, None, 1.5, np.array(1.5)])
def test_lists_that_are_none_are_refused(wrong):
    for build in (
        Sequential,
        Parallel,
        lambda value: dpcheck.FinitePair(value, value),
        lambda value: dpcheck.MatrixMechanism(1.0, (value,)),
        lambda value: dpcheck.LossDistribution(1.0, 0, value),
        lambda value: dpcheck.LossDistribution(1.0, 0, (1.0,), 0.0, value or 7),
    ):
        with pytest.raises(InvalidParameter):
            build(wrong)


@pytest.mark.parametrize("word", ["no", "false", 0, None, [True]])
def test_monotone_is_true_or_false(word):
    # "no" was true, and halved the cost.
    with pytest.raises(InvalidParameter):
        dpcheck.ReportNoisyMax(1.0, "laplace", word)
    with pytest.raises(InvalidParameter):
        dpcheck.AboveThreshold(1.0, 1.0, 1, word)
    assert dpcheck.AboveThreshold(1.0, 1.0, 1, np.True_).monotone is True


def test_a_budget_is_one():
    with pytest.raises(InvalidParameter):
        dpcheck.calibrate(dpcheck.Gaussian(1.0), 1.0)


@pytest.mark.parametrize("epsilon", [2e-9, 3e-8, 1e-7, 2e3, 9e5])
def test_noise_is_searched_to_the_ends_of_its_range(epsilon):
    # Beyond e^15 it was said that none meets the budget, below e^-7 that amount was returned.
    found = dpcheck.calibrate(dpcheck.Laplace, dpcheck.Budget(epsilon, 0.0)).value
    assert 1 / epsilon <= found * (1 + 1e-12) <= 1 / epsilon * (1 + 3e-5)


@pytest.mark.parametrize("size", [3, 1000, 1001, 10**6, 10**15])
def test_groups_of_concentrated_guarantees_are_closed_form(size):
    loss = worst_case(dpcheck.ZCDP(1e-9, xi=1e-9), Adjacency.ADD_REMOVE, size).upper
    with mpmath.workdps(40):
        truth = mpmath.mpf(1e-9) * size * mpmath.harmonic(size)
    assert truth <= loss.offset <= float(truth) * 1.07


def test_large_groups_and_batches_answer_or_say_that_they_do_not():
    sampled = Grouped(dpcheck.SampledGaussian(1.0, 0.01), 10**15)
    assert dpcheck.epsilon(sampled, delta=1e-5, adjacency="replace-one").upper > 0
    for event, relation in (
        (dpcheck.RandomAllocationGaussian(1.0, 10**15), "add-remove"),
        (dpcheck.WithReplacementGaussian(1.0, 2, 10**6), "replace-one"),
        (dpcheck.WithReplacementGaussian(1.0, 10**15, 10**15), "replace-one"),
    ):
        found = dpcheck.epsilon(event, delta=1e-5, adjacency=relation)
        assert 0 <= found.lower <= found.upper


@pytest.mark.parametrize(("trials", "rows", "k"), [(10, 3, 2), (10**4, 7, 8), (10**15, 10**15, 3)])
def test_a_binomial_mass_from_below(trials, rows, k):
    with mpmath.workdps(80):
        share = mpmath.mpf(1) / rows
        truth = mpmath.binomial(trials, k) * share**k * (1 - share) ** (trials - k)
    found = binomial_mass_below(trials, rows, k)
    assert float(truth) * (1 - 1e-12) <= found <= truth


@pytest.mark.parametrize(
    "event",
    [
        dpcheck.Gaussian(1.0),
        dpcheck.SampledGaussian(1.0, 0.1) * 10,
        dpcheck.Grouped(dpcheck.SampledGaussian(1.0, 0.1), 3),
        dpcheck.LossDistribution(0.1, 1, (0.5,), 0.5),
        dpcheck.RandomAllocationGaussian(1.0, 100) * 10,
    ],
)
def test_epsilons_at_the_end_of_floats(event):
    # Left the range of whole numbers as a raw OverflowError.
    found = dpcheck.delta(event, epsilon=[1.0, 1e200, 1.7e308])
    assert found[0].upper >= found[1].upper >= found[2].upper >= found[2].lower
    assert found[2].upper == dpcheck.delta(event, epsilon=1.7e308).upper


@pytest.mark.filterwarnings("error")
def test_absurd_sizes_are_answered_or_refused():
    steep = dpcheck.SampledGaussian(0.001, 0.5) * 10**15  # was a TypeError of numpy
    worst = dpcheck.epsilon(dpcheck.Gaussian(0.001) * 10**15, delta=1e-3)
    assert 0 < dpcheck.epsilon(steep, delta=1e-3).upper <= worst.upper
    # Took minutes: a fraction of as many digits as there are records.
    crowd = dpcheck.epsilon(dpcheck.Grouped(dpcheck.SampledGaussian(1.0, 0.01), 10**12), delta=0.1)
    few = dpcheck.epsilon(dpcheck.Grouped(dpcheck.SampledGaussian(1.0, 0.01), 9), delta=0.1)
    assert few.lower < crowd.lower <= crowd.upper
    for noise, contributions in ((1.0, (1e200, 1.0)), (1e-150, (10.0, 1.0))):
        with pytest.raises(InvalidParameter, match="contributions"):
            dpcheck.MixtureGaussian(noise, contributions, (0.1, 0.9))
    with pytest.raises(InvalidParameter, match="strategy"):
        dpcheck.MatrixMechanism(1.0, ((1e200, 0.0), (1.0, 1.0)))
    with pytest.raises(InvalidParameter):
        dpcheck.epsilon(dpcheck.Gaussian(1.0), delta=b"1e-5")
