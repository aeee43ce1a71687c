"""What a library does, and not what its name suggests: ends exchanged, axes reversed, numbers wrapped."""

from __future__ import annotations

import functools
import operator

import numpy as np
import pandas as pd

import dpcheck

from ..base import INF, ROWS, Group, unit  # noqa: TID252 - shared by all groups

AGES = dpcheck.records(age=dpcheck.number(0, 100), city=dpcheck.one_of("A", "B"), rows=ROWS)
UNEQUAL = dpcheck.records(a=dpcheck.number(0, 1), b=dpcheck.number(0, 100), rows=ROWS)
SMALL = dpcheck.records(k=dpcheck.number(1, 2, integer=True), rows=ROWS)
MANY = 5_000  # more numbers than a block of draws
CROWD = dpcheck.records(x=dpcheck.number(0, 1), rows=MANY)

GROUP = Group("library")


def people(last, city="A"):
    return pd.DataFrame({"age": [30.0] * (ROWS - 1) + [last], "city": ["A"] * (ROWS - 1) + [city]})


AGED = {"data": AGES, "form": "pandas", "pair": (people(30.0), people(100.0))}
MOVED = {"data": AGES, "form": "pandas", "pair": (people(30.0), people(30.0, "B"))}


def columns(last):
    x = np.zeros((ROWS, 2))
    x[-1] = (0.0, last)
    return x


WIDE = {"data": UNEQUAL, "pair": (columns(0.0), columns(100.0))}


def few(last):
    return {"k": np.array([1] * (ROWS - 1) + [last])}


WHOLE = {"data": SMALL, "form": "columns", "pair": (few(1), few(2))}
BYTES = np.zeros((ROWS, 2), dtype=np.int8)


def largest(last):
    x = np.full((ROWS, 2), 63, dtype=np.int8)
    x[-1] = last
    return x


WRAPS = {"data": BYTES, "pair": (largest(63), largest(64))}
SHARED = {
    "data": CROWD,
    "pair": (np.zeros(MANY), np.r_[1.0, np.zeros(MANY - 1)]),
    "leak": lambda output: round(float(output[0] - output[1]), 6),
}
HALVED = {"pair": (unit(0.0, 1.0), unit(1.0, 1.0))}
HUNDREDS = 300
FULL = {
    "data": dpcheck.records(x=dpcheck.number(0, 1), rows=HUNDREDS),
    "pair": tuple(np.r_[np.ones(127), np.zeros(172), last] for last in (0.0, 1.0)),
}


@GROUP.wrong(70.0, **AGED)
def clip_with_ends_exchanged(df, rng):
    """pandas takes the smaller one as the lower end, where numpy would give 0 throughout."""
    return df["age"].clip(100, 0).sum() + rng.laplace()


@GROUP.wrong(70.0, **AGED)
def clip_with_names_exchanged(df, rng):
    return df["age"].clip(lower=100, upper=0).sum() + rng.laplace()


@GROUP.wrong(70.0, **AGED)
def table_clipped_with_ends_exchanged(df, rng):
    return df[["age"]].clip(100, 0)["age"].sum() + rng.laplace()


@GROUP.wrong(3.0, **MOVED)
def map_to_numbers_that_wrap(df, rng):
    """Fifty times 2**62 is 2**63 more or less."""
    total = df["city"].map({"A": 2**62, "B": 0}).sum()
    return float(total) / 2**62 + rng.laplace()


@GROUP.wrong(100.0, **WIDE)
def only_rows_are_reversed(x, rng):
    return np.flipud(x)[:, 1].sum() + rng.laplace()


@GROUP.wrong(1.0, **WHOLE)
def reciprocal_of_whole_numbers(d, rng):
    """It is 1 or 0, not 1 or a half."""
    return np.reciprocal(d["k"]).sum() + rng.laplace()


@GROUP.wrong(4.0, **WHOLE)
def reciprocal_method(d, rng):
    return 4 * np.reciprocal(d["k"].astype(np.int32)).sum() + rng.laplace()


@GROUP.wrong(254.0, **WRAPS)
def sums_of_one_vector_that_wrap(x, rng):
    """127 and -128: the sum of two numbers of one vector is not linear in them."""
    c = np.clip(x.max(axis=0), 63, 64)
    return float(c[0] + c[1]) + rng.laplace(), float(c[0]) * 0 + rng.laplace()


@GROUP.wrong(252.0, **WRAPS)
def sum_of_wrapped_sums(x, rng):
    c = np.clip(x.max(axis=0), 63, 64)
    return float(c[0] + c[1]) + 2 * float(c[0]) + rng.laplace()


@GROUP.wrong(254.0, **WRAPS)
def reduced_sum_that_wraps(x, rng):
    c = np.clip(x.max(axis=0), 63, 64)
    return float(functools.reduce(operator.add, [c[0], c[1]])) + rng.laplace()


@GROUP.wrong(255.0, **FULL)
def truths_added_to_a_small_total(x, rng):
    total = np.int8(0)
    for v in x:
        total += v > 0.5
    return float(total) + rng.laplace()


@GROUP.wrong(255.0, **FULL)
def truths_added_from_a_small_start(x, rng):
    return float(sum((v > 0.5 for v in x), np.int8(0))) + rng.laplace()


@GROUP.wrong(255.0, **FULL)
def numbers_of_a_list_added_to_a_small_total(x, rng):
    total = np.int8(0)
    for v in (x > 0.5).tolist():
        total += v
    return float(total) + rng.laplace()


@GROUP.wrong(156.0, **WHOLE)
def table_of_bytes(d, rng):
    """156 and, since 256 is no byte, 0."""
    table = np.array([100, 200], dtype=np.uint8)
    return float((table[d["k"] - 1] + np.uint8(56)).astype(float).sum()) + rng.laplace()


@GROUP.wrong(1.0, **HALVED)
def numpy_of_a_python_number(x, rng):
    """np.add gives 64 bits, which do not wrap around beside a byte."""
    large = np.full(1, 100, dtype=np.int8) + np.add(int((x > 0.5).sum()), 0)
    return np.maximum(large, 127).astype(float) + rng.laplace(size=1)


@GROUP.wrong(1.0, **HALVED)
def clip_of_a_python_number(x, rng):
    large = np.full(1, 100, dtype=np.int8) + np.clip(int((x > 0.5).sum()), 0, 50)
    return np.maximum(large, 127).astype(float) + rng.laplace(size=1)


@GROUP.wrong(INF, **SHARED)
def one_of_many_draws_for_all(x, rng):
    noise = rng.laplace(size=MANY)
    return x + noise[np.zeros(MANY, dtype=int)]


@GROUP.wrong(INF, **SHARED)
def every_second_draw_twice(x, rng):
    noise = rng.laplace(size=MANY)
    return x + noise[np.arange(MANY) // 2 * 2]


@GROUP.wrong(0.98 / 49.5, pair=(unit(0.0), unit(1.0)))
def variance_with_part_of_a_record(x, rng):
    return np.var(x, ddof=0.5) + rng.laplace()


@GROUP.right(100.0, **{**AGED, "pair": (people(0.0), people(100.0))})
def clip_in_order(df, rng):
    return df["age"].clip(0, 100).sum() + rng.laplace()


@GROUP.right(1.0, **FULL)
def truths_added_to_a_total(x, rng):
    total = 0
    for v in x:
        total += v > 0.5
    return float(total) + rng.laplace()


@GROUP.right(100.0, **WIDE)
def all_axes_are_reversed(x, rng):
    return np.flip(x)[:, 0].sum() + rng.laplace()


@GROUP.right(1.0, data=CROWD, pair=(np.zeros(MANY), np.r_[1.0, np.zeros(MANY - 1)]))
def draws_in_another_order(x, rng):
    noise = rng.laplace(size=MANY)
    return x + noise[np.arange(MANY)[::-1]]
