"""Whose data is it: datasets, their splits, and what a person in them has paid.

Rows split by index are other people, so the parts cost their maximum; columns are the same people,
so the parts add up; rows split by a private key are other people until a record is replaced by one
with another key. Totals are kept per node, so a release costs one walk from its node to the root.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from itertools import combinations
from typing import NamedTuple

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.events.event import Event, Grouped, Moved, Parallel, Repeated, Sequential
from dpcheck.ledger.costs import NOTHING, Cost, View, minus, peak, plus, scaled

_MANY_KINDS = 16

Price = Callable[[Event, View], Cost]


class SplitKind(StrEnum):
    """How a split relates the people of its parts."""

    ROWS = "rows"
    KEY = "key"
    COLUMNS = "columns"


@dataclass(slots=True, eq=False)
class Node:
    """A dataset or a part of one: its own releases, and how it is split further."""

    path: str
    rows: int | None
    views: tuple[View, ...]
    part_of: Split | None = None
    splits: dict[str, Split] = field(default_factory=dict)
    counts: dict[Event, int] = field(default_factory=dict)
    totals: dict[View, Cost] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.totals = dict.fromkeys(self.views, NOTHING)

    @property
    def root(self) -> Node:
        """The dataset this is a part of."""
        node = self
        while node.part_of is not None:
            node = node.part_of.node
        return node

    @property
    def total(self) -> Cost:
        """What a person of this part has paid for the part, as the dataset sees neighbours."""
        return self.totals[self.views[0]]


class Tally(NamedTuple):
    """What a split costs one view, and the two costliest parts where it needs them."""

    value: Cost = NOTHING
    inside: Cost = NOTHING
    first: Cost = NOTHING
    second: Cost = NOTHING
    holders: tuple[Node | None, ...] = (None, None, None, None)


@dataclass(slots=True, eq=False)
class Split:
    """The parts of a node, and what they cost it together."""

    node: Node
    name: str
    kind: SplitKind
    parts: list[Node] = field(default_factory=list)
    tallies: dict[View, Tally] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tallies = dict.fromkeys(self.node.views, Tally())

    def part_views(self) -> tuple[View, ...]:
        """The neighbours the parts have to be accounted under."""
        found = (inner for view in self.node.views for inner in self.inner_views(view))
        return tuple(dict.fromkeys(found))

    def inner_views(self, view: View) -> tuple[View, ...]:
        """What a neighbour of the whole is for one part.

        By key under replace-one a record stays in its part (replaced), or leaves one part and
        enters another (removed here, added there). With several rows per person a part sees at most
        2 * rows removals and additions together.
        """
        if self.kind is SplitKind.KEY and view.adjacency is Adjacency.REPLACE_ONE:
            if view.rows == 1:
                return (view, View(Adjacency.ADD_REMOVE, 1))
            return (View(Adjacency.ADD_REMOVE, 2 * view.rows),)
        return (view,)

    def raised(self, part: Node, totals: dict[View, Cost], view: View) -> Tally:
        """The tally of `view` once `part` has risen to `totals`."""
        old = self.tallies[view]
        inner = self.inner_views(view)
        risen = totals[inner[0]]
        if self.kind is SplitKind.COLUMNS:
            return Tally(plus(old.value, minus(risen, part.totals[view])))
        inside = peak(old.inside, risen)
        if len(inner) == 1:
            return Tally(inside, inside)
        moved = totals[inner[1]]
        ranked = [
            _two_largest(part, *entry)
            for entry in zip(moved, old.first, old.second, old.holders, strict=True)
        ]
        first, second = Cost(*(r[0] for r in ranked)), Cost(*(r[1] for r in ranked))
        value = peak(inside, plus(first, second))
        return Tally(value, inside, first, second, tuple(r[2] for r in ranked))


def _two_largest(
    part: Node, new: Decimal, first: Decimal, second: Decimal, holder: Node | None
) -> tuple[Decimal, Decimal, Node | None]:
    """The two largest of different parts, one risen to `new`; and whose the first is."""
    if part is holder:
        return new, second, part
    if new > first:
        return new, first, part
    return first, max(second, new), holder


Change = tuple[Node, dict[View, Cost], dict[View, Tally]]


def proposed(node: Node, event: Event, times: int, price: Price) -> list[Change]:
    """What would change, node by node up to the root, if `event` were released `times` times.

    Nothing is changed yet; costs only rise, so a running maximum is exact.
    """
    changes: list[Change] = []
    totals = {
        view: plus(node.totals[view], scaled(price(event, view), times)) for view in node.views
    }
    while True:
        split = node.part_of
        if split is None:
            changes.append((node, totals, {}))
            return changes
        parent = split.node
        tallies = {view: split.raised(node, totals, view) for view in parent.views}
        changes.append((node, totals, tallies))
        totals = {
            view: plus(parent.totals[view], minus(tallies[view].value, split.tallies[view].value))
            for view in parent.views
        }
        node = parent


def commit(changes: list[Change]) -> None:
    """Carry out what was proposed."""
    for node, totals, tallies in changes:
        node.totals = totals
        if node.part_of is not None:
            node.part_of.tallies = tallies


def descendants(node: Node) -> Iterator[Node]:
    """The node and all parts of it, parents first."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        for split in reversed(current.splits.values()):
            stack.extend(reversed(split.parts))


def recount(root: Node, price: Price, counts: Callable[[Node], dict[Event, int]]) -> None:
    """Totals from scratch, after a count went down."""
    for node in descendants(root):
        node.totals = dict.fromkeys(node.views, NOTHING)
        for split in node.splits.values():
            split.tallies = dict.fromkeys(node.views, Tally())
    for node in descendants(root):
        for event, times in counts(node).items():
            if times:
                commit(proposed(node, event, times, price))


def derived_event(root: Node, own: Callable[[Node], Event | None]) -> Event:
    """One event that describes everything below `root`, `own` being a node's own releases.

    Guarantee: accounted under the dataset's adjacency it costs no less than what a person pays.
    """
    view = root.views[0]
    event = _derived(root, own, view) or Sequential(())
    return event if view.rows == 1 else Grouped(event, view.rows)


def _derived(node: Node, own: Callable[[Node], Event | None], view: View) -> Event | None:
    found = [own(node), *(_split_event(split, own, view) for split in node.splits.values())]
    events = tuple(event for event in found if event is not None)
    return None if not events else events[0] if len(events) == 1 else Sequential(events)


def _split_event(split: Split, own: Callable[[Node], Event | None], view: View) -> Event | None:
    def inside(inner: View) -> list[Event]:
        found = (_derived(part, own, inner) for part in split.parts)
        return [event for event in found if event is not None]

    parts = inside(view)
    if not parts:
        return None
    if split.kind is SplitKind.COLUMNS:
        return Sequential(tuple(parts))
    moving = split.kind is SplitKind.KEY and view.adjacency is Adjacency.REPLACE_ONE
    if moving:
        away = inside(View(Adjacency.ADD_REMOVE, view.rows))
        apart = [Moved(event) for event in away]
    if view.rows > 1:
        # A person's rows may be scattered over the parts; adding up covers every scattering.
        return Sequential(tuple(Grouped(e, 2) for e in apart) if moving else tuple(parts))
    if not moving:
        return Parallel(tuple(dict.fromkeys(parts)))
    # Either the record stays in its part, or it leaves one and enters another (or an idle one).
    kinds = Counter(apart)
    if (
        len(kinds) > _MANY_KINDS
    ):  # from any part to any, which is no less than between different ones
        anywhere = Parallel(tuple(kinds))
        return Parallel((*dict.fromkeys(parts), Sequential((anywhere, anywhere))))
    moves: list[Event] = [Sequential(pair) for pair in combinations(kinds, 2)]
    moves += [Repeated(event, 2) for event, number in kinds.items() if number > 1]
    return Parallel((*dict.fromkeys(parts), *(moves or apart)))
