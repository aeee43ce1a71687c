"""Sums, means and counts."""

from __future__ import annotations

import math

import numpy as np

from .base import Case

AGES = np.array([30.0, 41.0, 55.0, 72.0])
OTHER = np.array([30.0, 41.0, 55.0, 100.0])
LOW, HIGH = 0.0, 100.0


def mean_without_clip(ages, rng):
    return float(ages.mean() + rng.laplace(0, (HIGH - LOW) / len(ages)))


def mean_with_clip(ages, rng):
    ages = np.clip(ages, LOW, HIGH)
    return float(ages.mean() + rng.laplace(0, (HIGH - LOW) / len(ages)))


def sum_with_noise_of_the_mean(ages, rng):
    scale = (HIGH - LOW) / len(ages)
    return np.clip(ages, LOW, HIGH).sum() + rng.laplace(scale=scale)


def sum_with_its_own_noise(ages, rng):
    return np.clip(ages, LOW, HIGH).sum() + rng.laplace(scale=HIGH - LOW)


def scale_multiplied_by_epsilon(ages, rng, epsilon=0.5):
    total = np.clip(ages, LOW, HIGH).sum()
    return total + rng.laplace(0.0, (HIGH - LOW) * epsilon)


def scale_divided_by_epsilon(ages, rng, epsilon=0.5):
    total = np.clip(ages, LOW, HIGH).sum()
    return total + rng.laplace(0.0, (HIGH - LOW) / epsilon)


def clip_lets_nan_through(ages, rng):
    return np.clip(ages, LOW, HIGH).sum() + rng.laplace(scale=HIGH - LOW)


def nan_replaced(ages, rng):
    ages = np.nan_to_num(ages, nan=LOW)
    return np.clip(ages, LOW, HIGH).sum() + rng.laplace(scale=HIGH - LOW)


def local_sensitivity(ages, rng):
    spread = ages.max() - ages.min()
    return ages.sum() + rng.laplace(scale=spread)


def global_sensitivity(ages, rng):
    return np.clip(ages, LOW, HIGH).sum() + rng.laplace(scale=HIGH - LOW)


def mean_and_variance_each_full_budget(ages, rng):
    x = np.clip(ages, LOW, HIGH) / HIGH
    n = len(x)
    return {
        "mean": x.mean() + rng.laplace(scale=1 / n),
        "second": (x**2).mean() + rng.laplace(scale=1 / n),
    }


def mean_and_variance_half_budget(ages, rng):
    x = np.clip(ages, LOW, HIGH) / HIGH
    n = len(x)
    return {
        "mean": x.mean() + rng.laplace(scale=2 / n),
        "second": (x**2).mean() + rng.laplace(scale=2 / n),
    }


def gaussian_with_variance_for_deviation(ages, rng):
    # sigma^2 handed over where sigma is wanted; sigma is below 1, so this is too little.
    x = np.clip(ages, LOW, HIGH) / HIGH
    sigma = math.sqrt(2 * math.log(1.25 / 1e-5)) / len(x)
    return x.mean() + rng.normal(0.0, sigma**2 / 4)


def gaussian_with_deviation(ages, rng):
    x = np.clip(ages, LOW, HIGH) / HIGH
    sigma = math.sqrt(2 * math.log(1.25 / 1e-5)) / len(x)
    return x.mean() + rng.normal(0.0, sigma)


def count_rounded_with_too_little_noise(ages, rng):
    count = int((ages > 60).sum())
    return max(0, round(count + rng.laplace(scale=0.5)))


def count_rounded(ages, rng):
    count = int((ages > 60).sum())
    return max(0, round(count + rng.laplace(scale=1.0)))


def ratio_with_exact_denominator(ages, rng):
    count = int((ages > 60).sum())
    return {"share": (count + rng.laplace(scale=1.0)) / len(ages), "over_60": count}


def ratio_with_public_denominator(ages, rng):
    count = int((ages > 60).sum())
    return {"share": (count + rng.laplace(scale=1.0)) / len(ages), "people": len(ages)}


BAD = np.array([30.0, 41.0, 55.0, 900.0])
HOLE = np.array([30.0, 41.0, 55.0, np.nan])
YOUNG = np.array([30.0, 41.0, 55.0, 20.0])
OLD = np.array([30.0, 41.0, 55.0, 100.0])
EXTREME = np.array([30.0, 41.0, 55.0, 0.0])


def _gaussian_true() -> float:
    """By bisection on the closed form of the Gaussian curve, independent of the accountant."""
    from scipy.stats import norm

    sigma = (math.sqrt(2 * math.log(1.25 / 1e-5)) / 4) ** 2 / 4
    mu = 0.25 / sigma
    low, high = 0.0, 200.0
    for _ in range(200):
        e = (low + high) / 2
        log_second = e + norm.logcdf(-mu / 2 - e / mu)
        delta = norm.cdf(mu / 2 - e / mu) - math.exp(log_second)
        low, high = (e, high) if delta > 1e-5 else (low, e)
    return low


CASES = [
    Case("mean without clip", mean_without_clip, mean_with_clip, (EXTREME, BAD), 1.0, 9.0),
    Case(
        "sum with the noise of a mean",
        sum_with_noise_of_the_mean,
        sum_with_its_own_noise,
        (EXTREME, OLD),
        1.0,
        4.0,
    ),
    Case(
        "scale multiplied by epsilon",
        scale_multiplied_by_epsilon,
        scale_divided_by_epsilon,
        (EXTREME, OLD),
        0.5,
        2.0,
    ),
    Case("clip lets NaN through", clip_lets_nan_through, nan_replaced, (AGES, HOLE), 1.0, math.inf),
    Case("local sensitivity", local_sensitivity, global_sensitivity, (AGES, OTHER), 1.0, math.inf),
    Case(
        "two answers, each with the whole budget",
        mean_and_variance_each_full_budget,
        mean_and_variance_half_budget,
        (EXTREME, OLD),
        1.0,
        2.0,
    ),
    Case(
        "variance handed over as deviation",
        gaussian_with_variance_for_deviation,
        gaussian_with_deviation,
        (EXTREME, OLD),
        1.0,
        _gaussian_true(),
        1e-5,
    ),
    Case(
        "rounded count with half the noise",
        count_rounded_with_too_little_noise,
        count_rounded,
        (YOUNG, OLD),
        1.0,
        2.0,
    ),
    Case(
        "the exact count beside the noisy share",
        ratio_with_exact_denominator,
        ratio_with_public_denominator,
        (YOUNG, OLD),
        1.0,
        math.inf,
    ),
]
