"""Budgets and filters: what is accepted, what is refused, and that a refusal changes nothing."""

import math

import pytest

import dpcheck
from dpcheck import (
    GDP,
    ZCDP,
    ApproxDP,
    Budget,
    BudgetExceeded,
    Gaussian,
    Laplace,
    Ledger,
    NotPrivate,
    PureDP,
    SampledGaussian,
    TruncatedPoissonGaussian,
)

WIDE = Budget(1000.0)


def pure_ledger(adjacency="replace-one", budget=WIDE):
    return Ledger(budget=budget, adjacency=adjacency)


def test_a_refused_release_changes_nothing():
    ledger = Ledger(budget=Budget(1.0), adjacency="replace-one")
    low, high = ledger.dataset("d", rows=10).split_rows(2)
    ledger.spend(low, PureDP(0.25), times=3)
    before = str(ledger.report())
    with pytest.raises(BudgetExceeded) as caught:
        ledger.spend(low, PureDP(0.25), times=2)
    data = caught.value.data
    assert (data["dataset"], data["spent"], data["allowed"], data["wanted"]) == (
        low.name,
        0.75,
        1.0,
        0.5,
    )
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("DPC301")
    assert str(ledger.report()) == before
    ledger.spend(low, PureDP(0.25))
    ledger.spend(high, PureDP(1.0))
    assert ledger.remaining().epsilon == 0.0


def test_decimals_add_up_as_they_are_written():
    ledger = Ledger(budget=Budget(0.3), adjacency="replace-one")
    data = ledger.dataset("d")
    for _ in range(3):
        ledger.spend(data, PureDP(0.1))  # 0.1 + 0.1 + 0.1 > 0.3 in binary
    assert ledger.epsilon().upper == 0.3
    with pytest.raises(BudgetExceeded):
        ledger.spend(data, PureDP(1e-9))


def test_ten_laplace_releases_of_a_tenth():
    ledger = Ledger(budget=Budget(1.0), adjacency="add-remove")
    data = ledger.dataset("d")
    assert ledger.how_many(data, Laplace(10.0)) == 10
    ledger.spend(data, Laplace(10.0), times=10)
    assert ledger.epsilon().upper == 1.0


def test_a_pure_budget_says_what_to_do_about_a_gaussian():
    ledger = Ledger(budget=Budget(1.0), adjacency="add-remove")
    data = ledger.dataset("d")
    with pytest.raises(BudgetExceeded, match=r"no finite epsilon at delta 0.*Budget\(1, 1e-6\)"):
        ledger.spend(data, Gaussian(5.0))
    with pytest.raises(BudgetExceeded, match="cannot be released under any budget") as caught:
        ledger.spend(data, NotPrivate("gradients in clear"))
    assert caught.value.data["wanted"] == math.inf
    assert ledger.epsilon().upper == 0.0


def test_either_rule_suffices():
    # By divergences of order 8 alone not even one release of 1.0 would fit twice; by sums it does.
    ledger = Ledger(budget=Budget(2.0, 1e-5), adjacency="replace-one")
    data = ledger.dataset("d")
    ledger.spend(data, PureDP(1.0), times=2)
    assert ledger.epsilon(delta=1e-5).upper <= 2.0 == ledger.epsilon(delta=0).upper
    # And many small releases fit by divergences although their sum is far beyond.
    ledger = Ledger(budget=Budget(2.0, 1e-5), adjacency="replace-one")
    data = ledger.dataset("d")
    assert ledger.how_many(data, PureDP(0.001)) > 10_000
    ledger.spend(data, PureDP(0.001), times=10_000)
    assert ledger.epsilon().upper == 10.0
    assert ledger.epsilon(delta=1e-5).upper <= 2.0


@pytest.mark.parametrize("name", ["rdp", "zcdp", "gdp"])
def test_gaussian_releases_end_at_each_filters_limit(name):
    budget = Budget(2.0, 1e-6)
    ledger = Ledger(budget=budget, adjacency="add-remove", filter=name, reserve=0.0)
    data = ledger.dataset("d")
    spent = 0
    while True:
        try:
            ledger.spend(data, Gaussian(40.0))
        except BudgetExceeded:
            break
        spent += 1
    # What was spent holds as a fixed schedule too, by the exact curve of the Gaussian.
    exact = dpcheck.epsilon(Gaussian(40.0) * spent, delta=1e-6, adjacency="add-remove")
    assert exact.upper <= budget.epsilon
    # A fiftieth of delta is kept for the odometer.
    more = dpcheck.epsilon(Gaussian(40.0) * (spent + 1), delta=0.98e-6, adjacency="add-remove")
    if name == "gdp":
        assert more.lower > budget.epsilon  # not one release was given away
    assert exact.upper > 0.85 * budget.epsilon


@pytest.mark.parametrize(
    ("name", "event"), [("gdp", ZCDP(0.01)), ("zcdp", SampledGaussian(1, 0.1))]
)
def test_a_filter_that_cannot_measure_says_which_can(name, event):
    ledger = Ledger(budget=Budget(2.0, 1e-6), adjacency="add-remove", filter=name)
    with pytest.raises(BudgetExceeded, match="filter='rdp'"):
        ledger.spend(ledger.dataset("d"), event)


def test_releases_that_can_fail_use_the_delta_kept_for_them():
    ledger = Ledger(budget=Budget(2.0, 1e-5), adjacency="replace-one", reserve=0.1, order=8.0)
    data = ledger.dataset("d")
    ledger.spend(data, ApproxDP(0.1, 4e-7))
    ledger.spend(data, ApproxDP(0.1, 4e-7))
    with pytest.raises(BudgetExceeded) as caught:
        ledger.spend(data, ApproxDP(0.1, 4e-7))  # 1.2e-6 > 10 % of 1e-5
    assert caught.value.data["quantity"] == "delta"
    assert caught.value.data["spent"] == pytest.approx(8e-7)
    assert caught.value.data["allowed"] == pytest.approx(1e-6)
    assert ledger.epsilon(delta=1e-5).upper == 0.2
    assert ledger.epsilon(delta=1e-7).upper == math.inf  # nothing holds at less than what can fail
    ledger.spend(data, GDP(0.05))
    assert math.isfinite(ledger.epsilon(delta=1e-5).upper)


def test_a_cut_batch_costs_its_renyi_divergence_and_no_delta():
    event = TruncatedPoissonGaussian(2.0, 0.1, rows=1000, max_batch=180)
    ledger = Ledger(budget=Budget(1.0, 1e-5), adjacency="add-remove", order=18.0)
    data = ledger.dataset("d", rows=1000)
    from scipy.stats import binom

    # At order 18 the step in which the batch is cut decides: probability t, a shift of at most 2C drawn
    # with probability at most 0.1 * 180/180, so E (P/Q)^18 >= t 0.1^18 e^{18 17/2} in the bound.
    cut = math.log(binom.sf(179, 999, 0.1)) + 18 * math.log(0.0994) + 18 * 17 / 2
    with pytest.raises(BudgetExceeded) as caught:
        ledger.spend(data, event)
    assert caught.value.data["wanted"] >= cut / 17
    # At an order where it does not, it costs about what the uncut step does, and nothing of delta.
    low = Ledger(budget=Budget(3.0, 1e-5), adjacency="add-remove", order=6.0)
    data = low.dataset("d", rows=1000)
    low.spend(data, event)
    assert low.remaining().delta == 1e-6  # all of what is kept for releases that can fail
    assert math.isfinite(low.epsilon(delta=1e-5).upper)
