"""Random streams that depend on what is run, never on who runs it."""

from __future__ import annotations

import zlib

import numpy as np


def stream(seed: int, *path: int | str) -> np.random.SeedSequence:
    """The seed of the batch at `path`, for example (part, stage, pair, batch).

    Guarantee: the same for any number of workers and any backend; distinct paths of numbers give
    independent streams (numpy's spawn keys). Words in a path are mapped to numbers by CRC-32.

    >>> stream(7, "test", 0, 3).spawn_key
    (3632233996, 0, 3)
    """
    key = tuple(zlib.crc32(step.encode()) if isinstance(step, str) else step for step in path)
    return np.random.SeedSequence(seed, spawn_key=key)


def generator(sequence: np.random.SeedSequence) -> np.random.Generator:
    """A fast, splittable generator for one batch."""
    return np.random.Generator(np.random.PCG64DXSM(sequence))
