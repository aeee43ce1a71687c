"""Reports say which bounds on the records a verdict depends on, and whether anybody confirmed them."""

from __future__ import annotations

import numpy as np
import pytest

import dpcheck
from dpcheck.report.formats import render
from dpcheck.session.conditions import conditions_of
from dpcheck.session.run import AuditRequest, plan

CODE = """
import dpcheck, numpy as np
PEOPLE = dpcheck.records(age=dpcheck.number(0, 120, integer=True, confirmed={age}),
                         income=dpcheck.number(0, missing=True, confirmed={income}),
                         city=dpcheck.one_of("Oslo", "Rome", confirmed=True), rows=50)

@dpcheck.audited(claim=1.0, adjacency="replace-one", records=PEOPLE, form="columns")
def total(people, rng):
    return np.clip(people["age"], 0, 120).sum() + rng.laplace(scale=120)
"""


def conditions(tmp_path, monkeypatch, age, income):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.py").write_text(CODE.format(age=age, income=income))
    plans, _ = plan(AuditRequest("f.py:total"))
    return " ".join(conditions_of(plans[0]))


def test_guessed_bounds_are_told_from_confirmed_ones(tmp_path, monkeypatch):
    told = conditions(tmp_path, monkeypatch, True, False)
    assert "age is a whole number from 0 up to 120 (confirmed)" in told
    assert "income is a number from 0, or missing (a guess)" in told
    assert "city is one of 2 values (confirmed)" in told
    assert "income is a guess that nobody has confirmed" in told
    assert "The number of rows, 50, is public." in told
    assert "Oslo" not in told


def test_what_is_confirmed_is_not_called_a_guess(tmp_path, monkeypatch):
    assert "nobody" not in conditions(tmp_path, monkeypatch, True, True)


def test_what_nobody_called_a_guess_is_as_stated(tmp_path, monkeypatch):
    assert "(as stated)" in conditions(tmp_path, monkeypatch, True, None)


@pytest.mark.parametrize("style", ["markdown", "html", "json"])
def test_reports_keep_conditions_apart_from_what_was_not_shown(style):
    def noisy(data, rng):
        return np.sum(data) + rng.laplace()

    found = dpcheck.audit(
        noisy, epsilon=1.0, neighbours=[([0.0], [1.0])], adjacency="replace-one", max_runs=300
    )
    text = render(found, style)
    assert text.index("Finding") < text.index("Conditions") < text.index("Not shown")
    assert "Only one pair of datasets was tried, the one given." in text


def test_junit_has_times():
    from xml.etree import ElementTree

    from dpcheck.core.adjacency import Adjacency
    from dpcheck.core.audit_result import AuditEntry, AuditReport, Observed
    from dpcheck.core.budget import Budget
    from dpcheck.core.claim import Claim
    from dpcheck.core.method import Method
    from dpcheck.core.verdict import Verdict

    claim = Claim(Budget(1.0), Adjacency.REPLACE_ONE, "declared")
    seen = Observed(0.5, 0.0, 0.999, Method.REPLAY, 4, 1.0)
    entry = AuditEntry("a", "v", "data", claim, None, seen, Verdict.CONSISTENT, seconds=1.25)
    root = ElementTree.fromstring(render(AuditReport(0, (entry,)), "junit"))
    assert root.find("testsuite/testcase").get("time") == "1.250"
    assert root.find("testsuite").get("time") == root.get("time") == "1.250"
