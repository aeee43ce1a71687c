"""Loops over records that add up: into arrays that others know, and into what is read meanwhile."""

from __future__ import annotations

import numpy as np

import dpcheck

from .base import A, Group

GROUP = Group("accumulated")


def bin_of(value):
    """0 or 1."""
    return int(min(max(value, 0), 1))


def add_up(x, total):
    for each in x:
        total += 50.0 * each


def count(x, counts):
    for each in x:
        counts[bin_of(each)] += 25


class Totals:
    def __init__(self):
        self.total = np.zeros(1)


@GROUP.wrong(50.0)
def second_name_of_the_total(x, rng):
    total = np.zeros(1)
    same = total
    for each in x:
        total += 50.0 * each
    return same + rng.laplace(size=1)


@GROUP.wrong(50.0)
def total_of_the_caller(x, rng):
    total = np.zeros(1)
    add_up(x, total)
    return total + rng.laplace(size=1)


@GROUP.wrong(50.0)
def counts_of_the_caller(x, rng):
    counts = np.zeros(2)
    count(x, counts)
    return counts + rng.laplace(size=2)


@GROUP.wrong(50.0)
def second_name_of_the_counts(x, rng):
    counts = np.zeros(2)
    same = counts
    for each in x:
        counts[bin_of(each)] += 25
    return same + rng.laplace(size=2)


@GROUP.wrong(50.0)
def attribute_that_adds_up(x, rng):
    totals = Totals()
    total = totals.total
    for each in x:
        total += 50.0 * each
    return totals.total + rng.laplace(size=1)


@GROUP.wrong(50.0)
def row_of_a_table(x, rng):
    table = np.zeros((3, 1))
    row = table[0]
    for each in x:
        row += 50.0 * each
    return table[:, 0] + rng.laplace(size=3)


@GROUP.wrong(50.0)
def counts_in_a_comprehension(x, rng):
    counts = np.zeros(1)

    def count_one(value):
        counts[0] += 50.0 * value
        return value

    _ = sum([count_one(each) for each in x])
    return counts + rng.laplace(size=1)


@GROUP.wrong(50.0)
def list_in_a_comprehension(x, rng):
    kept = []

    def keep(value):
        kept.append(50.0 * value)
        return value

    _ = sum([keep(each) for each in x])
    return sum(kept) + rng.laplace()


@GROUP.wrong(50.0)
def local_name_of_the_total(x, rng):
    total = 0.0

    def one(value):
        total = 0.0
        total += 0.001 * value
        return 50.0 * (total > 0)

    for each in x:
        total += one(each)
    return total + rng.laplace()


@GROUP.wrong(50.0, pair=(np.r_[1.0, np.zeros(49)], np.zeros(50)))
def running_counts(x, rng):
    """The first record is in every later count."""
    counts, total = np.zeros(1), 0.0
    for each in x:
        counts[0] += each
        total += counts[0]
    return total + rng.laplace()


@GROUP.wrong(50.0, pair=(np.r_[1.0, np.zeros(49)], np.zeros(50)))
def running_counts_by_another_name(x, rng):
    counts, total = np.zeros(1), 0.0
    same = counts
    for each in x:
        counts += each
        total += same[0]
    return total + rng.laplace()


OPEN = {"data": dpcheck.records(x=dpcheck.number(0, 1)), "adjacency": A}


@GROUP.wrong(50.0, **OPEN, pair=(np.ones(50), np.ones(49)))
def length_of_a_filled_list(x, rng):
    kept = []
    held = [kept]
    for each in x:
        kept.append(each)
    return 50.0 * len(held[0]) + rng.laplace()


@GROUP.wrong(50.0, **OPEN, pair=(np.r_[1.0, np.zeros(49)], np.zeros(49)))
def first_five(x, rng):
    """A record that goes lets another one in."""
    kept = []
    for each in x:
        if len(kept) < 5:
            kept.append(2.0 * each - 1.0)
    return 25.0 * sum(kept) + rng.laplace()


@GROUP.wrong(
    255.0,
    data=np.zeros(300, dtype=np.uint8),
    pair=tuple(np.r_[np.ones(k, np.uint8), np.zeros(300 - k, np.uint8)] for k in (256, 255)),
)
def whole_numbers_that_wrap_around(x, rng):
    """np.uint8(255) + np.uint8(1) is 0."""
    total = 0
    for each in np.minimum(x, 1):
        total += each
    return total + rng.laplace()


@GROUP.wrong(
    255.0,
    data=dpcheck.records(x=dpcheck.number(0, 1)),
    adjacency=A,
    pair=(np.ones(5), np.ones(4)),
)
def ones_of_a_small_type(x, rng):
    return (np.zeros(len(x), dtype=np.uint8) - 1).sum() + rng.laplace()


@GROUP.right(50.0)
def total_of_the_caller_by_return(x, rng):
    total = np.zeros(1)
    add_up(x, total)
    return float(total[0]) + rng.laplace()


@GROUP.right(50.0)
def counts_of_the_caller_charged(x, rng):
    counts = np.zeros(2)
    count(x, counts)
    return counts + rng.laplace(size=2)
