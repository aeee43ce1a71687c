"""Functions of libraries that write into their arguments, share memory with them, or do not."""

from __future__ import annotations

import numpy as np
import pandas as pd

import dpcheck

from .base import ROWS, UNIT, Group

GROUP = Group("written")
PAIR = dpcheck.records(x=dpcheck.number(0, 1), y=dpcheck.number(0, 1), rows=ROWS)


def frame(last):
    return pd.DataFrame({"x": np.r_[np.zeros(ROWS - 1), last], "y": np.zeros(ROWS)})


TABLE = {"data": PAIR, "form": "pandas", "pair": (frame(0.0), frame(1.0))}


@GROUP.wrong(50.0)
def placed(x, rng):
    weights = np.zeros(1)
    np.place(weights, weights == 0, [50.0])
    return weights * x.sum() + rng.laplace(size=1)


@GROUP.wrong(50.0)
def total_written(x, rng):
    weights = np.zeros(1)
    np.sum(np.full((2, 1), 25.0), axis=0, out=weights)
    return weights * x.sum() + rng.laplace(size=1)


@GROUP.wrong(50.0)
def mean_written(x, rng):
    weights = np.zeros(1)
    np.mean(np.full((2, 1), 50.0), axis=0, out=weights)
    return weights * x.sum() + rng.laplace(size=1)


@GROUP.wrong(50.0)
def largest_written(x, rng):
    weights = np.zeros(1)
    np.max(np.full((2, 1), 50.0), 0, weights)
    return weights * x.sum() + rng.laplace(size=1)


@GROUP.wrong(50.0)
def truth_written(x, rng):
    weights = np.zeros(1, dtype=bool)
    np.any(np.full((2, 1), True), axis=0, out=weights)
    return 50.0 * weights * x.sum() + rng.laplace(size=1)


@GROUP.wrong(50.0)
def product_written_by_place(x, rng):
    weights = np.zeros(1)
    np.cumprod(np.array([50.0]), 0, float, weights)
    return weights * x.sum() + rng.laplace(size=1)


@GROUP.wrong(50.0)
def root_written_by_place(x, rng):
    weights = np.zeros(1)
    np.cosh(np.zeros(1), weights)
    return 50.0 * weights * x.sum() + rng.laplace(size=1)


@GROUP.wrong(50.0)
def parts_of_a_split(x, rng):
    weights = np.zeros(2)
    first, _ = np.split(weights, 2)
    first += 50.0
    return weights * x.sum() + rng.laplace(size=2)


@GROUP.wrong(50.0)
def broadcast_together(x, rng):
    weights = np.zeros(2)
    (same,) = np.broadcast_arrays(weights)
    same[0] = 50.0
    return weights * x.sum() + rng.laplace(size=2)


@GROUP.wrong(50.0)
def source_of_a_type_without_a_copy(x, rng):
    first = x * 1.0
    second = first.astype(float, copy=False)
    first *= 50.0
    return second.sum() + rng.laplace()


@GROUP.wrong(100.0)
def source_of_a_broadcast(x, rng):
    weights = np.ones(1)
    wide = np.broadcast_to(weights, (2,))
    weights += 49.0
    return wide * x.sum() + rng.laplace(size=2)


@GROUP.wrong(50.0, scale=0.02)
def flattened_copy(x, rng):
    first = x * 1.0
    second = first.flatten()
    second *= 0.02
    return first.sum() + rng.laplace(scale=0.02)


@GROUP.wrong(
    26.0,
    data=PAIR,
    form="array",
    pair=(frame(0.0).to_numpy(), frame(1.0).to_numpy()),
)
def columns_first(x, rng):
    table = np.outer(np.array([1.0, 25.0]), x.sum(axis=0))
    return table.ravel("F")[:2] + rng.laplace(size=2)


@GROUP.wrong(50.0)
def list_as_an_array(x, rng):
    weights = np.atleast_1d([10.0])
    weights = weights * 5
    return weights[0] * x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def first_record_overwritten(x, rng):
    magnified = 50.0 * x
    magnified[0] = 0.0
    return magnified.sum() + rng.laplace()


@GROUP.wrong(50.0, **TABLE)
def column_twice(df, rng):
    return 25.0 * df[["x", "x"]].to_numpy().sum() + rng.laplace()


@GROUP.wrong(50.0, **TABLE)
def records_dropped(df, rng):
    return 50.0 * df.drop([0]).x.sum() + rng.laplace()


@GROUP.right(50.0, data=UNIT)
def written_where_it_is_followed(x, rng):
    weights = np.zeros(1)
    np.add(weights, 50.0, out=weights)
    return weights[0] * x.sum() + rng.laplace()


@GROUP.right(50.0, scale=0.02)
def flattened_copy_charged(x, rng):
    first = x * 1.0
    second = first.flatten()
    second *= 0.02
    return first.sum() + second.sum() * 0.0 + rng.laplace(scale=0.02)
