"""Noise from global generators, and functions that take their data alone."""

from __future__ import annotations

import math
import random

import numpy as np
import pandas as pd

from .base import AGES, AGES_OF_ANOTHER, NUMBERS, REPLACED, Everyday

PAIR, AGE_PAIR = [NUMBERS], [(AGES, AGES_OF_ANOTHER)]


def legacy_noise_too_small(x):
    return x.sum() + np.random.laplace(scale=0.05)


def legacy_noise(x):
    return x.sum() + np.random.laplace(scale=1.0)


def random_module_too_small(ages):
    return {"mean": sum(ages) / len(ages) + random.gauss(0, 0.1)}


def random_module(ages):
    top = sum(min(100, max(0, a)) for a in ages)
    sign = random.choice((-1, 1))
    return {"mean": (top + sign * random.expovariate(1 / 100)) / len(ages)}


def seeded_inside(x):
    np.random.seed(0)
    return x.sum() + np.random.laplace(scale=1.0)


def not_seeded_inside(x):
    return x.sum() + np.random.laplace(scale=1.0)


def seeded_generator_inside(x):
    return x.sum() + np.random.default_rng(42).laplace(scale=1.0)


def fresh_generator(x, rng):
    return x.sum() + rng.laplace(scale=1.0)


def random_response_too_honest(x):
    return [bool(v > 0.5) if random.random() < 0.99 else random.random() < 0.5 for v in x]


def random_response(x):
    keep = math.e / (1 + math.e)
    return [bool(v > 0.5) == (random.random() < keep) for v in x]


def shuffled(x):
    found = list(x)
    random.shuffle(found)
    return found


def shuffled_noise(x):
    found = [v + np.random.laplace(scale=1.0) for v in x]
    random.shuffle(found)
    return found


def table_of_legacy_noise(df):
    return df[["income"]].mean() + np.random.normal(scale=100.0)


def table_with_legacy_noise(df):
    return pd.Series({"income": df["income"].clip(0, 90_000).mean() + np.random.laplace(0, 15_000)})


ROWS = (
    Everyday("np.random, too little", legacy_noise_too_small, legacy_noise, PAIR),
    Everyday("random, too little", random_module_too_small, random_module, AGE_PAIR),
    Everyday("seed set inside", seeded_inside, not_seeded_inside, PAIR),
    Everyday("generator with a fixed seed", seeded_generator_inside, fresh_generator, PAIR),
    Everyday("randomized response", random_response_too_honest, random_response, PAIR),
    Everyday("shuffled", shuffled, shuffled_noise, PAIR),
    Everyday("pandas with np.random", table_of_legacy_noise, table_with_legacy_noise, REPLACED),
)
