"""What is released, how often, and what the noise was meant to hide."""

from __future__ import annotations

import math

import numpy as np

import dpcheck

from .base import Planted, array, clip, pure


@dpcheck.batched
def bounds_from_the_data(data, size, rng):
    low, high = data.min(), data.max()
    return np.clip(data, low, high).mean() + (high - low) / len(data) * rng.laplace(size=size)


@dpcheck.batched
def public_bounds(data, size, rng):
    return np.clip(data, 0, 1).mean() + rng.laplace(scale=1.0 / len(data), size=size)


@dpcheck.batched
def mean_by_the_private_count(data, size, rng):
    return (np.clip(data, 0, 1).sum() + rng.laplace(scale=1.0, size=size)) / len(data)


@dpcheck.batched
def mean_by_a_noisy_count(data, size, rng):
    total = np.clip(data, 0, 1).sum() + rng.laplace(scale=2.0, size=size)
    return total / np.maximum(1.0, len(data) + rng.laplace(scale=2.0, size=size))


@dpcheck.batched
def clipped_but_not_used(data, size, rng):
    clipped = np.clip(data, 0, 1)  # noqa: F841 - the bug
    return data.sum() + rng.laplace(scale=1.0, size=size)


@dpcheck.batched
def clipped_and_used(data, size, rng):
    return np.clip(data, 0, 1).sum() + rng.laplace(scale=1.0, size=size)


@dpcheck.batched
def residual_around_the_noise(
    data, size, rng
):  # what clipping cut off is added back after the noise
    kept = clip(data)
    return (kept + (data - kept)).sum() + rng.laplace(scale=1.0, size=size)


@dpcheck.batched
def no_residual(data, size, rng):
    return clip(data).sum() + rng.laplace(scale=1.0, size=size)


@dpcheck.batched
def a_slice_used_twice(data, size, rng):  # two halves of the budget, three answers
    answers = np.array([np.count_nonzero(data), data.sum(), (data**2).sum()])
    return answers + rng.laplace(scale=2.0, size=(size, 3))


@dpcheck.batched
def a_slice_for_each(data, size, rng):
    answers = np.array([np.count_nonzero(data), data.sum(), (data**2).sum()])
    return answers + rng.laplace(scale=3.0, size=(size, 3))


def _prefix_sums(scale):
    @dpcheck.batched
    def release(data, size, rng):
        return np.cumsum(data + rng.laplace(scale=scale, size=(size, len(data))), axis=1)

    return release


def _partial_sums(scale):
    @dpcheck.batched
    def release(data, size, rng):
        return np.cumsum(data) + rng.laplace(scale=scale, size=(size, len(data)))

    return release


def _smart_sum(block_scale):
    """Two levels: running sums inside blocks of two, block totals carried on."""

    @dpcheck.batched
    def release(data, size, rng):
        carried = np.zeros(size)
        columns = []
        for start in range(0, len(data), 2):
            inside = carried + data[start] + rng.laplace(scale=2.0, size=size)
            carried = carried + data[start : start + 2].sum()
            if block_scale:
                carried = carried + rng.laplace(scale=block_scale, size=size)
            columns += [inside, carried]
        return np.stack(columns, axis=1)

    return release


def _windows(scale):
    @dpcheck.batched
    def release(data, size, rng):
        sums = np.convolve(data, np.ones(3), mode="valid")
        return sums + rng.laplace(scale=scale, size=(size, len(sums)))

    return release


def _rows_of_one_person(most):
    @dpcheck.batched
    def release(data, size, rng):  # one list of rows per person
        total = sum(min(most, len(rows)) for rows in data)
        return total + rng.laplace(scale=1.0, size=size)

    return release


@dpcheck.batched
def stops_on_the_true_total(data, size, rng):  # when it stopped is released, and is exact
    noisy = np.cumsum(data) + rng.laplace(scale=5.0, size=(size, len(data)))
    return np.where(np.cumsum(data) - data >= 2, -1000.0, noisy)


@dpcheck.batched
def stops_on_the_noisy_total(data, size, rng):
    noisy = np.cumsum(data) + rng.laplace(scale=5.0, size=(size, len(data)))
    before = np.hstack([np.full((size, 1), -math.inf), noisy[:, :-1]])
    return np.where(np.maximum.accumulate(before, axis=1) >= 2, -1000.0, noisy)


_SUM = [(array(0, 0, 0, 0), array(1, 0, 0, 0))]
_FAR = [(array(0, 0.5, 0.5, 0.5), array(4, 0.5, 0.5, 0.5))]

ROWS = [
    Planted(
        "data-dependent bounds",
        bounds_from_the_data,
        public_bounds,
        pure(1.0, "replace-one"),
        [(array(0.0, 0.1, 0.1, 0.1), array(1.0, 0.1, 0.1, 0.1))],
        math.inf,
        "diffprivlib's PrivacyLeakWarning: bounds taken from the data when none are given",
    ),
    Planted(
        "mean divided by the private count",
        mean_by_the_private_count,
        mean_by_a_noisy_count,
        pure(1.0, "add-remove"),
        [(array(0, 0), array(0, 0, 1))],
        math.inf,
        "Opacus issue 571: the cardinality of a small dataset leaks through a divisor",
    ),
    Planted(
        "clipped data computed, raw data used",
        clipped_but_not_used,
        clipped_and_used,
        pure(1.0, "zero-out"),
        _FAR,
        4.0,
        "improper clipping is a class of bugs in 'Finding private bugs' (ICLR 2023 workshop)",
    ),
    Planted(
        "residual that bypasses the noise",
        residual_around_the_noise,
        no_residual,
        pure(1.0, "zero-out"),
        _FAR,
        4.0,
        "error feedback and skip connections around a private layer; what clipping removed comes back",
    ),
    Planted(
        "a slice of the budget used twice",
        a_slice_used_twice,
        a_slice_for_each,
        pure(1.0, "zero-out"),
        _SUM,
        1.5,
        "sequential composition: Dwork et al., TCC 2006",
    ),
    Planted(
        "prefix sums of one person's ten events",
        _prefix_sums(10.0),
        _prefix_sums(100.0),
        pure(0.1, "replace-one"),
        [(np.ones(10), np.zeros(10))],
        1.0,
        "event-level noise for a person-level claim: Dwork et al., STOC 2010; PrefixSum of DP-Sniper",
    ),
    Planted(
        "partial sums charged once",
        _partial_sums(1.0),
        _partial_sums(5.0),
        pure(1.0, "zero-out"),
        [(np.zeros(5), array(1, 0, 0, 0, 0))],
        5.0,
        "partial sums, a benchmark of CheckDP (CCS 2020); Chan, Shi and Song 2011: a record is in all",
    ),
    Planted(
        "smart sum carries the exact total",
        _smart_sum(0.0),
        _smart_sum(2.0),
        pure(1.0, "zero-out"),
        [(np.zeros(6), array(1, 0, 0, 0, 0, 0))],
        math.inf,
        "smart sum, a benchmark of CheckDP (CCS 2020): noise forgotten when a block is closed",
    ),
    Planted(
        "overlapping windows as if disjoint",
        _windows(1.0),
        _windows(3.0),
        pure(1.0, "zero-out"),
        [(np.zeros(5), array(0, 0, 1, 0, 0))],
        3.0,
        "McSherry, SIGMOD 2009: parallel composition needs disjoint parts",
    ),
    Planted(
        "contributions of one person not bounded",
        _rows_of_one_person(10**9),
        _rows_of_one_person(1),
        pure(1.0, "add-remove"),
        [([[1], [1]], [[1], [1], [1, 2, 3, 4, 5]])],
        5.0,
        "Wilson et al., PoPETs 2020: SQL with bounded user contribution",
    ),
    Planted(
        "data-dependent early stopping",
        stops_on_the_true_total,
        stops_on_the_noisy_total,
        pure(1.0, "zero-out"),
        [(array(1, 1, 0, 0, 0), array(1, 0, 0, 0, 0))],
        math.inf,
        "Rogers et al., NeurIPS 2016, privacy odometers: a stopping rule is a release",
    ),
]
