"""Draws that decide: every choice is charged, and lies that leave answers out protect nothing."""

from __future__ import annotations

import numpy as np
import pytest

import dpcheck
from dpcheck.core.adjacency import Adjacency
from dpcheck.program.proof import proof_of, read

ROWS = 12
UNIT = dpcheck.records(x=dpcheck.number(0, 1), rows=ROWS)
FOUR = dpcheck.records(k=dpcheck.number(0, 3, integer=True), rows=ROWS)


def bare(function, data, form=None) -> float:
    """What the rules alone conclude, without the attack on it."""
    program = read(function, data, Adjacency.REPLACE_ONE, form=form)
    return float(proof_of(program, data).epsilon().upper)


def chosen_twice(x, rng):
    scores = np.array([x.sum(), 0.0])
    weights = np.exp(scores / 2)
    law = weights / weights.sum()
    return rng.choice(2, p=law), rng.choice(2, p=law)


def chosen_once(x, rng):
    scores = np.array([x.sum(), 0.0])
    weights = np.exp(scores / 2)
    return rng.choice(2, p=weights / weights.sum())


def test_the_exponential_mechanism_is_charged_each_time():
    assert bare(chosen_once, UNIT) == pytest.approx(1.0)
    assert bare(chosen_twice, UNIT) == pytest.approx(2.0)


def even_lies(d, rng):
    return np.where(rng.random(ROWS) < 0.5, d["k"], 2 * rng.integers(0, 4, size=ROWS))


def lies_in_halves(d, rng):
    return np.where(rng.random(ROWS) < 0.5, d["k"], rng.integers(0, 8, size=ROWS) / 2)


def uniform_lies(d, rng):
    return np.where(rng.random(ROWS) < 0.5, d["k"], rng.integers(0, 4, size=ROWS))


@pytest.mark.parametrize("function", [even_lies, lies_in_halves])
def test_lies_that_leave_answers_out_are_refused(function):
    """An odd answer is true for certain; a whole one comes half as often as a uniform lie."""
    with pytest.raises(dpcheck.NotProvable):
        bare(function, FOUR, "columns")


def test_uniform_lies_are_randomized_response():
    """(1/2 + 1/8) / (1/8) = 5."""
    assert bare(uniform_lies, FOUR, "columns") == pytest.approx(np.log(5.0))


def two_of_one_number(x, rng):
    """2**53 + 1 is equal to 2.0**53, and above 2**53."""
    counts = np.array([(x == 2.0**53).sum(), (x > 2**53).sum()])
    return counts + rng.laplace(size=2)


def test_comparisons_of_rounded_numbers_are_not_disjoint():
    data = np.zeros(ROWS, dtype=np.int64)
    program = read(two_of_one_number, data, Adjacency.ADD_REMOVE)
    assert proof_of(program, data).epsilon().upper == pytest.approx(2.0)


def half_precision(x, rng):
    return np.clip(np.nan_to_num(x), 0, 1).sum() + rng.laplace()


def noise_in_half_precision(x, rng):
    return np.clip(np.nan_to_num(x), 0, 1).max() + rng.laplace()


def single_precision(x, rng):
    return np.clip(np.nan_to_num(x), 0, 1).astype(np.float32).sum() + rng.laplace()


def test_noise_in_half_precision_is_refused():
    with pytest.raises(dpcheck.NotProvable, match="half precision"):
        bare(half_precision, np.zeros(ROWS, dtype=np.float16))
    with pytest.raises(dpcheck.NotProvable, match="noise is added in half precision"):
        bare(noise_in_half_precision, np.zeros(ROWS, dtype=np.float16))
    assert bare(single_precision, np.zeros(ROWS, dtype=np.float16)) == pytest.approx(1.0)


def outer():
    last = 0.0

    def kept(x, rng):
        nonlocal last
        out = last + rng.laplace()
        last = 50.0 * x.sum()
        return out

    return kept


def test_a_variable_that_outlives_the_call_is_not_written():
    function = outer()
    with pytest.raises(dpcheck.NotProvable, match="outlives"):
        bare(function, UNIT)


SMALL = np.zeros(50, dtype=np.int8)


def small_scores(x):
    """Of bins of bytes: 28 + 100 is -128."""
    counts = np.bincount(np.clip(x, 0, 4).astype(int), minlength=5).astype(np.int8)
    return np.exp((counts + np.int8(100)) * 0.01)


def tripled_scores(x):
    counts = np.bincount(np.clip(x, 0, 4).astype(int), minlength=5).astype(np.int8)
    return np.exp((counts * np.int8(3)) * 0.01)


def tiny_weights(x):
    return np.exp(0.01 * np.array([x.sum(), 40.0]) - 744.035)


def tiny_after_the_largest(x):
    scores = np.array([x.sum(), 40.0])
    return np.exp(0.01 * (scores - scores.max()) - 743.64)


def tiny_by_another(x):
    scores = np.array([x.sum(), 40.0])
    return np.exp(0.001 * scores - (18 * scores).max())


def chosen_by(weights):
    def choose(x, rng):
        found = weights(x)
        return rng.choice(len(found), p=found / found.sum())

    return choose


def loss(weights, first, second):
    """The largest log ratio of the probabilities, as numpy computes them."""
    one, other = (weights(side) / weights(side).sum() for side in (first, second))
    return float(np.abs(np.log(one / other)).max())


def first_bin(n):
    return np.r_[np.zeros(n, np.int8), np.ones(50 - n, np.int8)]


@pytest.mark.parametrize(
    ("weights", "data", "pair"),
    [
        (small_scores, SMALL, (first_bin(27), first_bin(28))),
        (tripled_scores, SMALL, (first_bin(42), first_bin(43))),
        (tiny_weights, UNIT, (np.zeros(ROWS), np.r_[1.0, np.zeros(ROWS - 1)])),
        (tiny_after_the_largest, UNIT, (np.zeros(ROWS), np.r_[1.0, np.zeros(ROWS - 1)])),
    ],
)
def test_scores_that_wrap_around_or_are_rounded_away(weights, data, pair):
    """Neither wrapped scores nor weights of few digits are the weights of the scores."""
    try:
        found = bare(chosen_by(weights), data)
    except dpcheck.NotProvable:
        return
    assert found >= loss(weights, *pair)


@pytest.mark.parametrize("weights", [tiny_weights, tiny_after_the_largest, tiny_by_another])
def test_weights_that_may_all_be_tiny_are_refused(weights):
    with pytest.raises(dpcheck.NotProvable):
        bare(chosen_by(weights), UNIT)


def small_after_the_largest(x):
    scores = np.array([x.sum(), 40.0])
    return np.exp((scores - scores.max()) / 2 + 3.0)


def test_a_shift_by_the_largest_score_is_proved():
    assert bare(chosen_by(small_after_the_largest), UNIT) == pytest.approx(1.0)
