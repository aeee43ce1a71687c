"""What is written to the tables: entries, what they add up to, and the rows of their datasets."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from dpcheck.ledger.names import drawn
from dpcheck.ledger.pricing.version import PRICED_BY
from dpcheck.ledger.provenance import descendants
from dpcheck.ledger.state import State, plan_place
from dpcheck.ledger.storage.balances import balance_at, piece_place, write_piece
from dpcheck.ledger.storage.entries import (
    COUNTED,
    DatasetDeclared,
    Entry,
    OverlapDeclared,
    PlanDeclared,
    PopulationDeclared,
    Released,
    ReleaseShown,
    event_fields,
    to_fields,
)
from dpcheck.ledger.storage.interface import Pieces, Position
from dpcheck.ledger.storage.receipts import reserved
from dpcheck.ledger.storage.seals import FORMAT, Fields, following, seal, start, with_item, written
from dpcheck.ledger.storage.sql.reading import Reading
from dpcheck.ledger.storage.sql.tables import DATASET, TABLES, DatasetRow

Statement = tuple[str, Sequence[object]]


@dataclass(slots=True)
class Draft:
    """What is to be written: rows of datasets, counts that rise or fall, statements in order."""

    rows: dict[str, DatasetRow]
    changed: set[str] = field(default_factory=set)
    counts: dict[tuple[str, str, str], int] = field(default_factory=dict)
    statements: list[Statement] = field(default_factory=list)

    def change(self, name: str, row: DatasetRow) -> None:
        """Another row for a dataset."""
        self.rows[name] = row
        self.changed.add(name)

    def do(self, sql: str, *values: object) -> None:
        """One more statement."""
        self.statements.append((sql, values))


class SqlStorage(Reading):
    """What SQLite and PostgreSQL have in common."""

    shared = True
    for_update = ""
    by = "unknown"  # who writes, as they say: for people to read

    @abstractmethod
    def execute_all(self, statements: list[Statement]) -> None:
        """Statements without results, in order."""

    def create_tables(self, serial: str, terms: Fields) -> None:
        """An empty ledger."""
        for statement in TABLES.replace("{serial}", serial).split(";\n"):
            if statement.strip():
                self.execute(statement)
        columns = _terms_row(written(terms), 0, 0)
        self.execute("INSERT INTO ledger_terms VALUES (1, ?, ?, ?, ?, ?)", columns)

    def append(self, state: State, entries: list[Entry], pieces: Pieces) -> dict[str, Position]:
        """Everything that changes with them."""
        draft = Draft(dict(self.rows))
        for entry in entries:
            if isinstance(entry, DatasetDeclared | PopulationDeclared):
                draft.change(entry.spec.name, self._declare(entry.spec.name))
            if isinstance(entry, PopulationDeclared):
                for number in range(entry.spec.pieces):
                    _write_balance(draft, entry.spec.name, piece_place(number), "")
            body = written({**to_fields(entry), "by": self.by})
            for name in entry.datasets(state):
                row = draft.rows[name]
                digest = following(row.digest, body)
                draft.do(
                    "INSERT INTO ledger_entries (dataset, number, kind, body, digest) "
                    "VALUES (?, ?, ?, ?, ?)",
                    *(name, row.entries + 1, entry.kind, body, digest),
                )
                structure = row.structure + (entry.kind not in COUNTED)
                row = replace(row, entries=row.entries + 1, digest=digest, structure=structure)
                draft.change(name, row)
            self._index(entry, entry.datasets(state)[0], draft)
        for (name, number), accounts in pieces.items():
            _write_balance(draft, name, piece_place(number), write_piece(accounts))
        self._write_sums(state, draft)
        for name in sorted(draft.changed):
            first = (state.nodes.get(name) or state.populations[name]).first
            text = None if first is None else written(event_fields(first))
            draft.change(name, replace(draft.rows[name], first=text, priced_by=PRICED_BY))
            _update(draft, draft.rows[name])
        self.execute_all(draft.statements)
        self.rows = draft.rows
        return {name: draft.rows[name].head.at for name in draft.changed}

    def _declare(self, name: str) -> DatasetRow:
        terms, number, names = self.read_terms_row(self.for_update)
        row = DatasetRow(name, number, name, 0, start(name))
        marks = ", ".join("?" * 11)
        self.execute(
            f"INSERT INTO ledger_datasets ({DATASET}, seal) VALUES ({marks})",
            (*row.values(), seal("dataset", *row.values())),
        )
        self.execute(
            "INSERT INTO ledger_names VALUES (?, ?) ON CONFLICT DO NOTHING", (drawn(name), name)
        )
        self.execute(
            "UPDATE ledger_terms SET format = ?, terms = ?, datasets = ?, names = ?, seal = ?",
            _terms_row(terms, number + 1, with_item(names, name, number)),
        )
        return row

    def _index(self, entry: Entry, dataset: str, draft: Draft) -> None:
        """What has to be found by name later."""
        if isinstance(entry, OverlapDeclared):
            groups = {draft.rows[name].together for name in entry.names}
            for name, row in list(draft.rows.items()):
                if row.together in groups:
                    draft.change(name, replace(row, together=min(groups)))
        elif isinstance(entry, PlanDeclared):
            draft.do("INSERT INTO ledger_plans VALUES (?, ?)", entry.name, dataset)
        elif isinstance(entry, Released):
            key = (dataset, entry.path, written(event_fields(entry.event)))
            draft.counts[key] = draft.counts.get(key, 0) + entry.times
        new = reserved(entry)
        if new is not None:
            values = (new.request, new.path, new.event, str(new.times), 0)
            sql = "INSERT INTO ledger_receipts VALUES (?, ?, ?, ?, ?, ?)"
            draft.do(sql, *values, seal("receipt", *values))
        elif isinstance(entry, ReleaseShown):
            kept = self.kept(entry.request)
            assert kept is not None  # asked for before
            sealed = seal("receipt", kept.request, kept.path, kept.event, str(kept.times), 1)
            sql = "UPDATE ledger_receipts SET released = 1, seal = ? WHERE request = ?"
            draft.do(sql, sealed, kept.request)

    def _write_sums(self, state: State, draft: Draft) -> None:
        """Balances and counts, and how many of them there are."""
        for name in draft.changed:
            known = self.rows.get(name)
            if known is not None and known.priced_by != PRICED_BY and name in state.nodes:
                root = state.nodes[name]
                state.touched.update(node.path for node in descendants(root))
                state.touched.update(plan_place(plan.name) for plan in state.plans_of(root))
        balances: dict[str, dict[str, str]] = {}
        for place in sorted(state.touched):
            if place in state.nodes:
                name = state.nodes[place].root.path
            else:
                name = state.plans[place.removeprefix("plan/")].node.root.path
            balances.setdefault(name, {})[place] = balance_at(state, place)
        counts: dict[str, dict[tuple[str, str], int]] = {}
        for (name, place, what), times in draft.counts.items():
            counts.setdefault(name, {})[place, what] = times
        for name in {**balances, **counts}:
            self._write_sums_of(name, balances.get(name, {}), counts.get(name, {}), draft)

    def _write_sums_of(
        self, name: str, balances: dict[str, str], counts: dict[tuple[str, str], int], draft: Draft
    ) -> None:
        places, known = self._known_sums(name, list(balances), list(counts))
        for place, body in balances.items():
            _write_balance(draft, name, place, body)
        row = draft.rows[name]
        kinds = row.kinds
        for (place, what), more in counts.items():
            event = _event_key(what)
            number, before = known.get((place, event), (kinds, 0))
            kinds += (place, event) not in known
            values = (place, event, number, what, str(more + before))
            draft.do(
                "INSERT INTO ledger_counts VALUES (?, ?, ?, ?, ?, ?, ?) "
                "ON CONFLICT (dataset, place, event) "
                "DO UPDATE SET times = excluded.times, seal = excluded.seal",
                *(name, *values, seal("count", name, *values)),
            )
        new = len(balances) - len(places)
        draft.change(name, replace(row, places=row.places + new, kinds=kinds))

    def _known_sums(
        self, name: str, places: list[str], counts: list[tuple[str, str]]
    ) -> tuple[set[str], dict[tuple[str, str], tuple[int, int]]]:
        """Which of the places have a balance; the numbers of counts, and how often what was counted."""
        parts, values = [], []
        for place in places:
            parts.append(
                "SELECT place, '', 0, '' FROM ledger_balances WHERE dataset = ? AND place = ?"
            )
            values += [name, place]
        for place, what in counts:
            parts.append(
                "SELECT place, event, number, times FROM ledger_counts "
                "WHERE dataset = ? AND place = ? AND event = ?"
            )
            values += [name, place, _event_key(what)]
        found: set[str] = set()
        known: dict[tuple[str, str], tuple[int, int]] = {}
        at = 0
        while parts:
            now, parts = parts[:100], parts[100:]
            used = sum(part.count("?") for part in now)
            rows = self.execute(" UNION ALL ".join(now), values[at : at + used])
            at += used
            for place, event, number, times in cast("list[tuple[str, str, int, str]]", rows):
                if event:
                    known[place, event] = (number, int(times))
                else:
                    found.add(place)
        return found, known


def _write_balance(draft: Draft, name: str, place: str, body: str) -> None:
    draft.do(
        "INSERT INTO ledger_balances VALUES (?, ?, ?, ?) ON CONFLICT (dataset, place) "
        "DO UPDATE SET body = excluded.body, seal = excluded.seal",
        *(name, place, body, seal("balance", name, place, body)),
    )


def _event_key(what: str) -> str:
    return seal(what)[:32]


def _terms_row(terms: str, datasets: int, names: int) -> tuple[object, ...]:
    values = (FORMAT, terms, datasets, f"{names:x}")
    return (*values, seal("terms", *values))


def _update(draft: Draft, row: DatasetRow) -> None:
    draft.do(
        "UPDATE ledger_datasets SET together = ?, entries = ?, digest = ?, structure = ?, "
        "places = ?, kinds = ?, first = ?, priced_by = ?, seal = ? WHERE name = ?",
        *row.values()[2:],
        *(seal("dataset", *row.values()), row.name),
    )
