"""Sums of products, spelled as einsum does."""

from __future__ import annotations

import itertools

import numpy as np

from dpcheck.program.graph import Node

from .table import EXAMPLES, SIZES, Example, aggregate, array, example, released, rows
from .worlds import World


def _of_rows(one: str, two: str, terms: tuple[str, str, str]) -> Example:
    def build(world: World) -> Node:
        a, b = rows(world, one, (2,)), rows(world, two, (2,))
        return world.add("product", a, b, terms=terms)

    return build


BOXES = ("float", "few int8", "uint8", "anything", "float32")
for _one, _two, _terms in itertools.product(
    BOXES, BOXES, (("ni", "nj", "nij"), ("ni", "nj", "ij"), ("ni", "ni", "n"), ("ni", "ni", ""))
):
    EXAMPLES["product"].append(_of_rows(_one, _two, _terms))


@example("product")
def with_itself(world: World) -> list[Node]:
    """x.T @ x, with and without a bound on the norm of the rows."""
    x = rows(world, "float", (2,))
    clipped = world.add("clip_norm", x, bound=1.0, order=2.0)
    turned = world.add("transpose", clipped, order=(1, 0))
    return [
        world.add("product", v, v, terms=terms)
        for v in (x, clipped)
        for terms in (("ni", "nj", "ij"), ("ni", "ni", "i"), ("ni", "nj", "nij"))
    ] + [world.add("product", turned, clipped, terms=("in", "nj", "ij"))]


@example("product")
def with_public(world: World) -> list[Node]:
    """Rows with public and released arrays, every way round."""
    found = []
    matrix = array([[1, -2, 0.5], [0, 1, 3]])
    for box in ("float", "few int8", "uint8", "anything"):
        x = rows(world, box, (2,))
        kind = matrix if box in ("float", "anything") else matrix.astype(x.dtype)
        others = (world.constant(kind), released(world, "float", (2, 3)))
        for other in others:
            found += [
                world.add("product", x, other, terms=terms)
                for terms in (
                    *(
                        ("ni", "ij", "nj"),
                        ("ni", "ij", "j"),
                        ("ni", "kj", "nij"),
                        ("ni", "ij", "n"),
                    ),
                    *(("ni", "ij", "nij"), ("ni", "kj", "n"), ("ni", "ij", "ni")),
                )
            ]
        found.append(world.add("product", world.constant(kind), x, terms=("ij", "ni", "nj")))
    clipped = world.add("clip_norm", rows(world, "float", (2,)), bound=1.0, order=2.0)
    ones = world.constant(np.ones((2, 3)))
    found += [
        world.add("product", clipped, ones, terms=terms)
        for terms in (("ni", "ij", "nj"), ("ni", "kj", "n"), ("ni", "ij", "nij"), ("ni", "ij", "j"))
    ]
    return found


@example("product")
def of_aggregates(world: World) -> list[Node]:
    """Aggregates with public arrays and with each other, of types that overflow."""
    found = []
    terms = (
        *(("ij", "jk", "ik"), ("ij", "j", "i"), ("ij", "ij", ""), ("ij", "k", "ijk")),
        *(("ij", "jk", "k"), ("ij", "ij", "ij"), ("ij", "k", "i"), ("ij", "jk", "i")),
    )
    lengths = {"i": 3, "j": 2, "k": 2}
    for size, term in itertools.product(SIZES, terms):
        shapes = [tuple(lengths[letter] for letter in side) for side in term[:2]]
        a = aggregate(world, "float", shapes[0], **size)
        b = aggregate(world, "positive", shapes[1], l1=1.0)
        numbers = np.linspace(-1, 2, int(np.prod(shapes[1]))).reshape(shapes[1])
        for other in (world.constant(numbers), world.constant(np.ones(shapes[1])), b):
            found.append(world.add("product", a, other, terms=term))
        found.append(world.add("product", a, released(world, "float", shapes[1]), terms=term))
        back = (term[1], term[0], term[2])
        found.append(world.add("product", world.constant(numbers), a, terms=back))
    for box in ("int8", "few int8", "uint8", "int64"):
        a = aggregate(world, box, (2,), l1=1.0)
        weights = world.constant(np.full((2, 2), 60, dtype=a.dtype))
        found.append(world.add("product", a, weights, terms=("j", "jk", "k")))
        found.append(
            world.add("product", a, aggregate(world, box, (2,), l1=1.0), terms=("j", "j", ""))
        )
    return found


@example("product")
def public_and_released(world: World) -> list[Node]:
    """Nothing private."""
    a, b = world.constant(array([[1, 2]])), world.constant(array([3, 4]))
    return [
        world.add("product", a, b, terms=("ij", "j", "i")),
        world.add("product", released(world, "float", (2,)), b, terms=("j", "j", "")),
    ]
