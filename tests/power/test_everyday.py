"""Functions as people write them: the broken ones are caught, the right ones are not accused."""

from __future__ import annotations

import pytest

from dpcheck.core.verdict import Verdict
from dpcheck.session.assertion import audit_function

from .everyday import CORPUS

# One or two of each room that take a second; all of them are in benchmarks/everyday.py.
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


@pytest.mark.parametrize("name", QUICK)
def test_a_broken_function_is_caught_and_its_twin_is_not_accused(name):
    row = CORPUS[name]
    caught = audit(row, "broken")
    assert caught.verdict is Verdict.VIOLATED
    assert caught.witness is not None
    assert audit(row, "corrected").verdict is not Verdict.VIOLATED


def test_the_corpus_is_as_large_as_it_says():
    assert len(CORPUS) >= 60
    assert set(QUICK) <= set(CORPUS)
    for row in CORPUS.values():
        assert row.broken is not row.corrected
