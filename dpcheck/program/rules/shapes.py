"""Shapes: entries repeated, in another order, in another shape. The records keep an axis of their own."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dpcheck.program.facts import boxes
from dpcheck.program.facts.boxes import Array, Box
from dpcheck.program.facts.kinds import (
    RANDOM,
    Aggregate,
    Answers,
    Coins,
    Drawn,
    Fact,
    Mirrored,
    Places,
    Public,
    Released,
    Rows,
)
from dpcheck.program.facts.rowsets import RowSet, Shape, number, same
from dpcheck.program.facts.sizes import Size
from dpcheck.program.graph import BLOCK, Graph, Made, Node, primitive
from dpcheck.program.rules import mirrored
from dpcheck.program.rules.common import (
    aggregate,
    element,
    fixed,
    opened,
    padded,
    plain,
    released,
    repeated,
    rowwise,
)
from dpcheck.program.rules.random_numbers import use_up

KEPT = ("zero_null", "sampling", "predicate", "coins", "values")


def kept(fact: Rows, *names: str) -> dict[str, object]:
    """What is known of rows however their entries are arranged."""
    return {name: getattr(fact, name) for name in (*KEPT, *names)}


def known_aggregate(fact: Aggregate, change: object = None) -> dict[str, object]:
    """What is known of an aggregate however its entries are arranged."""
    found: dict[str, object] = {
        name: getattr(fact, name)
        for name in ("sampling", "predicate", "records", "rising", "coins")
    }
    added = fact.contribution
    found["contribution"] = added if added is None or change is None else change(added)  # type: ignore[operator]
    return found


def public(value: object) -> Made:
    """A value that is the same for all data."""
    found = np.asarray(value)
    return Made(found.shape, found.dtype, Public(box=boxes.point(found), value=value))


def spread(end: Array, shape: tuple[int, ...]) -> Array:
    """One number for every entry."""
    return np.broadcast_to(end, shape)


def rearranged(graph: Graph, a: Node, shape: Shape, move: object) -> Made:
    """The same entries in another order or shape, or some of them; `move` does it to an array."""
    fact = a.fact
    before = tuple(1 if number(n) is None else fixed(n) for n in a.shape)

    def on(end: Array) -> Array:
        return np.asarray(move(np.broadcast_to(end, before)))  # type: ignore[operator]

    if isinstance(fact, Public):
        return public(move(np.asarray(fact.value)))  # type: ignore[operator]
    if isinstance(fact, Released):
        opened((a,))
        return released(shape, a.dtype, fact.box.mapped(on))
    if isinstance(fact, Aggregate):
        times = most_taken(before, on)

        def change(size: Size) -> Size:
            return size.repeated(times).shaped(on(size.coordinates))

        return aggregate(
            shape, a.dtype, fact.box.mapped(on), change(fact.diff), **known_aggregate(fact, change)
        )
    return _of_random(graph, a, shape, on)


def most_taken(before: tuple[int, ...], on: Callable[[Array], Array]) -> int:
    """How often one entry is there after a change of shape, an index or a repetition."""
    places = on(np.arange(math.prod(before), dtype=float).reshape(before)).ravel().astype(int)
    return max(1, int(np.bincount(places).max())) if places.size else 1


def _of_random(graph: Graph, a: Node, shape: Shape, on: object) -> Made:
    """Draws in another order are draws; a block of many stays whole."""
    fact = a.fact
    count = math.prod(1 if number(n) is None else fixed(n) for n in a.shape)
    private = any(number(n) is None for n in a.shape)
    if isinstance(fact, Places) or (private and not isinstance(fact, Coins)):
        use_up(graph, (a,))
        return released(shape, a.dtype, fact.box)
    if isinstance(fact, Mirrored):
        return Made(shape, a.dtype, mirrored.moved(fact, on))
    assert isinstance(fact, Coins | Drawn)
    if private or count > BLOCK:
        after = math.prod(1 if number(n) is None else fixed(n) for n in shape)
        if after != count or (not private and most_taken(plain(a.shape), on) > 1):  # type: ignore[arg-type]
            graph.refuse(
                "unknown-operation",
                "some of a large block of random numbers are used",
                "draw the numbers that are needed, in a draw of their own",
            )
        return Made(shape, a.dtype, _scalar_law(graph, fact))
    rows = fact.ids.reshape(count, -1)
    places = np.arange(count).reshape(tuple(fixed(n) for n in a.shape))
    chosen = np.asarray(on(places)).ravel()  # type: ignore[operator]
    moved: Fact = replace(fact, ids=rows[chosen.astype(int)])
    if isinstance(moved, Drawn):
        moved = replace(
            moved,
            box=fact.box.mapped(on),  # type: ignore[arg-type]
            scale=on(fact.scale) if np.ndim(fact.scale) else fact.scale,  # type: ignore[operator, union-attr]
            location=on(fact.location) if np.ndim(fact.location) else fact.location,  # type: ignore[operator, union-attr]
            sign=on(fact.sign) if np.ndim(fact.sign) else fact.sign,  # type: ignore[operator, union-attr]
        )
    return Made(shape, a.dtype, moved)


def _scalar_law(graph: Graph, fact: Coins | Drawn) -> Fact:
    if isinstance(fact, Drawn) and (
        np.ndim(fact.scale) or np.ndim(fact.location) or np.ndim(fact.sign)
    ):
        graph.refuse(
            "unknown-operation",
            "a large block of noise with several scales is rearranged",
            "draw it in the shape that is needed",
        )
    return fact


# Broadcast ------------------------------------------------------------------------------------------


def _broadcast(value: object, shape: Shape) -> object:
    found = np.asarray(value)
    wanted = tuple(
        n if number(n) is not None and not isinstance(n, RowSet) else found.shape[i - len(shape)]
        for i, n in enumerate(shape)
    )
    return np.broadcast_to(found, wanted)


@primitive("broadcast", "entries repeated: L1 is multiplied, L2 by the root", _broadcast)
def broadcast_to(graph: Graph, a: Node, shape: Shape) -> Made:
    """np.broadcast_to; records are never repeated."""
    fact = a.fact
    if isinstance(fact, Rows):
        axis = len(shape) - a.ndim + fact.axis
        if axis < 0 or not same(shape[axis], fact.rows):
            graph.refuse("private-length", "rows are repeated", "aggregate over the records first")
        full = tuple(fact.rows if i == axis else n for i, n in enumerate(shape))
        inner = tuple(1 if i == axis else fixed(n) for i, n in enumerate(shape))
        box = padded(fact.box, len(shape))
        tag = fact.tag if math.prod(inner) == 1 else None
        size = repeated(fact.row, element(a), inner)
        more = math.prod(inner) > math.prod(element(a))
        size = (
            Size(np.asarray(size.linf), size.l1, size.l2, size.linf, size.changed) if more else size
        )
        if not more:
            size = size.shaped(np.broadcast_to(size.coordinates, element(a)).reshape(inner))
        return rowwise(graph, full, a.dtype, box, fact.rows, axis, size, tag=tag, **kept(fact))
    wanted = plain(shape)
    if isinstance(fact, RANDOM):
        if math.prod(wanted) == math.prod(plain(a.shape)):
            return rearranged(graph, a, wanted, lambda v: np.reshape(v, wanted))
        use_up(graph, (a,))
        return released(wanted, a.dtype, boxes.WHOLE)
    if isinstance(fact, Aggregate):

        def change(size: Size) -> Size:
            many = repeated(size, plain(a.shape), wanted)
            return many.shaped(np.broadcast_to(size.coordinates, wanted))

        box = fact.box.broadcast(wanted)
        return aggregate(wanted, a.dtype, box, change(fact.diff), **known_aggregate(fact, change))
    return rearranged(graph, a, wanted, lambda v: np.broadcast_to(v, wanted))


# Reshape and transpose --------------------------------------------------------------------------------


def _reshape(value: object, shape: Shape) -> object:
    found = np.asarray(value)
    lengths = [-1 if number(n) is None else fixed(n) for n in shape]
    for i, n in enumerate(shape):
        if isinstance(n, RowSet):  # as many as there are now
            rest = math.prod(fixed(m) for j, m in enumerate(shape) if j != i)
            lengths[i] = found.size // rest if rest else len(found)
    return found.reshape(lengths)


@primitive("reshape", "the same numbers; the records stay an axis of their own", _reshape)
def reshape(graph: Graph, a: Node, shape: Shape) -> Made:
    """np.reshape."""
    fact = a.fact
    if isinstance(fact, Answers):
        return Made(shape, a.dtype, fact)
    if not isinstance(fact, Rows):
        if any(number(n) is None for n in shape):
            return rearranged(graph, a, shape, lambda v: v)
        wanted = plain(shape)
        return rearranged(graph, a, wanted, lambda v: np.reshape(v, wanted))
    places = [i for i, n in enumerate(shape) if isinstance(n, RowSet)]
    if len(places) != 1 or shape[places[0]] is not fact.rows:
        graph.refuse(
            "mixed-records",
            "a new shape mixes entries of different records",
            "keep the records along an axis of their own",
        )
    axis = places[0]
    lead = [math.prod(fixed(n) for n in s[:i]) for s, i in ((a.shape, fact.axis), (shape, axis))]
    if lead[0] != lead[1]:
        graph.refuse(
            "mixed-records", "a new shape mixes entries of different records", "use np.transpose"
        )
    inner = tuple(1 if i == axis else fixed(n) for i, n in enumerate(shape))
    old = element(a)

    def on(end: Array) -> Array:
        return np.broadcast_to(end, old).reshape(inner)

    one = math.prod(inner) == 1
    size = fact.row.shaped(on(fact.row.coordinates))
    return rowwise(
        graph,
        shape,
        a.dtype,
        fact.box.mapped(on),
        fact.rows,
        axis,
        size,
        multiple_of=None,
        tag=fact.tag if one else None,
        powers=fact.powers if fact.powers is not None else None,
        truth=fact.truth if one else None,
        falsehood=fact.falsehood if one else None,
        threshold=fact.threshold if one else None,
        **kept(fact),
    )


def _transpose(value: object, order: tuple[int, ...]) -> object:
    return np.transpose(np.asarray(value), order)


@primitive("transpose", "the same numbers in another order", _transpose)
def transpose(graph: Graph, a: Node, order: tuple[int, ...]) -> Made:
    """np.transpose."""
    fact = a.fact
    shape = tuple(a.shape[i] for i in order)

    def on(end: Array) -> Array:
        return np.transpose(end, order)

    if not isinstance(fact, Rows):
        made = rearranged(graph, a, shape, on)
        if isinstance(fact, Aggregate) and fact.symmetric and order == (1, 0):
            assert isinstance(made.fact, Aggregate)
            return Made(made.shape, made.dtype, replace(made.fact, symmetric=True))
        return made
    full = element(a)
    size = fact.row.shaped(on(np.broadcast_to(fact.row.coordinates, full)))
    box: Box = fact.box.broadcast(full).mapped(on)
    return rowwise(
        graph,
        shape,
        a.dtype,
        box,
        fact.rows,
        order.index(fact.axis),
        size,
        powers=fact.powers,
        **kept(fact),
    )
