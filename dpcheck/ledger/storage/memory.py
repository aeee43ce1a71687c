"""A ledger in memory: a list of what was appended, and an index that catches up with it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from dpcheck.ledger.names import drawn
from dpcheck.ledger.populations.accounts import PopulationSpec, Units
from dpcheck.ledger.provenance import Node
from dpcheck.ledger.state import State
from dpcheck.ledger.storage.entries import (
    Charged,
    DatasetDeclared,
    Entry,
    OverlapDeclared,
    PlanDeclared,
    PopulationDeclared,
    Released,
    ReleaseShown,
)
from dpcheck.ledger.storage.interface import Head, Kept, Pieces, Position
from dpcheck.ledger.storage.receipts import kept_after


class MemoryStorage:
    """One append is one call of a list, which cannot be interrupted halfway.

    The index is derived from the list, entry by entry. Indexing an entry twice changes nothing, so
    whatever is raised there, it goes on where it was.
    """

    shared = False
    place = "in memory"

    def __init__(self) -> None:
        self._log: list[tuple[tuple[str, ...], Entry, Pieces]] = []
        self._pieces: Pieces = {}
        self._indexed = 0
        self._numbers: dict[str, int] = {}
        self._groups: dict[str, tuple[str, ...]] = {}
        self._of: dict[str, list[int]] = {}
        self._plans: dict[str, str] = {}
        self._drawn: dict[str, str] = {}
        self._kept: dict[str, Kept] = {}

    @contextmanager
    def transaction(self, *, writing: bool) -> Iterator[None]:  # noqa: ARG002
        """The ledger's lock suffices."""
        self._catch_up()
        yield

    def _catch_up(self) -> None:
        while self._indexed < len(self._log):
            at = self._indexed
            names, entry, pieces = self._log[at]
            self._pieces.update(pieces)
            for name in names:
                places = self._of.setdefault(name, [])
                if not places or places[-1] != at:
                    places.append(at)
            match entry:
                case DatasetDeclared():
                    self._groups.setdefault(entry.spec.name, (entry.spec.name,))
                    self._numbers.setdefault(entry.spec.name, len(self._numbers))
                    self._drawn.setdefault(drawn(entry.spec.name), entry.spec.name)
                case PopulationDeclared():
                    self._groups.setdefault(entry.spec.name, (entry.spec.name,))
                    self._numbers.setdefault(entry.spec.name, len(self._numbers))
                    self._drawn.setdefault(drawn(entry.spec.name), entry.spec.name)
                case OverlapDeclared():
                    together = {m for name in entry.names for m in self._groups[name]}
                    whole = tuple(sorted(together, key=self._numbers.__getitem__))
                    for name in whole:
                        self._groups[name] = whole
                case PlanDeclared():
                    self._plans[entry.name] = names[0]
                case Released() | ReleaseShown() | Charged():
                    kept_after(self._kept, entry)
            self._indexed = at + 1
            pieces.clear()  # they are known now, and may be large

    def heads(self, names: tuple[str, ...] | None) -> list[Head]:
        """The datasets of the groups of `names`, or all."""
        if names is None:
            found = list(self._numbers)
        else:
            groups = (self._groups.get(name, ()) for name in names)
            found = list(dict.fromkeys(member for group in groups for member in group))
            found.sort(key=self._numbers.__getitem__)
        return [
            Head(name, self._numbers[name], self._groups[name][0], self._position(name))
            for name in found
        ]

    def _position(self, name: str) -> Position:
        return Position(len(self._of[name]), "")

    def load(self, state: State, heads: list[Head]) -> None:
        """Everything that ever happened to them."""
        for head in heads:
            state.numbers[head.name] = head.number
        for at in sorted({at for head in heads for at in self._of[head.name]}):
            self._log[at][1].apply(state)

    def news(self, head: Head, known: Position) -> list[tuple[int, Entry]]:
        """The entries after `known`."""
        return [(at, self._log[at][1]) for at in self._of[head.name][known.entries :]]

    def load_counts(self, state: State, root: Node) -> None:
        """Nothing: `load` leaves nothing out."""

    def drawn_like(self, name: str) -> str | None:
        """By what they look like."""
        return self._drawn.get(drawn(name))

    def plan_of(self, name: str) -> str | None:
        """The dataset a plan is on."""
        return self._plans.get(name)

    def kept(self, request: str) -> Kept | None:
        """The spend of this id."""
        return self._kept.get(request)

    def pieces(self, spec: PopulationSpec, numbers: list[int]) -> dict[int, Units]:
        """Nothing was spent where nothing is known."""
        return {
            number: self._pieces.get(
                (spec.name, number), np.zeros(spec.piece_size(number), np.int64)
            )
            for number in numbers
        }

    def append(self, state: State, entries: list[Entry], pieces: Pieces) -> dict[str, Position]:
        """All of them or none."""
        last = len(entries) - 1
        rows = [
            (entry.datasets(state), entry, pieces if number == last else {})
            for number, entry in enumerate(entries)
        ]
        self._log.extend(rows)
        self._catch_up()
        return {name: self._position(name) for names, _, _ in rows for name in names}

    def history(self) -> list[Entry]:
        """Every entry, oldest first."""
        return [entry for _, entry, _ in self._log]

    def spenders(self) -> list[tuple[str, Entry]]:
        """All of them this process."""
        return [("this process", entry) for entry in self.history()]

    def head(self) -> str | None:
        """None: nobody can hold a statement against what is gone with the process."""
        return None

    def stood_at(self, head: str) -> int | None:  # noqa: ARG002
        """There are no heads in memory."""
        return None

    def close(self) -> None:
        """Nothing to let go of."""

    def abandon(self) -> None:
        """Nothing is shared with the parent."""
