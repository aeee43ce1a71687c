"""Order statistics and ties: a mean's noise, or a sum's, on what one person between two halves moves."""

from __future__ import annotations

import numpy as np

from .base import Kinds, unit


def noisy(statistic, scale, rows):
    """A statistic of values between 0 and 1 with Laplace noise."""

    def release(x, rng):
        return statistic(np.clip(x, 0, 1)) + rng.laplace(scale=scale)

    return release


def row(name, statistic, rows, wrong, right):
    return Kinds(name, noisy(statistic, wrong, rows), noisy(statistic, right, rows), unit(rows))


def second_largest(x):
    return np.sort(x)[-2]


def second_smallest(x):
    return np.sort(x)[1]


def spread(x):
    low, high = np.percentile(x, [25, 75])
    return high - low


def trimmed(x):
    return np.sort(x)[2:-2].mean()


def winsorised(x):
    low, high = np.quantile(x, [0.1, 0.9])
    return np.clip(x, low, high).sum()


def deviation(x):
    return np.median(np.abs(x - np.median(x)))


def mode(x):
    values, counts = np.unique(np.round(x, 1), return_counts=True)
    return values[np.argmax(counts)]


def top_three(x):
    return np.sort(x)[-3:].mean()


def gap(x):
    ordered = np.sort(x)
    return ordered[-1] - ordered[-2]


def pairwise(x):
    return np.median([(a + b) / 2 for a in x for b in x])


def above_mean(x):
    return (x > x.mean()).mean()


def ties(x):
    return np.unique(x, return_counts=True)[1].max() == 3


def longest_run(x):
    ordered = np.sort(x)
    return np.diff(ordered).max()


ROWS = [
    row("median", np.median, 9, 1 / 9, 1.0),
    row("median of twenty", np.median, 20, 1 / 20, 1.0),
    row("lower quartile", lambda x: np.quantile(x, 0.25), 12, 1 / 12, 1.0),
    row("ninetieth percentile", lambda x: np.percentile(x, 90), 20, 1 / 20, 1.0),
    row("second largest", second_largest, 10, 1 / 10, 1.0),
    row("second smallest", second_smallest, 10, 1 / 10, 1.0),
    row("interquartile range", spread, 16, 2 / 16, 1.0),
    row("range", np.ptp, 12, 1 / 12, 1.0),
    row("midrange", lambda x: (x.max() + x.min()) / 2, 12, 1 / 12, 0.5),
    row("trimmed mean", trimmed, 10, 1 / 10, 1 / 6),
    row("winsorised sum", winsorised, 20, 1.0, 20.0),
    row("median deviation", deviation, 9, 1 / 9, 1.0),
    row("mode", mode, 9, 1 / 9, 1.0),
    row("mean of the top three", top_three, 12, 1 / 12, 1 / 3),
    row("gap at the top", gap, 10, 1 / 10, 1.0),
    row("pairwise median", pairwise, 7, 1 / 7, 1.0),
    row("share above the mean", above_mean, 12, 1 / 12, 1.0),
    row("three of a kind", ties, 6, 0.5, 1.0),
    row("widest gap", longest_run, 10, 1 / 10, 1.0),
]
