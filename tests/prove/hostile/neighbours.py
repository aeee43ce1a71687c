"""Categories, null records, missing rows: what neighbours may be and a description does not say aloud."""

from __future__ import annotations

import numpy as np
import pandas as pd

import dpcheck

from .base import INF, ROWS, UNIT, A, Group, Z, itself

GROUP = Group("neighbours", adjacency=Z)
CODES = dpcheck.records(c=dpcheck.one_of(10, 11), rows=ROWS)
FAR = dpcheck.records(x=dpcheck.number(49, 50), rows=ROWS)


def codes(last):
    """Tens, and one more."""
    return pd.DataFrame({"c": np.r_[np.full(ROWS - 1, 10), last]})


def far(last):
    return np.r_[np.full(ROWS - 1, 50.0), last]


BLANK_CODE = {"data": CODES, "form": "pandas", "pair": (codes(10), codes(0))}
BLANK = {"data": FAR, "pair": (far(50.0), far(0.0))}


@GROUP.wrong(50.0, **BLANK_CODE)
def sum_of_codes(df, rng):
    """The null record is 0, which is no code."""
    return 5.0 * df["c"].sum() + rng.laplace()


@GROUP.wrong(50.0, **BLANK_CODE)
def codes_moved_to_nought(df, rng):
    return 5.0 * (df["c"] - 10).sum() + rng.laplace()


@GROUP.wrong(50.0, **BLANK_CODE)
def codes_that_are_known(df, rng):
    return 50.0 * df["c"].isin([10, 11]).sum() + rng.laplace()


@GROUP.wrong(50.0, **BLANK_CODE)
def codes_of_at_least_ten(df, rng):
    return 50.0 * (df["c"] >= 10).sum() + rng.laplace()


@GROUP.wrong(50.0, **BLANK_CODE)
def least_code(df, rng):
    return 5.0 * np.min(df["c"].to_numpy()) + rng.laplace()


@GROUP.wrong(50.0, **BLANK_CODE)
def groups_of_codes(df, rng):
    found = df.groupby("c").size().reindex([10, 11], fill_value=0).to_numpy()
    return 50.0 * found.sum() + rng.laplace()


@GROUP.wrong(50.0, **BLANK_CODE)
def column_of_codes(df, rng):
    return 5.0 * np.sum(df["c"].values) + rng.laplace()


@GROUP.wrong(50.0, **BLANK)
def sum_of_far_numbers(x, rng):
    return x.sum() + rng.laplace()


@GROUP.wrong(50.0, **BLANK)
def least_far_number(x, rng):
    return x.min() + rng.laplace()


@GROUP.wrong(50.0, **BLANK)
def far_numbers_moved(x, rng):
    return (x - 49.0).sum() + rng.laplace()


@GROUP.wrong(50.0, **BLANK)
def reciprocal(x, rng):
    """1 / 0 is infinite."""
    return 50.0 * np.isinf(1.0 / x).sum() + rng.laplace()


@GROUP.wrong(50.0, **BLANK)
def logarithm(x, rng):
    return 50.0 * np.isinf(np.log(x)).sum() + rng.laplace()


# Under add-remove every place behind the record moves, and nobody may be left.

ALTERNATING = np.tile([0.0, 1.0], 25)
SHORTER = {"adjacency": A, "data": dpcheck.records(x=dpcheck.number(0, 1))}
MOVED = {**SHORTER, "pair": (ALTERNATING, ALTERNATING[1:])}


@GROUP.wrong(25.0, **MOVED)
def every_second_record(x, rng):
    """With the first record gone the odd places are the even ones."""
    return x[::2].sum() + rng.laplace()


@GROUP.wrong(25.0, **MOVED)
def alternating_sums(x, rng):
    signs = np.ones(100)
    signs[1::2] = 0.0
    return (x * signs[: len(x)]).sum() + rng.laplace()


@GROUP.wrong(25.0, **MOVED)
def weights_by_place(x, rng):
    return (x * (np.arange(len(x)) % 2 == 0)).sum() + rng.laplace()


@GROUP.wrong(50.0, **{**SHORTER, "pair": (np.ones(50), np.ones(49))})
def number_of_records(x, rng):
    return 50.0 * len(x) + rng.laplace()


@GROUP.wrong(50.0, **{**SHORTER, "pair": (np.ones(50), np.ones(49))})
def size_of_the_array(x, rng):
    return 50.0 * x.size + rng.laplace()


@GROUP.wrong(50.0, **{**SHORTER, "pair": (np.ones(50), np.ones(49))})
def bytes_of_the_array(x, rng):
    return 50.0 * x.nbytes / 8 + rng.laplace()


@GROUP.wrong(50.0, **{**SHORTER, "pair": (np.ones(50), np.ones(49))})
def length_of_a_loop(x, rng):
    found = 0
    for _ in x:
        found += 50
    return found + rng.laplace()


@GROUP.wrong(50.0, **{**SHORTER, "pair": (np.ones(50), np.ones(49))})
def length_of_a_list(x, rng):
    return 50.0 * len(list(x)) + rng.laplace()


@GROUP.wrong(50.0, **{**SHORTER, "pair": (np.ones(50), np.ones(49))})
def length_of_a_zip(x, rng):
    return 50.0 * sum(1 for _ in zip(x, range(1000), strict=False)) + rng.laplace()


@GROUP.wrong(50.0, **{**SHORTER, "pair": (np.ones(50), np.ones(49))})
def zeros_like_the_data(x, rng):
    return 50.0 * np.ones_like(x).sum() + rng.laplace()


@GROUP.wrong(50.0, **{**SHORTER, "pair": (np.ones(1), np.ones(0))})
def mean_of_nobody(x, rng):
    """The mean of nobody is NaN, which 50 replaces."""
    return np.nan_to_num(49.0 * (1 - x.mean()), nan=50.0) + rng.laplace()


@GROUP.wrong(50.0, **{**SHORTER, "pair": (np.ones(1), np.ones(0))})
def largest_of_nobody(x, rng):
    return 50.0 * np.max(x, initial=0.0) + rng.laplace()


@GROUP.wrong(INF, **{**SHORTER, "pair": (np.ones(50), np.ones(49))}, leak=np.size)
def noise_for_every_record(x, rng):
    """How many numbers come out is how many records there are."""
    return rng.laplace(size=len(x))


@GROUP.wrong(INF, **{**SHORTER, "pair": (np.ones(50), np.ones(49))}, leak=itself)
def shape_of_the_data(x, rng):
    return x.shape[0]


FAMILY = dpcheck.records(
    who=dpcheck.number(0, 100, integer=True),
    x=dpcheck.number(0, 1),
    rows=ROWS,
    person="who",
    rows_per_person=5,
)


def family(value):
    return pd.DataFrame(
        {"who": np.r_[np.arange(45), [45] * 5], "x": np.r_[np.zeros(45), [value] * 5]}
    )


@GROUP.wrong(
    50.0, data=FAMILY, form="pandas", adjacency="replace-one", pair=(family(0.0), family(1.0))
)
def several_records_of_a_person(df, rng):
    return 10.0 * df["x"].sum() + rng.laplace()


@GROUP.right(50.0, **BLANK)
def sum_of_far_numbers_charged(x, rng):
    """From 50 to the null record, which is 0."""
    return x.sum() + rng.laplace()


@GROUP.right(1.0, data=UNIT, adjacency=A, pair=(np.ones(50), np.ones(49)))
def sum_of_records_that_may_go(x, rng):
    return x.sum() + rng.laplace()
