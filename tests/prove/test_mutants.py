"""Certificates of the corpus, made false: none is accepted (all: benchmarks/fuzz/mutated_certificates.py)."""

from __future__ import annotations

import numpy as np
import pytest

from dpcheck.verify.program.boxes import Box
from dpcheck.verify.program.sizes import Size

from .corpus import everyday, habits, normal, sums, tables
from .mutants import accepted, base_of, mutants
from .published import checkdp, statdp

CASES = [*sums.CASES.cases, *normal.CASES.cases, *tables.CASES.cases, *everyday.CASES.cases]
SOME = CASES[::12]


@pytest.fixture(scope="module")
def bases():
    found = [base_of(case, 6) for case in SOME]
    return [base for base in found if base is not None]


def test_no_false_statement_is_accepted(bases):
    rng = np.random.default_rng(0)
    made = [mutant for base in bases for mutant in mutants(base, rng, 30)]
    assert len(made) >= 200
    assert [mutant.what for mutant in made if accepted(mutant)] == []


def test_a_kernel_that_looks_away_accepts_them(bases, monkeypatch):
    """So that the mutants above are refused for what is false in them, and not for how they are written."""
    monkeypatch.setattr(Box, "holds", lambda self, other: True)
    monkeypatch.setattr(Size, "holds", lambda self, other: True)
    rng = np.random.default_rng(0)
    made = [
        m
        for base in bases
        for m in mutants(base, rng, 30)
        if m.what.endswith("follows") and " is " not in m.what
    ]
    assert sum(map(accepted, made)) > len(made) / 2


def test_of_several_releases_none_is_left_out_or_too_cheap():
    """Sparse vectors, noisy maxima, entries of one vector: events that are too small, lists that lack one."""
    programs = {p.function.__name__: p for p in (*checkdp.PAPER.programs, *statdp.PAPER.programs)}
    names = ("noisy_max", "sparse_vector_numeric", "sparse_vector_adaptive", "smart_sum", "svt")
    bases = [base_of(programs[name], 2) for name in names]
    made = [
        m for base in bases for m in mutants(base, np.random.default_rng(0)) if "several" in m.what
    ]
    assert len(made) >= 20
    assert [mutant.what for mutant in made if accepted(mutant)] == []


def test_groups_of_releases_cost_what_one_of_them_does_at_least():
    """k-means: a point stays in one part, or crosses; none of its certificates that are too cheap holds."""
    cases = [c for c in habits.CASES.cases if c.function is habits.dp_kmeans_one_step]
    bases, rng = [base_of(case, 6) for case in cases], np.random.default_rng(0)
    every = [mutant for base in bases for mutant in mutants(base, rng)]
    made = [mutant for mutant in every if "group" in mutant.what or "release" in mutant.what]
    assert [mutant.what for mutant in made if accepted(mutant)] == []
    assert sum("covered by" in mutant.what for mutant in made) >= 2


def test_nine_of_ten_proofs_have_a_certificate():
    some = CASES[5::12]
    found = [base_of(case, 0) for case in some]
    assert sum(base is not None for base in found) >= 0.9 * len(some)
