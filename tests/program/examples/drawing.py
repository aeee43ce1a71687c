"""Draws, releases, randomized response, the exponential mechanism, functions of released values."""

from __future__ import annotations

import itertools

import numpy as np

from dpcheck.core.adjacency import Adjacency
from dpcheck.program.graph import Node

from .table import EXAMPLES, Example, aggregate, array, example, released, rows
from .worlds import World

LAWS = ("laplace", "normal", "gumbel", "exponential", "uniform")


def draw(world: World, law: str, shape: tuple[object, ...] = (2,), **how: object) -> Node:
    """Fresh numbers."""
    return world.add("draw", law=law, shape=shape, **{"scale": 2.0, **how})


@example("draw")
def draws(world: World) -> list[Node]:
    """Of every law."""
    found = [draw(world, law, (3,), location=1.0) for law in LAWS]
    found.append(draw(world, "coin", (3,), scale=0.25))
    found.append(draw(world, "places", (3,), count=5))
    found.append(draw(world, "uniform integers", (4,), scale=6.0, location=-2.0))
    found.append(draw(world, "geometric", (4,)))
    return found


AFFINE = ("add", "subtract", "multiply", "divide")


def _affine(law: str, name: str, left: bool, number: float) -> Example:
    def build(world: World) -> Node:
        parts = (draw(world, law, (2,), location=0.5), world.constant(number))
        return world.add(name, *(parts if left else parts[::-1]))

    return build


for _law, _name, _left, _number in itertools.product(LAWS, AFFINE, (True, False), (2.0, -0.5, 0.0)):
    EXAMPLES["draw"].append(_affine(_law, _name, _left, _number))


@example("draw")
def functions_of_draws(world: World) -> list[Node]:
    """Moved, compared, negated, added; all else uses them up."""
    fresh = lambda law="normal", shape=(2,): draw(world, law, shape)  # noqa: E731
    uniform = draw(world, "uniform", (4,), scale=1.0)
    coins = world.add("less", uniform, world.constant(0.25))
    return [
        world.add("index", fresh(), key=(np.array([1, 0]),)),
        world.add("reshape", fresh(), shape=(2, 1)),
        world.add("transpose", fresh(shape=(2, 3)), order=(1, 0)),
        world.add("negative", fresh("laplace")),
        world.add("add", fresh(), fresh()),
        world.add("subtract", fresh(), fresh("normal")),
        world.add("subtract", fresh("exponential"), fresh("exponential")),
        world.add("subtract", fresh("geometric"), fresh("geometric")),
        world.add("concatenate", fresh("laplace"), fresh("laplace"), axis=0),
        world.add("multiply", fresh(), world.constant(np.array([1.0, -3.0]))),
        coins,
        world.add("logical_not", coins),
        world.add("greater", world.constant(0.75), draw(world, "uniform", (4,), scale=1.0)),
        world.add("equal", draw(world, "coin", (4,), scale=0.3), world.constant(0)),
        world.add("subtract", world.constant(1), draw(world, "coin", (4,), scale=0.3)),
        world.add("exp", fresh()),
        world.add("broadcast", fresh(), shape=(3, 2)),
        world.add("sum", fresh(), axes=(0,), dtype=np.dtype(float)),
        world.add("sort", fresh(), axis=0),
        world.add("extreme", fresh(), axes=(0,), largest=True),
        world.add("multiply", fresh(), released(world, "float")),
        world.add("apply_draw", fresh()),
    ]


@example("apply_draw")
def applied(world: World) -> Node:
    """Public randomness."""
    return world.add("apply_draw", draw(world, "normal"))


@example("release")
def releases(world: World) -> list[Node]:
    """Noise added to and subtracted from aggregates, and the other way round."""
    found = []
    for law, (sign, flip) in itertools.product(
        ("laplace", "normal"), ((1.0, False), (-1.0, False), (1.0, True))
    ):
        for shape in ((), (2,)):
            private = aggregate(world, "float", shape, l1=1.0)
            noise = draw(world, law, (2,))
            found.append(world.add("release", private, noise, sign=sign, flip=flip))
    return found


@example("respond")
def responses(world: World) -> list[Node]:
    """Truths kept by coins, else flipped or random."""
    if world.graph.adjacency is Adjacency.ADD_REMOVE:
        return []
    n = world.count
    bits, small = rows(world, "bool"), rows(world, "few int8")
    uniform = draw(world, "uniform", (n,), scale=1.0)
    found = [
        world.add(
            "respond",
            world.add("less", uniform, world.constant(0.75)),
            bits,
            world.add("logical_not", bits),
        )
    ]
    coins = draw(world, "coin", (n,), scale=0.5)
    lies = draw(world, "uniform integers", (n,), scale=7.0, location=-3.0)
    answers = world.add("convert", small, dtype=np.dtype(int))
    found.append(world.add("respond", coins, answers, lies))
    return found


@example("answer")
def answered(world: World) -> list[Node]:
    """One of several answers, another number than the true one, a bit of a probability of its own."""
    if world.graph.adjacency is not Adjacency.REPLACE_ONE:
        return []
    n = world.count
    small = world.add("convert", rows(world, "few int8"), dtype=np.dtype(int))
    coins = world.add("less", draw(world, "uniform", (n,), scale=1.0), world.constant(0.75))
    lies = draw(world, "uniform integers", (n,), scale=7.0, location=-3.0)
    turned = world.add("negative", lies)
    share = world.add("add", rows(world, "float"), world.constant(10.0))
    chance = world.add("divide", share, world.constant(20.0))
    bit = world.add("less", draw(world, "uniform", (n,), scale=1.0), chance)
    return [
        world.add("answer", world.add("select", coins, small, turned)),
        world.add("answer", world.add("select", bit, world.constant(2.0), world.constant(-2.0))),
    ]


@example("upper")
def symmetric(world: World) -> Node:
    """np.triu(noise) + np.triu(noise, 1).T."""
    noise = draw(world, "normal", (3, 3))
    corner, above = (world.constant(np.triu(np.ones((3, 3), dtype=bool), k)) for k in (0, 1))
    first = world.add("select", corner, noise, world.constant(0.0))
    second = world.add("select", above, noise, world.constant(0.0))
    both = world.add("add", first, world.add("transpose", second, order=(1, 0)))
    return world.add("upper", both)


@example("pick")
def picks(world: World) -> Node:
    """rng.choice with the law of a softmax."""
    score = aggregate(world, "float", (3,), linf=1.0)
    weights = world.add("exp", world.add("multiply", score, world.constant(0.5)))
    total = world.add("sum", weights, axes=(0,), dtype=np.dtype(float))
    law = world.add("divide", weights, total)
    return world.add("pick", law, score, factor=0.5)


@example("apply")
def functions(world: World) -> Node:
    """Any pure function of released and public values."""
    parts = (released(world, "float"), world.constant(array([1, 2])))
    return world.add("apply", *parts, function=lambda a, b: f"{a} {b}")


@example("either")
def released_branch(world: World) -> Node:
    """One of two released values."""
    test = world.add("greater", released(world, "float"), world.constant(0.0))
    return world.add("either", test, released(world, "float"), world.constant("text"))


@example("truth")
def truth_of_anything(world: World) -> list[Node]:
    """Whether something released counts as true."""
    number = released(world, "float")
    return [
        world.add("truth", number),
        world.add("truth", world.add("apply", number, function=lambda a: [a])),
    ]


@example("pending")
def pending(world: World) -> list[Node]:
    """Half of the noise: private still."""
    private = aggregate(world, "int64", (2,), l1=1.0)
    return [world.add("pending", private, draw(world, "geometric", (2,)))]


@example("number")
def numbers(world: World) -> list[Node]:
    """Plain numbers of Python."""
    found = []
    for box in ("float", "few int8", "bool"):
        for kind in (float, int):
            found.append(world.add("number", released(world, box), kind=kind))
            found.append(world.add("number", aggregate(world, box, (), l1=1.0), kind=kind))
            found.append(world.add("number", released(world, box, (1,)), kind=kind))
    return found
