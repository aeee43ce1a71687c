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
from functools import reduce
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.events.event import Event, Grouped, Moved, Parallel, Repeated, Sequential
from dpcheck.ledger.pricing.costs import (
    INFINITE,
    UP,
    ZERO,
    Cost,
    Floats,
    Repeats,
    View,
    above,
    minus,
    peak,
    plus,
    scaled,
    unrepeated,
)

_MANY_KINDS = 16

Integers = npt.NDArray[np.int_]
Price = Callable[[Event, View], Cost]


class SplitKind(StrEnum):
    """How a split relates the people of its parts."""

    ROWS = "rows"
    KEY = "key"
    COLUMNS = "columns"


@dataclass(slots=True, eq=False)
class Node:
    """A dataset or a part of one: its own releases, and how it is split further.

    `first` is what a loop on the dataset repeats, set at the root with its first release; `counted`
    says, at the root, whether the counts are known here.
    """

    path: str
    rows: int | None
    views: tuple[View, ...]
    nothing: Cost
    part_of: Split | None = None
    number: int = 0
    first: Event | None = None
    counted: bool = True
    splits: dict[str, Split] = field(default_factory=dict)
    counts: dict[Event, int] = field(default_factory=dict)
    totals: dict[View, Cost] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """As before the first release."""
        self.totals = dict.fromkeys(self.views, self.nothing)

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


class SplitTotal(NamedTuple):
    """What a split costs one view, and the two costliest parts where it needs them.

    `holders` says, number by number, which part the costliest is (-1: none yet).
    """

    value: Cost
    inside: Cost
    first: Cost
    second: Cost
    holders: tuple[int, int, int, Integers]


def _untouched(nothing: Cost) -> SplitTotal:
    nobody = np.full(len(nothing.divergences), -1)
    return SplitTotal(nothing, nothing, nothing, nothing, (-1, -1, -1, nobody))


@dataclass(slots=True, eq=False)
class Split:
    """The parts of a node, and what they cost it together."""

    node: Node
    name: str
    kind: SplitKind
    parts: list[Node] = field(default_factory=list)
    totals: dict[View, SplitTotal] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """As before the first release."""
        self.totals = dict.fromkeys(self.node.views, _untouched(self.node.nothing))

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

    def _in_one_part(self, cost: Cost, view: View) -> Cost:
        """A part's cost as the whole sees it: rows scattered over parts end a loop."""
        return unrepeated(cost) if view.rows > 1 else cost

    def raised(self, part: Node, totals: dict[View, Cost], view: View) -> SplitTotal:
        """The total of `view` once `part` has risen to `totals`."""
        old = self.totals[view]
        inner = self.inner_views(view)
        risen = totals[inner[0]]
        if self.kind is SplitKind.COLUMNS:
            return old._replace(value=plus(old.value, minus(risen, part.totals[view])))
        inside = peak(old.inside, self._in_one_part(risen, view))
        if len(inner) == 1:
            return old._replace(value=inside, inside=inside)
        me, new = part.number, totals[inner[1]]
        p, f, s = (
            _two_largest(me, *entry)
            for entry in zip(new[:3], old.first[:3], old.second[:3], old.holders[:3], strict=True)
        )
        tops = _two_largest_of_each(
            me, new.divergences, old.first.divergences, old.second.divergences, old.holders[3]
        )
        ended = _ended([old.first, new])
        first = Cost(p[0], f[0], s[0], ended, tops[0])
        second = Cost(p[1], f[1], s[1], (), tops[1])
        holders = (p[2], f[2], s[2], tops[2])
        return SplitTotal(peak(inside, plus(first, second)), inside, first, second, holders)

    def from_scratch(self, view: View, cost: Callable[[Node, View], Cost]) -> Cost:
        """What the split costs `view`, from what each part `cost`s; the definition of `raised`."""
        inner = self.inner_views(view)
        inside = [cost(part, inner[0]) for part in self.parts]
        if self.kind is SplitKind.COLUMNS:
            return reduce(plus, inside, self.node.nothing)
        worst = reduce(peak, (self._in_one_part(c, view) for c in inside), self.node.nothing)
        if len(inner) == 1:
            return worst
        moved = [cost(part, inner[1]) for part in self.parts]
        divergences = np.sort([c.divergences for c in moved], axis=0)[-2:].sum(axis=0)
        apart = Cost(
            _largest_two([c.pure for c in moved]),
            _largest_two([c.failure for c in moved]),
            _largest_two([c.slip for c in moved]),
            _ended(moved),
            above(divergences),
        )
        return peak(worst, apart)


def _ended(moved: list[Cost]) -> Repeats:
    """A record that leaves one part and enters another ends every loop."""
    return (INFINITE,) if any(any(cost.repeats) for cost in moved) else ()


def _largest_two(values: list[Decimal]) -> Decimal:
    """The sum of the two largest."""
    return reduce(UP.add, sorted(values, reverse=True)[:2], ZERO)


def _two_largest(
    me: int, new: Decimal, first: Decimal, second: Decimal, holder: int
) -> tuple[Decimal, Decimal, int]:
    """The two largest of different parts, one risen to `new`; and whose the first is."""
    if me == holder:
        return new, second, me
    if new > first:
        return new, first, me
    return first, max(second, new), holder


def _two_largest_of_each(
    me: int, new: Floats, first: Floats, second: Floats, holder: Integers
) -> tuple[Floats, Floats, Integers]:
    """The same for every divergence."""
    mine, above = holder == me, new > first
    return (
        np.where(mine | above, new, first),
        np.where(mine, second, np.where(above, first, np.maximum(second, new))),
        np.where(mine | above, me, holder),
    )


Counts = Callable[[Node], dict[Event, int]]
Change = tuple[Node, dict[View, Cost], dict[View, SplitTotal]]


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
        risen = {view: split.raised(node, totals, view) for view in parent.views}
        changes.append((node, totals, risen))
        totals = {
            view: plus(parent.totals[view], minus(risen[view].value, split.totals[view].value))
            for view in parent.views
        }
        node = parent


def commit(changes: list[Change]) -> None:
    """Carry out what was proposed."""
    for node, totals, risen in changes:
        node.totals = totals
        if node.part_of is not None:
            node.part_of.totals = risen


def descendants(node: Node) -> Iterator[Node]:
    """The node and all parts of it, parents first."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        for split in reversed(current.splits.values()):
            stack.extend(reversed(split.parts))


def recount(root: Node, price: Price) -> None:
    """Running totals from scratch, after a count went down."""
    for node in descendants(root):
        node.forget()
        for split in node.splits.values():
            split.forget()
    for node in descendants(root):
        for event, times in node.counts.items():
            if times:
                commit(proposed(node, event, times, price))


def cost_of(node: Node, view: View, price: Price, counts: Counts) -> Cost:
    """What a node and its parts cost if `counts` were released; changes nothing."""
    total = node.nothing
    for event, times in counts(node).items():
        if times:
            total = plus(total, scaled(price(event, view), times))
    for split in node.splits.values():
        inside = split.from_scratch(view, lambda part, inner: cost_of(part, inner, price, counts))
        total = plus(total, inside)
    return total


def derived_event(root: Node, own: Callable[[Node], Event | None]) -> Event:
    """One event that describes everything below `root`, `own` being a node's own releases.

    Guarantee: accounted under the dataset's adjacency it costs no less than what a person pays.
    """
    view = root.views[0]
    event = _derived(root, own, view) or Sequential(())
    return event if view.rows == 1 else Grouped(event, view.rows)


def really_paid(root: Node) -> bool:
    """Whether some person pays what `derived_event` costs: then a lower bound on that is one on this.

    It costs more where rows of a person are scattered over parts, or move between very many.
    """
    splits = [split for node in descendants(root) for split in node.splits.values()]
    if root.views[0].rows > 1:
        return not splits
    moving = (s for s in splits if s.kind is SplitKind.KEY)
    return root.views[0].adjacency is not Adjacency.REPLACE_ONE or all(
        len(split.parts) <= _MANY_KINDS for split in moving
    )


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
