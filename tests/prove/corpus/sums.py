"""Sums, means and counts of columns."""

from __future__ import annotations

import numpy as np

from .base import BITS, COLUMN, TABLE, WHOLE, Corpus

CASES = Corpus()


def bounded(x, low=0.0, high=1.0):
    """No NaN, and between two ends."""
    return np.clip(np.nan_to_num(x), low, high)


@CASES(COLUMN, replace_one=2.0, add_remove=2.0)
def clipped_sum(x, rng):
    """Values in [0, 1]: one replaced moves the sum by 1, one more by 1; scale 1/2."""
    return bounded(x).sum() + rng.laplace(scale=0.5)


@CASES(COLUMN, replace_one=4.0, add_remove=2.0)
def sum_of_signed_values(x, rng):
    """Values in [-1, 1]: replaced 2, added 1; scale 1/2."""
    return np.sum(bounded(x, -1.0, 1.0)) + rng.laplace(scale=0.5)


@CASES(COLUMN, replace_one=3.0, add_remove=5.0)
def sum_of_values_far_from_zero(x, rng):
    """Values in [2, 5]: replaced 5 - 2, added up to 5; scale 1."""
    return bounded(x, 2.0, 5.0).sum() + rng.laplace()


@CASES(COLUMN, replace_one=0.5)
def mean_of_a_public_number_of_rows(x, rng):
    """1/100 of the sum in [0, 1]; scale 0.02."""
    return bounded(x).mean() + rng.laplace(scale=0.02)


@CASES(COLUMN, replace_one=0.5)
def mean_by_hand(x, rng):
    """The same with len(x), which is public under replace-one."""
    return bounded(x).sum() / len(x) + rng.laplace(scale=0.02)


@CASES(COLUMN, replace_one=1.0, add_remove=1.0)
def count_above(x, rng):
    """One row changes a count by 1."""
    return (bounded(x) > 0.5).sum() + rng.laplace(scale=1.0)


@CASES(COLUMN, replace_one=0.25, add_remove=0.25)
def count_nonzero(x, rng):
    """The same, scale 4."""
    return np.count_nonzero(np.nan_to_num(x) > 3.0) + rng.laplace(scale=4.0)


@CASES(COLUMN, replace_one=0.5)
def share_above(x, rng):
    """A mean of truth values: 1/100; scale 0.02."""
    return np.mean(np.nan_to_num(x) > 3.0) + rng.laplace(scale=0.02)


@CASES(COLUMN, replace_one=4.0, add_remove=4.0)
def sum_of_squares(x, rng):
    """Squares of values in [-2, 2] are in [0, 4]."""
    return (bounded(x, -2.0, 2.0) ** 2).sum() + rng.laplace()


@CASES(COLUMN, replace_one=2.0, add_remove=2.0)
def sum_of_absolute_values(x, rng):
    """|x| in [0, 2]."""
    return np.abs(bounded(x, -2.0, 2.0)).sum() + rng.laplace()


@CASES(COLUMN, replace_one=1.5, add_remove=1.5)
def masked_by_where(x, rng):
    """Values in [0, 1.5], 0 where left out."""
    x = bounded(x, 0.0, 1.5)
    return np.where(x > 0.5, x, 0.0).sum() + rng.laplace()


@CASES(COLUMN, replace_one=1.5, add_remove=1.5)
def rows_chosen_by_a_private_mask(x, rng):
    """A row in [0, 1.5] is in or out: the sum moves by 1.5 at most."""
    x = bounded(x, 0.0, 1.5)
    return x[x > 0.5].sum() + rng.laplace()


@CASES(COLUMN, replace_one=1.5, add_remove=1.5)
def masked_by_product(x, rng):
    """The same as a product with truth values."""
    x = bounded(x, 0.0, 1.5)
    return (x * (x > 0.5)).sum() + rng.laplace()


@CASES(TABLE, replace_one=3.0, add_remove=3.0)
def sums_of_columns(x, rng):
    """Three sums move by 1 each: L1 distance 3, scale 1."""
    return bounded(x).sum(axis=0) + rng.laplace(size=3)


@CASES(TABLE, replace_one=1.5)
def means_of_columns(x, rng):
    """Three means, 1/100 each, scale 0.02."""
    return bounded(x).mean(axis=0) + rng.laplace(scale=0.02, size=3)


@CASES(TABLE, replace_one=6.0, add_remove=6.0)
def weighted_columns(x, rng):
    """x @ (1, 2, 3) of values in [0, 1] is in [0, 6]."""
    return (bounded(x) @ np.array([1.0, 2.0, 3.0])).sum() + rng.laplace()


@CASES(TABLE, replace_one=2.0, add_remove=1.0)
def one_column_minus_another(x, rng):
    """A difference of values in [0, 1] is in [-1, 1]."""
    x = bounded(x)
    return (x[:, 0] - x[:, 1]).sum() + rng.laplace()


@CASES(TABLE, replace_one=1.0, add_remove=1.0)
def product_of_columns(x, rng):
    """A product of values in [0, 1] is in [0, 1]."""
    x = bounded(x)
    return np.dot(x[:, 0], x[:, 1]) + rng.laplace()


@CASES(TABLE, replace_one=3.0, add_remove=3.0)
def sums_within_rows(x, rng):
    """x.sum(axis=1) is in [0, 3]."""
    return bounded(x).sum(axis=1).sum() + rng.laplace()


@CASES(TABLE, replace_one=1.0, add_remove=1.0)
def largest_of_a_row(x, rng):
    """The maximum of a row in [0, 1] is in [0, 1]."""
    return bounded(x).max(axis=1).sum() + rng.laplace()


@CASES(WHOLE, replace_one=1.0, add_remove=1.0)
def sum_of_whole_numbers(x, rng):
    """Whole numbers in [0, 10], scale 10."""
    return np.clip(x, 0, 10).sum() + rng.laplace(scale=10.0)


@CASES(BITS, replace_one=0.5, add_remove=0.5)
def sum_of_bits(x, rng):
    """Truth values: 1, scale 2."""
    return x.sum() + rng.laplace(scale=2.0)


@CASES(COLUMN, replace_one=0.75, add_remove=0.75)
def two_releases(x, rng):
    """1/2 and 1/4 add up at delta 0."""
    x = bounded(x)
    return x.sum() + rng.laplace(scale=2.0), (x > 0.5).sum() + rng.laplace(scale=4.0)


@CASES(COLUMN, replace_one=1.0, add_remove=1.0)
def ten_releases_in_a_loop(x, rng):
    """Ten times 1/10."""
    x = bounded(x)
    return [x.sum() + rng.laplace(scale=10.0) for _ in range(10)]


@CASES(TABLE, replace_one=1.75, add_remove=1.75)
def several_answers_by_name(x, rng):
    """1, 1/2 and 1/4."""
    x = bounded(x)
    return {
        "a": x[:, 0].sum() + rng.laplace(),
        "b": x[:, 1].sum() + rng.laplace(scale=2.0),
        "c": x[:, 2].sum() + rng.laplace(scale=4.0),
    }


@CASES(COLUMN, add_remove=1.0)
def mean_as_a_ratio_of_two_releases(x, rng):
    """Sum and number of rows, 1/2 each; the quotient is post-processing."""
    x = bounded(x)
    total = x.sum() + rng.laplace(scale=2.0)
    count = x.shape[0] + rng.laplace(scale=2.0)
    return total / np.maximum(count, 1.0)


@CASES(COLUMN, replace_one=2.0, add_remove=2.0)
def rounded_and_cut_afterwards(x, rng):
    """Post-processing costs nothing: as clipped_sum."""
    noisy = bounded(x).sum() + rng.laplace(scale=0.5)
    return np.clip(np.round(noisy, 1), 0.0, 100.0)


@CASES(COLUMN, replace_one=1.0, add_remove=1.0)
def scaled_before_noise(x, rng):
    """3 times a sum that moves by 1, scale 3."""
    return 3.0 * bounded(x).sum() - 7.0 + rng.laplace(scale=3.0)


def helper(column, scale, rng):
    return column.sum() + rng.laplace(scale=scale)


@CASES(TABLE, replace_one=0.75, add_remove=0.75)
def through_a_helper(x, rng):
    """1/2 and 1/4 from a function of its own, called twice."""
    x = bounded(x)
    return helper(x[:, 0], 2.0, rng), helper(x[:, 1], 4.0, rng)


@CASES(COLUMN, replace_one=0.5, add_remove=0.5)
def through_a_closure(x, rng):
    """A public number kept in a closure."""
    width = 2.0

    def noisy(total):
        return total + rng.laplace(scale=width)

    return noisy(bounded(x).sum())


@CASES(COLUMN, replace_one=1.0, add_remove=1.0)
def in_place(x, rng):
    """x *= 2 on values in [0, 1], scale 2."""
    x = bounded(x)
    x *= 2.0
    return x.sum() + rng.laplace(scale=2.0)


@CASES(COLUMN, replace_one=1.0, add_remove=2.0)
def shifted(x, rng):
    """x + 1 is in [1, 2]: replaced 1, added 2."""
    return (bounded(x) + 1.0).sum() + rng.laplace()


@CASES(COLUMN, replace_one=1.0)
def half_of_the_rows(x, rng):
    """Rows chosen by their public place."""
    return bounded(x)[:50].sum() + rng.laplace()


@CASES(COLUMN, replace_one=1.0, add_remove=1.0)
def a_sum_of_reduce(x, rng):
    """np.add.reduce is a sum."""
    return np.add.reduce(bounded(x)) + rng.laplace()


@CASES(COLUMN, replace_one=1.0, add_remove=1.0)
def a_squashed_column(x, rng):
    """tanh of a value in [0, 100] is in [0, 1], up to a hair."""
    return np.tanh(bounded(x, 0.0, 100.0)).sum() + rng.laplace()
