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
