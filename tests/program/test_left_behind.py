"""Reading leaves nothing behind in the user's program; what the program would leave behind is refused."""

from __future__ import annotations

import functools
import warnings

import numpy as np
import pytest

import dpcheck

UNIT = dpcheck.records(x=dpcheck.number(0, 1), rows=30)
KEPT: list = []


def refused(function, match, data=UNIT, **options):
    with pytest.raises(dpcheck.NotProvable, match=match):
        dpcheck.prove(function, data, "replace-one", **options)


@functools.lru_cache
def width(low, high):
    return high - low


@functools.lru_cache
def drawn_once(scale):
    return np.random.laplace(scale=scale)


def test_a_cache_is_read_as_what_it_computes():
    def total(x, rng):
        return x.sum() + rng.laplace(scale=width(0, 2))

    width.cache_clear()
    assert dpcheck.prove(total, UNIT).epsilon().upper == 0.5
    assert width(0, 2) == 2


def test_cached_noise_and_cached_private_values_are_refused():
    @functools.lru_cache
    def first(number):
        return number

    def known(x, rng):
        return x.sum() + drawn_once(1.0)

    def stays(x, rng):
        return first(x.sum()) + rng.laplace()

    refused(known, "cached function")
    refused(stays, "cached function")
    assert first.cache_info().currsize == 0


def test_what_outlives_the_call_is_not_written():
    def appends(x, rng):
        KEPT.append(x.sum())
        return x.sum() + rng.laplace()

    def rebinds(x, rng):
        global KEPT
        KEPT = x.sum()
        return KEPT + rng.laplace()

    refused(appends, "outlives the call")
    refused(rebinds, "global")
    assert KEPT == []


def test_settings_of_numpy_and_warnings_are_as_they_were():
    def sets(x, rng):
        np.seterr(divide="call")
        warnings.simplefilter("error")
        return x.sum() + rng.laplace()

    errors, filters = np.geterr(), list(warnings.filters)
    refused(sets, "seterr")
    assert (np.geterr(), list(warnings.filters)) == (errors, filters)


def test_a_loop_over_groups_is_refused():
    people = dpcheck.records(x=dpcheck.number(0, 1), c=dpcheck.one_of("a", "b"), rows=30)

    def loop(df, rng):
        return sum(1 for _ in df.groupby("c")) + rng.laplace()

    refused(loop, "a loop over", people, form="pandas")
