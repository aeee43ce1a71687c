"""Sums, variances, all rows as one array, any and all."""

from __future__ import annotations

import itertools

import numpy as np

from dpcheck.core.adjacency import Adjacency
from dpcheck.program.graph import Node

from .table import BOXES, EXAMPLES, SIZES, Example, aggregate, array, example, released, rows
from .worlds import World

SUMMABLE = [name for name in BOXES if name not in ("anything", "up")]


def _sum(box: str, dtype: object) -> Example:
    def build(world: World) -> list[Node]:
        kind = np.dtype(dtype) if dtype else None
        found = []
        for rest, axis, axes in (
            ((), 0, (0,)),
            ((2,), 0, (0,)),
            ((2,), 0, (1,)),
            ((2,), 1, (1,)),
            ((2,), 0, (0, 1)),
            ((3, 2), 1, (0, 2)),
        ):
            x = rows(world, box, rest, axis)
            own = kind or np.sum(np.empty(0, x.dtype)).dtype
            if x.dtype.kind == "f" and own.kind != "f":
                continue
            found.append(world.add("sum", x, axes=axes, dtype=own))
        for size in SIZES:
            a = aggregate(world, box, (3, 2), **size)
            own = kind or np.sum(np.empty(0, a.dtype)).dtype
            if a.dtype.kind == "f" and own.kind != "f":
                continue
            found += [world.add("sum", a, axes=axes, dtype=own) for axes in ((0,), (1,), (0, 1))]
        own = np.sum(np.empty(0, np.dtype(BOXES[box][0]))).dtype  # type: ignore[call-overload]
        found.append(world.add("sum", released(world, box, (3, 2)), axes=(0,), dtype=own))
        return found

    return build


for _box, _type in itertools.product(BOXES, (None, np.int8, np.uint8, np.int64, float)):
    EXAMPLES["sum"].append(_sum(_box, _type))


@example("sum")
def public_sum(world: World) -> Node:
    """Of public numbers."""
    return world.add("sum", world.constant(array([1, 2])), axes=(0,), dtype=np.dtype(float))


def selection(world: World, box: str = "float", rest: tuple[int, ...] = (2,)) -> tuple[Node, Node]:
    """Rows and those of them for which a column is above 0."""
    x, y = rows(world, box, rest), rows(world, "float")
    mask = world.add("greater", y, world.constant(0.0))
    return x, world.add("filter", x, mask, axis=0)


@example("sum", "filter")
def of_selections(world: World) -> list[Node]:
    """Over records that a property chooses, or that are 0 unless it holds."""
    found = []
    for box in ("float", "positive", "few int8", "uint8"):
        x, chosen = selection(world, box)
        kind = np.dtype(float) if x.dtype.kind == "f" else np.dtype(np.int64)
        found.append(world.add("sum", chosen, axes=(0,), dtype=kind))
        y = rows(world, "float")
        mask = world.add("less_equal", y, world.constant(1.0))
        column = world.add("reshape", mask, shape=(world.set, 1))
        kept = world.add("select", column, x, world.constant(array(0, box)))
        found.append(world.add("sum", kept, axes=(0,), dtype=kind))
        found.append(world.add("sum", mask, axes=(0,), dtype=np.dtype(np.int64)))
        weighed = world.add("multiply", x, column)
        found.append(world.add("sum", weighed, axes=(0,), dtype=kind))
    return found


@example("sum", "sampled", "filter")
def of_samples(world: World) -> list[Node]:
    """Over records that coins choose."""
    found = []
    for box in ("float", "positive", "few int8"):
        x = rows(world, box, (2,))
        kind = np.dtype(float) if x.dtype.kind == "f" else np.dtype(np.int64)
        uniform = world.add("draw", law="uniform", shape=(world.set,), scale=1.0)
        coins = world.add("less", uniform, world.constant(0.3))
        chosen = world.add("filter", x, coins, axis=0)
        found.append(world.add("sum", chosen, axes=(0,), dtype=kind))
        column = world.add("index", coins, key=(slice(None), None))
        masked = world.add("sampled", x, column)
        found.append(world.add("sum", masked, axes=(0,), dtype=kind))
        twice = world.add("multiply", masked, world.constant(2))
        total = world.add("sum", twice, axes=(0,), dtype=kind)
        found.append(world.add("divide", total, world.constant(3.0)))
        found.append(world.add("add", total, world.constant(np.array([1, 2]))))
        found.append(world.add("sqrt", world.add("absolute", total)))
    return found


@example("variance")
def variances(world: World) -> list[Node]:
    """Over records and over entries, with and without Bessel's correction."""
    found = []
    for box, ddof in itertools.product(SUMMABLE, (0, 1)):
        if box == "all int64":
            continue
        if world.graph.adjacency is not Adjacency.ADD_REMOVE:
            found.append(world.add("variance", rows(world, box, (2,)), axes=(0,), ddof=ddof))
            found.append(world.add("variance", rows(world, box), axes=(0,), ddof=ddof))
        found.append(world.add("variance", rows(world, box, (3,)), axes=(1,), ddof=ddof))
        found.append(world.add("variance", released(world, box, (3,)), axes=(0,), ddof=ddof))
        found.append(world.add("variance", aggregate(world, box, (3,)), axes=(0,), ddof=ddof))
    found.append(world.add("variance", world.constant(array([1, 2])), axes=(0,), ddof=0))
    return found


@example("whole")
def wholes(world: World) -> list[Node]:
    """Rows as one array, of every type, of chosen places."""
    found = []
    for box in BOXES:
        for rest, axis in (((), 0), ((2,), 0), ((2,), 1)):
            found.append(world.add("whole", rows(world, box, rest, axis)))
    x = rows(world, "float", (2,))
    found.append(world.add("whole", world.add("index", x, key=(slice(1, 4),))))
    return found


@example("any")
def truths(world: World) -> list[Node]:
    """np.any and np.all over everything."""
    found = []
    for some in (True, False):
        for axes in ((0,), (1,), (0, 1)):
            found.append(world.add("any", rows(world, "bool", (2,)), axes=axes, some=some))
            found.append(world.add("any", released(world, "bool", (3, 2)), axes=axes, some=some))
            found.append(world.add("any", aggregate(world, "bool", (3, 2)), axes=axes, some=some))
        found.append(world.add("any", world.constant(np.array([True])), axes=(0,), some=some))
    return found
