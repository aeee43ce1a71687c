"""What is read from the tables, every row of it checked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import cast

from dpcheck.core.errors import LedgerBroken
from dpcheck.core.events.event import Event
from dpcheck.core.events.serialize import from_dict
from dpcheck.ledger.names import drawn
from dpcheck.ledger.populations.accounts import PopulationSpec, Units
from dpcheck.ledger.pricing.version import PRICED_BY
from dpcheck.ledger.provenance import Node
from dpcheck.ledger.state import State
from dpcheck.ledger.storage.balances import piece_number, piece_place, read_piece, set_balance
from dpcheck.ledger.storage.entries import (
    SENSELESS,
    Entry,
    OverlapDeclared,
    from_fields,
    senseless,
)
from dpcheck.ledger.storage.interface import Head, Kept, Position
from dpcheck.ledger.storage.seals import FORMAT, Fields, following, of_set, read, seal, start
from dpcheck.ledger.storage.sql.tables import DATASET, NOT_STRUCTURE, DatasetRow, Row

_AT_ONCE = 500  # values of one statement


def slices(names: list[str]) -> Iterator[list[str]]:
    """A few at a time."""
    for at in range(0, len(names), _AT_ONCE):
        yield names[at : at + _AT_ONCE]


def _event(text: object, what: str) -> Event:
    fields = read(text, what)
    try:
        return from_dict(fields)
    except SENSELESS as error:
        raise senseless(what, error) from None


def _times(text: object) -> int:
    try:
        found = int(cast(str, text))
        if found < 0:
            raise ValueError(f"{found} releases")
    except SENSELESS as error:
        raise senseless("count", error) from None
    return found


def _whole(heads: list[tuple[str, Position]]) -> str:
    return seal(*((name, *at) for name, at in heads))[:32]


class Reading(ABC):
    """What is read from a database; `Writing` adds to it."""

    shared = True
    place: str
    opened_on: Fields  # the terms it holds

    def __init__(self) -> None:
        self.rows: dict[str, DatasetRow] = {}  # as read in this transaction

    # What a database does its own way -------------------------------------------------------------

    @abstractmethod
    def execute(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        """One statement with ? for values; its rows."""

    @abstractmethod
    def execute_all(self, statements: list[tuple[str, Sequence[object]]]) -> None:
        """Statements without results, in order."""

    @abstractmethod
    def transaction(self, *, writing: bool) -> AbstractContextManager[None]:
        """As in `Storage`."""

    @abstractmethod
    def lock(self, names: tuple[str, ...] | None) -> list[Row]:
        """The rows of the datasets in the groups of `names` (None: of all), nobody else writing."""

    @abstractmethod
    def close(self) -> None:
        """Let go of it."""

    @abstractmethod
    def abandon(self) -> None:
        """In a forked child: never touch what belongs to the parent."""

    def broken(self, why: str) -> LedgerBroken:
        """The error for a ledger that is not as it was left."""
        return LedgerBroken(
            f"the ledger {self.place} cannot be trusted ({' '.join(why.split())}); restore it from a "
            "backup. It is not repaired, because that would forget what was spent.",
            path=self.place,
        )

    # Terms ----------------------------------------------------------------------------------------

    def read_terms_row(self, lock: str = "") -> tuple[str, int, int]:
        """Terms, how many datasets there are, and the number of their set; sealed."""
        rows = self.execute(f"SELECT format, terms, datasets, names, seal FROM ledger_terms{lock}")
        if len(rows) != 1:
            raise self.broken("it has no terms")
        *values, sealed = rows[0]
        if sealed != seal("terms", *values):
            raise self.broken("its terms were changed")
        if values[0] != FORMAT:
            raise self.broken(f"it is of the format {values[0]!r}, not {FORMAT!r}")
        return cast(str, values[1]), cast(int, values[2]), int(cast(str, values[3]), 16)

    def terms(self) -> Fields:
        """The terms, once every dataset that was declared is seen to be there."""
        terms, datasets, names = self.read_terms_row()
        rows = self.execute("SELECT name, number FROM ledger_datasets")
        if len(rows) != datasets or of_set(rows) != names:
            raise self.broken("a dataset is missing")
        return read(terms, "the terms")

    # Reading --------------------------------------------------------------------------------------

    def heads(self, names: tuple[str, ...] | None) -> list[Head]:
        """The datasets, locked."""
        found = [self._dataset(row) for row in self.lock(names)]
        self.rows = {row.name: row for row in found}
        return [row.head for row in sorted(found, key=lambda row: row.number)]

    def _dataset(self, row: Row) -> DatasetRow:
        *values, sealed = row
        if sealed != seal("dataset", *values):
            raise self.broken(f"the row of dataset {values[0]!r} was changed")
        return DatasetRow(*values)  # type: ignore[arg-type]  # sealed: as it was written

    def load(self, state: State, heads: list[Head]) -> None:
        """Declarations, then balances; counts are left out until somebody asks."""
        for head in heads:
            state.numbers[head.name] = head.number
        rows = [self.rows[head.name] for head in heads]
        for entry in self._structure(rows):
            try:
                entry.apply(state)
            except SENSELESS as error:
                raise senseless(entry.kind, error) from None
        for row in rows:
            if row.name in state.populations and row.first is not None:
                state.populations[row.name].first = _event(row.first, "the first event")
        rows = [row for row in rows if row.name not in state.populations]
        self._load_balances(state, rows)
        for row in rows:
            root = state.nodes[row.name]
            root.counted = row.kinds == 0
            if row.first is not None:
                root.first = _event(row.first, "the first event")
            if row.priced_by != PRICED_BY:
                state.recount(root)

    def _structure(self, rows: list[DatasetRow]) -> Iterator[Entry]:
        found: list[Row] = []
        for names in slices([row.name for row in rows]):
            marks = ", ".join("?" * len(names))
            found += self.execute(
                "SELECT e.seq, e.dataset, e.number, e.kind, e.body, e.digest, p.digest "
                "FROM ledger_entries e LEFT JOIN ledger_entries p "
                "ON p.dataset = e.dataset AND p.number = e.number - 1 "
                f"WHERE e.dataset IN ({marks}) AND e.kind NOT IN ({NOT_STRUCTURE})",
                names,
            )
        numbers: dict[str, set[int]] = {row.name: set() for row in rows}
        for _, dataset, number, kind, body, digest, before in found:
            name = cast(str, dataset)
            numbers[name].add(cast(int, number))
            previous = start(name) if number == 1 else before
            if previous is None or following(cast(str, previous), cast(str, body)) != digest:
                raise self.broken(f"entry {number} of {name!r} was changed")
            if read(body, f"entry {number}").get("kind") != kind and kind != "shares":
                raise self.broken(f"entry {number} of {name!r} was changed")
        for row in rows:
            if len(numbers[row.name]) != row.structure:
                raise self.broken(f"a declaration of {row.name!r} is missing")
        seen: set[str] = set()
        for _, _, number, kind, body, *_ in sorted(found, key=lambda row: cast(int, row[0])):
            if kind == OverlapDeclared.kind and body in seen:
                continue  # it is an entry of each of its datasets
            seen.add(cast(str, body))
            yield from_fields(read(body, f"entry {number}"))

    def _load_balances(self, state: State, rows: list[DatasetRow]) -> None:
        number = dict.fromkeys((row.name for row in rows), 0)
        for names in slices([row.name for row in rows if row.places]):
            marks = ", ".join("?" * len(names))
            for dataset, place, body, sealed in self.execute(
                f"SELECT dataset, place, body, seal FROM ledger_balances WHERE dataset IN ({marks})",
                names,
            ):
                if sealed != seal("balance", dataset, place, body):
                    raise self.broken(f"a balance of {dataset!r} was changed")
                number[cast(str, dataset)] += 1
                try:
                    set_balance(state, cast(str, place), read(body, "a balance"))
                except (*SENSELESS, StopIteration) as error:
                    raise senseless("balance", error) from None
        for row in rows:
            if number[row.name] != row.places:
                raise self.broken(f"a balance of {row.name!r} is missing")

    def pieces(self, spec: PopulationSpec, numbers: list[int]) -> dict[int, Units]:
        """Every piece has a row, so a missing one is noticed."""
        query = "SELECT place, body, seal FROM ledger_balances WHERE dataset = ?"
        rows: list[Row] = []
        if len(numbers) == spec.pieces:
            rows = self.execute(query, (spec.name,))
        else:
            for some in slices([piece_place(number) for number in numbers]):
                marks = ", ".join("?" * len(some))
                rows += self.execute(f"{query} AND place IN ({marks})", (spec.name, *some))
        found: dict[int, Units] = {}
        for place, body, sealed in rows:
            if sealed != seal("balance", spec.name, place, body):
                raise self.broken(f"accounts of {spec.name!r} were changed")
            number = piece_number(cast(str, place))
            try:
                found[number] = read_piece(cast(str, body), spec.piece_size(number))
            except SENSELESS as error:
                raise senseless("accounts", error) from None
        if sorted(found) != sorted(numbers):
            raise self.broken(f"accounts of {spec.name!r} are missing")
        return found

    def load_counts(self, state: State, root: Node) -> None:
        """What was released how often."""
        rows = self.execute(
            "SELECT place, event, number, what, times, seal FROM ledger_counts "
            "WHERE dataset = ? ORDER BY number",
            (root.path,),
        )
        known = self.rows.get(root.path) or self._dataset(self._row_of(root.path))
        if len(rows) != known.kinds:
            raise self.broken(f"a count of {root.path!r} is missing")
        for place, event, number, what, times, sealed in rows:
            if sealed != seal("count", root.path, place, event, number, what, times):
                raise self.broken(f"a count of {root.path!r} was changed")
            node = state.nodes.get(cast(str, place))
            if node is None:
                raise self.broken(f"a count of {root.path!r} is of no part of it")
            node.counts[_event(what, "an event")] = _times(times)

    def _row_of(self, name: str) -> Row:
        (row,) = self.execute(
            f"SELECT {DATASET}, seal FROM ledger_datasets WHERE name = ?", (name,)
        )
        return row

    def news(self, head: Head, known: Position) -> list[tuple[int, Entry]]:
        """What others added."""
        if head.at.entries < known.entries:
            raise self.broken("it holds less than before; was a backup restored?")
        rows = self.execute(
            "SELECT seq, number, body, digest FROM ledger_entries "
            "WHERE dataset = ? AND number > ? ORDER BY number",
            (head.name, known.entries),
        )
        return list(self._chained(head, known, rows))

    def _chained(self, head: Head, known: Position, rows: list[Row]) -> Iterator[tuple[int, Entry]]:
        at = known
        for seq, number, body, digest in rows:
            whole = isinstance(body, str) and body.isascii()  # as all that is written
            expected = following(at.digest, cast(str, body)) if whole else None
            if expected is None or number != at.entries + 1 or digest != expected:
                raise self.broken(f"entry {at.entries + 1} of {head.name!r} is missing or changed")
            at = Position(at.entries + 1, expected)
            yield cast(int, seq), from_fields(read(body, f"entry {number}"))
        if at != head.at:
            raise self.broken(f"the entries of {head.name!r} do not add up to its head")

    def drawn_like(self, name: str) -> str | None:
        """By what they look like."""
        rows = self.execute("SELECT dataset FROM ledger_names WHERE drawn = ?", (drawn(name),))
        return cast(str, rows[0][0]) if rows else None

    def plan_of(self, name: str) -> str | None:
        """The dataset a plan is on."""
        rows = self.execute("SELECT dataset FROM ledger_plans WHERE name = ?", (name,))
        return cast(str, rows[0][0]) if rows else None

    def kept(self, request: str) -> Kept | None:
        """The spend of this id."""
        rows = self.execute(
            "SELECT request, path, event, times, released, seal FROM ledger_receipts "
            "WHERE request = ?",
            (request,),
        )
        if not rows:
            return None
        *values, sealed = rows[0]
        if sealed != seal("receipt", *values):
            raise self.broken(f"the receipt {request!r} was changed")
        name, path, event, times, released = cast("tuple[str, str, str, str, int]", tuple(values))
        return Kept(name, path, event, _times(times), bool(released))

    def history(self) -> list[Entry]:
        """Every entry, oldest first."""
        rows = self.execute(
            "SELECT seq, dataset, number, body, digest FROM ledger_entries ORDER BY dataset, number"
        )
        by_name: dict[str, list[Row]] = {}
        for seq, dataset, *rest in rows:
            by_name.setdefault(cast(str, dataset), []).append((seq, *rest))
        found: dict[object, tuple[int, Entry]] = {}
        heads = self.heads(None)
        if set(by_name) - {head.name for head in heads}:
            raise self.broken("a dataset is missing")
        for head in heads:
            chained = self._chained(head, Position(0, start(head.name)), by_name.get(head.name, []))
            for seq, entry in chained:
                once = isinstance(entry, OverlapDeclared)  # it is an entry of each of its datasets
                found.setdefault(entry if once else seq, (seq, entry))
        return [entry for _, entry in sorted(found.values(), key=lambda pair: pair[0])]

    def spenders(self) -> list[tuple[str, Entry]]:
        """As the entries say."""
        rows = self.execute("SELECT body FROM ledger_entries ORDER BY seq")
        found = (read(body, "an entry") for (body,) in rows)
        return [(str(fields.get("by", "unknown")), from_fields(fields)) for fields in found]

    def head(self) -> str | None:
        """Over the heads of all datasets, in the order they were declared."""
        return _whole([(head.name, head.at) for head in self.heads(None)])

    def stood_at(self, head: str) -> int | None:
        """How many entries there were when this was the head; None if it never was."""
        at: dict[str, Position] = {}
        if head == _whole([]):
            return 0
        rows = self.execute("SELECT dataset, number, digest FROM ledger_entries ORDER BY seq")
        for count, (name, number, digest) in enumerate(rows, 1):
            at[cast(str, name)] = Position(cast(int, number), cast(str, digest))
            if _whole(list(at.items())) == head:
                return count
        return None
