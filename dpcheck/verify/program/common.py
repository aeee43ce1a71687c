"""What the rules share: nodes, where entries go, the rows of one record, and what has been used so far."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any, NoReturn

from dpcheck.verify.program.boxes import Box, Entries
from dpcheck.verify.program.facts import (
    RANDOM,
    Aggregate,
    Coins,
    Dim,
    Fact,
    Held,
    Places,
    Predicate,
    Public,
    Region,
    Released,
    Rows,
    RowSet,
    Sampling,
    Shape,
    same,
)
from dpcheck.verify.program.numbers import Number, read
from dpcheck.verify.program.sizes import Size
from dpcheck.verify.result import Refused

MOST_ENTRIES = 65_536  # of an array whose entries have bounds of their own
MOST_RECORDS = Fraction(2**40)  # no dataset has more, where their number is private


class NoCertificate(Refused):
    """The kernel has no lemma for something in the program; nothing is wrong with it."""


@dataclass(slots=True, eq=False)
class Node:
    """One value: `primitive` of `args` with public `params`; `fact` is what was checked of it.

    `given`: the fact is true of records that fulfil all of this only. `when`: the released values that decide
    whether it is computed at all.
    """

    id: int
    primitive: str
    args: list[Node]
    params: Mapping[str, Any]
    shape: Shape
    dtype: str
    line: str
    fact: Fact
    given: frozenset[tuple[int, Region]] = frozenset()
    when: tuple[tuple[int, bool], ...] = ()

    @property
    def ndim(self) -> int:
        """How many axes."""
        return len(self.shape)

    def no_certificate(self, what: str) -> NoReturn:
        """The kernel knows no lemma for it."""
        raise NoCertificate(
            f"no certificate yet: {what} (node {self.id}, {self.primitive}, {self.line})"
        )

    def refuse(self, why: str) -> NoReturn:
        """A step does not hold."""
        raise Refused(f"node {self.id} ({self.primitive}, {self.line}): {why}")

    def need(self, condition: bool, what: str) -> None:
        """A condition of the lemma, else no certificate."""
        if not condition:
            self.no_certificate(what)


@dataclass(slots=True)
class Release:
    """A private value that noise was added to, or answers that were randomized."""

    node: Node
    family: str
    scale: Entries
    size: Size
    count: int
    added: Size | None = None
    sampling: Sampling | None = None
    coins: frozenset[int] = frozenset()
    predicate: Predicate = field(default_factory=dict)
    rising: bool = False
    response: tuple[Number, int] | None = (
        None  # share of uniform answers, and how many answers there are
    )
    form: tuple[Node, dict[int, Fraction]] | None = None  # the entries of a vector that it adds up
    times: int = 1
    shared: bool = False  # its coins were seen by something else


@dataclass(slots=True)
class State:
    """What the whole program shares: the relation of neighbours, the draws and what became of them."""

    adjacency: str
    next_draw: int = 0
    noise: set[int] = field(default_factory=set)  # draws that protect a release
    spent: set[int] = field(default_factory=set)  # draws that are public randomness
    seen: set[int] = field(default_factory=set)  # releases of which all numbers were seen
    chosen: dict[int, str] = field(default_factory=dict)  # releases of which an argmax was seen
    row_sets: dict[object, RowSet] = field(default_factory=dict)
    releases: dict[int, Release] = field(default_factory=dict)
    nodes: dict[int, Node] = field(default_factory=dict)
    path: tuple[tuple[int, bool], ...] = ()  # the branches that are being read
    thresholds: dict[int, Number] = field(default_factory=dict)  # the scales of their noise
    answers: dict[int, Any] = field(default_factory=dict)  # of sparse vectors, see `tallies`
    asked: dict[int, dict[int, int]] = field(default_factory=dict)  # threshold -> answer -> release
    told: set[int] = field(default_factory=set)  # releases whose gap is told with a hit
    places: set[tuple[tuple[int, ...], bool]] = field(
        default_factory=set
    )  # of the largest of these

    @property
    def moves(self) -> int:
        """How many records leave or enter when one is exchanged."""
        return 2 if self.adjacency == "replace-one" else 1

    def draws(self, count: int) -> range:
        """Ids of fresh numbers."""
        first = self.next_draw
        self.next_draw += count
        return range(first, self.next_draw)

    def protect(self, node: Node, ids: Sequence[int]) -> None:
        """These draws protect one number each of one release, and nothing else."""
        found = set(ids)
        if len(found) < len(ids) or found & self.noise or found & self.spent:
            node.refuse("a drawn number is used twice")
        self.noise |= found

    def spend(self, *args: Node) -> None:
        """Draws that are public randomness from now on, and releases that are seen."""
        for arg in args:
            if isinstance(arg.fact, RANDOM):
                found = {each for ids in arg.fact.ids for each in ids}
                arg.need(all(isinstance(n, int) for n in arg.shape), "a private number of draws")
                if found & self.noise:
                    arg.refuse("a drawn number that protects a release is used again")
                self.spent |= found
        self.open(*args)

    def open(self, *args: Node) -> None:
        """Whoever computes with a release has seen all its numbers."""
        for arg in args:
            if isinstance(arg.fact, Released) and arg.fact.release is not None:
                self.seen.add(arg.fact.release)
            if isinstance(arg.fact, Released) and arg.fact.held is not None:
                self._look(arg.fact.held)

    def _look(self, held: Held) -> None:
        """An answer, and the place of the largest, are what is paid for; a gap is told with a hit."""
        if held.kind == "place":
            self.places.add((held.members, held.up))
        elif held.kind == "gap" and any(
            test in self.answers
            and self.answers[test].release == held.members[0]
            and self.answers[test].above == value
            for test, value in self.path
        ):
            self.told.add(held.members[0])
        elif held.kind != "answer":
            self.seen.update(held.members)

    def part(self, node: Node, key: object, made: RowSet) -> RowSet:
        """The same selection is the same set, however often it is made; its first node names it."""
        found = self.row_sets.setdefault(key, made)
        node.shape = tuple(
            found if isinstance(n, RowSet) and n.first == found.first else n for n in node.shape
        )
        return found


Rule = Callable[[State, Node], Fact]
RULES: dict[str, Rule] = {}
LEMMAS: dict[str, str] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register the rule of some primitives; the first line of its text is the lemma."""

    def register(function: Rule) -> Rule:
        for name in names:
            assert name not in RULES, name
            RULES[name] = function
            LEMMAS[name] = (function.__doc__ or "").strip().splitlines()[0]
        return function

    return register


# Shapes -------------------------------------------------------------------------------------------------


def fixed(node: Node, dim: object) -> int:
    """A public length as a number."""
    found = dim.count if isinstance(dim, RowSet) else dim
    if not isinstance(found, int):
        node.no_certificate("a private length")
    return found


def plain(node: Node) -> tuple[int, ...]:
    """The shape of an array with no private length."""
    return tuple(fixed(node, dim) for dim in node.shape)


def element(node: Node) -> tuple[int, ...]:
    """The shape of one record's row, or of the whole array."""
    if isinstance(node.fact, Rows):
        return tuple(1 if i == node.fact.axis else fixed(node, n) for i, n in enumerate(node.shape))
    return plain(node)


def inner_shape(node: Node, axis: int) -> tuple[int, ...]:
    """The shape of a row of the result, whose records are along `axis`."""
    return tuple(1 if i == axis else fixed(node, n) for i, n in enumerate(node.shape))


def expect(node: Node, shape: Sequence[Dim]) -> None:
    """The program states the shape that the rule finds."""
    if len(shape) != len(node.shape) or not all(
        same(a, b) for a, b in zip(node.shape, shape, strict=True)
    ):
        node.refuse("its shape is not that of its operands")


def broadcast_shape(node: Node, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """As numpy broadcasts."""
    most = max(map(len, shapes))
    found = []
    for column in zip(
        *((1,) * (most - len(shape)) + tuple(shape) for shape in shapes), strict=True
    ):
        lengths = {n for n in column if n != 1}
        if len(lengths) > 1:
            node.refuse("its operands do not fit together")
        found.append(lengths.pop() if lengths else 1)
    return tuple(found)


@lru_cache(maxsize=4096)
def broadcast_places(before: tuple[int, ...], after: tuple[int, ...]) -> tuple[int, ...]:
    """For every entry of the shape `after`, which entry of `before` it is."""
    if math.prod(after) > MOST_ENTRIES:
        raise NoCertificate("no certificate yet: bounds of their own for so many entries")
    padded = (1,) * (len(after) - len(before)) + before
    steps = strides(padded)
    axes = [
        range(0, n * s, s) if m != 1 else (0,) * n
        for n, m, s in zip(after, padded, steps, strict=True)
    ]
    return tuple(sum(each) for each in product(*axes))


def strides(shape: Sequence[int]) -> list[int]:
    """By how much a step along each axis moves in the flat order."""
    return [math.prod(shape[i + 1 :]) for i in range(len(shape))]


def spread(entries: Entries, before: tuple[int, ...], after: tuple[int, ...]) -> Entries:
    """Bounds of an array of one shape for the array it is broadcast to."""
    if len(entries) == 1 or before == after or math.prod(before) == math.prod(after):
        return entries
    return tuple(entries[i] for i in broadcast_places(before, after))


def spread_box(box: Box, before: tuple[int, ...], after: tuple[int, ...]) -> Box:
    """A box after a broadcast."""
    return Box(spread(box.lo, before, after), spread(box.hi, before, after), box.nan, box.plain)


def moved(entries: Entries, places: Sequence[int] | None) -> Entries:
    """Bounds of entries that were put elsewhere; `places` is not needed where all have the same."""
    if len(entries) == 1:
        return entries
    assert places is not None
    return tuple(entries[i] for i in places)


def moved_box(box: Box, places: Sequence[int] | None) -> Box:
    """A box whose entries were put elsewhere."""
    return Box(moved(box.lo, places), moved(box.hi, places), box.nan, box.plain)


def over(
    entries: Entries,
    shape: tuple[int, ...],
    axes: Sequence[int],
    join: Callable[[list[Number]], Number],
) -> Entries:
    """One bound for each place of the other axes, joined from all along `axes`; uniform ones are left."""
    if len(entries) == 1:
        return entries
    kept = [i for i in range(len(shape)) if i not in axes]
    steps = strides(shape)
    found = []
    for outer in product(*(range(shape[i]) for i in kept)):
        base = sum(steps[i] * at for i, at in zip(kept, outer, strict=True))
        found.append(
            join(
                [
                    entries[base + sum(steps[i] * at for i, at in zip(axes, inner, strict=True))]
                    for inner in product(*(range(shape[i]) for i in axes))
                ]
            )
        )
    return tuple(found)


# Rounding ------------------------------------------------------------------------------------------------

_ROUNDED = frozenset(("add", "subtract", "multiply", "divide", "square", "sqrt", "sum"))
_MOVED = frozenset(
    [
        *("negative", "positive", "absolute", "minimum", "maximum", "select", "assume", "element"),
        *(
            "index",
            "reshape",
            "transpose",
            "broadcast",
            "whole",
            "filter",
            "batch",
            "sort",
            "extreme",
        ),
        *("concatenate", "put", "fill", "number", "floor", "ceil", "rint", "trunc"),
    ]
)
_SHORT = 2**40


def not_rounded(node: Node, known: dict[int, bool] | None = None) -> bool:
    """Whether floats lie in the box that real numbers have.

    Lemma. Rounding keeps the order of numbers, and whole numbers and short fractions as they are. So a value
    lies between ends that are such numbers, if the values it was computed from do.
    """
    known = {} if known is None else known
    if node.id not in known:
        known[node.id] = _not_rounded(node, known)
    return known[node.id]


def _not_rounded(node: Node, known: dict[int, bool]) -> bool:
    if node.primitive in ("data", "constant") or node.dtype == "bool":
        return True
    if node.dtype.startswith(("int", "uint")):
        return True
    if node.primitive in _ROUNDED:
        if not all(_is_short(end) for end in (*node.fact.box.lo, *node.fact.box.hi)):
            return False
    elif node.primitive not in _MOVED and (node.primitive, node.dtype) != ("convert", "float64"):
        return False
    return all(not_rounded(arg, known) for arg in node.args)


def _is_short(end: Number) -> bool:
    if isinstance(end, float):
        return False
    below = end.denominator
    return below & (below - 1) == 0 and below <= _SHORT and abs(end.numerator) <= _SHORT


# Rows ---------------------------------------------------------------------------------------------------


def rows_fact(node: Node, box: Box, rows: RowSet, axis: int, size: Size, **known: Any) -> Rows:
    """Rows, with every bound that box and norms give together."""
    count = math.prod(inner_shape(node, axis))
    found = size.both(Size(box.size)).tightened(count)
    if not box.finite:
        found = Size(box.size, changed=found.changed).tightened(count)
    return Rows(box=box.within(-found.linf, found.linf), rows=rows, axis=axis, size=found, **known)


def aggregate_fact(node: Node, box: Box, size: Size, **known: Any) -> Aggregate:
    """An aggregate; it moves no further than its box is wide."""
    found = size.both(Size(box.width)).tightened(math.prod(plain(node)))
    return Aggregate(box=box, size=found, **known)


KEPT = ("zero_null", "sampling", "predicate", "coins")


def kept(fact: Rows, *names: str) -> dict[str, Any]:
    """What is known of rows however their entries are arranged."""
    return {name: getattr(fact, name) for name in (*KEPT, *names)}


def kept_aggregate(fact: Aggregate, change: Callable[[Size], Size]) -> dict[str, Any]:
    """What is known of an aggregate however its entries are arranged."""
    known = {
        name: getattr(fact, name) for name in ("sampling", "predicate", "places", "rising", "coins")
    }
    return known | {"added": None if fact.added is None else change(fact.added)}


def coins_of(*args: Node) -> frozenset[int]:
    """The draws of rows that a function of these values may tell of."""
    own = [
        i
        for arg in args
        if isinstance(arg.fact, Coins | Places)
        for ids in arg.fact.ids
        for i in ids
    ]
    return frozenset(own).union(*(arg.fact.coins for arg in args))


def holds_where(node: Node, answer: bool) -> Predicate:
    """What is known of a record whose truth value, one a record, is `answer`."""
    if not isinstance(node.fact, Rows) or node.dtype != "bool" or math.prod(element(node)) != 1:
        return {}
    return (node.fact.truth if answer else node.fact.falsehood) or {}


def scalar(node: Node) -> Number | None:
    """A public positive number."""
    fact = node.fact
    if not isinstance(fact, Public) or node.ndim or node.dtype == "bool" or fact.box.nan:
        return None
    value = fact.box.least
    return value if value == fact.box.most and 0 < value < float("inf") else None


def scalar_value(node: Node) -> Fraction | None:
    """A public number."""
    box = node.fact.box
    if not isinstance(node.fact, Public) or node.ndim or box.nan or box.least != box.most:
        return None
    return box.least if isinstance(box.least, Fraction) else None


def is_zero(node: Node) -> bool:
    """Whether it is 0 for all data."""
    box = node.fact.box
    return isinstance(node.fact, Public) and not box.nan and box.least == box.most == 0


def only_released(args: Sequence[Node]) -> bool:
    """Whether nothing of this is private or drawn."""
    return all(isinstance(arg.fact, Public | Released) for arg in args)


def numbers(value: object, name: str) -> Entries:
    """A number of the file, or a list of them."""
    found = value if isinstance(value, list) else [value]
    return tuple(read(each, name) for each in found)


def integers(node: Node, name: str) -> list[int]:
    """A list of whole numbers among the parameters."""
    found = node.params.get(name)
    if not isinstance(found, list) or not all(type(each) is int for each in found):
        node.refuse(f"{name} must be a list of whole numbers")
    return list(found)


def integer(node: Node, name: str) -> int:
    """A whole number among the parameters."""
    found = node.params.get(name)
    if type(found) is not int:
        node.refuse(f"{name} must be a whole number")
    return int(found)


def differences(state: State, node: Node) -> Size:
    """How a sum over records of these rows differs between neighbours.

    Lemma. Replace-one: a row moves inside its box, and by at most twice its norm. Add-remove: a row appears
    or disappears. Zero-out: a row becomes that of the null record; if that is 0, as add-remove, else as
    replace-one. A row whose own values decide whether it is in may be 0 on either side.
    """
    fact = node.fact
    assert isinstance(fact, Rows)
    if state.adjacency == "add-remove" or (state.adjacency == "zero-out" and fact.zero_null):
        return fact.size
    box = fact.box.with_zero() if fact.rows.optional else fact.box
    twice = fact.size.scaled((Fraction(2),))
    changed = 2 * fact.size.changed
    size = Size(box.width, twice.l1, twice.l2, twice.linf, changed)
    return size.tightened(math.prod(element(node)))


def records_axis(node: Node) -> int:
    """Where the records are, whichever of the operands has them."""
    places = {
        node.ndim - arg.ndim + arg.fact.axis for arg in node.args if isinstance(arg.fact, Rows)
    }
    sets = {id(arg.fact.rows) for arg in node.args if isinstance(arg.fact, Rows)}
    if len(places) != 1 or len(sets) != 1:
        node.refuse("rows of different records are combined")
    return places.pop()
