"""Where the entries of a ledger are kept; in memory here, in a file in `file`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from dpcheck.ledger.storage.entries import Entry


class Journal(Protocol):
    """Entries in order. What `append` returned from is there for good, and nothing else is.

    `read` and `append` are called inside `exclusive`, where nobody else appends.
    """

    def exclusive(self) -> AbstractContextManager[None]:
        """A context in which this journal is ours alone."""

    def read(self, start: int) -> list[Entry]:
        """The entries from number `start` on, those of other processes included."""

    def append(self, entries: list[Entry]) -> None:
        """Add all of them or none, in one step."""

    def close(self) -> None:
        """Let go of it."""


class MemoryJournal:
    """A list."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """The ledger's lock suffices."""
        yield

    def read(self, start: int) -> list[Entry]:
        """The entries from number `start` on."""
        return self._entries[start:]

    def append(self, entries: list[Entry]) -> None:
        """One call of the list, which cannot be interrupted halfway."""
        self._entries.extend(entries)

    def close(self) -> None:
        """Nothing to let go of."""
