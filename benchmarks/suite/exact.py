"""Functions whose epsilon is known exactly: twelve mechanisms, each seen in five ways, at any epsilon.

Post-processing that can be undone keeps the loss, so every shape has the epsilon of its mechanism. One way
draws from a generator that is seeded by a hash, where following the noise ends.
"""

from __future__ import annotations

import datetime
import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr

import dpcheck
from dpcheck.core.records import Records
from dpcheck.core.relation import Relation

CLOSE = dpcheck.relation("answers", norm="inf", bound=1)
BIT = ((0.0, 1.0),)


@dataclass(frozen=True)
class Exact:
    """A function, its exact (epsilon, delta), and where it is attained."""

    name: str
    function: Callable[..., Any]
    epsilon: float
    delta: float = 0.0
    pairs: tuple[tuple[Any, Any], ...] = BIT
    records: Records | None = None
    adjacency: str | Relation = "replace-one"


def laplace(eps):
    return lambda d, rng: d + rng.laplace(scale=1 / eps)


def geometric(eps):
    stay = -math.expm1(-eps)
    return lambda d, rng: int(d) + int(rng.geometric(stay)) - int(rng.geometric(stay))


def response(eps):
    keep = math.exp(eps) / (1 + math.exp(eps))
    return lambda d, rng: d if rng.random() < keep else 1 - d


def response_of_four(eps):
    """One of four values: kept, or one of all four evenly."""
    kept = (math.exp(eps) - 1) / (math.exp(eps) + 3)
    return lambda d, rng: int(d) if rng.random() < kept else int(rng.integers(4))


def leaky(eps, delta=0.05):
    """Gives the data away with probability delta exactly."""
    inner = response(eps)
    return lambda d, rng: 10 + d if rng.random() < delta else inner(d, rng)


def failing(eps, delta=0.05):
    """On one side it fails with probability delta."""
    inner = response(eps)

    def run(d, rng):
        if rng.random() < delta and d == 1:
            raise ValueError("not today")
        return inner(d, rng)

    return run


def sampled(eps, rate=0.4):
    """Subsampled by hand: the record counts with probability `rate`."""
    inner = math.log1p(math.expm1(eps) / rate)
    return lambda d, rng: d * (rng.random() < rate) + rng.laplace(scale=1 / inner)


def gaussian(eps, delta=0.05):
    """At exactly delta: the scale solves the equation of the normal curve."""

    def curve(mu):
        return ndtr(mu / 2 - eps / mu) - math.exp(eps) * ndtr(-mu / 2 - eps / mu)

    low, high = 1e-3, 60.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if curve(middle) <= delta else (low, middle)
    return lambda d, rng: d + rng.normal(scale=1 / low)


def uniform(eps, delta=0.05):
    """Either noise of bounded range, which shows the side with probability delta, or a response."""
    inner = response(eps)
    return lambda d, rng: 5 + d * 2 + rng.random() if rng.random() < delta else inner(d, rng)


def atoms(eps):
    """Laplace noise cut off at both ends, which leaves atoms there."""
    return lambda d, rng: float(np.clip(d + rng.laplace(scale=1 / eps), -0.5, 1.5))


def heavy(eps):
    """Tails as heavy as a cube of exponentials'."""
    return lambda d, rng: (d + rng.laplace(scale=1 / eps)) ** 3


def vector(eps):
    """Three numbers, of which two move."""
    return lambda d, rng: [d + rng.laplace(scale=2 / eps), 7.0, 1 - d + rng.laplace(scale=2 / eps)]


def clipped_sum(eps):
    return lambda d, rng: float(np.clip(d, 0, 1).sum()) + rng.laplace(scale=1 / eps)


def place_of_maximum(eps):
    """Exponential noise; the epsilon is a supremum over answers far apart."""
    return lambda d, rng: int(
        np.argmax(np.asarray(d) + rng.exponential(scale=2 / eps, size=len(d)))
    )


SEARCHED = dpcheck.records(x=dpcheck.number(0, 1))
FOUR = dpcheck.records(answer=dpcheck.number(), rows=4)
# How it is made, its delta, and where: on a bit, searched among records, searched among answers.
MADE: dict[str, tuple[Callable[[float], Callable[..., Any]], float, str]] = {
    "laplace": (laplace, 0.0, "bit"),
    "geometric": (geometric, 0.0, "bit"),
    "response": (response, 0.0, "bit"),
    "response of four": (response_of_four, 0.0, "bit"),
    "leaky": (leaky, 0.05, "bit"),
    "failing": (failing, 0.05, "bit"),
    "sampled": (sampled, 0.0, "bit"),
    "gaussian": (gaussian, 0.05, "bit"),
    "uniform": (uniform, 0.05, "bit"),
    "atoms": (atoms, 0.0, "bit"),
    "heavy tails": (heavy, 0.0, "bit"),
    "vector": (vector, 0.0, "bit"),
    "clipped sum": (clipped_sum, 0.0, "records"),
    "place of the maximum": (place_of_maximum, 0.0, "answers"),
}


def hidden(function):
    def run(d, rng):
        digest = hashlib.sha256(rng.bytes(16)).digest()
        return function(d, np.random.default_rng(int.from_bytes(digest[:8], "big")))

    return run


def in_text(function):
    return lambda d, rng: f"the answer is {function(d, rng)!r}"


def nested(function):
    return lambda d, rng: {"kind": "x", "found": [{"value": function(d, rng)}, None]}


def dated(function):
    """The date says the sign, the seconds a part of the size; a coarser view of the output."""
    start = datetime.datetime(2024, 1, 1)

    def run(d, rng):
        found = function(d, rng)
        size = float(np.sum(found))
        return start + datetime.timedelta(hours=float(np.clip(size, -1e4, 1e4)))

    return run


WAYS = {
    "as it is": lambda f: f,
    "hidden": hidden,
    "in text": in_text,
    "nested": nested,
    "dated": dated,
}


def shape(made: str, way: str, eps: float) -> Exact:
    """A mechanism of this epsilon, seen in this way; dates may show less."""
    make, delta, where = MADE[made]
    function = WAYS[way](make(eps))
    name = f"{made}, {way}"
    if where == "records":
        return Exact(name, function, eps, delta, (), SEARCHED, "add-remove")
    if where == "answers":
        return Exact(name, function, eps, delta, (), FOUR, CLOSE)
    return Exact(name, function, eps, delta)


SHAPES = [(made, way) for made in MADE for way in WAYS]
