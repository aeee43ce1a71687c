"""Rows forged with right digests, in a ledger of the present format: refused with a reason, on one line.

Digests are no signatures, so whoever may write to the file can make them right;
what makes no sense is refused all the same, and is never a raw error.
"""

from __future__ import annotations

import sqlite3
from base64 import b64encode
from contextlib import closing

import numpy as np
import pytest

from dpcheck import Budget, Ledger, PureDP
from dpcheck.core.errors import DpcheckError, LedgerBroken
from dpcheck.ledger.storage.seals import following, seal, start
from dpcheck.ledger.storage.sql.tables import DATASET


@pytest.fixture
def path(tmp_path):
    """A dataset and one release of 0.1; balances and counts say so, too."""
    path = tmp_path / "privacy.ledger"
    with Ledger.open(path, Budget(1.0), "replace-one", block=1) as ledger:
        ledger.spend(ledger.dataset("d", rows=10), PureDP(0.1), times=5)
    return path


def forge(path, change):
    """The bodies of the entries of `d` as `change` makes them, with every digest made anew."""
    with sqlite3.connect(path) as db:
        db.execute("DROP TRIGGER ledger_entries_stay")
        db.execute("DROP TRIGGER ledger_entries_last")
        rows = db.execute(
            "SELECT number, kind, body FROM ledger_entries ORDER BY number"
        ).fetchall()
        bodies = change([(kind, body) for _, kind, body in rows])
        db.execute("DELETE FROM ledger_entries")
        digest = start("d")
        for number, (kind, body) in enumerate(bodies, 1):
            digest = following(digest, body)
            db.execute(
                "INSERT INTO ledger_entries (dataset, number, kind, body, digest) "
                "VALUES ('d', ?, ?, ?, ?)",
                (number, kind, body, digest),
            )
        row = list(db.execute(f"SELECT {DATASET} FROM ledger_datasets").fetchone())
        declared = sum(kind == "dataset" for kind, _ in bodies)
        row[3:6] = len(bodies), digest, declared
        db.execute(
            "UPDATE ledger_datasets SET entries = ?, digest = ?, structure = ?, seal = ?",
            (*row[3:6], seal("dataset", *row)),
        )
    db.close()


def release(times):
    return lambda bodies: [
        *bodies[:-1],
        (bodies[-1][0], bodies[-1][1].replace('"times":5', f'"times":{times}')),
    ]


def last(body):
    return lambda bodies: [*bodies[:-1], (bodies[-1][0], body)]


def first(body):
    return lambda bodies: [(bodies[0][0], body), *bodies[1:]]


ENTRIES = {
    "a negative release": release(-3),
    "a release of half": release(0.5),
    "5,000 digits": release("9" * 5000),
    "deep": last('{"kind":' * 50_000 + "1" + "}" * 50_000),
    "a list": last("[1, 2]"),
    "null": last("null"),
    "no json": last("not json"),
    "a deep dataset": first('{"kind":' * 50_000 + "1" + "}" * 50_000),
    "a dataset that is a list": first("[1, 2]"),
    "a dataset that is null": first("null"),
    "a repeated dataset": lambda bodies: [bodies[0], *bodies],
}


def read_all(path):
    """Whatever reads entries: opening, the report, the history, another release."""
    with Ledger.open(path) as ledger:
        ledger.history()
        ledger.spend(ledger.dataset("d", rows=10), PureDP(0.1))
        ledger.report()


@pytest.mark.parametrize("how", ENTRIES)
def test_entries_that_make_no_sense(path, how):
    forge(path, ENTRIES[how])
    with pytest.raises(LedgerBroken) as caught:
        read_all(path)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


def recount(path, **changes):
    """A count with other values, sealed anew."""
    with sqlite3.connect(path) as db:
        columns = "dataset, place, event, number, what, times"
        (values,) = db.execute(f"SELECT {columns} FROM ledger_counts")
        row = dict(zip(columns.split(", "), values, strict=True))
        row |= changes
        db.execute(
            "UPDATE ledger_counts SET place = ?, what = ?, times = ?, seal = ?",
            (row["place"], row["what"], row["times"], seal("count", *row.values())),
        )
    db.close()


COUNTS = {
    "negative": {"times": "-5"},
    "half": {"times": "0.5"},
    "5,000 digits": {"times": "9" * 5000},
    "a word": {"times": "five"},
    "a list": {"what": "[1, 2]"},
    "null": {"what": "null"},
    "deep": {"what": '{"kind":' * 50_000 + "1" + "}" * 50_000},
    "an event below 0": {"what": '{"kind":"PureDP","epsilon":-0.1,"adjacency":null}'},
}


@pytest.mark.parametrize("how", COUNTS)
def test_counts_that_make_no_sense(path, how):
    recount(path, **COUNTS[how])
    with pytest.raises(DpcheckError) as caught, Ledger.open(path) as ledger:
        ledger.report()
    assert isinstance(caught.value, LedgerBroken)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("first", ["null", "[1, 2]", '{"kind":"PureDP","epsilon":-1}', "5"])
def test_a_first_event_that_makes_no_sense(path, first):
    with sqlite3.connect(path) as db:
        row = list(db.execute(f"SELECT {DATASET} FROM ledger_datasets").fetchone())
        row[8] = first
        db.execute("UPDATE ledger_datasets SET first = ?, seal = ?", (first, seal("dataset", *row)))
    db.close()
    with pytest.raises(LedgerBroken), Ledger.open(path) as ledger:
        ledger.spend(ledger.dataset("d", rows=10), PureDP(0.1))


@pytest.mark.parametrize("times", ["-1", "0.5", "9" * 5000, "five"])
def test_receipts_that_make_no_sense(path, times):
    with Ledger.open(path) as ledger:
        ledger.spend(ledger.dataset("d", rows=10), PureDP(0.1), request_id="q")
    with sqlite3.connect(path) as db:
        columns = "request, path, event, times, released"
        row = list(db.execute(f"SELECT {columns} FROM ledger_receipts").fetchone())
        row[3] = times
        db.execute("UPDATE ledger_receipts SET times = ?, seal = ?", (times, seal("receipt", *row)))
    db.close()
    with pytest.raises(LedgerBroken), Ledger.open(path) as ledger:
        ledger.spend(ledger.dataset("d", rows=10), PureDP(0.1), request_id="q")


def test_a_count_of_no_part_of_the_dataset(path):
    recount(path, place="e")
    with pytest.raises(LedgerBroken, match="of no part"), Ledger.open(path) as ledger:
        ledger.report()


BELOW_0 = b64encode(np.full(10, -5, dtype="<i8").tobytes()).decode("ascii")


@pytest.mark.parametrize("body", ["AAAA", "!", "5", BELOW_0])
def test_accounts_that_make_no_sense(path, body):
    with Ledger.open(path) as ledger:
        ledger.spend(ledger.population("users", size=10), PureDP(0.1), who=[1])
    rebalance(path, "accounts/0", lambda _: body)
    with pytest.raises(LedgerBroken), Ledger.open(path) as ledger:
        ledger.spend(ledger.population("users", size=10), PureDP(0.1), who=[1])


def rebalance(path, place, change):
    """A balance with another body, sealed anew."""
    with sqlite3.connect(path) as db:
        ((dataset, body),) = db.execute(
            "SELECT dataset, body FROM ledger_balances WHERE place = ?", (place,)
        )
        new = change(body)
        db.execute(
            "UPDATE ledger_balances SET body = ?, seal = ? WHERE place = ?",
            (new, seal("balance", dataset, place, new), place),
        )
    db.close()


@pytest.mark.parametrize("spent", ["-5", "NaN", "-Infinity", "x"])
def test_a_balance_that_makes_no_sense(path, spent):
    rebalance(path, "d", lambda body: body.replace('"0.5"', f'"{spent}"'))
    with pytest.raises(LedgerBroken), Ledger.open(path) as ledger:
        ledger.spend(ledger.dataset("d", rows=10), PureDP(5.0))


def columns(path):
    with sqlite3.connect(path) as db:
        tables = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        found = [
            (table, column)
            for (table,) in tables
            for column in (row[1] for row in db.execute(f"PRAGMA table_info({table})"))
        ]
    db.close()
    return found


@pytest.mark.parametrize("cell", [b"\x00\xff", "\u00e9", 7])
def test_a_cell_of_another_kind_is_refused_or_changes_nothing(path, cell):
    """As a bit that flips in a row's header makes it; never an error of Python's own."""
    kept, refused = path.read_bytes(), 0
    for table, column in columns(path):
        path.write_bytes(kept)
        with closing(sqlite3.connect(path)) as db:
            triggers = db.execute(
                "SELECT name FROM sqlite_master WHERE type = 'trigger'"
            ).fetchall()
            for (name,) in triggers:
                db.execute(f"DROP TRIGGER {name}")
            try:
                db.execute(f"UPDATE {table} SET {column} = ?", (cell,))
            except (sqlite3.IntegrityError, OverflowError):
                continue  # the database itself refuses it
            finally:
                db.commit()
        try:
            with Ledger.open(path) as ledger:
                ledger.history()
                assert ledger.report().lines[0].times == 5
        except LedgerBroken:
            refused += 1
    assert refused >= 5
