"""Missing values replaced before a sum: provable in every common spelling, if it is the same array."""

from __future__ import annotations

import numpy as np
import pytest

import dpcheck

X = np.zeros(50)


def total(x, rng):
    return np.clip(x, 0, 1).sum() + rng.laplace()


def by_where(x, rng):
    return total(np.where(np.isnan(x), 0, x), rng)


def by_the_opposite(x, rng):
    return total(np.where(~np.isnan(x), x, 0.5), rng)


def by_isfinite(x, rng):
    return total(np.where(np.isfinite(x), x, 0.5), rng)


def by_assignment(x, rng):
    x = x.copy()
    x[np.isnan(x)] = 0
    return total(x, rng)


@pytest.mark.parametrize("function", [by_where, by_the_opposite, by_isfinite, by_assignment])
def test_one_record_moves_the_sum_by_one(function):
    assert dpcheck.prove(function, X).epsilon().upper == 1.0


def wrong_way_round(x, rng):
    return total(np.where(np.isnan(x), x, 0.5), rng)


def infinite_kept(x, rng):
    return total(np.where(np.isfinite(x), 0, x), rng)


def another_array(x, rng):
    return total(np.where(np.isnan(x), 0, x / x), rng)


def changed_since(x, rng):
    missing = np.isnan(x)
    x /= 0.0
    return total(np.where(missing, 0, x), rng)


def of_a_copy_that_changed(x, rng):
    missing = np.isnan(x)
    x = x.copy()
    x /= 0.0
    return total(np.where(missing, 0, x), rng)


def another_row(x, rng):
    return total(np.where(np.isnan(x), 0, x[::-1]), rng)


@pytest.mark.parametrize(
    "function",
    [
        wrong_way_round,
        infinite_kept,
        another_array,
        changed_since,
        of_a_copy_that_changed,
        another_row,
    ],
)
def test_what_may_still_be_missing_is_refused(function):
    with pytest.raises(dpcheck.NotProvable):
        dpcheck.prove(function, X)
