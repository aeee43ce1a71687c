"""Functions of entries: of rows, aggregates, released and public values, of every type."""

from __future__ import annotations

import itertools

import numpy as np

from dpcheck.program.graph import Node
from dpcheck.program.rules.functions import FUNCTIONS

from .table import BOXES, EXAMPLES, SIZES, Example, aggregate, example, released, rows, sized
from .worlds import World

UNARY = [name for name, each in FUNCTIONS.items() if each.compute.nin == 1]
BINARY = [name for name, each in FUNCTIONS.items() if each.compute.nin == 2]
PUBLIC = (2, 0.5, -1.5, 0, np.float64(3.0), np.int8(5), np.uint8(250), True, np.nan, np.inf, 1e308)


def _unary(name: str, box: str, kind: int) -> Example:
    def build(world: World) -> Node:
        if kind == 0:
            return world.add(name, rows(world, box))
        if kind == 1:
            return world.add(name, rows(world, box, (2,)))
        if kind < 2 + len(SIZES):
            return world.add(name, aggregate(world, box, (2,), **SIZES[kind - 2]))
        return world.add(name, released(world, box, (2,)))

    return build


for _name, _box, _kind in itertools.product(UNARY, BOXES, range(3 + len(SIZES))):
    EXAMPLES[_name].append(_unary(_name, _box, _kind))


@example(*UNARY)
def public(world: World) -> list[Node]:
    """Of public numbers."""
    return [world.add(n, world.constant(np.array([0.5, 2.0]))) for n in UNARY if n != "invert"]


@example("invert")
def public_invert(world: World) -> Node:
    """Of public truth values."""
    return world.add("invert", world.constant(np.array([True, False])))


WHOLE = (2, 0, 5, np.int8(5), np.uint8(250), True)


def _operand(world: World, kind: str, box: str, shape: tuple[int, ...], i: int) -> Node:
    if kind == "rows":
        return rows(world, box, shape)
    if kind == "private":
        return aggregate(world, box, shape, **sized(SIZES[i % len(SIZES)], shape))
    if kind == "released":
        return released(world, box, shape)
    choice = WHOLE if np.dtype(BOXES[box][0]).kind in "biu" else PUBLIC  # type: ignore[arg-type]
    value = choice[i % len(choice)]
    return world.constant(value if not shape else np.full(shape, value))


def _binary(name: str, kinds: tuple[str, str], boxes: tuple[str, str], i: int) -> Example:
    def build(world: World) -> Node:
        both = "rows" in kinds
        shapes = [((2,), (2,)), ((), ()), ((2,), (1,)), ((1,), (2,))][i % 4]
        # A public or released operand beside rows: a number, or one array for every record.
        parts = []
        for j, (kind, box) in enumerate(zip(kinds, boxes, strict=True)):
            shape = shapes[j]
            if both and kind != "rows":
                shape = () if i % 3 else shape
            parts.append(_operand(world, kind, box, shape, i + 5 * j))
        return world.add(name, *parts)

    return build


KINDS = (
    *(("rows", "rows"), ("rows", "public"), ("public", "rows"), ("rows", "released")),
    *(("private", "private"), ("private", "public"), ("public", "private")),
    *(("released", "private"), ("released", "released"), ("public", "public")),
)
_names = list(BOXES)
for _n, _name in enumerate(BINARY):
    for _k, _kinds in enumerate(KINDS):
        for _i in range(_k % 2, 2 * len(_names), 2):
            # Every box meets itself, and the others by turns.
            _first = _names[(_i + _n) % len(_names)]
            _second = _names[(_i + _n + (_i // len(_names)) * (3 + _k)) % len(_names)]
            EXAMPLES[_name].append(_binary(_name, _kinds, (_first, _second), _i + _k + _n))


@example("subtract", "multiply", "divide", "add")
def same_operand(world: World) -> list[Node]:
    """x - x, x * x, x / x."""
    x, a = rows(world, "float", (2,)), aggregate(world, "positive", (2,), l1=1.0)
    return [
        world.add(name, v, v) for name in ("subtract", "multiply", "divide", "add") for v in (x, a)
    ]


@example("power")
def powers(world: World) -> list[Node]:
    """Public exponents, whole and not, of every sign."""
    found = []
    for exponent in (2, 2.0, 3, 0.5, 1, 0, -1.0, -0.5, 2.5):
        for box in ("float", "positive", "from 0", "few int8", "anything"):
            if exponent < 0 and box == "few int8":
                continue
            found.append(world.add("power", rows(world, box, (2,)), world.constant(exponent)))
            base = aggregate(world, box, (2,), l1=1.0)
            found.append(world.add("power", base, world.constant(exponent)))
    found.append(
        world.add("power", aggregate(world, "positive", (), l1=1.0), released(world, "positive"))
    )
    return found


@example("isnan", "isfinite", "not_equal", "logical_not", "invert")
def missing(world: World) -> list[Node]:
    """Questions about what is missing, and their opposites."""
    x = rows(world, "anything", (2,))
    asked = [world.add(n, x) for n in ("isnan", "isfinite")] + [world.add("not_equal", x, x)]
    return asked + [world.add(n, a) for a in asked for n in ("logical_not", "invert")]


@example("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
def comparisons(world: World) -> list[Node]:
    """With public numbers on either side, of types in which they are rounded."""
    found = []
    for name, box, value in itertools.product(
        ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"),
        ("float", "anything", "float32", "few int8", "uint8", "bool", "all int64"),
        (1, 0.5, 0.1, 0, 2.0**53, 2**53 + 1),
    ):
        x = rows(world, box, ())
        if box in ("few int8", "uint8") and abs(value) > 100 and isinstance(value, int):
            continue
        found.append(world.add(name, x, world.constant(value)))
        found.append(world.add(name, world.constant(value), x))
    return found
