"""Plain functions are proved at the epsilon of a derivation by hand; wrong ones are not."""

from __future__ import annotations

import math

import pytest

import dpcheck
from dpcheck.core.adjacency import Adjacency
from dpcheck.program.proof import Proof, proof_of, read

from .corpus import nasty, normal, numbers, sums, tables

WRONG = numbers.WRONG.cases  # of all three files of mistakes
assert nasty.WRONG is numbers.WRONG
PROVED = [*sums.CASES.cases, *normal.CASES.cases, *tables.CASES.cases]
# The attack takes most of the time: these are attacked, too; the board of benchmarks attacks all.
ATTACKED = ("report_noisy_max", "randomized_response", "clipped_column", "counts_of_public_groups")


def by_name(cases):
    return {case.name: case for case in cases}


def test_enough_cases():
    assert len({case.function for case in PROVED}) + len(normal.SAMPLED) >= 60
    assert len({case.function for case in WRONG}) >= 40
    assert len(by_name(PROVED)) == len(PROVED)


def by_the_rules(case) -> Proof:
    """What the rules alone prove, whether or not an attack would contradict them."""
    return proof_of(read(case.function, case.data, Adjacency(case.adjacency)), case.data)


def check(case, proof: Proof) -> None:
    upper = proof.epsilon(delta=case.delta).upper
    assert upper >= case.epsilon * (1 - 1e-9), proof.releases
    assert upper <= case.epsilon * (1 + 1e-4), proof.releases


@pytest.mark.parametrize("name", by_name(PROVED))
def test_proved_at_the_derived_epsilon(name):
    case = by_name(PROVED)[name]
    check(case, by_the_rules(case))


@pytest.mark.parametrize("function", ATTACKED)
def test_some_are_attacked(function):
    case = next(each for each in PROVED if each.function.__name__ == function)
    check(case, dpcheck.prove(case.function, data=case.data, adjacency=case.adjacency))


@pytest.mark.parametrize(
    ("function", "event"), normal.SAMPLED, ids=lambda v: getattr(v, "__name__", "")
)
def test_sampled_steps_are_the_event_of_the_accountant(function, event):
    proof = dpcheck.prove(function, data=normal.TABLE, adjacency="add-remove")
    wanted = dpcheck.epsilon(event, delta=1e-6, adjacency="add-remove").upper
    assert proof.epsilon(delta=1e-6).upper == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("name", by_name(WRONG))
def test_refused_or_charged(name):
    case = by_name(WRONG)[name]
    refusal = None
    try:
        proof = by_the_rules(case)
    except dpcheck.NotProvable as error:
        refusal = error
    if refusal is not None:
        assert refusal.code.startswith("DPC")
        assert refusal.line
        assert refusal.remedy
    else:
        charged = proof.epsilon(delta=0.0).upper
        assert charged >= case.epsilon * (1 - 1e-9) or math.isinf(charged), proof.releases
