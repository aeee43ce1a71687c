"""Parameters at the ends of their range: the mechanisms themselves, listed outcome by outcome."""

from __future__ import annotations

import math
from itertools import combinations, product

import pytest

import dpcheck
from dpcheck.core.errors import DpcheckError, InvalidParameter

NO_NOISE = [
    dpcheck.Gaussian(0.0),
    dpcheck.Laplace(0),
    dpcheck.DiscreteGaussian(0.0),
    dpcheck.DiscreteLaplace(0.0),
    dpcheck.RandomizedResponse(0.0),
    dpcheck.ReportNoisyMax(0.0),
    dpcheck.RandomAllocationGaussian(0.0, 4),
    dpcheck.TreeAggregation(0.0, 8),
    dpcheck.SampledGaussian(0.0, 1.0),
    dpcheck.ApproxDP(0.5, 1.0),
]
NOTHING = [
    dpcheck.SampledGaussian(1.0, 0.0),
    dpcheck.SampledGaussian(0.0, 0.0),
    dpcheck.SampledLaplace(1.0, 0.0),
    dpcheck.Sampled(dpcheck.NotPrivate("whatever"), 0.0),
    dpcheck.RealisedBatchGaussian(1.0, 0.0, 10),
    dpcheck.TruncatedPoissonGaussian(1.0, 0.0, 10, 3),
    dpcheck.BandedMatrix(1.0, 10, 2, sampling_rate=0.0),
    dpcheck.RandomizedResponse(1.0),
    dpcheck.ShuffledReports(0.0, 10),
    dpcheck.PermuteAndFlip(0.0),
    dpcheck.PoissonStopping(dpcheck.PureDP(1.0), 0.0),
    dpcheck.PureDP(1.0) * 0,
]


@pytest.mark.parametrize("event", NO_NOISE)
def test_without_noise_everything_is_seen(event):
    for delta in (0.0, 0.5, 0.999):
        found = dpcheck.epsilon(event, delta=delta)
        assert found.lower == found.upper == math.inf
    assert dpcheck.epsilon(event, delta=1.0).upper == 0
    assert dpcheck.delta(event, epsilon=3.0).lower == 1
    assert dpcheck.rdp(event, order=2.0).lower == math.inf
    assert dpcheck.tradeoff(event, 0.1).lower == 0
    assert str(dpcheck.epsilon(event, delta=0.1).explain())


@pytest.mark.parametrize("event", NOTHING)
def test_where_nothing_is_released_nothing_is_spent(event):
    assert dpcheck.epsilon(event).upper == 0
    assert dpcheck.delta(event * 1000, epsilon=0.0).upper == 0
    assert dpcheck.rdp(event, order=2.0).upper == 0
    assert dpcheck.tradeoff(event, 0.25).lower == pytest.approx(0.75)
    assert str(dpcheck.epsilon(event, delta=0.1).explain())


def test_who_always_says_yes_misses_nobody():
    assert dpcheck.tradeoff(dpcheck.Gaussian(1.0), 1.0).upper == 0


def differ(p, q, epsilon):
    """The divergence of two laws given as {outcome: probability}, in the worse direction."""
    return max(
        sum(max(a.get(o, 0) - math.exp(epsilon) * b.get(o, 0), 0) for o in {*a, *b})
        for a, b in ((p, q), (q, p))
    )


def sums(values, draws):
    """The law of the sum of the values drawn: draws is a list of (probability, indices)."""
    law = {}
    for chance, drawn in draws:
        total = round(sum(values[i] for i in drawn), 9)
        law[total] = law.get(total, 0.0) + chance
    return law


def poisson(rows, rate):
    return [
        (math.prod(rate if in_ else 1 - rate for in_ in coin), [i for i, x in enumerate(coin) if x])
        for coin in product((0, 1), repeat=rows)
    ]


def fixed(rows, batch):
    drawn = list(combinations(range(rows), batch))
    return [(1 / len(drawn), list(one)) for one in drawn]


def with_replacement(rows, batch):
    return [(rows**-batch, list(one)) for one in product(range(rows), repeat=batch)]


OTHERS = (0.011, 0.103, 0.37)  # sums that are told apart


@pytest.mark.parametrize("epsilon", [0.0, 0.05, 2.0])
@pytest.mark.parametrize("group", [1, 2])
@pytest.mark.parametrize(
    ("event", "adjacency", "draws"),
    [
        (dpcheck.SampledGaussian(0.0, 0.2), "add-remove", poisson),
        (dpcheck.SampledLaplace(0.0, 0.2), "zero-out", poisson),
        (dpcheck.SampledGaussian(0.0, 0.2), "replace-one", poisson),
        (dpcheck.Sampled(dpcheck.Gaussian(0.0) + dpcheck.PureDP(1.0), 0.2), "add-remove", poisson),
        (dpcheck.Sampled(dpcheck.NotPrivate("shown"), 0.2), "add-remove", poisson),
        (dpcheck.FixedBatchGaussian(0.0, 4, 2), "replace-one", fixed),
        (dpcheck.FixedBatchGaussian(0.0, 4, 2), "zero-out", fixed),
        (dpcheck.WithReplacementGaussian(0.0, 4, 2), "replace-one", with_replacement),
    ],
)
def test_whoever_is_drawn_is_seen(event, adjacency, draws, group, epsilon):
    """All batches of a few records, with the record and with its neighbour."""
    records, others = (0.9, 0.77)[:group], OTHERS[: 4 - group]
    changed = tuple(-x for x in records) if adjacency == "replace-one" else (0.0,) * group
    how = draws(4, 0.2 if draws is poisson else 2)
    p, q = sums((*records, *others), how), sums((*changed, *others), how)
    if adjacency == "add-remove":
        q = sums(others, draws(4 - group, 0.2))
    found = dpcheck.delta(dpcheck.Grouped(event, group), epsilon=epsilon, adjacency=adjacency)
    truth = differ(p, q, epsilon)
    assert found.lower <= truth + 1e-12
    assert truth <= found.upper + 1e-12
    if group == 1:
        assert found.upper <= truth + 1e-9


def test_contributions_without_noise():
    event = dpcheck.MixtureGaussian(0.0, (1.0, 0.0, 2.0), (0.1, 0.3, 0.2))
    assert dpcheck.delta(event, epsilon=5.0).upper == pytest.approx(0.3, rel=1e-9)
    assert dpcheck.delta(event, epsilon=5.0, adjacency="replace-one").upper == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("event", "truth"), [(dpcheck.ZCDP(0.0), 0.0), (dpcheck.ZCDP(0.0, xi=1.5), 1.5)]
)
def test_divergences_that_do_not_grow_are_a_largest_loss(event, truth):
    # Nothing was known at delta 0.
    found = dpcheck.epsilon(dpcheck.Grouped(event, 2) * 3)
    assert (found.lower, found.upper) == (6 * truth, 6 * truth)
    assert dpcheck.epsilon(event, adjacency="replace-one").upper == truth
    with pytest.raises(DpcheckError):
        dpcheck.epsilon(dpcheck.Under("replace-one", event), adjacency="add-remove")


@pytest.mark.parametrize("rate", [0.1, 0.3, 1e-3, 1 / 3])
@pytest.mark.parametrize("event", [dpcheck.Gaussian(0.0), dpcheck.NotPrivate("shown")])
def test_who_is_seen_with_probability_delta_costs_nothing(event, rate):
    # At delta = rate the answer was infinite, by a rounding.
    sampled = dpcheck.Sampled(event, rate)
    assert dpcheck.epsilon(sampled, delta=rate).upper == 0
    assert dpcheck.epsilon(sampled, delta=rate * (1 - 1e-9)).upper == math.inf


def test_distance_of_tables():
    event = dpcheck.FinitePair((0.5, 0.25, 0.25), (0.25, 0.25, 0.5))
    assert dpcheck.epsilon(event, delta=0.25).upper == 0
    below = math.nextafter(0.25, 0.0)
    assert 0 < dpcheck.epsilon(event, delta=below).upper < 1e-12
    # What a table lacks may be anywhere: within rounding of it nothing is.
    missing = 1 - (0.1 + 0.2 + 0.7)
    table = dpcheck.FinitePair((0.1, 0.2, 0.7), (0.7, 0.2, 0.1))
    assert dpcheck.delta(table, epsilon=0.0).upper >= 0.6 + missing - 1e-15


@pytest.mark.parametrize("times", [2, 10])
def test_a_delta_beyond_what_is_shown(times):
    # All losses are 0.1 or infinite: with more delta than the chance of the latter the sum is enough.
    shown = 1 - 0.5**times
    event = dpcheck.LossDistribution(0.1, 1, (0.5,), 0.5) * times
    for rest in (0.1, 0.5, 0.9):
        delta = shown + rest * (1 - shown)
        truth = max(0.0, 0.1 * times + math.log(1 - rest))
        assert truth <= dpcheck.epsilon(event, delta=delta).upper <= 0.1 * times * (1 + 1e-9)
    assert dpcheck.epsilon(event, delta=shown * (1 - 1e-9)).upper == math.inf


@pytest.mark.parametrize("rate", [0.0, 0.05, 0.2, 0.85, 0.95])
def test_tradeoffs_of_what_is_leaked(rate):
    # delta is leaked without an error; f is (1 - delta) f_0(a / (1 - delta)) [Kairouz2017].
    for epsilon, delta in ((0.0, 0.1), (1.0, 0.1), (1.0, 1.0)):
        left = 1 - delta
        scaled = rate / left if left else 1.0
        plain = max(0.0, 1 - math.exp(epsilon) * scaled, math.exp(-epsilon) * (1 - scaled))
        found = dpcheck.tradeoff(dpcheck.ApproxDP(epsilon, delta), rate)
        assert found.lower - 1e-12 <= left * plain <= found.upper + 1e-12
        assert found.upper - found.lower < 1e-6
    seen = dpcheck.tradeoff(dpcheck.Gaussian(0.0), rate)
    assert (seen.lower, seen.upper) == (0.0, 0.0)
    # Beside a Gaussian: the same with its trade-off function.
    both = dpcheck.tradeoff(dpcheck.ApproxDP(0.0, 0.1) + dpcheck.Gaussian(1.0), rate)
    gaussian = dpcheck.tradeoff(dpcheck.Gaussian(1.0), min(rate / 0.9, 1.0))
    assert both.lower - 1e-5 <= 0.9 * gaussian.upper
    assert 0.9 * gaussian.lower <= both.upper + 1e-5


def test_one_run_is_the_best_of_one():
    for shape in (-0.5, 0.0, 1.0):
        one = dpcheck.RandomStopping(dpcheck.Gaussian(1.0), shape, 1.0)
        assert dpcheck.epsilon(one, delta=1e-5) == dpcheck.epsilon(
            dpcheck.Gaussian(1.0), delta=1e-5
        )
    with pytest.raises(InvalidParameter, match="never end"):
        dpcheck.RandomStopping(dpcheck.Gaussian(1.0), 1.0, 0.0)


def test_thresholds_without_noise_have_no_bound_and_none_below():
    for noises in ((0.0, 1.0), (1.0, 0.0)):
        found = dpcheck.epsilon(dpcheck.AboveThreshold(*noises), delta=0.1)
        assert (found.lower, found.upper) == (0.0, math.inf)


@pytest.mark.parametrize("event", [*NO_NOISE, *NOTHING])
def test_what_is_refused_elsewhere_is_refused_here(event):
    """Another value of the parameter decides whether the relation makes sense."""
    usual = {
        "RandomizedResponse": dpcheck.RandomizedResponse(0.5),
        "RandomAllocationGaussian": dpcheck.RandomAllocationGaussian(1.0, 4),
        "RealisedBatchGaussian": dpcheck.RealisedBatchGaussian(1.0, 0.5, 10),
        "ShuffledReports": dpcheck.ShuffledReports(1.0, 10),
        "Sampled": dpcheck.Sampled(dpcheck.Gaussian(1.0), 0.5),
    }.get(type(event).__name__, dpcheck.Gaussian(1.0))
    for adjacency in ("add-remove", "replace-one", "zero-out"):
        refused = []
        for one in (event, usual):
            try:
                dpcheck.epsilon(one, delta=0.1, adjacency=adjacency)
                refused.append(None)
            except DpcheckError as error:
                refused.append(type(error))
        assert refused[0] == refused[1]


def test_ledgers_count_them():
    ledger = dpcheck.Ledger(budget=dpcheck.Budget(1.0), adjacency="add-remove")
    people = ledger.dataset("people", rows=10)
    ledger.spend(people, dpcheck.SampledGaussian(1.0, 0.0))
    assert ledger.epsilon(delta=0).upper == 0
    for event in (dpcheck.Laplace(0.0), dpcheck.Gaussian(0.0), dpcheck.SampledGaussian(0.0, 0.1)):
        with pytest.raises(dpcheck.BudgetExceeded):
            ledger.spend(people, event)
