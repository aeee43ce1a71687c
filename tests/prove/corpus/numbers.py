"""Mistakes of places, whole numbers and norms."""

from __future__ import annotations

import numpy as np

from .base import COLUMN, TABLE, WHOLE
from .sums import bounded
from .tables import PEOPLE
from .wrong import INF, WRONG

CUBE = np.zeros((100, 2, 2))


@WRONG(COLUMN, replace_one=2.0)
def the_last_record_by_two_names(x, rng):
    """Reversed, the last record comes first: both sums depend on it."""
    x = bounded(x)
    both = np.stack([x[99:].sum(), x[::-1][:1].sum()])
    return both + rng.laplace(size=2)


@WRONG(COLUMN, replace_one=2.0)
def the_same_record_twice(x, rng):
    """Place 7 comes first in the list and is chosen again by its own place."""
    x = bounded(x)
    both = np.stack([x[[7, 3]][:1].sum(), x[7:8].sum()])
    return both + rng.laplace(size=2)


@WRONG(WHOLE, replace_one=1e18, add_remove=1e18)
def opposite_of_the_least_number(x, rng):
    """-(-2**63) is -2**63."""
    x = np.minimum(x, 0)
    return np.minimum(-x, 10).astype(float).sum() + rng.laplace()


@WRONG(WHOLE, replace_one=1e18, add_remove=1e18)
def absolute_values_cut_off(x, rng):
    """abs(-2**63) is -2**63, which no minimum cuts off."""
    return np.minimum(np.abs(x), 10).astype(float).sum() + rng.laplace()


@WRONG(TABLE, replace_one=3.0, add_remove=3.0)
def largest_row_sum_of_a_matrix(x, rng):
    """np.inf as the order of a matrix is the largest row sum, not the largest entry."""
    x = bounded(x)
    return np.linalg.norm(x.T @ x, np.inf) + rng.laplace()


@WRONG(CUBE, replace_one=2.0 * np.sqrt(2.0), add_remove=np.sqrt(2.0))
def clipped_by_the_spectral_norm(x, rng):
    """Order 2 of matrices is the spectral norm: the unit matrix has 1, and Frobenius norm sqrt 2."""
    x = bounded(x, -10.0, 10.0)
    factor = np.minimum(1.0, 1.0 / np.maximum(np.linalg.norm(x, 2, axis=(1, 2)), 1e-9))
    return (x * factor[:, None, None]).sum(axis=0).ravel()[[0, 3]] + rng.laplace(size=2)


@WRONG(COLUMN, replace_one=1e6, add_remove=1e6)
def released_number_changed_through_a_view(x, rng):
    """What is known of a released value must not outlive a change through a view of it."""
    x = bounded(x)
    noisy = x.sum(keepdims=True) + rng.laplace(size=1)
    view = noisy[:]
    view *= 0.0
    view += 1e9
    return (x * noisy[0]).sum() + rng.laplace(scale=1e3)


@WRONG(WHOLE, replace_one=1000.0, add_remove=1000.0)
def copy_changed_in_place(x, rng):
    """np.round of whole numbers is a copy: dividing it leaves x as it was."""
    x = np.clip(x, 0, 1000)
    y = np.round(x)
    y //= 1000
    return x.sum() + rng.laplace()


@WRONG(COLUMN, replace_one=2.0)
def factor_by_repeated_columns(x, rng):
    """The norm of another table with as many entries."""
    table = np.stack([bounded(x, -10.0, 10.0), bounded(x, -10.0, 10.0) * 0.0, bounded(x)], axis=1)
    squares = (table**2)[:, [1, 1, 2]]
    table = table / np.maximum(1.0, np.sqrt(squares.sum(axis=1, keepdims=True)))
    return table[:, 0].sum() + rng.laplace(scale=10.0)


@WRONG(PEOPLE, replace_one=INF, add_remove=INF)
def groups_that_occur(people, rng):
    """Without a public list of cities the answer has as many entries as cities occur."""
    counts = people.groupby("city")["age"].count()
    return counts.to_numpy() + rng.laplace(size=3)


@WRONG(PEOPLE, replace_one=INF, add_remove=INF)
def means_of_groups(people, rng):
    """The mean of a group without people is NaN."""
    means = people.groupby("city")["age"].mean().reindex(["A", "B", "C"])
    return means.to_numpy() + rng.laplace(scale=1000.0, size=3)


@WRONG(PEOPLE, replace_one=INF, add_remove=INF)
def length_of_a_filter(people, rng):
    """A filter makes the number of rows private."""
    return len(people[people["age"] > 60]), rng.laplace()


@WRONG(PEOPLE, replace_one=INF, add_remove=INF)
def keys_beside_counts(people, rng):
    """The names of the groups that occur are released."""
    counts = people["city"].value_counts()
    return list(counts.index), counts.to_numpy().sum() + rng.laplace()


@WRONG(PEOPLE, replace_one=INF, add_remove=INF)
def labels_of_rows(people, rng):
    """Which rows are above 60."""
    return list(people[people["age"] > 60].index)


@WRONG(TABLE, replace_one=INF, add_remove=INF)
def reduced_along_the_first_axis(x, rng):
    """np.add.reduce adds up along the first axis alone: three sums with one draw."""
    return np.add.reduce(bounded(x)) + rng.laplace()


@WRONG(TABLE, replace_one=INF, add_remove=INF)
def an_error_unless_there_are_no_rows(x, rng):
    """Whole numbers to a negative power are an error, but of an empty table they are an empty table."""
    whole = bounded(x).astype(np.int64)
    whole**-1
    return whole.sum() + rng.laplace(scale=100.0)
