"""Shapes: entries repeated, in another order or shape, some of them, several arrays as one."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dpcheck.verify.program.boxes import Box, Entries, fitted, pair
from dpcheck.verify.program.common import (
    MOST_ENTRIES,
    NoCertificate,
    Node,
    State,
    aggregate_fact,
    broadcast_places,
    coins_of,
    differences,
    element,
    expect,
    fixed,
    inner_shape,
    integer,
    integers,
    is_zero,
    kept,
    kept_aggregate,
    moved,
    moved_box,
    only_released,
    plain,
    rows_fact,
    rule,
    spread,
    strides,
)
from dpcheck.verify.program.facts import (
    RANDOM,
    Aggregate,
    Cell,
    Coins,
    Dim,
    Drawn,
    Fact,
    Released,
    Rows,
    RowSet,
    exclude,
    same,
)
from dpcheck.verify.program.numbers import add
from dpcheck.verify.program.randomness import BLOCK, spent
from dpcheck.verify.program.sizes import NORMS, NOTHING, UNKNOWN, Size, length

Places = Sequence[int] | None


def _rearranged(state: State, node: Node, places: Callable[[], Sequence[int]], most: int) -> Fact:
    """The same entries elsewhere, each at most `most` times; `places` says which entry comes where."""
    a = node.args[0]
    fact = a.fact
    if isinstance(fact, Coins | Drawn):
        return _random(state, node, places)
    if isinstance(fact, RANDOM):
        return spent(state, node)
    needed = len(fact.box.lo) > 1 or (isinstance(fact, Aggregate) and len(fact.size.entries) > 1)
    needed = needed or (
        isinstance(fact, Aggregate) and fact.added is not None and len(fact.added.entries) > 1
    )
    order = list(places()) if needed else None
    if only_released([a]):
        state.open(a)
        return Released(box=moved_box(fact.box, order))
    assert isinstance(fact, Aggregate)

    def change(size: Size) -> Size:
        return size.repeated(most).laid(moved(size.entries, order))

    return aggregate_fact(
        node, moved_box(fact.box, order), change(fact.size), **kept_aggregate(fact, change)
    )


def _random(state: State, node: Node, places: Callable[[], Sequence[int]]) -> Fact:
    """Draws in another order are draws; a block of many stays whole."""
    a = node.args[0]
    fact = a.fact
    assert isinstance(fact, Coins | Drawn)
    if fact.block:
        before, after = ([n for n in each.shape if n != 1] for each in (a, node))
        alike = len(before) == len(after) and all(
            same(x, y) for x, y in zip(before, after, strict=True)
        )
        node.need(alike, "some of a large block of random numbers")
        return fact
    order = places()
    ids = tuple(fact.ids[i] for i in order)
    if isinstance(fact, Coins):
        return replace(fact, ids=ids)
    return replace(fact, ids=ids, scale=moved(fact.scale, order), box=moved_box(fact.box, order))


@rule("broadcast")
def broadcast(state: State, node: Node) -> Fact:
    """entries repeated: L1 is multiplied, L2 by the root; records are never repeated"""
    a = node.args[0]
    fact = a.fact
    if isinstance(fact, Rows):
        axis = node.ndim - a.ndim + fact.axis
        if axis < 0 or not same(node.shape[axis], fact.rows):
            node.refuse("rows are repeated")
        before, inner = element(a), inner_shape(node, axis)
        broadcast_check(node, before, inner)
        many = math.prod(inner) // max(1, math.prod(before))
        size = fact.size.repeated(many).laid(spread(fact.size.entries, before, inner))
        found = Box(
            spread(fact.box.lo, before, inner),
            spread(fact.box.hi, before, inner),
            fact.box.nan,
            fact.box.plain,
        )
        factor = fact.factor if math.prod(inner) == 1 else None
        return rows_fact(node, found, fact.rows, axis, size, factor=factor, **kept(fact))
    if isinstance(fact, Coins | Drawn) and fact.block:
        return _random(state, node, list)
    before, after = plain(a), plain(node)
    broadcast_check(node, before, after)
    if isinstance(fact, RANDOM) and math.prod(before) != math.prod(after):
        return spent(state, node)
    most = math.prod(after) // max(1, math.prod(before))
    return _rearranged(state, node, lambda: broadcast_places(before, after), most)


def broadcast_check(node: Node, before: tuple[int, ...], after: tuple[int, ...]) -> None:
    """One shape fits into another."""
    padded = (1,) * (len(after) - len(before)) + before
    if len(padded) != len(after) or any(
        n not in (1, m) for n, m in zip(padded, after, strict=True)
    ):
        node.refuse("it does not fit into that shape")


@rule("reshape")
def reshape(state: State, node: Node) -> Fact:
    """the same numbers in the same order; the records stay an axis of their own"""
    a = node.args[0]
    fact = a.fact
    if isinstance(fact, Rows):
        places = [i for i, n in enumerate(node.shape) if n is fact.rows]
        if len(places) != 1:
            node.refuse("a new shape mixes entries of different records")
        axis = places[0]
        inner = inner_shape(node, axis)
        before = element(a)
        if math.prod(inner) != math.prod(before) or math.prod(inner[:axis]) != math.prod(
            before[: fact.axis]
        ):
            node.refuse("a new shape mixes entries of different records")
        one = math.prod(inner) == 1
        return rows_fact(
            node,
            fact.box,
            fact.rows,
            axis,
            fact.size,
            powers=fact.powers,
            **_of_one_number(fact, one),
            **kept(fact),
        )
    if isinstance(fact, Coins | Drawn) and fact.block:
        return _random(state, node, list)
    if math.prod(plain(a)) != math.prod(plain(node)):
        node.refuse("it has another number of entries")
    return _rearranged(state, node, lambda: range(math.prod(plain(a))), 1)


def _of_one_number(fact: Rows, one: bool) -> dict[str, Any]:
    """What relates a row to other nodes, if it is one number before and after."""
    names = ("factor", "truth", "falsehood", "threshold")
    return {name: getattr(fact, name) for name in names} if one else {}


@rule("transpose")
def transpose(state: State, node: Node) -> Fact:
    """the same numbers in another order"""
    a, order = node.args[0], integers(node, "order")
    if sorted(order) != list(range(a.ndim)):
        node.refuse("it is no order of the axes")
    expect(node, [a.shape[i] for i in order])
    shape = (
        element(a)
        if isinstance(a.fact, Rows)
        else (() if any(not isinstance(n, int) for n in a.shape) else plain(a))
    )

    def places() -> list[int]:
        steps = strides(shape)
        found = [0]
        for i in order:
            found = [base + at * steps[i] for base in found for at in range(shape[i])]
        return found

    fact = a.fact
    if not isinstance(fact, Rows):
        return _rearranged(state, node, places, 1)
    many = max(len(fact.box.lo), len(fact.size.entries)) > 1
    turned = places() if many else None
    size = fact.size.laid(moved(fact.size.entries, turned))
    return rows_fact(
        node,
        moved_box(fact.box, turned),
        fact.rows,
        order.index(fact.axis),
        size,
        powers=fact.powers,
        **kept(fact),
    )


# Indices ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Index:
    """value[key]: for each axis which places are taken, and where it goes; None for a new axis."""

    taken: tuple[Sequence[int], ...]
    dropped: tuple[bool, ...]
    layout: tuple[int | None, ...]
    whole: tuple[bool, ...]

    def shape(self, lengths: Sequence[Dim]) -> list[Dim]:
        """The shape of the result; axes that are taken whole keep their length."""
        return [
            1 if axis is None else lengths[axis] if self.whole[axis] else len(self.taken[axis])
            for axis in self.layout
        ]

    def places(self, shape: tuple[int, ...]) -> list[int]:
        """Which entry comes where."""
        if math.prod(map(len, self.taken)) > MOST_ENTRIES:
            raise NoCertificate("no certificate yet: bounds of their own for so many entries")
        steps, found = strides(shape), [0]
        for axis, taken in enumerate(self.taken):
            found = [base + at * steps[axis] for base in found for at in taken]
        return found

    @property
    def most(self) -> int:
        """How often one entry is taken."""
        return math.prod(
            max(Counter(taken).values(), default=1) if type(taken) is list else 1
            for taken in self.taken
        )


def read_index(node: Node, shape: tuple[int, ...]) -> _Index:
    """The key among the parameters, for an array of that shape."""
    key = node.params.get("key")
    if not isinstance(key, list):
        node.refuse("key must be a list")
    axes = sum(each is not None for each in key)
    if axes > len(shape):
        node.refuse("too many indices")
    full = [*key, *[{"slice": [None, None, None]}] * (len(shape) - axes)]
    taken: list[Sequence[int]] = []
    dropped: list[bool] = []
    whole: list[bool] = []
    layout: list[int | None] = []
    lists = 0
    for each in full:
        axis = len(taken)
        if each is None:
            layout.append(None)
            continue
        n = shape[axis]
        if type(each) is int:
            if not -n <= each < n:
                node.refuse("an index does not fit")
            taken.append(range(each % n, each % n + 1))
        elif (
            isinstance(each, dict)
            and isinstance(each.get("slice"), list)
            and len(each["slice"]) == 3
        ):
            if (
                not all(part is None or type(part) is int for part in each["slice"])
                or each["slice"][2] == 0
            ):
                node.refuse("a slice is made of whole numbers")
            taken.append(range(*slice(*each["slice"]).indices(n)))
            layout.append(axis)
        elif isinstance(each, dict) and isinstance(each.get("places"), list):
            if not all(type(at) is int and -n <= at < n for at in each["places"]):
                node.refuse("an index does not fit")
            taken.append([at % n for at in each["places"]])
            layout.append(axis)
            lists += 1
        else:
            node.refuse("an index of an unknown kind")
        dropped.append(type(each) is int)
        whole.append(isinstance(each, dict) and each.get("slice") == [None, None, None])
    node.need(lists <= 1 and not (lists and any(dropped)), "several lists of places in one index")
    return _Index(tuple(taken), tuple(dropped), tuple(layout), tuple(whole))


@rule("index")
def index(state: State, node: Node) -> Fact:
    """some entries, at public places; records at public places are fewer records"""
    a = node.args[0]
    fact = a.fact
    if isinstance(fact, Rows):
        return _rows_at(state, node, a, fact)
    if isinstance(fact, Coins | Drawn) and fact.block:
        found = read_index(node, tuple(n if isinstance(n, int) else 1 for n in a.shape))
        node.need(all(found.whole), "some of a private number of random numbers")
        expect(node, found.shape(a.shape))
        return _random(state, node, list)
    found = read_index(node, plain(a))
    expect(node, found.shape(plain(a)))
    return _rearranged(state, node, lambda: found.places(plain(a)), found.most)


def _rows_at(state: State, node: Node, a: Node, fact: Rows) -> Fact:
    count = fact.rows.count
    found = read_index(
        node,
        tuple(1 if i == fact.axis else n for i, n in enumerate(element(a)))
        if count is None
        else tuple(fixed(a, n) for n in a.shape),
    )
    rows = fact.rows
    if not found.whole[fact.axis]:
        rows = _at_places(state, node, fact, list(found.taken[fact.axis]))
    inner = _Index(
        tuple(range(1) if i == fact.axis else taken for i, taken in enumerate(found.taken)),
        found.dropped,
        found.layout,
        found.whole,
    )
    before = element(a)
    order = inner.places(before) if max(len(fact.box.lo), len(fact.size.entries)) > 1 else None
    box = moved_box(fact.box, order)
    if found.dropped[fact.axis]:
        expect(node, found.shape(a.shape))
        size = differences(state, a)
        if len(size.entries) > 1:
            size = size.laid(moved(size.entries, inner.places(before)))
        return aggregate_fact(node, box, size, places=rows.places, coins=fact.coins)
    axis = found.layout.index(fact.axis)
    shape = found.shape(a.shape)
    shape[axis] = rows
    expect(node, shape)
    size = fact.size.repeated(inner.most).laid(moved(fact.size.entries, order))
    same_rows, one = rows is fact.rows, math.prod(before) == 1
    all_there = math.prod(map(len, inner.taken)) == math.prod(before) and inner.most == 1
    known = (
        {name: getattr(fact, name) for name in ("factor", "truth", "falsehood")}
        if one and same_rows
        else {}
    )
    return rows_fact(
        node,
        box,
        rows,
        axis,
        size,
        powers=fact.powers if all_there and same_rows else None,
        **known,
        **kept(fact),
    )


def _at_places(state: State, node: Node, fact: Rows, taken: list[int]) -> RowSet:
    """The records at public places."""
    rows = fact.rows
    if (
        rows.count is None
        or rows.optional
        or rows.sampling is not None
        or state.adjacency == "add-remove"
    ):
        node.refuse("records are chosen by their place, and their number is private")
    if len(set(taken)) < len(taken):
        node.refuse("a record is taken twice")
    known = sorted(rows.places) if rows.places is not None else range(rows.count)
    node.need(taken == sorted(taken), "records in another order")
    chosen = tuple(known[i] for i in taken)
    made = RowSet(node.id, len(chosen), predicate=rows.predicate, places=frozenset(chosen))
    return state.part(node, ("places", id(rows), chosen), made)


# Several arrays -----------------------------------------------------------------------------------------


def _joined(parts: Sequence[tuple[Entries, tuple[int, ...]]], axis: int) -> Entries:
    """Bounds of arrays side by side."""
    if len({entries for entries, _ in parts}) == 1 and len(parts[0][0]) == 1:
        return parts[0][0]
    if sum(math.prod(shape) for _, shape in parts) > MOST_ENTRIES:
        raise NoCertificate("no certificate yet: bounds of their own for so many entries")
    full = [(e * math.prod(shape) if len(e) == 1 else e, shape) for e, shape in parts]
    outer = math.prod(full[0][1][:axis])
    found: list[Any] = []
    for block in range(outer):
        for entries, shape in full:
            width = math.prod(shape[axis:])
            found.extend(entries[block * width : (block + 1) * width])
    return tuple(found)


@rule("concatenate")
def concatenate(state: State, node: Node) -> Fact:
    """L1 adds, L2 adds in squares, Linf is the larger; aggregates of disjoint records do not add"""
    args, axis = node.args, integer(node, "axis")
    if not args or not 0 <= axis < node.ndim:
        node.refuse("it has no such axis")
    if any(isinstance(arg.fact, Rows) for arg in args):
        return _side_by_side(node, axis)
    shapes = [plain(arg) for arg in args]
    _check_joined(node, shapes, plain(node), axis)
    if any(isinstance(arg.fact, RANDOM) for arg in args):
        return _random_together(state, node, axis)
    state.open(*args)
    boxes = [arg.fact.box for arg in args]
    lo, hi = (
        _joined([(getattr(b, side), s) for b, s in zip(boxes, shapes, strict=True)], axis)
        for side in ("lo", "hi")
    )
    lo, hi = pair(lo, hi)
    found, fits = fitted(
        Box(lo, hi, any(b.nan for b in boxes), all(b.plain for b in boxes)), node.dtype
    )
    if only_released(args):
        return Released(box=found)
    facts = [arg.fact for arg in args if isinstance(arg.fact, Aggregate)]
    sizes = [arg.fact.size if isinstance(arg.fact, Aggregate) else NOTHING for arg in args]
    size = stacked(sizes, shapes, axis)
    once = of_one_at_most(state, facts)
    if once is not None:
        size = size.both(once)
    if not fits:
        return aggregate_fact(node, found, UNKNOWN, coins=coins_of(*args))
    known: dict[str, Any] = {}
    if all(fact.added is not None and fact.sampling == facts[0].sampling for fact in facts):
        added = [
            arg.fact.added or NOTHING if isinstance(arg.fact, Aggregate) else NOTHING
            for arg in args
        ]
        known = {"added": stacked(added, shapes, axis), "sampling": facts[0].sampling}
    places = [fact.places for fact in facts if fact.places is not None]
    if all(fact.predicate == facts[0].predicate for fact in facts):
        known["predicate"] = facts[0].predicate
    return aggregate_fact(
        node,
        found,
        size,
        rising=all(fact.rising for fact in facts),
        cells=all_cells(facts),
        places=frozenset().union(*places) if len(places) == len(facts) else None,
        coins=coins_of(*args),
        **known,
    )


def _check_joined(
    node: Node, shapes: list[tuple[int, ...]], out: tuple[int, ...], axis: int
) -> None:
    total = 0
    for shape in shapes:
        if len(shape) != len(out) or any(
            n != m for i, (n, m) in enumerate(zip(shape, out, strict=True)) if i != axis
        ):
            node.refuse("its operands do not fit together")
        total += shape[axis]
    if total != out[axis]:
        node.refuse("it has another length")


def stacked(sizes: list[Size], shapes: list[tuple[int, ...]], axis: int) -> Size:
    """Vectors side by side as one."""
    entries = _joined(
        [(size.entries, shape) for size, shape in zip(sizes, shapes, strict=True)], axis
    )
    found = sizes[0].laid(entries)
    for size in sizes[1:]:
        found = found.beside(size, entries)
    return found


def all_cells(facts: Sequence[Aggregate]) -> tuple[Cell, ...]:
    """The cells of all of them, if no record is behind two; else none."""
    found = [
        fact.cells
        or ((Cell(fact.predicate, fact.size, fact.added),) if fact.predicate and fact.added else ())
        for fact in facts
    ]
    if not all(found):
        return ()
    for mine, other in itertools.combinations(found, 2):
        if not all(exclude(a.predicate, b.predicate) for a in mine for b in other):
            return ()
    return tuple(itertools.chain.from_iterable(found))


def of_one_at_most(state: State, facts: Sequence[Aggregate]) -> Size | None:
    """Parts of which one record is in at most one: how far all of them move together.

    Lemma. By public places a record stays where it is: the largest difference. By conditions, under
    add-remove: the record is in one part on one side and in none on the other: the largest difference.
    Otherwise either one part changes by its difference, or one loses what the record added and another
    gains what its replacement (or the null record) adds.
    """
    if len(facts) < 2:
        return None
    places = [fact.places for fact in facts if fact.places is not None]
    if len(places) == len(facts) and sum(map(len, places)) == len(frozenset().union(*places)):
        return _largest([fact.size for fact in facts])
    cells = all_cells(facts)
    if not cells:
        return None
    largest = _largest([cell.size for cell in cells])
    if state.adjacency == "add-remove":
        return largest
    two = {
        name: sorted((getattr(cell.added, name) for cell in cells), reverse=True)[:2]
        for name in NORMS
    }
    return Size(
        l1=max(largest.l1, add(*two["l1"])),
        l2=max(largest.l2, length(*two["l2"])),
        linf=max(largest.linf, *two["linf"]),
        changed=max(largest.changed, add(*two["changed"])),
    )


def _largest(sizes: Sequence[Size]) -> Size:
    return Size(**{name: max(getattr(size, name) for size in sizes) for name in NORMS})


def _side_by_side(node: Node, axis: int) -> Rows:
    """Columns of the same records."""
    facts = [arg.fact for arg in node.args if isinstance(arg.fact, Rows)]
    first = facts[0]
    if axis == first.axis or len(facts) < len(node.args):
        node.refuse("rows are put below each other, or beside something else")
    if any(fact.rows is not first.rows or fact.axis != first.axis for fact in facts):
        node.refuse("rows of different records are combined")
    shapes = [element(arg) for arg in node.args]
    inner = inner_shape(node, first.axis)
    _check_joined(node, shapes, inner, axis)
    if not same(node.shape[first.axis], first.rows):
        node.refuse("it has another number of rows")
    lo, hi = (
        _joined([(getattr(f.box, side), s) for f, s in zip(facts, shapes, strict=True)], axis)
        for side in ("lo", "hi")
    )
    lo, hi = pair(lo, hi)
    found, fits = fitted(
        Box(lo, hi, any(f.box.nan for f in facts), all(f.box.plain for f in facts)), node.dtype
    )
    alike = all(f.sampling == first.sampling for f in facts)
    predicate = first.predicate if all(f.predicate == first.predicate for f in facts) else {}
    return rows_fact(
        node,
        found,
        first.rows,
        first.axis,
        stacked([f.size for f in facts], shapes, axis) if fits else UNKNOWN,
        sampling=first.sampling if alike else None,
        zero_null=all(f.zero_null for f in facts) and fits,
        predicate=predicate,
        coins=coins_of(*node.args),
    )


def _random_together(state: State, node: Node, axis: int) -> Fact:
    """Draws of one family side by side are draws; beside anything else they are spent."""
    facts = [arg.fact for arg in node.args]
    drawn = [fact for fact in facts if isinstance(fact, Drawn) and not fact.block]
    shapes = [plain(arg) for arg in node.args]
    count = sum(math.prod(shape) for shape in shapes)
    if len(drawn) < len(facts) or len({fact.family for fact in drawn}) > 1 or count > BLOCK:
        return spent(state, node)
    first, order = 0, []
    for shape in shapes:
        order.append((tuple(Fraction(first + i) for i in range(math.prod(shape))), shape))
        first += math.prod(shape)
    ids = [each for fact in drawn for each in fact.ids]
    laws = [(fact.scale, fact.box.lo, fact.box.hi) for fact in drawn]
    scale, lo, hi = (
        _joined([(law[i], s) for law, s in zip(laws, shapes, strict=True)], axis) for i in range(3)
    )
    if any(fact.location for fact in drawn):
        return spent(state, node)
    places, ends = _joined(order, axis), pair(lo, hi)
    box = Box(ends[0], ends[1])
    return replace(drawn[0], ids=tuple(ids[int(i)] for i in places), scale=scale, box=box)


@rule("put")
def put(state: State, node: Node) -> Fact:
    """the array with other numbers at public places"""
    a, new = node.args
    expect(node, a.shape)
    if any(isinstance(arg.fact, RANDOM) for arg in node.args):
        return spent(state, node)
    state.open(a, new)
    if isinstance(a.fact, Rows):
        return _put_rows(node, a, new)
    if isinstance(new.fact, Rows):
        node.refuse("rows are written into another array")
    shape = plain(a)
    found = read_index(node, shape)
    part = tuple(fixed(node, n) for n in found.shape(shape))
    places = found.places(shape)
    broadcast_check(node, plain(new)[-len(part) :] if part else (), part)
    if math.prod(plain(new)) not in (1, math.prod(part)) and len(plain(new)) > len(part):
        node.refuse("its operands do not fit together")
    once = len(set(places)) == len(places) and len(places) <= math.prod(plain(new))

    def written(old: Entries, fresh: Entries) -> Entries:
        result = list(old * math.prod(shape) if len(old) == 1 else old)
        source = (
            fresh
            if len(fresh) == 1
            else spread(fresh, plain(new)[-len(part) :] if part else (1,), part)
        )
        for i, place in enumerate(places):
            result[place] = source[0] if len(source) == 1 else source[i]
        return tuple(result)

    before, after = a.fact.box, new.fact.box
    box, fits = fitted(
        Box(
            written(before.lo, after.lo),
            written(before.hi, after.hi),
            before.nan or after.nan,
            before.plain and after.plain,
        ),
        node.dtype,
    )
    if only_released(node.args):
        return Released(box=box)
    sizes = [arg.fact.size if isinstance(arg.fact, Aggregate) else NOTHING for arg in (a, new)]
    entries = written(sizes[0].entries, sizes[1].entries)
    facts = [arg.fact for arg in (a, new) if isinstance(arg.fact, Aggregate)]
    size = Size(entries)
    if once or sizes[1] is NOTHING:
        size = sizes[0].beside(sizes[1], entries)
        together = of_one_at_most(state, facts) if once else None
        size = size if together is None else size.both(together)
    places_of = [fact.places for fact in facts if fact.places is not None]
    return aggregate_fact(
        node,
        box,
        size if fits else UNKNOWN,
        coins=coins_of(a, new),
        cells=all_cells(facts) if once and fits else (),
        places=frozenset().union(*places_of) if len(places_of) == len(facts) else None,
    )


def _put_rows(node: Node, a: Node, new: Node) -> Rows:
    """Columns of rows, for all records at once."""
    fact = a.fact
    assert isinstance(fact, Rows)
    shape = element(a)
    found = read_index(node, shape)
    if not found.whole[fact.axis] or any(found.layout[i] is None for i in range(len(found.layout))):
        node.refuse("single records are overwritten")
    if isinstance(new.fact, Aggregate) or (
        isinstance(new.fact, Rows) and new.fact.rows is not fact.rows
    ):
        node.refuse("values of other records are written into rows")
    if not isinstance(new.fact, Rows) and new.ndim:
        node.no_certificate("an array is written into rows")
    part = tuple(fixed(node, n) for n in found.shape(shape))
    fresh = element(new)
    if isinstance(new.fact, Rows) and (
        new.ndim - new.fact.axis != len(part) - found.layout.index(fact.axis)
    ):
        node.refuse("rows are written at another place")
    broadcast_check(node, fresh, part)
    places = found.places(shape)

    def written(old: Entries, values: Entries) -> Entries:
        result = list(old * math.prod(shape) if len(old) == 1 else old)
        source = values if len(values) == 1 else spread(values, fresh, part)
        for i, place in enumerate(places):
            result[place] = source[0] if len(source) == 1 else source[i]
        return tuple(result)

    before, after = fact.box, new.fact.box
    box, fits = fitted(
        Box(
            written(before.lo, after.lo),
            written(before.hi, after.hi),
            before.nan or after.nan,
            before.plain and after.plain,
        ),
        node.dtype,
    )
    zero = (
        fact.zero_null
        and fits
        and (is_zero(new) or (isinstance(new.fact, Rows) and new.fact.zero_null))
    )
    return rows_fact(
        node, box, fact.rows, fact.axis, UNKNOWN, coins=coins_of(a, new), zero_null=zero
    )
