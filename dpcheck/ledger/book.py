"""What a ledger knows: datasets, splits, overlaps, counts, plans. No files, no locks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from decimal import Decimal

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.budget import Budget
from dpcheck.core.events.event import Event, Repeated, Sequential
from dpcheck.ledger.account import Account, Batch, Refusal
from dpcheck.ledger.costs import Cost, View, event_cost
from dpcheck.ledger.filters import Filter
from dpcheck.ledger.provenance import (
    Node,
    Split,
    SplitKind,
    commit,
    derived_event,
    descendants,
    proposed,
    recount,
)


@dataclass(frozen=True, slots=True)
class DatasetSpec:
    """A dataset as it was declared."""

    name: str
    rows: int | None
    budget: Budget | None
    unit: str
    max_rows_per_unit: int


@dataclass(slots=True, eq=False)
class PlanState:
    """A schedule, paid in full when it was declared; `counts` is what was taken of `limits`."""

    name: str
    node: Node
    event: Event
    batch: int
    limits: dict[Event, int]
    counts: dict[Event, int] = field(default_factory=dict)


@dataclass(slots=True)
class Book:
    """The state of a ledger, changed only by the methods below."""

    budget: Budget
    adjacency: Adjacency
    filter: Filter
    reserve: float
    specs: dict[str, DatasetSpec] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)
    edges: set[frozenset[str]] = field(default_factory=set)
    accounts: list[Account] = field(default_factory=list)
    held_by: dict[Node, list[Account]] = field(default_factory=dict)
    batches: dict[Node, list[Batch]] = field(default_factory=dict)
    plans: dict[str, PlanState] = field(default_factory=dict)
    prices: dict[tuple[Event, View], Cost] = field(default_factory=dict)
    stale: set[Node] = field(default_factory=set)

    def price(self, event: Event, view: View) -> Cost:
        """What one release of `event` costs, computed once."""
        key = (event, view)
        found = self.prices.get(key)
        if found is None:
            found = self.prices[key] = event_cost(event, view, self.filter.measure)
        return found

    # Structure -----------------------------------------------------------------------------------

    def add_dataset(self, spec: DatasetSpec) -> Node:
        """A new tree and its account."""
        root = Node(spec.name, spec.rows, (View(self.adjacency, spec.max_rows_per_unit),))
        self.specs[spec.name], self.nodes[spec.name] = spec, root
        self._add(self._account((root,), spec.budget))
        return root

    def add_split(
        self, node: Node, name: str, kind: SplitKind, labels: Iterable[str], rows: list[int | None]
    ) -> Split:
        """Parts below a node."""
        split = Split(node, name, kind)
        for label, size in zip(labels, rows, strict=True):
            path = f"{node.path}/{name}[{label}]"
            part = Node(path, size, split.part_views(), part_of=split)
            split.parts.append(part)
            self.nodes[path] = part
        node.splits[name] = split
        return split

    def accounts_with(self, names: Iterable[str]) -> list[Account]:
        """The accounts that would be new if people may be in all of `names`."""
        names, known = list(names), {account.name for account in self.accounts}
        edges = self.edges | {frozenset((a, b)) for a in names for b in names if a != b}
        found = [
            self._account(tuple(self.nodes[name] for name in self.specs if name in clique))
            for clique in maximal_cliques(list(self.specs), edges)
            if len(clique) > 1
        ]
        return [account for account in found if account.name not in known]

    def add_overlap(self, names: Iterable[str]) -> None:
        """People may be in all of `names`; accounts of several datasets follow."""
        names = list(names)
        for account in self.accounts_with(names):
            self._add(account)
        self.edges |= {frozenset((a, b)) for a in names for b in names if a != b}
        # An account within a larger one is kept; it asks for less than the larger one does.

    def _account(self, roots: tuple[Node, ...], budget: Budget | None = None) -> Account:
        terms = budget or self.budget
        return Account(roots, terms, self.filter, self.reserve, batches=self.batches)

    def _add(self, account: Account) -> None:
        self.accounts.append(account)
        for root in account.roots:
            self.held_by.setdefault(root, []).append(account)

    def accounts_of(self, root: Node) -> list[Account]:
        """Every account that holds the dataset."""
        return self.held_by[root]

    # Releases ------------------------------------------------------------------------------------

    def released(self, root: Node) -> bool:
        """Whether anything was released from the dataset."""
        spent = any(any(node.counts.values()) for node in descendants(root))
        return spent or any(any(plan.counts.values()) for plan in self.plans_of(root))

    def refusal(self, node: Node, event: Event, times: int) -> tuple[Account, Refusal] | None:
        """The first account that cannot bear `times` more releases."""
        self.refresh()
        changes = proposed(node, event, times, self.price)
        root, totals, _ = changes[-1]
        for account in self.accounts_of(root):
            refusal = account.refusal(account.total(root, totals[root.views[0]]))
            if refusal is not None:
                return account, refusal
        return None

    def set_count(self, node: Node, event: Event, count: int) -> None:
        """The number of releases of `event` so far; totals follow."""
        rise = count - node.counts.get(event, 0)
        node.counts[event] = count
        if rise < 0:
            self.stale.add(node.root)
        elif rise > 0 and node.root not in self.stale:
            commit(proposed(node, event, rise, self.price))

    def refresh(self) -> None:
        """Totals from scratch where a count went down."""
        while self.stale:
            recount(self.stale.pop(), self.price, lambda node: node.counts)

    def count_as(self, roots: set[Node], counts: Callable[[Node], dict[Event, int]]) -> None:
        """Totals of `roots` as if `counts` were the counts, until the next refresh."""
        self.refresh()
        for root in roots:
            recount(root, self.price, counts)
        self.stale |= roots

    # Plans ---------------------------------------------------------------------------------------

    def plans_of(self, root: Node) -> list[PlanState]:
        """The plans on a dataset and its parts."""
        return [plan for plan in self.plans.values() if plan.node.root is root]

    def planned_event(self, root: Node, batch: int, extra: tuple[Node, Event] | None) -> Event:
        """One event for all plans of a batch, with `extra` added."""
        found: dict[Node, list[Event]] = {}
        for plan in self.plans_of(root):
            if plan.batch == batch:
                found.setdefault(plan.node, []).append(plan.event)
        if extra is not None:
            found.setdefault(extra[0], []).append(extra[1])
        return derived_event(root, lambda node: _together(found.get(node, [])))

    def spent_event(self, root: Node, counts: Callable[[Node], dict[Event, int]]) -> Event:
        """One event for all adaptive releases and all plans."""
        plans = self.plans_of(root)

        def own(node: Node) -> Event | None:
            events = [Repeated(event, times) for event, times in counts(node).items() if times]
            return _together([*events, *(plan.event for plan in plans if plan.node is node)])

        return derived_event(root, own)

    def set_batch(self, root: Node, index: int, batch: Batch) -> None:
        """A new batch of plans, or the newest one with another plan in it."""
        batches = self.batches.setdefault(root, [])
        batches[index:] = [batch]

    def set_aside(self, name: str, share: Decimal) -> None:
        """The share of delta an account set aside with its first release."""
        for account in self.accounts:
            if account.name == name:
                account.set_aside = share


def _together(events: list[Event]) -> Event | None:
    return None if not events else events[0] if len(events) == 1 else Sequential(tuple(events))


def maximal_cliques(names: list[str], edges: set[frozenset[str]]) -> list[frozenset[str]]:
    """Every largest group whose members pairwise overlap [Bron1973].

    >>> maximal_cliques(["a", "b", "c"], {frozenset("ab"), frozenset("bc")}) == [
    ...     frozenset("ab"), frozenset("bc")]
    True
    """
    near = {a: {b for b in names if frozenset((a, b)) in edges and a != b} for a in names}
    found: list[frozenset[str]] = []

    def extend(clique: set[str], candidates: set[str], done: set[str]) -> None:
        if not candidates and not done:
            found.append(frozenset(clique))
            return
        pivot = max(candidates | done, key=lambda name: len(near[name] & candidates))
        for name in sorted(candidates - near[pivot]):
            extend(clique | {name}, candidates & near[name], done & near[name])
            candidates = candidates - {name}
            done = done | {name}

    extend(set(), set(names), set())
    return sorted(found, key=sorted)
