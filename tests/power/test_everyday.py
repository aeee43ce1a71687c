"""Functions as people write them: the broken ones are caught, the right ones are not accused."""

from __future__ import annotations

import pytest

from dpcheck.core.verdict import Verdict
from dpcheck.session.assertion import audit_function

from .everyday import CORPUS

# One or two of each room whose twins take a second; all of them are in benchmarks/everyday.py.
QUICK = (
    "plain: mean without noise",
    "plain: an error by the truth",
    "plain: NaN by the truth",
    "plain: set of what occurs",
    "arrays: array as long as the answer",
    "arrays: weights",
    "tables: dtype",
    "globals: random, too little",
    "globals: seed set inside",
)


def audit(row, which, seed=1, runs=1024):
    return audit_function(
        getattr(row, which),
        claim=(row.epsilon, row.delta) if row.delta else row.epsilon,
        neighbours=row.pairs,
        adjacency=row.adjacency,
        seed=seed,
        max_runs=runs,
    )


def test_nearly_all_broken_functions_are_caught():
    """At least 57 in 60, in few calls; half a minute, since it is a whole audit of each."""
    found = {name: audit(row, "broken", runs=600) for name, row in CORPUS.items()}
    missed = [name for name, entry in found.items() if entry.verdict is not Verdict.VIOLATED]
    assert len(missed) <= len(CORPUS) // 20, missed
    assert all(entry.witness is not None for name, entry in found.items() if name not in missed)


@pytest.mark.parametrize("name", QUICK)
def test_a_function_as_it_should_be_is_not_accused(name):
    assert audit(CORPUS[name], "corrected", runs=300).verdict is not Verdict.VIOLATED


def test_the_corpus_is_as_large_as_it_says():
    assert len(CORPUS) >= 60
    assert set(QUICK) <= set(CORPUS)
    for row in CORPUS.values():
        assert row.broken is not row.corrected
