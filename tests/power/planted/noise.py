"""Too little noise: scale, sensitivity, and what they were computed for."""

from __future__ import annotations

import math

import numpy as np

import dpcheck

from .base import Planted, array, clip, pure


@dpcheck.batched
def histogram_scale_epsilon(data, size, rng):
    return data + rng.laplace(scale=0.1, size=(size, len(data)))


@dpcheck.batched
def histogram_scale_inverse(data, size, rng):
    return data + rng.laplace(scale=10.0, size=(size, len(data)))


@dpcheck.batched
def variance_as_scale(data, size, rng):  # epsilon 2: scale 1/2, squared by mistake
    return data.sum() + rng.laplace(scale=0.5**2, size=size)


@dpcheck.batched
def scale_as_scale(data, size, rng):
    return data.sum() + rng.laplace(scale=0.5, size=size)


@dpcheck.batched
def euclidean_sensitivity(data, size, rng):  # rows of Euclidean norm 1 have L1 norm up to 2 here
    total = clip(data).sum(axis=0)
    return total + rng.laplace(scale=1.0, size=(size, len(total)))


@dpcheck.batched
def taxicab_sensitivity(data, size, rng):
    total = clip(data).sum(axis=0)
    return total + rng.laplace(scale=math.sqrt(len(total)), size=(size, len(total)))


@dpcheck.batched
def upper_end_as_range(data, size, rng):  # values in [-1, 1]; the range is 2, not the upper end 1
    return np.clip(data, -1, 1).mean() + rng.laplace(scale=1.0 / len(data), size=size)


@dpcheck.batched
def whole_range(data, size, rng):
    return np.clip(data, -1, 1).mean() + rng.laplace(scale=2.0 / len(data), size=size)


@dpcheck.batched
def histogram_for_removal(data, size, rng):  # a replaced person leaves one bin and enters another
    counts = np.bincount(data.astype(int), minlength=3)
    return counts + rng.laplace(scale=1.0, size=(size, 3))


@dpcheck.batched
def histogram_for_replacement(data, size, rng):
    counts = np.bincount(data.astype(int), minlength=3)
    return counts + rng.laplace(scale=2.0, size=(size, 3))


@dpcheck.batched
def noise_of_the_mean_on_the_sum(data, size, rng):
    return np.clip(data, 0, 1).sum() + rng.laplace(scale=1.0 / len(data), size=size)


@dpcheck.batched
def noise_of_the_sum_on_the_sum(data, size, rng):
    return np.clip(data, 0, 1).sum() + rng.laplace(scale=1.0, size=size)


@dpcheck.batched
def median_like_a_mean(data, size, rng):  # a median moves by the whole range, not by range / n
    return np.median(np.clip(data, 0, 1)) + rng.laplace(scale=1.0 / len(data), size=size)


@dpcheck.batched
def median_whole_range(data, size, rng):
    return np.median(np.clip(data, 0, 1)) + rng.laplace(scale=1.0, size=size)


@dpcheck.batched
def local_sensitivity(data, size, rng):  # the scale itself tells the data
    ordered = np.sort(np.clip(data, 0, 1))
    middle = len(ordered) // 2
    local = max(ordered[middle + 1] - ordered[middle], ordered[middle] - ordered[middle - 1])
    return ordered[middle] + max(local, 0.01) * rng.laplace(size=size)


@dpcheck.batched
def sum_that_wraps(data, size, rng):  # int8: 127 + 1 = -128
    wrapped = int(np.sum(data.astype(np.int8), dtype=np.int8))
    return wrapped + rng.laplace(scale=1.0, size=size)


@dpcheck.batched
def sum_that_saturates(data, size, rng):
    return min(127.0, np.clip(data, 0, 1).sum()) + rng.laplace(scale=1.0, size=size)


def _responder(keep):
    @dpcheck.batched
    def respond(data, size, rng):
        return np.where(rng.random(size) < keep, data[0], 1 - data[0])

    return respond


half_scale_response = _responder(1 - 0.5 * math.exp(-1.0))
warner_response = _responder(math.e / (1 + math.e))


@dpcheck.batched
def truncated_laplace(
    data, size, rng
):  # cut at +-5 without a delta: outputs only one side can give
    tail = math.exp(-5.0)
    u = rng.uniform(-1 + tail, 1 - tail, size)
    return data.sum() - np.sign(u) * np.log1p(-np.abs(u))


@dpcheck.batched
def whole_laplace(data, size, rng):
    return data.sum() + rng.laplace(scale=1.0, size=size)


_SUM = [(array(0, 0, 0, 0), array(1, 0, 0, 0))]

ROWS = [
    Planted(
        "scale epsilon",
        histogram_scale_epsilon,
        histogram_scale_inverse,
        pure(0.1, "zero-out"),
        [(np.ones(5), array(2, 1, 1, 1, 1))],
        10.0,
        "Ding et al., CCS 2018: histogram with Lap(eps) for Lap(1/eps), also NoisyHist2 of DP-Sniper",
    ),
    Planted(
        "squared scale",
        variance_as_scale,
        scale_as_scale,
        pure(2.0, "zero-out"),
        _SUM,
        4.0,
        "numpy takes a scale where formulas give a variance; noise miscalibration is a class of bugs "
        "in 'Finding private bugs' (ICLR 2023 workshop)",
    ),
    Planted(
        "Euclidean sensitivity under Laplace noise",
        euclidean_sensitivity,
        taxicab_sensitivity,
        pure(1.0, "zero-out"),
        [(np.zeros((3, 4)), np.vstack([np.full(4, 0.5), np.zeros((2, 4))]))],
        2.0,
        "Dwork et al., TCC 2006: Laplace noise needs the L1 sensitivity",
    ),
    Planted(
        "wrong sensitivity: upper end for range",
        upper_end_as_range,
        whole_range,
        pure(1.0, "replace-one"),
        [(array(-1, 0, 0, 0), array(1, 0, 0, 0))],
        2.0,
        "Casacuberta et al., CCS 2022: sensitivity underestimated across DP libraries",
    ),
    Planted(
        "add-remove noise for a replace-one claim",
        histogram_for_removal,
        histogram_for_replacement,
        pure(1.0, "replace-one"),
        [(array(0, 1, 1, 2), array(1, 1, 1, 2))],
        2.0,
        "Kifer and Machanavajjhala, SIGMOD 2011: bounded and unbounded neighbours; a histogram's "
        "sensitivity is 2 and 1",
    ),
    Planted(
        "noise of the mean on the sum",
        noise_of_the_mean_on_the_sum,
        noise_of_the_sum_on_the_sum,
        pure(1.0, "zero-out"),
        _SUM,
        4.0,
        "a factor n in the sensitivity; in released DP-SGD code: Tramer et al., 2022 (arXiv 2202.12219)",
    ),
    Planted(
        "median with the sensitivity of a mean",
        median_like_a_mean,
        median_whole_range,
        pure(1.0, "replace-one"),
        [(array(0, 0, 0, 1, 1), array(1, 0, 0, 1, 1))],
        5.0,
        "Nissim, Raskhodnikova and Smith, STOC 2007: the median's global sensitivity is its range",
    ),
    Planted(
        "local sensitivity as if global",
        local_sensitivity,
        median_whole_range,
        pure(1.0, "replace-one"),
        [(array(0, 0, 0, 0, 1, 1, 1), array(0, 0, 0, 0, 0, 1, 1))],
        math.inf,
        "Nissim, Raskhodnikova and Smith, STOC 2007: its noise magnitude reveals the data",
    ),
    Planted(
        "integer sum wraps around",
        sum_that_wraps,
        sum_that_saturates,
        pure(1.0, "zero-out"),
        [(np.ones(128), np.r_[np.ones(127), 0.0])],
        255.0,
        "Casacuberta et al., CCS 2022: overflow makes a bounded sum's sensitivity the whole range",
    ),
    Planted(
        "randomized response by the tail of a Laplace",
        half_scale_response,
        warner_response,
        pure(1.0, "replace-one"),
        [(array(0), array(1))],
        math.log(2 * math.e - 1),
        "the keeping probability is e^eps/(1+e^eps) (Warner 1965, Kasiviswanathan et al. 2011), not "
        "1 - e^-eps/2, the Laplace mechanism's",
    ),
    Planted(
        "truncated noise without its delta",
        truncated_laplace,
        whole_laplace,
        pure(1.0, "zero-out"),
        _SUM,
        math.inf,
        "Geng et al., AISTATS 2020: truncated Laplace is (eps, delta) private, never (eps, 0)",
    ),
]
