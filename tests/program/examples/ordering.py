"""Extrema, quantiles, places of the largest, sorting, running sums."""

from __future__ import annotations

import itertools

import numpy as np

from dpcheck.core.adjacency import Adjacency
from dpcheck.program.graph import Node

from .table import BOXES, SIZES, aggregate, array, example, released, rows
from .worlds import World


def _over(world: World, name: str, box: str, **how: object) -> list[Node]:
    """Over records, over entries, of aggregates, released and public numbers."""
    found = [world.add(name, rows(world, box, (3,)), axes=(1,), **how)]
    if world.graph.adjacency is not Adjacency.ADD_REMOVE:
        found.append(world.add(name, rows(world, box, (2,)), axes=(0,), **how))
    for size in SIZES:
        a = aggregate(world, box, (3, 2), **size)
        found += [world.add(name, a, axes=axes, **how) for axes in ((0,), (1,), (0, 1))]
    found.append(world.add(name, released(world, box, (3, 2)), axes=(1,), **how))
    found.append(world.add(name, world.constant(array([[1, 2]])), axes=(1,), **how))
    return found


@example("extreme")
def extremes(world: World) -> list[Node]:
    """np.max and np.min."""
    return [
        node
        for box, largest in itertools.product(BOXES, (True, False))
        for node in _over(world, "extreme", box, largest=largest)
    ]


@example("quantile")
def quantiles(world: World) -> list[Node]:
    """Medians and other levels, of numbers that may be infinite, too."""
    return [
        node
        for box, level in itertools.product(BOXES, (0.5, 0.25, 0.0, 1.0))
        if not (box == "bool" and level != 0.5)
        for node in _over(world, "quantile", box, level=level)
    ]


@example("argmax")
def places(world: World) -> list[Node]:
    """Along rows, aggregates, and of one vector."""
    found = []
    for box, largest in itertools.product(("float", "anything", "few int8"), (True, False)):
        found += [
            world.add("argmax", rows(world, box, (3,)), axis=1, largest=largest),
            world.add("argmax", aggregate(world, box, (3,), l1=1.0), axis=0, largest=largest),
            world.add("argmax", released(world, box, (3, 2)), axis=0, largest=largest),
            world.add("argmax", world.constant(array([1, 2])), axis=0, largest=largest),
        ]
    return found


@example("sort")
def sorts(world: World) -> list[Node]:
    """Rows, vectors, and over the records."""
    found = []
    for box in BOXES:
        found.append(world.add("sort", rows(world, box, (3,)), axis=1))
        if world.graph.adjacency is not Adjacency.ADD_REMOVE:
            found.append(world.add("sort", rows(world, box), axis=0))
        for size in SIZES:
            own = size if "coordinates" not in size else {"coordinates": [0.1, 2.0, 0.5]}
            found.append(world.add("sort", aggregate(world, box, (3,), **own), axis=0))
        found.append(world.add("sort", released(world, box, (3, 2)), axis=1))
    found.append(world.add("sort", world.constant(array([2, 1])), axis=0))
    return found


@example("cumulative")
def running(world: World) -> list[Node]:
    """Running sums, of types that overflow."""
    found = []
    for box in BOXES:
        found.append(world.add("cumulative", rows(world, box, (3,)), axis=1))
        for size in SIZES:
            found.append(world.add("cumulative", aggregate(world, box, (3, 2), **size), axis=0))
            found.append(world.add("cumulative", aggregate(world, box, (3, 2), **size), axis=1))
        found.append(world.add("cumulative", released(world, box, (3, 2)), axis=1))
    found.append(world.add("cumulative", world.constant(array([2, 1])), axis=0))
    x = rows(world, "positive", (3,))
    total = world.add("sum", x, axes=(0,), dtype=np.dtype(float))
    found.append(world.add("cumulative", total, axis=0))
    return found
