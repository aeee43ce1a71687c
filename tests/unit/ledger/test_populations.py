"""Populations: accounts by the million, public ones that refuse and private ones that drop out."""

import math
import pickle
from itertools import product

import numpy as np
import pytest

from dpcheck import ApproxDP, Budget, BudgetExceeded, Gaussian, Ledger, PureDP, SampledGaussian
from dpcheck.core.errors import InvalidParameter, LedgerBroken, LedgerMisuse


def test_public_accounts_pay_what_they_are_charged_and_no_more(opened):
    """Against a dictionary of decimals, for random charges of random people."""
    from decimal import Decimal

    ledger, size = opened(), 10_001
    users = ledger.population("users", size=size)
    rng, paid = np.random.default_rng(0), [Decimal(0)] * size
    for number in range(30):
        cost = [0.1, 0.25, 0.05][number % 3]
        mask = rng.random(size) < 0.4
        who = mask if number % 2 else np.flatnonzero(mask)[::-1]
        fits = ledger.affordable(users, PureDP(cost), who)
        expected = [bool(m) and paid[i] + Decimal(str(cost)) <= 1 for i, m in enumerate(mask)]
        assert fits.tolist() == expected
        if not np.array_equal(fits, mask):
            with pytest.raises(BudgetExceeded, match="nobody was charged"):
                ledger.spend(users, PureDP(cost), who=who)
        assert ledger.spend(users, PureDP(cost), who=fits) is None
        for i in np.flatnonzero(fits):
            paid[i] += Decimal(str(cost))
    again = opened()
    users = again.population("users", size=size)
    np.testing.assert_allclose(again.used(users), np.array([float(p) for p in paid]), rtol=1e-12)
    assert max(paid) == 1  # ten times 0.1 is 1
    assert again.epsilon().upper == 1.0
    assert "each of 10,001 accounts" in str(again.report())


def test_what_is_asked_wrongly(opened):
    ledger = opened()
    users = ledger.population("users", size=100)
    for call, words in (
        (
            lambda: ledger.spend(users, PureDP(0.1), who=np.ones(99, dtype=bool)),
            "one value for each",
        ),
        (lambda: ledger.spend(users, PureDP(0.1), who=[100]), "from 0 to 99"),
        (lambda: ledger.spend(users, PureDP(0.1), who=[-1]), "from 0 to 99"),
        (lambda: ledger.spend(users, PureDP(0.1), who=[0.5]), "numbers of accounts"),
        (lambda: ledger.spend(users, PureDP(0.1), who="ab"), "numbers of accounts"),
        (lambda: ledger.spend(users, PureDP(0.1), who=(i for i in [1])), "generator first"),
        (lambda: ledger.spend(users, PureDP(0.1), who={1, 2}), "Make a list of a set"),
        (lambda: ledger.spend(users, PureDP(0.1), who=[[1], [2, 3]]), "numbers of accounts"),
        (lambda: ledger.spend(users, PureDP(0.1), who=[2**70]), "numbers of accounts"),
        (
            lambda: ledger.spend(users, PureDP(0.1), who=np.ma.array([1, 2], mask=[0, 1])),
            "MaskedArray",
        ),
        (lambda: ledger.spend(users, PureDP(0.1), who=[3, 1, 3]), "account 3 more than once"),
        (lambda: ledger.affordable(users, PureDP(0.1), times=-1), "at least 1"),
        (lambda: ledger.affordable(users, PureDP(0.1), times="2"), "whole number"),
        (lambda: ledger.affordable(users, 0.1), "expected an event"),
        (lambda: ledger.affordable(None, PureDP(0.1)), "None is not a population"),
        (lambda: ledger.used(ledger.dataset("d")), "is not a population"),
        (lambda: ledger.population("v", size=5, private="no"), "private must be True or False"),
        (lambda: ledger.population("v" * 201, size=5), "at most 200 characters"),
        (lambda: ledger.spend(users, ApproxDP(0.1, 1e-9)), "can fail outright"),
        (lambda: ledger.spend(users, Gaussian(1.0)), "exceed"),
        (
            lambda: ledger.spend(ledger.dataset("d"), PureDP(0.1), who=[1]),
            "who= is for populations",
        ),
        (lambda: ledger.dataset("users"), "is a population"),
        (lambda: ledger.population("d", size=5), "something else"),
        (lambda: ledger.population("users", size=101), "something else"),
        (lambda: ledger.population("us\u0435rs", size=100), "looks like"),
        (lambda: ledger.population("big", size=0), "size"),
        (
            lambda: Ledger(Budget(1.0), "replace-one").population("u", size=5, private=True),
            "replace",
        ),
        (lambda: Ledger(Budget(1.0), "add-remove").spend(users, PureDP(0.1)), "another ledger"),
    ):
        with pytest.raises((LedgerMisuse, InvalidParameter, BudgetExceeded), match=words) as caught:
            call()
        assert "\n" not in str(caught.value)
    assert ledger.used(users).max() == 0
    ledger.spend(users, PureDP(0.1), who=[])
    assert ledger.used(users).max() == 0


def test_an_account_of_one_order_agrees_with_a_ledger_of_that_order():
    """As many releases as a ledger with the whole of delta for that order; none below the truth."""
    budget, order = Budget(2.0, 1e-6), 9.0
    ledger = Ledger(budget, "add-remove", order=order, reserve=0.0)
    users = ledger.population("users", size=3, order=order)
    steps = 0
    while ledger.affordable(users, Gaussian(5.0), who=[1])[1]:
        ledger.spend(users, Gaussian(5.0), who=[1])
        steps += 1
    # Divergence order / (2 * 25) each; the conversion of one order [Canonne2020, Proposition 12].
    classic = 2.0 - math.log(8 / 9) + (math.log(1e-6) + math.log(9)) / 8
    assert math.floor(classic / (9 / 50)) <= steps <= math.floor(classic / (9 / 50)) + 1


def test_a_private_population_drops_out_and_says_nothing(opened):
    ledger = opened()
    users = ledger.population("users", size=5000, private=True)
    who = np.arange(5000) % 2 == 0
    for _ in range(2):
        active = ledger.spend(users, PureDP(0.5), who=who)
        assert np.array_equal(active.mask, who)
    active = ledger.spend(users, PureDP(0.5))
    assert np.array_equal(active.mask, ~who)  # without an error
    assert "private" in repr(active)
    for call in (
        lambda: len(active),
        lambda: bool(active),
        lambda: list(active),
        lambda: pickle.dumps(active),
        lambda: ledger.used(users),
        lambda: ledger.affordable(users, PureDP(0.5)),
    ):
        with pytest.raises(LedgerMisuse, match="private"):
            call()
    with pytest.raises(LedgerMisuse, match="drawn from"):
        ledger.spend(users, SampledGaussian(1.0, 0.1), who=[1])
    # What is written down does not depend on who dropped out.
    written = [entry.write() for entry in ledger.history() if entry.kind == "charge"]
    assert written[0] == written[1] == written[2]
    assert "2,500" not in str(ledger.report())
    assert "2500" not in ledger.statement()


@pytest.mark.parametrize("drops", [True, False])
def test_individual_budgets_by_enumeration(drops):
    """Every outcome of an adaptive game, with and without one person: the loss keeps to the budget.

    Three people, four rounds. Who asks to take part in a round is decided by each one's own bit and the
    outcomes so far; a round releases the parity of the bits that take part by randomized response of
    epsilon 0.5. With a budget of 1 a person may take part twice. If nobody dropped out, four times 0.5
    would be lost: the test fails then, so it can.
    """
    epsilon, rounds, bits = 0.5, 4, (1, 0, 1)
    right = math.exp(epsilon) / (1 + math.exp(epsilon))

    def likelihood(people, outcomes):
        ledger = Ledger(Budget(1.0), "add-remove")
        users = ledger.population("users", size=3, private=True)
        chance = 1.0
        for number, outcome in enumerate(outcomes):
            asking = [p for p in people if number == 0 or outcomes[number - 1] == bits[p] or p == 0]
            active = ledger.spend(users, PureDP(epsilon), who=asking).mask
            if not drops:
                active = np.isin(np.arange(3), asking)
            parity = sum(bits[p] for p in people if active[p]) % 2
            chance *= right if outcome == parity else 1 - right
        return chance

    for person in range(3):
        others = [p for p in range(3) if p != person]
        losses = [
            abs(math.log(likelihood([0, 1, 2], outcomes) / likelihood(others, outcomes)))
            for outcomes in product((0, 1), repeat=rounds)
        ]
        if drops:
            assert max(losses) <= 1.0 + 1e-12
    if not drops:  # the first person asks in every round
        losses = [
            abs(math.log(likelihood([0, 1, 2], outcomes) / likelihood([1, 2], outcomes)))
            for outcomes in product((0, 1), repeat=rounds)
        ]
        assert max(losses) == pytest.approx(2.0)


def test_under_replace_one_private_accounts_would_lose_twice_the_budget():
    """Why they are refused there: a spent person is replaced by a fresh one, in every outcome.

    Whoever has bit 1 takes part in the first two rounds, everybody asks in the last two; a round releases
    whether the person takes part, by randomized response of epsilon 0.5.
    """
    right = math.exp(0.5) / (1 + math.exp(0.5))

    def likelihood(bit, outcomes):
        ledger = Ledger(Budget(1.0), "add-remove")
        users = ledger.population("users", size=1, private=True)
        chance = 1.0
        for number, outcome in enumerate(outcomes):
            asking = [0] if bit == 1 or number >= 2 else []
            part = ledger.spend(users, PureDP(0.5), who=asking).mask[0]
            chance *= right if outcome == part else 1 - right
        return chance

    losses = [
        math.log(likelihood(1, outcomes) / likelihood(0, outcomes))
        for outcomes in product((False, True), repeat=4)
    ]
    assert max(losses) == pytest.approx(2.0)


def test_a_changed_or_missing_piece_is_refused(tmp_path):
    import sqlite3

    path = tmp_path / "privacy.ledger"
    with Ledger.open(path, Budget(1.0), "add-remove") as ledger:
        users = ledger.population("users", size=9000)
        ledger.spend(users, PureDP(0.5), who=[1, 5000])
    for sql in (
        "UPDATE ledger_balances SET body = '' WHERE place = 'accounts/1'",
        "DELETE FROM ledger_balances WHERE place = 'accounts/1'",
    ):
        with sqlite3.connect(path) as db:
            db.execute(sql)
        db.close()
        with Ledger.open(path) as ledger:
            users = ledger.population("users", size=9000)
            ledger.spend(users, PureDP(0.1), who=[1])
            with pytest.raises(LedgerBroken, match="accounts of 'users'"):
                ledger.spend(users, PureDP(0.1), who=[5000])


def test_the_example_of_attribution_runs_and_no_bucket_pays_more_than_its_budget():
    import runpy
    from pathlib import Path

    path = Path(__file__).parents[3] / "examples" / "ledgers" / "attribution.py"
    whole, partial, refused, used = runpy.run_path(str(path))["main"](reports=600)
    assert whole + partial + refused == 600
    assert partial > 0
    assert used.max() <= 1.0
    assert (used * 8 == np.round(used * 8)).all()  # eighths


def test_of_a_population_a_report_says_what_it_promises(opened):
    ledger = opened()
    ledger.spend(ledger.population("users", size=100), PureDP(0.1), who=[1])
    assert "users, each of 100 accounts (per account): epsilon at most 1 at" in str(ledger.report())
    assert "is spent" not in ledger.statement()
    assert "- users: two datasets are neighbours if one account is added" in ledger.statement()
    (card,) = ledger.report().cards()
    assert "at most 1" in str(card.rows)
