"""Loops over records: the body is read once, for a record that stands for all.

Inside the body a record's values are single private values; what is computed from them is then computed
for all records at once. Names that only add up become sums over the records; all other names die
with the loop.
"""

from __future__ import annotations

import ast
import builtins
import copy
import functools
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.program.batching import batched, depends, for_every_record
from dpcheck.program.facts.kinds import Aggregate, Answers, Public, Released, Rows
from dpcheck.program.facts.rowsets import RowSet
from dpcheck.program.graph import Node
from dpcheck.program.reading.values import (
    Array,
    Counted,
    Iterator,
    Keys,
    Listed,
    Opaque,
    Others,
    Scalar,
    Scope,
    Series,
    Storage,
    Table,
    Tally,
    Value,
    Word,
    contents,
    same_contents,
)
from dpcheck.program.rules.common import UNBOUNDED, check_mixed, is_weak, plain, unsure, weakness

if TYPE_CHECKING:
    from dpcheck.program.reading.reader import Reader


OF_RECORDS = "it is a list of values of records"


@dataclass(slots=True, eq=False)
class Places(Value):
    """range(len(records)), or one place of it."""

    rows: RowSet
    one: bool = False


@dataclass(slots=True, eq=False)
class Together(Value):
    """zip or enumerate of records."""

    parts: tuple[object, ...]


@dataclass(slots=True, eq=False)
class Lines(Value):
    """The rows of a table one by one: what iterrows, itertuples and apply(axis=1) give.

    `weak` if their entries are numbers of Python; `labelled` if each comes with the label of its row; `tuple`
    if its entries are attributes.
    """

    columns: dict[object, Node]
    weak: bool
    labelled: bool = False
    tuple: bool = False


@dataclass(slots=True, eq=False)
class Label(Value):
    """The label of a row, of which nothing is known."""


@dataclass(slots=True, eq=False)
class Line(Value):
    """One row of a table, by the names of the columns; `tuple` if its entries are attributes alone."""

    entries: dict[object, object]
    tuple: bool = False


@dataclass(slots=True)
class Sum:
    """What a loop adds to a name, or to entries of an array."""

    name: str
    sign: float
    value: object
    tests: tuple[tuple[Node, bool], ...]
    place: object = None  # of the entry, for arrays and dicts
    owner: Array | Tally | dict[object, object] | None = None  # what has that entry
    anew: bool = False  # the sum is a new object


@dataclass(slots=True)
class Loop:
    """A loop over records that is being read."""

    rows: RowSet
    column: Node  # some column of these records
    carried: frozenset[str]
    known: dict[int, Node] = field(default_factory=dict)
    tests: list[tuple[Node, bool]] = field(default_factory=list)
    sums: list[Sum] = field(default_factory=list)
    lists: dict[int, list[object]] = field(default_factory=dict)  # values appended, by list
    scope: Scope | None = None  # whose names add up; None where nothing may
    reads: Counter[int] = field(default_factory=Counter)  # of lists
    drawn: int = 0  # numbers that are drawn for each record
    fresh: dict[int, object] = field(default_factory=dict)  # lists that are made in the round


def entry(reader: Reader, line: Line, name: object) -> object:
    """row["name"] or row.name."""
    found = line.entries.get(name) if isinstance(name, str | int) else None
    if found is None:
        reader.refuse(
            "failed",
            f"a row has no column {name!r}, or it is a method of pandas",
            "take the columns of the row by their names: row['NAME']",
        )
    return found


def column_of(reader: Reader, value: object) -> Node | None:
    """The column of records that a value is."""
    if isinstance(value, Series):
        value = value.array
    if not isinstance(value, Array):
        return None
    node = value.node(reader.graph)
    fact = node.fact
    return node if isinstance(fact, Rows) and fact.axis == 0 else None


def is_records(reader: Reader, value: object) -> bool:
    """Whether a loop over this is a loop over records."""
    known = isinstance(value, Places | Together | Listed | Lines)
    return known or column_of(reader, value) is not None


def element(reader: Reader, loop: Loop, column: Node, weak: bool | None = False) -> Value:
    """One record's value of a column, which stands for all."""
    fact = column.fact
    assert isinstance(fact, Rows)
    if fact.rows is not loop.rows:
        reader.refuse("mixed-records", "records of different selections are looped over", "use one")
    shape = plain(column.shape[1:])
    box = fact.box.mapped(lambda end: np.broadcast_to(end, (1, *shape)).reshape(shape))
    inside = Aggregate(box=box, diff=UNBOUNDED.tightened(shape))
    node = reader.graph.given("element", shape, column.dtype, inside, of=column.id, weak=weak)
    loop.known[node.id] = column
    return Array(Storage(node, "it is a record of the data")) if shape else Scalar(node)


def record_of(reader: Reader, loop: Loop, over: Listed) -> dict[object, Value] | tuple[Value, ...]:
    """One record of a list, which stands for all: nobody may write to it."""
    parts = {
        key: element(reader, loop, each.node(reader.graph), each.weak)
        for key, each in over.columns.items()
    }
    found = parts if over.kind is dict else tuple(parts.values())
    reader.foreign[id(found)] = found
    return found


def text_among(
    reader: Reader, item: object, texts: Collection[object], *, among: bool
) -> Value | None:
    """Whether a record's text, in a loop over records, is among public texts; None for anything else."""
    now = reader.mapped[-1]
    assert isinstance(now, Loop)
    column = now.known.get(item.node.id) if isinstance(item, Scalar) else None
    if column is None or column.dtype.kind != "O" or not texts:
        return None
    if not all(type(each) is str for each in texts):
        return None
    masks = [reader.graph.add("is_value", column, public=each) for each in sorted(map(str, texts))]
    found = functools.reduce(lambda a, b: reader.graph.add("bitwise_or", a, b), masks)
    answer = found if among else reader.graph.add("logical_not", found)
    return element(reader, now, answer, weak=True)


def _listed(reader: Reader, now: Loop, value: object, kept: Callable[[Node], Node]) -> Listed:
    """A list of records made of others: what each record's item holds, for all of them."""
    items = value if isinstance(value, dict) else dict(enumerate(value))  # type: ignore[arg-type]
    if not items or not all(isinstance(each, Value) for each in items.values()):
        reader.unknown("records that hold something else than their own values")
    columns = {
        key: listed(reader, kept(_column(reader, now, each, ())), weakness(reader.node(each)))
        for key, each in items.items()
    }
    return Listed(columns, type(value))


def _is_record(reader: Reader, value: tuple[object, ...]) -> bool:
    """A record as it was in the data, or one that holds text."""
    texts = (isinstance(v, Scalar) and v.node.dtype.kind == "O" for v in value)
    return id(value) in reader.foreign or any(texts)


def _first_column(reader: Reader, over: object) -> Node:
    if isinstance(over, Listed):
        return next(iter(over.columns.values())).node(reader.graph)
    if isinstance(over, Lines):
        return next(iter(over.columns.values()))
    if isinstance(over, Together):
        return _first_column(reader, next(p for p in over.parts if not isinstance(p, Places)))
    if isinstance(over, Places):
        found = next(
            (
                n
                for n in reader.graph.nodes
                if isinstance(n.fact, Rows) and n.fact.rows is over.rows and n.fact.axis == 0
            ),
            None,
        )
        assert found is not None
        return found
    found = column_of(reader, over)
    assert found is not None
    return found


def _bound(reader: Reader, loop: Loop, over: object) -> object:
    if isinstance(over, Lines):
        entries = {k: element(reader, loop, node, over.weak) for k, node in over.columns.items()}
        line = Line(dict(entries), over.tuple)
        return (Label(), line) if over.labelled else line
    if isinstance(over, Together):
        return tuple(_bound(reader, loop, part) for part in over.parts)
    if isinstance(over, Places):
        return Places(over.rows, one=True)
    if isinstance(over, Listed):
        return record_of(reader, loop, over)
    column = column_of(reader, over)
    assert column is not None
    return element(reader, loop, column, of_python(over))


def of_python(over: object) -> bool | None:
    """Whether the items are numbers of Python: those of a list may be, those of a Series are, one by one."""
    if isinstance(over, Series):
        return True
    return over.weak if isinstance(over, Array) and over.form is list else False


def loop(
    reader: Reader, target: ast.expr, over: object, body: list[ast.stmt], scope: Scope
) -> None:
    """for target in records: body."""
    from dpcheck.program.reading import branches
    from dpcheck.program.reading.statements import Left, bind, block

    if reader.mapped:
        reader.refuse(
            "mixed-records",
            "records are looped over inside of such a loop",
            "aggregate over them first",
        )
    column = _first_column(reader, over)
    assert isinstance(column.fact, Rows)
    body = _adding(target, body)
    stored, carried = _names(reader, target, body)
    before = dict(scope.names)
    for name in stored - carried:
        scope.names.pop(name, None)
    now = Loop(column.fact.rows, column, frozenset(carried), scope=scope)
    growing = _growing(reader, body, carried, scope)
    reader.mapped.append(now)
    guarded, exits = reader.guarded, reader.exits
    reader.guarded, reader.exits = guarded + 1, []
    before_body = branches.made(reader)
    try:
        bind(reader, target, _bound(reader, now, over), scope)
        block(reader, body, scope)
    except Left as left:
        branches.register(reader, left, scope)
    finally:
        left_by = [each.how for each in reader.exits]
        reader.guarded, reader.exits = guarded, exits
        reader.mapped.pop()
        for storage in growing:
            storage.growing = False
    if any(how != "continue" for how in left_by):
        reader.refuse(
            "private-control",
            "a loop over records ends early, which reveals a record",
            "let the loop run to its end",
        )
    if branches.made(reader) != before_body:
        reader.refuse(
            "private-length",
            "something is drawn or released for every record, and their number is private",
            "draw for all records at once, before the loop: rng.random(len(x))",
        )
    for name in stored:
        scope.names.pop(name, None)
    for name in carried:
        if name in before:
            scope.names[name] = before[name]
    _finish(reader, now, scope, before)


def _growing(
    reader: Reader, body: list[ast.stmt], carried: set[str], scope: Scope
) -> list[Storage]:
    """The arrays that the loop adds to, which nobody reads meanwhile."""
    del reader
    names = set(carried)
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Subscript):
                names |= {n.id for n in ast.walk(node.target.value) if isinstance(n, ast.Name)}
    found = []
    for name in names:
        value = scope.names.get(name)
        if isinstance(value, Array) and not value.storage.growing:
            value.storage.growing = True
            found.append(value.storage)
    return found


def read(reader: Reader, value: object) -> object:
    """A list that is used inside a loop over records is noted."""
    if reader.mapped and type(value) is list:
        now = reader.mapped[-1]
        assert isinstance(now, Loop)
        now.reads[id(value)] += 1
    return value


def fresh(reader: Reader, value: object) -> object:
    """A list that is made anew for every record."""
    if reader.mapped and type(value) is list:
        reader.mapped[-1].fresh[id(value)] = value  # type: ignore[attr-defined]
    return value


def _names(reader: Reader, target: ast.expr, body: list[ast.stmt]) -> tuple[set[str], set[str]]:
    """Names that the loop sets, and among them those that only add up and are not read."""
    stored = {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
    carried: set[str] = set()
    read: set[str] = set()
    plain_stores: set[str] = set(stored)
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                carried.add(node.target.id)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                read.add(node.id)
    augmented = {
        id(node.target)
        for statement in body
        for node in ast.walk(statement)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)
    }
    for statement in body:
        for node in ast.walk(statement):
            if (
                isinstance(node, ast.Name)
                and isinstance(node.ctx, ast.Store)
                and id(node) not in augmented
            ):
                plain_stores.add(node.id)
    adding = {name for name in carried if name not in plain_stores}
    if adding & read:
        reader.refuse(
            "private-control",
            f"{', '.join(sorted(adding & read))} is read in the loop that adds it up",
            "use it after the loop",
        )
    return stored | plain_stores | carried, adding


class Anew(ast.AugAssign):
    """total = total + value: what `+=` does, but in a new object."""


class _Additions(ast.NodeTransformer):
    """name = name + value as what it is, where the loop does nothing else to that name."""

    def __init__(self, names: set[str]) -> None:
        self.names = names

    def visit_Assign(self, tree: ast.Assign) -> ast.AST:
        found = _addition(tree)
        if found is None or found[0] not in self.names:
            return tree
        name, op, value = found
        made = Anew(target=ast.Name(name, ast.Store()), op=op, value=value)
        ast.copy_location(made.target, tree)
        return ast.copy_location(made, tree)


def _addition(tree: ast.AST) -> tuple[str, ast.operator, ast.expr] | None:
    """name = name + value, name = name - value, or name = value + name."""
    if not isinstance(tree, ast.Assign) or len(tree.targets) != 1:
        return None
    target, value = tree.targets[0], tree.value
    if not isinstance(target, ast.Name) or not isinstance(value, ast.BinOp):
        return None
    for mine, other in ((value.left, value.right), (value.right, value.left)):
        ops = ast.Add | ast.Sub if mine is value.left else ast.Add
        named = isinstance(mine, ast.Name) and mine.id == target.id
        if named and isinstance(value.op, ops):
            return target.id, value.op, other
    return None


def _adding(target: ast.expr, body: list[ast.stmt]) -> list[ast.stmt]:
    """The body of a loop in which every addition is written as one."""
    every = [node for statement in body for node in ast.walk(statement)]
    names = {found[0] for node in every if (found := _addition(node)) is not None}
    if not names:
        return body
    uses = Counter(n.id for n in [*every, *ast.walk(target)] if isinstance(n, ast.Name))
    for node in every:  # each of them has the name twice, and nothing else has it
        if (found := _addition(node)) is not None:
            uses[found[0]] -= 2
    names = {name for name in names if uses[name] == 0}
    if not names:
        return body
    return [_Additions(names).visit(copy.deepcopy(statement)) for statement in body]


def accumulates(
    reader: Reader, tree: ast.AugAssign, old: object, new: object, scope: Scope
) -> bool:
    """total += value of a record, inside a loop over records."""
    if not reader.mapped or not isinstance(tree.target, ast.Name):
        return False
    now = reader.mapped[-1]
    assert isinstance(now, Loop)
    if now.scope is not scope or tree.target.id not in now.carried:
        return False
    numbers = isinstance(old, Scalar | Array) and _root(old).dtype.kind != "b"
    if not numbers and type(old) not in (int, float) and not isinstance(old, np.number):
        reader.unknown(f"adding up in a {type(old).__name__.lower()} for every record")
    if not isinstance(tree.op, ast.Add | ast.Sub):
        reader.refuse(
            "mixed-records",
            f"{tree.target.id} is changed by every record otherwise than by adding",
            "add up with +=, or use array operations",
        )
    sign = 1.0 if isinstance(tree.op, ast.Add) else -1.0
    anew = isinstance(tree, Anew)
    now.sums.append(Sum(tree.target.id, sign, new, tuple(now.tests), anew=anew))
    return True


def _root(value: Scalar | Array) -> Node:
    return value.node if isinstance(value, Scalar) else value.storage.node


def adds_to_entry(
    reader: Reader, tree: ast.AugAssign, owner: object, key: object, new: object, scope: Scope
) -> bool:
    """counts[place] += value, inside a loop over records."""
    if not reader.mapped or not isinstance(tree.target, ast.Subscript):
        return False
    if not isinstance(tree.target.value, ast.Name) or not isinstance(tree.op, ast.Add):
        return False
    if isinstance(owner, Tally) or type(owner) is dict:
        return _adds_to_item(reader, tree.target.value.id, owner, key, new, scope)
    if not isinstance(owner, Array) or isinstance(owner.storage.node.fact, Rows):
        return False
    now = reader.mapped[-1]
    assert isinstance(now, Loop)
    if now.scope is not scope or not owner.storage.growing:
        return False
    now.sums.append(Sum(tree.target.value.id, 1.0, new, tuple(now.tests), key, owner))
    return True


def _adds_to_item(
    reader: Reader,
    name: str,
    owner: Tally | dict[object, object],
    key: object,
    new: object,
    scope: Scope,
) -> bool:
    """counts[category of a record] += value."""
    now = reader.mapped[-1]
    assert isinstance(now, Loop)
    if now.scope is not scope:
        return False
    column = now.known.get(key.node.id) if isinstance(key, Scalar) else None
    if column is None or not isinstance(column.fact, Rows):
        return False
    if isinstance(owner, dict):
        known = column.fact.values
        if known is None or not all(each in owner for each in known):
            reader.refuse(
                "private-control",
                "this item may not exist, and the error would reveal the record",
                "list all categories in the dict, and describe the column by dpcheck.one_of(...)",
            )
        if id(owner) in reader.foreign or id(owner) in reader.frozen:
            return False
    elif owner.counted is not None:
        return False
    now.sums.append(Sum(name, 1.0, new, tuple(now.tests), key, owner))
    return True


def _into_items(reader: Reader, now: Loop, each: Sum, column: Node) -> None:
    """One category a record."""
    from dpcheck.program.reading import writes
    from dpcheck.program.reading.operators import binary

    assert isinstance(each.place, Scalar)
    key = now.known[each.place.node.id]
    one = _is_one(column)
    if isinstance(each.owner, Tally):
        if not one:
            reader.unknown("a Counter of something else than records")
        each.owner.counted = Counted((key,), None, "size")
        return
    assert isinstance(each.owner, dict)
    assert isinstance(key.fact, Rows)
    assert key.fact.values is not None
    writes.note(reader, each.owner)
    for value in key.fact.values:
        if key.dtype.kind == "O":
            mask = reader.graph.add("is_value", key, public=value)
        else:
            mask = reader.graph.add("equal", key, reader.graph.constant(value))
        total = _within(reader, mask, column)
        each.owner[value] = binary(reader, "add", each.owner[value], total)
        unsure(reader.node(each.owner[value]))


def _within(reader: Reader, mask: Node, column: Node) -> object:
    """The sum of a column over the records of a mask."""
    from dpcheck.program.lowering.functions import where
    from dpcheck.program.lowering.reductions import summed
    from dpcheck.program.rules.reductions import sum_dtype

    zero = reader.graph.constant(np.zeros((), dtype=column.dtype)[()])
    kept = where(reader, mask, column, zero)
    return reader.array(summed(reader, kept, (0,), sum_dtype(kept)))


def appended(reader: Reader, owner: list[object], value: object) -> bool:
    """out.append(value), inside a loop over records."""
    if not reader.mapped:
        return False
    now = reader.mapped[-1]
    assert isinstance(now, Loop)
    if now.scope is None:
        reader.unknown("a list that is filled in a comprehension over records")
    some = len(now.tests) != reader.sides  # the two sides of a branch are put together after it
    if owner or id(owner) in now.lists or some or id(owner) in reader.foreign:
        reader.refuse(
            "private-length",
            "a list that is not empty, or only some records, are appended to",
            "append to an empty list, once for every record",
        )
    now.lists[id(owner)] = [owner, value]
    now.reads[id(owner)] -= 1  # the name was read for this, and for nothing else
    return True


def _column(reader: Reader, now: Loop, value: object, tests: tuple[tuple[Node, bool], ...]) -> Node:
    """The values of all records, 0 where a test was not fulfilled."""
    from dpcheck.program.lowering.functions import where

    if isinstance(value, Word) and not tests:
        from dpcheck.program.lowering import words

        return words.column(reader, now, value)
    node = reader.node(value)
    dependent = depends(node, now.known)
    found = batched(reader, node, now.known, now.rows)
    if isinstance(found.fact, Answers):
        found = reader.graph.add("answer", found)
    if dependent and isinstance(found.fact, Released) and not tests:
        return found  # an answer of every record, told at once
    if not isinstance(found.fact, Rows) or found.fact.rows is not now.rows:
        if not isinstance(found.fact, Public | Released):
            reader.refuse(
                "mixed-records",
                "a private value of other records is added for every record",
                "aggregate over the records first",
            )
        found = for_every_record(reader, now.column, found)
    for test, answer in tests:
        mask = batched(reader, test, now.known, now.rows)
        if not isinstance(mask.fact, Rows):
            reader.unknown("a branch in a loop over records that no record decides")
        if not answer:
            mask = reader.graph.add("logical_not", mask)
        if found.ndim > 1:
            mask = reader.graph.add("reshape", mask, shape=(now.rows, *[1] * (found.ndim - 1)))
        zero = reader.graph.constant(np.zeros((), dtype=found.dtype)[()])
        found = where(reader, mask, found, zero)
    return found


def _finish(reader: Reader, now: Loop, scope: Scope, before: dict[str, object]) -> None:
    """Sums over the records, added to what was there before."""
    from dpcheck.program.lowering.reductions import summed
    from dpcheck.program.reading.arrays import in_place
    from dpcheck.program.reading.operators import binary
    from dpcheck.program.rules.reductions import check_end_of_sum

    for each in now.sums:
        column = _column(reader, now, each.value, each.tests)
        if isinstance(each.owner, Tally | dict):
            _into_items(reader, now, each, column)
            continue
        if each.place is not None:
            _into_entries(reader, now, each, column)
            continue
        if each.name not in before:
            reader.refuse("failed", f"{each.name} has no value before the loop", "set it before")
        old, name = scope.names[each.name], "add" if each.sign > 0 else "subtract"
        one = reader.node(each.value)
        check_mixed(reader.graph, (reader.node(old), one), column.dtype)
        kind = _adding_type(reader, name, old, column, is_weak(one))
        loose = all(weakness(node) is not False for node in (one, reader.node(old)))
        if loose:
            check_end_of_sum(reader.graph, column, kind)
        total = reader.array(summed(reader, column, (0,), kind))
        if loose:
            unsure(reader.node(total))
        found = (binary if each.anew else in_place)(reader, name, old, total)
        if loose:
            unsure(reader.node(found))
        scope.names[each.name] = found
    for owner, value in now.lists.values():
        if now.reads[id(owner)] > 0:
            reader.unknown("a list that is read in the loop over records that fills it")
        column = _column(reader, now, value, ())
        made = _told(reader, column, value)
        assert isinstance(owner, list)
        owner.append(Poison())
        place: Scope | None = scope
        while place is not None:
            for name, held in place.names.items():
                if held is owner:
                    place.names[name] = made
            place = place.outer


def _adding_type(
    reader: Reader, name: str, old: object, column: Node, weak: bool
) -> np.dtype[np.generic]:
    """The type of old += value: small whole numbers wrap around, those of Python do not."""
    from dpcheck.program.reading.operators import binary
    from dpcheck.program.rules.reductions import sum_dtype

    if column.dtype.kind not in "biu":
        return sum_dtype(column)
    return reader.node(binary(reader, name, old, nothing(reader, column.dtype, weak))).dtype


def nothing(reader: Reader, kind: np.dtype[np.generic], weak: bool) -> object:
    """A 0 of a type: one of Python's that takes on the type of what it meets, or one of numpy's."""
    zero = np.zeros((), dtype=kind)[()]
    return zero.item() if weak else reader.array(reader.graph.constant(zero))


@dataclass(slots=True, eq=False)
class Poison(Value):
    """In a list whose items are the records': it is known by its name alone."""


def _into_entries(reader: Reader, now: Loop, each: Sum, column: Node) -> None:
    """counts[bin of a record] += value: one bin a record."""
    from dpcheck.program.lowering.counting import binned
    from dpcheck.program.reading.arrays import in_place

    owner = each.owner
    assert isinstance(owner, Array)
    target = owner.node(reader.graph)
    bins = plain(target.shape)
    key = reader.node(each.place)
    places = batched(reader, key, now.known, now.rows)
    if len(bins) != 1 or column.ndim != 1:
        reader.unknown("entries of a table in a loop over records")
    if not isinstance(places.fact, Rows):
        places = for_every_record(reader, now.column, places)
    box = places.fact.box
    inside = places.dtype.kind in "biu" and bool((box.lo >= 0).all() and (box.hi < bins[0]).all())
    if not inside:
        reader.refuse(
            "private-control",
            "this entry may not exist, and the error would reveal the record",
            "clip the place first: min(max(int(v), 0), k - 1)",
        )
    counts = binned(
        reader, places, bins[0], reader.graph.add("convert", column, dtype=np.dtype(float))
    )
    if target.dtype.kind != "f":
        counts = (
            binned(reader, places, bins[0]) if _is_one(column) else reader.unknown("whole numbers")
        )
    in_place(reader, "add", owner, reader.array(counts))


def _is_one(column: Node) -> bool:
    box = column.fact.box
    return bool((box.lo == 1).all() and (box.hi == 1).all())


# Comprehensions -----------------------------------------------------------------------------------------


def comprehension(
    reader: Reader, tree: ast.ListComp | ast.GeneratorExp, scope: Scope, function: object
) -> object:
    """[f(v) for v in values]: a list, or a column where the values are records."""
    from dpcheck.program.reading.expressions import check_names, evaluate

    check_names(reader, tree)

    first = tree.generators[0]
    over = iterator(reader, first.iter, scope)
    if not is_records(reader, over):
        inner = Scope({}, scope, scope.globals, _targets(tree), scope.path)
        left = _others(reader, tree, inner, over)
        return _plain(reader, tree, scope, over) if left is None else left
    if len(tree.generators) > 1 or reader.mapped:
        reader.refuse("mixed-records", "records are combined with others", "aggregate first")
    inner = Scope({}, scope, scope.globals, _targets(tree), scope.path)

    def item(one: object) -> tuple[object, list[object]]:
        from dpcheck.program.reading.statements import bind

        bind(reader, first.target, one, inner)
        tests = [evaluate(reader, test, inner) for test in first.ifs]
        return evaluate(reader, tree.elt, inner), tests

    del function
    return each_record(reader, over, item)


def each_record(
    reader: Reader, over: object, item: Callable[[object], tuple[object, list[object]]]
) -> Array | Listed | Opaque:
    """A function of a record, and tests that it passes, as a list of those that pass."""
    from dpcheck.program.reading import branches

    if reader.mapped:
        reader.refuse("mixed-records", "records are combined with others", "aggregate first")
    column = _first_column(reader, over)
    assert isinstance(column.fact, Rows)
    now = Loop(column.fact.rows, column, frozenset())
    reader.mapped.append(now)
    reader.guarded += 1
    before = branches.made(reader)
    try:
        value, tests = item(_bound(reader, now, over))
    finally:
        reader.guarded -= 1
        reader.mapped.pop()
    if branches.made(reader) != before:
        reader.refuse(
            "private-length",
            "something is drawn for every record, and their number is private",
            "draw for all records at once: rng.random(len(x))",
        )
    masks = []
    for test in tests:
        if not isinstance(test, Value):
            reader.unknown("a test that no record decides")
        masks.append(batched(reader, reader.node(test), now.known, now.rows))

    def kept(column: Node) -> Node:
        for mask in masks:
            column = reader.graph.add("filter", column, mask, axis=0)
        return column

    if isinstance(value, dict) or (isinstance(value, tuple) and _is_record(reader, value)):
        return _listed(reader, now, value, kept)
    return _told(reader, kept(_column(reader, now, value, ())), value)


def _told(reader: Reader, column: Node, value: object) -> Array | Opaque:
    """A list of one value a record; of texts that were answered, what was told."""
    if column.primitive == "apply":
        return Opaque(column)
    return listed(reader, column, weakness(reader.node(value)))


def listed(reader: Reader, column: Node, weak: bool | None = True) -> Array:
    """A list of one value a record."""
    del reader
    return Array(Storage(column, OF_RECORDS), form=list, weak=weak)


def plain_comprehension(
    reader: Reader, tree: ast.ListComp | ast.GeneratorExp | ast.SetComp, scope: Scope
) -> list[object]:
    """The items of a comprehension over something public."""
    from dpcheck.program.reading.expressions import check_names, evaluate

    check_names(reader, tree)

    return _plain(reader, tree, scope, evaluate(reader, tree.generators[0].iter, scope))


def _plain(
    reader: Reader, tree: ast.ListComp | ast.GeneratorExp | ast.SetComp, scope: Scope, over: object
) -> list[object]:
    from dpcheck.program.reading.expressions import evaluate

    found: list[object] = []
    inner = Scope({}, scope, scope.globals, _targets(tree), scope.path)
    _rounds(
        reader,
        tree.generators,
        inner,
        over,
        lambda at: found.append(evaluate(reader, tree.elt, at)),
    )
    return found


def _others(
    reader: Reader,
    tree: ast.ListComp | ast.GeneratorExp,
    inner: Scope,
    over: object,
) -> Others | None:
    """[v for v in values if v != own], in a loop over records: what the list holds besides the record's."""
    from dpcheck.program.lowering.others import by_tests
    from dpcheck.program.reading.expressions import evaluate
    from dpcheck.program.reading.statements import bind

    first = tree.generators[0]
    plain_name = isinstance(tree.elt, ast.Name) and isinstance(first.target, ast.Name)
    if not reader.mapped or not isinstance(tree, ast.ListComp) or not plain_name:
        return None
    assert isinstance(tree.elt, ast.Name)
    assert isinstance(first.target, ast.Name)
    alone = len(tree.generators) == len(first.ifs) == 1 and tree.elt.id == first.target.id
    if not alone or not isinstance(first.ifs[0], ast.Compare) or not reader.is_public(over):
        return None
    items, tests = list(rounds(reader, over)), []
    for each in items:
        bind(reader, first.target, each, inner)
        tests.append(evaluate(reader, first.ifs[0], inner))
    return by_tests(reader, items, tests)


def dict_comprehension(reader: Reader, tree: ast.DictComp, scope: Scope) -> dict[object, object]:
    """{key: value for ...}."""
    from dpcheck.program.reading.expressions import check_names, evaluate, hashable

    check_names(reader, tree)

    found: dict[object, object] = {}

    def item(at: Scope) -> None:
        key = hashable(reader, evaluate(reader, tree.key, at))
        found[key] = evaluate(reader, tree.value, at)

    inner = Scope({}, scope, scope.globals, _targets(tree), scope.path)
    _rounds(reader, tree.generators, inner, evaluate(reader, tree.generators[0].iter, scope), item)
    return found


def _targets(tree: ast.AST) -> frozenset[str]:
    return frozenset(
        each.id
        for generator in getattr(tree, "generators", [])
        for each in ast.walk(generator.target)
        if isinstance(each, ast.Name)
    )


def rounds(reader: Reader, over: object) -> Iterable[object]:
    """The items of a loop, none of which is written while it runs: Python would see that."""
    from dpcheck.program.reading.expressions import iterated

    sources = over.sources if isinstance(over, Iterator) else (over,)
    watched = [(each, contents(each)) for each in sources]
    if type(over) is dict:  # its keys alone: the items may be written
        watched = [(Keys(over), list(over))]
    for item in iterated(reader, over):
        yield item
        if any(not same_contents(contents(each), before) for each, before in watched):
            reader.unknown("a loop over something that is changed meanwhile")


def _rounds(
    reader: Reader,
    generators: list[ast.comprehension],
    inner: Scope,
    over: object,
    item: Callable[[Scope], object],
) -> None:
    from dpcheck.program.reading import branches
    from dpcheck.program.reading.expressions import evaluate, truth
    from dpcheck.program.reading.statements import bind

    first, *rest = generators
    for each in rounds(reader, over):
        bind(reader, first.target, each, inner)
        for test in first.ifs:
            found = evaluate(reader, test, inner)
            if branches.decides(reader, found):
                branches.refuse_branch(reader, found)
            if not truth(reader, found):
                break
        else:
            if rest:
                _rounds(reader, rest, inner, evaluate(reader, rest[0].iter, inner), item)
            else:
                item(inner)


def iterator(reader: Reader, tree: ast.expr, scope: Scope) -> object:
    """What a for loop runs over; range(len(x)), zip and enumerate of records stand for the records."""
    from dpcheck.program.reading.calls import call
    from dpcheck.program.reading.expressions import evaluate, opened

    if not isinstance(tree, ast.Call) or not tree.args:
        return opened(reader, evaluate(reader, tree, scope))
    if any(each.arg != "strict" for each in tree.keywords):
        return opened(reader, evaluate(reader, tree, scope))
    name = tree.func.id if isinstance(tree.func, ast.Name) else ""
    if name not in ("range", "zip", "enumerate") or any(
        isinstance(each, ast.Starred) for each in tree.args
    ):
        return opened(reader, evaluate(reader, tree, scope))
    function = evaluate(reader, tree.func, scope)
    if function is builtins.range and len(tree.args) == 1:
        rows = _length_of(reader, tree.args[0], scope)
        if rows is not None:
            return Places(rows)
    if function not in (builtins.zip, builtins.enumerate):
        return evaluate(reader, tree, scope)
    parts = tuple(opened(reader, evaluate(reader, each, scope)) for each in tree.args)
    if all(isinstance(p, Listed) or column_of(reader, p) is not None for p in parts):
        if function is builtins.zip:
            return Together(parts)
        if len(parts) == 1:
            column = _first_column(reader, parts[0])
            assert isinstance(column.fact, Rows)
            return Together((Places(column.fact.rows), parts[0]))
    named = {str(each.arg): evaluate(reader, each.value, scope) for each in tree.keywords}
    return call(reader, function, parts, named)


def _length_of(reader: Reader, tree: ast.expr, scope: Scope) -> RowSet | None:
    """The records that len(x) or x.shape[0] counts."""
    from dpcheck.program.reading.expressions import evaluate

    name: ast.expr | None = None
    if isinstance(tree, ast.Call) and len(tree.args) == 1 and not tree.keywords:
        if evaluate(reader, tree.func, scope) is builtins.len:
            name = tree.args[0]
    elif (
        isinstance(tree, ast.Subscript)
        and isinstance(tree.value, ast.Attribute)
        and (
            tree.value.attr == "shape"
            and isinstance(tree.slice, ast.Constant)
            and tree.slice.value == 0
        )
    ):
        name = tree.value.value
    if not isinstance(name, ast.Name):
        if isinstance(tree, ast.Name):
            value = evaluate(reader, tree, scope)
            if isinstance(value, Scalar) and isinstance(value.node.fact, Aggregate):
                return value.node.fact.counts
        return None
    value = evaluate(reader, name, scope)
    if isinstance(value, Table):
        return value.rows
    column = _first_column(reader, value) if isinstance(value, Listed) else column_of(reader, value)
    return column.fact.rows if column is not None and isinstance(column.fact, Rows) else None
