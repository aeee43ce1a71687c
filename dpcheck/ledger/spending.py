"""Counting releases, some of them ahead: the part of a ledger that changes it, one at a time.

The storage is the ledger; everything else is derived from it. A change is one transaction. The state
in memory is marked unknown before it is changed and known again afterwards, so that whatever is raised
in between has it rebuilt from the storage rather than repaired.
"""

from __future__ import annotations

import os
import random
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import FrameType
from typing import TypeVar

from dpcheck.core.errors import BudgetExceeded, LedgerMisuse
from dpcheck.core.events.event import Event
from dpcheck.ledger.frozen import Key
from dpcheck.ledger.populations.accounts import PopulationSpec
from dpcheck.ledger.provenance import Counts, Node
from dpcheck.ledger.queries import largest
from dpcheck.ledger.sources import FromDataset, Source
from dpcheck.ledger.state import Prices, State, Terms
from dpcheck.ledger.storage.entries import SENSELESS, Entry, OverlapDeclared, Released, senseless
from dpcheck.ledger.storage.interface import Head, Pieces, Position, Retry, Storage
from dpcheck.ledger.storage.memory import MemoryStorage

_RETRIES = 100
Result = TypeVar("Result")


@dataclass(slots=True)
class Prepaid:
    """Releases counted by this handle: `taken` in all, of which `left` are not yet made."""

    event: Event
    left: int = 0
    taken: int = 0


@dataclass(slots=True)
class Transaction:
    """The state as it is, and what is to be added when the transaction ends."""

    state: State
    storage: Storage
    entries: list[Entry] = field(default_factory=list)
    pieces: Pieces = field(default_factory=dict)  # accounts of populations, as they are then

    def write(self, *entries: Entry) -> None:
        """Add entries, in order."""
        self.entries.extend(entries)


_open: weakref.WeakSet[Spending] = weakref.WeakSet()


class Spending:
    """A storage, the state it adds up to, and what this handle has counted ahead.

    Guarantee: a release is in the storage before `take` returns; what was counted ahead and never
    used stays counted until it is given back. A handle belongs to its process, and to its thread if
    others share the storage; a call inside another call (from a signal handler) is refused.
    """

    def __init__(self, terms: Terms, block: int, storage: Storage | None = None) -> None:
        self.terms, self.block = terms, block
        self.storage: Storage = MemoryStorage() if storage is None else storage
        self.prepaid: dict[Source, dict[Key, Prepaid]] = {}
        self.closed: str | None = None
        self._ahead: dict[tuple[Source, Key], Prepaid] = {}  # those that ever had some left
        self._lock = threading.RLock()  # an interrupt may leave it held: this thread goes on
        self._inside: dict[int, FrameType] = {}  # by thread, the call that is under way
        self._process, self._thread = os.getpid(), threading.get_ident()
        self._prices: Prices = {}
        self._current: tuple[State, dict[str, Position]] | None = None
        _open.add(self)

    @property
    def shared(self) -> bool:
        """Whether others may spend too."""
        return self.storage.shared

    def prepaid_for(self, source: Source) -> dict[Key, Prepaid]:
        """What is counted ahead; the same dictionary every time."""
        return self.prepaid.setdefault(source, {})

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody else inside: no other thread, and not this one a second time."""
        here = threading.get_ident()
        if os.getpid() != self._process:
            raise LedgerMisuse(
                "another process opened this ledger, and this one is its fork. Two copies would "
                "spend the same budget twice: open it again here, with Ledger.open(...)."
            )
        if self.storage.shared and here != self._thread:
            raise LedgerMisuse(
                "another thread opened this ledger. Open it again in this one, with "
                "Ledger.open(...): both share the budget."
            )
        if _under_way(self._inside.get(here)):
            raise LedgerMisuse(
                "a signal handler used this ledger in the middle of another call. Use it when "
                "that call has returned."
            )
        try:
            self._inside[here] = sys._getframe(2)  # who uses this context
            with self._lock:
                yield
        finally:
            self._inside.pop(here, None)

    def run(
        self,
        datasets: tuple[str, ...] | None,
        body: Callable[[Transaction], Result],
        *,
        writing: bool = True,
    ) -> Result:
        """Call `body` alone with the groups of some datasets (None: all); what it writes counts.

        It is called again if another client came between, so it must change nothing by itself.
        """
        for attempt in range(_RETRIES):
            try:
                return self._run_once(datasets, body, writing)
            except Retry:
                time.sleep(random.uniform(0.0, min(0.1, 0.001 * 2**attempt)))
        raise LedgerMisuse(
            f"the ledger {self.storage.place} was changed by others {_RETRIES} times in the "
            "meantime. Nothing was spent; try again."
        )

    def _run_once(
        self,
        datasets: tuple[str, ...] | None,
        body: Callable[[Transaction], Result],
        writing: bool,
    ) -> Result:
        if self.closed is not None:
            raise LedgerMisuse(self.closed)
        with self.storage.transaction(writing=writing):
            state, known = self._up_to_date(self.storage.heads(datasets))
            state.load_counts = lambda root: self.storage.load_counts(state, root)
            state.load_most = lambda spec: highest(self.storage, spec)
            transaction = Transaction(state, self.storage)
            result = body(transaction)
            if transaction.entries:
                self._current = None  # until it is written
                for entry in transaction.entries:
                    entry.apply(state)
                known.update(self.storage.append(state, transaction.entries, transaction.pieces))
                state.touched.clear()
        self._current = state, known
        return result

    def _up_to_date(self, heads: list[Head]) -> tuple[State, dict[str, Position]]:
        """The state, knowing these datasets as they are now."""
        current, self._current = self._current, None
        if current is not None:
            state, known = current
            new = {head.group for head in heads if head.name not in known}
            # A group that was known in part has grown: overlaps were declared elsewhere.
            grown = any(head.group in new and head.name in known for head in heads)
            if not grown and self._catch_up(state, known, heads):
                self._current = state, known
                return state, known
        state, known = State(self.terms, self._prices), {}
        self._load(state, known, heads)
        self._current = state, known
        return state, known

    def _catch_up(self, state: State, known: dict[str, Position], heads: list[Head]) -> bool:
        """Apply what others added; whether that was possible."""
        behind = [head for head in heads if head.name in known and known[head.name] != head.at]
        if behind:
            news = [pair for head in behind for pair in self.storage.news(head, known[head.name])]
            if any(_known_anew(entry) for _, entry in news):
                return False
            unwritten = set(state.touched)
            for _, entry in sorted(news, key=lambda pair: pair[0]):
                self._apply(entry, state)
            state.touched = unwritten
            known.update({head.name: head.at for head in behind})
        self._load(state, known, [head for head in heads if head.name not in known])
        return True

    def _load(self, state: State, known: dict[str, Position], heads: list[Head]) -> None:
        if heads:
            state.load_counts = lambda root: self.storage.load_counts(state, root)
            try:
                self.storage.load(state, heads)
            except SENSELESS as error:
                if getattr(error, "code", None):
                    raise
                raise senseless("declaration", error) from None
            known.update({head.name: head.at for head in heads})

    def _apply(self, entry: Entry, state: State) -> None:
        try:
            entry.apply(state)
        except SENSELESS as error:
            raise senseless(entry.kind, error) from None

    # Taking ---------------------------------------------------------------------------------------

    def take(self, source: Source, key: Key, event: Event, times: int) -> None:
        """Count `times` releases, and some ahead where that is allowed; or BudgetExceeded."""
        refused = self._try_to_take(source, key, event, times)
        if refused is not None and self.give_back():
            refused = self._try_to_take(source, key, event, times)
        if refused is not None:
            raise refused

    def _try_to_take(
        self, source: Source, key: Key, event: Event, times: int
    ) -> BudgetExceeded | None:
        prepaid = self.prepaid_for(source).setdefault(key, Prepaid(event))
        missing = times - prepaid.left
        if missing <= 0:
            prepaid.left -= times
            return None

        def body(transaction: Transaction) -> BudgetExceeded | int:
            state = transaction.state
            if not source.accepts(state, event, missing):
                return source.refusal(state, event, missing)
            # Ahead by at most what this handle has made so far: doubling from 1 up to the block.
            ahead = max(missing, min(self.block, prepaid.taken))
            if ahead > missing:
                ahead = largest(missing, ahead, lambda n: source.accepts(state, event, n))
            transaction.write(*source.entries(state, event, ahead))
            return ahead

        found = self.run((source.dataset,), body)
        if isinstance(found, BudgetExceeded):
            return found
        # Only after they were counted; if this is not reached they stay counted and are not made.
        prepaid.taken += found
        prepaid.left += found - times
        if prepaid.left:
            self._ahead[source, key] = prepaid
        return None

    def give_back(self) -> bool:
        """Return everything counted ahead; whether there was any. Called inside `alone`."""
        unused: list[tuple[Source, Event, int]] = []
        for (source, _), prepaid in self._ahead.items():
            left, prepaid.left = prepaid.left, 0  # from here on nobody can release them
            prepaid.taken -= left
            if left:
                unused.append((source, prepaid.event, left))
        if not unused:
            return False

        def body(transaction: Transaction) -> None:
            for source, event, left in unused:
                transaction.write(*source.entries(transaction.state, event, -left))

        self.run(tuple(dict.fromkeys(source.dataset for source, _, _ in unused)), body)
        self._ahead.clear()
        return True

    def used(self, state: State, node: Node) -> dict[Event, int]:
        """Releases of a node without those counted ahead here."""
        ahead = {p.event: p.left for p in self.prepaid.get(FromDataset(node.path), {}).values()}
        return {event: n - ahead.get(event, 0) for event, n in state.counts(node).items()}

    def counts(self, state: State, root: Node) -> Counts | None:
        """`used`, if anything of the dataset is counted ahead here; None if the totals are right."""
        for (source, _), prepaid in self._ahead.items():
            if prepaid.left and isinstance(source, FromDataset) and source.dataset == root.path:
                return lambda node: self.used(state, node)
        return None

    def close(self) -> None:
        """Give back what was counted ahead and let go of the storage, even if giving back fails."""
        if self.closed is not None:
            return
        with self.alone():
            try:
                self.give_back()
            finally:  # what was not given back stays counted, and nobody can release it
                for kinds in self.prepaid.values():
                    kinds.clear()
                self.closed = "this ledger is closed; open it again to spend or read."
                self.storage.close()


def _known_anew(entry: Entry) -> bool:
    """Whether a state cannot follow: groups grow, or counts fall that it may first have to read, fallen."""
    given_back = isinstance(entry, Released) and entry.times < 0
    return given_back or isinstance(entry, OverlapDeclared)


def highest(storage: Storage, spec: PopulationSpec) -> int:
    """The highest balance of a population."""
    pieces = storage.pieces(spec, list(range(spec.pieces))).values()
    return max(int(piece.max()) for piece in pieces)


def _under_way(call: FrameType | None) -> bool:
    """Whether a call has not returned. It is looked for, since an interrupt may have left its mark."""
    frame: FrameType | None = sys._getframe(1) if call is not None else None
    while frame is not None and frame is not call:
        frame = frame.f_back
    return frame is not None


def _after_fork() -> None:
    """In a child: what belongs to the parent is never touched; see `Spending.alone`."""
    for spending in list(_open):
        with suppress(Exception):
            spending.storage.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
