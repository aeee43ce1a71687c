"""Noise that is known, used twice, taken back, or depends on the data."""

from __future__ import annotations

import copy
import functools
import pickle
import random

import numpy as np

from .base import INF, ROWS, Group, itself, unit

GROUP = Group("noise")
SEEDED = np.random.default_rng(7)


def difference(output):
    """Of two numbers with the same noise."""
    return round(float(output[0] - output[1]), 6)


def digits(output):
    """Without what floats may round."""
    return np.round(np.asarray(output, dtype=float), 6).tolist()


@GROUP.wrong(INF, leak=digits)
def seed_in_the_code(x, rng):
    return x.sum() + np.random.default_rng(7).laplace()


@GROUP.wrong(INF, leak=digits)
def seeded_bit_generator(x, rng):
    return x.sum() + np.random.Generator(np.random.PCG64(7)).laplace()


@GROUP.wrong(INF, leak=digits)
def seeded_legacy_generator(x, rng):
    return x.sum() + np.random.RandomState(7).laplace()


@GROUP.wrong(INF, leak=digits)
def seeded_global_generator(x, rng):
    np.random.seed(7)
    return x.sum() + np.random.laplace()


@GROUP.wrong(INF, leak=digits)
def seeded_random(x, rng):
    return x.sum() + random.Random(7).gauss(0.0, 1.0)


@GROUP.wrong(INF, leak=digits)
def seed_sequence(x, rng):
    return x.sum() + np.random.default_rng(np.random.SeedSequence(7)).laplace()


@GROUP.wrong(INF, leak=digits)
def copied_generator_of_the_module(x, rng):
    return x.sum() + copy.deepcopy(SEEDED).laplace()


@GROUP.wrong(INF, leak=digits)
def state_set_back(x, rng):
    rng.bit_generator.state = np.random.PCG64(7).state
    return x.sum() + rng.laplace()


@GROUP.wrong(INF, leak=difference)
def drawn_once_and_used_twice(x, rng):
    noise = rng.laplace()
    return x.sum() + noise, noise


@GROUP.wrong(INF, leak=difference)
def copied_generator(x, rng):
    other = copy.deepcopy(rng)
    return x.sum() + rng.laplace(), other.laplace()


@GROUP.wrong(INF, leak=difference)
def pickled_generator(x, rng):
    other = pickle.loads(pickle.dumps(rng))
    return x.sum() + rng.laplace(), other.laplace()


@GROUP.wrong(INF, leak=difference)
def generator_wound_back(x, rng):
    before = rng.bit_generator.state
    first = x.sum() + rng.laplace()
    rng.bit_generator.state = before
    return first, rng.laplace()


@GROUP.wrong(INF, leak=difference)
def same_bit_generator(x, rng):
    start = copy.deepcopy(rng.bit_generator)
    return x.sum() + rng.laplace(), np.random.Generator(start).laplace()


@functools.cache
def _noise(seed):
    return np.random.default_rng(seed).laplace()


@GROUP.wrong(INF, leak=digits)
def noise_from_a_cache(x, rng):
    return x.sum() + _noise(7)


@GROUP.wrong(INF, leak=difference)
def default_noise(x, rng):
    def add(value, noise=rng.laplace()):  # noqa: B008
        return value + noise

    return add(x.sum()), add(0.0)


@GROUP.wrong(INF, leak=difference)
def late_binding(x, rng):
    noise = rng.laplace()
    makers = [lambda v: v + noise for _ in range(2)]
    return makers[0](x.sum()), makers[1](0.0)


@GROUP.wrong(INF, leak=difference)
def list_repeated(x, rng):
    noise = [rng.laplace()] * 2
    return x.sum() + noise[0], noise[1]


@GROUP.wrong(INF, leak=difference)
def view_of_the_noise(x, rng):
    noise = rng.laplace(size=2)
    other = noise[::-1]
    return x.sum() + noise[0], other[1]


@GROUP.wrong(INF, leak=difference)
def broadcast_noise(x, rng):
    noise = np.broadcast_to(rng.laplace(), 2)
    return x.sum() + noise[0], noise[1]


@GROUP.wrong(INF, leak=itself)
def noise_taken_back(x, rng):
    noise = rng.laplace()
    return round(float(x.sum() + noise - noise), 6)


@GROUP.wrong(INF, leak=itself)
def noise_of_no_scale(x, rng):
    return float(x.sum() + rng.laplace(scale=0.0))


@GROUP.wrong(INF, leak=itself)
def noise_times_nought(x, rng):
    return float(x.sum() + 0.0 * rng.laplace())


@GROUP.wrong(INF, leak=lambda out: out == 0.0)
def scale_of_the_data(x, rng):
    """No noise where the largest value is 0."""
    return x.sum() + rng.laplace(scale=x.max())


@GROUP.wrong(INF, leak=lambda out: bool(0.0 <= out <= 1.0))
def noise_on_one_side_only(x, rng):
    """Where the largest is 1, what comes out is in [2, 3]."""
    return 2.0 * x.max() + rng.uniform()


@GROUP.wrong(INF, leak=np.size)
def number_of_draws(x, rng):
    return rng.laplace(size=int(x.sum()) + 1)


@GROUP.wrong(50.0)
def draws_before_that_depend_on_the_data(x, rng):
    """Spawned for nothing; the data are released fifty times too loud."""
    rng.spawn(1)
    return 50.0 * x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def length_of_a_filtered_sample(x, rng):
    """A sample of all rows, and how many of them are large: one record, seen whole."""
    taken = x[rng.random(len(x)) < 1.0]
    return 50.0 * taken[taken > 0.5].shape[0] + rng.laplace()


@GROUP.wrong(50.0)
def length_of_a_filtered_choice(x, rng):
    taken = x[rng.choice(len(x), ROWS, replace=False)]
    return 50.0 * taken[taken > 0.5].shape[0] + rng.laplace()


@GROUP.wrong(50.0)
def len_of_a_filtered_permutation(x, rng):
    taken = x[rng.permutation(len(x))]
    return 50.0 * len(taken[taken > 0.5]) + rng.laplace()


@GROUP.wrong(50.0)
def size_of_a_filtered_sample(x, rng):
    taken = x[rng.random(len(x)) < 1.0]
    return 50.0 * taken[taken > 0.5].size + rng.laplace()


@GROUP.wrong(50.0)
def filtered_before_the_sample(x, rng):
    coins = rng.random(len(x)) < 1.0
    large = x[(x > 0.5) & coins]
    return 50.0 * large.shape[0] + rng.laplace()


@GROUP.wrong(50.0, (unit(0.0), unit(1.0)))
def sampled_twice_by_the_same_coins(x, rng):
    """The same coins for two releases amplify neither as if alone; all coins fall on heads here."""
    coins = rng.random(len(x)) < 1.0
    return 50.0 * (x * coins).sum() + rng.laplace()


@GROUP.right(2.0)
def two_releases(x, rng):
    """Two draws, two releases: 1 + 1; one shows it, since both outputs move by 1."""
    return np.stack([x.sum() + rng.laplace(), (x > 0.5).sum() + rng.laplace()])
