"""The ledger in memory: composition from provenance, budgets, filters, odometer, words."""

import copy
import math
import pickle
import threading

import numpy as np
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
    ObjectivePerturbation,
    PureDP,
    RandomizedResponse,
    SampledGaussian,
    TruncatedPoissonGaussian,
)
from dpcheck.core.errors import (
    DpcheckError,
    InvalidParameter,
    LedgerMisuse,
    UnknownName,
    UnsupportedAdjacency,
)
from dpcheck.core.spending import Spender

WIDE = Budget(1000.0)


def pure_ledger(adjacency="replace-one", budget=WIDE):
    return Ledger(budget=budget, adjacency=adjacency)


def test_the_example_of_the_contract():
    ledger = dpcheck.Ledger(budget=dpcheck.Budget(3.0, 1e-5), adjacency="replace-one")
    patients = ledger.dataset("patients", rows=12_702)
    low, high = patients.split_rows(2)
    for block in low.split_columns(5):
        ledger.spend(block, dpcheck.PureDP(0.2))
    ledger.spend(high, dpcheck.PureDP(1.0))
    assert ledger.epsilon(delta=0).upper == 1.0
    assert (low.rows, high.rows) == (6351, 6351)
    with pytest.raises(BudgetExceeded):
        ledger.spend(high, dpcheck.PureDP(2.5))


def test_a_ledger_is_a_spender():
    def mechanism(ledger: Spender, data: object) -> None:
        ledger.spend(data, PureDP(0.5))

    ledger = pure_ledger()
    mechanism(ledger, ledger.dataset("d"))
    assert ledger.epsilon().upper == 0.5


# The stacking papers ------------------------------------------------------------------------------


@pytest.mark.parametrize("blocks", [2, 5, 10])
def test_pst_h_source_as_printed_costs_blocks_times_epsilon(blocks):
    ledger = pure_ledger()
    source = ledger.dataset("source", rows=1000)
    for block in source.split_columns(blocks):
        ledger.spend(block, PureDP(0.7))
    assert ledger.epsilon(delta=0).upper == pytest.approx(blocks * 0.7, rel=1e-15)


def test_pst_h_source_of_real_blocks_costs_five_times_their_loss():
    # Chaudhuri's eps' for eps=1 at n=100, lam=.1: every block costs its eps', see theory section 2.
    ledger = pure_ledger()
    source = ledger.dataset("source", rows=100)
    for block in source.split_columns(5):
        ledger.spend(block, ObjectivePerturbation(0.950615, rows=100, regularization=0.1))
    assert ledger.epsilon(delta=0).upper == pytest.approx(5 * 0.950615, rel=1e-12)


def test_plr_fs_blocks_share_one_epsilon():
    # Norm bounds q_k that add up to 1: with eps' n lam >= 2 q_k block k costs eps' q_k.
    ledger = pure_ledger()
    source = ledger.dataset("source", rows=1000)
    for block, share in zip(source.split_columns(4), (0.4, 0.3, 0.2, 0.1), strict=True):
        event = ObjectivePerturbation(1.0, rows=1000, regularization=0.1, norm_bound=share)
        ledger.spend(block, event)
    bound = ledger.epsilon(delta=0)
    assert bound.upper == pytest.approx(1.0, rel=1e-12)
    assert bound.upper >= 1.0
    assert any("exact minimiser" in text for text in bound.assumes)


def test_a_block_described_by_the_wrong_number_of_rows_is_refused():
    ledger = pure_ledger()
    part, _ = ledger.dataset("source", rows=100).split_rows(2)
    with pytest.raises(LedgerMisuse, match=r"says 100 rows, but 'source/.*' has 50"):
        ledger.spend(part, ObjectivePerturbation(1.0, rows=100, regularization=0.1))
    assert ledger.epsilon().upper == 0.0


def test_a_release_that_splits_its_rows_says_how_many_each_part_has():
    ledger = pure_ledger()
    source = ledger.dataset("source", rows=100)
    half = ObjectivePerturbation(0.5, rows=50, regularization=0.1)
    ledger.spend(source, (half | half) + ObjectivePerturbation(0.1, rows=100, regularization=0.1))
    assert 0.6 <= ledger.epsilon().upper < 0.62
    with pytest.raises(LedgerMisuse, match="says 150 rows, but 'source' has 100"):
        ledger.spend(source, half | half | half)


# Provenance ---------------------------------------------------------------------------------------


def test_two_splits_of_the_same_rows_add_up():
    ledger = pure_ledger()
    data = ledger.dataset("d", rows=10)
    for cost, part in zip((1.0, 2.0), data.split_rows(2), strict=True):
        ledger.spend(part, PureDP(cost))
    for cost, part in zip((3.0, 0.5), data.split_rows([4, 6]), strict=True):
        ledger.spend(part, PureDP(cost))
    assert ledger.epsilon().upper == 5.0  # somebody may be in the worse part of both


@pytest.mark.parametrize("adjacency", ["add-remove", "zero-out"])
def test_split_by_costs_the_maximum_where_nobody_can_move(adjacency):
    ledger = pure_ledger(adjacency)
    for cost, part in zip((0.5, 1.0, 0.75), ledger.dataset("d").split_by("city", 3), strict=True):
        ledger.spend(part, PureDP(cost))
    assert ledger.epsilon().upper == 1.0


def test_split_by_costs_the_two_largest_under_replace_one():
    ledger = pure_ledger()
    for cost, part in zip((0.5, 1.0, 0.75), ledger.dataset("d").split_by("city", 3), strict=True):
        ledger.spend(part, PureDP(cost))
    assert ledger.epsilon().upper == 1.75


def test_split_by_uses_each_relation_where_it_belongs():
    # Laplace noise of 4C: 2C/4C replaced in one part, C/4C + C/4C moved between two parts.
    ledger = pure_ledger()
    one, two, _ = ledger.dataset("d").split_by("city", ["a", "b", "c"])
    ledger.spend(one, Laplace(4.0))
    assert ledger.epsilon().upper == 0.5
    ledger.spend(two, Laplace(4.0))
    assert ledger.epsilon().upper == 0.5
    ledger.spend(two, Laplace(1.0))  # two: 2/4 + 2/1 replaced; 1/4 + (1/4 + 1/1) moved
    assert ledger.epsilon().upper == 2.5
    ledger.spend(one, Laplace(0.5))  # one: 2/4 + 2/.5 replaced
    assert ledger.epsilon().upper == 4.5


def test_split_by_refuses_what_means_nothing_when_rows_come_and_go():
    ledger = pure_ledger()
    part, _ = ledger.dataset("d").split_by("city", 2)
    with pytest.raises(UnsupportedAdjacency):
        ledger.spend(part, RandomizedResponse(0.5))
    with pytest.raises(BudgetExceeded) as caught:
        ledger.spend(part, ObjectivePerturbation(1.0, rows=10, regularization=0.1))
    assert caught.value.data["wanted"] > 0
    assert ledger.epsilon().upper == 0.0


def test_split_by_the_same_key_is_the_same_split():
    ledger = pure_ledger("add-remove")
    data = ledger.dataset("d")
    ledger.spend(data.split_by("city", 2)[0], PureDP(1.0))
    ledger.spend(data.split_by("city", 2)[1], PureDP(1.0))
    assert ledger.epsilon().upper == 1.0
    with pytest.raises(LedgerMisuse, match="before, otherwise"):
        data.split_by("city", 3)


def test_splits_nest_in_every_order():
    ledger = pure_ledger()
    data = ledger.dataset("d", rows=100)
    left, right = data.split_columns(["left", "right"])
    for part in left.split_rows(4):
        ledger.spend(part, PureDP(0.25))
    for part in right.split_by("city", 3):
        for column in part.split_columns(2):
            ledger.spend(column, PureDP(0.125))
    # 0.25 + (0.25 moved out + 0.25 moved in)
    assert ledger.epsilon().upper == 0.75
    ledger.spend(data, PureDP(1.0))
    assert ledger.epsilon().upper == 1.75


def test_datasets_are_other_people_unless_they_overlap():
    def cost(*overlaps):
        ledger = pure_ledger()
        data = {name: ledger.dataset(name) for name in "abcd"}
        for names in overlaps:
            ledger.overlaps(*(data[name] for name in names))
        for name, epsilon in zip("abcd", (1.0, 2.0, 4.0, 8.0), strict=True):
            ledger.spend(data[name], PureDP(epsilon))
        return ledger.epsilon().upper

    assert cost() == 8.0
    assert cost("ab") == 8.0
    assert cost("ad", "bc") == 9.0
    assert cost("ad", "db", "ac") == 10.0  # d with a, d with b; nobody in a, b and d
    assert cost("ad", "db", "ab") == 11.0  # pairwise, so somebody may be in all three
    assert cost("abcd") == 15.0


def test_an_overlap_is_bounded_by_the_ledgers_budget_and_each_dataset_by_its_own():
    ledger = Ledger(budget=Budget(3.0), adjacency="replace-one")
    a, b = ledger.dataset("a", budget=Budget(2.0)), ledger.dataset("b")
    ledger.overlaps(a, b)
    with pytest.raises(BudgetExceeded) as caught:
        ledger.spend(a, PureDP(2.5))
    assert caught.value.data["account"] == "a"
    ledger.spend(a, PureDP(2.0))
    with pytest.raises(BudgetExceeded) as caught:
        ledger.spend(b, PureDP(1.5))
    assert caught.value.data["account"] == "a + b"
    assert (caught.value.data["spent"], caught.value.data["allowed"]) == (2.0, 3.0)
    ledger.spend(b, PureDP(1.0))
    assert ledger.epsilon().upper == 3.0
    assert ledger.epsilon(dataset=a).upper == 3.0  # of a person in a, who may be in b too


def test_overlaps_come_first():
    ledger = pure_ledger()
    a, b = ledger.dataset("a"), ledger.dataset("b")
    ledger.spend(a, PureDP(1.0))
    with pytest.raises(LedgerMisuse, match="before the first"):
        ledger.overlaps(a, b)
    with pytest.raises(LedgerMisuse, match="at least two"):
        ledger.overlaps(b, b)
    with pytest.raises(LedgerMisuse, match="whole datasets"):
        ledger.overlaps(b.split_rows(2)[0], ledger.dataset("c"))


def test_plans_of_datasets_that_turn_out_to_overlap_must_fit_together():
    ledger = Ledger(budget=Budget(1.0), adjacency="replace-one")
    a, b = ledger.dataset("a"), ledger.dataset("b")
    ledger.plan(a, PureDP(0.8))
    ledger.plan(b, PureDP(0.8))
    with pytest.raises(LedgerMisuse, match="together exceed"):
        ledger.overlaps(a, b)


def test_a_person_with_several_rows_pays_for_all_of_them():
    ledger = Ledger(budget=Budget(100.0, 1e-5), adjacency="add-remove", order=4.0)
    users = ledger.dataset("users", unit="user", max_rows_per_unit=3)
    ledger.spend(users, PureDP(0.5))
    assert ledger.epsilon().upper == 1.5
    ledger.spend(users, Gaussian(10.0))
    # Divergence 4 * (3/10)^2 / 2 of three rows at once, against the randomized response at 1.5.
    pure = math.log((math.exp(4 * 1.5) + math.exp(-3 * 1.5)) / (1 + math.exp(1.5))) / 3
    assert ledger.report().accounts[0].main == pytest.approx(0.18 + pure, rel=1e-9)


def test_a_person_with_scattered_rows_pays_the_maximum_of_the_parts():
    ledger = pure_ledger("add-remove")
    users = ledger.dataset("users", rows=100, unit="user", max_rows_per_unit=2)
    for part, cost in zip(users.split_rows(2), (1.0, 0.75), strict=True):
        ledger.spend(part, PureDP(cost))
    assert ledger.epsilon().upper == 2.0  # both rows in the first part; one in each is 1.75


# Budgets ------------------------------------------------------------------------------------------


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
    assert ledger.epsilon(delta=1e-5).upper == 2.0
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
    more = dpcheck.epsilon(Gaussian(40.0) * (spent + 1), delta=1e-6, adjacency="add-remove")
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


def test_releases_that_can_fail_use_the_delta_set_aside():
    ledger = Ledger(budget=Budget(2.0, 1e-5), adjacency="replace-one", reserve=0.1)
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


def test_a_slip_costs_on_both_sides():
    event = TruncatedPoissonGaussian(2.0, 0.1, rows=1000, max_batch=180)
    ledger = Ledger(budget=Budget(1.0, 1e-5), adjacency="add-remove")
    data = ledger.dataset("d", rows=1000)
    ledger.spend(data, event)
    slip = 1e-5 * 0.1 - ledger.remaining().delta
    from scipy.stats import binom

    assert slip == pytest.approx((1 + math.e) * binom.sf(180, 1000, 0.1), rel=1e-6)
    assert ledger.epsilon(delta=1e-5).upper == 1.0  # only the filter's own guarantee
    assert ledger.epsilon(delta=1e-5).method == "rdp-filter"


def test_an_adversary_who_watches_the_outputs_gains_nothing_over_the_budget():
    """Noise and stopping follow the outputs; delta at the budget's epsilon stays within it."""
    budget, runs = Budget(0.5, 0.2), 3000
    rng = np.random.default_rng(11)
    excess, releases = np.zeros(runs), []
    for run in range(runs):
        ledger = Ledger(budget, "add-remove", order=3.0, reserve=0.0)
        data = ledger.dataset("d")
        loss, made = 0.0, 0
        while loss < budget.epsilon + 0.5 and made < 40:  # stop while ahead
            # A loss just below epsilon is worth a loud release, anything else a quiet one.
            noise = 1.6 if 0.2 < loss < budget.epsilon else 5.0
            try:
                ledger.spend(data, Gaussian(noise))
            except BudgetExceeded:
                break
            made += 1
            # With the record the output is N(1, noise^2), without it N(0, noise^2).
            output = rng.normal(1.0, noise)
            loss += (2 * output - 1) / (2 * noise**2)
        releases.append(made)
        excess[run] = max(0.0, -math.expm1(budget.epsilon - loss))
    assert len(set(releases)) > 3  # stopping did depend on the outputs
    assert excess.mean() <= budget.delta + 4 * excess.std() / math.sqrt(runs)
    assert excess.mean() > budget.delta / 20  # and the attack is not idle


# Plans --------------------------------------------------------------------------------------------


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
    # The same schedule does not fit adaptively: that is the price of choosing as you go.
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
    ledger = Ledger(budget=Budget(3.0, 1e-5), adjacency="add-remove")
    data = ledger.dataset("d")
    plan = ledger.plan(data, Gaussian(10.0) * 10, delta=4e-6)
    left = 3.0 - plan.bound.upper
    ledger.spend(data, PureDP(1.0))
    # 4e-6 for the plan and a tenth of the rest set aside, the others for the filter at order 8.
    delta = 1e-5 - (4e-6 + 0.1 * 6e-6)
    limit = left - math.log(7 / 8) + (math.log(delta) + math.log(8)) / 7
    account = ledger.report().accounts[0]
    assert account.allowed == pytest.approx(limit, rel=1e-9)
    assert account.planned == Budget(plan.bound.upper, 4e-6)
    assert ledger.epsilon(delta=1e-5).upper == pytest.approx(1.0 + plan.bound.upper, rel=1e-12)
    with pytest.raises(BudgetExceeded):
        ledger.spend(data, PureDP(left))
    late = ledger.plan(data, PureDP(0.25), delta=0.0)
    assert late.bound.upper == 0.25
    assert ledger.epsilon(delta=1e-5).upper == pytest.approx(1.25 + plan.bound.upper, rel=1e-12)
    text = str(ledger.report())
    assert "plan-1, gdp" in text
    assert "rdp filter" in text
    with pytest.raises(BudgetExceeded, match="this plan for 'd' costs"):
        ledger.plan(data, PureDP(2.5), delta=0.0)


def test_a_plan_that_took_all_of_delta_leaves_pure_releases():
    ledger = Ledger(budget=Budget(3.0, 1e-5), adjacency="add-remove")
    data = ledger.dataset("d")
    ledger.plan(data, Gaussian(10.0))
    with pytest.raises(BudgetExceeded, match="No delta is left to the rdp filter"):
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


# What it says -------------------------------------------------------------------------------------


def test_the_odometer_is_the_filters_supermartingale_bound():
    ledger = Ledger(budget=Budget(3.0, 1e-5), adjacency="add-remove", order=6.0, reserve=0.0)
    data = ledger.dataset("d")
    ledger.spend(data, Gaussian(20.0), times=50)
    divergence = 6.0 * 50 / (2 * 400)
    bound = ledger.epsilon(delta=1e-5)
    assert bound.upper == pytest.approx(divergence + math.log(1e5) / 5, rel=1e-9)
    assert bound.method == "rdp-odometer"
    # Near the end the filter itself says more: the whole budget, whenever it stops.
    ledger.spend(data, Gaussian(20.0), times=ledger.how_many(data, Gaussian(20.0)))
    assert ledger.epsilon(delta=1e-5).upper == 3.0
    assert ledger.epsilon(delta=1e-5).method == "rdp-filter"
    assert ledger.epsilon(delta=1e-7).method == "rdp-odometer"
    assert ledger.epsilon(delta=0).upper == math.inf


@pytest.mark.parametrize("name", ["zcdp", "gdp"])
def test_the_other_filters_have_the_same_odometer(name):
    ledger = Ledger(Budget(3.0, 1e-5), "add-remove", filter=name, order=6.0, reserve=0.0)
    ledger.spend(ledger.dataset("d"), Gaussian(20.0), times=50)
    bound = ledger.epsilon(delta=1e-6)
    expected = 6.0 * 50 / (2 * 400) + math.log(1e6) / 5
    assert bound.upper == pytest.approx(expected, rel=1e-9)
    assert bound.method == f"{name}-odometer"


def test_a_pure_filter_with_a_delta_is_basic_composition():
    ledger = Ledger(Budget(1.0, 1e-5), "add-remove", filter="pure")
    data = ledger.dataset("d")
    ledger.spend(data, ApproxDP(0.5, 5e-6), times=2)
    assert ledger.epsilon(delta=1e-5).upper == 1.0
    assert ledger.epsilon(delta=9e-6).upper == math.inf
    assert ledger.remaining().epsilon == 0.0
    with pytest.raises(BudgetExceeded, match="filter='rdp'"):
        ledger.spend(data, Gaussian(100.0))


def test_a_slip_of_a_group_has_no_bound():
    ledger = Ledger(Budget(10.0, 1e-2), "add-remove")
    data = ledger.dataset("d", rows=1000, max_rows_per_unit=2)
    with pytest.raises(BudgetExceeded) as caught:
        ledger.spend(data, TruncatedPoissonGaussian(2.0, 0.1, rows=1000, max_batch=180))
    assert caught.value.data["quantity"] == "delta"
    assert caught.value.data["wanted"] == math.inf


def test_remaining_is_what_would_be_accepted():
    for budget in (Budget(2.0), Budget(2.0, 1e-5)):
        ledger = Ledger(budget=budget, adjacency="add-remove")
        low, high = ledger.dataset("d", rows=10).split_rows(2)
        ledger.spend(low, PureDP(1.5))
        left = ledger.remaining(low).epsilon
        assert left == 0.5
        assert ledger.remaining(high).epsilon == 2.0
        assert ledger.remaining().epsilon == 0.5
        with pytest.raises(BudgetExceeded):
            ledger.spend(low, PureDP(left + 1e-6))
        ledger.spend(low, PureDP(left))


def test_how_many_is_exact():
    ledger = Ledger(budget=Budget(3.0, 1e-5), adjacency="add-remove")
    data = ledger.dataset("d", rows=60_000)
    event = SampledGaussian(1.1, 256 / 60_000)
    number = ledger.how_many(data, event)
    with pytest.raises(BudgetExceeded):
        ledger.spend(data, event, times=number + 1)
    ledger.spend(data, event, times=number)
    assert ledger.how_many(data, event) == 0
    assert ledger.how_many(data, PureDP(0.0)) == 10**12


def test_the_event_of_a_dataset_is_its_provenance():
    ledger = pure_ledger()
    data = ledger.dataset("d", rows=10, max_rows_per_unit=1)
    low, high = data.split_rows(2)
    for block in low.split_columns(3):
        ledger.spend(block, PureDP(0.5), times=2)
    ledger.spend(high, PureDP(1.0))
    ledger.spend(data, PureDP(0.25))
    event = ledger.event(data)
    assert dpcheck.epsilon(event, adjacency="replace-one").upper == ledger.epsilon().upper == 3.25


def test_a_million_releases_of_one_kind_are_one_counter():
    ledger = pure_ledger()
    data = ledger.dataset("d")
    for _ in range(5000):
        ledger.spend(data, PureDP(0.001))
    ledger.spend(data, PureDP(0.001), times=95_000)
    assert data.node.counts.keys() == {PureDP(0.001)}
    (line,) = ledger.report().lines
    assert line.times == 100_000
    assert ledger.epsilon().upper == 100.0


def test_reading_does_not_change_what_is_counted():
    ledger = Ledger(budget=Budget(1.0), adjacency="add-remove")
    data = ledger.dataset("d")
    for step in range(1, 65):
        ledger.spend(data, PureDP(1 / 64))
        assert ledger.epsilon().upper == step / 64
    with pytest.raises(BudgetExceeded):
        ledger.spend(data, PureDP(1 / 64))


def test_what_was_counted_ahead_gives_way_to_other_releases():
    ledger = Ledger(budget=Budget(1.0), adjacency="add-remove")
    data = ledger.dataset("d")
    for _ in range(33):  # the 33rd takes 32, so that all 64 are counted
        ledger.spend(data, PureDP(1 / 64))
    ledger.spend(data, PureDP(31 / 64))
    assert ledger.epsilon().upper == 1.0


def test_threads_share_a_ledger():
    ledger = pure_ledger("add-remove")
    data, event = ledger.dataset("d"), PureDP(2**-10)

    def work():
        for _ in range(4096):
            ledger.spend(data, event)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.epsilon().upper == 16.0


def test_plans_of_people_with_several_rows_add_up_over_the_parts():
    ledger = Ledger(Budget(50.0, 1e-5), "add-remove")
    users = ledger.dataset("users", rows=10, unit="user", max_rows_per_unit=2)
    for part in users.split_rows(2):
        ledger.plan(part, Gaussian(4.0))
    # Two rows shift each part by 2/4; over both parts, as if all rows were in each.
    exact = dpcheck.epsilon(Gaussian(2.0) * 2, delta=1e-5, adjacency="add-remove").upper
    assert ledger.epsilon(delta=1e-5).upper == pytest.approx(exact, rel=1e-12)


def test_split_by_of_people_with_several_rows_under_replace_one():
    ledger = Ledger(Budget(50.0, 1e-5), "replace-one", order=4.0)
    users = ledger.dataset("users", unit="user", max_rows_per_unit=2)
    one, two = users.split_by("city", 2)
    ledger.spend(one, Laplace(8.0))
    ledger.spend(two, Laplace(16.0))
    # A part sees at most 2 removals and 2 additions: 4/8 in the first, more than any scattering.
    assert ledger.epsilon().upper == 0.5
    ledger = Ledger(Budget(50.0, 1e-5), "replace-one")
    one, two = ledger.dataset("users", unit="user", max_rows_per_unit=2).split_by("city", 2)
    ledger.plan(one, Gaussian(8.0))
    ledger.plan(two, Gaussian(8.0))
    exact = dpcheck.epsilon(Gaussian(2.0) * 2, delta=1e-5, adjacency="add-remove").upper
    assert ledger.epsilon(delta=1e-5).upper == pytest.approx(exact, rel=1e-12)


def test_the_statement_says_who_how_much_and_what_is_left_out():
    ledger = Ledger(budget=Budget(3.0, 1e-5), adjacency="replace-one")
    visits = ledger.dataset("visits", rows=500, unit="patient", max_rows_per_unit=4)
    ledger.dataset("staff", rows=20)
    ledger.spend(visits, OBJECTIVE)
    text = ledger.statement()
    for words in (
        "visits: (3, 1e-05)-differential privacy per patient",
        "one patient with up to 4 rows is replaced by any other; the number of rows is public",
        "one row is replaced",
        "exact minimiser",
        "Renyi filter",
        "Not accounted",
        "tuning",
        "share no person",
    ):
        assert words in text


OBJECTIVE = ObjectivePerturbation(0.1, rows=500, regularization=0.1)


# Bad input ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda ledger, d: Ledger(budget=1.0, adjacency="add-remove"), InvalidParameter),
        (lambda ledger, d: Ledger(budget=Budget(1.0), adjacency="add-move"), UnknownName),
        (lambda ledger, d: Ledger(Budget(1.0), "add-remove", block=0), InvalidParameter),
        (lambda ledger, d: Ledger(Budget(1.0), "add-remove", reserve=1.0), InvalidParameter),
        (lambda ledger, d: ledger.spend("d", PureDP(0.1)), LedgerMisuse),
        (lambda ledger, d: ledger.spend(pure_ledger().dataset("d"), PureDP(0.1)), LedgerMisuse),
        (lambda ledger, d: ledger.spend(d, 0.1), InvalidParameter),
        (lambda ledger, d: ledger.spend(d, PureDP), InvalidParameter),
        (lambda ledger, d: ledger.spend(d, PureDP(0.1), times=0), InvalidParameter),
        (lambda ledger, d: ledger.spend(d, PureDP(0.1), times=1.5), InvalidParameter),
        (lambda ledger, d: ledger.spend(d, PureDP(0.1), times=True), InvalidParameter),
        (lambda ledger, d: ledger.dataset("d", rows=11), LedgerMisuse),
        (lambda ledger, d: ledger.dataset("a/b"), InvalidParameter),
        (lambda ledger, d: ledger.dataset("x", rows=0), InvalidParameter),
        (lambda ledger, d: ledger.dataset("x", budget=0.1), InvalidParameter),
        (lambda ledger, d: ledger.dataset("x", max_rows_per_unit=0), InvalidParameter),
        (lambda ledger, d: d.split_rows(11), InvalidParameter),
        (lambda ledger, d: d.split_rows([4, 5]), InvalidParameter),
        (lambda ledger, d: d.split_rows(0), InvalidParameter),
        (lambda ledger, d: d.split_columns(["a", "a"]), InvalidParameter),
        (lambda ledger, d: d.split_by("", 2), InvalidParameter),
        (lambda ledger, d: ledger.epsilon(delta=1.0), InvalidParameter),
        (lambda ledger, d: ledger.epsilon(delta=math.nan), InvalidParameter),
        (lambda ledger, d: ledger.plan(d, PureDP(0.1) * 0), InvalidParameter),
        (lambda ledger, d: ledger.plan(d, PureDP(0.1), delta=2.0), InvalidParameter),
        (lambda ledger, d: ledger.plan(d, "a plan"), InvalidParameter),
        (lambda ledger, d: pure_ledger().remaining(), LedgerMisuse),
        (lambda ledger, d: pickle.dumps(ledger), LedgerMisuse),
        (lambda ledger, d: copy.deepcopy(ledger), LedgerMisuse),
    ],
)
def test_bad_input_is_a_one_line_error_and_changes_nothing(call, kind):
    ledger = pure_ledger()
    data = ledger.dataset("d", rows=10)
    ledger.spend(data, PureDP(0.5))
    with pytest.raises(kind) as caught:
        call(ledger, data)
    assert isinstance(caught.value, DpcheckError)
    assert "\n" not in str(caught.value)
    assert ledger.epsilon().upper == 0.5


def test_a_closed_ledger_says_so():
    with pure_ledger() as ledger:
        data = ledger.dataset("d")
        ledger.spend(data, PureDP(0.1), times=3)
    with pytest.raises(LedgerMisuse, match="closed"):
        ledger.spend(data, PureDP(0.1))
    ledger.close()


def test_plans_of_very_many_parts_by_key_cost_no_less_than_the_two_worst():
    ledger = Ledger(Budget(50.0, 1e-5), "replace-one")
    for number, part in enumerate(ledger.dataset("d").split_by("city", 40)):
        ledger.plan(part, PureDP(0.1 + number * 0.01))
    bound = ledger.epsilon()
    assert 0.48 + 0.49 <= bound.upper <= 2 * 0.49 + 1e-12
