# ruff: noqa: B007, RUF059 - what a linter warns of is tested here
"""Arrays: repeated, reversed, sorted, weighted; descriptions under each adjacency."""

from __future__ import annotations

import numpy as np
import pandas as pd

import dpcheck

from ..base import Group  # noqa: TID252 - shared by all groups
from .columns import column

GROUP = Group("arrays")
TEN_ELEVEN = dpcheck.records(k=dpcheck.one_of(10, 11), rows=50)

UNEQUAL = dpcheck.records(a=dpcheck.number(0, 1), b=dpcheck.number(0, 100), rows=50)

WIDE = (np.zeros((50, 2)), np.r_[np.zeros((49, 2)), [[0, 100.0]]])


@GROUP.wrong(50.0, pair=(column(0.0, 0.5), column(1.0, 0.5)), scale=0.02)
def filtered_mean(x, rng):
    return x[x > 0.9].sum() / max(1, (x > 0.9).sum()) + rng.laplace(scale=0.02)


@GROUP.right(2.0)
def vstack(x, rng):
    return np.vstack((x, x)).sum() + rng.laplace()


@GROUP.wrong(2.0)
def column_stack(x, rng):
    return np.column_stack((x, x)).sum() + rng.laplace()


@GROUP.wrong(10.0)
def broadcast(x, rng):
    return np.broadcast_to(x, (10, 50)).sum() + rng.laplace()


@GROUP.wrong(50.0)
def last_times(x, rng):
    return x[-1] * 50 + rng.laplace()


@GROUP.wrong(50.0)
def outer_sum(x, rng):
    return np.outer(x, np.ones(50)).sum() + rng.laplace()


@GROUP.wrong(99.0, pair=(column(0.0, 1.0), column(1.0, 1.0)))
def square_of_sum(x, rng):
    return x.sum() ** 2 + rng.laplace()


@GROUP.wrong(99.0, pair=(column(0.0, 1.0), column(1.0, 1.0)))
def sum_times_sum(x, rng):
    return x.sum() * x.sum() + rng.laplace()


@GROUP.wrong(49.0)
def sorted_weights(x, rng):
    return np.sort(x) @ np.arange(50) + rng.laplace()


@GROUP.wrong(5.0)
def top(x, rng):
    return np.sort(x)[-1] * 5 + rng.laplace()


@GROUP.wrong(50.0, scale=0.02)
def ptp(x, rng):
    return np.ptp(x) + rng.laplace(scale=0.02)


@GROUP.wrong(50.0, scale=0.02)
def max_mean_noise(x, rng):
    return x.max() + rng.laplace(scale=1 / len(x))


@GROUP.wrong(
    25.0, pair=(np.r_[np.zeros(25), np.ones(25)], np.r_[np.zeros(26), np.ones(24)]), scale=0.02
)
def median_mean_noise(x, rng):
    return np.median(x) + rng.laplace(scale=1 / len(x))


@GROUP.wrong(1.5)
def trimmed(x, rng):
    return np.sort(x)[5:-5].sum() * 1 + x[-1] * 1.5 + rng.laplace()


@GROUP.wrong(7.0, scale=0.02)
def std_noise(x, rng):
    return x.std() + rng.laplace(scale=1 / 50)


@GROUP.wrong(15.0, scale=0.06666666666666668)
def norm_noise(x, rng):
    return np.linalg.norm(x) + rng.laplace(scale=1 / 50 / 0.06 * 0.2)


@GROUP.wrong(2.0, pair=(column(0.0), np.r_[np.zeros(25), 1.0, np.zeros(24)]))
def overlapping(x, rng):
    return x[:30].sum() + x[20:].sum() + rng.laplace()


@GROUP.wrong(2.0, pair=(column(0.0), np.r_[np.zeros(25), 1.0, np.zeros(24)]))
def two_slices_two_outputs(x, rng):
    return (x[:30].sum() + rng.laplace(), x[20:].sum() + rng.laplace())


@GROUP.wrong(
    11.0,
    data=TEN_ELEVEN,
    adjacency="zero-out",
    form="columns",
    pair=({"k": np.r_[np.full(49, 10), 11]}, {"k": np.r_[np.full(49, 10), 0]}),
)
def one_of_zero_out(d, rng):
    return d["k"].sum() + rng.laplace()


@GROUP.wrong(
    10.0,
    data=TEN_ELEVEN,
    adjacency="zero-out",
    form="columns",
    pair=({"k": np.r_[np.full(49, 10), 10]}, {"k": np.r_[np.full(49, 10), 0]}),
)
def one_of_zero_out_min(d, rng):
    return d["k"].min() + rng.laplace()


@GROUP.wrong(
    1.0,
    data=TEN_ELEVEN,
    adjacency="zero-out",
    form="columns",
    pair=({"k": np.r_[np.full(49, 10), 10]}, {"k": np.r_[np.full(49, 10), 0]}),
)
def one_of_zero_out_other(d, rng):
    return (d["k"] != 10).sum() * 1.0 - (d["k"] == 11).sum() + rng.laplace()


@GROUP.wrong(
    5.0,
    data=dpcheck.records(x=dpcheck.number(5, 6), rows=50),
    adjacency="zero-out",
    pair=(np.full(50, 5.0), np.r_[np.full(49, 5.0), 0.0]),
)
def number_zero_out(x, rng):
    return x.sum() + rng.laplace()


@GROUP.wrong(
    5.0,
    data=dpcheck.records(x=dpcheck.number(5, 6), rows=50),
    adjacency="zero-out",
    pair=(np.full(50, 5.0), np.r_[np.full(49, 5.0), 0.0]),
)
def number_zero_out_min(x, rng):
    return x.min() + rng.laplace()


@GROUP.wrong(
    5.0,
    data=dpcheck.records(x=dpcheck.number(-6, -5), rows=50),
    adjacency="zero-out",
    pair=(np.full(50, -5.0), np.r_[np.full(49, -5.0), 0.0]),
)
def number_zero_out_max(x, rng):
    return x.max() + rng.laplace()


@GROUP.wrong(
    9.0,
    data=dpcheck.records(x=dpcheck.number(1, 2), rows=50),
    adjacency="zero-out",
    pair=(np.r_[np.full(49, 1.0), 1.0], np.r_[np.full(49, 1.0), 0.0]),
)
def reciprocal_zero_out(x, rng):
    return np.clip((1 / np.maximum(x, 0.1)).sum(), 0, 1000) + rng.laplace() - 0


@GROUP.wrong(
    1.0,
    data=dpcheck.records(x=dpcheck.number(0, 1), rows=50),
    adjacency="zero-out",
    pair=(np.r_[np.zeros(49), 0.5], np.zeros(50)),
)
def zeros_counted(x, rng):
    return (x == 0).sum() + rng.laplace()


@GROUP.wrong(
    1.0,
    data=dpcheck.records(x=dpcheck.number(0, 1), rows=50),
    adjacency="zero-out",
    pair=(np.r_[np.zeros(49), 0.5], np.zeros(50)),
)
def cos_zero_out(x, rng):
    return np.cos(x * np.pi * 2)[-1] / 2 + rng.laplace()


@GROUP.wrong(
    3.0,
    data=dpcheck.records(x=dpcheck.number(0, 3, integer=True), rows=50),
    pair=(np.zeros(50), column(3.0)),
)
def integer_bound(x, rng):
    return x.sum() + rng.laplace()


@GROUP.wrong(
    3.0,
    data=dpcheck.records(x=dpcheck.number(0, 3, integer=True), rows=50),
    form="pandas",
    pair=(pd.DataFrame({"x": np.zeros(50, int)}), pd.DataFrame({"x": column(3, 0, 50, int)})),
)
def integer_pandas(d, rng):
    return d.x.sum() + rng.laplace()


@GROUP.wrong(
    3.0,
    data=dpcheck.records(x=dpcheck.number(0, 3)),
    adjacency="add-remove",
    pair=(np.zeros(3), np.array([0, 0, 0, 3.0])),
)
def sum_add_remove(x, rng):
    return x.sum() + rng.laplace()


@GROUP.wrong(
    1.0,
    data=dpcheck.records(x=dpcheck.number(0, 3)),
    adjacency="add-remove",
    pair=(np.zeros(3), np.zeros(4)),
)
def count_add_remove(x, rng):
    return len(x) + rng.laplace()


@GROUP.wrong(
    2.0,
    data=dpcheck.records(x=dpcheck.number(0, 1)),
    adjacency="add-remove",
    pair=(np.zeros(3), np.r_[np.zeros(3), 1.0]),
)
def two_counts(x, rng):
    return (len(x) + rng.laplace(), (x > 0.5).sum() + rng.laplace())


@GROUP.wrong(
    4.0,
    data=dpcheck.records(x=dpcheck.number(0, 3)),
    adjacency="add-remove",
    pair=(np.zeros(3), np.r_[np.zeros(3), 3.0]),
)
def sum_plus_n(x, rng):
    return x.sum() + len(x) + rng.laplace()


@GROUP.wrong(
    1.0,
    data=dpcheck.records(x=dpcheck.number(0, 3)),
    adjacency="add-remove",
    pair=(np.zeros(3), np.r_[np.zeros(3), 0.0]),
)
def ones_like_sum(x, rng):
    return np.ones_like(x).sum() + rng.laplace()


@GROUP.wrong(
    1.0,
    data=dpcheck.records(x=dpcheck.number(0, 1)),
    adjacency="add-remove",
    pair=(np.zeros(3), np.zeros(4)),
)
def one_minus(x, rng):
    return (1 - x).sum() + rng.laplace()


@GROUP.wrong(
    1.0,
    data=dpcheck.records(x=dpcheck.number(0, 1)),
    adjacency="add-remove",
    pair=(np.zeros(4), np.zeros(5)),
)
def parity(x, rng):
    return len(x) % 2 + rng.laplace()


@GROUP.wrong(
    2.0,
    data=dpcheck.records(x=dpcheck.number(0, 1), y=dpcheck.number(0, 1), rows=50),
    pair=(np.zeros((50, 2)), np.r_[np.zeros((49, 2)), np.ones((1, 2))]),
)
def two_columns(x, rng):
    return x.sum(axis=0) + rng.laplace(size=2)


@GROUP.wrong(
    2.0,
    data=dpcheck.records(x=dpcheck.number(0, 1), y=dpcheck.number(0, 1), rows=50),
    pair=(np.zeros((50, 2)), np.r_[np.zeros((49, 2)), np.ones((1, 2))]),
)
def transposed(x, rng):
    return x.T.sum() + rng.laplace()


@GROUP.wrong(
    50.0,
    data=dpcheck.records(x=dpcheck.number(0, 1), y=dpcheck.number(0, 1), rows=50),
    pair=(np.zeros((50, 2)), np.r_[np.zeros((49, 2)), np.ones((1, 2))]),
    scale=0.04,
)
def max_axis(x, rng):
    return x.max(axis=0) + rng.laplace(size=2, scale=2 / 50)


@GROUP.wrong(100.0, data=UNEQUAL, pair=WIDE)
def flipud_column(x, rng):
    return np.flipud(x)[:, 1].sum() + rng.laplace()


@GROUP.wrong(100.0, data=UNEQUAL, pair=WIDE)
def flip_all(x, rng):
    return np.flip(x)[:, 0].sum() + rng.laplace()


@GROUP.wrong(100.0, data=UNEQUAL, pair=WIDE)
def swapaxes(x, rng):
    return np.swapaxes(x, 0, 1)[-1].sum() + rng.laplace()


@GROUP.wrong(100.0, data=UNEQUAL, pair=WIDE)
def negative_index(x, rng):
    return x[:, -1].sum() + rng.laplace()


@GROUP.wrong(100.0, data=UNEQUAL, pair=WIDE)
def bool_index(x, rng):
    return x[:, [False, True]].sum() + rng.laplace()


@GROUP.wrong(100.0, data=UNEQUAL, pair=WIDE)
def ellipsis(x, rng):
    return x[..., 1].sum() + rng.laplace()


@GROUP.wrong(100.0, data=UNEQUAL, pair=WIDE)
def newaxis(x, rng):
    return x[None, :, 1].sum() + rng.laplace()


@GROUP.wrong(100.0, data=UNEQUAL, pair=WIDE)
def sort_rows(x, rng):
    return np.sort(x, axis=1)[:, 1].sum() + rng.laplace()


@GROUP.wrong(100.0, data=UNEQUAL, pair=WIDE)
def where_axis(x, rng):
    return np.sum(x, where=np.array([False, True])) + rng.laplace()


@GROUP.wrong(100.0, data=UNEQUAL, pair=WIDE)
def sum_initial(x, rng):
    return np.sum(x[:, 1], initial=x[:, 1].sum()) / 2 + rng.laplace()


@GROUP.wrong(100.0, data=UNEQUAL, pair=WIDE)
def columns_stacked(x, rng):
    return np.column_stack((x[:, 0], x[:, 1]))[:, 1].sum() + rng.laplace()


@GROUP.wrong(100.0, data=UNEQUAL, pair=WIDE)
def stack_axis(x, rng):
    return np.stack([x[:, 1], x[:, 0]], axis=-1)[:, 0].sum() + rng.laplace()


@GROUP.wrong(100.0, data=UNEQUAL, pair=WIDE)
def einsum_col(x, rng):
    return np.einsum("ij->j", x)[1] + rng.laplace()


@GROUP.wrong(200.0, data=UNEQUAL, pair=WIDE)
def matmul_weights(x, rng):
    return (x @ np.array([[1, 0], [0, 2.0]])).sum(axis=0)[1] + rng.laplace()


@GROUP.wrong(100.0, data=UNEQUAL, pair=WIDE)
def iter_columns(x, rng):
    return [c.sum() + rng.laplace() for c in x.T][1]


@GROUP.wrong(100.0, data=UNEQUAL, pair=WIDE)
def unpack_columns(x, rng):
    a, b = x.T
    return b.sum() + rng.laplace()


@GROUP.wrong(100.0, data=UNEQUAL, pair=WIDE)
def loop_records(x, rng):
    t = 0.0
    for a, b in x:
        t += b
    return t + rng.laplace()


@GROUP.wrong(100.0, data=UNEQUAL, pair=WIDE)
def linalg_norm_rows(x, rng):
    return np.linalg.norm(x, ord=1, axis=1).sum() + x[:, 0].max() + rng.laplace()


@GROUP.wrong(10000.0, data=UNEQUAL, pair=WIDE)
def gram(x, rng):
    return (x.T @ x)[1, 1] + rng.laplace()


@GROUP.wrong(100.0, data=UNEQUAL, pair=WIDE)
def cumsum_axis(x, rng):
    return np.cumsum(x, axis=1)[:, 1].sum() + rng.laplace()


@GROUP.wrong(100.0, data=UNEQUAL, pair=WIDE)
def diff_axis(x, rng):
    return np.diff(x, axis=1).sum() + rng.laplace()


@GROUP.wrong(100.0, data=UNEQUAL, pair=WIDE)
def argmax_value(x, rng):
    return x.max(axis=1).sum() + rng.laplace()
