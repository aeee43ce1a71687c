"""Leaks that show only among people of several kinds, with neighbours left to the audit."""

from __future__ import annotations

import pytest

import dpcheck
from dpcheck.core.verdict import Verdict

from .kinds import CORPUS, FURTHER

# A few of each room; all of them are in benchmarks/neighbours/kinds.py.
QUICK = (
    "order: median",
    "order: trimmed mean",
    "counts: small cells",
    "counts: favourite city",
    "ratios: weighted mean",
    "tables: close pairs",
)

PLACES = ("arrival: who came first", "arrival: longest streak", "thresholds: four in a band")


def audit(row, which, runs, seed=1):
    report = dpcheck.audit(
        getattr(row, which),
        epsilon=1.0,
        records=row.records,
        form=row.form,
        adjacency=row.adjacency,
        seed=seed,
        max_runs=runs,
    )
    return report.entries[0]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_nine_in_ten_are_caught():
    """About a minute, since it is a whole audit of each, the search for neighbours included."""
    missed = [n for n in CORPUS if audit(CORPUS[n], "broken", 8000).verdict is not Verdict.VIOLATED]
    assert len(missed) <= len(CORPUS) // 10, missed


@pytest.mark.parametrize("name", PLACES)
def test_one_of_those_that_were_missed_once(name):
    assert audit(FURTHER[name], "broken", 4000).verdict is Verdict.VIOLATED


@pytest.mark.parametrize("name", QUICK)
def test_a_function_as_it_should_be_is_not_accused(name):
    entry = audit(CORPUS[name], "right", 1500)
    assert entry.verdict is not Verdict.VIOLATED
    assert entry.verdict is Verdict.HOLDS or "pairs tried" in entry.why


def test_the_corpus_is_as_large_as_it_says():
    assert len(CORPUS) >= 50
    assert len(FURTHER) >= 60
    assert set(QUICK) <= set(CORPUS)
    for row in (*CORPUS.values(), *FURTHER.values()):
        assert row.broken is not row.right
