"""The programs of CheckDP and StatDP: right ones are proved, wrong ones refused or charged what they cost."""

from __future__ import annotations

import math

import pytest

import dpcheck
from dpcheck.core.adjacency import Adjacency
from dpcheck.program.proof import proof_of, read

from .published import checkdp, statdp
from .published.base import REFUSED

PROGRAMS = {p.name: p for p in (*checkdp.PAPER.programs, *statdp.PAPER.programs)}


def proved(program):
    return proof_of(
        read(program.function, program.data, Adjacency(program.adjacency)), program.data
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_charged_what_it_costs(name):
    program = PROGRAMS[name]
    if program.charged == REFUSED:
        with pytest.raises(dpcheck.NotProvable):
            proved(program)
        return
    assert proved(program).epsilon().upper == pytest.approx(program.charged, rel=1e-9)


def test_verdicts_follow_the_charge():
    for program in PROGRAMS.values():
        keeps = program.charged <= program.claimed * (1 + 1e-9)
        assert keeps == program.right, program.name


@pytest.mark.parametrize("name", ["CheckDP-sparse_vector_gap", "CheckDP-smart_sum", "StatDP-svt"])
def test_the_proof_survives_its_attack(name):
    program = PROGRAMS[name]
    proof = dpcheck.prove(program.function, program.data, program.adjacency)
    assert math.isfinite(proof.epsilon().upper)
