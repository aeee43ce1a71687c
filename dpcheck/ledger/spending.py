"""Counting releases, some of them ahead: the part of a ledger that changes it, one at a time.

The journal is the ledger; everything else is derived from it. A change is one append. The state in
memory is marked unknown before it is changed and known again afterwards, so that whatever is raised
in between has it rebuilt from the journal rather than repaired.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from dpcheck.core.errors import BudgetExceeded, DpcheckError, LedgerBroken, LedgerMisuse
from dpcheck.core.events.event import Event
from dpcheck.ledger.provenance import Counts, Node
from dpcheck.ledger.queries import largest
from dpcheck.ledger.refusals import refused_release, refused_step
from dpcheck.ledger.state import Prices, State, Terms
from dpcheck.ledger.storage.entries import DeltaDivided, Entry, PlanStepped, Released
from dpcheck.ledger.storage.file import FileJournal
from dpcheck.ledger.storage.journal import Journal, MemoryJournal


@dataclass(slots=True)
class Prepaid:
    """Releases counted by this process: `taken` in all, of which `left` are not yet made."""

    left: int = 0
    taken: int = 0


class Source(Protocol):
    """What releases are taken from: a dataset's budget, or a plan."""

    def accepts(self, state: State, event: Event, times: int) -> bool:
        """Whether `times` more can be taken."""

    def refusal(self, state: State, event: Event, times: int) -> BudgetExceeded:
        """Why they cannot."""

    def entries(self, state: State, event: Event, times: int) -> list[Entry]:
        """What is written when they are; negative `times` are given back."""


@dataclass(frozen=True, slots=True)
class FromDataset:
    """Releases that are chosen as they come."""

    path: str

    def accepts(self, state: State, event: Event, times: int) -> bool:
        """By the rules of every account that covers the dataset."""
        return state.proposal(state.nodes[self.path], event, times).refused_by() is None

    def refusal(self, state: State, event: Event, times: int) -> BudgetExceeded:
        """In epsilon, with what would still fit."""
        return refused_release(state, state.nodes[self.path], event, times)

    def entries(self, state: State, event: Event, times: int) -> list[Entry]:
        """With the first release, also how delta is divided."""
        counted = Released(self.path, event, times)
        if times < 0:
            return [counted]
        new = state.proposal(state.nodes[self.path], event, times).new_allocations()
        divided = [DeltaDivided(account.name, allocation) for account, allocation in new]
        return [*divided, counted]


@dataclass(frozen=True, slots=True)
class FromPlan:
    """Releases that were paid for in advance."""

    name: str

    def accepts(self, state: State, event: Event, times: int) -> bool:
        """By what is left of the plan."""
        plan = state.plans[self.name]
        return plan.counts.get(event, 0) + times <= plan.limits[event]

    def refusal(self, state: State, event: Event, times: int) -> BudgetExceeded:
        """In steps."""
        return refused_step(state.plans[self.name], event, times)

    def entries(self, state: State, event: Event, times: int) -> list[Entry]:  # noqa: ARG002
        """Steps."""
        return [PlanStepped(self.name, event, times)]


@dataclass(slots=True)
class Transaction:
    """The state as it is, and what is to be added to the journal when the transaction ends."""

    state: State
    entries: list[Entry] = field(default_factory=list)

    def write(self, *entries: Entry) -> None:
        """Add entries, in order."""
        self.entries.extend(entries)


_open: weakref.WeakSet[Spending] = weakref.WeakSet()


class Spending:
    """A journal, the state it adds up to, and what this process has counted ahead.

    Guarantee: a release is in the journal, and on disk where it is a file, before `take` returns;
    what was counted ahead and never used stays counted until it is given back.
    """

    def __init__(self, terms: Terms, block: int, journal: Journal | None = None) -> None:
        self.terms, self.block = terms, block
        self.journal: Journal = MemoryJournal() if journal is None else journal
        self.prepaid: dict[Source, dict[Event, Prepaid]] = {}
        self.lock = threading.RLock()
        self.closed: str | None = None
        self._prices: Prices = {}
        self._current: tuple[State, int] | None = None  # the state after so many entries
        _open.add(self)

    @property
    def shared(self) -> bool:
        """Whether other processes may spend too."""
        return isinstance(self.journal, FileJournal)

    def prepaid_for(self, source: Source) -> dict[Event, Prepaid]:
        """What is counted ahead; the same dictionary every time."""
        return self.prepaid.setdefault(source, {})

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Alone with the ledger; what is written takes effect together, at the end."""
        with self.lock:
            if self.closed is not None:
                raise LedgerMisuse(self.closed)
            with self.journal.exclusive():
                found = Transaction(self._up_to_date())
                yield found
                if found.entries:
                    self.journal.append(found.entries)
                    self._up_to_date()

    def _up_to_date(self) -> State:
        """The state after all entries there are."""
        current, self._current = self._current, None
        state, applied = current or (State(self.terms, self._prices), 0)
        news = self.journal.read(applied)
        try:
            for entry in news:
                entry.apply(state)
        except (KeyError, ValueError, TypeError, AttributeError, DpcheckError) as error:
            raise LedgerBroken(
                f"the ledger holds an entry that makes no sense ({error!r}); restore it from a "
                "backup, or read it with the dpcheck that wrote it."
            ) from None
        self._current = (state, applied + len(news))
        return state

    def take(self, source: Source, event: Event, times: int) -> None:
        """Count `times` releases, and some ahead where that is allowed; or BudgetExceeded."""
        refused = self._try_to_take(source, event, times)
        if refused is not None and self.give_back():
            refused = self._try_to_take(source, event, times)
        if refused is not None:
            raise refused

    def _try_to_take(self, source: Source, event: Event, times: int) -> BudgetExceeded | None:
        prepaid = self.prepaid_for(source).setdefault(event, Prepaid())
        with self.transaction() as transaction:
            state = transaction.state
            missing = times - prepaid.left
            if not source.accepts(state, event, missing):
                return source.refusal(state, event, missing)
            # Ahead by at most what this process has made so far: doubling from 1 up to the block.
            ahead = max(missing, min(self.block, prepaid.taken))
            if ahead > missing:
                ahead = largest(missing, ahead, lambda n: source.accepts(state, event, n))
            transaction.write(*source.entries(state, event, ahead))
        # Only after they were counted; if this is not reached they stay counted and are not made.
        prepaid.left += ahead - times
        prepaid.taken += ahead
        return None

    def give_back(self) -> bool:
        """Return everything counted ahead; whether there was any."""
        unused = []
        for source, kinds in self.prepaid.items():
            for event, prepaid in kinds.items():
                left, prepaid.left = prepaid.left, 0  # from here on nobody can release them
                prepaid.taken -= left
                if left:
                    unused.append((source, event, left))
        if not unused:
            return False
        with self.transaction() as transaction:
            for source, event, left in unused:
                transaction.write(*source.entries(transaction.state, event, -left))
        return True

    def used(self, node: Node) -> dict[Event, int]:
        """Releases of a node without those counted ahead here."""
        ahead = self.prepaid.get(FromDataset(node.path), {})
        return {
            event: times - (ahead[event].left if event in ahead else 0)
            for event, times in node.counts.items()
        }

    def counts(self, root: Node) -> Counts | None:
        """`used`, if anything of the dataset is counted ahead here; None if the totals are right."""
        for source, kinds in self.prepaid.items():
            ahead = isinstance(source, FromDataset) and any(p.left for p in kinds.values())
            if ahead and isinstance(source, FromDataset) and _is_within(source.path, root.path):
                return self.used
        return None

    def close(self) -> None:
        """Give back what was counted ahead and let go of the file, even if giving back fails."""
        with self.lock:
            if self.closed is None:
                try:
                    self.give_back()
                finally:  # what was not given back stays counted, and nobody can release it
                    for kinds in self.prepaid.values():
                        kinds.clear()
                    self.closed = "this ledger is closed; open it again to spend or read."
                    self.journal.close()

    def after_fork(self) -> None:
        """In a forked child: what was counted ahead belongs to the parent."""
        self.lock = threading.RLock()
        for kinds in self.prepaid.values():
            kinds.clear()
        if self.closed is not None:
            return
        if isinstance(self.journal, FileJournal):
            self.journal.reopen()
        else:
            self.closed = (
                "this ledger was copied by a fork, and two copies would spend the same budget "
                "twice; use Ledger.open(path) to share one."
            )


def _is_within(path: str, root: str) -> bool:
    return path == root or path.startswith(f"{root}/")


def _after_fork() -> None:
    for spending in list(_open):
        spending.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
