"""Selection gone wrong: noisy max, the sparse vector technique, the exponential mechanism."""

from __future__ import annotations

import math

import numpy as np

import dpcheck

from .base import Planted, array, pure

EPS = 1.0


def query_pairs(size):
    """StatDP's patterns of query answers of sensitivity 1: all queries may move, either way."""
    one, first = np.ones(size), np.eye(1, size)[0]
    half = np.r_[np.ones(size // 2), np.zeros(size - size // 2)]
    return [
        (one, one + first),
        (one, 2 * first),
        (one, 2 - 2 * first),
        (one, 2 * half),
        (one, 2 * one),
        (one, 0 * one),
        (half, 1 - half),
    ]


@dpcheck.batched
def noisy_max_value(data, size, rng):
    return np.max(data + rng.laplace(scale=2 / EPS, size=(size, len(data))), axis=1)


@dpcheck.batched
def noisy_max_index(data, size, rng):
    return np.argmax(data + rng.laplace(scale=2 / EPS, size=(size, len(data))), axis=1)


@dpcheck.batched
def exponential_max_value(data, size, rng):
    return np.max(data + rng.exponential(scale=2 / EPS, size=(size, len(data))), axis=1)


@dpcheck.batched
def exponential_max_index(data, size, rng):
    return np.argmax(data + rng.exponential(scale=2 / EPS, size=(size, len(data))), axis=1)


def _noisy_min_with_gap(scale):
    @dpcheck.batched
    def select(data, size, rng):
        noisy = data + rng.laplace(scale=scale, size=(size, len(data)))
        two = np.partition(noisy, 1, axis=1)
        return np.stack([np.argmin(noisy, axis=1), two[:, 1] - two[:, 0]], axis=1)

    return select


def _one_shot_top(scale):
    @dpcheck.batched
    def select(data, size, rng):
        noisy = data + rng.laplace(scale=scale, size=(size, len(data)))
        return np.argsort(-noisy, axis=1)[:, :3]

    return select


def _sparse_vector(threshold_scale, query_scale, *, stop=True):
    @dpcheck.batched
    def answer(data, size, rng):
        bar = 1.0 + rng.laplace(scale=threshold_scale, size=(size, 1))
        noise = rng.laplace(scale=query_scale, size=(size, len(data))) if query_scale else 0.0
        above = data + noise >= bar
        if not stop:
            return above.astype(float)
        over = np.cumsum(above, axis=1) - above > 0
        return np.where(over, -1.0, above.astype(float))

    return answer


@dpcheck.batched
def svt_releases_its_comparison(data, size, rng):  # the noisy answer that beat the bar, as it is
    bar = 1.0 + rng.laplace(scale=2 / EPS, size=(size, 1))
    noisy = data + rng.laplace(scale=2 / EPS, size=(size, len(data)))
    return _numeric(noisy >= bar, noisy)


@dpcheck.batched
def svt_answers_with_fresh_noise(
    data, size, rng
):  # half the budget for the bar, half for the answer
    bar = 1.0 + rng.laplace(scale=4 / EPS, size=(size, 1))
    above = data + rng.laplace(scale=8 / EPS, size=(size, len(data))) >= bar
    return _numeric(above, data + rng.laplace(scale=2 / EPS, size=(size, len(data))))


def _numeric(above, answers):
    over = np.cumsum(above, axis=1) - above > 0
    return np.where(over, -2000.0, np.where(above, answers, -1000.0))


sparse_vector = _sparse_vector(2 / EPS, 4 / EPS)


def _exponential(candidates, data, size, rng):
    scores = np.array([np.count_nonzero(data == c) for c in candidates])
    return candidates[np.argmax(EPS * scores / 2 + rng.gumbel(size=(size, len(scores))), axis=1)]


@dpcheck.batched
def range_from_the_data(data, size, rng):
    return _exponential(np.unique(data), data, size, rng)


@dpcheck.batched
def public_range(data, size, rng):
    return _exponential(np.arange(5.0), data, size, rng)


@dpcheck.batched
def keys_that_occur(data, size, rng):  # a key is listed only if somebody has it
    counts = np.bincount(data.astype(int), minlength=4)
    noisy = counts + rng.laplace(scale=2 / EPS, size=(size, 4))
    return np.where(counts > 0, noisy, -1000.0)


@dpcheck.batched
def all_public_keys(data, size, rng):
    counts = np.bincount(data.astype(int), minlength=4)
    return counts + rng.laplace(scale=2 / EPS, size=(size, 4))


def _tuned(selection_epsilon, release_epsilon):
    @dpcheck.batched
    def tune_and_release(data, size, rng):
        total = data.sum()
        odds = math.exp(-selection_epsilon * total)  # utilities +total and -total
        worse = rng.random(size) < odds / (1 + odds)
        return np.stack([worse, total + rng.laplace(scale=1 / release_epsilon, size=size)], axis=1)

    return tune_and_release


_BINS = [(array(0, 0, 1, 1), array(0, 0, 1, 2))]
_LYU = "Lyu, Su and Li, VLDB 2017, "

ROWS = [
    Planted(
        "noisy max returns the value",
        noisy_max_value,
        noisy_max_index,
        pure(EPS, "replace-one"),
        query_pairs(5),
        2.5 * EPS,
        "Ding et al., CCS 2018: NoisyMax with Laplace noise, variant b",
    ),
    Planted(
        "exponential noisy max returns the value",
        exponential_max_value,
        exponential_max_index,
        pure(EPS, "replace-one"),
        query_pairs(5),
        math.inf,
        "Ding et al., CCS 2018: NoisyMax with exponential noise, variant b",
    ),
    Planted(
        "noisy min with gap at the scale of monotone queries",
        _noisy_min_with_gap(1 / EPS),
        _noisy_min_with_gap(2 / EPS),
        pure(EPS, "replace-one"),
        query_pairs(5),
        2.0 * EPS,
        "Ding et al., VLDB 2019, free gap information: scale 1/eps is for monotone queries only",
    ),
    Planted(
        "one-shot top three for the price of one",
        _one_shot_top(2 / EPS),
        _one_shot_top(6 / EPS),
        pure(EPS, "replace-one"),
        query_pairs(6),
        None,
        "Durfee and Rogers, NeurIPS 2019: one-shot selection of k costs about k times one",
    ),
    Planted(
        "SVT 3: releases the noisy answer",
        svt_releases_its_comparison,
        svt_answers_with_fresh_noise,
        pure(EPS, "replace-one"),
        query_pairs(10),
        None,
        _LYU + "Algorithm 3 (lecture notes of 2011)",
    ),
    Planted(
        "SVT 4: query noise without the cutoff",
        _sparse_vector(4 / EPS, 4 / (3 * EPS)),
        sparse_vector,
        pure(EPS, "replace-one"),
        query_pairs(10),
        None,
        _LYU + "Algorithm 4 (Lee and Clifton 2014)",
    ),
    Planted(
        "SVT 5: no query noise",
        _sparse_vector(2 / EPS, 0.0, stop=False),
        sparse_vector,
        pure(EPS, "replace-one"),
        query_pairs(10),
        math.inf,
        _LYU + "Algorithm 5 (Stoddard et al. 2014)",
    ),
    Planted(
        "SVT 6: never stops",
        _sparse_vector(2 / EPS, 2 / EPS, stop=False),
        sparse_vector,
        pure(EPS, "replace-one"),
        query_pairs(10),
        None,
        _LYU + "Algorithm 6 (Chen et al. 2015)",
    ),
    Planted(
        "exponential mechanism over the data's own values",
        range_from_the_data,
        public_range,
        pure(EPS, "replace-one"),
        _BINS,
        math.inf,
        "McSherry and Talwar, FOCS 2007: the range must not depend on the data",
    ),
    Planted(
        "histogram lists the keys that occur",
        keys_that_occur,
        all_public_keys,
        pure(EPS, "replace-one"),
        _BINS,
        math.inf,
        "Korolova et al., WWW 2009: releasing search queries; keys must be public or thresholded",
    ),
    Planted(
        "tuning not accounted",
        _tuned(1.0, 1.0),
        _tuned(0.5, 0.5),
        pure(1.0, "zero-out"),
        [(array(0), array(1))],
        1.0 + math.log((1 + math.e) / 2),
        "Liu and Talwar, STOC 2019; Papernot and Steinke, ICLR 2022: selection spends budget too",
    ),
]
