"""Randomness that is not fresh, not independent, or not what the proof assumes."""

from __future__ import annotations

import math
import zlib

import numpy as np

import dpcheck

from .base import Planted, array, pure


@dpcheck.batched
def one_noise_two_queries(data, size, rng):  # the difference of the answers has no noise
    noise = rng.laplace(scale=2.0, size=(size, 1))
    return np.array([data.sum(), (data**2).sum() / 2]) + noise


@dpcheck.batched
def two_noises_two_queries(data, size, rng):
    return np.array([data.sum(), (data**2).sum() / 2]) + rng.laplace(scale=2.0, size=(size, 2))


@dpcheck.batched
def fixed_seed(data, size, rng):
    noise = np.random.default_rng(42).laplace(scale=1.0)
    return np.full(size, data.sum() + noise)


@dpcheck.batched
def seed_from_the_data(data, size, rng):
    noise = np.random.default_rng(zlib.crc32(data.tobytes())).laplace(scale=1.0)
    return np.full(size, np.round(data.sum() + noise, 3))


@dpcheck.batched
def fresh_noise(data, size, rng):
    return data.sum() + rng.laplace(scale=1.0, size=size)


@dpcheck.batched
def one_seed_per_day(
    data, size, rng
):  # two days' sums with the same seed: their difference is exact
    noise = rng.laplace(scale=2.0, size=(size, 1))
    return np.array([data[:2].sum(), data.sum()]) + noise


@dpcheck.batched
def new_seed_per_day(data, size, rng):
    return np.array([data[:2].sum(), data.sum()]) + rng.laplace(scale=2.0, size=(size, 2))


@dpcheck.batched
def fresh_noise_from_the_cache(
    data, size, rng
):  # the exact answer is cached, charged once, noised anew
    return data.sum() + rng.laplace(scale=1.0, size=(size, 10))


@dpcheck.batched
def cached_noisy_answer(data, size, rng):
    return np.repeat(data.sum() + rng.laplace(scale=1.0, size=(size, 1)), 10, axis=1)


def _answers(truth, days, size, rng):
    keep = rng.random((size, days)) < math.e / (1 + math.e)
    return np.where(keep, truth, 1 - truth)


@dpcheck.batched
def budget_anew_every_day(data, size, rng):
    return _answers(data[0], 5, size, rng)


@dpcheck.batched
def memoised_answer(data, size, rng):
    return np.repeat(_answers(data[0], 1, size, rng), 5, axis=1)


@dpcheck.batched
def published_sample(data, size, rng):  # amplification needs a secret sample
    chosen = rng.random(size) < 0.2
    return np.stack([chosen * data[0] + rng.laplace(scale=1.0, size=size), chosen], axis=1)


@dpcheck.batched
def secret_sample(data, size, rng):
    chosen = rng.random(size) < 0.2
    return chosen * data[0] + rng.laplace(scale=1.0, size=size)


@dpcheck.batched
def redrawn_until_positive(data, size, rng):
    answers = data.sum() + rng.laplace(scale=1.0, size=size)
    while (bad := answers < 0).any():
        answers[bad] = data.sum() + rng.laplace(scale=1.0, size=int(bad.sum()))
    return answers


@dpcheck.batched
def clamped_to_positive(data, size, rng):
    return np.maximum(0.0, data.sum() + rng.laplace(scale=1.0, size=size))


@dpcheck.batched
def best_of_ten(
    data, size, rng
):  # keeps the attempt nearest to the truth: Laplace of a tenth the scale
    noise = rng.laplace(scale=1.0, size=(size, 10))
    best = np.argmin(np.abs(noise), axis=1)
    return data.sum() + noise[np.arange(size), best]


def _bloom(*bits):
    return np.isin(np.arange(16), bits).astype(float)


_FILTERS = [(_bloom(0, 1, 2, 3), _bloom(4, 5, 6, 7))]  # four hashes each, none in common


def _one_time(f):
    @dpcheck.batched
    def report(data, size, rng):
        coin = rng.random((size, len(data)))
        return np.where(coin < f / 2, 1.0, np.where(coin < f, 0.0, data))

    return report


def _one_time_epsilon(f, bits):
    return bits * math.log((1 - f / 2) / (f / 2))


def _noise_for(epsilon, bits):
    """f with _one_time_epsilon(f, bits) = epsilon."""
    return 2 / (1 + math.exp(epsilon / bits))


@dpcheck.batched
def rappor_report(data, size, rng, f=0.5, p=0.45, q=0.55):
    permanent = _one_time(f)(data, size, rng)
    return (rng.random(permanent.shape) < np.where(permanent == 1, q, p)).astype(float)


def _report_epsilon(f, p, q, bits):
    yes, no = f / 2 * (p + q) + (1 - f) * q, f / 2 * (p + q) + (1 - f) * p
    return bits / 2 * math.log(yes * (1 - no) / (no * (1 - yes)))


@dpcheck.batched
def rappor_report_for_all_bits(data, size, rng):  # a quarter of the signal
    return rappor_report(data, size, rng, p=0.45, q=0.4748)


_CLAIMED_BIT = _report_epsilon(0.5, 0.45, 0.55, 1) * 2  # one bit of a filter, both ways
_SUM = [(array(0, 0, 0, 0), array(1, 0, 0, 0))]

ROWS = [
    Planted(
        "noise reused across queries",
        one_noise_two_queries,
        two_noises_two_queries,
        pure(1.0, "zero-out"),
        _SUM,
        math.inf,
        "Garfinkel and Leclerc, WPES 2020: randomness concerns when deploying differential privacy",
    ),
    Planted(
        "noise reused across releases by a seed",
        one_seed_per_day,
        new_seed_per_day,
        pure(1.0, "zero-out"),
        [(array(1, 0, 0, 0), array(1, 0, 1, 0))],
        math.inf,
        "Garfinkel and Leclerc, WPES 2020: the generator's state must never repeat",
    ),
    Planted(
        "fixed seed",
        fixed_seed,
        fresh_noise,
        pure(1.0, "zero-out"),
        _SUM,
        math.inf,
        "a seed left in for reproducibility; Garfinkel and Leclerc, WPES 2020",
    ),
    Planted(
        "sampler seeded from the data",
        seed_from_the_data,
        fresh_noise,
        pure(1.0, "zero-out"),
        _SUM,
        math.inf,
        "the sticky noise of Diffix, seeded from query and data: Gadotti et al., USENIX Security 2019",
    ),
    Planted(
        "cached answer, fresh noise",
        fresh_noise_from_the_cache,
        cached_noisy_answer,
        pure(1.0, "zero-out"),
        _SUM,
        10.0,
        "averaging attack on repeated queries: Kifer et al., 2020 (arXiv 2002.04049)",
    ),
    Planted(
        "budget renewed every day",
        budget_anew_every_day,
        memoised_answer,
        pure(1.0, "replace-one"),
        [(array(0), array(1))],
        5.0,
        "Tang et al., 2017 (arXiv 1709.02753): Apple's macOS 10.12 renews the budget daily",
    ),
    Planted(
        "amplified by a sample that is published",
        published_sample,
        secret_sample,
        pure(math.log1p(0.2 * math.expm1(1.0)), "zero-out"),
        [(array(0), array(1))],
        1.0,
        "Balle, Barthe and Gaboardi, NeurIPS 2018: amplification assumes the sample is secret",
    ),
    Planted(
        "redrawn until positive",
        redrawn_until_positive,
        clamped_to_positive,
        pure(1.0, "zero-out"),
        [(array(0), array(1))],
        1.0 + math.log((1 - 0.5 * math.exp(-1.0)) / 0.5),
        "Holohan et al., JPC 2020: the bounded Laplace mechanism needs a larger scale",
    ),
    Planted(
        "best of ten attempts",
        best_of_ten,
        fresh_noise,
        pure(1.0, "zero-out"),
        _SUM,
        10.0,
        "Papernot and Steinke, ICLR 2022: choosing among private runs by the private data is not free",
    ),
    Planted(
        "one-time RAPPOR with h for 2h bits",
        _one_time(0.75),
        _one_time(_noise_for(_one_time_epsilon(0.75, 4), 8)),
        pure(_one_time_epsilon(0.75, 4), "replace-one"),
        _FILTERS,
        _one_time_epsilon(0.75, 8),
        "Erlingsson, Pihur and Korolova, CCS 2014: two filters of h hashes differ in up to 2h bits",
    ),
    Planted(
        "RAPPOR report charged for one hash",
        rappor_report,
        rappor_report_for_all_bits,
        pure(_CLAIMED_BIT, "replace-one"),
        _FILTERS,
        _report_epsilon(0.5, 0.45, 0.55, 8),
        "Erlingsson, Pihur and Korolova, CCS 2014, formula for the longitudinal report: h times",
    ),
]
