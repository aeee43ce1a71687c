"""broadcast, reshape, transpose."""

from __future__ import annotations

import numpy as np

from dpcheck.program.graph import Node

from .table import SIZES, aggregate, array, example, released, rows
from .worlds import World


@example("broadcast")
def broadcasts(world: World) -> list[Node]:
    """Entries repeated, within rows and of whole arrays."""
    found = []
    column = rows(world, "float", (1,))
    found.append(world.add("broadcast", column, shape=(world.set, 3)))
    found.append(world.add("broadcast", rows(world, "bool"), shape=(2, world.set)))
    found.append(world.add("broadcast", rows(world, "float", (2,)), shape=(4, world.set, 2)))
    found.append(world.add("broadcast", column, shape=(world.set, 1)))
    for size in SIZES:
        a = aggregate(world, "float", (2,), **size)
        found += [world.add("broadcast", a, shape=shape) for shape in ((2,), (3, 2), (4, 1, 2))]
        one = aggregate(world, "few int8", (), **({} if "coordinates" in size else size))
        found.append(world.add("broadcast", one, shape=(3,)))
    found.append(world.add("broadcast", released(world, "float", (2,)), shape=(3, 2)))
    found.append(world.add("broadcast", world.constant(array([1, 2])), shape=(3, 2)))
    return found


@example("reshape")
def reshapes(world: World) -> list[Node]:
    """Other shapes, the records along an axis of their own."""
    x = rows(world, "float", (3, 2))
    across = rows(world, "float", (3, 2), 1)
    bits = world.add("greater", rows(world, "float"), world.constant(0.0))
    squares = world.add("square", x)
    flat = world.add("reshape", squares, shape=(world.set, 6))
    found = [
        world.add("reshape", x, shape=(world.set, 6)),
        world.add("reshape", across, shape=(3, world.set, 1, 2)),
        world.add("reshape", bits, shape=(world.set, 1)),
        world.add("reshape", bits, shape=(1, world.set)),
        world.add("sum", flat, axes=(1,), dtype=np.dtype(float)),
    ]
    for size in SIZES:
        a = aggregate(world, "float", (3, 2), **size)
        found += [world.add("reshape", a, shape=s) for s in ((6,), (2, 3), (1, 6, 1))]
    found.append(world.add("reshape", released(world, "float", (3, 2)), shape=(6,)))
    found.append(world.add("reshape", world.constant(array([1, 2])), shape=(2, 1)))
    return found


@example("transpose")
def transposes(world: World) -> list[Node]:
    """Axes in another order."""
    found = [
        world.add("transpose", rows(world, "float", (3, 2)), order=order)
        for order in ((0, 2, 1), (2, 1, 0), (1, 0, 2))
    ]
    squares = world.add("square", rows(world, "float", (2,)))
    turned = world.add("transpose", squares, order=(1, 0))
    found.append(world.add("sum", turned, axes=(0,), dtype=np.dtype(float)))
    for size in SIZES:
        found.append(
            world.add("transpose", aggregate(world, "float", (3, 2), **size), order=(1, 0))
        )
    found.append(world.add("transpose", released(world, "float", (3, 2)), order=(1, 0)))
    found.append(world.add("transpose", world.constant(array([[1, 2]])), order=(1, 0)))
    return found
