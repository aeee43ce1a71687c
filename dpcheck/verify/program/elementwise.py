"""Functions of entries: rows stay rows whatever the function is; aggregates move by its slope."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from dpcheck.verify.program import randomness, relations, unseen
from dpcheck.verify.program.boxes import (
    BOXES,
    STEPS,
    Box,
    Entries,
    fitted,
    is_float,
    is_whole,
    loosened,
    reciprocal,
    steepness,
    union,
)
from dpcheck.verify.program.common import (
    Node,
    State,
    aggregate_fact,
    broadcast_shape,
    coins_of,
    element,
    expect,
    inner_shape,
    not_rounded,
    only_released,
    plain,
    records_axis,
    rows_fact,
    rule,
    spread,
    spread_box,
)
from dpcheck.verify.program.facts import (
    RANDOM,
    Aggregate,
    Fact,
    Released,
    Rows,
    RowSet,
    same,
)
from dpcheck.verify.program.numbers import INF, times
from dpcheck.verify.program.sizes import UNKNOWN, Size, where_it_differs


def result_box(node: Node, boxes: list[Box]) -> tuple[Box, bool]:
    """The box of the result, and whether all of it fits its type."""
    if node.primitive in (*STEPS, "floor_divide"):
        boxes = [loosened(boxes[0], not_rounded(node.args[0])), *boxes[1:]]
    return fitted(BOXES[node.primitive](*boxes), node.dtype)


@rule(*BOXES)
def elementwise(state: State, node: Node) -> Fact:
    """entry by entry: rows stay rows; an aggregate moves by its slope, and inside the box of the result."""
    arity = 2 if node.primitive in _TWO else 1
    if len(node.args) != arity:
        node.refuse(f"it has {arity} operands")
    if is_whole(node.dtype) and (node.primitive in _OF_FLOATS or _is_fraction(node)):
        node.refuse("its results are no whole numbers")
    held = unseen.compared(state, node)
    if held is not None:
        return held
    if any(isinstance(arg.fact, RANDOM) for arg in node.args):
        return randomness.of_draws(state, node)
    state.open(*node.args)
    if any(isinstance(arg.fact, Rows) for arg in node.args):
        return _of_rows(node)
    shape = broadcast_shape(node, [plain(arg) for arg in node.args])
    expect(node, shape)
    found = [spread_box(arg.fact.box, plain(arg), shape) for arg in node.args]
    box, fits = result_box(node, found)
    if only_released(node.args):
        return Released(box=box)
    size, known = _difference(node, found, shape), _known(node, found, shape)
    if not fits or not box.finite:
        size, known = where_it_differs(size), {}
    return aggregate_fact(
        node, box, size, places=_places(node), coins=coins_of(*node.args), **known
    )


_OF_FLOATS = frozenset(
    {
        *("divide", "reciprocal", "sqrt", "cbrt", "exp", "exp2", "expm1", "log", "log2", "log10"),
        *("log1p", "tanh", "arctan", "sin", "cos", "hypot"),
    }
)


def _is_fraction(node: Node) -> bool:
    """A negative power of whole numbers is an error, or 0."""
    return node.primitive == "power" and not node.args[1].fact.box.least >= 0


_TWO = frozenset(
    {
        *("add", "subtract", "multiply", "divide", "floor_divide", "remainder", "power", "hypot"),
        *("minimum", "maximum", "fmin", "fmax", "equal", "not_equal"),
        *("less", "less_equal", "greater", "greater_equal"),
        *("logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor"),
    }
)


# Rows ---------------------------------------------------------------------------------------------------


def row_boxes(node: Node, axis: int) -> list[Box]:
    """The boxes of the operands for one record's row; the result must have the shape they give."""
    rows = next(arg.fact.rows for arg in node.args if isinstance(arg.fact, Rows))
    if any(isinstance(arg.fact, Aggregate) for arg in node.args):
        node.refuse("rows meet an aggregate")
    shapes, found = [], []
    for arg in node.args:
        at = axis - (node.ndim - arg.ndim)
        box, shape = arg.fact.box, element(arg)
        if not isinstance(arg.fact, Rows) and at >= 0 and shape[at] != 1:
            if not same(shape[at], rows):
                node.refuse("an array of another number of entries meets rows")
            box, shape = box.hull(), tuple(1 if i == at else n for i, n in enumerate(shape))
        shapes.append(shape)
        found.append(box)
    inner = broadcast_shape(node, shapes)
    full: list[int | RowSet] = list((1,) * (node.ndim - len(inner)) + inner)
    full[axis] = rows
    expect(node, full)
    return [spread_box(each, shape, inner) for each, shape in zip(found, shapes, strict=True)]


def _of_rows(node: Node) -> Rows:
    axis = records_axis(node)
    rows = next(arg.fact.rows for arg in node.args if isinstance(arg.fact, Rows))
    found = row_boxes(node, axis)
    box, fits = result_box(node, found)
    size = _row_size(node, found, axis) if fits else UNKNOWN
    known = relations.known(node)
    clipped = relations.clipped(node) if fits else None
    if clipped is not None:
        size = size.both(clipped)
    return rows_fact(node, box, rows, axis, size, coins=coins_of(*node.args), **known)


def _row_size(node: Node, boxes: list[Box], axis: int) -> Size:
    """A bound of the norm of a row beyond what its box says."""
    name, args, inner = node.primitive, node.args, inner_shape(node, axis)
    sizes = [_repeated(arg, inner) if isinstance(arg.fact, Rows) else None for arg in args]
    if name in ("negative", "positive", "absolute"):
        return sizes[0] or UNKNOWN
    if name in ("minimum", "maximum"):  # towards 0: no entry grows
        for size, other, arg in ((sizes[0], boxes[1], args[1]), (sizes[1], boxes[0], args[0])):
            inward = other.least >= 0 if name == "minimum" else other.most <= 0
            if size is not None and inward and not other.nan and not isinstance(arg.fact, Rows):
                return size
    if name in ("add", "subtract") and sizes[0] is not None and sizes[1] is not None:
        return sizes[0].plus(sizes[1])
    if name == "multiply":
        options = [
            size.scaled(boxes[1 - i].size) for i, size in enumerate(sizes) if size is not None
        ]
        return options[0] if len(options) == 1 else options[0].both(options[1])
    if name == "divide" and sizes[0] is not None:
        return sizes[0].scaled(reciprocal(boxes[1]).size)
    return UNKNOWN


def _repeated(arg: Node, inner: tuple[int, ...]) -> Size:
    """The size of one operand's row after it was broadcast."""
    assert isinstance(arg.fact, Rows)
    before = element(arg)
    size = arg.fact.size
    many = math.prod(inner) // max(1, math.prod(before))
    return size.repeated(many).laid(spread(size.entries, before, inner))


# Aggregates ---------------------------------------------------------------------------------------------


def _aggregates(node: Node) -> list[Aggregate]:
    return [arg.fact for arg in node.args if isinstance(arg.fact, Aggregate)]


def _places(node: Node) -> frozenset[int] | None:
    """The places of the records behind the operands, where they are known."""
    found = [fact.places for fact in _aggregates(node)]
    known = [each for each in found if each is not None]
    return frozenset().union(*known) if len(known) == len(found) else None


def widened(arg: Node, size: Size, shape: tuple[int, ...]) -> Size:
    """The size of an operand after it was broadcast."""
    before = plain(arg)
    many = math.prod(shape) // max(1, math.prod(before))
    return size.repeated(many).laid(spread(size.entries, before, shape))


def _difference(node: Node, boxes: list[Box], shape: tuple[int, ...]) -> Size:
    """How far the result moves.

    Lemma. |f(a) - f(b)| is at most sup|f'| |a - b| on the box. |ab - a'b'| is at most |a||b - b'| +
    |b'||a - a'|, and |a/b - a'/b'| at most |a - a'| / |b| + |a'||b - b'| / |b b'|.
    """
    name = node.primitive
    sizes = [
        widened(arg, arg.fact.size, shape) if isinstance(arg.fact, Aggregate) else None
        for arg in node.args
    ]
    known = [size for size in sizes if size is not None]
    if len(node.args) == 1:
        return _of_one(node, known[0], boxes[0])
    a, b = sizes
    if name in ("add", "subtract", "minimum", "maximum"):
        if len(known) == 1:
            return known[0]
        places = [fact.places for fact in _aggregates(node)]
        if None not in places and places[0].isdisjoint(places[1]):  # type: ignore[union-attr, arg-type]
            return known[0].either(known[1])
        return known[0].plus(known[1])
    parts = []
    if name == "multiply":
        parts = [size.scaled(boxes[1 - i].size) for i, size in enumerate(sizes) if size is not None]
    elif name == "divide":
        below = reciprocal(boxes[1]).size
        if a is not None:
            parts.append(a.scaled(below))
        if b is not None:
            steep = [times(x, times(y, y)) for x, y in _paired(boxes[0].size, below)]
            parts.append(b.scaled(tuple(steep)))
    elif name == "power" and a is not None and b is None and is_float(node.dtype):
        exponent = boxes[1].least
        if exponent == boxes[1].most and exponent in (1, 2):
            return a if exponent == 1 else a.scaled(tuple(2 * end for end in boxes[0].size))
    if parts:
        return parts[0] if len(parts) == 1 else parts[0].plus(parts[1])
    return where_it_differs(known[0] if len(known) == 1 else known[0].plus(known[1]))


def _paired(a: Entries, b: Entries) -> list[tuple[Any, Any]]:
    many = max(len(a), len(b))
    return list(zip(a * many if len(a) == 1 else a, b * many if len(b) == 1 else b, strict=True))


def _of_one(node: Node, size: Size, box: Box) -> Size:
    steep = steepness(node.primitive, box)
    if steep is not None:
        return size.scaled(steep)
    if node.primitive in STEPS:
        # A step more: sums of floats are rounded, and a step may lie in between.
        slack = Fraction(1, 10**9)
        steps = tuple(
            INF if isinstance(each, float) else Fraction(math.floor(each + slack) + 1)
            for each in size.entries
        )
        return Size(steps, changed=size.changed)
    return where_it_differs(size)


def _known(node: Node, boxes: list[Box], shape: tuple[int, ...]) -> dict[str, Any]:
    """What stays true: what one record adds to linear functions, that more records move nothing down."""
    facts = _aggregates(node)
    found: dict[str, Any] = {"rising": _rises(node)}
    added = _added(node, boxes, shape)
    if added is not None:
        found |= {"added": added, "sampling": facts[0].sampling}
        if len(facts) == 1 or facts[0].predicate == facts[1].predicate:
            found["predicate"] = facts[0].predicate
    return found


def _added(node: Node, boxes: list[Box], shape: tuple[int, ...]) -> Size | None:
    facts, name = _aggregates(node), node.primitive
    sizes = [fact.added for fact in facts if fact.added is not None]
    if len(sizes) < len(facts) or any(
        plain(arg) != shape for arg in node.args if isinstance(arg.fact, Aggregate)
    ):
        return None
    if len(facts) == 2:
        alike = facts[0].sampling == facts[1].sampling and name in ("add", "subtract")
        return sizes[0].plus(sizes[1]) if alike else None
    first = isinstance(node.args[0].fact, Aggregate)
    if name in ("add", "subtract", "negative", "positive"):
        return sizes[0]
    if name == "multiply":
        return sizes[0].scaled(boxes[1 if first else 0].size)
    if name == "divide" and first:
        return sizes[0].scaled(reciprocal(boxes[1]).size)
    return None


def _rises(node: Node) -> bool:
    facts, name = _aggregates(node), node.primitive
    first = isinstance(node.args[0].fact, Aggregate)
    if not all(fact.rising for fact in facts):
        return False
    if name == "add" or (name == "subtract" and len(facts) == 1 and first):
        return True
    if len(facts) == 1 and (name == "multiply" or (name == "divide" and first)):
        other = node.args[1 if first else 0].fact.box
        return other.least > 0 and not other.nan
    return False


# One of two ---------------------------------------------------------------------------------------------


@rule("select")
def select(state: State, node: Node) -> Fact:
    """an entry is one of two: the hull of their boxes; each side knows what the comparison says"""
    if len(node.args) != 3:
        node.refuse("it has three operands")
    held = unseen.chosen(state, node)
    if held is not None:
        return held
    if any(isinstance(arg.fact, RANDOM) for arg in node.args):
        return randomness.spent(state, node)
    state.open(*node.args)
    condition, x, y = node.args
    if any(isinstance(arg.fact, Rows) for arg in node.args):
        return _selected_rows(node)
    shape = broadcast_shape(node, [plain(arg) for arg in node.args])
    expect(node, shape)
    box, fits = fitted(
        union(spread_box(x.fact.box, plain(x), shape), spread_box(y.fact.box, plain(y), shape)),
        node.dtype,
    )
    if only_released(node.args):
        return Released(box=box)
    parts = [arg for arg in (x, y) if isinstance(arg.fact, Aggregate)]
    size = UNKNOWN
    if fits and not isinstance(condition.fact, Aggregate) and all(plain(p) == shape for p in parts):
        sizes = [part.fact.size for part in parts if isinstance(part.fact, Aggregate)]
        size = sizes[0] if len(sizes) == 1 else sizes[0].plus(sizes[1])
    return aggregate_fact(node, box, size, coins=coins_of(*node.args))


def _selected_rows(node: Node) -> Rows:
    condition, x, y = node.args
    axis = records_axis(node)
    rows = next(arg.fact.rows for arg in node.args if isinstance(arg.fact, Rows))
    _, above, below = row_boxes(node, axis)
    sides = [
        relations.side(condition, value, found, answer)
        for value, found, answer in ((x, above, True), (y, below, False))
    ]
    box, fits = fitted(union(*sides), node.dtype)
    size, known = relations.selected(node)
    return rows_fact(
        node, box, rows, axis, size if fits else UNKNOWN, coins=coins_of(*node.args), **known
    )
