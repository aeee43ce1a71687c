"""What the entries of a ledger add up to: datasets, splits, overlaps, counts, plans.

A state knows the datasets that were asked for, whole groups of them. Nothing here is kept: it is
rebuilt from the storage whenever a change of it did not end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import combinations

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.budget import Budget
from dpcheck.core.events.event import Event, Repeated, Sequential
from dpcheck.ledger.account import Account, Batch
from dpcheck.ledger.overlaps import connected, maximal_cliques
from dpcheck.ledger.populations.accounts import PopulationSpec
from dpcheck.ledger.populations.sharing import Sharing
from dpcheck.ledger.pricing.allocation import Allocation
from dpcheck.ledger.pricing.costs import INFINITE, Cost, Repeats, View, event_cost, nothing, plus
from dpcheck.ledger.pricing.filters import Filter
from dpcheck.ledger.pricing.loop import repeats_of, unit_of
from dpcheck.ledger.provenance import (
    Counts,
    Node,
    Price,
    Split,
    SplitKind,
    commit,
    cost_of,
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


@dataclass(slots=True, eq=False)
class PopulationState:
    """A population, and what it was first charged for; its balances are read when they are needed.

    `most` is the highest balance once it was read, `sharing` which datasets its people may be in.
    """

    spec: PopulationSpec
    first: Event | None = None
    most: int | None = None
    sharing: Sharing | None = None


@dataclass(frozen=True, slots=True)
class Terms:
    """What a ledger was opened on."""

    budget: Budget
    adjacency: Adjacency
    filter: Filter
    reserve: Decimal | None
    expect: Event | None = None


Prices = dict[tuple[Event, View], Cost]


@dataclass(slots=True)
class State:
    """The sum of a ledger's entries, changed only by the methods below.

    `touched` are the places (nodes by path, plans by `plan_place`) that changed since it was cleared.
    """

    terms: Terms
    prices: Prices  # what events cost; outlives a state, since it depends on the terms alone
    specs: dict[str, DatasetSpec] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)
    edges: set[frozenset[str]] = field(default_factory=set)
    accounts: list[Account] = field(default_factory=list)
    accounts_by_root: dict[Node, list[Account]] = field(default_factory=dict)
    batches: dict[Node, list[Batch]] = field(default_factory=dict)
    plans: dict[str, PlanState] = field(default_factory=dict)
    populations: dict[str, PopulationState] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)  # in the order of declaration
    by_name: dict[str, Account] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)
    load_counts: Callable[[Node], None] | None = None
    load_most: Callable[[PopulationSpec], int] | None = None
    populations_by_dataset: dict[str, list[PopulationState]] = field(default_factory=dict)

    def price(self, event: Event, view: View) -> Cost:
        """What one release of `event` costs, computed once; its `repeats` are not known here."""
        found = self.prices.get((event, view))
        if found is None:
            filter_ = self.terms.filter
            found = event_cost(event, view, filter_.measure, filter_.size)
            self.prices[event, view] = found
        return found

    def prices_for(self, root: Node, first: Event | None = None) -> Price:
        """Prices on a dataset, whose loop repeats `first` if it has none yet."""
        unit, main = root.first or first, root.views[0]
        known: Prices = {}

        def price(event: Event, view: View) -> Cost:
            found = known.get((event, view))
            if found is None:
                base = self.price(event, view)
                repeats: Repeats = (INFINITE,)
                if not base.pure and not base.failure and not base.slip:
                    repeats = ()  # reveals nothing
                elif unit is not None and view == main:
                    repeats = repeats_of(event, unit, view)
                found = known[event, view] = base._replace(repeats=repeats)
            return found

        return price

    # Structure -----------------------------------------------------------------------------------

    def add_dataset(self, spec: DatasetSpec) -> Node:
        """A new tree and its account."""
        if spec.name in self.specs or spec.name in self.populations:
            raise ValueError(f"dataset {spec.name!r} is declared a second time")
        self.numbers.setdefault(spec.name, len(self.numbers))
        views = (View(self.terms.adjacency, spec.max_rows_per_unit),)
        root = Node(spec.name, spec.rows, views, nothing(self.terms.filter.size))
        self.specs[spec.name], self.nodes[spec.name] = spec, root
        self._add(self._account((root,), spec.budget))
        return root

    def add_population(self, spec: PopulationSpec) -> None:
        """Accounts of their own."""
        if spec.name in self.specs or spec.name in self.populations:
            raise ValueError(f"{spec.name!r} is declared a second time")
        self.numbers.setdefault(spec.name, len(self.numbers))
        self.populations[spec.name] = PopulationState(spec)

    def add_split(
        self,
        node: Node,
        name: str,
        kind: SplitKind,
        labels: Iterable[str],
        rows: Iterable[int | None],
    ) -> Split:
        """Parts below a node."""
        if name in node.splits:
            raise ValueError(f"{node.path!r} is split as {name!r} a second time")
        split = Split(node, name, kind)
        for number, (label, size) in enumerate(zip(labels, rows, strict=True)):
            path = f"{node.path}/{name}[{label}]"
            part = Node(path, size, split.part_views(), node.nothing, split, number)
            split.parts.append(part)
            self.nodes[path] = part
        node.splits[name] = split
        return split

    def accounts_with(self, names: Iterable[str]) -> list[Account]:
        """The accounts of several datasets that would be new if people may be in all of `names`."""
        names = [name for name in names if name in self.specs]
        edges = {edge for edge in self.edges if edge <= self.specs.keys()} | pairs(names)
        near = sorted(connected(names, edges), key=self.numbers.__getitem__)
        found = [
            self._account(tuple(self.nodes[name] for name in near if name in clique))
            for clique in maximal_cliques(near, edges)
            if len(clique) > 1
        ]
        return [account for account in found if account.name not in self.by_name]

    def add_overlap(self, names: Iterable[str]) -> None:
        """People may be in all of `names`; accounts of several datasets follow."""
        names = list(names)
        for account in self.accounts_with(names):
            self._add(account)
        # An account within a larger one is kept; it asks for less than the larger one does.
        self.edges |= pairs(names)
        near = [known for name in names for known in self.populations_by_dataset.get(name, ())]
        for known in (*near, *(self.populations[n] for n in names if n in self.populations)):
            known.sharing = None  # found out when it is asked for
        for name in names:
            if name in self.populations:
                for other in names:
                    known_there = self.populations_by_dataset.setdefault(other, [])
                    if other != name and self.populations[name] not in known_there:
                        known_there.append(self.populations[name])

    def _account(self, roots: tuple[Node, ...], budget: Budget | None = None) -> Account:
        terms = self.terms
        limits = budget or terms.budget
        return Account(roots, limits, terms.filter, terms.reserve, self.batches)

    def _add(self, account: Account) -> None:
        self.accounts.append(account)
        self.by_name[account.name] = account
        for root in account.roots:
            self.accounts_by_root.setdefault(root, []).append(account)

    def accounts_of(self, root: Node) -> list[Account]:
        """Every account that covers the dataset."""
        return self.accounts_by_root[root]

    # Populations ---------------------------------------------------------------------------------

    def sharing(self, known: PopulationState) -> Sharing:
        """The datasets whose people may have accounts of a population."""
        if known.sharing is None:
            known.sharing = Sharing(known.spec, self.edges)
        return known.sharing

    def shared_cost(self, known: PopulationState, instead: Mapping[str, Cost] | None = None) -> int:
        """What every account pays for datasets, some of them at another cost."""
        sharing, other = self.sharing(known), instead or {}
        costs = {n: other.get(n) or self.whole_cost(self.nodes[n]) for n in sharing.datasets}
        return sharing.paid(costs, self.terms.filter)

    def whole_cost(
        self, root: Node, total: Cost | None = None, plans: Mapping[int, Event] | None = None
    ) -> Cost:
        """What a person pays for a dataset's releases (`total`) and plans, some batches replaced."""
        found, other = root.total if total is None else total, plans or {}
        for number in {*range(len(self.batches.get(root, ()))), *other}:
            event = other.get(number) or self.planned_event(root, number, None)
            found = plus(found, self.price(event, View(root.views[0].adjacency, 1)))
        return found

    def full(self, root: Node, cost: Cost) -> PopulationState | None:
        """The population whose accounts could not all bear it if the dataset cost that."""
        for known in self.populations_by_dataset.get(root.path, ()):
            shared = self.shared_cost(known, {root.path: cost})
            if not self.sharing(known).bears(self.most(known), shared):
                return known
        return None

    def most(self, known: PopulationState) -> int:
        """The highest balance of a population, without what all of its accounts pay."""
        if known.most is None:
            known.most = 0 if self.load_most is None else self.load_most(known.spec)
        return known.most

    # Releases ------------------------------------------------------------------------------------

    def released(self, root: Node) -> bool:
        """Whether anything was released, or counted ahead, from the dataset."""
        return root.first is not None or any(
            any(plan.counts.values()) for plan in self.plans_of(root)
        )

    def counts(self, node: Node) -> dict[Event, int]:
        """What was released from a node itself."""
        self.know_counts(node.root)
        return node.counts

    def know_counts(self, root: Node) -> None:
        """Have the counts of a dataset, which are not needed to accept or refuse."""
        if not root.counted and self.load_counts is not None:
            self.load_counts(root)
            root.counted = True

    def loop_of(self, root: Node, event: Event) -> Event:
        """What the dataset's loop repeats, were `event` its first release.

        What was announced, if the first release is part of it; else the first release.
        """
        expected = self.terms.expect
        if root.first is not None:
            return root.first
        if expected is not None and all(
            repeats.is_finite() for repeats in repeats_of(event, expected, root.views[0])
        ):
            return expected
        return unit_of(event)

    def proposal(self, node: Node, event: Event, times: int) -> Proposal:
        """What `times` more releases would cost the dataset, and how delta would be divided."""
        root = node.root
        first = self.loop_of(root, event)
        price = self.prices_for(root, first)
        changed = proposed(node, event, times, price)[-1][1][root.views[0]]
        one = price(first, root.views[0])
        announced = first == self.terms.expect
        accounts = self.accounts_of(root)
        totals = [account.total_with(root, first, changed) for account in accounts]
        divided = [
            account.settled(account.allocation_for(root, first, one, announced), total)
            for account, total in zip(accounts, totals, strict=True)
        ]
        near = self.populations_by_dataset.get(root.path)
        full = self.full(root, self.whole_cost(root, changed)) if near else None
        return Proposal(accounts, totals, divided, changed, full)

    def count(self, node: Node, event: Event, times: int) -> None:
        """More releases of `event`, or fewer that were counted ahead; totals follow."""
        root = node.root
        if times < 0:
            self.know_counts(root)
            if node.counts.get(event, 0) + times < 0:
                raise ValueError("more releases are given back than were counted")
        root.first = self.loop_of(root, event)
        price = self.prices_for(root)
        if root.counted:
            node.counts[event] = node.counts.get(event, 0) + times
        if times > 0:
            changes = proposed(node, event, times, price)
            commit(changes)
            self.touched.update(changed.path for changed, _, _ in changes)
        else:
            self.recount(root)

    def recount(self, root: Node) -> None:
        """Totals from counts: after some were given back, or when prices have changed."""
        self.know_counts(root)
        recount(root, self.prices_for(root))
        self.touched.update(node.path for node in descendants(root))

    def cost(self, root: Node, counts: Counts) -> Cost:
        """What the dataset costs if `counts` were released; changes nothing."""
        return cost_of(root, root.views[0], self.prices_for(root), counts)

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

    def spent_event(self, root: Node, counts: Counts) -> Event:
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

    def add_plan(self, plan: PlanState, cost: Batch) -> None:
        """A plan, which costs `cost` together with the others of its batch."""
        if plan.name in self.plans:
            raise ValueError(f"plan {plan.name!r} is declared a second time")
        self.set_batch(plan.node.root, plan.batch, cost)
        self.plans[plan.name] = plan

    def step(self, name: str, event: Event, times: int) -> None:
        """More steps taken of a plan, or fewer."""
        plan = self.plans[name]
        taken = plan.counts.get(event, 0) + times
        if not 0 <= taken <= plan.limits[event]:
            raise ValueError(f"plan {name!r} has {plan.limits[event]} steps, not {taken}")
        plan.counts[event] = taken
        self.touched.add(plan_place(name))

    def set_allocation(self, name: str, allocation: Allocation) -> None:
        """How an account divided delta with its first release."""
        self.by_name[name].allocation = allocation


@dataclass(frozen=True, slots=True)
class Proposal:
    """A dataset with some releases more: what its accounts would bear, and how delta is divided then.

    `cost` is the dataset's own total, `full` a population whose accounts could not all bear it.
    """

    accounts: list[Account]
    totals: list[Cost]
    allocations: list[Allocation]
    cost: Cost
    full: PopulationState | None

    def accepted(self) -> bool:
        """Whether everybody concerned can bear it."""
        return self.full is None and self.refused_by() is None

    def refused_by(self) -> tuple[Account, Allocation, Cost] | None:
        """The first account that cannot bear it, and the total it cannot bear."""
        rows = zip(self.accounts, self.allocations, self.totals, strict=True)
        for account, allocation, total in rows:
            if not account.accepts(total, allocation):
                return account, allocation, total
        return None

    def new_allocations(self) -> list[tuple[Account, Allocation]]:
        """Those that would be decided now."""
        pairs = zip(self.accounts, self.allocations, strict=True)
        return [(account, found) for account, found in pairs if account.allocation is not found]


def _together(events: list[Event]) -> Event | None:
    return None if not events else events[0] if len(events) == 1 else Sequential(tuple(events))


def pairs(names: Iterable[str]) -> set[frozenset[str]]:
    """Every two of them."""
    return {frozenset(pair) for pair in combinations(set(names), 2)}


def plan_place(name: str) -> str:
    """Where the steps of a plan are kept; no path of a node looks like it."""
    return f"plan/{name}"
