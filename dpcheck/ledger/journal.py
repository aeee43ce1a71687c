"""Changes of a ledger as facts: what takes effect in memory is what is written to the file."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from dpcheck.core.adjacency import as_adjacency
from dpcheck.core.budget import Budget
from dpcheck.core.errors import DpcheckError, LedgerBroken
from dpcheck.core.events.event import Event
from dpcheck.core.events.serialize import from_dict, to_dict
from dpcheck.ledger.account import Account, Batch
from dpcheck.ledger.book import Book, DatasetSpec, PlanState
from dpcheck.ledger.handles import kinds
from dpcheck.ledger.provenance import Node, SplitKind
from dpcheck.ledger.store import Fact


@dataclass(frozen=True, slots=True)
class Change:
    """A fact to be, its writing put off until a file asks for it."""

    fact: Callable[[], Fact]
    apply: Callable[[], object]


@dataclass(slots=True)
class Writer:
    """Collects the changes of a transaction."""

    changes: list[Change] = field(default_factory=list)

    def __call__(self, *changes: Change) -> None:
        """Add changes, in order."""
        self.changes.extend(changes)


@dataclass(slots=True)
class Facts:
    """Makes changes of a book, and learns facts other processes wrote."""

    book: Book
    _texts: dict[Event, Any] = field(default_factory=dict)

    def dataset(self, spec: DatasetSpec) -> Change:
        """A new dataset."""
        budget = None if spec.budget is None else [spec.budget.epsilon, spec.budget.delta]
        value = [spec.rows, budget, spec.unit, spec.max_rows_per_unit]
        return Change(
            lambda: ("dataset", spec.name, json.dumps(value)), lambda: self.book.add_dataset(spec)
        )

    def split(
        self, node: Node, name: str, kind: SplitKind, labels: list[str], rows: list[int | None]
    ) -> Change:
        """New parts."""
        return Change(
            lambda: ("split", _key(node.path, name), json.dumps([kind.value, labels, rows])),
            lambda: self.book.add_split(node, name, kind, labels, rows),
        )

    def overlap(self, names: list[str]) -> Change:
        """Datasets that may share people."""
        return Change(
            lambda: ("overlap", _key(*names), "true"), lambda: self.book.add_overlap(names)
        )

    def count(self, node: Node, event: Event, rise: int) -> Change:
        """More releases of an event, or fewer."""
        value = node.counts.get(event, 0) + rise
        return Change(
            lambda: ("count", _key(node.path, self._text(event)), str(value)),
            lambda: self.book.set_count(node, event, value),
        )

    def aside(self, account: Account) -> Change:
        """The share of delta an account sets aside with its first release."""
        share = account.share_to_set_aside(account.planned()[1])
        return Change(
            lambda: ("aside", account.name, str(share)),
            lambda: self.book.set_aside(account.name, share),
        )

    def plan(self, state: PlanState) -> Change:
        """A new plan."""
        value = [state.node.path, to_dict(state.event), state.batch]
        return Change(
            lambda: ("plan", state.name, json.dumps(value)),
            lambda: self.book.plans.update({state.name: state}),
        )

    def batch(self, root: Node, index: int, batch: Batch) -> Change:
        """What plans cost together."""
        value = [str(batch.epsilon), str(batch.delta), batch.method]
        return Change(
            lambda: ("batch", _key(root.path, index), json.dumps(value)),
            lambda: self.book.set_batch(root, index, batch),
        )

    def steps(self, plan: PlanState, event: Event, rise: int) -> Change:
        """More steps taken of a plan, or fewer."""
        value = plan.counts.get(event, 0) + rise
        return Change(
            lambda: ("steps", _key(plan.name, self._text(event)), str(value)),
            lambda: plan.counts.update({event: value}),
        )

    def _text(self, event: Event) -> Any:
        if event not in self._texts:
            self._texts[event] = to_dict(event)
        return self._texts[event]

    def learn(self, news: list[Fact]) -> None:
        """Take over what other processes wrote."""
        for kind, key, text in news:
            try:
                self._learn(kind, key, text)
            except (KeyError, ValueError, TypeError, IndexError, DpcheckError) as error:
                raise LedgerBroken(
                    f"the ledger holds a {kind} that makes no sense ({error}); restore it from a "
                    "backup, or read it with the dpcheck that wrote it."
                ) from None

    def _learn(self, kind: str, key: str, text: str) -> None:
        book = self.book
        if kind == "dataset":
            rows, terms, unit, most = json.loads(text)
            budget = None if terms is None else Budget(*terms)
            book.add_dataset(DatasetSpec(key, rows, budget, unit, most))
        elif kind == "split":
            path, name = json.loads(key)
            how, labels, sizes = json.loads(text)
            book.add_split(book.nodes[path], name, SplitKind(how), labels, sizes)
        elif kind == "overlap":
            book.add_overlap(json.loads(key))
        elif kind == "count":
            path, event = json.loads(key)
            book.set_count(book.nodes[path], from_dict(event), int(text))
        elif kind == "aside":
            book.set_aside(key, Decimal(text))
        elif kind == "plan":
            path, schedule, index = json.loads(text)
            event = from_dict(schedule)
            book.plans[key] = PlanState(key, book.nodes[path], event, index, kinds(event))
        elif kind == "batch":
            name, index = json.loads(key)
            epsilon, delta, method = json.loads(text)
            book.set_batch(book.nodes[name], index, Batch(Decimal(epsilon), Decimal(delta), method))
        elif kind == "steps":
            name, event = json.loads(key)
            book.plans[name].counts[from_dict(event)] = int(text)


def header_of(book: Book) -> dict[str, Any]:
    """The terms a ledger was opened on, to be kept with it."""
    return {
        "epsilon": book.budget.epsilon,
        "delta": book.budget.delta,
        "adjacency": book.adjacency.value,
        "filter": book.filter.name,
        "order": getattr(book.filter, "order", None),
        "reserve": book.reserve,
    }


def terms_of(header: dict[str, Any]) -> dict[str, Any]:
    """The arguments of the ledger that wrote `header`."""
    return {
        "budget": Budget(header["epsilon"], header["delta"]),
        "adjacency": as_adjacency(header["adjacency"]),
        "filter": header["filter"],
        "order": header["order"],
        "reserve": header["reserve"],
    }


def _key(*parts: Any) -> str:
    return json.dumps(parts)
