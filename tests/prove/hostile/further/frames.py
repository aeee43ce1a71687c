"""Tables: copies, groups, missing values, categories."""

from __future__ import annotations

import numpy as np
import pandas as pd

import dpcheck

from ..base import Group  # noqa: TID252 - shared by all groups

GROUP = Group("frames")
PEOPLE = dpcheck.records(
    age=dpcheck.number(0, 100),
    city=dpcheck.one_of("A", "B", "C"),
    pay=dpcheck.number(0, 1),
    rows=50,
)


def people(**last):
    d = pd.DataFrame({"age": np.full(50, 30.0), "city": ["A"] * 50, "pay": np.zeros(50)})
    for k, v in last.items():
        d.loc[49, k] = v
    return d


PAY = (people(), people(pay=1.0))

CITY = (people(), people(city="B"))

WITH_GAPS = dpcheck.records(
    age=dpcheck.number(0, 100, missing=True), pay=dpcheck.number(0, 1, missing=True), rows=50
)


def gap(v, others=0.5):
    return pd.DataFrame({"age": np.full(50, 30.0), "pay": np.r_[np.full(49, others), v]})


NAMES = dpcheck.records(name=dpcheck.text(10), rows=50)


@GROUP.right(50.0, data=PEOPLE, pair=PAY, form="pandas")
def copy_times(d, rng):
    e = d.copy()
    e["pay"] *= 50
    return e["pay"].sum() + rng.laplace()


@GROUP.wrong(50.0, data=PEOPLE, pair=PAY, form="pandas")
def assign(d, rng):
    return d.assign(pay=lambda t: t.pay * 50)["pay"].sum() + rng.laplace()


@GROUP.wrong(50.0, data=PEOPLE, pair=CITY, form="pandas")
def map_city(d, rng):
    return d.city.map({"A": 0, "B": 50, "C": 0}).sum() + rng.laplace()


@GROUP.wrong(2.0, data=PEOPLE, pair=CITY, form="pandas")
def reindexed(d, rng):
    s = d.city.value_counts().reindex(["A", "B", "C"], fill_value=0)
    return (s + rng.laplace(size=3)).tolist()


@GROUP.wrong(50.0, data=PEOPLE, pair=(people(pay=0.0), people(pay=1.0)), form="pandas", scale=0.02)
def quantile(d, rng):
    return d.pay.quantile(1.0) + rng.laplace(scale=0.02)


@GROUP.wrong(2.0, data=PEOPLE, pair=CITY, form="pandas")
def city_eq(d, rng):
    return ((d.city == "A").sum() + rng.laplace(), (d.city == "B").sum() + rng.laplace())


@GROUP.wrong(50.0, data=PEOPLE, pair=PAY, form="pandas", scale=0.02)
def corr(d, rng):
    return (
        d.pay.rank().corr(pd.Series(np.r_[np.zeros(49), 1.0]))
        if False
        else d.pay.max() + rng.laplace(scale=0.02)
    )


@GROUP.wrong(1.0, data=PEOPLE, pair=PAY, form="pandas")
def clip_copy(d, rng):
    e = d.copy()
    e["pay"].clip(0, 0.1)
    return e.pay.sum() + rng.laplace()


@GROUP.wrong(1.0, data=PEOPLE, pair=PAY, form="pandas")
def drop_not_assigned(d, rng):
    e = d.copy()
    e.drop(columns="pay")
    return e.pay.sum() + rng.laplace()


@GROUP.wrong(1.0, data=PEOPLE, pair=PAY, form="pandas")
def to_numpy_copy(d, rng):
    v = d.pay.to_numpy().copy()
    v[:] = 0
    return d.pay.sum() + rng.laplace()


@GROUP.wrong(1.0, data=PEOPLE, pair=PAY, form="pandas")
def bool_sum_any(d, rng):
    return float((d.pay > 0.5).any()) + rng.laplace()


@GROUP.wrong(50.0, data=PEOPLE, pair=PAY, form="pandas", scale=0.02)
def bool_any(d, rng):
    return float((d.pay > 0.5).any()) + rng.laplace(scale=1 / len(d))


@GROUP.wrong(1.0, data=WITH_GAPS, form="pandas", pair=(gap(0.5), gap(np.nan)))
def missing_count(d, rng):
    return d.pay.count() + rng.laplace()


@GROUP.wrong(0.5, data=WITH_GAPS, form="pandas", pair=(gap(0.5), gap(np.nan)))
def fillna_zero(d, rng):
    return d.pay.fillna(0).sum() + rng.laplace()


@GROUP.wrong(99.5, data=WITH_GAPS, form="pandas", pair=(gap(0.5), gap(np.nan)))
def fillna_hundred(d, rng):
    return d.pay.fillna(100).sum() + rng.laplace()


@GROUP.wrong(0.5, data=WITH_GAPS, form="pandas", pair=(gap(0.5), gap(np.nan)))
def where_notna(d, rng):
    return d.pay.where(d.pay.notna(), 0).sum() + rng.laplace()


@GROUP.wrong(1.0, data=WITH_GAPS, form="pandas", pair=(gap(0.5), gap(np.nan)))
def comparison_false(d, rng):
    return (d.pay <= 1).sum() + rng.laplace()


@GROUP.wrong(1.0, data=WITH_GAPS, form="pandas", pair=(gap(0.5), gap(np.nan)))
def not_greater(d, rng):
    return (~(d.pay >= 0)).sum() + rng.laplace()


@GROUP.wrong(50.0, data=WITH_GAPS, form="pandas", pair=(gap(0.5), gap(np.nan)), scale=0.02)
def isna_any(d, rng):
    return float(d.pay.isna().any()) + rng.laplace(scale=0.02)


@GROUP.wrong(30.0, data=WITH_GAPS, form="pandas", pair=(gap(0.5), gap(np.nan)))
def dropna_other_column(d, rng):
    return d.dropna().age.sum() + rng.laplace()


@GROUP.wrong(0.01, data=WITH_GAPS, form="pandas", pair=(gap(0.5), gap(np.nan)))
def np_sum_series(d, rng):
    return np.mean(d.pay.fillna(0.0)) + rng.laplace()


@GROUP.wrong(
    1.0,
    data=NAMES,
    form="pandas",
    pair=(pd.DataFrame({"name": ["a"] * 50}), pd.DataFrame({"name": ["a"] * 49 + ["bbbbbbbbb"]})),
)
def equals(d, rng):
    return (d.name == "a").sum() + rng.laplace()


@GROUP.wrong(
    1.0,
    data=NAMES,
    form="pandas",
    pair=(pd.DataFrame({"name": ["a"] * 50}), pd.DataFrame({"name": ["a"] * 49 + ["bbbbbbbbb"]})),
)
def isin(d, rng):
    return d.name.isin(["a"]).sum() + rng.laplace()


@GROUP.wrong(70.0, data=PEOPLE, pair=(people(), people(age=100.0)), form="pandas")
def clip_swapped(d, rng):
    return d.age.clip(100, 0).sum() + rng.laplace()


@GROUP.wrong(70.0, data=PEOPLE, pair=(people(), people(age=100.0)), form="pandas")
def clip_swapped_kw(d, rng):
    return d.age.clip(lower=100, upper=0).sum() + rng.laplace()


@GROUP.wrong(70.0, data=PEOPLE, pair=(people(), people(age=100.0)), form="pandas")
def frame_clip_swapped(d, rng):
    return d[["age", "pay"]].clip(100, 0)["age"].sum() + rng.laplace()


@GROUP.wrong(3.0, data=PEOPLE, pair=(people(), people(city="B")), form="pandas")
def map_ints(d, rng):
    return float(d.city.map({"A": 2**62, "B": 0, "C": 1}).sum()) / 2**62 + rng.laplace()
