"""Entries and records at public places, by masks and batches; writing at places."""

from __future__ import annotations

import itertools

import numpy as np

from dpcheck.core.adjacency import Adjacency
from dpcheck.program.graph import Node

from .table import EXAMPLES, SIZES, Example, aggregate, array, example, released, rows
from .worlds import World

KEYS: tuple[tuple[object, ...], ...] = (
    (slice(None), 0),
    (slice(None), None),
    (slice(None), slice(None, None, -1)),
    (slice(None), np.array([1, 1, 0])),
    (slice(None), np.array([True, False])),
    (None,),
    (slice(None), slice(0, 0)),
)
PLACES: tuple[tuple[object, ...], ...] = (
    (2,),
    (-1, 1),
    (slice(1, 4),),
    (slice(None, None, -1),),
    (np.array([4, 0]),),
    (slice(0, 0),),
    (slice(None, None, 2), 0),
)


def _by_place(key: tuple[object, ...]) -> Example:
    def build(world: World) -> Node:
        x = rows(world, "float", (2,))
        if world.graph.adjacency is not Adjacency.ADD_REMOVE:
            found = world.add("index", x, key=key)
            world.add("add", *_with_total(world, x, found))
            return found
        return world.add("index", x, key=KEYS[0])

    return build


def _with_total(world: World, x: Node, found: Node) -> tuple[Node, Node]:
    """Sums over two selections, added: they may share records."""
    from dpcheck.program.facts.kinds import Rows

    parts = []
    for node in (x, found):
        if isinstance(node.fact, Rows):
            node = world.add("sum", node, axes=(node.fact.axis,), dtype=np.dtype(float))
        parts.append(node)
    return parts[0], parts[1]


for _key in PLACES:
    EXAMPLES["index"].append(_by_place(_key))


@example("index")
def of_rows(world: World) -> list[Node]:
    """Entries of rows."""
    found = [world.add("index", rows(world, "float", (2,)), key=key) for key in KEYS]
    entries = world.add("square", rows(world, "float", (2,)))
    total = world.add("sum", entries, axes=(1,), dtype=np.dtype(float))
    found.append(world.add("index", world.add("sqrt", total), key=(slice(None), None)))
    back = world.add("index", entries, key=(slice(None), slice(None, None, -1)))
    found.append(world.add("sum", back, axes=(1,), dtype=np.dtype(float)))
    bits = world.add("greater", rows(world, "float"), world.constant(0.0))
    found.append(world.add("index", bits, key=(slice(None), None)))
    across = rows(world, "float", (3, 2), 1)
    found += [world.add("index", across, key=(1,)), world.add("index", across, key=(None, 1))]
    return found


@example("index")
def of_aggregates(world: World) -> list[Node]:
    """Entries of aggregates, once or several times."""
    found = []
    for size in SIZES:
        a = aggregate(world, "float", (2,), **size)
        for key in (
            (0,),
            (slice(None, None, -1),),
            (np.array([0, 0, 1]),),
            (None, 1),
            (slice(0, 0),),
        ):
            found.append(world.add("index", a, key=key))
    found.append(world.add("index", released(world, "float", (2,)), key=(np.array([1, 1]),)))
    found.append(world.add("index", world.constant(array([1, 2])), key=(0,)))
    return found


@example("add", "concatenate")
def of_disjoint_places(world: World) -> list[Node]:
    """Sums over the first and the last records: one record is behind one of them."""
    if world.graph.adjacency is Adjacency.ADD_REMOVE:
        return []
    x = rows(world, "float", (2,))
    found = []
    for one, two in ((slice(0, 2), slice(2, 5)), (slice(0, 3), slice(2, 5))):
        halves = [world.add("index", x, key=(k,)) for k in (one, two)]
        sums = [world.add("sum", h, axes=(0,), dtype=np.dtype(float)) for h in halves]
        found += [world.add(n, *sums) for n in ("add", "subtract", "minimum")]
        found.append(world.add("concatenate", *sums, axis=0))
    return found


@example("filter")
def filters(world: World) -> list[Node]:
    """By comparisons, by what is not missing, twice."""
    found = []
    for name, limit in itertools.product(("greater", "less", "equal", "less_equal"), (0, 1)):
        x = rows(world, "float")
        mask = world.add(name, x, world.constant(limit))
        chosen = world.add("filter", x, mask, axis=0)
        found += [chosen, world.add("filter", rows(world, "uint8", (2,)), mask, axis=0)]
        again = world.add("less", chosen, world.constant(0.5))
        found.append(world.add("filter", chosen, again, axis=0))
    lost = rows(world, "anything")
    for name in ("isnan", "isfinite"):
        mask = world.add(name, lost)
        found.append(world.add("filter", lost, mask, axis=0))
        found.append(world.add("filter", lost, world.add("invert", mask), axis=0))
    return found


@example("batch")
def batches(world: World) -> list[Node]:
    """Rows of a batch."""
    if world.graph.adjacency is Adjacency.ADD_REMOVE:
        return []
    x = rows(world, "float", (2,))
    places = world.add("draw", law="places", shape=(3,), count=world.count)
    chosen = world.add("batch", x, places, axis=0)
    total = world.add("sum", chosen, axes=(0,), dtype=np.dtype(float))
    return [chosen, total, world.add("sqrt", world.add("absolute", total))]


@example("put")
def puts(world: World) -> list[Node]:
    """Aggregates, rows and public numbers with other numbers at some places."""
    found = []
    for size, key in itertools.product(
        SIZES, ((0,), (slice(None, 1),), (np.array([1, 0]),), (slice(None),))
    ):
        a = aggregate(world, "float", (2,), **size)
        one = aggregate(world, "positive", (), coordinates=0.5)
        zeros = world.constant(np.zeros(2))
        for base, new in ((a, one), (zeros, one), (a, world.constant(1.5)), (a, zeros)):
            if new is zeros and len(np.zeros(2)[key].shape) * np.zeros(2)[key].size != 2:
                continue
            found.append(world.add("put", base, new, key=key))
    numbers = aggregate(world, "few int8", (2,), l1=1.0)
    found.append(world.add("put", numbers, aggregate(world, "int64", (), l1=1.0), key=(0,)))
    found.append(world.add("put", numbers, aggregate(world, "all int64", (), l1=1.0), key=(0,)))
    x = rows(world, "float", (2,))
    new = [
        rows(world, "positive"),
        world.constant(0.0),
        released(world, "float"),
        world.constant(9.0),
    ]
    found += [world.add("put", x, each, key=(slice(None), 0)) for each in new]
    found.append(world.add("put", world.constant(np.zeros(2)), world.constant(1.0), key=(0,)))
    found.append(world.add("put", released(world, "float", (2,)), world.constant(1.0), key=(0,)))
    return found
