"""Loops, generators and iterators over private values."""

from __future__ import annotations

import functools
import itertools
import operator

import numpy as np

from .base import Group

GROUP = Group("iteration")


@GROUP.wrong(50.0)
def first_that_is_large(x, rng):
    return next((50.0 for v in x if v > 0.5), 0.0) + rng.laplace()


@GROUP.wrong(50.0)
def counted_by_a_generator(x, rng):
    return 50.0 * sum(1 for v in x if v > 0.5) + rng.laplace()


@GROUP.wrong(50.0)
def counted_by_filter(x, rng):
    return 50.0 * len(list(filter(None, x))) + rng.laplace()


@GROUP.wrong(50.0)
def taken_while(x, rng):
    return 50.0 * sum(1 for _ in itertools.takewhile(lambda v: v < 0.5, x)) + rng.laplace()


@GROUP.wrong(50.0)
def dropped_while(x, rng):
    return 50.0 * len(list(itertools.dropwhile(lambda v: v < 0.5, x))) + rng.laplace()


@GROUP.wrong(50.0)
def compressed(x, rng):
    return 50.0 * sum(1 for _ in itertools.compress(range(len(x)), x)) + rng.laplace()


@GROUP.wrong(50.0)
def grouped(x, rng):
    return 50.0 * sum(1 for _ in itertools.groupby(x)) + rng.laplace()


@GROUP.wrong(50.0)
def any_of_them(x, rng):
    return 50.0 * any(x) + rng.laplace()


@GROUP.wrong(50.0)
def all_of_them(x, rng):
    return 50.0 * all(v < 0.5 for v in x) + rng.laplace()


@GROUP.wrong(50.0)
def any_of_the_array(x, rng):
    return 50.0 * x.any() + rng.laplace()


@GROUP.wrong(50.0)
def reduced(x, rng):
    return 50.0 * functools.reduce(lambda a, b: a if a > b else b, x) + rng.laplace()


@GROUP.wrong(50.0)
def reduced_by_max(x, rng):
    return 50.0 * functools.reduce(max, x) + rng.laplace()


@GROUP.wrong(50.0)
def reduced_by_addition(x, rng):
    return 50.0 * functools.reduce(operator.add, x) + rng.laplace()


@GROUP.wrong(50.0)
def accumulated(x, rng):
    return 50.0 * list(itertools.accumulate(x, max))[-1] + rng.laplace()


@GROUP.wrong(50.0)
def last_of_a_loop(x, rng):
    """Python keeps the last record after the loop."""
    for value in x:  # noqa: B007
        pass
    return 50.0 * value + rng.laplace()


@GROUP.wrong(50.0)
def early_exit(x, rng):
    seen = 0
    for value in x:
        if value > 0.5:
            seen = 50
            break
    return seen + rng.laplace()


@GROUP.wrong(50.0)
def loop_with_an_else(x, rng):
    for value in x:
        if value > 0.5:
            break
    else:
        return 50.0 + rng.laplace()
    return 0.0 + rng.laplace()


@GROUP.wrong(50.0)
def while_loop(x, rng):
    steps = 0
    while steps < 50 and x.sum() > 0.5:
        steps += 1
    return steps + rng.laplace()


@GROUP.wrong(50.0)
def mapped(x, rng):
    return sum(map(lambda v: 50 if v > 0.5 else 0, x)) + rng.laplace()  # noqa: C417


@GROUP.wrong(50.0)
def vectorized(x, rng):
    return np.vectorize(lambda v: 50.0 if v > 0.5 else 0.0)(x).sum() + rng.laplace()


@GROUP.wrong(50.0)
def from_python_function(x, rng):
    return float(np.frompyfunc(lambda v: 50.0 if v > 0.5 else 0.0, 1, 1)(x).sum()) + rng.laplace()


@GROUP.wrong(50.0)
def along_an_axis(x, rng):
    return np.apply_along_axis(lambda v: 50.0 * v.max(), 0, x) + rng.laplace()


@GROUP.wrong(50.0)
def from_an_iterator(x, rng):
    return np.fromiter((50.0 * v for v in x), float).sum() + rng.laplace()


def _running(values):
    total = 0.0
    for value in values:
        total = total + value
        yield total


@GROUP.wrong(50.0)
def generator_function(x, rng):
    return 50.0 * list(_running(x))[-1] + rng.laplace()


def _lazy(x):
    yield 0.0
    yield 50.0 * x.sum()


@GROUP.wrong(50.0)
def generator_that_looks_later(x, rng):
    later = _lazy(x)
    next(later)
    return next(later) + rng.laplace()


@GROUP.wrong(50.0)
def generator_over_what_changes(x, rng):
    later = (v for v in [x.sum()])
    x *= 50.0
    return next(later) * 0.0 + x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def sent_to_a_generator(x, rng):
    def keeper():
        kept = yield
        yield 50.0 * kept

    held = keeper()
    next(held)
    return held.send(x.sum()) + rng.laplace()


@GROUP.wrong(50.0)
def over_places(x, rng):
    return sum(50 for i in range(len(x)) if x[i] > 0.5) + rng.laplace()


@GROUP.wrong(50.0)
def by_nditer(x, rng):
    return 50.0 * sum(float(v) for v in np.nditer(x)) + rng.laplace()


@GROUP.wrong(50.0)
def unpacked(x, rng):
    *_, last = x
    return 50.0 * last + rng.laplace()


@GROUP.right(4.0)
def public_loop(x, rng):
    """Four rounds, each a release of its own."""
    return np.stack([x.sum() + rng.laplace() for _ in range(4)])
