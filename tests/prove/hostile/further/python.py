"""Numbers of Python among those of numpy: True + True is 2 for one and True for the other, which wraps."""

from __future__ import annotations

import numpy as np
import pandas as pd

import dpcheck

from ..base import A, Group  # noqa: TID252 - shared by all groups

GROUP = Group("python")
SMALL = np.zeros(50, np.int8)
TEXTS = [{"city": "A", "n": 1} for _ in range(50)]
TABLE = pd.DataFrame({"a": [0.5] * 50, "c": ["u"] * 50})
ANY = dpcheck.records(x=dpcheck.number(0, 1))


def small(last):
    x = np.zeros(50, np.int8)
    x[-1] = last
    return x


def cities(last):
    return [*TEXTS[:-1], {"city": last, "n": 1}]


def table(last):
    return pd.DataFrame({"a": [0.5] * 49 + [last], "c": ["u"] * 50})


def many(n):
    return np.full(n, 0.5)


@GROUP.right(2.0)
def truths_added(x, rng):
    return sum((v > 0.3) + (v > 0.5) for v in x.tolist()) + rng.laplace()


@GROUP.right(1.0)
def truths_of_numpy(x, rng):
    return ((x > 0.3) + (x > 0.5)).sum() + rng.laplace()


@GROUP.right(1.0)
def truths_of_numpy_one_by_one(x, rng):
    return sum((v > 0.3) + (v > 0.5) for v in x) + rng.laplace()


@GROUP.right(1.0)
def truths_of_numpy_by_and(x, rng):
    return sum((v > 0.3 and v > 0.4) + (v > 0.5) for v in x) + rng.laplace()


@GROUP.right(355.0, data=SMALL, pair=(small(-128), small(127)))
def a_small_number_and_one_of_numpy(x, rng):
    return sum(int(v + np.where(v > 0, 100, 0)) for v in x) + rng.laplace()


@GROUP.wrong(2.0)
def truths_of_both(x, rng):
    total = 0
    for v in x:
        one = True if v > 0.5 else v > 0.3
        total += int(one + one)
    return total + rng.laplace()


@GROUP.wrong(2.0)
def truths_of_a_count(x, rng):
    count = 0
    for v in x.tolist():
        count += int(v > 0.5)
    return (count > 0) + (count >= 1) + rng.laplace()


@GROUP.wrong(2.0)
def truths_in_a_loop(x, rng):
    total = 0
    for v in x.tolist():
        total += (v > 0.3) + (v > 0.5)
    return total + rng.laplace()


@GROUP.wrong(2.0)
def truths_in_place(x, rng):
    total = 0
    for v in x.tolist():
        above = v > 0.2
        above += v > 0.6
        total += above
    return total + rng.laplace()


@GROUP.wrong(2.0)
def truths_of_floats(x, rng):
    return sum((float(v) > 0.3) + (float(v) > 0.5) for v in x) + rng.laplace()


@GROUP.wrong(2.0)
def truths_of_items(x, rng):
    return sum((v.item() > 0.3) + (v.item() > 0.5) for v in x) + rng.laplace()


@GROUP.wrong(2.0)
def truths_by_and(x, rng):
    return sum((v > 0.3 and v > 0.4) + (v > 0.5) for v in x.tolist()) + rng.laplace()


@GROUP.wrong(2.0)
def truths_by_if(x, rng):
    return sum((True if v > 0.3 else False) + (v > 0.5) for v in x.tolist()) + rng.laplace()  # noqa: SIM210


@GROUP.wrong(2.0)
def the_larger_truth(x, rng):
    return sum(max(v > 0.3, v > 0.4) + (v > 0.5) for v in x.tolist()) + rng.laplace()


@GROUP.wrong(2.0)
def truths_of_a_sum(x, rng):
    total = sum(x.tolist())
    return (total > 0.3) + (total > 0.5) + rng.laplace()


@GROUP.wrong(2.0)
def truths_of_one_number(x, rng):
    total = float(x.sum())
    return (total > 0.3) + (total > 0.5) + rng.laplace()


@GROUP.wrong(2.0, data=ANY, adjacency=A, pair=(many(3), many(4)))
def truths_of_a_length(x, rng):
    return (len(x) > 3) + (len(x) >= 4) + rng.laplace()


@GROUP.wrong(2.0, data=TEXTS, pair=(cities("A"), cities("B")))
def truths_of_texts(rows, rng):
    return sum((r["city"] == "A") + (r["city"] != "B") for r in rows) + rng.laplace()


@GROUP.wrong(2.0, data=TEXTS, pair=(cities("A"), cities("B")))
def truths_of_texts_among_others(rows, rng):
    return sum((r["city"] in ("A",)) + (r["city"] == "A") for r in rows) + rng.laplace()


@GROUP.wrong(2.0, data=TABLE, pair=(table(0.0), table(1.0)))
def truths_of_rows(df, rng):
    return sum((r["a"] > 0.3) + (r["a"] > 0.5) for _, r in df.iterrows()) + rng.laplace()


@GROUP.right(2.0, data=TABLE, pair=(table(0.0), table(1.0)))
def truths_of_a_column(df, rng):
    return sum((v > 0.3) + (v > 0.5) for v in df["a"]) + rng.laplace()


@GROUP.right(1.0)
def truths_of_numpy_in_a_list(x, rng):
    return sum((v > 0.3) + (v > 0.5) for v in [v for v in x]) + rng.laplace()  # noqa: C416


@GROUP.wrong(
    178.0, data=SMALL, pair=(np.ones(50, np.int8), np.r_[np.ones(49, np.int8), np.int8(79)])
)
def small_numbers_in_a_list(x, rng):
    return float(sum([v for v in x])) + rng.laplace()  # noqa: C416


@GROUP.wrong(255.0, data=SMALL, pair=(small(27), small(28)))
def a_small_number_and_one_of_python(x, rng):
    return sum(int(min(max(v, 27), 28) + (100 if v > -128 else 99)) for v in x) + rng.laplace()


@GROUP.wrong(328.0, data=SMALL, pair=(small(5), small(64)))
def one_or_the_other(x, rng):
    return sum(int((v if v > 5 else 100) * 2) for v in x) + rng.laplace()


@GROUP.wrong(253.0, pair=(np.r_[np.ones(42), np.zeros(8)], np.r_[np.ones(43), np.zeros(7)]))
def a_sum_of_python_in_a_small_type(x, rng):
    return float(np.int8(1) * sum(int(v > 0.5) for v in x) * np.int8(3)) + rng.laplace()
