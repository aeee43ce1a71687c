"""Normal noise: sums of rows that are bounded in norm, training steps, sampling."""

from __future__ import annotations

import math

import numpy as np

import dpcheck

from .base import COLUMN, DELTA, TABLE, Corpus
from .sums import bounded

CASES = Corpus()


@CASES(COLUMN, replace_one=0.5, add_remove=0.5, mu=True)
def normal_sum(x, rng):
    """Values in [0, 1], sigma 2: mu = 1/2."""
    return bounded(x).sum() + rng.normal(scale=2.0)


@CASES(COLUMN, replace_one=1.0, add_remove=0.5, mu=True)
def normal_sum_of_signed_values(x, rng):
    """Values in [-1, 1], sigma 2: mu = 2/2 and 1/2."""
    return bounded(x, -1.0, 1.0).sum() + rng.normal(0.0, 2.0)


@CASES(TABLE, replace_one=math.sqrt(3) / 2, add_remove=math.sqrt(3) / 2, mu=True)
def normal_sums_of_columns(x, rng):
    """Three columns move by 1 each: L2 distance sqrt 3, sigma 2."""
    return bounded(x).sum(axis=0) + rng.normal(scale=2.0, size=3)


@CASES(TABLE, replace_one=1.0, add_remove=0.5, mu=True)
def rows_clipped_by_division(x, rng):
    """Rows of norm at most 1: replaced 2, added 1; sigma 2."""
    x = bounded(x, -100.0, 100.0)
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    return (x / np.maximum(1.0, norms)).sum(axis=0) + rng.normal(scale=2.0, size=3)


@CASES(TABLE, replace_one=2.0, add_remove=1.0, mu=True)
def rows_clipped_by_a_factor(x, rng):
    """Rows of norm at most 2, sigma 2."""
    x = bounded(x, -100.0, 100.0)
    norms = np.sqrt((x**2).sum(axis=1))
    factor = np.minimum(1.0, 2.0 / np.maximum(norms, 1e-12))
    return (x * factor[:, None]).sum(axis=0) + 2.0 * rng.standard_normal(3)


@CASES(TABLE, replace_one=1.0, add_remove=0.5, mu=True)
def rows_clipped_by_name(x, rng):
    """dpcheck.clip_norm to norm 1, sigma 2."""
    return dpcheck.clip_norm(np.nan_to_num(x), 1.0).sum(axis=0) + rng.normal(scale=2.0, size=3)


@CASES(TABLE, replace_one=1.0 / 50, mu=True)
def mean_of_clipped_rows(x, rng):
    """Norm at most 1, 100 rows: 2/100, sigma 1."""
    x = bounded(x, -100.0, 100.0)
    x = x / np.maximum(1.0, np.linalg.norm(x, axis=1, keepdims=True))
    return x.mean(axis=0) + rng.normal(size=3)


@CASES(COLUMN, replace_one=math.sqrt(2) / 2, add_remove=math.sqrt(2) / 2, mu=True)
def two_normal_releases(x, rng):
    """mu = 1/2 twice: sqrt(1/4 + 1/4)."""
    x = bounded(x)
    return x.sum() + rng.normal(scale=2.0), (x > 0.5).sum() + rng.normal(scale=2.0)


@CASES(COLUMN, replace_one=1.0, add_remove=1.0, mu=True)
def sixteen_steps(x, rng):
    """mu = 1/4 sixteen times: 4/4."""
    x = bounded(x)
    out = []
    for _ in range(16):
        out.append(x.sum() + rng.normal(scale=4.0))
    return out


@CASES(TABLE, add_remove=0.5, mu=True)
def second_moments(x, rng):
    """Rows of norm at most 1: |x x^T| in Frobenius norm is |x|^2 at most 1; sigma 2."""
    x = bounded(x, -100.0, 100.0)
    x = x / np.maximum(1.0, np.linalg.norm(x, axis=1, keepdims=True))
    return x.T @ x + rng.normal(scale=2.0, size=(3, 3))


@CASES(COLUMN, replace_one=math.sqrt(0.25 + 1.0), add_remove=math.sqrt(0.25 + 0.25), mu=True)
def second_looks_from_the_first(x, rng):
    """An adaptive centre: a count, mu 1/2, then values in [0, 4] cut to [-1, 1] around it, sigma 2."""
    x = bounded(x, 0.0, 4.0)
    centre = ((x > 2.0).sum() + rng.normal(scale=2.0)) / 100.0
    return centre, np.clip(x - centre, -1.0, 1.0).sum() + rng.normal(scale=2.0)


SAMPLED = []


def sampled(event):
    """A function that is the accountant's own event."""

    def add(function):
        SAMPLED.append((function, event))
        return function

    return add


@sampled(dpcheck.SampledGaussian(2.0, 0.1))
def one_step_with_a_mask(x, rng):
    """Rows of norm at most 1, each in with probability 0.1, sigma 2."""
    x = bounded(x, -100.0, 100.0)
    x = x / np.maximum(1.0, np.linalg.norm(x, axis=1, keepdims=True))
    chosen = rng.random(x.shape[0]) < 0.1
    return (x * chosen[:, None]).sum(axis=0) + rng.normal(scale=2.0, size=3)


@sampled(dpcheck.SampledGaussian(2.0, 0.1))
def one_step_with_chosen_rows(x, rng):
    """The same with x[mask]."""
    x = bounded(x, -100.0, 100.0)
    x = x / np.maximum(1.0, np.linalg.norm(x, axis=1, keepdims=True))
    chosen = rng.random(x.shape[0]) < 0.1
    return x[chosen].sum(axis=0) + rng.normal(scale=2.0, size=3)


@sampled(dpcheck.Repeated(dpcheck.SampledGaussian(1.0, 0.05), 20))
def training(x, rng):
    """Twenty steps of DP-SGD on a linear model with per-example gradients of norm at most 1."""
    x = bounded(x, -10.0, 10.0)
    features, target = x[:, :2], x[:, 2]
    weights = np.zeros(2)
    for _ in range(20):
        gradients = (features @ weights - target)[:, None] * features
        norms = np.linalg.norm(gradients, axis=1, keepdims=True)
        gradients = gradients / np.maximum(1.0, norms)
        chosen = rng.random(x.shape[0]) < 0.05
        noisy = (gradients * chosen[:, None]).sum(axis=0) + rng.normal(scale=1.0, size=2)
        weights = weights - 0.1 * noisy / 5.0
    return weights


__all__ = ["CASES", "DELTA", "SAMPLED"]
