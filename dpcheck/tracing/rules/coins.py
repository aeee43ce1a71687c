"""Coins, uniform integers, random choices: sampling, randomized response, the exponential mechanism."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.core.data import Data
from dpcheck.tracing.facts.boxes import Box
from dpcheck.tracing.values import PRIVATE, SECRET, Aggregate, Coin, Draw, Noise, Released, Traced

if TYPE_CHECKING:
    from dpcheck.tracing.generator import TracedGenerator
    from dpcheck.tracing.tracer import Tracer

UNIFORM_INTEGERS = "uniform integers"


def bernoulli(tracer: Tracer, generator: TracedGenerator, p: Data, size: Data) -> Data:
    """rng.binomial(1, p, size) with one public p."""
    chance = generator._public("probability", p)
    if chance.ndim:
        tracer.unknown("coins of several probabilities")
    dims = generator._shape(size)
    many = math.prod(dims) if PRIVATE not in dims else 1 << 40
    return Coin(tracer, dims, float(chance), tracer.new_ids(many), np.dtype(np.int64))


def integers(
    tracer: Tracer, generator: TracedGenerator, first: int, last: int, size: Data, dtype: Data
) -> Data:
    """rng.integers: uniform over public whole numbers; two of them are a fair coin."""
    dims = generator._shape(size)
    many = math.prod(dims) if PRIVATE not in dims else 1 << 40
    ids = tracer.new_ids(many)
    kind = np.dtype(dtype)
    if (first, last) == (0, 2):
        return Coin(tracer, dims, 0.5, ids, kind)
    box = Box(np.asarray(float(first)), np.asarray(float(last - 1)), False, True)
    return Noise(
        tracer,
        dims,
        UNIFORM_INTEGERS,
        np.asarray(float(last - first)),
        np.asarray(float(first)),
        ids,
        box,
        dtype=kind,
    )


def choice(
    tracer: Tracer, generator: TracedGenerator, a: Data, size: Data, replace: bool, p: Data
) -> Data:
    """rng.choice: places of a batch, or public values by a public law."""
    if isinstance(a, SECRET):
        tracer.refuse(
            "private-control",
            "private values are drawn from, or their number decides what is drawn",
            "draw places out of a public number of rows, or use a Poisson mask",
        )
    if isinstance(p, SECRET):
        return _private_law(tracer, a, size, p)
    if p is None and not replace and np.ndim(a) == 0 and size is not None and np.ndim(size) == 0:
        count, batch = int(a), generator._length(size)
        if batch == PRIVATE:
            tracer.unknown("a choice of a private number of rows")
        return Draw(tracer, batch, count, tracer.new_ids(1))
    if isinstance(a, Traced):
        tracer.unknown("rng.choice of these values")
    values = np.arange(int(a)) if np.ndim(a) == 0 else np.asarray(a)
    dims = generator._shape(size)
    if PRIVATE in dims:
        tracer.unknown("rng.choice once for every record")
    tracer.new_ids(1)
    example = values[np.zeros(dims, dtype=int)]
    if values.dtype.kind in "biuf":
        box = Box(np.asarray(float(values.min())), np.asarray(float(values.max())))
        return Released(tracer, example, box)
    return tracer.unknown("rng.choice of values that are not numbers")


def _private_law(tracer: Tracer, a: Data, size: Data, p: Data) -> Data:
    """rng.choice(k, p=private): the exponential mechanism where p is its softmax."""
    law = getattr(p, "softmax", None)
    if not isinstance(p, Aggregate) or law is None or size is not None:
        tracer.refuse(
            "private-scale",
            "the probabilities of rng.choice are computed from the data",
            "use np.argmax(utility + rng.gumbel(scale=2 * sensitivity / epsilon, size=k))",
        )
    return law(tracer, a)
