"""pandas: methods that look at the data, drop rows by it, or name columns after it."""

from __future__ import annotations

import numpy as np
import pandas as pd

import dpcheck

from .base import ROWS, Group, unit

PEOPLE = dpcheck.records(x=dpcheck.number(0, 1), c=dpcheck.one_of("a", "b"), rows=ROWS)


def people(last, kind="a"):
    return pd.DataFrame({"x": unit(last), "c": ["a"] * (ROWS - 1) + [kind]})


GROUP = Group("tables", data=PEOPLE, form="pandas", pair=(people(0.0), people(1.0)))
KIND = (people(0.0), people(0.0, "b"))


@GROUP.wrong(50.0)
def different_values(df, rng):
    return 50.0 * df["x"].nunique() + rng.laplace()


@GROUP.wrong(50.0, KIND)
def different_categories(df, rng):
    return 50.0 * df["c"].nunique() + rng.laplace()


@GROUP.wrong(50.0, KIND)
def number_of_groups(df, rng):
    return 50.0 * df.groupby("c").ngroups + rng.laplace()


@GROUP.wrong(50.0, KIND)
def length_of_the_counts(df, rng):
    return 50.0 * len(df["c"].value_counts()) + rng.laplace()


@GROUP.wrong(50.0, KIND)
def names_of_the_groups(df, rng):
    return 50.0 * ("b" in df.groupby("c")["x"].sum()) + rng.laplace()


@GROUP.wrong(50.0, KIND)
def loop_over_groups(df, rng):
    return 50.0 * sum(1 for _ in df.groupby("c")) + rng.laplace()


@GROUP.wrong(50.0, KIND)
def columns_of_dummies(df, rng):
    return 50.0 * pd.get_dummies(df["c"]).shape[1] + rng.laplace()


@GROUP.wrong(50.0, KIND)
def codes_of_a_category(df, rng):
    return 50.0 * df["c"].astype("category").cat.codes.sum() + rng.laplace()


@GROUP.wrong(50.0, KIND)
def factorized(df, rng):
    return 50.0 * pd.factorize(df["c"])[0].sum() + rng.laplace()


@GROUP.wrong(50.0, KIND)
def unique_of_pandas(df, rng):
    return 50.0 * len(pd.unique(df["c"])) + rng.laplace()


@GROUP.wrong(50.0, KIND)
def set_of_a_column(df, rng):
    return 50.0 * len(set(df["c"])) + rng.laplace()


@GROUP.wrong(50.0, KIND)
def list_of_a_column(df, rng):
    return 50.0 * df["c"].tolist().count("b") + rng.laplace()


@GROUP.wrong(50.0)
def without_duplicates(df, rng):
    return 50.0 * len(df.drop_duplicates()) + rng.laplace()


@GROUP.wrong(50.0)
def all_different(df, rng):
    return 50.0 * df["x"].head(2).is_unique + 50.0 * df["x"].max() + rng.laplace()


@GROUP.wrong(50.0)
def described(df, rng):
    return 50.0 * df["x"].describe()["max"] + rng.laplace()


@GROUP.wrong(50.0)
def largest_of_a_column(df, rng):
    return 50.0 * df["x"].max() + rng.laplace()


@GROUP.wrong(50.0)
def query(df, rng):
    return 50.0 * len(df.query("x > 0.5")) + rng.laplace()


@GROUP.wrong(50.0)
def evaluated(df, rng):
    return df.eval("50 * x").sum() + rng.laplace()


@GROUP.wrong(50.0)
def length_of_a_filter(df, rng):
    return 50.0 * len(df[df["x"] > 0.5]) + rng.laplace()


@GROUP.wrong(50.0)
def shape_of_a_filter(df, rng):
    return 50.0 * df[df["x"] > 0.5].shape[0] + rng.laplace()


@GROUP.wrong(50.0)
def empty_filter(df, rng):
    return 50.0 * df[df["x"] > 0.5].empty + rng.laplace()


@GROUP.wrong(50.0)
def index_of_a_filter(df, rng):
    return 50.0 * len(df[df["x"] > 0.5].index) + rng.laplace()


@GROUP.wrong(50.0)
def applied(df, rng):
    return df["x"].apply(lambda v: 50.0 if v > 0.5 else 0.0).sum() + rng.laplace()


@GROUP.wrong(50.0)
def mapped_column(df, rng):
    return df["x"].map({0.0: 0.0, 1.0: 50.0}).sum() + rng.laplace()


@GROUP.wrong(50.0)
def rows_one_by_one(df, rng):
    return sum(50.0 * row.x for row in df.itertuples()) + rng.laplace()


@GROUP.wrong(50.0)
def ranks(df, rng):
    return 50.0 / 49.0 * 2 * (df["x"].rank().iloc[-1] - 25.5) + rng.laplace()


@GROUP.wrong(50.0)
def sorted_table(df, rng):
    return 50.0 * df.sort_values("x")["x"].iloc[-1] + rng.laplace()


@GROUP.wrong(50.0)
def one_cell(df, rng):
    return 50.0 * df.at[ROWS - 1, "x"] + rng.laplace()


@GROUP.wrong(50.0)
def one_row(df, rng):
    return 50.0 * df.iloc[-1]["x"] + rng.laplace()


@GROUP.wrong(50.0)
def joined_with_itself(df, rng):
    return 25.0 * pd.concat([df, df])["x"].sum() + rng.laplace()


@GROUP.wrong(50.0)
def merged(df, rng):
    """Everybody of the same category meets everybody: 50 of them."""
    return df.merge(df, on="c")["x_x"].sum() + rng.laplace()


@GROUP.wrong(50.0)
def written_in_place(df, rng):
    df.loc[df["x"] > 0.5, "x"] = 50.0
    return df["x"].sum() + rng.laplace()


@GROUP.wrong(50.0)
def new_column(df, rng):
    df["y"] = 50.0 * df["x"]
    return df["y"].sum() + rng.laplace()


@GROUP.wrong(50.0)
def inserted_column(df, rng):
    df.insert(0, "y", 50.0 * df["x"])
    return df["y"].sum() + rng.laplace()


@GROUP.wrong(50.0)
def column_replaced(df, rng):
    df["x"] = 50.0 * df["x"]
    return df.x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def popped_column(df, rng):
    return 50.0 * df.pop("x").sum() + rng.laplace()


@GROUP.wrong(50.0)
def columns_renamed(df, rng):
    df["y"] = 50.0 * df["x"]
    df.columns = ["y", "c", "x"]
    return df["x"].sum() + rng.laplace()


@GROUP.wrong(50.0)
def counted_without_missing(df, rng):
    """A column whose zeros are taken away."""
    return 50.0 * (1.0 / df["x"]).replace(np.inf, np.nan).count() + rng.laplace()


@GROUP.wrong(50.0)
def truth_of_a_column(df, rng):
    return 50.0 * bool((df["x"] > 0.5).any()) + rng.laplace()


@GROUP.wrong(50.0)
def text_of_a_table(df, rng):
    return 50.0 * ("1.0" in df["x"].to_string()) + rng.laplace()


@GROUP.wrong(50.0)
def equal_tables(df, rng):
    return 50.0 * df["x"].equals(pd.Series(np.zeros(ROWS), name="x")) + rng.laplace()


@GROUP.wrong(50.0)
def bins_of_the_data(df, rng):
    """Edges between the smallest and the largest value."""
    edges = pd.cut(df["x"], 2, retbins=True)[1]
    return 50.0 * (edges[-1] > 0.5) + rng.laplace()


@GROUP.right(1.0, pair=KIND)
def counts_of_public_categories(df, rng):
    """One record leaves a count and joins another: 2 / 2."""
    found = df.groupby("c").size().reindex(["a", "b"], fill_value=0).to_numpy()
    return found[1] + 0.0 * found[0] + rng.laplace()
