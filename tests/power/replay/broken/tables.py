"""Histograms, group-bys, trees and contingency tables."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from .base import Case

VALUES = np.array([0.1, 0.3, 0.7, 0.9])
MOVED = np.array([0.1, 0.3, 0.7, 0.2])


def histogram_one_draw_for_all_bins(values, rng):
    counts, _ = np.histogram(values, bins=4, range=(0, 1))
    return counts + rng.laplace(scale=2.0)


def histogram_one_draw_a_bin(values, rng):
    counts, _ = np.histogram(values, bins=4, range=(0, 1))
    return counts + rng.laplace(scale=2.0, size=4)


def histogram_for_replaced_record(values, rng):
    # One record leaves a bin and enters another: the sensitivity is 2, not 1.
    counts, _ = np.histogram(values, bins=4, range=(0, 1))
    noisy = counts.astype(float)
    noisy += rng.laplace(scale=1.0, size=len(noisy))
    return noisy.tolist()


def histogram_for_sensitivity_two(values, rng):
    counts, _ = np.histogram(values, bins=4, range=(0, 1))
    noisy = counts.astype(float)
    noisy += rng.laplace(scale=2.0, size=len(noisy))
    return noisy.tolist()


def histogram_in_a_loop(values, rng):
    noisy = np.zeros(4)
    for i in range(4):
        inside = (values >= i / 4) & (values < (i + 1) / 4)
        noisy[i] = inside.sum() + rng.laplace(scale=1.0)
    return noisy


def histogram_in_a_loop_enough(values, rng):
    noisy = np.zeros(4)
    for i in range(4):
        inside = (values >= i / 4) & (values < (i + 1) / 4)
        noisy[i] = inside.sum() + rng.laplace(scale=2.0)
    return noisy


def histogram_skips_empty_bins(values, rng):
    counts, _ = np.histogram(values, bins=4, range=(0, 1))
    return {i: float(c + rng.laplace(scale=2.0)) for i, c in enumerate(counts) if c > 0}


def histogram_keeps_empty_bins(values, rng):
    counts, _ = np.histogram(values, bins=4, range=(0, 1))
    return {i: float(c + rng.laplace(scale=2.0)) for i, c in enumerate(counts)}


def bins_from_the_data(values, rng):
    counts, edges = np.histogram(values, bins=4)
    return counts + rng.laplace(scale=2.0, size=4), edges


def bins_from_the_domain(values, rng):
    counts, edges = np.histogram(values, bins=4, range=(0, 1))
    return counts + rng.laplace(scale=2.0, size=4), edges


PEOPLE = pd.DataFrame({"city": ["a", "a", "b", "b"], "pay": [0.2, 0.4, 0.6, 1.0]})
CHANGED = pd.DataFrame({"city": ["a", "a", "b", "b"], "pay": [0.2, 0.4, 0.6, 0.0]})
GONE = pd.DataFrame({"city": ["a", "a", "b", "c"], "pay": [0.2, 0.4, 0.6, 1.0]})


def group_means_by_private_count(people, rng):
    means = people.groupby("city")["pay"].mean()
    return {city: m + rng.laplace(scale=1 / len(people)) for city, m in means.items()}


def group_sums(people, rng):
    sums = people.groupby("city")["pay"].sum()
    return {city: s + rng.laplace(scale=1.0) for city, s in sums.items()}


def group_keys_from_the_data(people, rng):
    counts = people.groupby("city").size()
    return {city: int(n) + rng.laplace(scale=2.0) for city, n in counts.items()}


def group_keys_public(people, rng):
    counts = people.groupby("city").size().reindex(["a", "b", "c"], fill_value=0)
    return {city: int(n) + rng.laplace(scale=2.0) for city, n in counts.items()}


@dataclass
class Node:
    total: float
    left: float
    right: float


def tree_without_levels(values, rng):
    # Every record is in two levels, and each was given the whole budget.
    half = len(values) // 2
    return Node(
        values.sum() + rng.laplace(),
        values[:half].sum() + rng.laplace(),
        values[half:].sum() + rng.laplace(),
    )


def tree_with_levels(values, rng):
    half = len(values) // 2
    return Node(
        values.sum() + rng.laplace(scale=2),
        values[:half].sum() + rng.laplace(scale=2),
        values[half:].sum() + rng.laplace(scale=2),
    )


def prefix_sums_reuse_the_noise_of_nodes(values, rng):
    # Noise of each leaf is used again at every prefix: cumulative sums of (x + z) are fine, but the
    # exact increments are given away by the column of plain differences.
    noise = rng.laplace(size=len(values))
    noisy = np.cumsum(values) + np.cumsum(noise)
    return {"prefix": noisy, "noise": noise}


def prefix_sums(values, rng):
    noise = rng.laplace(size=len(values))
    return {"prefix": np.cumsum(values) + np.cumsum(noise)}


def marginals_unscaled(values, rng):
    rows = np.stack([values, values**2, np.sqrt(values)])
    return rows.sum(axis=1) + rng.normal(scale=1.0, size=3)


def marginals_scaled(values, rng):
    rows = np.stack([values, values**2, np.sqrt(values)])
    return rows.sum(axis=1) + rng.normal(scale=math.sqrt(3.0) * 4, size=3)


ZERO = np.array([0.1, 0.3, 0.7, 0.0])
ONE = np.array([0.1, 0.3, 0.7, 1.0])


def _gaussian(mu: float, delta: float) -> float:
    from scipy.stats import norm

    low, high = 0.0, 100.0
    for _ in range(200):
        e = (low + high) / 2
        value = norm.cdf(mu / 2 - e / mu) - math.exp(e + norm.logcdf(-mu / 2 - e / mu))
        low, high = (e, high) if value > delta else (low, e)
    return low


CASES = [
    Case(
        "one draw for all bins",
        histogram_one_draw_for_all_bins,
        histogram_one_draw_a_bin,
        (VALUES, MOVED),
        1.0,
        math.inf,
    ),
    Case(
        "histogram of replaced records",
        histogram_for_replaced_record,
        histogram_for_sensitivity_two,
        (VALUES, MOVED),
        1.0,
        2.0,
    ),
    Case(
        "histogram in a loop",
        histogram_in_a_loop,
        histogram_in_a_loop_enough,
        (VALUES, MOVED),
        1.0,
        2.0,
    ),
    Case(
        "empty bins left out",
        histogram_skips_empty_bins,
        histogram_keeps_empty_bins,
        (VALUES, np.array([0.1, 0.3, 0.9, 0.9])),
        1.0,
        math.inf,
    ),
    Case(
        "bins made from the data",
        bins_from_the_data,
        bins_from_the_domain,
        (VALUES, MOVED),
        1.0,
        math.inf,
    ),
    Case(
        "group means with noise for n",
        group_means_by_private_count,
        group_sums,
        (PEOPLE, CHANGED),
        1.0,
        2.0,
    ),
    Case(
        "group keys from the data",
        group_keys_from_the_data,
        group_keys_public,
        (PEOPLE, GONE),
        1.0,
        math.inf,
    ),
    Case("tree without levels", tree_without_levels, tree_with_levels, (ZERO, ONE), 1.0, 2.0),
    Case(
        "noise handed out beside the sums",
        prefix_sums_reuse_the_noise_of_nodes,
        prefix_sums,
        (ZERO, ONE),
        1.0,
        math.inf,
    ),
    Case(
        "three marginals with the noise of one",
        marginals_unscaled,
        marginals_scaled,
        (ZERO, ONE),
        1.2,
        _gaussian(math.sqrt(3.0), 1e-5),
        1e-5,
    ),
]
