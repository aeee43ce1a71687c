"""What is public stays as declared when a pair is made smaller."""

from __future__ import annotations

import numpy as np
import pytest

import dpcheck
from dpcheck.auditing.shrink import has_public_rows
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.verdict import Verdict

SIX = dpcheck.records(x=dpcheck.number(0, 1), rows=6)
ANY = dpcheck.records(x=dpcheck.number(0, 1))


def test_whose_number_is_public():
    assert has_public_rows(Adjacency.REPLACE_ONE, None)
    assert has_public_rows(Adjacency.ZERO_OUT, None)
    assert not has_public_rows(Adjacency.ADD_REMOVE, None)
    assert has_public_rows(Adjacency.ADD_REMOVE, SIX)
    assert not has_public_rows(Adjacency.REPLACE_ONE, ANY)


def mean_of_six(x, rng):
    """Noise for six rows, of half the scale: epsilon 2. Of one row it would be 12."""
    return np.clip(x, 0, 1).mean() + rng.laplace(scale=1 / 12)


def unfollowed(x, rng):
    return float(repr(float(mean_of_six(x, rng))))


@pytest.mark.parametrize("function", [mean_of_six, unfollowed])
@pytest.mark.parametrize("given", ["records", "neighbours"])
def test_a_mean_of_six_is_measured_on_six(function, given):
    pairs = [(np.zeros(6), np.r_[1.0, np.zeros(5)])]
    options = {"records": SIX, "form": "array"} if given == "records" else {"neighbours": pairs}
    report = dpcheck.audit(function, epsilon=1.0, adjacency="replace-one", max_runs=2000, **options)
    (entry,) = report.entries
    assert entry.verdict is Verdict.VIOLATED
    assert 1.0 < entry.observed.epsilon <= 2.0
    assert len(entry.witness["first"]) == len(entry.witness["second"]) == 6
