"""Every primitive: what its rule claims holds on neighbouring data, random and extreme."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.errors import NotProvable
from dpcheck.program.graph import PRIMITIVES, Graph

from .claims import check
from .examples import EXAMPLES, Example
from .examples.worlds import ADJACENCIES, World

PAIRS = 2
Graph(Adjacency.REPLACE_ONE)  # registers all of them


def test_every_primitive_has_examples():
    assert set(PRIMITIVES) - set(EXAMPLES) == set()


def tried(build: Example, adjacency: Adjacency, pairs: int, seed: int) -> bool:
    """Check an example on random neighbours; False if a rule refuses it."""
    world = World(adjacency)
    try:
        build(world)
    except NotProvable:
        return False
    rng = np.random.default_rng(seed)
    for _ in range(pairs):
        check(world, world.pair(rng))
    return True


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_what_the_rule_claims_holds(name: str):
    seed = zlib.crc32(name.encode())
    many = len(EXAMPLES[name]) > 30
    followed = 0
    for i, build in enumerate(EXAMPLES[name]):
        chosen = (ADJACENCIES[i % 3],) if many else ADJACENCIES
        for adjacency in chosen:
            followed += tried(build, adjacency, PAIRS if many else 3 * PAIRS, seed + i)
    assert followed, "every example is refused"
