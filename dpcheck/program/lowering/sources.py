"""Other sources of random numbers: scipy.stats, RandomState, generators of Python's random module."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.program.lowering.drawing import _PYTHON, GLOBAL, OLD_METHODS, draw
from dpcheck.program.lowering.registry import lower
from dpcheck.program.reading.operators import binary
from dpcheck.program.reading.values import FrozenLaw, Generator, KnownGenerator

if TYPE_CHECKING:
    from dpcheck.program.reading.reader import Reader

# Laws of scipy.stats whose rvs() is that method of a generator, times scale, plus loc.
_STANDARD = {
    "laplace": "laplace",
    "norm": "standard_normal",
    "expon": "exponential",
    "uniform": "uniform",
}


def law_of(owner: object, name: str) -> Callable[..., object] | None:
    """scipy.stats.laplace.rvs and its kin."""
    stats = sys.modules.get("scipy.stats")
    if stats is None or name != "rvs":
        return None
    if isinstance(owner, FrozenLaw):
        return lambda reader, size=1, random_state=None: _rvs(owner.law)(
            reader, owner.place, owner.scale, size, random_state
        )
    law = next((each for each in _STANDARD if getattr(stats, each, None) is owner), None)
    return None if law is None else _rvs(law)


def frozen(owner: object) -> Callable[..., object] | None:
    """scipy.stats.laplace(loc, scale) and its kin."""
    stats = sys.modules.get("scipy.stats")
    law = next((each for each in _STANDARD if getattr(stats, each, None) is owner), None)
    if stats is None or law is None:
        return None

    def handler(reader: Reader, loc: object = 0, scale: object = 1) -> object:
        del reader
        return FrozenLaw(law, loc, scale)

    return handler


def _rvs(law: str) -> Callable[..., object]:
    def handler(
        reader: Reader,
        loc: object = 0,
        scale: object = 1,
        size: object = 1,
        random_state: object = None,
    ) -> object:
        source = _source(reader, random_state)
        if isinstance(source, KnownGenerator):
            reader.refuse(
                "known-noise",
                "the noise has a seed in the code",
                "leave random_state out, or hand rng in",
            )
        many = None if reader.is_public(size) and reader.plain(size) == 1 else size
        unit = draw(reader, source, _STANDARD[law], (), {"size": many})
        return binary(reader, "add", binary(reader, "multiply", scale, unit), loc)

    return handler


def _source(reader: Reader, state: object) -> Generator | KnownGenerator:
    if state is None:
        reader.graph.assumes[GLOBAL] = None
        return Generator("np.random")
    if isinstance(state, Generator | KnownGenerator):
        return state
    return KnownGenerator(reader.attempt(lambda: np.random.RandomState(reader.plain(state))))  # type: ignore[arg-type]


@lower(np.random.RandomState)
def random_state(reader: Reader, seed: object = None) -> object:
    """A generator of the old kind: without a seed its numbers are secret, with one they are public."""
    if seed is None:
        return Generator("a RandomState", OLD_METHODS)
    if not reader.is_public(seed):
        reader.refuse(
            "private-control", "the seed of a generator is computed from the data", "leave it out"
        )
    return KnownGenerator(reader.attempt(lambda: np.random.RandomState(reader.plain(seed))))  # type: ignore[arg-type]


@lower(random.Random, random.SystemRandom)
def python_generator(reader: Reader, seed: object = None) -> object:
    """A generator of Python's random module: without a seed its numbers are secret."""
    if seed is None:
        return Generator("a generator of Python", _PYTHON)
    return reader.refuse(
        "known-noise", "a generator of Python has a seed in the code", "leave the seed out"
    )
