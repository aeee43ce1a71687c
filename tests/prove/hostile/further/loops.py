"""Loops over records: totals, branches on a record, lists, helpers, small types."""

from __future__ import annotations

import numpy as np

import dpcheck

from ..base import Group  # noqa: TID252 - shared by all groups

GROUP = Group("loops")
AT_127 = (np.r_[np.ones(127), np.zeros(173)], np.r_[np.ones(127), np.zeros(172), 1.0])

HUNDREDS = dpcheck.records(x=dpcheck.number(0, 1), rows=300)

ONE_OR_TWO = dpcheck.records(k=dpcheck.number(1, 2, integer=True), rows=50)

ONE_TWO = ({"k": np.full(50, 1)}, {"k": np.r_[np.full(49, 1), 2]})


@GROUP.right(255.0, pair=AT_127, data=HUNDREDS)
def int8_total_of_bools(x, rng):
    total = np.int8(0)
    for v in x:
        total += v > 0.5
    return float(total) + rng.laplace()


@GROUP.wrong(255.0, pair=AT_127, data=HUNDREDS)
def int8_sum_start_bools(x, rng):
    return float(sum((v > 0.5 for v in x), np.int8(0))) + rng.laplace()


@GROUP.wrong(255.0, pair=AT_127, data=HUNDREDS)
def int8_array_entry(x, rng):
    t = np.zeros(2, np.int8)
    for v in x:
        t[int(v > 0.5)] += 1
    return float(t[1]) + rng.laplace()


@GROUP.wrong(255.0, pair=AT_127, data=HUNDREDS)
def int8_array_total(x, rng):
    t = np.zeros(1, np.int8)
    for v in x:
        t += v > 0.5
    return float(t[0]) + rng.laplace()


@GROUP.wrong(2.0)
def two_totals(x, rng):
    a = b = 0.0
    for v in x:
        a += v
        b += v
    return a + b + rng.laplace()


@GROUP.wrong(3.0)
def total_twice(x, rng):
    a = 0.0
    for v in x:
        a += v
    for v in x:
        a += 2 * v
    return a + rng.laplace()


@GROUP.wrong(3.0)
def nested_branch(x, rng):
    a = 0.0
    for v in x:
        if v > 0.2:
            if v > 0.7:
                a += 3 * v
            else:
                a += v
        else:
            a -= v
    return a + rng.laplace()


@GROUP.wrong(4.0)
def elif_chain(x, rng):
    a = 0
    for v in x:
        if v < 0.1:
            a += 0
        elif v < 0.9:
            a += 1
        else:
            a += 4
    return a + rng.laplace()


@GROUP.wrong(4.0)
def continue_of_rows(x, rng):
    a = 0
    for v in x:
        if v < 0.5:
            continue
        a += 4
    return a + rng.laplace()


@GROUP.wrong(4.0)
def ternary(x, rng):
    return sum(4 if v > 0.5 else 0 for v in x) + rng.laplace()


@GROUP.wrong(4.0)
def comprehension_if(x, rng):
    return sum([4 for v in x if v > 0.5]) + rng.laplace()


@GROUP.wrong(4.0)
def and_condition(x, rng):
    return sum(4 for v in x if v > 0.5 and v < 2) + rng.laplace()


@GROUP.wrong(4.0)
def not_condition(x, rng):
    return sum(4 for v in x if not v < 0.5) + rng.laplace()


@GROUP.wrong(4.0)
def chained(x, rng):
    return sum(4 for v in x if 0.5 < v <= 1) + rng.laplace()


@GROUP.wrong(1.0)
def len_list(x, rng):
    return len([v for v in x if v > 0.5]) + rng.laplace()


@GROUP.wrong(4.0)
def helper(x, rng):

    def f(v):
        return 4 * v if v > 0.5 else v

    return sum(f(v) for v in x) + rng.laplace()


@GROUP.wrong(4.0)
def helper_early(x, rng):

    def f(v):
        if v > 0.5:
            return 4.0
        return 0.0

    t = 0.0
    for v in x:
        t += f(v)
    return t + rng.laplace()


@GROUP.wrong(4.0)
def clip_python(x, rng):
    t = 0.0
    for v in x:
        t += min(max(4 * v, 0), 4)
    return t + rng.laplace()


@GROUP.wrong(50.0)
def list_of_private(x, rng):
    out = [v * 50 for v in x]
    return sum(out) + rng.laplace()


@GROUP.wrong(50.0)
def list_max(x, rng):
    return max([v * 50 for v in x]) + rng.laplace()


@GROUP.wrong(50.0)
def array_of_list(x, rng):
    return np.array([v * 50 for v in x]).sum() + rng.laplace()


@GROUP.wrong(1.0)
def fits(x, rng):
    return np.int32(int((x > 0.5).sum())) + rng.laplace()


@GROUP.wrong(1.0)
def fits_array(x, rng):
    return np.array([int((x > 0.5).sum())], dtype=np.int8) + rng.laplace(size=1)


@GROUP.wrong(156.0, pair=ONE_TWO, data=ONE_OR_TWO, form="columns")
def table_type(d, rng):
    t = np.array([100, 200], dtype=np.uint8)
    return float((t[d["k"] - 1] + np.uint8(56)).astype(float).sum()) + rng.laplace()
