"""Shapes, logarithms, products and shares: what moves far when there is little of something."""

from __future__ import annotations

import numpy as np

from .base import Kinds, two, unit


def row(name, statistic, records, wrong, right, bounded=None):
    """A statistic with too little noise, and one that is bounded or has enough of it."""

    def release(inner, scale):
        return lambda data, rng: float(inner(data)) + rng.laplace(scale=scale)

    return Kinds(name, release(statistic, wrong), release(bounded or statistic, right), records)


def mean_difference(x):
    return np.abs(x[:, None] - x[None, :]).sum() / (len(x) * (len(x) - 1))


def gini(x):
    return np.abs(x[:, None] - x[None, :]).sum() / max(2 * len(x) * x.sum(), 1e-6)


def skewness(x):
    centred = x - x.mean()
    return np.clip((centred**3).mean() / max(x.std() ** 3, 1e-6), -3, 3)


def certainty(x):
    return x.mean() / max(x.std(), 0.01)


def log_total(x):
    return np.log(x.sum() + 1e-3)


def squared_total(x):
    return x.sum() ** 2 / len(x)


def product(x):
    return np.prod(x)


def by_the_largest(x):
    return (x / max(x.max(), 0.01)).sum()


def ranks(values):
    return np.argsort(np.argsort(values, kind="stable"), kind="stable").astype(float)


def rank_correlation(data):
    a, b = ranks(data[:, 0]), ranks(data[:, 1])
    a, b = a - a.mean(), b - b.mean()
    return a @ b / np.sqrt((a @ a) * (b @ b))


def concordance(data):
    a = np.sign(data[:, None, 0] - data[None, :, 0])
    b = np.sign(data[:, None, 1] - data[None, :, 1])
    return (a * b).sum() / (len(data) * (len(data) - 1))


def explained(data):
    x, y = data[:, 0] - data[:, 0].mean(), data[:, 1] - data[:, 1].mean()
    size = (x @ x) * (y @ y)
    return (x @ y) ** 2 / size if size > 1e-12 else 0.0


def variances(data):
    return min(10.0, data[:, 0].var() / max(data[:, 1].var(), 1e-4))


def conditional_mean(data):
    chosen = data[data[:, 1] > 0.8, 0]
    return chosen.mean() if len(chosen) else 0.0


def own_bins(x, rng):
    counts, _ = np.histogram(x, bins=4)
    return counts + rng.laplace(scale=2.0, size=4)


def fixed_bins(x, rng):
    counts, _ = np.histogram(x, bins=4, range=(0, 1))
    return counts + rng.laplace(scale=2.0, size=4)


def own_clip(x, rng):
    bound = np.quantile(x, 0.8)
    return float(np.minimum(x, bound).mean()) + rng.laplace(scale=bound / len(x) + 1e-3)


def fixed_clip(x, rng):
    return float(np.minimum(x, 0.8).mean()) + rng.laplace(scale=1 / len(x))


ROWS = [
    row("mean difference", mean_difference, unit(10), 1 / 10, 2 / 10),
    row("Gini coefficient", gini, unit(10), 2 / 10, 1.0),
    row("skewness", skewness, unit(12), 6 / 12, 6.0),
    row("certainty", certainty, unit(10), 1.0, 5.0, lambda x: min(5.0, certainty(x))),
    row("logarithm of the total", log_total, unit(10), 0.5, 7.0),
    row("squared total", squared_total, unit(12), 1.0, 2.0),
    row("product", product, unit(8), 1 / 8, 1.0),
    row("scaled by the largest", by_the_largest, unit(10), 1.0, 10.0),
    row("rank correlation", rank_correlation, two(9), 2 / 9, 2.0),
    row("concordance", concordance, two(9), 1 / 9, 4 / 9),
    row("explained variance", explained, two(10), 1 / 10, 1.0),
    row("ratio of variances", variances, two(10), 1.0, 10.0),
    row("conditional mean", conditional_mean, two(10), 1 / 10, 1.0),
    Kinds("bins by the data", own_bins, fixed_bins, unit(10)),
    Kinds("clipped by the data", own_clip, fixed_clip, unit(12)),
]
