"""numpy: vectors, images, matrices, weights."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .base import NUMBERS, Everyday

PAIR = [NUMBERS]
TABLE = np.array([[0.1, 0.9], [0.5, 0.5], [0.3, 0.2], [0.8, 0.1]])
OTHER = TABLE.copy()
OTHER[3] = [0.0, 1.0]
TABLES = [(TABLE, OTHER)]
IMAGE = np.zeros((70, 70))
SPOT = IMAGE.copy()
SPOT[68, 68] = 1.0
IMAGES = [(IMAGE, SPOT)]


def vector(x, rng):
    return np.append(x.sum() + rng.laplace(scale=1.0), x.max())


def vector_with_noise(x, rng):
    return np.array([x.sum() + rng.laplace(scale=2.0), (x > 0.5).sum() + rng.laplace(scale=2.0)])


def image(x, rng):
    return x + rng.laplace(scale=0.05, size=x.shape)


def image_with_noise(x, rng):
    return x + rng.laplace(scale=1.0, size=x.shape)


def covariance(x, rng):
    return np.cov(x.T) + rng.normal(scale=1e-3, size=(2, 2))


def moments_with_noise(x, rng):
    return (x.T @ x) + rng.laplace(scale=4.0, size=(2, 2))


def how_many_are_positive(x, rng):
    return x[x > 0.5]


def as_many_as_there_are(x, rng):
    return x + rng.laplace(scale=1.0, size=len(x))


def with_missing_values(x, rng):
    return np.where(x > 0.5, np.nan, rng.normal(size=len(x)))


def with_random_missing_values(x, rng):
    keep = np.exp(1.0) / (1 + np.exp(1.0))
    wrong = rng.random(len(x)) > keep
    return np.where((x > 0.5) ^ wrong, np.nan, 0.0)


def masked(x, rng):
    return np.ma.masked_greater(x, 0.5)


def masked_at_random(x, rng):
    keep = np.exp(1.0) / (1 + np.exp(1.0))
    return np.ma.array(np.zeros(len(x)), mask=(x > 0.5) ^ (rng.random(len(x)) > keep))


def sparse(x, rng):
    return sp.csr_matrix(np.where(x > 0.5, x, 0.0)[None, :])


def sparse_with_noise(x, rng):
    return sp.csr_matrix(x[None, :] + rng.laplace(scale=1.0, size=(1, len(x))))


def state(x, rng):
    return {"layer.weight": rng.normal(size=(3, 3)), "layer.bias": x.mean(keepdims=True)}


def state_with_noise(x, rng):
    noisy = x.mean(keepdims=True) + rng.laplace(scale=1 / len(x))
    return {"layer.weight": rng.normal(size=(3, 3)), "layer.bias": noisy}


def raw_bytes(x, rng):
    return (x + rng.normal(scale=1e-3, size=len(x))).tobytes()


def raw_bytes_with_noise(x, rng):
    return (x + rng.laplace(scale=1.0, size=len(x))).tobytes()


def ranks(x, rng):
    return np.argsort(x)


def noisy_ranks(x, rng):
    return np.argsort(x + rng.laplace(scale=1.0, size=len(x)))


def objects(x, rng):
    return np.array([None, x.max(), "max"], dtype=object)


def objects_with_noise(x, rng):
    return np.array([None, x.sum() + rng.laplace(scale=1.0), "sum"], dtype=object)


def nested(x, rng):
    return {"by": [{"q": q, "v": np.quantile(x, q)} for q in (0.0, 0.5, 1.0)]}


def nested_with_noise(x, rng):
    found = [{"q": q, "v": (x > q).sum() + rng.laplace(scale=3.0)} for q in (0.0, 0.5, 0.9)]
    return {"by": found}


ROWS = (
    Everyday("one exact entry of a vector", vector, vector_with_noise, PAIR),
    Everyday("image of 4,900 pixels", image, image_with_noise, IMAGES),
    Everyday("covariance", covariance, moments_with_noise, TABLES),
    Everyday("array as long as the answer", how_many_are_positive, as_many_as_there_are, PAIR),
    Everyday("missing values", with_missing_values, with_random_missing_values, PAIR),
    Everyday("mask", masked, masked_at_random, PAIR),
    Everyday("sparse matrix", sparse, sparse_with_noise, PAIR),
    Everyday("weights", state, state_with_noise, PAIR),
    Everyday("bytes", raw_bytes, raw_bytes_with_noise, PAIR),
    Everyday("ranks", ranks, noisy_ranks, PAIR),
    Everyday("array of objects", objects, objects_with_noise, PAIR),
    Everyday("nested", nested, nested_with_noise, PAIR),
)
