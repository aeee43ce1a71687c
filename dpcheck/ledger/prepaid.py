"""Counting releases, some of them ahead: the part of a ledger that changes it, one at a time."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

from dpcheck.core.errors import BudgetExceeded, LedgerMisuse
from dpcheck.core.events.event import Event
from dpcheck.ledger.book import Book, PlanState
from dpcheck.ledger.handles import Held
from dpcheck.ledger.journal import Facts, Writer
from dpcheck.ledger.provenance import Node
from dpcheck.ledger.queries import largest
from dpcheck.ledger.report import exceeded
from dpcheck.ledger.store import Store

Holder = Node | PlanState

_open: weakref.WeakSet[Till] = weakref.WeakSet()


class Till:
    """A book, the file it may be kept in, and what this process has counted ahead.

    Guarantee: a release is counted, and is on disk where there is a file, before `take` returns;
    what was counted ahead and never used stays counted until it is given back.
    """

    def __init__(self, book: Book, block: int) -> None:
        self.book, self.block = book, block
        self.facts = Facts(book)
        self.held: dict[Holder, dict[Event, Held]] = {}
        self.lock = threading.RLock()
        self.store: Store | None = None
        self.closed: str | None = None
        _open.add(self)

    def held_for(self, holder: Holder) -> dict[Event, Held]:
        """What is counted ahead for a dataset or plan; the same dictionary every time."""
        return self.held.setdefault(holder, {})

    @contextmanager
    def transaction(self) -> Iterator[Writer]:
        """Alone with the ledger; what is written takes effect together, at the end."""
        with self.lock:
            if self.closed is not None:
                raise LedgerMisuse(self.closed)
            writer = Writer()
            if self.store is None:
                yield writer
            else:
                with self.store.transaction():
                    self.facts.learn(self.store.news())
                    yield writer
                    if writer.changes:
                        self.store.put([change.fact() for change in writer.changes])
            for change in writer.changes:
                change.apply()

    def take(self, holder: Holder, event: Event, times: int) -> None:
        """Count `times` releases, and some ahead where that is allowed; or BudgetExceeded."""
        refused = self._try_to_take(holder, event, times)
        if refused is not None and self.give_back():
            refused = self._try_to_take(holder, event, times)
        if refused is not None:
            raise refused

    def _try_to_take(self, holder: Holder, event: Event, times: int) -> BudgetExceeded | None:
        held = self.held_for(holder).setdefault(event, Held())
        with self.transaction() as write:
            missing = times - held.left
            refused = self._refusal(holder, event, missing)
            if refused is not None:
                return refused
            # Ahead by at most what this process has made so far: doubling from 1 up to the block.
            ahead = max(missing, min(self.block, held.taken))
            if ahead > missing:
                ahead = largest(missing, ahead, lambda n: self._refusal(holder, event, n) is None)
            if isinstance(holder, PlanState):
                write(self.facts.steps(holder, event, ahead))
            else:
                for account in self.book.accounts_of(holder.root):
                    if account.set_aside is None:
                        write(self.facts.aside(account))
                write(self.facts.count(holder, event, ahead))
        held.left, held.taken = held.left + ahead - times, held.taken + ahead
        return None

    def _refusal(self, holder: Holder, event: Event, times: int) -> BudgetExceeded | None:
        if isinstance(holder, PlanState):
            limit, taken = holder.limits[event], holder.counts.get(event, 0)
            if taken + times <= limit:
                return None
            return BudgetExceeded(
                f"plan {holder.name!r} has {limit - taken} of {limit} x {event!r} left, wanted "
                f"{times}; declare another plan, or spend with ledger.spend().",
                dataset=holder.node.path,
                spent=taken,
                allowed=limit,
                wanted=times,
            )
        found = self.book.refusal(holder, event, times)
        if found is None:
            return None
        cost = self.book.price(event, holder.root.views[0])
        return exceeded(found[0], holder.path, event, times, cost, found[1])

    def give_back(self) -> bool:
        """Return everything counted ahead; whether there was any."""
        unused = [
            (holder, event, held)
            for holder, kinds in self.held.items()
            for event, held in kinds.items()
            if held.left
        ]
        if not unused:
            return False
        with self.transaction() as write:
            for holder, event, held in unused:
                if isinstance(holder, PlanState):
                    write(self.facts.steps(holder, event, -held.left))
                else:
                    write(self.facts.count(holder, event, -held.left))
        for _, _, held in unused:
            held.left, held.taken = 0, held.taken - held.left
        return True

    def used(self, node: Node) -> dict[Event, int]:
        """Releases of a node without those counted ahead here."""
        held = self.held_for(node)
        return {
            event: times - (held[event].left if event in held else 0)
            for event, times in node.counts.items()
        }

    def settle_totals(self) -> None:
        """Totals without what was counted ahead, until the next release."""
        ahead = {
            holder.root
            for holder, kinds in self.held.items()
            if isinstance(holder, Node) and any(held.left for held in kinds.values())
        }
        self.book.count_as(ahead, self.used)

    def close(self) -> None:
        """Give back what was counted ahead and let go of the file."""
        with self.lock:
            if self.closed is None:
                self.give_back()
                for kinds in self.held.values():
                    kinds.clear()
                if self.store is not None:
                    self.store.close()
                self.closed = "this ledger is closed; open it again to spend or read."

    def after_fork(self) -> None:
        """In a forked child: what was counted ahead belongs to the parent."""
        self.lock = threading.RLock()
        for kinds in self.held.values():
            kinds.clear()
        if self.closed is not None:
            return
        if self.store is not None:
            self.store.reconnect()
        else:
            self.closed = (
                "this ledger was copied by a fork, and two copies would spend the same budget "
                "twice; use Ledger.open(path) to share one."
            )


def _after_fork() -> None:
    for till in list(_open):
        till.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
