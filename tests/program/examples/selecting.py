"""select, convert, fill."""

from __future__ import annotations

import itertools

import numpy as np

from dpcheck.program.graph import Node

from .table import BOXES, EXAMPLES, SIZES, Example, aggregate, array, example, released, rows
from .worlds import World

TYPES = (float, np.float32, np.int8, np.uint8, np.int64, bool)


@example("select")
def by_comparison(world: World) -> list[Node]:
    """A comparison decides: each side knows its answer."""
    found = []
    for box, name in itertools.product(
        ("float", "anything", "few int8"), ("greater", "less_equal", "equal", "less")
    ):
        x = rows(world, box, (2,))
        limit = world.constant(1)
        mask = world.add(name, x, limit)
        for a, b in (
            (x, limit),
            (limit, x),
            (x, world.constant(0)),
            (world.constant(0), x),
            (x, x),
        ):
            found.append(world.add("select", mask, a, b))
        column = rows(world, box)
        own = world.add(name, column, limit)
        found.append(world.add("select", own, column, world.constant(0)))
        found.append(world.add("select", world.add("logical_not", own), column, world.constant(0)))
    return found


@example("select")
def by_missing(world: World) -> list[Node]:
    """What is missing is replaced."""
    x = rows(world, "anything", (2,))
    found = []
    for name in ("isnan", "isfinite"):
        mask = world.add(name, x)
        for asked in (mask, world.add("invert", mask)):
            found += [world.add("select", asked, world.constant(0.0), x)]
            found += [world.add("select", asked, x, world.constant(0.0))]
    return found


@example("assume")
def one_side(world: World) -> list[Node]:
    """What is known of a value on each side of a comparison, put together again."""
    found = []
    for name, limit, box in itertools.product(
        ("less", "less_equal", "greater", "greater_equal"), (0.5, 9.0, -9.0), ("float", "anything")
    ):
        for x in (rows(world, box), aggregate(world, box, (2,), coordinates=1.0)):
            mask = world.add(name, x, world.constant(limit))
            sides = [
                world.add("assume", x, comparison=name, limit=limit, answer=a)
                for a in (True, False)
            ]
            twice = [world.add("multiply", side, world.constant(2.0)) for side in sides]
            found += [world.add("select", mask, *sides), world.add("select", mask, *twice)]
    return found


@example("select")
def of_aggregates(world: World) -> list[Node]:
    """Of aggregates, by public, released and private answers."""
    a, b = aggregate(world, "float", (2,), l1=1.0), aggregate(world, "positive", (2,), l2=0.5)
    one = aggregate(world, "float", (), coordinates=0.5)
    masks = [
        world.constant(np.array([True, False])),
        world.add("greater", released(world, "float"), world.constant(0)),
        world.add("greater", a, world.constant(0.0)),
    ]
    zero = world.constant(0.0)
    return [
        world.add("select", mask, x, y)
        for mask in masks
        for x, y in ((a, b), (a, zero), (zero, b), (one, a), (a, released(world, "float")))
    ]


@example("select")
def of_rows(world: World) -> list[Node]:
    """By released and public answers, and by truth values of the same records."""
    x, y = rows(world, "float", (2,)), rows(world, "positive", (2,))
    mask = world.add("greater", released(world, "float"), world.constant(0))
    bits = rows(world, "bool", (1,))
    zero = world.constant(0.0)
    return [
        world.add("select", m, a, b)
        for m in (mask, bits, world.constant(True), world.constant(np.array([True, False])))
        for a, b in ((x, y), (x, zero), (zero, y), (rows(world, "bool", (2,)), zero))
    ]


@example("select")
def by_norm(world: World) -> list[Node]:
    """Norms compared with C choose a factor, or the rows themselves."""
    found = []
    for order, name in itertools.product((1, 2), ("greater", "less_equal", "greater_equal")):
        x = rows(world, "float", (2,))
        entries = world.add("absolute" if order == 1 else "square", x)
        total = world.add("sum", entries, axes=(1,), dtype=np.dtype(float))
        norm = total if order == 1 else world.add("sqrt", total)
        norm = world.add("reshape", norm, shape=(world.set, 1))
        mask = world.add(name, norm, world.constant(1.0))
        one, inverse = world.constant(1.0), world.add("divide", world.constant(1.0), norm)
        for a, b in ((inverse, one), (one, inverse)):
            factor = world.add("select", mask, a, b)
            found.append(world.add("multiply", x, factor))
        scaled = world.add("divide", x, norm)
        found += [world.add("select", mask, scaled, x), world.add("select", mask, x, scaled)]
        found.append(world.add("multiply", world.add("multiply", x, world.constant(2.0)), factor))
    return found


def _convert(box: str, to: object, kind: int) -> Example:
    def build(world: World) -> Node:
        if kind == 0:
            return world.add("convert", rows(world, box, (2,)), dtype=np.dtype(to))
        if kind == 1:
            return world.add("convert", released(world, box, (2,)), dtype=np.dtype(to))
        return world.add(
            "convert", aggregate(world, box, (2,), **SIZES[kind - 2]), dtype=np.dtype(to)
        )

    return build


for _box, _to, _kind in itertools.product(BOXES, TYPES, range(2 + len(SIZES))):
    EXAMPLES["convert"].append(_convert(_box, _to, _kind))


@example("convert")
def of_truths(world: World) -> list[Node]:
    """Answers as numbers, their opposites, norms in another type."""
    x = rows(world, "float", (2,))
    mask = world.add("greater", rows(world, "float"), world.constant(0.5))
    entries = world.add("square", x)
    norm = world.add("sqrt", world.add("sum", entries, axes=(1,), dtype=np.dtype(float)))
    return [
        *(world.add("convert", mask, dtype=np.dtype(t)) for t in TYPES),
        world.add("convert", world.add("logical_not", mask), dtype=np.dtype(int)),
        *(world.add("convert", norm, dtype=np.dtype(t)) for t in (np.float32, np.float16, int)),
        world.add("convert", world.constant(array([1.5, -2.5])), dtype=np.dtype(int)),
    ]


@example("fill")
def filled(world: World) -> list[Node]:
    """NaN and infinities replaced, by the usual and by other numbers."""
    found = []
    options: tuple[tuple[float, float | None, float | None], ...] = (
        (0.0, None, None),
        (1.5, 2.0, -1.0),
        (-7.0, -3.0, 4.0),
        (np.nan, None, None),
    )
    for box, (nan, high, low) in itertools.product(BOXES, options):
        operands = [rows(world, box, (2,)), aggregate(world, box, (2,), l1=1.0)]
        operands += [released(world, box, (2,)), world.constant(array([1.0, np.inf], "float"))]
        operands += [aggregate(world, box, (2,))]
        found += [world.add("fill", a, nan=nan, posinf=high, neginf=low) for a in operands]
    return found
