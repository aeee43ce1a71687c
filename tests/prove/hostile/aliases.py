"""Copies that are taken for the same memory, and the same memory taken for copies."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd

from .base import UNIT, Group, unit

GROUP = Group("aliases")
TABLES = (pd.DataFrame({"x": unit(0.0)}), pd.DataFrame({"x": unit(1.0)}))
TABLE = {"data": UNIT, "form": "pandas", "pair": TABLES}
FINE = {"scale": 0.02}


# A copy is made smaller; what is released is the original.


@GROUP.wrong(50.0, **TABLE, **FINE)
def copied_table(df, rng):
    other = df.copy()
    other["x"] *= 0.02
    return df["x"].sum() + rng.laplace(scale=0.02)


@GROUP.wrong(50.0, **TABLE, **FINE)
def shallow_copy_of_a_table(df, rng):
    other = df.copy(deep=False)
    other["x"] *= 0.02
    return df["x"].sum() + rng.laplace(scale=0.02)


@GROUP.wrong(50.0, **TABLE, **FINE)
def assigned_table(df, rng):
    other = df.assign(y=df["x"])
    other["x"] *= 0.02
    return df["x"].sum() + rng.laplace(scale=0.02)


@GROUP.wrong(50.0, **TABLE, **FINE)
def chosen_columns(df, rng):
    other = df[["x"]]
    other["x"] *= 0.02
    return df["x"].sum() + rng.laplace(scale=0.02)


@GROUP.wrong(50.0, **TABLE, **FINE)
def column_of_a_table(df, rng):
    """pandas copies on write: the table keeps its column."""
    column = df["x"].copy()
    column *= 0.02
    return df["x"].sum() + rng.laplace(scale=0.02)


@GROUP.wrong(50.0, **TABLE, **FINE)
def column_written_to(df, rng):
    column = df["x"]
    column *= 0.02
    return df["x"].sum() + rng.laplace(scale=0.02)


@GROUP.wrong(50.0, **TABLE, **FINE)
def table_without_missing_values(df, rng):
    other = df.dropna()
    other["x"] *= 0.02
    return df["x"].sum() + rng.laplace(scale=0.02)


@GROUP.wrong(50.0, **TABLE, **FINE)
def located_columns(df, rng):
    other = df.loc[:, ["x"]]
    other["x"] *= 0.02
    return df["x"].sum() + rng.laplace(scale=0.02)


@GROUP.wrong(50.0, **TABLE, **FINE)
def second_name_of_a_column(df, rng):
    df["y"] = df["x"]
    df["y"] *= 0.02
    return df["x"].sum() + rng.laplace(scale=0.02)


@GROUP.wrong(50.0, **FINE)
def copied_array(x, rng):
    y = x.copy()
    y *= 0.02
    return x.sum() + rng.laplace(scale=0.02)


@GROUP.wrong(50.0, **FINE)
def copy_module(x, rng):
    y = copy.copy(x)
    y *= 0.02
    return x.sum() + rng.laplace(scale=0.02)


@GROUP.wrong(50.0, **FINE)
def deep_copy(x, rng):
    (y,) = copy.deepcopy([x])
    y *= 0.02
    return x.sum() + rng.laplace(scale=0.02)


@GROUP.wrong(50.0, **FINE)
def new_array(x, rng):
    y = np.array(x)
    y *= 0.02
    return x.sum() + rng.laplace(scale=0.02)


@GROUP.wrong(50.0, **FINE)
def flattened_array(x, rng):
    y = x.flatten()
    y *= 0.02
    return x.sum() + rng.laplace(scale=0.02)


@GROUP.wrong(50.0, **FINE)
def plus_sign(x, rng):
    y = +x
    y *= 0.02
    return x.sum() + rng.laplace(scale=0.02)


@GROUP.wrong(50.0, **FINE)
def same_type_again(x, rng):
    y = x.astype(float)
    y *= 0.02
    return x.sum() + rng.laplace(scale=0.02)


# The same memory is made larger under another name.


@GROUP.wrong(50.0)
def second_name(x, rng):
    y = x
    y *= 50.0
    return x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def same_array_again(x, rng):
    y = np.asarray(x)
    y *= 50.0
    return x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def same_type_without_a_copy(x, rng):
    y = x.astype(float, copy=False)
    y *= 50.0
    return x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def raveled(x, rng):
    y = x.ravel()
    y *= 50.0
    return x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def reshaped(x, rng):
    y = x.reshape(5, 10)
    y *= 50.0
    return x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def viewed(x, rng):
    y = x.view()
    y *= 50.0
    return x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def with_an_axis_more(x, rng):
    y = x[:, None]
    y *= 50.0
    return x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def every_row(x, rng):
    y = x[...]
    y *= 50.0
    return x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def missing_values_replaced_in_place(x, rng):
    y = np.nan_to_num(x, copy=False)
    y *= 50.0
    return x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def contiguous(x, rng):
    y = np.ascontiguousarray(x)
    y *= 50.0
    return x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def at_least_one_axis(x, rng):
    y = np.atleast_1d(x)
    y *= 50.0
    return x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def squeezed(x, rng):
    y = np.squeeze(x)
    y *= 50.0
    return x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def flat_iterator(x, rng):
    y = x.flat
    y[:] = 50.0 * x
    return x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def part_of_a_list(x, rng):
    parts = [x]
    parts[0] *= 50.0
    return x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def default_argument(x, rng, kept=[]):  # noqa: B006
    kept.append(x)
    kept[-1] *= 50.0
    return x.sum() + rng.laplace()


@GROUP.wrong(50.0, pair=(unit(0.0), unit(0.02)))
def mask_made_before(x, rng):
    """The mask is of the old values."""
    small = x <= 0.02
    x = np.where(small, 2500.0 * x, 0.0)
    return np.minimum(x, 50.0).sum() + rng.laplace()


@GROUP.right(1.0)
def copy_that_is_released(x, rng):
    """A copy is a value of its own."""
    y = x.copy()
    y = y * 0.5
    return 2.0 * y.sum() + rng.laplace()
