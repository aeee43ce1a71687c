"""Epsilons that a weaker rule would make smaller; each is derived in its docstring."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import dpcheck
from dpcheck.core.adjacency import Adjacency
from dpcheck.program.proof import proof_of, read

from .corpus.base import DELTA, gaussian

TABLE = np.zeros((12, 3))
COLUMN = np.zeros(12)


def bare(function, data, adjacency=Adjacency.REPLACE_ONE) -> float:
    """What the rules alone conclude."""
    program = read(function, data, adjacency)
    return float(proof_of(program, data).epsilon().upper)


def clean(x):
    return np.clip(np.nan_to_num(x), -10.0, 10.0)


def chosen_by_its_norm(x, rng):
    """Rows of L2 norm at most 1 have an L1 norm of at most the root of 3; replaced, twice that."""
    y = clean(x)
    n = np.linalg.norm(y, axis=1, keepdims=True)
    return np.where(n > 1.0, y / np.maximum(n, 1e-9), y).sum(axis=0) + rng.laplace(size=3)


def chosen_by_its_norm_of_order_one(x, rng):
    """Rows of L1 norm at most 1; replaced, twice that."""
    y = clean(x)
    n = np.abs(y).sum(axis=1, keepdims=True)
    return np.where(n > 1.0, y / np.maximum(n, 1e-9), y).sum(axis=0) + rng.laplace(size=3)


def divided_by_its_norm(x, rng):
    """As the first one."""
    y = clean(x)
    n = np.linalg.norm(y, axis=1, keepdims=True)
    return (y / np.maximum(n, 1.0)).sum(axis=0) + rng.laplace(size=3)


@pytest.mark.parametrize(
    ("function", "epsilon"),
    [
        (chosen_by_its_norm, 2 * np.sqrt(3.0)),
        (chosen_by_its_norm_of_order_one, 2.0),
        (divided_by_its_norm, 2 * np.sqrt(3.0)),
    ],
)
def test_norms_are_of_the_order_that_was_bounded(function, epsilon):
    assert bare(function, TABLE) == pytest.approx(epsilon)


def some_of_the_coins(x, rng):
    coins = (rng.random(len(x)) < 0.5)[1:]
    return clean(x)[coins].sum() + rng.laplace()


def test_some_of_a_private_number_of_coins_are_refused():
    with pytest.raises(dpcheck.NotProvable):
        bare(some_of_the_coins, COLUMN, Adjacency.ADD_REMOVE)


def clipped_with_missing_values(x, rng):
    """np.clip lets NaN through, and so does a sum of the entries of a row."""
    return np.clip(x, 0.0, 1.0).sum(axis=1).sum() + rng.laplace()


def test_missing_values_stay_missing_in_sums():
    with pytest.raises(dpcheck.NotProvable, match="NaN"):
        bare(clipped_with_missing_values, TABLE)


# Sampling -------------------------------------------------------------------------------------------------


def sampled(x, rng):
    y = clean(x)
    return y, y * (rng.random(len(x)) < 0.01)


def columns_side_by_side(x, rng):
    return np.column_stack(sampled(x, rng)).sum(axis=0) + rng.normal(scale=10.0, size=2)


def columns_the_other_way_round(x, rng):
    both = sampled(x, rng)
    return np.column_stack(both[::-1]).sum(axis=0) + rng.normal(scale=10.0, size=2)


def sums_side_by_side(x, rng):
    one, two = sampled(x, rng)
    return np.stack([two.sum(), one.sum()]) + rng.normal(scale=10.0, size=2)


def rows_added(x, rng):
    one, two = sampled(x, rng)
    return (two + one).sum() + rng.normal(scale=10.0)


def sums_added(x, rng):
    one, two = sampled(x, rng)
    return two.sum() + one.sum() + rng.normal(scale=10.0)


def larger_of_both(x, rng):
    one, two = sampled(x, rng)
    return np.maximum(two, one).sum() + rng.normal(scale=10.0)


@pytest.mark.parametrize(
    "function",
    [
        *(columns_side_by_side, columns_the_other_way_round, sums_side_by_side),
        *(rows_added, sums_added, larger_of_both),
    ],
)
def test_what_holds_unsampled_rows_too_is_not_amplified(function):
    """A record of size 10 moves an unsampled sum by 10, noise is 10: no less than N(0, 1) and N(1, 1)."""
    program = read(function, COLUMN, Adjacency.ADD_REMOVE)
    found = proof_of(program, COLUMN).epsilon(delta=DELTA).upper
    assert found >= gaussian(1.0, DELTA) * (1 - 1e-9)


# Examples -------------------------------------------------------------------------------------------------


class Twice(np.ndarray):
    """An array that computes otherwise than arrays do."""


def total(x, rng):
    return np.clip(np.nan_to_num(x), 0.0, 1.0).sum() + rng.laplace()


@pytest.mark.parametrize(
    "example",
    [
        np.zeros((3, 3)).view(np.matrix),
        np.ma.zeros(3),
        np.zeros(3).view(Twice),
        np.zeros(0),
        [[1.0], [2.0, 3.0]],
        range(3),
        pd.DataFrame([[0.0, 1.0]], columns=["x", "x"]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_only_plain_examples_are_taken(example):
    """`a * b` of a matrix is another product than that of an array."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(dpcheck.DpcheckError, match="example"):
            dpcheck.prove(total, data=example, adjacency="replace-one")


def test_an_example_without_columns_has_no_neighbours():
    """All records are alike; the search for a pair comes to an end."""
    proof = dpcheck.prove(total, data=np.zeros((3, 0)), adjacency="replace-one")
    assert proof.epsilon().upper == 0.0


def test_examples_that_nobody_can_make_more_of():
    """Dates, and numbers that may be NA: no attack, and no error of its own."""
    dates = pd.DataFrame({"x": pd.to_datetime(["2020-01-01"])})

    def noise(df, rng):
        del df
        return rng.laplace()

    assert dpcheck.prove(noise, data=dates, adjacency="replace-one").epsilon().upper == 0.0
