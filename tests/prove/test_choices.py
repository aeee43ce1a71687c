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
