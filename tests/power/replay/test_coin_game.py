"""Where noise is not followed, the event replay names convicts gross leaks within 200 calls."""

from __future__ import annotations

import builtins
import math

import numpy as np
import pytest

from dpcheck.replay import FindingKind, examine
from dpcheck.replay.coin_game import play
from dpcheck.replay.findings import SuggestedEvent

PAIR = (np.array([0.0, 1.0, 1.0]), np.array([1.0, 1.0, 1.0]))
SCALE = 0.1


def through_a_real_float(data, rng):
    return builtins.float(data.sum() + rng.laplace(scale=SCALE))


def written_into_a_list(data, rng):
    kept = [np.array([data.sum()])]
    for array in kept:
        array += rng.normal(scale=SCALE, size=1)
    return kept


def by_a_gamma(data, rng):
    return data.sum() + SCALE * (rng.gamma(1.0) - rng.gamma(1.0))


def shuffled_mean(data, rng):
    order = rng.permutation(len(data))
    return data[order].mean() * len(data) + rng.laplace(scale=SCALE)


def float32_cast_by_compiled_code(data, rng):
    noisy = data + rng.laplace(scale=SCALE, size=3)
    return np.frombuffer(noisy.astype(np.float32).tobytes(), dtype=np.float32)


LEAKY = [
    through_a_real_float,
    written_into_a_list,
    by_a_gamma,
    shuffled_mean,
    float32_cast_by_compiled_code,
]


@pytest.mark.parametrize("function", LEAKY, ids=lambda f: f.__name__)
def test_gross_leaks_are_convicted_within_two_hundred_calls(function):
    finding = examine(function, PAIR)
    assert finding.kind is FindingKind.HINT
    assert finding.event is not None
    result = play(function, PAIR, finding.event, epsilon=1.0, alpha=1e-3, seed=1)
    assert result.exceeds(1.0)
    assert finding.calls + result.calls <= 200
    assert result.epsilon <= 10.0  # the truth, 1 / SCALE, for Laplace noise


def test_false_alarms():
    """A mechanism that spends exactly its claim: refuted in at most alpha of the games.

    Randomized response is the worst case, its event is right as often as the claim allows. 300 games
    at alpha 0.05 are wrong 15 times on average if at all; 30 would be four deviations off.
    """
    keep = math.e / (1 + math.e)

    def response(data, rng):
        return float(data[0] if rng.random() < keep else 1 - data[0])

    event = SuggestedEvent((1.0,), 0.5)
    pair = (np.array([0.0]), np.array([1.0]))
    wrong = sum(
        play(response, pair, event, epsilon=1.0, alpha=0.05, seed=s, calls=60).exceeds(1.0)
        for s in range(300)
    )
    assert wrong <= 30


def test_other_shapes_are_guessed_as_d():
    event = SuggestedEvent((1.0,), 0.5)
    result = play(lambda data, rng: [1.0, 2.0], PAIR, event, epsilon=1.0, calls=20)
    assert result.calls == 20
    assert not result.exceeds(0.0)
