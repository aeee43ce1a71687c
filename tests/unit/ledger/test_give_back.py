"""What was counted ahead is given back by one thread at a time, inside the lock of its handle."""

from __future__ import annotations

import threading

import pytest

from dpcheck import Budget, BudgetExceeded, Ledger, PureDP
from dpcheck.ledger.spending import Spending

CALLS = {
    "close": lambda ledger, data: ledger.close(),
    "plan": lambda ledger, data: ledger.plan(data, PureDP(0.001) * 3, name="p"),
}


@pytest.mark.parametrize("call", ["close", "plan", "spend"])
def test_nobody_else_is_inside(monkeypatch, call):
    """Another thread can never take the lock while releases go back."""
    ledger = Ledger(Budget(1.0), "replace-one", block=64)
    data = ledger.dataset("d")
    for _ in range(20):
        ledger.spend(data, PureDP(0.001))
    ordinary, free = Spending.give_back, []

    def watched(self):
        def look():
            free.append(self._lock.acquire(blocking=False))

        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        return ordinary(self)

    monkeypatch.setattr(Spending, "give_back", watched)
    if call == "spend":
        ledger.spend(data, PureDP(0.98))  # fits once those counted ahead are given back
        assert ledger.epsilon().upper == pytest.approx(1.0)
    else:
        CALLS[call](ledger, data)
    assert free
    assert not any(free)


def test_threads_that_spend_and_give_back_never_overspend():
    """Half of them make small releases, counted ahead; the others large ones, for which those go back."""
    ledger = Ledger(Budget(1.0), "replace-one", block=64)
    data, made = ledger.dataset("d"), []

    def work(event):
        try:
            for _ in range(300):
                ledger.spend(data, event)
                made.append(event.epsilon)
        except BudgetExceeded:
            pass

    threads = [threading.Thread(target=work, args=(PureDP(e),)) for e in (0.001, 0.013) * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(made) <= 1.0 + 1e-9
    assert ledger.epsilon().upper == pytest.approx(sum(made))


def test_what_another_handle_gives_back_is_taken_off_once(place):
    """The other one knows totals and no counts; it read them after they had fallen, and took it off again."""
    one = Ledger.open(place, Budget(1.0), "add-remove", block=8)
    data = one.dataset("d")
    for _ in range(9):
        one.spend(data, PureDP(1 / 32))
    with Ledger.open(place, block=1) as other:
        theirs = other.dataset("d")
        assert other.how_many(theirs, PureDP(1 / 32)) < 32 - 9  # some are counted ahead
        one.close()
        assert other.how_many(theirs, PureDP(1 / 32)) == 32 - 9
        assert sum(1 for _ in other.steps(theirs, PureDP(1 / 32))) == 32 - 9
