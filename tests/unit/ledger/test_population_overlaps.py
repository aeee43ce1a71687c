"""Datasets whose people may own accounts of a population: each release charges every account."""

import math
import threading
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from dpcheck import ApproxDP, Budget, BudgetExceeded, Gaussian, Ledger, PureDP, SampledGaussian
from dpcheck.core.errors import AlreadyReleased, LedgerMisuse
from dpcheck.ledger.storage.entries import Charged, from_fields, to_fields

SIZE = 3


def everybody(edges, parts, size=SIZE):
    """Every way to be somebody: an account or none, datasets that pairwise overlap, one row part of each.

    `parts` has the number of row parts of each dataset (1: it is not split).
    """
    names = list(parts)
    for number in range(len(names) + 1):
        for inside in combinations(names, number):
            if not all(frozenset(pair) in edges for pair in combinations(inside, 2)):
                continue
            accounts = [None]
            if all(frozenset(("users", name)) in edges for name in inside):
                accounts += range(size)
            for account in accounts:
                for where in product(*(range(parts[name]) for name in inside)):
                    yield account, dict(zip(inside, where, strict=True))


def paid(person, releases):
    """What one of them pays for (where, which accounts or which part, cost)."""
    account, inside = person
    total = Fraction(0)
    for where, which, cost in releases:
        if where == "users":
            total += cost * (account is not None and account in which)
        elif where in inside:
            total += cost * (which is None or which == inside[where])
    return total


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 4, 5, 11])
def test_releases_are_refused_exactly_where_somebody_would_exceed(opened, seed):
    """Against every person the declarations allow, for random overlaps and random releases.

    Soundness is that nobody exceeds; that whatever nobody would exceed is accepted is the other half.
    """
    rng = np.random.default_rng(seed)
    ledger = opened()
    users = ledger.population("users", size=SIZE)
    parts = {"a": 1, "b": 2, "c": 3}
    handles = {name: ledger.dataset(name) for name in parts}
    rows = {
        name: handles[name].split_rows(number, name="rows")
        for name, number in parts.items()
        if number > 1
    }
    edges = set()
    for name in parts:
        if rng.random() < 0.7:
            ledger.overlaps(handles[name], users)
            edges.add(frozenset((name, "users")))
    for one, other in combinations(parts, 2):
        if rng.random() < 0.5:
            ledger.overlaps(handles[one], handles[other])
            edges.add(frozenset((one, other)))
    people = list(everybody(edges, parts))
    releases, refused = [], 0
    for _ in range(40):
        cost = Fraction(int(rng.integers(1, 16)), 64)
        where = str(rng.choice(["users", *parts]))
        if where == "users":
            which = {i for i in range(SIZE) if rng.random() < 0.5}
            target, who = users, np.array(sorted(which), dtype=int)
        else:
            which = int(rng.integers(parts[where])) if rng.random() < 0.7 else None
            if which is None or where not in rows:
                which, target, who = None, handles[where], None
            else:
                target, who = rows[where][which], None
        new = (where, which, cost)
        fits = all(paid(person, [*releases, new]) <= 1 for person in people)
        try:
            ledger.spend(target, PureDP(float(cost)), who=who)
            accepted = True
        except BudgetExceeded:
            accepted = False
        assert accepted == fits, (releases, new)
        refused += not accepted
        if accepted:
            releases.append(new)
    assert refused
    assert releases
    by_account = [
        max(paid(person, releases) for person in people if person[0] == i) for i in range(SIZE)
    ]
    np.testing.assert_allclose(ledger.used(users), [float(p) for p in by_account])


@pytest.mark.parametrize("terms", [{}, {"filter": "rdp", "order": 9.0}, {"filter": "zcdp"}])
def test_divergences_of_datasets_and_accounts_add_up(terms):
    """Gaussians have divergence order / (2 sigma^2) under add-remove; never more of them than fit."""
    budget, order = Budget(2.0, 1e-6), 9.0
    alone = Ledger(budget, "add-remove").population("users", size=2, order=order)
    most = 0
    while alone.ledger.affordable(alone, Gaussian(10.0), who=[0])[0]:
        alone.ledger.spend(alone, Gaussian(10.0), who=[0])
        most += 1
    ledger = Ledger(budget, "add-remove", block=1, **terms)
    users, data = ledger.population("users", size=2, order=order), ledger.dataset("data")
    ledger.overlaps(users, data)
    made = []

    def in_turn():
        while True:
            ledger.spend(data, Gaussian(10.0))
            made.append(data)
            ledger.spend(users, Gaussian(10.0), who=[1])
            made.append(users)

    with pytest.raises(BudgetExceeded, match="account"):
        in_turn()
    # Without order 9.0 among those that are added up, the next higher one stands for it.
    assert (most - 1 if terms else most * 0.9 - 1) <= len(made) <= most
    used, each = ledger.used(users), alone.ledger.used(alone)[0] / most
    shares = np.array([made.count(data), len(made)]) * each
    assert (used >= shares * (1 - 1e-9)).all()
    assert used == pytest.approx(shares, rel=1e-9 if terms else 0.1)


def test_a_custom_order_is_read_at_the_next_one_that_is_added_up():
    """Never below the truth: divergences grow with the order."""
    from dpcheck.ledger.pricing.certificate import ORDERS
    from dpcheck.ledger.pricing.filters import choose_filter

    budget = Budget(2.0, 1e-6)
    total = ORDERS / 2  # of a Gaussian with mu = 1
    for order in (1.05, 2.0, 9.0, float(ORDERS[40]), float(ORDERS[-1])):
        assert choose_filter(budget, "loop").divergence(total, order) >= order / 2
    assert choose_filter(budget, "loop").divergence(total, float(ORDERS[40])) == ORDERS[40] / 2
    assert choose_filter(budget, "loop").divergence(total, 1e4) == math.inf
    assert choose_filter(budget, "rdp", 4.0).divergence(np.array([2.0]), 5.0) == math.inf
    assert choose_filter(budget, "zcdp").divergence(np.array([0.5]), 8.0) == pytest.approx(4.0)
    assert choose_filter(budget, "gdp").divergence(np.array([1.0]), 8.0) == pytest.approx(4.0)
    assert choose_filter(Budget(1.0), "pure").divergence(np.zeros(0), 8.0) == math.inf


def test_several_rows_of_a_person_and_plans_are_charged_too(opened):
    ledger = opened()
    users = ledger.population("users", size=2)
    visits = ledger.dataset("visits", unit="patient", max_rows_per_unit=3)
    ledger.overlaps(visits, users)
    ledger.spend(visits, PureDP(1 / 8))  # 3 / 8 for three rows
    ledger.plan(visits, PureDP(1 / 32) * 4, name="plan")  # as much
    assert ledger.used(users) == pytest.approx([0.75, 0.75])
    with pytest.raises(BudgetExceeded, match=r"released from visits; nobody"):
        ledger.spend(users, PureDP(0.26), who=[1])
    ledger.spend(users, PureDP(0.25), who=[1])
    with pytest.raises(BudgetExceeded, match="accounts of 'users'"):
        ledger.plan(visits, PureDP(0.01), name="another")


def test_plans_and_releases_that_can_fail_are_refused(opened):
    ledger = Ledger(Budget(1.0, 1e-6), "add-remove")
    users, data = ledger.population("users", size=2), ledger.dataset("data")
    ledger.overlaps(users, data)
    with pytest.raises(BudgetExceeded, match="accounts of 'users'"):
        ledger.plan(data, ApproxDP(0.1, 1e-9))
    with pytest.raises(BudgetExceeded, match="can fail outright, which the accounts of 'users'"):
        ledger.spend(data, ApproxDP(0.1, 1e-9))
    ledger.spend(data, PureDP(0.1))


def test_what_a_handle_counted_ahead_is_given_back_before_accounts_are_refused(opened):
    ledger = opened()
    users, data = ledger.population("users", size=2), ledger.dataset("data")
    ledger.overlaps(users, data)
    for _ in range(9):  # 7 more are counted ahead by then
        ledger.spend(data, PureDP(1 / 32))
    assert ledger.used(users) == pytest.approx([9 / 32] * 2)
    ledger.spend(data, PureDP(1 / 32))
    ledger.spend(users, PureDP(22 / 32), who=[0])
    assert ledger.how_many(data, PureDP(1 / 64)) == 0
    assert ledger.remaining(data).epsilon == 0
    assert ledger.epsilon(dataset=data).upper == 1.0  # somebody in it may own the first account


def test_other_handles_see_what_accounts_have_paid(opened):
    """Charges, overlaps and releases by turns through two handles."""
    one, other = opened(), opened()
    users = one.population("users", size=5000)
    one.spend(users, PureDP(0.25), who=[4999])
    data = one.dataset("data")
    other.spend(other.dataset("data 2"), PureDP(0.5))
    one.overlaps(users, data)
    theirs, data_2 = other.population("users", size=5000), other.dataset("data")
    other.spend(theirs, PureDP(0.25), who=[4999])
    one.spend(data, PureDP(0.25))
    with pytest.raises(BudgetExceeded, match="account of 'users'"):
        other.spend(data_2, PureDP(0.3))
    other.spend(data_2, PureDP(0.25))
    assert one.used(users)[4998:] == pytest.approx([0.5, 1.0])
    with pytest.raises(BudgetExceeded, match="with what was released from data"):
        one.spend(users, PureDP(0.1))
    again = opened()
    with pytest.raises(BudgetExceeded, match="account of 'users'"):
        again.spend(again.dataset("data"), PureDP(0.1))
    assert "users + data, each of 5,000 accounts" in again.statement()
    assert "users + data" in str(again.report())
    kinds = [entry.kind for entry in again.history()]
    assert kinds.count("overlap") == 1


def test_a_reserved_release_charges_every_account_once(opened):
    ledger = opened()
    users, data = ledger.population("users", size=2), ledger.dataset("data")
    ledger.overlaps(users, data)
    for _ in range(3):
        receipt = ledger.spend(data, PureDP(0.5), request_id="one")
    receipt.release()
    with pytest.raises(AlreadyReleased):
        ledger.spend(data, PureDP(0.5), request_id="one")
    assert ledger.used(users) == pytest.approx([0.5, 0.5])
    ledger.spend(users, PureDP(0.5), who=[1])
    with pytest.raises(BudgetExceeded, match="account of 'users'"):
        ledger.spend(data, PureDP(0.5), request_id="two")


def test_overlaps_that_nobody_can_keep_are_refused(opened):
    ledger = opened()
    data, users = ledger.dataset("data"), ledger.population("users", size=2)
    hidden = ledger.population("hidden", size=2, private=True)
    rich = ledger.population("rich", size=2, budget=Budget(2.0))
    late = ledger.dataset("late")
    ledger.spend(late, PureDP(0.1))
    planned = ledger.dataset("planned")
    ledger.plan(planned, PureDP(0.7), name="plan")
    ledger.spend(users, PureDP(0.5), who=[1])
    strange = Ledger(Budget(1.0), "add-remove").population("users", size=2)
    for names, words in (
        ((data, users, rich), "two populations"),
        ((data, hidden), "private accounts"),
        ((data, rich), "more than"),
        ((late, users), "'late' has releases already"),
        ((planned, users), "together exceed"),
        ((users,), "at least two different"),
        ((users, users), "at least two different"),
        ((data, strange), "not a dataset of this ledger"),
        ((data.split_rows(2, name="rows")[0], users), "part of a dataset"),
    ):
        with pytest.raises(LedgerMisuse, match=words):
            ledger.overlaps(*names)
    ledger.overlaps(data, users)
    ledger.spend(data, PureDP(0.1))
    ledger.overlaps(users, data)  # said again
    other = ledger.dataset("other")
    with pytest.raises(LedgerMisuse, match="'data' has releases already"):
        ledger.overlaps(users, data, other)
    ledger.overlaps(users, other)


def test_the_highest_balance_is_written_down_of_public_accounts_only(opened):
    ledger = opened()
    users = ledger.population("users", size=2)
    hidden = ledger.population("hidden", size=2, private=True)
    ledger.spend(users, PureDP(0.25), who=[1])
    ledger.spend(users, PureDP(0.5), who=[0])
    ledger.spend(hidden, PureDP(0.5), who=[0])
    charged = [entry for entry in ledger.history() if isinstance(entry, Charged)]
    assert [entry.highest for entry in charged] == [25 * 10**10, 50 * 10**10, None]
    assert [from_fields(to_fields(entry)) for entry in charged] == [
        from_fields(to_fields(entry)) for entry in charged
    ]
    assert "highest" not in to_fields(charged[2])


def test_clients_that_spend_at_once_never_exceed_anybody(place):
    """Threads with a handle each release from two datasets and the population, until all are refused."""
    Ledger.open(place, Budget(1.0), "add-remove").close()
    with Ledger.open(place) as ledger:
        users = ledger.population("users", size=4)
        ledger.overlaps(users, ledger.dataset("a"))
        ledger.overlaps(users, ledger.dataset("b"))
    made, lock = [], threading.Lock()

    def client(seed):
        rng = np.random.default_rng(seed)
        with Ledger.open(place, block=1 + seed % 2 * 3) as mine:
            people = mine.population("users", size=4)
            misses = 0
            while misses < 6:
                where, who = str(rng.choice(["a", "b", "users"])), int(rng.integers(4))
                try:
                    if where == "users":
                        mine.spend(people, PureDP(1 / 32), who=who)
                    else:
                        mine.spend(mine.dataset(where), PureDP(1 / 32))
                except BudgetExceeded:
                    misses += 1
                    continue
                with lock:
                    made.append((where, {who} if where == "users" else None, Fraction(1, 32)))

    clients = [threading.Thread(target=client, args=(seed,)) for seed in range(5)]
    for thread in clients:
        thread.start()
    for thread in clients:
        thread.join()
    edges = {frozenset(("users", "a")), frozenset(("users", "b"))}
    people = everybody(edges, {"a": 1, "b": 1}, size=4)
    totals = [paid(person, made) for person in people]
    assert max(totals) == 1
    with Ledger.open(place) as ledger:
        used = ledger.used(ledger.population("users", size=4))
        assert used.max() == 1.0
        counts = sum(e.times for e in ledger.history() if e.kind in ("release", "charge"))
        assert counts == len(made)


def test_a_sampled_release_from_a_dataset_charges_everybody():
    ledger = Ledger(Budget(3.0, 1e-5), "add-remove")
    users, data = ledger.population("users", size=3), ledger.dataset("data")
    ledger.overlaps(users, data)
    for _ in range(10):
        ledger.spend(data, SampledGaussian(1.0, 1 / 32))
    used = ledger.used(users)
    assert used[0] == used[1] == used[2] > 0
