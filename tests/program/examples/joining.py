"""concatenate: of rows side by side, of aggregates, of parts that no record shares."""

from __future__ import annotations

import itertools

import numpy as np

from dpcheck.program.graph import Node

from .table import SIZES, aggregate, array, example, released, rows
from .worlds import World


@example("concatenate")
def side_by_side(world: World) -> list[Node]:
    """Columns of the same records."""
    found = []
    for one, two in itertools.product(
        ("float", "few int8", "uint8", "anything"), ("bool", "int64")
    ):
        parts = [rows(world, one, (2,)), rows(world, two, (1,))]
        found.append(world.add("concatenate", *parts, axis=1))
    return found


@example("concatenate")
def of_aggregates(world: World) -> list[Node]:
    """Into one vector."""
    found = []
    for one, two in itertools.product(SIZES, SIZES):
        a, b = aggregate(world, "float", (2,), **one), aggregate(world, "positive", (2,), **two)
        found.append(world.add("concatenate", a, b, axis=0))
    a = aggregate(world, "float", (2,), l1=1.0)
    found.append(world.add("concatenate", a, world.constant(array([1, 2])), axis=0))
    found.append(world.add("concatenate", released(world, "float", (2,)), a, a, axis=0))
    found.append(
        world.add("concatenate", world.constant(array([1])), world.constant(array([2])), axis=0)
    )
    found.append(
        world.add("concatenate", released(world, "float", (2,)), world.constant(array([1])), axis=0)
    )
    return found


def parts(world: World, regions: list[tuple[str, object]], box: str = "float") -> list[Node]:
    """Sums over the records of each region of one column, each as an array of one entry."""
    column, x = rows(world, "int64"), rows(world, box)
    found = []
    for name, value in regions:
        mask = world.add(name, column, world.constant(value))
        chosen = world.add("filter", x, mask, axis=0)
        kind = np.dtype(float) if x.dtype.kind == "f" else np.dtype(np.int64)
        total = world.add("sum", chosen, axes=(0,), dtype=kind)
        found.append(world.add("reshape", total, shape=(1,)))
    return found


REGIONS = (
    [("equal", 0), ("equal", 1), ("equal", 2)],
    [("equal", 0), ("not_equal", 0)],
    [("less", 1), ("greater_equal", 1)],
    [("less_equal", 1), ("greater_equal", 1)],
    [("equal", 1), ("less", 1)],
    [("equal", 1), ("less_equal", 1)],
    [("equal", 1), ("not_equal", 2)],
    [("greater", 0), ("greater", 1)],
)


@example("concatenate", "put")
def of_regions(world: World) -> list[Node]:
    """Counts and sums over regions, which may overlap."""
    found = []
    for regions, box in itertools.product(REGIONS, ("float", "positive", "few int8")):
        sums = parts(world, list(regions), box)
        whole = world.add("concatenate", *sums, axis=0)
        found += [whole, world.add("concatenate", whole, sums[0], axis=0)]
        kind = float if box != "few int8" else np.int64
        into = world.constant(np.zeros(len(sums), dtype=kind))
        for i, each in enumerate(sums):
            into = world.add("put", into, each, key=(slice(i, i + 1),))
        found += [into, world.add("multiply", into, world.constant(2))]
    return found


@example("concatenate")
def of_masks(world: World) -> list[Node]:
    """The same with rows that are 0 unless a record is in the region."""
    column, x = rows(world, "int64"), rows(world, "float")
    found = []
    for regions in REGIONS:
        sums = []
        for name, value in regions:
            mask = world.add(name, column, world.constant(value))
            for masked in (
                world.add("select", mask, x, world.constant(0.0)),
                world.add("multiply", x, mask),
                world.add("convert", mask, dtype=np.dtype(float)),
            ):
                total = world.add("sum", masked, axes=(0,), dtype=np.dtype(float))
                sums.append(world.add("reshape", total, shape=(1,)))
        found += [world.add("concatenate", *sums[i::3], axis=0) for i in range(3)]
    return found
