"""Composition from provenance: splits, overlaps, people with several rows."""

import math

import pytest

import dpcheck
from dpcheck import (
    Budget,
    BudgetExceeded,
    Gaussian,
    Laplace,
    Ledger,
    ObjectivePerturbation,
    PureDP,
    RandomizedResponse,
)
from dpcheck.core.errors import (
    LedgerMisuse,
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
    with pytest.raises(LedgerMisuse, match="in another way"):
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
    total = ledger._read(None, lambda reader: reader.total(reader.state.accounts[0]))
    assert total.divergences[0] == pytest.approx(0.18 + pure, rel=1e-9)


def test_a_person_with_scattered_rows_pays_the_maximum_of_the_parts():
    ledger = pure_ledger("add-remove")
    users = ledger.dataset("users", rows=100, unit="user", max_rows_per_unit=2)
    for part, cost in zip(users.split_rows(2), (1.0, 0.75), strict=True):
        ledger.spend(part, PureDP(cost))
    assert ledger.epsilon().upper == 2.0  # both rows in the first part; one in each is 1.75
