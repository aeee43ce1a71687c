"""Order, places and neighbours in the array: functions that move by more than one record does."""

from __future__ import annotations

import bisect
import heapq
import statistics

import numpy as np

from .base import ROWS, Group, unit

GROUP = Group("ordering")


def changed(at, others=0.0, to=1.0):
    """All alike but one."""
    first = np.full(ROWS, others)
    second = first.copy()
    second[at] = to
    return first, second


MIDDLE = changed(25)
FIRST = changed(0)
WEIGHTS = np.arange(1.0, ROWS + 1.0)


@GROUP.wrong(25.0, MIDDLE)
def search_in_data_that_are_not_sorted(x, rng):
    """Halving looks at the middle first: one record there sends it elsewhere."""
    return np.searchsorted(x, 0.5) + rng.laplace()


@GROUP.wrong(25.0, MIDDLE)
def search_by_method(x, rng):
    return x.searchsorted(0.5) + rng.laplace()


@GROUP.wrong(25.0, MIDDLE)
def search_from_the_right(x, rng):
    return np.searchsorted(x, 0.5, side="right") + rng.laplace()


@GROUP.wrong(25.0, MIDDLE)
def search_of_several(x, rng):
    return np.searchsorted(x, [0.5, 2.0])[0] + rng.laplace()


@GROUP.wrong(25.0, MIDDLE)
def bisected(x, rng):
    return bisect.bisect_left(x, 0.5) + rng.laplace()


@GROUP.wrong(25.0, MIDDLE)
def bisected_list(x, rng):
    return bisect.bisect(list(x), 0.5) + rng.laplace()


@GROUP.wrong(50.0)
def digitized(x, rng):
    """Edges that are data must rise, or an error is raised."""
    try:
        found = np.digitize([0.5], np.sort(x))[0]
    except ValueError:
        found = 0
    return 50.0 * found + rng.laplace()


@GROUP.wrong(50.0, FIRST)
def cumulative_sums(x, rng):
    return np.cumsum(x).sum() + rng.laplace()


@GROUP.wrong(50.0, FIRST)
def running_maximum(x, rng):
    return np.maximum.accumulate(x).sum() + rng.laplace()


@GROUP.wrong(50.0, changed(0, others=1.0, to=0.0))
def cumulative_products(x, rng):
    return np.cumprod(x).sum() + rng.laplace()


@GROUP.wrong(50.0, FIRST)
def sum_by_place(x, rng):
    return (WEIGHTS[::-1] * x).sum() + rng.laplace()


@GROUP.wrong(49.0, FIRST)
def place_of_the_largest(x, rng):
    """All zeros: the first. With one of them 1 the place is that one."""
    return np.argmax(x[::-1]) + rng.laplace()


@GROUP.wrong(49.0, FIRST)
def order(x, rng):
    return np.argsort(x, kind="stable")[-1] * -1.0 + rng.laplace()


@GROUP.wrong(50.0)
def largest(x, rng):
    return 50.0 * x.max() + rng.laplace()


@GROUP.wrong(50.0)
def largest_of_python(x, rng):
    return 50.0 * max(x) + rng.laplace()


@GROUP.wrong(50.0)
def sorted_of_python(x, rng):
    return 50.0 * sorted(x)[-1] + rng.laplace()


@GROUP.wrong(50.0)
def heap(x, rng):
    return 50.0 * heapq.nlargest(1, x)[0] + rng.laplace()


@GROUP.wrong(50.0)
def range_of_values(x, rng):
    return 50.0 * np.ptp(x) + rng.laplace()


@GROUP.wrong(50.0, (np.r_[np.zeros(25), np.ones(25)], np.r_[np.zeros(24), np.ones(26)]))
def median(x, rng):
    """Half zeros, half ones: 1/2; one more and it is 1."""
    return 100.0 * np.median(x) + rng.laplace()


@GROUP.wrong(50.0, (np.r_[np.zeros(25), np.ones(25)], np.r_[np.zeros(24), np.ones(26)]))
def median_of_statistics(x, rng):
    return 100.0 * statistics.median(x) + rng.laplace()


@GROUP.wrong(50.0, (np.r_[np.zeros(25), np.ones(25)], np.r_[np.zeros(24), np.ones(26)]))
def sorted_value(x, rng):
    return 50.0 * np.sort(x)[24] + rng.laplace()


@GROUP.wrong(50.0, (np.r_[np.zeros(25), np.ones(25)], np.r_[np.zeros(24), np.ones(26)]))
def partitioned_value(x, rng):
    return 50.0 * np.partition(x, 24)[24] + rng.laplace()


@GROUP.wrong(50.0, (unit(0.0), unit(1.0)))
def differences(x, rng):
    return 50.0 * np.diff(x).sum() + rng.laplace()


@GROUP.wrong(50.0, MIDDLE)
def absolute_differences(x, rng):
    """A record in the middle has two neighbours."""
    return 25.0 * np.abs(x[1:] - x[:-1]).sum() + rng.laplace()


@GROUP.wrong(50.0)
def interpolated(x, rng):
    return 50.0 * np.interp(ROWS - 1, np.arange(ROWS), x) + rng.laplace()


@GROUP.wrong(50.0, FIRST)
def correlated(x, rng):
    return np.convolve(x, np.ones(ROWS)).sum() + rng.laplace()


@GROUP.wrong(50.0)
def compared_with_the_largest(x, rng):
    """One large record moves all answers: 50 of 50 zeros reach the largest, and then one."""
    return 50.0 / 49.0 * (x >= x.max()).sum() + rng.laplace()


@GROUP.wrong(50.0)
def divided_by_the_largest(x, rng):
    """Everybody is divided by somebody's value."""
    y = x + 1e-9
    return 50.0 / 49.0 * (y / y.max()).sum() / (1.0 - 1e-9 / (1.0 + 1e-9)) + rng.laplace()


@GROUP.right(1.0)
def search_in_public_edges(x, rng):
    """Every record finds its own place among public edges."""
    return (np.searchsorted(np.array([0.25, 0.5]), x) == 2).sum() + rng.laplace()
