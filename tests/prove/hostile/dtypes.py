"""Types of numbers: sums and casts that truncate, wrap, round or overflow."""

from __future__ import annotations

import numpy as np

import dpcheck

from .base import ROWS, Group


def column(low, high, last, others=None):
    """A description and a pair: all `low`, the last one `low` or `last`."""
    first = np.full(ROWS, float(low if others is None else others))
    second = first.copy()
    second[-1] = last
    return {
        "data": dpcheck.records(x=dpcheck.number(low, high), rows=ROWS),
        "pair": (first, second),
    }


HIGH = {**column(0.9, 1.0, 1.0), "scale": 0.02}  # a sum moves by 0.1, a truncated one by 1
LOW = {**column(0.0, 0.02, 0.02), "scale": 0.02}  # a sum moves by 0.02
WIDE = {**column(0.0, 300.0, 300.0), "scale": 1.0}
AROUND = {**column(127.0, 129.0, 129.0, 127.0), "scale": 2.0}

GROUP = Group("dtypes")


@GROUP.wrong(50.0, **HIGH)
def sum_in_whole_numbers(x, rng):
    return x.sum(dtype=np.int64) + rng.laplace(scale=0.02)


@GROUP.wrong(50.0, **HIGH)
def np_sum_in_whole_numbers(x, rng):
    return np.sum(x, dtype=int) + rng.laplace(scale=0.02)


@GROUP.wrong(50.0, **HIGH)
def reduced_in_whole_numbers(x, rng):
    return np.add.reduce(x, dtype=np.int64) + rng.laplace(scale=0.02)


@GROUP.wrong(50.0, **{**column(0.9, 1.0, 0.9, 1.0), "scale": 0.02})
def mean_in_whole_numbers(x, rng):
    """The mean of fifty ones is 1; of 49 and a truncated one it is truncated too."""
    return np.mean(x, dtype=np.int64) + rng.laplace(scale=0.02)


@GROUP.wrong(50.0, **HIGH)
def cumulative_sum_in_whole_numbers(x, rng):
    return np.cumsum(x, dtype=np.int64)[-1] + rng.laplace(scale=0.02)


@GROUP.wrong(50.0, **HIGH)
def cast_to_whole_numbers(x, rng):
    return x.astype(int).sum() + rng.laplace(scale=0.02)


@GROUP.wrong(50.0, **HIGH)
def cast_by_name(x, rng):
    return x.astype("int32").sum() + rng.laplace(scale=0.02)


@GROUP.wrong(50.0, **HIGH)
def array_of_whole_numbers(x, rng):
    return np.array(x, dtype=np.int64).sum() + rng.laplace(scale=0.02)


@GROUP.wrong(50.0, **HIGH)
def fixed(x, rng):
    return np.fix(x).sum() + rng.laplace(scale=0.02)


@GROUP.wrong(50.0, **HIGH)
def truncated(x, rng):
    return np.trunc(x).sum() + rng.laplace(scale=0.02)


@GROUP.wrong(50.0, **HIGH)
def floored(x, rng):
    return np.floor(x).sum() + rng.laplace(scale=0.02)


@GROUP.wrong(50.0, **HIGH)
def floor_division(x, rng):
    return (x // 1).sum() + rng.laplace(scale=0.02)


@GROUP.wrong(45.0, **HIGH)
def remainder(x, rng):
    return (x % 1).sum() + rng.laplace(scale=0.02)


@GROUP.wrong(45.0, **HIGH)
def fractional_part(x, rng):
    return np.modf(x)[0].sum() + rng.laplace(scale=0.02)


@GROUP.wrong(50.0, **LOW)
def ceiling(x, rng):
    return np.ceil(x).sum() + rng.laplace(scale=0.02)


@GROUP.wrong(50.0, **LOW)
def cast_to_bool(x, rng):
    return x.astype(bool).sum() + rng.laplace(scale=0.02)


@GROUP.wrong(50.0, **LOW)
def sum_in_bool(x, rng):
    return x.sum(dtype=bool) + rng.laplace(scale=0.02)


@GROUP.wrong(50.0, **LOW)
def signs(x, rng):
    return np.sign(x).sum() + rng.laplace(scale=0.02)


@GROUP.wrong(50.0, **LOW)
def heaviside(x, rng):
    return np.heaviside(x, 0.0).sum() + rng.laplace(scale=0.02)


@GROUP.wrong(50.0, **LOW)
def rounded_up(x, rng):
    return np.round(x + 0.49).sum() + rng.laplace(scale=0.02)


@GROUP.wrong(50.0, **LOW)
def rint(x, rng):
    return np.rint(x + 0.49).sum() + rng.laplace(scale=0.02)


@GROUP.wrong(50.0, **LOW)
def around(x, rng):
    return np.around(x + 0.49, 0).sum() + rng.laplace(scale=0.02)


@GROUP.wrong(50.0, **LOW)
def logical_not_twice(x, rng):
    return np.logical_not(np.logical_not(x)).sum() + rng.laplace(scale=0.02)


@GROUP.wrong(50.0, **LOW)
def counted(x, rng):
    return np.count_nonzero(x) + rng.laplace(scale=0.02)


@GROUP.wrong(127.0, **AROUND)
def cast_that_wraps(x, rng):
    """129 is -127 in eight bits: the sum moves by 254."""
    return x.astype(np.int64).astype(np.int8).astype(float).sum() + rng.laplace(scale=2.0)


@GROUP.wrong(127.0, **AROUND)
def cast_with_a_view(x, rng):
    bytes_ = x.astype(np.int64).astype(np.uint8).view(np.int8)
    return bytes_.astype(float).sum() + rng.laplace(scale=2.0)


@GROUP.wrong(208.0, **WIDE)
def sum_that_wraps(x, rng):
    """Fifty times 4 is 200; with 304 in place of one of them it is 244 more than that modulo 256."""
    total = (x.astype(np.int64) + 4).sum(dtype=np.uint8).astype(float)
    return np.where(total == 200.0, 0.0, 208.0) + rng.laplace()


@GROUP.wrong(50.0, **{**column(0.0, 65535.0, 65535.0), "scale": 1.0})
def half_precision(x, rng):
    """65535 is infinite in half precision."""
    return 50.0 * np.isinf(x.astype(np.float16)).sum() + rng.laplace()


@GROUP.wrong(50.0, **{**column(0.0, 1.0, 1e-4), "scale": 1.0})
def half_precision_of_a_product(x, rng):
    """1e-8 is 0 in half precision, and 0/0 is NaN; 5e11 times the exact one is 5000, cut to 50."""
    small = (x * 1e-4).astype(np.float16).astype(float)
    return np.where((x > 0) & (small == 0), 50.0, 0.0).sum() + rng.laplace()


@GROUP.wrong(50.0, **{**column(0.0, 1.0, 1.0), "scale": 1.0})
def product_that_wraps(x, rng):
    """2**63 is -2**63 in 64 bits: below 0, where an endless line has no place."""
    return 50.0 * (((x * 2).astype(np.int64) * 2**62) < 0).sum() + rng.laplace()


@GROUP.right(1.0, **column(0.0, 1.0, 1.0))
def counts_in_whole_numbers(x, rng):
    """Answers of yes and no are counted exactly."""
    return (x > 0.5).sum(dtype=np.int64) + rng.laplace()
