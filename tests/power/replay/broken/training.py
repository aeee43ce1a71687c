"""DP-SGD steps, k-means, linear models."""

from __future__ import annotations

import math

import numpy as np

from .base import Case
from .tables import _gaussian

GRADIENTS = np.array([[0.3, 0.4], [0.6, 0.0], [3.0, 4.0]])
OPPOSITE = np.array([[0.3, 0.4], [0.6, 0.0], [-3.0, -4.0]])
CLIP = 1.0


def clip_the_batch(gradients, rng):
    total = gradients.sum(axis=0)
    total = total / max(1.0, np.linalg.norm(total) / CLIP)
    noisy = total * 3 + rng.normal(scale=4.0 * CLIP, size=2)
    return noisy / len(gradients)


def clip_each(gradients, rng):
    norms = np.linalg.norm(gradients, axis=1, keepdims=True)
    clipped = gradients / np.maximum(1.0, norms / CLIP)
    noisy = clipped.sum(axis=0) + rng.normal(scale=4.0 * CLIP * 2, size=2)
    return noisy / len(gradients)


def forgotten_clip(gradients, rng):
    return gradients.mean(axis=0) + rng.normal(scale=4.0 * CLIP / len(gradients), size=2)


def noise_divided_twice(gradients, rng):
    norms = np.linalg.norm(gradients, axis=1, keepdims=True)
    clipped = gradients / np.maximum(1.0, norms / CLIP)
    noise = rng.normal(scale=8.0 * CLIP / len(gradients), size=2)
    return (clipped.sum(axis=0) + noise) / len(gradients)


def one_draw_for_all_coordinates(gradients, rng):
    norms = np.linalg.norm(gradients, axis=1, keepdims=True)
    clipped = gradients / np.maximum(1.0, norms / CLIP)
    return clipped.sum(axis=0) + rng.normal(scale=8.0 * CLIP)


def training_steps_counted_once(gradients, rng, steps=8):
    weights = np.zeros(2)
    history = []
    for _ in range(steps):
        norms = np.linalg.norm(gradients, axis=1, keepdims=True)
        clipped = gradients / np.maximum(1.0, norms / CLIP)
        weights = weights - 0.1 * (clipped.sum(axis=0) + rng.normal(scale=8.0 * CLIP, size=2))
        history.append(weights)
    return history


def training_steps_counted(gradients, rng, steps=8):
    weights = np.zeros(2)
    history = []
    for _ in range(steps):
        norms = np.linalg.norm(gradients, axis=1, keepdims=True)
        clipped = gradients / np.maximum(1.0, norms / CLIP)
        scale = 8.0 * CLIP * math.sqrt(steps)
        weights = weights - 0.1 * (clipped.sum(axis=0) + rng.normal(scale=scale, size=2))
        history.append(weights)
    return history


CENTERS = np.array([[0.0], [1.0]])
POINTS = np.array([[0.1], [0.2], [0.0], [0.9]])
STRAYED = np.array([[0.1], [0.2], [0.0], [0.55]])


def kmeans_by_private_counts(points, rng):
    centers = []
    nearest = np.argmin(np.abs(points - CENTERS.T), axis=1)
    for k in range(2):
        mine = points[nearest == k]
        centers.append(mine.sum(axis=0) / len(mine) + rng.laplace(scale=1 / len(points), size=1))
    return np.array(centers)


def kmeans_by_noisy_sums(points, rng):
    out = []
    nearest = np.argmin(np.abs(points - CENTERS.T), axis=1)
    for k in range(2):
        mine = points[nearest == k]
        out.append(
            (mine.sum(axis=0) + rng.laplace(scale=4.0, size=1), len(mine) + rng.laplace(scale=4.0))
        )
    return out


def regression_with_noise_on_one_of_two(points, rng):
    x, y = points[:, 0], points[:, 0] ** 2
    xty = x @ y + rng.laplace(scale=2.0)
    return {"xty": xty, "xtx": x @ x}


def regression_with_noise_on_both(points, rng):
    x, y = points[:, 0], points[:, 0] ** 2
    return {"xty": x @ y + rng.laplace(scale=2.0), "xtx": x @ x + rng.laplace(scale=2.0)}


# The clipped third row is (0.6, 0.8), against its opposite.
_MOVED = 2.0 * CLIP

CASES = [
    Case(
        "the batch is clipped, not each example",
        clip_the_batch,
        clip_each,
        (GRADIENTS, OPPOSITE),
        1.0,
        _gaussian(
            float(
                np.linalg.norm(
                    3 * np.array([3.9, 4.4]) / np.linalg.norm([3.9, 4.4])
                    - 3 * np.array([-2.1, -3.6]) / np.linalg.norm([-2.1, -3.6])
                )
            )
            / 4.0,
            1e-5,
        ),
        1e-5,
    ),
    Case(
        "forgotten clip",
        forgotten_clip,
        clip_each,
        (GRADIENTS, OPPOSITE),
        1.2,
        _gaussian(10.0 / 4.0, 1e-5),
        1e-5,
    ),
    Case(
        "noise divided by n twice",
        noise_divided_twice,
        clip_each,
        (GRADIENTS, OPPOSITE),
        1.2,
        _gaussian(_MOVED * 3 / 8.0, 1e-5),
        1e-5,
    ),
    Case(
        "one draw for all coordinates",
        one_draw_for_all_coordinates,
        clip_each,
        (GRADIENTS, OPPOSITE),
        1.2,
        math.inf,
        1e-5,
    ),
    Case(
        "eight steps paid as one",
        training_steps_counted_once,
        training_steps_counted,
        (GRADIENTS, OPPOSITE),
        1.2,
        _gaussian(_MOVED / 8.0 * math.sqrt(8.0), 1e-5),
        1e-5,
    ),
    Case(
        "k-means over private counts",
        kmeans_by_private_counts,
        kmeans_by_noisy_sums,
        (POINTS, STRAYED),
        1.0,
        0.35 * 4,
    ),
    Case(
        "one of two moments without noise",
        regression_with_noise_on_one_of_two,
        regression_with_noise_on_both,
        (POINTS, STRAYED),
        1.0,
        math.inf,
    ),
]
