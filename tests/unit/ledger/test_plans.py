"""Schedules fixed in advance."""

import math

import numpy as np
import pytest

import dpcheck
from dpcheck import (
    Budget,
    BudgetExceeded,
    Gaussian,
    Ledger,
    PureDP,
)
from dpcheck.core.errors import (
    LedgerMisuse,
)
from dpcheck.ledger.pricing.certificate import limits

WIDE = Budget(1000.0)


def pure_ledger(adjacency="replace-one", budget=WIDE):
    return Ledger(budget=budget, adjacency=adjacency)


def test_a_plan_is_accounted_tightly_and_then_stepped_through():
    schedule = Gaussian(20.0) * 50
    exact = dpcheck.epsilon(schedule, delta=1e-5, adjacency="add-remove").upper
    ledger = Ledger(budget=Budget(exact, 1e-5), adjacency="add-remove")
    data = ledger.dataset("d")
    plan = ledger.plan(data, schedule)
    assert plan.bound.upper == exact
    assert plan.bound.method == "gdp"
    plan.step()
    plan.step(48)
    assert plan.left == {Gaussian(20.0): 1}
    with pytest.raises(BudgetExceeded) as caught:
        plan.step(2)
    assert (caught.value.data["spent"], caught.value.data["allowed"]) == (49, 50)
    with pytest.raises(LedgerMisuse, match="not in plan"):
        plan.step(event=Gaussian(19.0))
    plan.step()
    with pytest.raises(BudgetExceeded):
        plan.step()
    # The same schedule does not quite fit adaptively: that is the price of choosing as you go.
    other = Ledger(budget=Budget(exact, 1e-5), adjacency="add-remove")
    with pytest.raises(BudgetExceeded):
        other.spend(other.dataset("d"), Gaussian(20.0), times=50)


def test_a_plan_of_several_kinds_is_stepped_by_name():
    ledger = pure_ledger()
    plan = ledger.plan(ledger.dataset("d"), PureDP(0.5) * 2 + PureDP(0.25) + PureDP(0.5))
    assert plan.left == {PureDP(0.5): 3, PureDP(0.25): 1}
    with pytest.raises(LedgerMisuse, match="say which"):
        plan.step()
    plan.step(event=PureDP(0.25))
    plan.step(3, event=PureDP(0.5))
    assert ledger.epsilon().upper == 1.75


def test_a_plan_is_stepped_through_one_by_one():
    ledger = pure_ledger()
    plan = ledger.plan(ledger.dataset("d"), PureDP(0.25) * 100)
    for done in range(1, 101):
        plan.step()
        assert plan.left == {PureDP(0.25): 100 - done}
    with pytest.raises(BudgetExceeded):
        plan.step()


def test_plans_before_the_first_release_are_one_schedule():
    ledger = Ledger(budget=Budget(3.0, 1e-5), adjacency="add-remove")
    low, high = ledger.dataset("d", rows=10).split_rows(2)
    ledger.plan(low, Gaussian(10.0) * 20)
    ledger.plan(low, Gaussian(10.0) * 10)
    ledger.plan(high, Gaussian(10.0) * 25)
    exact = dpcheck.epsilon(Gaussian(10.0) * 30, delta=1e-5, adjacency="add-remove").upper
    assert ledger.epsilon(delta=1e-5).upper == exact
    with pytest.raises(LedgerMisuse, match="accounted together"):
        ledger.plan(low, PureDP(0.1), delta=1e-6)


def test_a_plan_and_adaptive_releases_add_up():
    ledger = Ledger(budget=Budget(3.0, 1e-5), adjacency="add-remove", order=8.0)
    data = ledger.dataset("d")
    plan = ledger.plan(data, Gaussian(10.0) * 10, delta=4e-6)
    left = 3.0 - plan.bound.upper
    # 4e-6 for the plan, a tenth of the rest for failures and a fiftieth for the odometer.
    delta = 6e-6 * (1 - 0.1 - 0.02)
    (limit,) = limits(np.array([8.0]), left, np.array([delta]))  # test_certificate checks it
    assert ledger.how_many(data, Gaussian(50.0)) == math.floor(limit / (8 / (2 * 50**2)))
    ledger.spend(data, PureDP(1.0))
    account = ledger.report().accounts[0]
    assert account.planned == Budget(plan.bound.upper, 4e-6)
    assert ledger.epsilon(delta=1e-5).upper == pytest.approx(1.0 + plan.bound.upper, rel=1e-12)
    with pytest.raises(BudgetExceeded):
        ledger.spend(data, PureDP(left))
    late = ledger.plan(data, PureDP(0.25), delta=0.0)
    assert late.bound.upper == 0.25
    assert ledger.epsilon(delta=1e-5).upper == pytest.approx(1.25 + plan.bound.upper, rel=1e-12)
    text = str(ledger.report())
    assert "plan-1, gdp" in text
    assert "as it came" in text
    with pytest.raises(BudgetExceeded, match="this plan for 'd' costs"):
        ledger.plan(data, PureDP(2.5), delta=0.0)


def test_a_plan_that_took_all_of_delta_leaves_pure_releases():
    ledger = Ledger(budget=Budget(3.0, 1e-5), adjacency="add-remove")
    data = ledger.dataset("d")
    ledger.plan(data, Gaussian(10.0))
    with pytest.raises(BudgetExceeded, match="No delta is left to adaptive releases"):
        ledger.spend(data, Gaussian(1000.0))
    ledger.spend(data, PureDP(1.0))


def test_the_gaussian_filter_wants_its_plans_first():
    ledger = Ledger(budget=Budget(3.0, 1e-5), adjacency="add-remove", filter="gdp")
    data = ledger.dataset("d")
    ledger.plan(data, PureDP(0.5), delta=0.0)
    ledger.spend(data, Gaussian(10.0))
    with pytest.raises(LedgerMisuse, match="before the first adaptive release"):
        ledger.plan(data, PureDP(0.5), delta=0.0)


def test_plans_of_split_by_compare_staying_with_moving():
    ledger = Ledger(budget=Budget(50.0, 1e-5), adjacency="replace-one")
    one, two, _ = ledger.dataset("d").split_by("city", 3)
    ledger.plan(one, Gaussian(2.0))
    stays = dpcheck.epsilon(Gaussian(2.0), delta=1e-5, adjacency="replace-one").upper
    assert ledger.epsilon(delta=1e-5).upper == pytest.approx(stays)
    ledger.plan(two, Gaussian(0.5))
    # Replaced in two: shift 2/.5 = 4; moved: 1/2 and 1/.5, together sqrt(4.25).
    stays = dpcheck.epsilon(Gaussian(0.5), delta=1e-5, adjacency="replace-one").upper
    assert ledger.epsilon(delta=1e-5).upper == pytest.approx(stays)
