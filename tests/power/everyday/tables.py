"""pandas: frames and series in, frames, series, text and files' contents out."""

from __future__ import annotations

import math

import pandas as pd

from .base import ALONE, REMOVED, REPLACED, Everyday

CITIES = ("Berlin", "Ulm", "Bonn")


def counts(df):
    return {city: int((df["city"] == city).sum()) for city in CITIES}


def group_means(df, rng):
    return df.groupby("city")["income"].mean() + rng.laplace(scale=1.0)


def group_sums(df, rng):
    sums = df["income"].clip(0, 90_000).groupby(df["city"]).sum().reindex(CITIES, fill_value=0.0)
    return sums + rng.laplace(scale=180_000.0, size=3)


def value_counts(df, rng):
    return df["city"].value_counts()


def value_counts_with_noise(df, rng):
    return pd.Series({c: n + rng.laplace(scale=2.0) for c, n in counts(df).items()})


def describe(df, rng):
    return df[["age"]].describe()


def describe_with_noise(df, rng):
    total = df["age"].clip(0, 100).sum() + rng.laplace(scale=100.0)
    return pd.DataFrame({"age": [total / len(df)]}, index=["mean"])


def filtered(df, rng):
    return df[df["income"] > 50_000].reset_index(drop=True)


def filtered_count(df, rng):
    return pd.DataFrame({"n": [(df["income"] > 50_000).sum() + rng.laplace(scale=1.0)]})


def sampled_rows(df, rng):
    return df.sample(n=5, random_state=int(rng.integers(1 << 30)))


def nothing_but_columns(df, rng):
    return pd.DataFrame({c: [rng.laplace(scale=1.0)] for c in df.columns})


def index_tells(df, rng):
    return pd.Series(rng.normal(size=len(df)), index=df["income"])


def index_is_public(df, rng):
    return pd.Series(rng.normal(size=len(df)), index=range(len(df)))


def dtype_tells(df, rng):
    return pd.Series([1, None if df["age"].max() > 80 else 2])


def dtype_is_public(df, rng):
    p = math.e / (1 + math.e)
    old = (df["age"].max() > 80) ^ (rng.random() > p)
    return pd.Series([1, None if old else 2], dtype="Int64")


def categories_tell(df, rng):
    return df["city"].where(rng.random(len(df)) < 0.5, "Ulm").astype("category")


def categories_are_public(df, rng):
    answer = [CITIES[int(rng.integers(3))] for _ in range(len(df))]
    return pd.Series(pd.Categorical(answer, categories=CITIES))


def csv(df, rng):
    return df.groupby("city")["age"].max().to_csv()


def csv_with_noise(df, rng):
    return pd.Series({c: n + rng.laplace(scale=2.0) for c, n in counts(df).items()}).to_csv()


def length_tells(df, rng):
    return pd.DataFrame({"noise": rng.normal(size=len(df))})


def length_is_noisy(df, rng):
    noisy = max(0, round(len(df) + rng.laplace(scale=1.0)))
    return pd.DataFrame({"noise": rng.normal(size=min(noisy, 50))})


def pivot(df, rng):
    table = df.pivot_table(index="city", values="age", aggfunc="count")
    return table + rng.laplace(scale=2.0, size=table.shape)


def pivot_over_a_public_list(df, rng):
    table = pd.Series(counts(df)).to_frame("age")
    return table + rng.laplace(scale=2.0, size=table.shape)


def bins_of_the_data(df, rng):
    return pd.cut(df["income"], 3, labels=False, retbins=True)[1]


def public_bins(df, rng):
    edges = [0, 30_000, 60_000, 90_001]
    found = pd.cut(df["income"].clip(0, 90_000), edges, right=False).value_counts(sort=False)
    return found.to_numpy() + rng.laplace(scale=2.0, size=3)


def clipped_at_own_quantile(df, rng):
    top = df["income"].quantile(0.99)
    return {"mean": df["income"].clip(upper=top).mean() + rng.laplace(scale=500.0)}


def clipped_at_a_public_bound(df, rng):
    return {"mean": df["income"].clip(0, 90_000).mean() + rng.laplace(scale=15_000.0)}


def attributes(df, rng):
    answer = pd.DataFrame({"n": [rng.normal()]})
    answer.attrs["source rows"] = len(df)
    return answer


def no_attributes(df, rng):
    return pd.DataFrame({"n": [len(df) + rng.laplace(scale=1.0)]})


def dates(df, rng):
    return pd.Timestamp("2026-01-01") - pd.to_timedelta(df["age"].max() * 365, unit="D")


def noisy_dates(df, rng):
    days = 365 * (df["age"].clip(0, 100).mean() + rng.laplace(scale=100 / len(df)))
    return pd.Timestamp("2026-01-01") - pd.to_timedelta(min(9e4, max(-9e4, days)), unit="D")


ROWS = (
    Everyday("means of groups", group_means, group_sums, REPLACED),
    Everyday("value_counts", value_counts, value_counts_with_noise, REPLACED),
    Everyday("describe", describe, describe_with_noise, REPLACED),
    Everyday("rows themselves", filtered, filtered_count, REPLACED),
    Everyday("sampled rows", sampled_rows, nothing_but_columns, REPLACED),
    Everyday("index", index_tells, index_is_public, REPLACED),
    Everyday("dtype", dtype_tells, dtype_is_public, REPLACED),
    Everyday("categories", categories_tell, categories_are_public, REPLACED),
    Everyday("CSV", csv, csv_with_noise, REPLACED),
    Everyday("length", length_tells, length_is_noisy, REMOVED, adjacency="add-remove"),
    Everyday("pivot table", pivot, pivot_over_a_public_list, ALONE),
    Everyday("bins of the data", bins_of_the_data, public_bins, REPLACED),
    Everyday(
        "clipped at own quantile", clipped_at_own_quantile, clipped_at_a_public_bound, REPLACED
    ),
    Everyday("attributes", attributes, no_attributes, REMOVED, adjacency="add-remove"),
    Everyday("timestamp", dates, noisy_dates, REPLACED),
)
