"""Functions as people write them: proved unedited, at an epsilon that was derived by hand."""

from __future__ import annotations

import pytest

import dpcheck
from dpcheck.core.adjacency import Adjacency
from dpcheck.program.proof import proof_of, read

from .corpus import habits, held_out, repositories

MODULES = (habits, repositories, held_out)
CASES = {case.name: case for each in MODULES for case in each.CASES.cases}
REFUSED = [case for each in MODULES for case in each.REFUSED.cases]
# The attack takes a second: of each family one is attacked here, the board of benchmarks attacks all.
ATTACKED = (
    *("dp_sum_with_helper", "randomized_response_survey", "early_stopping_with_history"),
    *("laplace_by_sides", "grr_by_shift", "exponential_textbook", "auto_clipped_sum"),
)


@pytest.mark.parametrize("name", CASES)
def test_proved_at_the_derived_epsilon(name):
    case = CASES[name]
    program = read(case.function, case.data, Adjacency(case.adjacency))
    upper = proof_of(program, case.data).epsilon(case.delta).upper
    assert upper == pytest.approx(case.epsilon, rel=1e-4)


@pytest.mark.parametrize("function", ATTACKED)
def test_some_are_attacked(function):
    case = next(each for each in CASES.values() if each.function.__name__ == function)
    proof = dpcheck.prove(case.function, data=case.data, adjacency=case.adjacency)
    assert proof.epsilon(case.delta).upper == pytest.approx(case.epsilon, rel=1e-4)


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_what_is_not_followed_names_its_line(case):
    with pytest.raises(dpcheck.NotProvable, match=r"\w+\.py:\d+: "):
        read(case.function, case.data, Adjacency(case.adjacency))


def test_most_of_them_are_proved():
    proved = {case.function.__name__ for case in CASES.values()}
    refused = {case.function.__name__ for case in REFUSED}
    assert len(proved | refused) >= 130
    assert len(proved) >= 0.8 * len(proved | refused)
