"""Randomness that goes past the traced generator would look like a public constant: it is noticed."""

from __future__ import annotations

import os
import pickle
import random
import secrets
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING
from unittest import mock

import numpy as np

from dpcheck.core.data import Data
from dpcheck.replay.sources.generators import living_generators, state_of
from dpcheck.tracing.generator import TracedGenerator

if TYPE_CHECKING:
    from dpcheck.tracing.tracer import Tracer

_ENTROPY = (
    *((os, name) for name in ("urandom", "getrandom") if hasattr(os, name)),
    *((secrets, name) for name in ("randbelow", "randbits", "choice", "token_bytes")),
    *((time, name) for name in ("time", "time_ns", "perf_counter", "monotonic")),
)


@contextmanager
def watched(tracer: Tracer) -> Iterator[None]:
    """Refuse if something random was read that is not a symbol."""
    generators = [g for g in living_generators() if type(g) is not TracedGenerator]
    before = [state_of(g) for g in generators]
    standard, legacy = random.getstate(), _legacy()
    with ExitStack() as stack:
        for owner, name in _ENTROPY:
            stack.enter_context(mock.patch.object(owner, name, _refusing(tracer, owner, name)))
        made = np.random.default_rng
        stack.enter_context(mock.patch.object(np.random, "default_rng", _generators(tracer, made)))
        yield
    moved = any(
        state_of(g) != old
        for g, old in zip(generators, before, strict=True)
        if g is not tracer.examples
    )
    if tracer.refusal is None and (moved or random.getstate() != standard or _legacy() != legacy):
        tracer.refuse(
            "unknown-noise",
            "random numbers are drawn from a generator that is not followed",
            "draw all of them from the numpy generator that is handed in",
        )


def _legacy() -> bytes:
    return pickle.dumps(np.random.get_state(legacy=False))  # noqa: NPY002 - looked at, not drawn from


def _refusing(tracer: Tracer, owner: Data, name: str) -> Data:
    def refuse(*_: Data, **__: Data) -> Data:
        tracer.refuse(
            "unknown-noise",
            f"{owner.__name__}.{name}() is read, which differs from run to run",
            "draw from the numpy generator that is handed in",
        )

    return refuse


def _generators(tracer: Tracer, made: Data) -> Data:
    def default_rng(seed: Data = None) -> Data:
        if isinstance(seed, TracedGenerator):
            return seed
        if seed is not None:
            tracer.refuse(
                "fixed-seed",
                "noise is drawn from a generator whose seed is known",
                "take the generator as an argument",
            )
        return TracedGenerator(tracer)

    default_rng.__doc__ = made.__doc__
    return default_rng
