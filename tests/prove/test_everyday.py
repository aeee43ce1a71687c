"""Everyday functions: proved at the derived epsilon, and read as what they do."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dpcheck
from dpcheck.core.adjacency import Adjacency
from dpcheck.program.proof import proof_of, read
from dpcheck.program.running import run

from .corpus import everyday, notebooks

CASES = {case.name: case for case in everyday.CASES.cases + notebooks.CASES.cases}


# As in test_corpus.py.
ATTACKED = (
    *("binary_search", "counted_by_city", "name_of_the_largest"),
    *("intervals_as_groups", "rows_by_iterrows", "cross_table", "synthetic_marginals"),
)


@pytest.mark.parametrize("name", CASES)
def test_proved_at_the_derived_epsilon(name):
    case = CASES[name]
    proof = proof_of(read(case.function, case.data, Adjacency(case.adjacency)), case.data)
    upper = proof.epsilon(delta=case.delta).upper
    assert upper == pytest.approx(case.epsilon, rel=1e-4), proof.releases


@pytest.mark.parametrize("function", ATTACKED)
def test_some_are_attacked(function):
    case = next(each for each in CASES.values() if each.function.__name__ == function)
    proof = dpcheck.prove(case.function, data=case.data, adjacency=case.adjacency)
    upper = proof.epsilon(delta=case.delta).upper
    assert upper == pytest.approx(case.epsilon, rel=1e-4), proof.releases


def made_up(case, rng):
    if case.data is everyday.UNIT:
        return rng.random(100)
    if case.data is everyday.PLANE:
        return rng.uniform(-5, 5, size=(100, 2))
    return pd.DataFrame({"age": rng.uniform(0, 100, 100), "city": rng.choice(list("ABC"), 100)})


def numbers(output):
    if isinstance(output, dict):
        return [each for value in output.values() for each in numbers(value)]
    if isinstance(output, list | tuple):
        return [each for value in output for each in numbers(value)]
    if isinstance(output, str):
        return [output]
    return np.ravel(np.asarray(output, dtype=float)).tolist()


RUN = [case.name for case in everyday.CASES.cases]


@pytest.mark.parametrize("name", RUN)
def test_the_program_gives_the_functions_own_outputs(name):
    """With one seed, on several datasets, so that branches go both ways."""
    case = CASES[name]
    program = read(case.function, case.data, Adjacency(case.adjacency))
    for seed in range(8):
        data = made_up(case, np.random.default_rng(seed))
        ours = numbers(run(program, data, np.random.default_rng(seed)).output)
        theirs = numbers(case.function(data, np.random.default_rng(seed)))
        texts = [isinstance(each, str) for each in theirs]
        assert [isinstance(each, str) for each in ours] == texts
        assert ours == (theirs if any(texts) else pytest.approx(theirs, rel=1e-12))
