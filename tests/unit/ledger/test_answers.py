"""What a ledger answers: odometer, remaining, how_many, report, statement."""

import math
import threading
from decimal import Decimal

import pytest

import dpcheck
from dpcheck import (
    ApproxDP,
    Budget,
    BudgetExceeded,
    Gaussian,
    Laplace,
    Ledger,
    ObjectivePerturbation,
    PureDP,
    SampledGaussian,
    TruncatedPoissonGaussian,
)
from dpcheck.core.errors import ProofsContradict
from dpcheck.ledger.pricing.mixture import EVENLY, SOME

WIDE = Budget(1000.0)


def pure_ledger(adjacency="replace-one", budget=WIDE):
    return Ledger(budget=budget, adjacency=adjacency)


def test_the_odometer_is_the_filters_supermartingale_bound():
    ledger = Ledger(budget=Budget(3.0, 1e-5), adjacency="add-remove", order=6.0, reserve=0.0)
    data = ledger.dataset("d")
    ledger.spend(data, Gaussian(20.0), times=50)
    divergence = 6.0 * 50 / (2 * 400)

    def one_order(delta):  # [Canonne2020] Proposition 12 solved for epsilon
        return divergence + math.log(1 - 1 / 6) - (math.log(delta) + math.log(6)) / 5

    bound = ledger.epsilon(delta=1e-5)  # a fiftieth of it is for reading
    assert bound.upper == pytest.approx(one_order(0.02e-5), rel=1e-4)
    assert bound.upper >= one_order(0.02e-5)
    assert bound.method == "rdp-odometer"
    assert ledger.epsilon(delta=1e-7).upper == pytest.approx(one_order(1e-7), rel=1e-4)
    # Near the end the filter itself says more: the whole budget, whenever it stops.
    ledger.spend(data, Gaussian(20.0), times=ledger.how_many(data, Gaussian(20.0)))
    assert ledger.epsilon(delta=1e-5).upper == 3.0
    assert ledger.epsilon(delta=1e-5).method == "rdp-filter"
    assert ledger.epsilon(delta=1e-7).method == "rdp-odometer"
    assert ledger.epsilon(delta=0).upper == math.inf


@pytest.mark.parametrize("name", ["zcdp", "gdp"])
def test_the_other_filters_have_the_same_odometer(name):
    ledger = Ledger(Budget(3.0, 1e-5), "add-remove", filter=name, reserve=0.0)
    ledger.spend(ledger.dataset("d"), Gaussian(20.0), times=50)
    bound = ledger.epsilon(delta=1e-6)
    assert bound.upper == pytest.approx(EVENLY.epsilon(SOME * 50 / (2 * 400), 1e-6), rel=1e-9)
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


def test_a_cut_batch_costs_a_group_no_less_than_an_uncut_one():
    ledger = Ledger(Budget(10.0, 1e-2), "add-remove")
    data = ledger.dataset("d", rows=1000, max_rows_per_unit=2)
    ledger.spend(data, TruncatedPoissonGaussian(2.0, 0.1, rows=1000, max_batch=180))
    found = ledger.epsilon(delta=1e-2)
    # With room for 180 the batch is cut once in 1e14 steps: two records of a plain Poisson step.
    two = dpcheck.Grouped(SampledGaussian(2.0, 0.1), 2)
    plain = dpcheck.epsilon(two, delta=1e-2, adjacency="add-remove")
    assert plain.lower <= found.upper <= 10.0
    # A batch that is always cut to half of the rows moves by 2C for each of the two records.
    tight = TruncatedPoissonGaussian(0.1, 0.9, rows=1000, max_batch=500)
    with pytest.raises(BudgetExceeded) as caught:
        ledger.spend(data, tight)
    assert caught.value.data["wanted"] > 10.0


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
    assert len(ledger.history()) < 20
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


@pytest.mark.parametrize("event", [PureDP(0.1), Laplace(0.3), PureDP(1 / 3), Laplace(7.0)])
def test_the_lower_side_reads_numbers_as_the_upper_one_does(event):
    """Three times 0.1 is 0.3 on both sides, and more than 0.3 in binary fractions."""
    ledger = Ledger(Budget(1e4), "add-remove")
    data = ledger.dataset("d")
    one = Decimal(repr(event.epsilon)) if isinstance(event, PureDP) else None
    for number in range(1, 40):
        ledger.spend(data, event)
        found = ledger.epsilon()
        exact = one or 1 / Decimal(repr(event.noise_multiplier))
        assert Decimal(found.lower) <= number * exact
        assert found.upper >= found.lower >= found.upper * (1 - 1e-14)


def test_a_lower_side_above_the_upper_one_is_an_error(monkeypatch):
    """It says that one of two proofs is wrong, and nobody knows which."""
    from dpcheck.core.bound import Bound
    from dpcheck.ledger import queries

    ledger = Ledger(Budget(1.0), "add-remove")
    ledger.spend(ledger.dataset("d"), PureDP(0.5))
    monkeypatch.setattr(queries, "epsilon", lambda *_, **__: Bound(0.51, math.inf, "wrong"))
    with pytest.raises(ProofsContradict, match="contradict"):
        ledger.epsilon()


def test_nobody_pays_for_all_places_that_rows_may_be_in():
    """The event of a dataset whose persons have several rows costs more than anybody pays: no lower side."""
    for spend in (Ledger.spend, Ledger.plan):
        ledger = Ledger(Budget(10.0), "add-remove")
        data = ledger.dataset("d", rows=10, max_rows_per_unit=2)
        for part in data.split_rows(2):
            spend(ledger, part, PureDP(0.5))
        assert ledger.epsilon().lower <= 1.0 <= ledger.epsilon().upper
    ledger = Ledger(Budget(10.0), "replace-one")
    for number, part in enumerate(ledger.dataset("d").split_by("key", 17)):
        ledger.spend(part, PureDP(1.0 if number == 0 else 0.01 * number))
    # The record moves from the first part to the last, or stays: nobody is in the first one twice.
    assert ledger.epsilon().lower <= 1.16 <= ledger.epsilon().upper
