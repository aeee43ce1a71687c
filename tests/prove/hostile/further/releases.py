# ruff: noqa: B007, RUF005 - what a linter warns of is tested here
"""Releases: how often, of what, with which noise; bins, masks, writes."""

from __future__ import annotations

import numpy as np

import dpcheck

from ..base import Group  # noqa: TID252 - shared by all groups
from .columns import ANY_NUMBER, column

GROUP = Group("releases")
SINGLE = np.zeros(50, np.float32)


@GROUP.wrong(1.0)
def tiny_scale(x, rng):
    return x.sum() + rng.laplace(0, 1) / 50


@GROUP.right(50.0)
def scaled_after(x, rng):
    return 50 * x.sum() + rng.laplace()


@GROUP.wrong(1.0)
def noise_over(x, rng):
    return x.sum() + rng.laplace() * 0.1


@GROUP.wrong(1.0)
def loc(x, rng):
    return rng.laplace(x.sum(), 1)


@GROUP.wrong(5.0)
def loc_keyword(x, rng):
    return rng.laplace(loc=5 * x.sum())


@GROUP.wrong(50.0)
def noisy_max_value_wrong(x, rng):
    c = np.array([50 * x.sum(), 0.0])
    return np.max(c) + rng.laplace()


@GROUP.wrong(50.0, scale=0.02)
def laplace_mean_scale_n(x, rng):
    return x.sum() + rng.laplace(scale=1 / len(x))


@GROUP.wrong(2.0)
def two_releases(x, rng):
    return [x.sum() + rng.laplace() for _ in range(2)]


@GROUP.wrong(20.0)
def many_releases(x, rng):
    out = []
    for i in range(20):
        out.append(x.sum() + rng.laplace())
    return out


@GROUP.wrong(20.0)
def averaged(x, rng):
    return np.array([x.sum() + rng.laplace() for _ in range(20)])


@GROUP.wrong(2.0)
def keepdims(x, rng):
    return np.vstack([x.sum(keepdims=True)] * 2) + rng.laplace(size=(2, 1))


@GROUP.wrong(50.0, pair=(column(0.0), column(1.0)), scale=0.0196)
def standardise(x, rng):
    return np.abs(x - x.mean()).max() + rng.laplace(scale=0.0196)


@GROUP.wrong(1.5015015015, pair=(column(0.0, 1.0), column(1.0, 1.0)), scale=0.0263736)
def product_of_means(x, rng):
    return x.mean() * x.mean() + rng.laplace(scale=0.0264 / 1.0 * 1.0 * 0.999)


@GROUP.wrong(24.5098039216, pair=(column(0.0, 1.0), column(1.0, 1.0)), scale=0.016)
def ratio(x, rng):
    return x.sum() / (1 + x.sum()) * 1000.0 + rng.laplace(scale=0.4 / 25 * 1.0)


@GROUP.wrong(2.0, pair=(column(0.0), column(1.0)))
def histogram_two(x, rng):
    return np.histogram(x, bins=2, range=(0, 1))[0] + rng.laplace(size=2)


@GROUP.wrong(5.0, pair=(column(0.0), column(1.0)))
def histogram_weights(x, rng):
    return np.histogram(x, bins=2, range=(0, 1), weights=x * 5)[0] + rng.laplace(size=2)


@GROUP.wrong(99.0, pair=(column(0.0), column(1.0)))
def histogram_cumulative(x, rng):
    return np.cumsum(np.histogram(x, bins=100, range=(0, 1))[0]) + rng.laplace(size=100)


@GROUP.wrong(2.0, pair=(column(0.0), column(1.0)))
def bincount(x, rng):
    return np.bincount((x > 0.5).astype(int), minlength=2) + rng.laplace(size=2)


@GROUP.wrong(50.0, pair=(column(0.0), column(1.0)))
def bincount_weights(x, rng):
    return np.bincount((x > 0.5).astype(int), weights=x * 50, minlength=2) + rng.laplace(size=2)


@GROUP.wrong(2.0, pair=(column(0.0), column(1.0)))
def digitize_counts(x, rng):
    d = np.digitize(x, [0.5])
    return [float((d == k).sum()) + rng.laplace() for k in (0, 1)]


@GROUP.wrong(3.0, pair=(column(0.0), column(1.0)))
def overlapping_bins(x, rng):
    return [(x >= t).sum() + rng.laplace() for t in (0.2, 0.4, 0.6)]


@GROUP.wrong(4.0, pair=(column(0.0), column(1.0)))
def cumulative_counts(x, rng):
    return [(x <= t).sum() + rng.laplace() for t in (0.2, 0.4, 0.6, 0.8)]


@GROUP.wrong(2.0, pair=(column(0.0), column(1.0)))
def touching_bins(x, rng):
    return [((x >= a) & (x <= b)).sum() + rng.laplace() for a, b in ((0, 0.5), (0.5, 1))]


@GROUP.wrong(10.0, pair=(column(0.0), column(1.0)))
def gradient_no_clip(x, rng):
    w = np.zeros(1)
    for _ in range(10):
        w = w - (10 * x.sum() + rng.laplace(size=1)) * 0.1
    return w * 10 if False else [10 * x.sum() + rng.laplace()][0]


@GROUP.wrong(1.0)
def clipped_twice(x, rng):
    return np.clip(np.clip(5 * x, 0, 2), 0, 1).sum() + rng.laplace()


@GROUP.wrong(2.0, pair=(column(0.0), column(1.0)))
def hist_right(x, rng):
    return [((x >= a) & (x < b)).sum() + rng.laplace() for a, b in ((0, 0.5), (0.5, 1.5))]


@GROUP.wrong(
    1.0,
    pair=(column(0, 0, 50, np.uint64), column(1, 0, 50, np.uint64)),
    data=np.zeros(50, np.uint64),
)
def u64_to_int(x, rng):
    return float(np.minimum(x, 1).astype(np.int64).sum()) + rng.laplace()


@GROUP.wrong(50.0, pair=(column(0, 0, 50, bool), column(1, 0, 50, bool)), data=np.zeros(50, bool))
def bool_minmax(x, rng):
    return float(np.maximum(x[0], x[-1])) * 50 + rng.laplace()


@GROUP.wrong(3.0, pair=(column(0, 0, 50, bool), column(1, 0, 50, bool)), data=np.zeros(50, bool))
def bool_mult(x, rng):
    return float((x * 3).sum()) + rng.laplace()


@GROUP.wrong(2.0, pair=(column(0, 0, 50, bool), column(1, 0, 50, bool)), data=np.zeros(50, bool))
def bool_power(x, rng):
    return float((x**2 * 2).sum()) + rng.laplace()


@GROUP.wrong(2.0, pair=(column(0, 0, 50, bool), column(1, 0, 50, bool)), data=np.zeros(50, bool))
def bool_where(x, rng):
    return float(np.where(x, 2, 0).sum()) + rng.laplace()


@GROUP.wrong(1.0, pair=(SINGLE, column(1, 0, 50, np.float32)), data=SINGLE)
def f32_clip(x, rng):
    return float(np.clip(np.nan_to_num(x), 0, 1).sum()) + rng.laplace()


@GROUP.wrong(2.0)
def isin_overlap(x, rng):
    return [np.isin(x, [0.0]).sum() + rng.laplace(), np.isin(x, [0.0, 0.5]).sum() + rng.laplace()]


@GROUP.wrong(4.0)
def overlapping_masks(x, rng):
    a = (x >= 0) & (x <= 1)
    b = (x < 0.5) | (x > 0.6)
    return [(x[a] * 2).sum() + rng.laplace(), (x[b] * 2).sum() + rng.laplace()]


@GROUP.wrong(3.0)
def negated_twice(x, rng):
    return [
        (~~(x > 0.5)).sum() + rng.laplace(),
        (x > 0.5).sum() + rng.laplace(),
        (~(x <= 0.5)).sum() + rng.laplace(),
    ]


@GROUP.wrong(2.0)
def same_condition_other_spelling(x, rng):
    return [(x > 0.5).sum() + rng.laplace(), (x > 0.5).sum() + rng.laplace()]


@GROUP.wrong(2.0)
def disjoint_but_shifted(x, rng):
    y = x + 0.0
    return [(x > 0.5).sum() + rng.laplace(), (y <= 0.5).sum() + rng.laplace()]


@GROUP.wrong(4.0)
def multiplied_by_public(x, rng):
    return [((x > 0.5) * 3).sum() + rng.laplace(), (x <= 0.5).sum() + rng.laplace()]


@GROUP.wrong(1.8, pair=(column(0.2, 0.2), column(0.7, 0.2)))
def disjoint_with_complement(x, rng):
    return [(x * (x > 0.5)).sum() * 2 + rng.laplace(), (x * (x <= 0.5)).sum() * 2 + rng.laplace()]


@GROUP.wrong(3.0)
def loop_bins_touching(x, rng):
    out = []
    for lo in (0, 0.25, 0.5, 0.75):
        out.append(((x >= lo) & (x <= lo + 0.25)).sum() + rng.laplace())
    return out + [((x > 0) & (x <= 1)).sum() + rng.laplace()]


@GROUP.wrong(
    2.0, pair=(np.zeros(3), np.r_[np.zeros(3), 0.5]), adjacency="add-remove", data=ANY_NUMBER
)
def add_remove_boundary(x, rng):
    return [
        ((x >= 0) & (x <= 0.5)).sum() + rng.laplace(),
        ((x >= 0.5) & (x <= 1)).sum() + rng.laplace(),
    ]


@GROUP.wrong(
    2.0, pair=(np.zeros(3), np.r_[np.zeros(3), 0.5]), adjacency="add-remove", data=ANY_NUMBER
)
def digitize_both(x, rng):
    return [
        (np.digitize(x, [0.5]) == 1).sum() + rng.laplace(),
        (np.digitize(x, [0.5], right=True) == 0).sum() + rng.laplace(),
    ]


@GROUP.wrong(5.0)
def put_columns(x, rng):
    t = np.zeros((50, 2))
    t[:, 0] = x
    t[:, 1] = 4 * x
    return t.sum() + rng.laplace()


@GROUP.wrong(5.0)
def put_slices(x, rng):
    t = np.zeros(3)
    t[:2] = x.sum()
    t[1:] = 4 * x.sum()
    return t.sum() * 5 / 9 + rng.laplace()


@GROUP.wrong(8.0)
def put_broadcast(x, rng):
    t = np.zeros((2, 2))
    t[:] = 2 * x.sum()
    return t + rng.laplace(size=(2, 2))


@GROUP.wrong(3.0)
def put_fancy_dup(x, rng):
    t = np.zeros(2)
    t[[0, 0]] = np.array([x.sum(), 3 * x.sum()])
    return t + rng.laplace(size=2)


@GROUP.wrong(4.0)
def put_add_fancy(x, rng):
    t = np.zeros(2)
    t[[0, 1]] += np.array([x.sum(), 3 * x.sum()])
    return t + rng.laplace(size=2)


@GROUP.wrong(2.0)
def overwritten_late(x, rng):
    t = np.array([x.sum(), 0.0])
    t[1] = t[0]
    t[0] = x.sum()
    return t + rng.laplace(size=2)


@GROUP.wrong(2.0)
def both_released_apart(x, rng):
    t = np.array([x.sum(), x.sum()])
    t[0] = t[0] + rng.laplace()
    t[1] = t[1] + rng.laplace()
    return t


@GROUP.wrong(2.0)
def noise_fresh_function(x, rng):

    def noisy(q):
        return q + rng.laplace()

    return (noisy(x.sum()), noisy(x.sum()))


@GROUP.wrong(1.0)
def noise_unused(x, rng):
    rng.laplace()
    return x.sum() + rng.laplace()


@GROUP.wrong(
    2.0, pair=(np.zeros(3), np.r_[np.zeros(3), 1.0]), adjacency="add-remove", data=ANY_NUMBER
)
def sum_and_squares(x, rng):
    return [x.sum() + rng.laplace(), (x**2).sum() + rng.laplace()]


@GROUP.wrong(
    2.0, pair=(np.zeros(3), np.r_[np.zeros(3), 1.0]), adjacency="add-remove", data=ANY_NUMBER
)
def exp_two(x, rng):
    return (1 + x).sum() + rng.laplace()


@GROUP.wrong(
    3.0,
    pair=(np.full(50, 3.0), np.r_[np.full(49, 3.0), 0.0]),
    adjacency="zero-out",
    data=dpcheck.records(x=dpcheck.number(2, 3), rows=50),
)
def zero_out_sum(x, rng):
    return x.sum() + rng.laplace()


@GROUP.wrong(
    3.0,
    pair=(np.full(50, 3.0), np.r_[np.full(49, 3.0), 0.0]),
    adjacency="zero-out",
    data=dpcheck.records(x=dpcheck.number(2, 3), rows=50),
)
def zero_out_mean(x, rng):
    return x.mean() * 50 + rng.laplace()


@GROUP.wrong(
    1.0,
    pair=(np.full(50, 3.0), np.r_[np.full(49, 3.0), 0.0]),
    adjacency="zero-out",
    data=dpcheck.records(x=dpcheck.number(2, 3), rows=50),
)
def zero_out_below_two(x, rng):
    return (x < 2).sum() + rng.laplace()


@GROUP.wrong(
    50.0,
    pair=(np.full(50, 2.0), np.r_[np.full(49, 2.0), 0.0]),
    adjacency="zero-out",
    data=dpcheck.records(x=dpcheck.number(2, 3), rows=50),
)
def zero_out_always(x, rng):
    return float((x >= 2).all()) * 50 + rng.laplace()


@GROUP.wrong(
    3.0,
    pair=({"k": np.full(50, 3)}, {"k": np.r_[np.full(49, 3), 0]}),
    adjacency="zero-out",
    data=dpcheck.records(k=dpcheck.one_of(1, 2, 3), rows=50),
    form="columns",
)
def zero_out_category(d, rng):
    return d["k"].sum() + rng.laplace()


@GROUP.wrong(12.5, pair=(np.r_[np.ones(25), np.zeros(25)], np.r_[np.ones(25), np.zeros(24), 1.0]))
def ratio_small(x, rng):
    return x[:25].sum() / (1 + x[25:].sum()) + rng.laplace(scale=1)


@GROUP.wrong(99.0, pair=(column(0.0, 1.0), column(1.0, 1.0)))
def square_sum(x, rng):
    return np.square(x.sum()) + rng.laplace()


@GROUP.wrong(10.0)
def hypot_agg(x, rng):
    return np.hypot(10 * x.sum(), 0.0) + rng.laplace()


@GROUP.wrong(10.0)
def abs_agg(x, rng):
    return abs(10 * x.sum() - 0) + rng.laplace()


@GROUP.wrong(2.0, pair=(column(0.0, 0.5), column(1.0, 0.5)))
def max_of_sums(x, rng):
    return 2 * max(float(x.sum()), 0.0) + rng.laplace()


@GROUP.wrong(1.0)
def norm_of_vector(x, rng):
    return np.linalg.norm(x) + rng.laplace()


@GROUP.wrong(2.0)
def vector_norm_two(x, rng):
    return 2 * np.sqrt((x**2).sum()) + rng.laplace()


@GROUP.wrong(1.0)
def median_of_rows(x, rng):
    return np.median(np.stack([x, x, 0 * x], axis=1), axis=1).sum() + rng.laplace()


@GROUP.wrong(2.0)
def quantile_list(x, rng):
    return np.quantile(x, [1.0, 1.0]) + rng.laplace(size=2)


@GROUP.wrong(24.5)
def sort_diff(x, rng):
    return np.sort(x) @ (np.arange(50) / 2) + rng.laplace()


@GROUP.wrong(3.0)
def gram_vector(x, rng):
    X = np.stack([x, x, x], axis=1)
    return (X.T @ X).trace() + rng.laplace()


@GROUP.wrong(9.0)
def gram_matrix(x, rng):
    X = np.stack([x, x, x], axis=1)
    return X.T @ X + rng.laplace(size=(3, 3))
