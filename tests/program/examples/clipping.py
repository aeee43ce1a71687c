"""Rows scaled to a norm, by the function for it and by hand."""

from __future__ import annotations

import itertools

import numpy as np

from dpcheck.program.graph import Node

from .table import example, rows
from .worlds import World


@example("clip_norm")
def clipped(world: World) -> list[Node]:
    """To every norm, of numbers that may be missing or infinite."""
    found = []
    for box, order, bound in itertools.product(
        ("float", "anything", "positive", "few int8"), (1.0, 2.0, np.inf), (0.5, 2.0)
    ):
        found.append(world.add("clip_norm", rows(world, box, (2,)), bound=bound, order=order))
    return found


@example("minimum", "maximum", "divide", "multiply", "sqrt", "square", "add")
def by_hand(world: World) -> list[Node]:
    """x * min(1, C / |x|) and its many spellings."""
    found = []
    for order, box in itertools.product((1, 2), ("float", "positive")):
        x = rows(world, box, (3,))
        entries = world.add("absolute" if order == 1 else "square", x)
        total = world.add("sum", entries, axes=(1,), dtype=np.dtype(float))
        norm = total if order == 1 else world.add("sqrt", total)
        norm = world.add("reshape", norm, shape=(world.set, 1))
        one, c = world.constant(1.0), world.constant(0.7)
        inverse = world.add("divide", c, world.add("maximum", norm, c))
        factors = [
            inverse,
            world.add("minimum", one, world.add("divide", c, norm)),
            world.add("divide", one, world.add("add", norm, c)),
            world.add("reciprocal", world.add("maximum", norm, c)),
            world.add("divide", one, world.add("maximum", one, world.add("divide", norm, c))),
            world.add("minimum", norm, c),
            world.add("sqrt", world.add("minimum", norm, c)),
            world.add("power", norm, world.constant(0.5)),
        ]
        twice = world.add("multiply", world.constant(2.0), x)
        for factor in factors:
            found += [world.add("multiply", v, factor) for v in (x, twice)]
        found.append(world.add("divide", x, world.add("maximum", norm, c)))
        found.append(world.add("divide", twice, world.add("add", norm, c)))
        found.append(world.add("divide", world.add("maximum", norm, c), x))
    return found
