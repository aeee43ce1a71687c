"""Thresholds on counts, rests of divisions, alarms: what the one person tips over."""

from __future__ import annotations

import numpy as np

import dpcheck

from .base import Kinds, unit

AGES = dpcheck.records(age=dpcheck.number(0, 120, integer=True))
ADDED = "add-remove"


def row(name, statistic, records, wrong, right, adjacency=ADDED):
    """A number with too little noise and with enough."""

    def release(scale):
        return lambda x, rng: float(statistic(x)) + rng.laplace(scale=scale)

    return Kinds(name, release(wrong), release(right), records, adjacency)


def exactly_three(x):
    return 5.0 * ((x > 0.7).sum() == 3)


def four_in_a_band(x):
    return 8.0 * (((x > 0.37) & (x < 0.42)).sum() >= 4)


def rest_of_seven(x):
    return len(x) % 7


def parity(x):
    return (x > 0.5).sum() % 2


def any_alarm(x):
    return (x > 0.9).any()


def all_below(x):
    return (x < 0.25).all()


def only_children(ages):
    return 5.0 * bool((ages < 18).any() and not (ages >= 18).any())


def crowded_decade(ages):
    return 6.0 * (np.bincount(np.asarray(ages, int) // 10, minlength=13).max() >= 5)


def more_old_than_young(ages):
    return 4.0 * ((ages >= 65).sum() > (ages < 18).sum())


def between_six_and_eight(x):
    return 3.0 * (6 <= len(x) <= 8)


def log_size(x):
    return np.floor(np.log2(len(x) + 1)) * 4


def mean_or_nothing(x, rng):
    if len(x) < 7:
        return None
    return float(np.clip(x, 0, 1).sum()) + rng.laplace(scale=1.0)


def mean_or_zero(x, rng):
    return float(np.clip(x, 0, 1).sum()) + rng.laplace(scale=1.0)


def sparse_without_threshold_noise(x, rng):
    for bound in (0.2, 0.4, 0.6, 0.8):
        if (x < bound).sum() + rng.laplace(scale=0.5) > 5:
            return bound
    return 1.0


def sparse(x, rng):
    threshold = 5 + rng.laplace(scale=2.0)
    for bound in (0.2, 0.4, 0.6, 0.8):
        if (x < bound).sum() + rng.laplace(scale=4.0) > threshold:
            return bound
    return 1.0


ROWS = [
    row("exactly three", exactly_three, unit(), 1.0, 5.0),
    row("four in a band", four_in_a_band, unit(), 1.0, 8.0),
    row("rest of seven", rest_of_seven, unit(), 1.0, 6.0),
    row("parity", parity, unit(9), 0.3, 1.0, "replace-one"),
    row("any alarm", any_alarm, unit(9), 0.3, 1.0, "replace-one"),
    row("all below", all_below, unit(), 0.3, 1.0),
    row("only children", only_children, AGES, 1.0, 5.0),
    row("crowded decade", crowded_decade, AGES, 1.0, 6.0),
    row("more old than young", more_old_than_young, AGES, 1.0, 4.0),
    row("between six and eight", between_six_and_eight, unit(), 1.0, 3.0),
    row("logarithm of the size", log_size, unit(), 1.0, 4.0),
    Kinds("sum or nothing", mean_or_nothing, mean_or_zero, unit(), ADDED),
    Kinds("sparse vector, bare threshold", sparse_without_threshold_noise, sparse, unit(), ADDED),
]
