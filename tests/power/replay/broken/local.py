"""Local randomizers, shared noise, seeds and sources of randomness."""

from __future__ import annotations

import math
import random

import numpy as np

from .base import Case
from .tables import _gaussian

BITS = np.array([0, 1, 1])
FLIPPED = np.array([1, 1, 1])


def response_with_wrong_chance(bits, rng, epsilon=1.0):
    # Keeps the answer with probability 1 - e^-eps instead of e^eps / (1 + e^eps).
    keep = rng.random(len(bits)) < 1 - math.exp(-3 * epsilon)
    return np.where(keep, bits, 1 - bits)


def response(bits, rng, epsilon=1.0):
    keep = rng.random(len(bits)) < math.exp(epsilon) / (1 + math.exp(epsilon))
    return np.where(keep, bits, 1 - bits)


def coin_by_branch(bits, rng):
    if rng.random() < 0.9:
        return int(bits[0])
    return 1 - int(bits[0])


def coin_by_branch_fair_enough(bits, rng):
    if rng.random() < 0.7:
        return int(bits[0])
    return 1 - int(bits[0])


def coin_by_binomial(bits, rng):
    chance = np.where(bits == 1, 0.9, 0.1)
    return rng.binomial(1, chance)


def coin_by_binomial_fair_enough(bits, rng):
    chance = np.where(bits == 1, 0.7, 0.3)
    return rng.binomial(1, chance)


def unary_bits_flipped_once(bits, rng):
    # One coin for the whole vector: all bits turn together.
    one = np.eye(2)[int(bits[0])]
    return np.abs(one - (1 if rng.random() < 0.25 else 0))


def unary_bits_flipped_each(bits, rng):
    one = np.eye(2)[int(bits[0])]
    flips = rng.random(2) < 0.4
    return np.where(flips, 1 - one, one)


def fixed_seed(bits, rng):
    own = np.random.default_rng(42)
    return bits.sum() + own.laplace(scale=1.0)


def fresh_generator(bits, rng):
    own = np.random.default_rng()
    return bits.sum() + own.laplace(scale=1.0)


def legacy_seeded(bits, rng):
    np.random.seed(7)
    return bits.sum() + np.random.laplace()


def legacy(bits, rng):
    return bits.sum() + np.random.laplace()


def standard_library_scale(bits, rng):
    return float(bits.sum()) + random.gauss(0, 1) / 5


def standard_library(bits, rng):
    return float(bits.sum()) + random.gauss(0, 5)


def uniform_noise(bits, rng):
    return bits.sum() + rng.uniform(-5, 5)


def laplace_noise(bits, rng):
    return bits.sum() + rng.laplace()


def noise_drawn_and_thrown_away(bits, rng):
    total = bits.sum()
    _ = total + rng.laplace()
    return int(total)


def noise_kept(bits, rng):
    total = bits.sum()
    noisy = total + rng.laplace()
    return int(noisy)


def same_noise_added_and_removed(bits, rng):
    z = rng.laplace(size=2)
    return [bits[0] + z[0], bits[1] + z[1], 3 * bits[0] + z[0] - z[1] + z[1]]


def each_its_own(bits, rng):
    return [x + rng.laplace() for x in bits]


CASES = [
    Case(
        "randomized response with a wrong chance",
        response_with_wrong_chance,
        response,
        (BITS, FLIPPED),
        1.0,
        math.log((1 - math.exp(-3)) / math.exp(-3)),
    ),
    Case(
        "a coin that keeps too often",
        coin_by_branch,
        coin_by_branch_fair_enough,
        (BITS, FLIPPED),
        1.0,
        math.log(9),
    ),
    Case(
        "a binomial coin that keeps too often",
        coin_by_binomial,
        coin_by_binomial_fair_enough,
        (BITS, FLIPPED),
        1.0,
        math.log(9),
    ),
    Case(
        "one coin for all bits",
        unary_bits_flipped_once,
        unary_bits_flipped_each,
        (BITS, FLIPPED),
        1.0,
        math.log(3),
    ),
    Case("a fixed seed", fixed_seed, fresh_generator, (BITS, FLIPPED), 1.0, math.inf),
    Case("the legacy seed", legacy_seeded, legacy, (BITS, FLIPPED), 1.0, math.inf),
    Case(
        "noise of the standard library, divided",
        standard_library_scale,
        standard_library,
        (BITS, FLIPPED),
        1.0,
        _gaussian(5.0, 1e-5),
        1e-5,
    ),
    Case("uniform noise", uniform_noise, laplace_noise, (BITS, FLIPPED), 1.0, math.inf),
    Case(
        "noise thrown away", noise_drawn_and_thrown_away, noise_kept, (BITS, FLIPPED), 1.0, math.inf
    ),
    Case(
        "noise that cancels",
        same_noise_added_and_removed,
        each_its_own,
        (BITS, FLIPPED),
        1.0,
        math.inf,
    ),
]
