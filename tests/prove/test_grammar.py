"""Random programs: no attack gets above a proof. `benchmarks/fuzz/prove_grammar.py` runs 20,000 of them."""

from __future__ import annotations

import os

import pytest

from .grammar.judge import ADJACENCIES, judge
from .grammar.programs import write

PROGRAMS = int(os.environ.get("DPCHECK_GRAMMAR", "200"))
CHUNK = 100


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("start", range(0, PROGRAMS, CHUNK))
def test_no_attack_is_above_a_proof(start, adjacency):
    judged = [
        judge(write(seed), adjacency, count=12, replay=seed % 4 == 0)
        for seed in range(start, start + CHUNK)
    ]
    broken = [str(one) for one in judged if one.verdict == "broken"]
    assert not broken, "\n\n".join(broken)
    held = [one for one in judged if one.verdict == "held"]
    assert len(held) >= CHUNK // 20  # else hardly anything was attacked


def test_the_attack_finds_planted_mistakes():
    """Charged as if nothing were planted, most mistakes are seen: the attack has teeth."""
    from .grammar.attack import worst_pair

    planted = [program for program in map(write, range(400)) if program.planted]
    certain = [
        program
        for program in planted
        if program.planted in ("released without noise", "noise taken back", "noise used twice")
    ]
    seen = sum(worst_pair(program, "replace-one", 40)[0].certain for program in certain)
    assert len(certain) >= 30
    assert seen >= 0.8 * len(certain)
