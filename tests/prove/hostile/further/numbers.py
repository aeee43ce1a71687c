"""Numbers that wrap, jump or are missing: small types, truth values, steps of aggregates, NaN."""

from __future__ import annotations

import numpy as np

from ..base import Group  # noqa: TID252 - shared by all groups
from .columns import column

GROUP = Group("numbers")
BYTES = np.zeros(300, np.uint8)


def bits(n, last):
    x = np.zeros(300, np.uint8)
    x[:n] = 1
    x[-1] = last
    return x


FULL_BYTE = (bits(255, 0), bits(255, 1))

SIGNED = np.zeros(50, np.int8)

NAN = np.nan


def with_last(v):
    return (np.full(50, 0.5), np.r_[np.full(49, 0.5), v])


@GROUP.right(255.0, data=BYTES, pair=FULL_BYTE)
def sum_u8(x, rng):
    return (x > 0).astype(np.uint8).sum(dtype=np.uint8) + rng.laplace()


@GROUP.wrong(255.0, data=BYTES, pair=FULL_BYTE)
def builtin_sum_u8(x, rng):
    return float(sum((x > 0).astype(np.uint8))) + rng.laplace()


@GROUP.wrong(255.0, data=BYTES, pair=FULL_BYTE)
def dot_u8(x, rng):
    b = np.minimum(x, 1)
    return float(b @ b) + rng.laplace()


@GROUP.wrong(255.0, data=BYTES, pair=FULL_BYTE)
def einsum_u8(x, rng):
    return float(np.einsum("i->", np.minimum(x, 1))) + rng.laplace()


@GROUP.wrong(255.0, data=BYTES, pair=FULL_BYTE)
def vdot_u8(x, rng):
    b = np.minimum(x, 1)
    return float(np.vdot(b, b)) + rng.laplace()


@GROUP.wrong(255.0, data=BYTES, pair=(column(0, 0, 300, np.uint8), column(1, 0, 300, np.uint8)))
def minus_one(x, rng):
    return (
        float((np.minimum(x, 1) - np.uint8(1)).max())
        + (np.minimum(x, 1) - np.uint8(1)).astype(int).sum() * 1.0
        + rng.laplace()
    )


@GROUP.wrong(255.0, data=BYTES, pair=(column(0, 0, 300, np.uint8), column(1, 0, 300, np.uint8)))
def negative_u8(x, rng):
    return float((-np.minimum(x, 1)).sum()) + rng.laplace()


@GROUP.wrong(255.0, data=BYTES, pair=(column(0, 0, 300, np.uint8), column(1, 0, 300, np.uint8)))
def subtract_u8(x, rng):
    return float(np.subtract(np.uint8(0), np.minimum(x, 1)).astype(float).sum()) + rng.laplace()


@GROUP.wrong(255.0, data=BYTES, pair=(column(0, 0, 300, np.uint8), column(255, 0, 300, np.uint8)))
def invert_u8(x, rng):
    return float((~x).astype(float).sum()) + rng.laplace()


@GROUP.wrong(128.0, data=SIGNED, pair=(column(0, 0, 50, np.int8), column(-128, 0, 50, np.int8)))
def abs_i8(x, rng):
    return float(np.abs(x).astype(float).sum()) + rng.laplace()


@GROUP.wrong(128.0, data=SIGNED, pair=(column(0, 0, 50, np.int8), column(-128, 0, 50, np.int8)))
def clipped_abs_i8(x, rng):
    return float(np.minimum(np.abs(x), 1).astype(float).sum()) + rng.laplace()


@GROUP.wrong(128.0, data=SIGNED, pair=(column(0, 0, 50, np.int8), column(-128, 0, 50, np.int8)))
def neg_i8(x, rng):
    return float(np.minimum(-x, 0).astype(float).sum()) + rng.laplace()


@GROUP.wrong(100.0, data=SIGNED, pair=(column(0, 0, 50, np.int8), column(1, 0, 50, np.int8)))
def times_i8(x, rng):
    return float((np.clip(x, 0, 1) * np.int8(100) * np.int8(1)).astype(float).sum()) + rng.laplace()


@GROUP.wrong(44.0, data=SIGNED, pair=(column(0, 0, 50, np.int8), column(3, 0, 50, np.int8)))
def times_wrap_i8(x, rng):
    return float((np.clip(x, 0, 3) * np.int8(100)).astype(float).sum()) + rng.laplace()


@GROUP.wrong(255.0, data=SIGNED, pair=(column(127, 0, 50, np.int8), column(-128, 0, 50, np.int8)))
def plain_i8(x, rng):
    return float(x.astype(float).sum()) + rng.laplace()


@GROUP.wrong(129.0, data=SIGNED, pair=(column(0, 0, 50, np.int8), column(127, 0, 50, np.int8)))
def plus_one_i8(x, rng):
    return float(np.minimum(x + np.int8(1), 1).astype(float).sum()) + rng.laplace()


@GROUP.wrong(128.0, data=SIGNED, pair=(column(0, 0, 50, np.int8), column(-128, 0, 50, np.int8)))
def floordiv_i8(x, rng):
    return float((x // np.int8(-1)).astype(float).sum()) + rng.laplace()


@GROUP.wrong(100.0, data=SIGNED, pair=(column(0, 0, 50, np.int8), column(10, 0, 50, np.int8)))
def power_i8(x, rng):
    return float((np.clip(x, 0, 10) ** 2).astype(float).sum()) + rng.laplace()


@GROUP.wrong(112.0, data=SIGNED, pair=(column(0, 0, 50, np.int8), column(20, 0, 50, np.int8)))
def power_wrap_i8(x, rng):
    return float((np.clip(x, 0, 20) ** 2).astype(float).sum()) + rng.laplace()


@GROUP.wrong(10.0, data=np.zeros(50, bool), pair=(column(0, 0, 50, bool), column(1, 0, 50, bool)))
def einsum_bool(x, rng):
    return 10 * float(np.einsum("i->", x)) + rng.laplace()


@GROUP.wrong(
    50.0, data=np.zeros(50, bool), pair=(column(0, 0, 50, bool), column(1, 0, 50, bool)), scale=0.02
)
def any_bool(x, rng):
    return float(np.any(x)) + rng.laplace(scale=0.02)


@GROUP.wrong(
    50.0, data=np.zeros(50, bool), pair=(column(0, 0, 50, bool), column(1, 0, 50, bool)), scale=0.02
)
def all_bool(x, rng):
    return float(np.all(~x)) + rng.laplace(scale=0.02)


@GROUP.wrong(
    50.0, data=np.zeros(50, bool), pair=(column(0, 0, 50, bool), column(1, 0, 50, bool)), scale=0.02
)
def bool_sum_bool(x, rng):
    return float(x.sum(dtype=bool)) + rng.laplace(scale=1 / 50)


@GROUP.wrong(
    50.0, data=np.zeros(50, bool), pair=(column(0, 0, 50, bool), column(1, 0, 50, bool)), scale=0.02
)
def bool_max(x, rng):
    return float(x.max()) + rng.laplace(scale=1 / 50)


@GROUP.wrong(
    50.0, data=np.zeros(50, bool), pair=(column(0, 0, 50, bool), column(1, 0, 50, bool)), scale=0.02
)
def mean_astype_bool(x, rng):
    return float(x.mean().astype(bool)) + rng.laplace(scale=0.02)


@GROUP.wrong(1.0, data=np.zeros(50, bool), pair=(column(0, 0, 50, bool), column(1, 0, 50, bool)))
def count_bool(x, rng):
    return x.sum() + rng.laplace()


@GROUP.wrong(2.0, data=np.zeros(50, bool), pair=(column(0, 0, 50, bool), column(1, 0, 50, bool)))
def plus_bool(x, rng):
    return 2 * float((x + x).sum()) + rng.laplace()


@GROUP.wrong(2.0, data=np.zeros(50, bool), pair=(column(0, 0, 50, bool), column(1, 0, 50, bool)))
def times_two(x, rng):
    return float((x * 2).sum()) + rng.laplace()


@GROUP.wrong(2.0, data=np.zeros(50, bool), pair=(column(0, 0, 50, bool), column(1, 0, 50, bool)))
def invert_bool_as_int(x, rng):
    return float((~x.astype(int) * 2).sum()) + rng.laplace()


@GROUP.wrong(1.0, pair=(np.full(50, 0.2), np.r_[np.full(49, 0.2), 0.0]), scale=0.02)
def mod1(x, rng):
    return x.mean() * 5 % 1.0 + rng.laplace(scale=0.02)


@GROUP.wrong(1.0, pair=(np.full(50, 0.2), np.r_[np.full(49, 0.2), 0.0]), scale=0.02)
def remainder(x, rng):
    return np.remainder(x.mean() * 5, 1.0) + rng.laplace(scale=0.02)


@GROUP.wrong(100.0, pair=(np.full(50, 0.2), np.r_[np.full(49, 0.2), 0.0]), scale=0.02)
def sign(x, rng):
    return np.sign(x.mean() - 0.199) + rng.laplace(scale=0.02)


@GROUP.wrong(50.0, pair=(np.full(50, 0.2), np.r_[np.full(49, 0.2), 0.0]), scale=0.02)
def signbit(x, rng):
    return float(np.signbit(x.mean() - 0.199)) + rng.laplace(scale=0.02)


@GROUP.wrong(50.0, pair=(np.full(50, 0.2), np.r_[np.full(49, 0.2), 0.0]), scale=0.02)
def compare(x, rng):
    return float(x.mean() > 0.199) + rng.laplace(scale=0.02)


@GROUP.wrong(50.0, pair=(np.full(50, 0.2), np.r_[np.full(49, 0.2), 0.0]), scale=0.02)
def where_agg(x, rng):
    return float(np.where(x.mean() > 0.199, 1, 0)) + rng.laplace(scale=0.02)


@GROUP.wrong(50.0, pair=(np.full(50, 0.2), np.r_[np.full(49, 0.2), 0.0]), scale=0.02)
def searchsorted_agg(x, rng):
    return float(np.searchsorted([0.1, 0.199, 0.3], x.mean())) + rng.laplace(scale=0.02)


@GROUP.wrong(50.0, pair=(np.full(50, 0.2), np.r_[np.full(49, 0.2), 0.0]), scale=0.02)
def digitize_agg(x, rng):
    return float(np.digitize(x.mean(), [0.1, 0.199, 0.3])) + rng.laplace(scale=0.02)


@GROUP.wrong(50.0, pair=(np.full(50, 0.2), np.r_[np.full(49, 0.2), 0.0]), scale=0.02)
def rint(x, rng):
    return np.rint(x.mean() * 5 - 0.49) + rng.laplace(scale=0.02)


@GROUP.wrong(50.0, pair=(np.full(50, 0.2), np.r_[np.full(49, 0.2), 0.0]), scale=0.02)
def np_round(x, rng):
    return np.round(x.mean() * 5 - 0.49) + rng.laplace(scale=0.02)


@GROUP.wrong(50.0, pair=(np.full(50, 0.2), np.r_[np.full(49, 0.2), 0.0]), scale=0.02)
def round_tens(x, rng):
    return np.round(x.sum() - 4.9, -1) / 10 + rng.laplace(scale=0.02)


@GROUP.wrong(50.0, pair=(np.full(50, 0.2), np.r_[np.full(49, 0.2), 0.0]), scale=0.02)
def around(x, rng):
    return np.around(x.mean() * 5 - 0.49, 0) + rng.laplace(scale=0.02)


@GROUP.wrong(5.0, pair=(np.full(50, 0.2), np.r_[np.full(49, 0.2), 0.0]), scale=0.02)
def round_one(x, rng):
    return np.round(x.mean() - 0.049, 1) + rng.laplace(scale=0.02)


@GROUP.wrong(50.0, pair=(np.full(50, 0.2), np.r_[np.full(49, 0.2), 0.0]), scale=0.02)
def equality(x, rng):
    return float(abs(x.mean() - 0.2) < 1e-09) + rng.laplace(scale=0.02)


@GROUP.wrong(750.0, pair=(np.full(50, 0.2), np.r_[np.full(49, 0.2), 0.0]))
def reciprocal_of_gap(x, rng):
    return 1 / max(x.mean() - 0.196, 0.001) + rng.laplace()


@GROUP.wrong(5.99146454711, pair=(np.full(50, 0.2), np.r_[np.full(49, 0.2), 0.0]))
def log_of_small(x, rng):
    return np.log(max(x.mean() - 0.196, 1e-05)) + rng.laplace()


@GROUP.wrong(10.1192885125, pair=(np.full(50, 0.2), np.r_[np.full(49, 0.2), 0.0]))
def sqrt_small(x, rng):
    return np.sqrt(np.maximum(x.mean() - 0.196, 0)) * 160 + rng.laplace()


@GROUP.wrong(50.0, pair=(np.full(50, 0.2), np.r_[np.full(49, 0.2), 0.0]), scale=0.02)
def clip_scaled(x, rng):
    return np.clip((x.mean() - 0.198) * 1000000.0, 0, 1) + rng.laplace(scale=0.02)


@GROUP.wrong(40.0, pair=(np.full(50, 0.2), np.r_[np.full(49, 0.2), 0.0]), scale=0.025)
def bool_times(x, rng):
    return (x.mean() > 0.199) * x.sum() / 10 + rng.laplace(scale=0.025)


@GROUP.wrong(99.5, data=np.zeros(50), pair=with_last(NAN))
def nan_to_num_hundred(x, rng):
    return np.nan_to_num(np.clip(x, 0, 1), nan=100.0).sum() + rng.laplace()


@GROUP.wrong(1.0, data=np.zeros(50), pair=with_last(NAN))
def count_nan(x, rng):
    return np.isnan(x).sum() + rng.laplace()


@GROUP.wrong(2.0, data=np.zeros(50), pair=with_last(NAN))
def nan_not_equal(x, rng):
    return 2 * (x != x).sum() + rng.laplace()


@GROUP.wrong(1.0, data=np.zeros(50), pair=with_last(NAN))
def nan_bool(x, rng):
    return x.astype(bool).sum() * 0 + np.isnan(x).astype(float).sum() + rng.laplace()


@GROUP.wrong(9.22337203685e18, data=np.zeros(50), pair=with_last(NAN))
def nan_to_int(x, rng):
    return float(np.clip(x, 0, 1).astype(np.int64).sum()) + rng.laplace()


@GROUP.wrong(1099511627780.0, data=np.zeros(50), pair=with_last(np.inf))
def inf_to_int(x, rng):
    return float(np.fmax(x, 0).astype(np.int64).clip(-(2**40), 2**40).sum()) + rng.laplace()
