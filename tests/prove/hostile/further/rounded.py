"""Numbers so small, or differences so small, that rounding decides; steps where a sum was rounded."""

from __future__ import annotations

import numpy as np

import dpcheck

from ..base import Group  # noqa: TID252 - shared by all groups

GROUP = Group("rounded")


def between(low, high, rows):
    return dpcheck.records(x=dpcheck.number(low, high), rows=rows)


def tenths(last):
    return np.r_[np.full(49, 0.1), last]


EDGE = {"data": between(0.1, 0.10001, 50), "pair": (tenths(0.1), tenths(0.10001))}
ALONE = {"data": between(-744.04, -744.02, 1), "pair": (np.array([-744.04]), np.array([-744.02]))}
STEP = (5e-324 * 1e300) * 1e24  # between two numbers that are next to each other


@GROUP.right(1.0)
def in_thousandths(x, rng):
    return (x * 1e-3).sum() * 1e3 + rng.laplace()


@GROUP.wrong(1.0)
def in_tiny_units(x, rng):
    return (x * 1e-300).sum() * 1e300 + rng.laplace()


@GROUP.wrong(1.0)
def whose_square_is_nothing(x, rng):
    return (x * 1e-170).sum() * 1e170 + rng.laplace()


@GROUP.wrong(1.0)
def a_total_in_tiny_units(x, rng):
    return (x.sum() * 1e-150) * 1e-150 * 1e300 + rng.laplace()


@GROUP.wrong(STEP, **ALONE)
def a_step_of_exp(x, rng):
    return np.exp(x.mean()) * 1e300 * 1e24 + rng.laplace()


@GROUP.wrong(STEP, **ALONE)
def a_step_of_exp_of_rows(x, rng):
    return (np.exp(x) * 1e300 * 1e24).sum() + rng.laplace()


@GROUP.wrong(0.5, pair=(np.r_[np.zeros(49), 0.0], np.r_[np.zeros(49), 1.0]))
def divided_by_a_large_total(x, rng):
    return 1e200 / (x.sum() * 1e200 + 1e200) + rng.laplace()


@GROUP.wrong(64.0, data=between(1e9, 1e9 + 50, 1), pair=(np.array([1e9]), np.array([1e9 + 40])))
def a_mean_in_single_precision(x, rng):
    return float(x.mean().astype(np.float32)) * 1.0 + rng.laplace()


@GROUP.wrong(64.0, data=between(1e9, 1e9 + 50, 1), pair=(np.array([1e9]), np.array([1e9 + 40])))
def rows_in_single_precision(x, rng):
    return x.astype(np.float32).astype(float).sum() + rng.laplace()


@GROUP.wrong(
    128.0, data=between(0, 1, 100), pair=(np.full(100, 0.64), np.r_[np.full(99, 0.64), 1.0])
)
def taken_away_again(x, rng):
    return (x.sum() + 1e18) - 1e18 + rng.laplace()


@GROUP.wrong(1.0, **EDGE)
def floor_of_a_sum(x, rng):
    return np.floor(x.sum()) + rng.laplace()


@GROUP.wrong(1.0, **EDGE)
def int_of_a_sum(x, rng):
    return int(x.sum()) + rng.laplace()


@GROUP.wrong(1.0, **EDGE)
def whole_part_of_a_sum(x, rng):
    return x.sum() // 1.0 + rng.laplace()


@GROUP.wrong(1.0, **EDGE)
def a_sum_as_a_whole_number(x, rng):
    return x.sum().astype(np.int64) + rng.laplace()
