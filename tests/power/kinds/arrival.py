"""Statistics of the order in which people came: who differs need not stand last."""

from __future__ import annotations

import numpy as np

from .base import Kinds, unit


def row(name, statistic, rows, wrong, right):
    """A number with too little noise and with enough."""

    def release(scale):
        return lambda x, rng: float(statistic(np.clip(x, 0, 1))) + rng.laplace(scale=scale)

    return Kinds(name, release(wrong), release(right), unit(rows))


def first(x):
    return x[0]


def steps(x):
    return np.abs(np.diff(x)).sum()


def first_above(x):
    return np.argmax(x > 0.5) / len(x)


def running_maximum(x):
    return np.maximum.accumulate(x).sum()


def neighbours_product(x):
    return (x[1:] * x[:-1]).sum()


def longest_streak(x):
    best = run = 0
    for high in x > 0.5:
        run = run + 1 if high else 0
        best = max(best, run)
    return best


ROWS = [
    row("who came first", first, 10, 1 / 10, 1.0),
    row("length of a walk", steps, 10, 1.0, 2.0),
    row("first above a half", first_above, 10, 1 / 10, 1.0),
    row("running maximum", running_maximum, 8, 1.0, 8.0),
    row("product of neighbours", neighbours_product, 8, 1.0, 2.0),
    row("longest streak", longest_streak, 11, 1.0, 11.0),
]
