"""Order statistics once more: hinges, blocks, shortest halves, tests of a gap that are not noisy."""

from __future__ import annotations

import numpy as np

from .base import Kinds, unit


def row(name, statistic, rows, wrong, right):
    """A statistic of values between 0 and 1 with Laplace noise, too little and enough."""

    def release(scale):
        return lambda x, rng: float(statistic(np.clip(x, 0, 1))) + rng.laplace(scale=scale)

    return Kinds(name, release(wrong), release(right), unit(rows))


def hinges(x):
    low, high = np.percentile(x, [25, 75])
    return (low + high) / 2


def upper_half(x):
    return np.median(x[x >= np.median(x)])


def shortest_half(x):
    ordered, half = np.sort(x), len(x) // 2
    return min(ordered[i + half] - ordered[i] for i in range(len(x) - half))


def median_of_means(x):
    return np.median([block.mean() for block in np.array_split(x, 3)])


def within_two_deviations(x):
    kept = x[np.abs(x - x.mean()) <= 1.5 * x.std()]
    return kept.mean() if len(kept) else 0.0


def fourth_smallest(x):
    return np.partition(x, 3)[3]


def far_from_median(x):
    return np.abs(x - np.median(x)).max()


def decile_range(x):
    return np.quantile(x, 0.9) - np.quantile(x, 0.1)


def local_noise(x, rng):
    """The noise fits the data at hand, which gives it away."""
    ordered = np.sort(np.clip(x, 0, 1))
    middle = len(ordered) // 2
    local = max(ordered[middle + 1] - ordered[middle], ordered[middle] - ordered[middle - 1])
    return float(ordered[middle]) + rng.laplace(scale=local + 0.05)


def enough_noise(x, rng):
    return float(np.median(np.clip(x, 0, 1))) + rng.laplace(scale=1.0)


def tested_without_noise(x, rng):
    """Proposes a bound, tests it on the exact data, releases."""
    ordered = np.sort(np.clip(x, 0, 1))
    middle = len(ordered) // 2
    if ordered[middle + 2] - ordered[middle - 2] > 0.2:
        return None
    return float(ordered[middle]) + rng.laplace(scale=0.2)


ROWS = [
    row("midhinge", hinges, 12, 1 / 12, 1.0),
    row("median of the upper half", upper_half, 11, 1 / 11, 1.0),
    row("shortest half", shortest_half, 10, 1 / 10, 1.0),
    row("median of means", median_of_means, 9, 1 / 9, 1 / 3),
    row("mean without outliers", within_two_deviations, 10, 1 / 10, 1.0),
    row("fourth smallest", fourth_smallest, 14, 1 / 14, 1.0),
    row("farthest from the median", far_from_median, 9, 1 / 9, 1.0),
    row("decile range", decile_range, 21, 1 / 21, 1.0),
    Kinds("noise as large as the gap", local_noise, enough_noise, unit(9)),
    Kinds("a gap tested without noise", tested_without_noise, enough_noise, unit(9)),
]
