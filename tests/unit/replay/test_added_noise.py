"""How much noise a call adds in the direction with the least, against covariances by hand."""

import math

import numpy as np
import pytest

from dpcheck.replay.draws import Line
from dpcheck.replay.noise import added_noise, function_around

SIZE = 4


def plain(data, rng):
    return data + rng.normal(scale=1.5, size=SIZE)


def shared(data, rng):
    """Own noise of 1 and a common one of 2: least along the differences."""
    return data + rng.normal(size=SIZE) + 2 * rng.normal()


def mixed(data, rng):
    """A running sum of the noise: the inverse of its matrix has norm 2 cos(pi / (2 SIZE + 1))."""
    return data + np.cumsum(rng.normal(size=SIZE))


def fewer(data, rng):
    return data + np.repeat(rng.normal(size=SIZE // 2), 2)


def bare(data, rng):
    noise = rng.normal(size=SIZE)
    return np.append(data[:1], (data + noise)[1:])


@pytest.mark.parametrize(
    ("function", "least"),
    [
        (plain, 1.5),
        (shared, 1.0),
        (mixed, 1 / (2 * math.cos(math.pi / (2 * SIZE + 1)))),
        (fewer, 0.0),
        (bare, 0.0),
        (lambda data, rng: data * 2.0, 0.0),
    ],
)
def test_the_least_is_that_of_the_covariance(function, least):
    assert added_noise(function, np.arange(SIZE, dtype=float)).least == pytest.approx(least)


def branches(data, rng):
    noise = rng.normal(size=SIZE)
    return data + (noise if noise[0] > 0 else 2 * noise)


def fails(data, rng):
    rng.normal(size=SIZE)
    raise ValueError(data)


@pytest.mark.parametrize(
    "function",
    [
        branches,
        fails,
        lambda data, rng: data + rng.laplace(size=SIZE),
        lambda data, rng: data + np.abs(rng.normal(size=SIZE)),
        lambda data, rng: data + np.maximum(rng.normal(size=SIZE), 0.0),
        lambda data, rng: data + np.clip(rng.normal(size=SIZE), -1, 1),
        lambda data, rng: np.where(rng.normal(size=SIZE) > 0, data, -data),
        lambda data, rng: rng.normal(size=2000),
    ],
)
def test_what_cannot_be_followed_is_not_known(function):
    assert added_noise(function, np.ones(SIZE)).least is None


def test_the_lines_are_those_that_draw():
    (line,) = added_noise(plain, np.zeros(SIZE)).lines
    assert line.number == plain.__code__.co_firstlineno + 1
    assert function_around(line) == f"plain, test_added_noise.py:{plain.__code__.co_firstlineno}"


def test_a_line_outside_of_functions_or_files_is_itself():
    assert function_around(Line(__file__, 1)) == "test_added_noise.py:1"
    assert function_around(Line("<nowhere>", 7)) == "<nowhere>:7"
