# ruff: noqa: C402, B905
"""More functions in the manner of public repositories: written after repositories.py, and run once."""

from __future__ import annotations

import math
import random
from collections import Counter

import numpy as np
import pandas as pd

import dpcheck

from .base import Corpus

CASES = Corpus()
REFUSED = Corpus()  # right, and refused so far
UNIT = dpcheck.records(x=dpcheck.number(0, 1), rows=100)
BIT = dpcheck.records(x=dpcheck.number(0, 1, integer=True), rows=100)
ITEM = dpcheck.records(x=dpcheck.number(0, 4, integer=True), rows=100)
AGES = dpcheck.records(age=dpcheck.number(0, 120), rows=100)
PLANE = dpcheck.records(a=dpcheck.number(-1, 1), b=dpcheck.number(-1, 1), rows=100)
ANSWER = dpcheck.records(answer=dpcheck.one_of("yes", "no"), rows=100)
PEOPLE = dpcheck.records(
    age=dpcheck.number(0, 100),
    income=dpcheck.number(0, 1000),
    dept=dpcheck.one_of("eng", "ops", "law"),
    rows=100,
)


@CASES(ANSWER, replace_one=math.log(3))
def coin_survey_of_text(df):
    reported = []
    for a in df["answer"]:
        if random.random() < 0.5:
            reported.append(a)
        else:
            reported.append("yes" if random.random() < 0.5 else "no")
    return reported.count("yes")


@CASES(ANSWER, replace_one=math.log(3))
def coin_survey_of_booleans(df):
    truth = (df["answer"] == "yes").to_numpy()
    first = np.random.randint(0, 2, size=len(truth))
    second = np.random.randint(0, 2, size=len(truth))
    answers = np.where(first == 1, truth, second == 1)
    return 2 * answers.mean() - 0.5


@CASES(BIT, replace_one=2.0)
def warner(bits):
    p = math.exp(2.0) / (1 + math.exp(2.0))
    noisy = [b if random.random() < p else 1 - b for b in bits]
    return (sum(noisy) / len(noisy) + p - 1) / (2 * p - 1)


@CASES(ITEM, replace_one=1.0)
def grr_numpy(values, rng, epsilon=1.0, k=5):
    p = np.exp(epsilon) / (np.exp(epsilon) + k - 1)
    values = values.astype(int)
    keep = rng.random(len(values)) < p
    other = (values + rng.integers(1, k, len(values))) % k
    noisy = np.where(keep, values, other)
    counts = np.bincount(noisy, minlength=k)
    q = (1 - p) / (k - 1)
    return (counts / len(values) - q) / (p - q)


@CASES(ITEM, replace_one=1.0)
def oue_client_server(values, rng, epsilon=1.0, k=5):
    """p = 1/2, q = 1/(e^eps + 1)."""
    q = 1 / (np.exp(epsilon) + 1)
    matrix = np.zeros((len(values), k))
    matrix[np.arange(len(values)), values.astype(int)] = 1
    draws = rng.random(matrix.shape)
    report = np.where(matrix == 1, draws < 0.5, draws < q).astype(int)
    return (report.sum(axis=0) - len(values) * q) / (0.5 - q)


@CASES(UNIT, replace_one=1.0)
def harmony_mean(values, epsilon=1.0):
    """One bit each: the probability of +1 is (1 + v (e - 1)) / (e + 1), from 1/(e+1) to e/(e+1)."""
    e = math.exp(epsilon)
    total = 0.0
    for v in values:
        pr = (1 + v * (e - 1)) / (e + 1)
        total += 1 if random.random() < pr else -1
    return total / len(values)


@CASES(UNIT, replace_one=0.5, add_remove=0.5)
def query_with_a_mechanism_dict(x, rng):
    mechanisms = {
        "laplace": lambda s, e: rng.laplace(0, s / e),
        "gauss": lambda s, e: rng.normal(0, s / e),
    }
    return {"count": int((x > 0.3).sum() + mechanisms["laplace"](1, 0.5))}


@CASES(AGES, replace_one=2.0)
def noisy_mean_and_std(ages, rng, epsilon=2.0):
    """A mean moves by 1, a mean of squares by 100; half of epsilon each."""
    n = len(ages)
    x = np.clip(ages, 0, 100)
    mean = x.mean() + rng.laplace(scale=(100 / n) / (epsilon / 2))
    second = np.mean(x**2) + rng.laplace(scale=(10000 / n) / (epsilon / 2))
    return mean, np.sqrt(max(second - mean**2, 0))


@CASES(PEOPLE, replace_one=1.0, add_remove=0.5)
def group_counts_with_a_generator(df, rng):
    return dict(
        (d, len(df.loc[df["dept"] == d]) + rng.laplace(scale=2.0)) for d in ("eng", "ops", "law")
    )


@CASES(PEOPLE, replace_one=1.0, add_remove=0.5)
def groupby_size_with_noise(df, rng):
    sizes = df.groupby("dept").size().reindex(["eng", "ops", "law"], fill_value=0)
    noisy = sizes + rng.laplace(scale=2.0, size=3)
    return noisy.clip(lower=0).round().astype(int).to_dict()


@CASES(PEOPLE, replace_one=1.0, add_remove=0.5)
def counter_most_common(df, rng):
    counts = Counter(df["dept"])
    noisy = {k: counts.get(k, 0) + rng.laplace(0, 2) for k in ["eng", "ops", "law"]}
    return sorted(noisy.items(), key=lambda kv: kv[1], reverse=True)[:2]


@CASES(UNIT, replace_one=1.0, add_remove=0.5)
def noisy_cdf(x, rng):
    counts, _ = np.histogram(x, bins=20, range=(0, 1))
    noisy = counts + rng.laplace(0, 2, size=20)
    cdf = np.cumsum(np.clip(noisy, 0, None))
    return cdf / cdf[-1] if cdf[-1] > 0 else np.linspace(0, 1, 20)


@CASES(UNIT, replace_one=1.0)
def median_by_the_exponential_mechanism(x, rng, epsilon=1.0):
    candidates = np.linspace(0, 1, 21)
    scores = []
    for c in candidates:
        below = np.sum(x < c)
        scores.append(-abs(below - len(x) / 2))
    scores = np.array(scores)
    weights = np.exp(epsilon * (scores - np.max(scores)) / 2)
    return np.random.choice(candidates, p=weights / np.sum(weights))


@REFUSED(UNIT, replace_one=1.0)
def exponential_by_its_distribution_function(x, rng, epsilon=1.0):
    """u falls between two partial sums of the probabilities."""
    grid = [0.2, 0.5, 0.8]
    weights = np.array([np.exp(epsilon * (x < g).sum() / 2) for g in grid])
    cdf = np.cumsum(weights / weights.sum())
    return grid[int(np.searchsorted(cdf, rng.random()))]


@CASES(PLANE, replace_one=1.0, mu=True)
def clipped_mean_of_vectors(vectors, rng, clip=1.0, sigma=2.0):
    total = np.zeros(vectors.shape[1])
    for v in vectors:
        norm = np.linalg.norm(v)
        total += v / max(1, norm / clip)
    return (total + rng.normal(0, sigma * clip, size=total.shape)) / len(vectors)


@CASES(PLANE, replace_one=0.5 * math.sqrt(10), mu=True)
def fedavg_rounds(updates, rng):
    """Ten rounds of updates of norm 1, one moves the sum by 2; sigma 4."""
    model = np.zeros(2)
    for _ in range(10):
        deltas = updates - model
        norms = np.linalg.norm(deltas, axis=1)
        factors = np.minimum(1, 1.0 / (norms + 1e-12))
        model = model + (
            np.sum(deltas * factors[:, np.newaxis], axis=0) + rng.normal(0, 4, 2)
        ) / len(updates)
    return model


@CASES(UNIT, replace_one=1.0)
def laplace_perturbed_records(x, rng, epsilon=1.0):
    return np.clip(x + rng.laplace(0, 1 / epsilon, size=x.shape), 0, 1)


@CASES(UNIT, replace_one=1.0, add_remove=0.5)
def binary_mechanism(x, rng):
    """A record is in one node of each of three levels, scale 6."""
    cells = np.histogram(x, bins=8, range=(0, 1))[0]
    noise_scale = 6.0
    level1 = cells + rng.laplace(scale=noise_scale, size=8)
    level2 = cells.reshape(4, 2).sum(axis=1) + rng.laplace(scale=noise_scale, size=4)
    level3 = cells.reshape(2, 4).sum(axis=1) + rng.laplace(scale=noise_scale, size=2)
    return level1, level2, level3


@CASES(AGES, replace_one=1.0, add_remove=1.0)
def with_private_accountant(ages, rng):
    class_budget = [0.4, 0.6]
    spent = 0.0
    results = []
    for eps, bound in zip(class_budget, (50, 100)):
        assert spent + eps <= 1.0 + 1e-9
        spent += eps
        results.append(np.minimum(ages, bound).sum() + rng.laplace(scale=bound / eps))
    return results, spent


@CASES(UNIT, replace_one=1.0, add_remove=0.75)
def sparse_vector_while(x, rng):
    threshold = 60 + rng.laplace(scale=2)
    i = 0
    cuts = [0.1, 0.2, 0.3, 0.4]
    while i < len(cuts):
        if (x > cuts[i]).sum() + rng.laplace(scale=4) > threshold:
            break
        i += 1
    return i


@REFUSED(UNIT, replace_one=math.log(2), add_remove=math.log(2))
def geometric_by_hand(x):
    """A difference of two geometric numbers made of uniform ones."""

    def geometric():
        return math.floor(math.log(1 - random.random()) / math.log(0.5))

    return int(sum(1 for v in x if v > 0.5)) + geometric() - geometric()


@CASES(PEOPLE, replace_one=2.0, add_remove=2.0)
def sql_like_report(df, rng):
    adults = df.query("age >= 18")
    return pd.DataFrame(
        {
            "metric": ["count", "income"],
            "value": [
                len(adults) + rng.laplace(scale=1.0),
                adults["income"].clip(0, 500).sum() + rng.laplace(scale=500.0),
            ],
        }
    )


@CASES(UNIT, replace_one=1.0, add_remove=1.0)
def staircase_of_thresholds(x, rng):
    released = [(x >= t / 5).sum() + rng.laplace(scale=5.0) for t in range(5)]
    monotone = []
    current = float("inf")
    for value in released:
        current = min(current, value)
        monotone.append(round(current))
    return monotone
