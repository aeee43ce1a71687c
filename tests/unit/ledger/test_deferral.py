"""The order of an untold ledger waits for what comes: when it is chosen, and what is kept of it."""

import math

import mpmath
import numpy as np
import pytest

from dpcheck import Budget, BudgetExceeded, Gaussian, Ledger, SampledGaussian
from dpcheck.core.errors import LedgerBroken
from dpcheck.ledger.pricing.certificate import ORDERS, certify
from dpcheck.ledger.pricing.deferral import price
from dpcheck.ledger.storage.entries import from_fields, to_fields

BUDGET = Budget(2.0, 1e-5)
STEP, OTHER = SampledGaussian(1.0, 0.005), SampledGaussian(1.0, 0.02)


def shares(ledger):
    return [entry.allocation.certificate for entry in ledger.history() if entry.kind == "shares"]


@pytest.mark.parametrize("options", [{}, {"filter": "rdp"}])
def test_the_order_is_chosen_by_what_comes_and_before_it_is_late(options):
    ledger = Ledger(BUDGET, "add-remove", **options)
    data = ledger.dataset("d")
    ledger.spend(data, STEP)
    (waiting,) = shares(ledger)
    assert waiting.choices
    ledger.spend(data, OTHER)
    _, chosen = shares(ledger)
    assert not chosen.choices
    assert chosen.order < waiting.order  # the second event wants a lower one
    assert (chosen.order, dict(waiting.choices)[chosen.order]) in chosen.limits
    ledger.spend(data, STEP, times=3)
    assert len(shares(ledger)) == 2  # for good


def test_every_release_while_it_waits_is_within_the_gates():
    ledger = Ledger(BUDGET, "add-remove", filter="rdp", block=1)
    data, totals = ledger.dataset("d"), np.zeros(len(ORDERS))
    price_of = {}
    for event in (STEP, SampledGaussian(1.1, 0.001), STEP, STEP, STEP, STEP, STEP, STEP):
        ledger.spend(data, event)
        state = ledger._read(None, lambda reader: reader.state)
        root = state.nodes["d"]
        price_of[event] = state.price(event, root.views[0]).divergences
        waiting = state.accounts_of(root)[0].allocation.certificate
        totals = totals + price_of[event]
        for order, most in waiting.gates:
            assert totals[int(np.abs(ORDERS - order).argmin())] <= most * (1 + 1e-12)


def test_a_loop_chooses_in_time_too():
    ledger = Ledger(BUDGET, "add-remove")
    data = ledger.dataset("d")
    ledger.spend(data, STEP)
    ledger.spend(data, STEP, times=500)  # by the rule of the loop
    first, second = shares(ledger)
    assert first.choices
    assert not second.choices
    assert second.order == first.order


def test_what_waits_waits_in_the_file(tmp_path):
    path = tmp_path / "a.ledger"
    with Ledger.open(path, BUDGET, "add-remove", filter="rdp") as ledger:
        ledger.spend(ledger.dataset("d"), STEP)
        (before,) = shares(ledger)
    with Ledger.open(path) as again, Ledger.open(path) as other:
        assert shares(again) == [before]
        again.spend(again.dataset("d"), OTHER)
        assert other.how_many(other.dataset("d"), OTHER) == again.how_many(
            again.dataset("d"), OTHER
        )
        assert len(shares(other)) == 2
    assert b"shares, order open" in path.read_bytes()  # which earlier versions refuse to read


def test_half_of_it_is_not_read():
    ledger = Ledger(BUDGET, "add-remove", filter="rdp")
    ledger.spend(ledger.dataset("d"), STEP)
    fields = to_fields(next(entry for entry in ledger.history() if entry.kind == "shares"))
    assert from_fields(fields).allocation.certificate.choices
    for name in ("choices", "gates"):
        with pytest.raises(LedgerBroken):
            from_fields({key: value for key, value in fields.items() if key != name})


def test_a_late_plan_lowers_the_choices_as_it_does_the_limits():
    fixed = certify(ORDERS * 1e-4, 2.0, 1e-6, 0.1, waits=True)
    order, limit = fixed.choices[len(fixed.choices) // 2]
    divergences = np.full(len(ORDERS), math.inf)
    divergences[int(np.abs(ORDERS - order).argmin())] = limit - 0.5
    settled = fixed.settled(divergences, 1.5)
    assert settled.order == order
    assert settled.lowest(ORDERS, divergences) == pytest.approx(1.5, abs=1e-12)


def test_a_schedule_of_the_first_event_alone_loses_little():
    found = []
    for expect in (None, Gaussian(60.0)):
        ledger = Ledger(Budget(1.0, 1e-6), "add-remove", filter="rdp", expect=expect)
        found.append(ledger.how_many(ledger.dataset("d"), Gaussian(60.0)))
    assert 0.96 * found[1] <= found[0] <= found[1]


def test_a_refusal_chooses_nothing():
    ledger = Ledger(BUDGET, "add-remove", filter="rdp")
    data = ledger.dataset("d")
    ledger.spend(data, STEP)
    with pytest.raises(BudgetExceeded):
        ledger.spend(data, Gaussian(0.1))
    assert len(shares(ledger)) == 1


@pytest.mark.parametrize(
    ("low", "high", "at_high", "at_two"), [(2.0, 8.0, 1e-3, 1e-4), (0.5, 30.0, 1e-6, 1e-9)]
)
def test_the_price_at_50_digits(low, high, at_high, at_two):
    with mpmath.workdps(50):
        low, high, at_high, at_two = map(mpmath.mpf, (low, high, at_high, at_two))
        exact = mpmath.exp(high * at_high) + (high - low) / 2 * mpmath.sqrt(mpmath.expm1(at_two))
        found = price(float(low), float(high), float(at_high), float(at_two))
        assert exact <= found <= exact * (1 + mpmath.mpf("1e-11"))
    assert price(1.0, 2.0, 0.6, 0.1) == math.inf
    assert price(1.0, 2.0, math.inf, 0.1) == price(1.0, 2.0, 0.1, math.nan) == math.inf
