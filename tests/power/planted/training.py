"""DP-SGD steps gone wrong. Gradients in, one noisy sum out; clipping norm 1, noise multiplier 2."""

from __future__ import annotations

import math

import numpy as np

import dpcheck

from .base import Planted, approximate, array, clip, curve

SIGMA = 2.0


def _noisy(total, size, rng, sigma=SIGMA):
    total = np.atleast_1d(total)
    return total + rng.normal(scale=sigma, size=(size, len(total)))


@dpcheck.batched
def clips_each_example(data, size, rng):
    return _noisy(clip(data).sum(axis=0), size, rng)


@dpcheck.batched
def clips_the_batch(data, size, rng):
    return _noisy(clip(data.sum(axis=0, keepdims=True))[0], size, rng)


@dpcheck.batched
def noise_over_batch_size(data, size, rng):
    return _noisy(clip(data).sum(axis=0), size, rng, SIGMA / len(data))


@dpcheck.batched
def clips_each_block(data, size, rng):  # four blocks, each of norm 1: together norm 2
    blocks = [clip(data[:, i : i + 1]).sum(axis=0) for i in range(data.shape[1])]
    return _noisy(np.concatenate(blocks), size, rng)


def _microbatches(data):
    return data.reshape(-1, 2, data.shape[1]).mean(axis=1)


@dpcheck.batched
def clips_microbatches(data, size, rng):  # an example swings its microbatch from -1 to 1
    return _noisy(clip(_microbatches(data)).sum(axis=0), size, rng)


@dpcheck.batched
def microbatches_with_twice_the_noise(data, size, rng):
    return _noisy(clip(_microbatches(data)).sum(axis=0), size, rng, 2 * SIGMA)


@dpcheck.batched
def clips_after_the_noise(data, size, rng):
    noisy = data[:, 0] + rng.normal(scale=SIGMA, size=(size, len(data)))
    return np.clip(noisy, -1, 1).sum(axis=1)


@dpcheck.batched
def augmentations_as_examples(data, size, rng):
    return _noisy(clip(np.repeat(data, 3, axis=0)).sum(axis=0), size, rng)


@dpcheck.batched
def augmentations_averaged_first(data, size, rng):
    views = np.repeat(data[:, None], 3, axis=1).mean(axis=1)
    return _noisy(clip(views).sum(axis=0), size, rng)


@dpcheck.batched
def clipping_norm_from_the_batch(data, size, rng):
    norm = np.linalg.norm(data, axis=1).max()
    return _noisy(clip(data, norm).sum(axis=0), size, rng, SIGMA * norm)


@dpcheck.batched
def batch_normalised(data, size, rng):
    normal = (data - data.mean(axis=0)) / (data.std(axis=0) + 1e-5)
    return _noisy(clip(normal).sum(axis=0), size, rng)


@dpcheck.batched
def normalised_by_public_moments(data, size, rng):
    return _noisy(clip((data - 0.5) / 0.3).sum(axis=0), size, rng)


def _poisson_step(divides_by):
    """A Poisson batch at rate 1/2, 20 parameters of which the gradients touch the first."""

    @dpcheck.batched
    def step(data, size, rng):
        batch = rng.random((size, len(data))) < 0.5
        noisy = rng.normal(size=(size, 20))
        noisy[:, 0] += (batch * clip(data)).sum(axis=1)
        return noisy / divides_by(batch)[:, None]

    return step


def _realised(batch):
    return np.maximum(1, batch.sum(axis=1))


def _expected(batch):
    return np.ones(len(batch))


@dpcheck.batched
def shuffled(data, size, rng):  # ten batches an epoch, the example in exactly one of them
    where = rng.integers(0, 10, (size, 1)) == np.arange(10)
    return data[0] * where + rng.normal(scale=0.4, size=(size, 10))


@dpcheck.batched
def poisson(data, size, rng):
    where = rng.random((size, 10)) < 0.1
    return data[0] * where + rng.normal(scale=0.4, size=(size, 10))


@dpcheck.batched
def noise_with_dropouts(data, size, rng):  # ten parties add a tenth of the variance; five vanish
    shares = rng.normal(scale=SIGMA / math.sqrt(10), size=(size, 5))
    return clip(data).sum() + shares.sum(axis=1)


@dpcheck.batched
def noise_despite_dropouts(data, size, rng):  # any five of them add enough
    shares = rng.normal(scale=SIGMA / math.sqrt(5), size=(size, 5))
    return clip(data).sum() + shares.sum(axis=1)


def _gaussian_sum(sigma):
    @dpcheck.batched
    def release(data, size, rng):
        return clip(data).sum() + rng.normal(scale=sigma, size=size)

    return release


def _at(sigma):
    """Epsilon at the claim's delta, 1e-5, of a Gaussian of this multiplier."""
    return dpcheck.epsilon(dpcheck.Gaussian(sigma), delta=1e-5, adjacency="zero-out").upper


def _point(event, delta):
    """One point of the event's curve, as a bare claim."""
    bound = dpcheck.epsilon(event, delta=delta, adjacency="zero-out")
    return approximate(bound.upper, delta, "zero-out")


STEP = curve(dpcheck.Gaussian(SIGMA), "zero-out")


def _zeroed(*gradients):
    table = np.array(gradients, dtype=float)
    return [(np.vstack([0 * table[:1], table[1:]]), table)]


def _outlier_shift():
    calm = np.r_[0.0, np.linspace(0.2, 0.8, 49)][:, None]
    wild = calm.copy()
    wild[0] = 1000.0
    return [(calm, wild)]


_FAR = [(array(0, 1, 1), array(-10, 1, 1))]

ROWS = [
    Planted(
        "batch clipping",
        clips_the_batch,
        clips_each_example,
        STEP,
        _zeroed([-10.0], [1.0], [1.0]),
        _at(SIGMA / 2),
        "APPFL issue 349: clip_grad_norm_ clips the mini-batch gradient, not each example's",
    ),
    Planted(
        "noise divided by the batch size",
        noise_over_batch_size,
        clips_each_example,
        STEP,
        _zeroed([1.0], [0.5], [0.5], [0.5]),
        _at(SIGMA / 4),
        "Tramer et al., 2022 (arXiv 2202.12219): found by audit in released code",
    ),
    Planted(
        "per-block clipping accounted once",
        clips_each_block,
        clips_each_example,
        STEP,
        _zeroed([10.0, 10.0, 10.0, 10.0], [0.0, 0.0, 0.0, 0.0]),
        _at(SIGMA / 2),
        "per-layer norms must add up in squares: McMahan et al., 2018 (arXiv 1812.06210); DPDA's slip",
    ),
    Planted(
        "microbatches double the sensitivity",
        clips_microbatches,
        microbatches_with_twice_the_noise,
        STEP,
        _zeroed([-10.0], [3.0]),
        _at(SIGMA / 2),
        "Ponomareva et al., JAIR 2023, How to DP-fy ML: microbatches of more than one example",
    ),
    Planted(
        "noise inside the clip",
        clips_after_the_noise,
        clips_each_example,
        STEP,
        _zeroed([10.0], [0.0]),
        None,
        "DP-SGD clips first, then adds noise: Abadi et al., CCS 2016, Algorithm 1",
    ),
    Planted(
        "augmentations as examples",
        augmentations_as_examples,
        augmentations_averaged_first,
        STEP,
        _zeroed([1.0], [0.0]),
        _at(SIGMA / 3),
        "De et al., 2022 (arXiv 2204.13650): gradients of augmentations are averaged before clipping",
    ),
    Planted(
        "clipping norm from the batch",
        clipping_norm_from_the_batch,
        clips_each_example,
        STEP,
        _zeroed([10.0], [1.0]),
        None,
        "Andrew et al., NeurIPS 2021: the adaptive clipping norm is itself estimated privately",
    ),
    Planted(
        "batch normalisation",
        batch_normalised,
        normalised_by_public_moments,
        curve(dpcheck.Gaussian(SIGMA), "replace-one"),
        _outlier_shift(),
        None,
        "Opacus issue 319: BatchNorm mixes examples and is not compatible with DP-SGD",
    ),
    Planted(
        "divided by the realised Poisson batch",
        _poisson_step(_realised),
        _poisson_step(_expected),
        curve(dpcheck.SampledGaussian(1.0, 0.5), "add-remove"),
        [(array(0, 1), array(0))],
        None,
        "Opacus issues 571 and 819: a divisor that depends on the data leaks, more with dimension",
    ),
    Planted(
        "shuffled, accounted as Poisson",
        shuffled,
        poisson,
        _point(dpcheck.SampledGaussian(0.4, 0.1) * 10, 0.4),
        [(array(0), array(1))],
        None,
        "Chua et al., ICML 2024, How private are DP-SGD implementations?; Opacus issue 80",
    ),
    Planted(
        "distributed noise with dropouts",
        noise_with_dropouts,
        noise_despite_dropouts,
        STEP,
        _FAR,
        _at(SIGMA / math.sqrt(2)),
        "Kairouz, Liu and Steinke, ICML 2021: the noise of those who drop out is missing",
    ),
    Planted(
        "20% too little Gaussian noise",
        _gaussian_sum(0.8 * 3.7307),
        _gaussian_sum(3.7307),
        curve(dpcheck.Gaussian(3.7307), "zero-out"),
        _FAR,
        _at(0.8 * 3.7307),
        "the standard test of approximate auditors: Delta-Siege (S&P 2024)",
    ),
]
