"""A handle belongs to its process and thread, and a call inside another call is refused."""

import subprocess
import sys
import threading

import pytest

from dpcheck import Budget, BudgetExceeded, Laplace, Ledger, PureDP
from dpcheck.core.errors import InvalidParameter, LedgerMisuse


def opened(where, tmp_path, budget):
    if where == "memory":
        return Ledger(Budget(budget), "replace-one", block=8)
    return Ledger.open(tmp_path / "privacy.ledger", Budget(budget), "replace-one", block=8)


@pytest.mark.parametrize("where", ["memory", "file"])
def test_a_signal_handler_that_spends_inside_a_spend_gains_nothing(tmp_path, where):
    """At every line of every call, a handler tries to spend as well: 100 releases fit, no more."""
    ledger = opened(where, tmp_path, 0.2)
    data, event = ledger.dataset("d"), PureDP(0.002)
    made = refused = 0

    def handler():
        nonlocal made, refused
        try:
            ledger.spend(data, event)
            made += 1
        except LedgerMisuse:
            refused += 1
        except BudgetExceeded:
            pass

    def trace(frame, what, _):
        if "/dpcheck/ledger/" not in frame.f_code.co_filename:
            return None
        if what == "line":
            handler()
        return trace

    for _ in range(40):
        sys.settrace(trace)
        try:
            ledger.spend(data, event)
            made += 1
        except BudgetExceeded:
            pass
        finally:
            sys.settrace(None)
    assert refused > 100  # the handler came while a call was under way
    assert 90 <= made <= 100
    assert ledger.epsilon().upper >= made * 0.002 - 1e-12
    ledger.close()


def test_an_interrupted_call_leaves_the_handle_usable():
    ledger = Ledger(Budget(1.0), "replace-one")
    data = ledger.dataset("d")

    def trace(frame, what, _):
        if what == "line" and frame.f_code.co_name == "run":
            raise KeyboardInterrupt
        return trace if "/dpcheck/ledger/" in frame.f_code.co_filename else None

    sys.settrace(trace)
    try:
        with pytest.raises(KeyboardInterrupt):
            ledger.spend(data, PureDP(0.5))
    finally:
        sys.settrace(None)
    ledger.spend(data, PureDP(0.5))


def test_another_thread_opens_a_handle_of_its_own(tmp_path):
    kept, alone = opened("file", tmp_path, 1.0), opened("memory", tmp_path, 1.0)
    data, mine = kept.dataset("d"), alone.dataset("d")
    said = []

    def work():
        alone.spend(mine, PureDP(0.25))  # in memory a lock suffices
        try:
            kept.spend(data, PureDP(0.25))
        except LedgerMisuse as error:
            said.append(str(error))
        with Ledger.open(tmp_path / "privacy.ledger") as here:
            here.spend(here.dataset("d"), PureDP(0.5))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert "another thread opened" in said[0]
    assert (kept.epsilon().upper, alone.epsilon().upper) == (0.5, 0.25)
    kept.close()


@pytest.mark.parametrize("gone", [False, True])
def test_a_fork_cannot_spend_what_the_parent_has(place, tmp_path, gone):
    """Neither what was counted ahead nor a copy in memory; also if another ledger's file is gone."""
    code = f"""
import os
from dpcheck import Budget, Ledger, PureDP
from dpcheck.core.errors import LedgerMisuse
other = Ledger.open({str(tmp_path / "other")!r}, Budget(1.0), "replace-one")
other.spend(other.dataset("d"), PureDP(0.1))
shared = Ledger.open({place!r}, Budget(1.0), "replace-one", block=64)
alone = Ledger(Budget(1.0), "replace-one", block=64)
data, mine = shared.dataset("d"), alone.dataset("d")
for _ in range(10):
    shared.spend(data, PureDP(0.01))
    alone.spend(mine, PureDP(0.01))
if {gone}:
    os.remove({str(tmp_path / "other")!r})
child = os.fork()
if child == 0:
    refused = 0
    for ledger, dataset in ((alone, mine), (shared, data)):
        for call in (lambda: ledger.spend(dataset, PureDP(0.01)), ledger.epsilon, ledger.close):
            try:
                call()
            except LedgerMisuse as error:
                assert "fork" in str(error)
                refused += 1
    with Ledger.open({place!r}) as here:  # its own handle
        here.spend(here.dataset("d"), PureDP(0.01))
    del alone, shared, other
    print(refused, flush=True)
    raise SystemExit(0 if refused == 6 else 1)  # an ordinary end, with all its destructors
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
for _ in range(10):
    alone.spend(mine, PureDP(0.01))
    shared.spend(data, PureDP(0.01))
shared.close()
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == ["6"]
    with Ledger.open(place) as ledger:
        assert ledger.epsilon().upper == pytest.approx(0.21)


# Events that say one thing and cost another -------------------------------------------------------


class Agreeable(PureDP):
    """Equal to whatever it is compared with."""

    def __eq__(self, other):
        return True

    def __hash__(self):
        return hash(PureDP(0.001))


@pytest.mark.parametrize("around", [lambda e: e, lambda e: e * 3, lambda e: PureDP(0.001) + e])
def test_a_subclass_of_an_event_is_refused(around):
    ledger = Ledger(Budget(1.0), "replace-one")
    data = ledger.dataset("d")
    for _ in range(20):
        ledger.spend(data, PureDP(0.001))  # some are counted ahead
    for call in (
        lambda: ledger.spend(data, around(Agreeable(0.9))),
        lambda: ledger.plan(data, around(Agreeable(0.9))),
        lambda: ledger.how_many(data, around(Agreeable(0.9))),
        lambda: ledger.spend(data, around(Agreeable(0.9)), request_id="q"),
    ):
        with pytest.raises(InvalidParameter, match="subclasses"):
            call()
    assert ledger.epsilon().upper == pytest.approx(0.02)


def test_an_event_that_is_changed_afterwards_costs_what_it_says_now():
    ledger = Ledger(Budget(1.0), "replace-one")
    data, event = ledger.dataset("d"), PureDP(0.001)
    for _ in range(20):
        ledger.spend(data, event)
    object.__setattr__(event, "epsilon", 0.9)
    ledger.spend(data, event)
    with pytest.raises(BudgetExceeded):
        ledger.spend(data, event)
    assert ledger.epsilon().upper == pytest.approx(0.92)
    assert {line.event: line.times for line in ledger.report().lines} == {
        PureDP(0.001): 20,
        PureDP(0.9): 1,
    }


class Small(float):
    """A number that compares as another."""

    def __eq__(self, other):
        return True

    def __hash__(self):
        return hash(0.001)


def test_numbers_that_compare_as_they_like_are_read_as_numbers():
    ledger = Ledger(Budget(1.0), "replace-one")
    data = ledger.dataset("d")
    for _ in range(20):
        ledger.spend(data, PureDP(0.001))
    event = PureDP(0.5)
    object.__setattr__(event, "epsilon", Small(0.9))
    ledger.spend(data, event)
    assert ledger.epsilon().upper == pytest.approx(0.92)
    odd = Laplace(1.0)
    object.__setattr__(odd, "noise_multiplier", "1e9")
    with pytest.raises(InvalidParameter):
        ledger.spend(data, odd)
