"""What a spend costs as ledgers grow: accounts, history, other datasets, populations; one run.

    python benchmarks/ledger_scale.py            # about ten minutes; starts a PostgreSQL of its own
    python benchmarks/ledger_scale.py --write    # also docs/benchmarks/ledger-scale.md
    python benchmarks/ledger_scale.py --small    # a hundredth of the sizes, to see that it runs

Times are medians over spends with block=1, so every spend is a transaction on the disk. Each ratio compares
two ledgers that were spent from in turn, so that whatever else the machine does slows both.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import postgresql_server
from results_file import provenance

from dpcheck import Budget, Ledger, PureDP
from dpcheck.ledger.populations.charging import Population
from dpcheck.ledger.spending import Spending
from dpcheck.ledger.state import DatasetSpec
from dpcheck.ledger.storage.entries import DatasetDeclared, Released, to_fields
from dpcheck.ledger.storage.seals import following, seal, written
from dpcheck.ledger.storage.sql.writing import SqlStorage

BUDGET, EVENT = Budget(1e6), PureDP(1e-6)
PAGE = Path(__file__).parents[1] / "docs" / "benchmarks" / "ledger-scale.md"
PLACES = ("memory", "SQLite", "PostgreSQL")
HEAD = """# Ledgers as they grow

By `python benchmarks/ledger_scale.py --write`, which starts a PostgreSQL of its own on the same machine.
Every spend is a transaction on the disk (`block=1`); a loop with blocks is on the page of
[the ledger](ledger.md). Made on {made}: {machine}. Others used the machine meanwhile: compare columns
and ratios, not times.

"""


def opened(place: str | None) -> Ledger:
    """A ledger on the terms of this benchmark."""
    if place is None:
        return Ledger(BUDGET, "add-remove", block=1)
    return Ledger.open(place, BUDGET, "add-remove", block=1)


def each(work: Callable[[int], object], number: int) -> float:
    """Median seconds of a call; the first few warm up."""
    return in_turn([work], number)[0]


def in_turn(works: list[Callable[[int], object]], number: int) -> list[float]:
    """Median seconds of a call of each, in turn and there and back: none is always after another."""
    times: list[list[float]] = [[] for _ in works]
    order = list(zip(works, times, strict=True))
    for i in range(5 + number):
        for work, taken in order if i % 2 else reversed(order):
            start = time.perf_counter()
            work(i)
            taken.append(time.perf_counter() - start)
    return [statistics.median(taken[5:]) for taken in times]


def spending_from(ledger: Ledger, data: object) -> Callable[[int], object]:
    """One release from a dataset, or by all of a population."""
    return lambda _: ledger.spend(data, EVENT)


def one_of(ledger: Ledger, people: Population) -> Callable[[int], object]:
    """One release that one account pays for."""
    rng = np.random.default_rng(0)
    return lambda _: ledger.spend(people, EVENT, who=int(rng.integers(people.size)))


def with_datasets(ledger: Ledger, number: int) -> None:
    """Declare many datasets in one transaction."""
    entries = [
        DatasetDeclared(DatasetSpec(f"other {i}", None, None, "row", 1)) for i in range(number)
    ]
    spending: Spending = ledger._spending
    for at in range(0, number, 10_000):
        part = entries[at : at + 10_000]
        with spending.alone():
            spending.run((), lambda t, part=part: t.write(*part))


def with_history(ledger: Ledger, number: int) -> None:
    """A dataset from which `number` releases were made one by one, its rows as they would be then."""
    data = ledger.dataset("d")
    storage, spending = ledger._spending.storage, ledger._spending
    if not storage.shared:
        for _ in range(number):
            ledger.spend(data, EVENT)
        return
    ledger.spend(data, EVENT)

    def body(transaction) -> None:
        """The balance of all of them, and an entry for each."""
        transaction.write(Released("d", EVENT, number))

    with spending.alone():
        spending.run(("d",), body)
    # Replace that one entry by as many of one release each, chained as they would be.
    with storage.transaction(writing=True):
        storage.heads(("d",))
        row = storage.rows["d"]
        ((before,),) = storage.execute(
            "SELECT digest FROM ledger_entries WHERE dataset = 'd' AND number = ?",
            (row.entries - 1,),
        )
        if "sqlite" in type(storage).__module__:
            storage.execute("DROP TRIGGER ledger_entries_last")
        storage.execute(
            "DELETE FROM ledger_entries WHERE dataset = 'd' AND number = ?", (row.entries,)
        )
        body_text = written(to_fields(Released("d", EVENT, 1)))
        digest, first = str(before), row.entries
        insert = "INSERT INTO ledger_entries (dataset, number, kind, body, digest) VALUES (?, ?, ?, ?, ?)"
        rows = []
        for i in range(number):
            digest = following(digest, body_text)
            rows.append((insert, ("d", first + i, "release", body_text, digest)))
            if len(rows) == 20_000 or i == number - 1:
                storage.execute_all(rows)
                rows = []
        new = replace(row, entries=first + number - 1, digest=digest)
        storage.execute(
            "UPDATE ledger_datasets SET entries = ?, digest = ?, seal = ? WHERE name = 'd'",
            (new.entries, new.digest, seal("dataset", *new.values())),
        )


def measured(places: dict[str, Callable[[], str | None]], scale: int) -> Iterator[list[str]]:
    """Rows of the page: what, then one column for each place."""
    few, many = 100, 10**6 // scale
    wide = 10**5 // scale
    for size in (1, 100, 10_000 // min(scale, 100), 10**6 // scale):
        row = [f"spends a second, one account of {size:,} (population)"]
        for place in places.values():
            ledger = opened(place())
            people = ledger.population("people", size=size)
            seconds = each(one_of(ledger, people), 60)
            row.append(f"{1 / seconds:,.0f}")
            ledger.close()
        yield row
    for what, fill, sizes in (
        ("releases of history", with_history, (few, many)),
        ("other datasets", with_datasets, (few, wide)),
    ):
        row = [f"a spend with {sizes[0]:,} and {sizes[1]:,} {what}: milliseconds, ratio"]
        reopened = [f"opening a ledger with {sizes[1]:,} {what}: seconds"]
        for place in places.values():
            ledgers = []
            for size in sizes:
                where = place()
                ledger = opened(where)
                fill(ledger, size)
                if where is not None:
                    settled(ledger._spending.storage)
                    ledger.close()
                    start = time.perf_counter()
                    ledger = Ledger.open(where, block=1)
                    opening = time.perf_counter() - start
                ledgers.append(ledger)
            works = [spending_from(ledger, ledger.dataset("d")) for ledger in ledgers]
            first, last = (1000 * seconds for seconds in in_turn(works, 100))
            for ledger in ledgers:
                ledger.close()
            row.append(f"{first:.3f}, {last:.3f}: {last / first:.2f}")
            reopened.append("-" if where is None else f"{opening:.3f}")
        yield row
        yield reopened
    row = [f"charging {many:,} people over the plain UPDATE of {many:,} numbers: seconds, ratio"]
    for place in places.values():
        where = place()
        ledger = opened(where)
        people = ledger.population("people", size=many)
        ours = each(spending_from(ledger, people), 5)
        plain = plain_update(ledger, many)
        ledger.close()
        row.append(f"{ours:.3f}, {plain:.3f}: {ours / plain:.2f}" if plain else f"{ours:.3f}")
    yield row


def settled(storage: SqlStorage) -> None:
    """What PostgreSQL would do by itself in the background after so much was written at once."""
    if "postgresql" in type(storage).__module__:
        for statement in ("VACUUM ANALYZE", "CHECKPOINT"):
            storage.execute(statement)


def plain_update(ledger: Ledger, number: int) -> float | None:
    """The same database, a table of one number each, one UPDATE; None in memory."""
    storage = ledger._spending.storage
    if not storage.shared:
        return None
    with storage.transaction(writing=True):
        storage.execute("CREATE TABLE plain (person INTEGER PRIMARY KEY, spent DOUBLE PRECISION)")
        for at in range(0, number, 50_000):
            some = range(at, min(number, at + 50_000))
            storage.execute_all([("INSERT INTO plain VALUES (?, 0.0)", (i,)) for i in some])
    times = []
    for _ in range(3):
        start = time.perf_counter()
        with storage.transaction(writing=True):
            storage.execute("UPDATE plain SET spent = spent + 1e-6")
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    """Measure, print, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    parser.add_argument("--small", action="store_true", help="a hundredth of the sizes")
    options = parser.parse_args()
    server = postgresql_server.Server()
    numbers = iter(range(10**6))
    with tempfile.TemporaryDirectory() as folder:
        places = {
            "memory": lambda: None,
            "SQLite": lambda: f"{folder}/{next(numbers)}.ledger",
            "PostgreSQL": server.database,
        }
        made = provenance()
        lines = [f"| | {' | '.join(PLACES)} |", "|---|---|---|---|"]
        try:
            for row in measured(places, 100 if options.small else 1):
                lines.append(f"| {' | '.join(row)} |")
                print(lines[-1], flush=True)
        finally:
            server.stop()
    server_name = postgresql_server.described().split(" from")[0]
    text = HEAD.format(made=made["date"], machine=f"{made['machine']}, {server_name}")
    text += "\n".join([*lines, ""])
    if options.write:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
