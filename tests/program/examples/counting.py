"""Counts: ones, places among edges, membership, one bin a record; text and categories."""

from __future__ import annotations

import itertools

import numpy as np

from dpcheck.core.adjacency import Adjacency
from dpcheck.program.graph import Node

from .table import aggregate, array, example, released, rows
from .worlds import World


@example("ones")
def counts(world: World) -> list[Node]:
    """The number of records, of all and of a selection."""
    x = rows(world, "float", (2,))
    mask = world.add("greater", rows(world, "float"), world.constant(0.0))
    chosen = world.add("filter", x, mask, axis=0)
    uniform = world.add("draw", law="uniform", shape=(world.set,), scale=1.0)
    sampled = world.add("filter", x, world.add("less", uniform, world.constant(0.5)), axis=0)
    found = [world.add("ones", v, axis=0) for v in (x, chosen, sampled)]
    return found + [world.add("sum", v, axes=(0,), dtype=np.dtype(int)) for v in found]


def _everything(world: World, box: str, shape: tuple[int, ...] = (2,)) -> list[Node]:
    return [
        rows(world, box, shape),
        aggregate(world, box, shape, l1=1.0),
        aggregate(world, box, shape, linf=1.0, changed=1),
        released(world, box, shape),
        world.constant(array(np.ones(shape), box)),
    ]


@example("digitize")
def bins(world: World) -> list[Node]:
    """Among rising and falling edges."""
    found = []
    edges = (np.array([-1.0, 0.0, 1.5]), np.array([2.0, 0.0]))
    for box, each, right in itertools.product(
        ("float", "anything", "few int8", "bool"), edges, (True, False)
    ):
        found += [
            world.add("digitize", a, edges=each, right=right) for a in _everything(world, box)
        ]
    return found


@example("isin")
def members(world: World) -> list[Node]:
    """Of a public list."""
    return [
        world.add("isin", a, values=(0, 1, 5))
        for box in ("float", "few int8", "bool")
        for a in _everything(world, box)
    ]


@example("lookup")
def lookups(world: World) -> list[Node]:
    """Of places that are always there."""
    table = (0.5, -2.0, 3.0, 1.0, 1.0, 0.0, 7.0)
    return [world.add("lookup", a, table=table, first=-3) for a in _everything(world, "few int8")]


@example("one_hot")
def one_bin(world: World) -> list[Node]:
    """One bin a record, or none; histograms of them."""
    found = []
    for box, many in itertools.product(("few int8", "bool", "uint8", "int64"), (1, 3)):
        hot = world.add("one_hot", rows(world, box), bins=many)
        found += [hot, world.add("sum", hot, axes=(0,), dtype=np.dtype(np.int64))]
    found.append(world.add("one_hot", world.constant(np.array([0, 2])), bins=3))
    return found


@example("is_value", "place_of")
def texts(world: World) -> list[Node]:
    """Columns of text compared with public texts."""
    if world.graph.adjacency is Adjacency.ZERO_OUT:
        return []
    x = world.text(("a", "b", "c", 3))
    answers = [world.add("is_value", x, public=value) for value in ("a", "b", 3, "z")]
    sums = [
        world.add("reshape", world.add("sum", a, axes=(0,), dtype=np.dtype(int)), shape=(1,))
        for a in answers
    ]
    place = world.add("place_of", x, categories=("a", "b"))
    hot = world.add("one_hot", place, bins=2)
    return [
        *answers,
        world.add("logical_not", answers[0]),
        world.add("concatenate", *sums, axis=0),
        hot,
    ]


@example("label")
def categories(world: World) -> list[Node]:
    """The category of each record, and how many there are of it; none for places beyond."""
    if world.graph.adjacency is Adjacency.ZERO_OUT:
        return []
    places = world.add("place_of", world.text(("a", "b", "c", 3)), categories=("c", 3, "a"))
    named = world.add("label", places, labels=("x", "y"))
    answers = [world.add("is_value", named, public=value) for value in ("x", "y")]
    hot = world.add("one_hot", world.add("place_of", named, categories=("y", "x")), bins=2)
    return [*answers, hot, world.add("sum", hot, axes=(0,), dtype=np.dtype(int))]
