"""The planted bugs: a quick part of the corpus here, all of it in benchmarks/corpus.py."""

from __future__ import annotations

import numpy as np
import pytest

from dpcheck.auditing.learning.features import learn_layout
from dpcheck.auditing.learning.scores import learn_scores
from dpcheck.core.verdict import Verdict

from .planted import CORPUS, THEMES, Registered
from .planted.run import audit_row, worst

# What each theme costs least: about a second a row. The others are slower, not harder.
QUICK = (
    "squared scale",
    "wrong sensitivity: upper end for range",
    "noise of the mean on the sum",
    "local sensitivity as if global",
    "integer sum wraps around",
    "randomized response by the tail of a Laplace",
    "truncated noise without its delta",
    "fixed seed",
    "sampler seeded from the data",
    "redrawn until positive",
    "best of ten attempts",
    "data-dependent bounds",
    "mean divided by the private count",
    "contributions of one person not bounded",
    "exponential noisy max returns the value",
    "exponential mechanism over the data's own values",
    "batch clipping",
    "noise inside the clip",
    "20% too little Gaussian noise",
    "textbook floating-point Laplace",
)
# Of the correct twin: 131,072 of them put what would be caught below 1.25 times every claim here.
RUNS = 200_000
# Twins whose noise hides the pair altogether: a run that tells nothing apart promises nothing.
HIDDEN = ("local sensitivity as if global", "integer sum wraps around")
ROWS = {row.name: row for row in CORPUS}


@pytest.mark.parametrize("name", QUICK)
def test_a_planted_bug_is_caught_and_its_twin_is_not(name):
    row = ROWS[name]
    caught = worst(audit_row(row, "broken", seed=1))
    assert caught.verdict is Verdict.VIOLATED
    assert caught.witness is not None
    if row.exact is not None and caught.observed.delta == row.claim.budget.delta:
        assert row.claim.budget.epsilon < caught.observed.epsilon <= row.exact
    passed = worst(audit_row(row, "corrected", seed=1, runs=RUNS))
    assert passed.witness is None
    if name in HIDDEN:
        assert passed.verdict is Verdict.UNDECIDED
        assert passed.observed.epsilon == 0.0
        assert any("nothing told the two datasets apart" in note for note in passed.notes)
    else:
        assert passed.verdict is Verdict.CONSISTENT


def test_a_paper_s_slip_is_caught_through_its_registered_audit():
    row = ROWS["DPIW with signed rows"]
    assert worst(audit_row(row, "broken", seed=1)).verdict is Verdict.VIOLATED
    assert worst(audit_row(row, "corrected", seed=1)).verdict is Verdict.HOLDS


def test_outputs_that_give_the_data_away_warn_nobody():
    # Keys that only one side can list: a regression on them has no finite answer.
    row = ROWS["histogram lists the keys that occur"]
    rng = np.random.default_rng(0)
    first, second = (row.broken(data, 20_000, rng) for data in row.pairs[0])
    layout = learn_layout(np.vstack([first, second]))
    scores = learn_scores(
        layout.rounded(first), layout.rounded(second), layout
    )  # warnings are errors
    assert all(np.isfinite(score(layout.rounded(first))).all() for score in scores)


def test_the_corpus_is_what_the_benchmark_says_it_is():
    assert len(CORPUS) >= 40
    assert len(ROWS) == len(CORPUS)
    assert set(QUICK) <= set(ROWS)
    assert {theme: len(rows) for theme, rows in THEMES.items() if not rows} == {}
    for row in CORPUS:
        assert row.broken != row.corrected
        assert row.provenance
        assert (row.claim is None) == isinstance(row.broken, Registered)
        if row.exact is not None and row.claim is not None:
            assert row.exact > row.claim.budget.epsilon, row.name
