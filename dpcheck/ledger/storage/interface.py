"""What a ledger needs of the place it is kept in: memory, SQLite or PostgreSQL."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from dpcheck.ledger.populations.accounts import PopulationSpec, Units
from dpcheck.ledger.provenance import Node
from dpcheck.ledger.state import State
from dpcheck.ledger.storage.entries import Entry

Pieces = dict[tuple[str, int], Units]  # of a population, by number


class Position(NamedTuple):
    """Up to where the entries of a dataset are known: how many, and the digest after the last."""

    entries: int
    digest: str


class Head(NamedTuple):
    """A dataset: the number of its declaration, the group of its accounts, where its entries end."""

    name: str
    number: int
    group: str
    at: Position


@dataclass(frozen=True, slots=True)
class Kept:
    """A spend that was asked for under an id: what was counted, and whether it was released."""

    request: str
    path: str
    event: str
    times: int
    released: bool


class Storage(Protocol):
    """Entries in order, dataset by dataset, and what they add up to.

    All but `transaction`, `close` and `abandon` are called inside a transaction. A transaction that
    ends without an exception has happened, for good; one that raises may have happened or not,
    whole in either case.
    """

    shared: bool
    place: str

    def transaction(self, *, writing: bool) -> AbstractContextManager[None]:
        """A context in which what is read stays as it is; what is appended counts at its end."""

    def heads(self, names: tuple[str, ...] | None) -> list[Head]:
        """The datasets of every group that one of `names` is in, nobody else writing to them.

        In the order of their declarations. None: all datasets.
        """

    def load(self, state: State, heads: list[Head]) -> None:
        """Bring whole groups of datasets into a state that does not know them yet."""

    def news(self, head: Head, known: Position) -> list[tuple[int, Entry]]:
        """The entries after `known`, with their places in the order of all."""

    def load_counts(self, state: State, root: Node) -> None:
        """What was released how often, where `load` left that out."""

    def drawn_like(self, name: str) -> str | None:
        """A dataset whose name a reader would take for this one."""

    def plan_of(self, name: str) -> str | None:
        """The dataset that a plan of this name is on."""

    def kept(self, request: str) -> Kept | None:
        """The spend that was asked for under this id."""

    def pieces(self, spec: PopulationSpec, numbers: list[int]) -> dict[int, Units]:
        """What the accounts of a population in these pieces have paid."""

    def append(self, state: State, entries: list[Entry], pieces: Pieces) -> dict[str, Position]:
        """Add entries that were applied to `state`, and accounts; where the datasets stand then."""

    def history(self) -> list[Entry]:
        """Every entry, oldest first, all digests checked."""

    def spenders(self) -> list[tuple[str, Entry]]:
        """Who made which entry, as they said; oldest first."""

    def head(self) -> str | None:
        """One digest for everything the ledger holds."""

    def stood_at(self, head: str) -> int | None:
        """How many entries there were when this was the head; None if it never was."""

    def close(self) -> None:
        """Let go of it."""

    def abandon(self) -> None:
        """In a forked child: never touch what belongs to the parent."""


class Retry(Exception):
    """Another client came between: what was done in this transaction is to be done again."""
