"""What only PostgreSQL has: settings, roles, a connection that breaks, clients at the same time."""

import threading

import psycopg
import pytest

from dpcheck import Budget, BudgetExceeded, Gaussian, Ledger, PureDP
from dpcheck.core.errors import LedgerBroken, LedgerMisuse

BUDGET = Budget(1.0, 1e-6)


@pytest.fixture
def place(postgresql):
    return postgresql.database()


@pytest.mark.parametrize("value", ["off"])
def test_a_server_that_may_forget_is_refused(place, value):
    careless = place + f"%20-csynchronous_commit%3D{value}"
    with pytest.raises(LedgerMisuse, match=r"synchronous_commit=off.*forget"):
        Ledger.open(careless, BUDGET, "add-remove")
    Ledger.open(place, BUDGET, "add-remove").close()


def test_an_address_that_is_none_is_said_without_its_password(postgresql):
    for address in (
        "postgresql://somebody:secret@127.0.0.1:1/db",
        postgresql.address("nowhere").replace("dpcheck@", "dpcheck:secret@"),
        "postgresql://u:secret@[bad",
    ):
        with pytest.raises(LedgerMisuse) as caught:
            Ledger.open(address, BUDGET, "add-remove")
        assert "secret" not in str(caught.value)
        assert "\n" not in str(caught.value)


class Cut:
    """Statements of a storage, of which one is the last that reaches the server."""

    def __init__(self, storage, at, after):
        self.storage, self.at, self.after, self.seen = storage, at, after, 0
        self.one, self.all, self.commit = storage.execute, storage.execute_all, storage._commit
        storage.execute = lambda *values: self(lambda: self.one(*values))
        storage.execute_all = lambda *values: self(lambda: self.all(*values))
        storage._commit = lambda: self(self.commit)

    def __call__(self, statement):
        self.seen += 1
        if self.seen == self.at and not self.after:
            self.cut()
        found = statement()
        if self.seen == self.at and self.after:
            self.cut()
            if statement == self.commit:
                raise LedgerMisuse("the answer to the commit was lost")
        return found

    def cut(self):
        """As a network does: the server learns nothing."""
        import os
        import socket

        file = os.dup(self.storage._db.fileno())
        with socket.socket(fileno=file) as found:
            found.shutdown(socket.SHUT_RDWR)

    def undo(self):
        for name in ("execute", "execute_all", "_commit"):
            delattr(self.storage, name)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_connection_cut_at_any_statement_loses_nothing(place, after):
    """Before and after each statement of a spend; every acknowledged release is counted."""
    with Ledger.open(place, Budget(50.0), "add-remove") as ledger:
        ledger.dataset("d")
    made = cuts = 0
    at = 1
    while True:
        ledger = Ledger.open(place, block=1)
        data = ledger.dataset("d")
        ledger.spend(data, PureDP(0.01))
        made += 1
        cut = Cut(ledger._spending.storage, at, after)
        try:
            ledger.spend(data, PureDP(0.01))
            made += 1
            reached = cut.seen < at
        except LedgerMisuse:
            cuts, reached = cuts + 1, False
        cut.undo()
        ledger.spend(data, PureDP(0.01))  # the handle connects again
        made += 1
        counted = ledger.report().lines[0].times
        assert counted >= made
        made = counted  # what was counted and not acknowledged stays counted
        ledger.close()
        if reached:
            break
        at += 1
    assert at > 5
    assert cuts >= at - 3  # a cut after the last answer goes unnoticed


def test_eight_clients_at_once_stay_within_the_budget(place):
    """Threads with handles of their own; two overlapping datasets, plans and receipts beside."""
    with Ledger.open(place, Budget(1.0), "add-remove") as ledger:
        a, b = ledger.dataset("a"), ledger.dataset("b")
        ledger.overlaps(a, b)
    event, made, said = PureDP(1 / 64), [], []

    def client(number):
        with Ledger.open(place, block=1 + number % 3) as mine:
            data = mine.dataset("ab"[number % 2])
            while True:
                try:
                    mine.spend(data, event)
                    made.append(number)
                except BudgetExceeded:
                    return
                except LedgerMisuse as error:
                    said.append(error)
                    return

    clients = [threading.Thread(target=client, args=(number,)) for number in range(8)]
    for one in clients:
        one.start()
    for one in clients:
        one.join()
    assert said == []
    assert 64 - 8 * 3 <= len(made) <= 64
    with Ledger.open(place) as ledger:
        assert ledger.epsilon().upper == len(made) / 64
        assert sum(entry.times for entry in ledger.history() if entry.kind == "release") == len(
            made
        )


def test_datasets_and_plans_declared_at_once_are_one(place):
    Ledger.open(place, BUDGET, "add-remove").close()
    said = []

    def client(_):
        try:
            with Ledger.open(place) as mine:
                for number in range(10):
                    mine.dataset(f"d{number}")
                mine.plan(mine.dataset("d0"), PureDP(0.1) * 3, delta=0.0, name="weekly")
                mine.spend(mine.dataset("d1"), PureDP(0.5), request_id="once")
        except BaseException as error:
            said.append(error)

    clients = [threading.Thread(target=client, args=(number,)) for number in range(6)]
    for one in clients:
        one.start()
    for one in clients:
        one.join()
    assert said == []
    with Ledger.open(place) as ledger:
        assert len(ledger.report().accounts) == 10
        assert [line.times for line in ledger.report().lines] == [3, 1]


def test_roles_say_who_may_spend_and_read(place, postgresql):
    with Ledger.open(place, BUDGET, "add-remove") as ledger:
        ledger.spend(ledger.dataset("d"), PureDP(0.25))
    schema = place.rpartition("%3D")[2]
    grants = _grants()
    with psycopg.connect(place, autocommit=True) as db:
        for role in ("analyst", "auditor"):
            db.execute(f"DROP ROLE IF EXISTS {role}")
            db.execute(f"CREATE ROLE {role} LOGIN")
            db.execute(f"GRANT USAGE ON SCHEMA {schema} TO {role}")
        for grant in grants:
            db.execute(grant)
    with Ledger.open(place.replace("dpcheck@", "analyst@")) as ledger:
        ledger.spend(ledger.dataset("d"), PureDP(0.25), request_id="q").release()
        ledger.plan(ledger.dataset("e"), PureDP(0.25), delta=0.0, name="p").step()
        ledger.population("users", size=2)
    with psycopg.connect(place.replace("dpcheck@", "analyst@")) as db:
        for sql in ("DELETE FROM ledger_entries", "UPDATE ledger_entries SET body = ''"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                db.execute(sql)
            db.rollback()
    with Ledger.open(place.replace("dpcheck@", "auditor@")) as ledger:
        assert ledger.report().lines[0].times == 2
        data, users = ledger.dataset("d"), ledger.population("users", size=2)
        assert ledger.remaining(data).epsilon == BUDGET.epsilon - 0.5
        assert ledger.used(users).tolist() == [0.0, 0.0]
        for declare in (
            lambda: ledger.spend(data, PureDP(0.25)),
            lambda: ledger.spend(users, PureDP(0.25)),
            lambda: ledger.dataset("new"),
        ):
            with pytest.raises(LedgerMisuse, match="may not do that"):
                declare()
    with psycopg.connect(place, autocommit=True) as db:
        for role in ("analyst", "auditor"):
            db.execute(f"DROP OWNED BY {role}")
            db.execute(f"DROP ROLE {role}")


def _grants():
    """As the page has them."""
    import re
    from pathlib import Path

    page = Path(__file__).parents[3] / "docs" / "explanation" / "ledger.md"
    (block,) = re.findall(r"```sql\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    return [line.partition("--")[0].strip() for line in block.splitlines()]


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE ledger_terms SET terms = replace(terms, '1.0', '9.0')",
        "DELETE FROM ledger_datasets",
        "DELETE FROM ledger_entries WHERE kind = 'dataset'",
        "UPDATE ledger_balances SET body = replace(body, '0', '1')",
        "DELETE FROM ledger_balances",
        "UPDATE ledger_counts SET times = '1'",
        "UPDATE ledger_datasets SET entries = entries - 1",
        "UPDATE ledger_entries SET body = replace(body, '2', '3') WHERE kind = 'release'",
    ],
)
def test_a_changed_row_is_refused(place, sql):
    with Ledger.open(place, BUDGET, "add-remove") as ledger:
        ledger.spend(ledger.dataset("d"), Gaussian(20.0), times=2)
    with psycopg.connect(place) as db:
        assert db.execute(sql).rowcount
    with pytest.raises(LedgerBroken):
        _read_all(place)


def _read_all(place):
    with Ledger.open(place) as ledger:
        ledger.report()
        ledger.history()


class CutShort:
    """A pipeline of psycopg that is interrupted while it waits for the answers."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            raise KeyboardInterrupt
        finally:
            raise psycopg.OperationalError("cannot exit pipeline mode while busy")


def test_an_interrupt_while_answers_are_awaited_is_one(place, monkeypatch):
    ledger = Ledger.open(place, Budget(2.0), "add-remove")
    data = ledger.dataset("d")
    with monkeypatch.context() as patched:
        patched.setattr(psycopg.Connection, "pipeline", lambda _: CutShort())
        with pytest.raises(KeyboardInterrupt):
            ledger.spend(data, PureDP(0.5))
    ledger.spend(data, PureDP(0.5))
    assert ledger.report().accounts[0].pure == 0.5
    ledger.close()
