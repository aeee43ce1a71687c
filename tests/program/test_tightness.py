"""Bounds that have a closed form are met: nobody pays for more than a record can do."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcheck.core.adjacency import Adjacency
from dpcheck.program.facts.kinds import Aggregate
from dpcheck.program.graph import Node

from .examples.worlds import REMOVE, REPLACE, ZERO, World

FLOAT, WHOLE = np.dtype(float), np.dtype(np.int64)


def moves(node: Node) -> tuple[float, float, float]:
    """L1, L2 and Linf of what one record moves."""
    assert isinstance(node.fact, Aggregate)
    diff = node.fact.diff
    return diff.l1, diff.l2, diff.linf


def total(world: World, x: Node, dtype: object = FLOAT) -> Node:
    return world.add("sum", x, axes=(0,), dtype=dtype)


@pytest.mark.parametrize(("adjacency", "one"), [(REPLACE, 5.0), (REMOVE, 3.0), (ZERO, 3.0)])
def test_sums_and_means(adjacency: Adjacency, one: float):
    world = World(adjacency)
    x = world.rows((2,), lo=-3.0, hi=2.0)
    assert moves(total(world, x)) == pytest.approx((2 * one, math.sqrt(2) * one, one), rel=1e-9)
    mean = world.add("divide", total(world, x), world.constant(4))
    assert moves(mean) == pytest.approx((one / 2, math.sqrt(2) * one / 4, one / 4), rel=1e-9)


@pytest.mark.parametrize(("adjacency", "times"), [(REPLACE, 2), (REMOVE, 1), (ZERO, 1)])
def test_rows_clipped_to_a_norm(adjacency: Adjacency, times: int):
    world = World(adjacency)
    x = world.rows((2,), lo=-np.inf, hi=np.inf, nan=True)
    clean = world.add("fill", x, nan=0.0, posinf=None, neginf=None)
    squares = world.add("sum", world.add("square", clean), axes=(1,), dtype=FLOAT)
    norm = world.add("reshape", world.add("sqrt", squares), shape=(world.set, 1))
    factor = world.add(
        "divide", world.constant(0.7), world.add("maximum", norm, world.constant(0.7))
    )
    by_hand = total(world, world.add("multiply", clean, factor))
    by_name = total(world, world.add("clip_norm", x, bound=0.7, order=2.0))
    for found in (by_hand, by_name):
        assert moves(found)[1] == pytest.approx(0.7 * times, rel=1e-9)


@pytest.mark.parametrize(("adjacency", "cells"), [(REPLACE, 2), (REMOVE, 1), (ZERO, 2)])
def test_histograms_however_they_are_made(adjacency: Adjacency, cells: int):
    """One record is in one bin: it leaves one and enters another."""
    world = World(adjacency)
    x = world.rows((), np.int64, 0, 3)
    hot = total(world, world.add("one_hot", x, bins=4), WHOLE)
    assert moves(hot) == pytest.approx((cells, math.sqrt(cells), 1))
    counts = []
    for value in range(4):
        mask = world.add("equal", x, world.constant(value))
        counts.append(world.add("reshape", total(world, mask, WHOLE), shape=(1,)))
    joined = world.add("concatenate", *counts, axis=0)
    assert moves(joined) == pytest.approx((cells, math.sqrt(cells), 1))


def test_sums_over_the_parts_of_a_split():
    """By replacement the two largest parts change, by removal the largest."""
    for adjacency, l1, l2 in ((REPLACE, 5.0, 5.0), (REMOVE, 3.0, 3.0)):
        world = World(adjacency)
        key, x = world.rows((), np.int64, 0, 5), world.rows((), lo=-3.0, hi=2.0)
        parts = []
        for name in ("less", "greater_equal"):
            chosen = world.add("filter", x, world.add(name, key, world.constant(2)), axis=0)
            parts.append(world.add("reshape", total(world, chosen), shape=(1,)))
        found = moves(world.add("concatenate", *parts, axis=0))
        # -3 leaves one part and -3 enters the other: 6; within one part -3 becomes 2: 5.
        wanted = (6.0, 5.0) if adjacency is REPLACE else (l1, l2)
        assert found[:2] == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize(("adjacency", "times"), [(REPLACE, 2), (REMOVE, 1), (ZERO, 1)])
def test_second_moments(adjacency: Adjacency, times: int):
    """x.T @ x of rows of norm at most 1: an outer product of norm 1 comes or goes."""
    world = World(adjacency)
    x = world.add("clip_norm", world.rows((2,)), bound=1.0, order=2.0)
    found = world.add("product", x, x, terms=("ni", "nj", "ij"))
    assert moves(found)[1] == pytest.approx(times, rel=1e-9)


def test_disjoint_places_move_one_at_a_time():
    world = World(REPLACE)
    x = world.rows((), lo=0.0, hi=1.0)
    parts = [total(world, world.add("index", x, key=(k,))) for k in (slice(0, 2), slice(2, 5))]
    assert moves(world.add("add", *parts))[0] == pytest.approx(1.0, rel=1e-9)


def test_counts_and_whole_columns():
    world = World(REMOVE)
    x = world.rows((2,))
    count = total(world, world.add("ones", x, axis=0), WHOLE)
    assert moves(count) == (1.0, 1.0, 1.0)
    assert isinstance(count.fact, Aggregate)
    assert count.fact.rising
    fixed = World(REPLACE)
    count = total(fixed, fixed.add("ones", fixed.rows(), axis=0), WHOLE)
    assert moves(count) == (0.0, 0.0, 0.0)
    whole = fixed.add("whole", fixed.rows((), lo=0.0, hi=1.0))
    assert moves(whole) == pytest.approx((1.0, 1.0, 1.0))


def test_variance_moves_by_the_known_bound():
    """(n - 1) / n^2 times the squared width; attained by all but one record at one end."""
    world = World(REPLACE)
    found = world.add("variance", world.rows((), lo=0.0, hi=1.0), axes=(0,), ddof=0)
    n = world.count
    data = np.zeros(n)
    data[0] = 1.0
    assert moves(found)[0] == pytest.approx((n - 1) / n**2, rel=1e-9)
    assert np.var(data) - np.var(np.zeros(n)) == pytest.approx(moves(found)[0], rel=1e-9)
