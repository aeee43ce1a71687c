"""What a verdict is conditional on is said in every format."""

from __future__ import annotations

import html
import json
from dataclasses import replace

import numpy as np
import pytest

import dpcheck
from dpcheck.core.audit_result import AuditReport
from dpcheck.core.verdict import Verdict
from dpcheck.report import github, json_report, junit, markdown, sarif, summary, text
from dpcheck.session.assertion import audit_function

NOTE = "a note that has to be read"


@pytest.fixture(scope="module")
def report():
    @dpcheck.batched
    def release(data, size, rng):
        return data + rng.laplace(size=size)

    entry = audit_function(
        release, claim=1.0, neighbours=[(0.0, 1.0)], adjacency="replace-one", max_runs=60_000
    )
    assert entry.verdict is Verdict.CONSISTENT
    assert np.isfinite(entry.observed.detectable)
    return AuditReport(0, (replace(entry, notes=(NOTE,)),), 0.999, {})


@pytest.mark.parametrize("form", [text, summary, markdown, github, junit])
def test_reach_and_notes_are_shown(report, form):
    shown = html.unescape(form.render(report))
    assert NOTE in shown
    assert "output sets that were tried" in shown


def test_code_scanning_lists_what_is_undecided_with_its_notes(report):
    (entry,) = report.entries
    shown = sarif.render(replace(report, entries=(replace(entry, verdict=Verdict.UNDECIDED),)))
    assert NOTE in shown
    assert "output sets that were tried" in shown


def test_json_has_both(report):
    (entry,) = json.loads(json_report.render(report))["audits"]
    assert entry["notes"] == [NOTE]
    assert entry["observed"]["detectable"] > 1.0
