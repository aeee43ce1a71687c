"""A budget says what of its sum is proved, and what is only claimed or stated; in every format."""

from __future__ import annotations

import pytest

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.audit_result import AuditReport, BudgetEntry, Scope, Voucher
from dpcheck.core.budget import Budget
from dpcheck.core.verdict import Verdict
from dpcheck.report.formats import FORMATS, render

CLAIMED = "claimed, not proved: ages/data (consistent)"


def report(*verdicts, stated=(), upper=1.0):
    vouchers = tuple(
        Voucher(f"{name}/data", verdict, 0.5)
        for name, verdict in zip(("ages", "incomes"), verdicts, strict=False)
    )
    account = BudgetEntry(
        "residents",
        Budget(2.0),
        Adjacency.REPLACE_ONE,
        upper,
        upper,
        "pure",
        ("ages/data: claims (1, 0)",),
        vouchers=vouchers,
        stated=stated,
    )
    return AuditReport(0, (), budgets=(account,), scope=Scope.PROJECT)


@pytest.mark.parametrize("style", ["text", "markdown", "github", "html"])
def test_a_claim_that_is_only_consistent_is_never_called_proved(style):
    text = render(report(Verdict.CONSISTENT), style)
    assert "exact worst case" not in text
    assert CLAIMED.lower() in text.lower()
    assert "if the claims are true" in text or style == "html"


@pytest.mark.parametrize("style", ["sarif", "junit"])
def test_findings_say_it_too(style):
    assert CLAIMED in render(report(Verdict.CONSISTENT, upper=3.0), style)


def test_what_is_proved_needs_no_condition():
    text = render(report(Verdict.HOLDS), "text")
    assert "proved: ages/data" in text
    assert "if the claims are true" not in text


def test_proved_claimed_and_stated_are_told_apart():
    mixed = report(Verdict.HOLDS, Verdict.UNDECIDED, stated=("PureDP(0.5)",)).budgets[0]
    assert mixed.basis == (
        "proved: ages/data; claimed, not proved: incomes/data (undecided); "
        "stated in the project file: PureDP(0.5)"
    )
    assert not mixed.is_proved
    assert not report(Verdict.HOLDS, stated=("PureDP(0.5)",)).budgets[0].is_proved


def test_json_says_it():
    assert '"proved": false' in render(report(Verdict.CONSISTENT), "json")
    assert set(FORMATS) == {"text", "json", "markdown", "github", "sarif", "junit", "html"}
