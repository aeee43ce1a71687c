"""The error rate of a part is spent once, whoever spends it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dpcheck.auditing.auditors.interface import Finding
from dpcheck.auditing.error_budget import ErrorBudget
from dpcheck.auditing.limits import Limits
from dpcheck.auditing.mechanism import Mechanism, Pair
from dpcheck.auditing.part import audit_part
from dpcheck.auditing.plan import PartPlan
from dpcheck.core.audit_result import Observed
from dpcheck.core.evidence import Spent
from dpcheck.core.method import Method
from dpcheck.execution.runner import Runner
from dpcheck.session.claims import read_claim

ALPHA = 1e-3


def test_shares_add_up():
    budget = ErrorBudget(ALPHA)
    shares = [budget.give(fraction) for fraction in (0.05, 0.25, 1.0, 0.5)]
    assert shares == pytest.approx([5e-5, 2.375e-4, 7.125e-4, 0.0])
    assert budget.left == pytest.approx(0.0, abs=1e-18)


def test_what_is_not_spent_is_a_line():
    budget = ErrorBudget(2 * ALPHA)
    budget.book(Spent(Method.REPLAY, 0.0))
    budget.give(0.25)
    budget.book(Spent(Method.DISTINGUISHER, ALPHA / 2))
    assert [line.share for line in budget.lines] == pytest.approx([0.0, ALPHA / 2, 1.5 * ALPHA])
    assert budget.lines[-1].test is Method.NOT_SPENT


def test_nobody_books_more_than_it_was_given():
    budget = ErrorBudget(ALPHA)
    budget.give(0.1)
    with pytest.raises(AssertionError, match="spent more error rate than it was given"):
        budget.book(Spent(Method.DISTINGUISHER, 0.2 * ALPHA))
    with pytest.raises(AssertionError, match="than it was given"):
        ErrorBudget(ALPHA).book(Spent(Method.DISTINGUISHER, 1e-6))


def test_nothing_is_given_out_twice(monkeypatch):
    """As if what was given had not been taken off what is left."""
    monkeypatch.setattr(ErrorBudget, "left", property(lambda self: self.alpha))
    budget = ErrorBudget(ALPHA)
    budget.give(0.6)
    with pytest.raises(AssertionError, match="given out than there is"):
        budget.give(0.6)


class Spends:
    """An auditor that finds nothing and notes what it was given."""

    def __init__(self, fraction, books=1.0):
        self.fraction, self.books, self.given = fraction, books, None

    def applies(self, plan, before):
        return True

    def run(self, plan, alpha, runner):
        self.given = alpha
        spent = Spent(Method.DISTINGUISHER, alpha * self.books)
        return Finding(spent, Observed(0.0, 0.0, 0.999, Method.DISTINGUISHER, 1, 2.0))


def audited(*auditors):
    claim = read_claim(1.0, "replace-one", "a test")
    pair = Pair([0.0], [1.0])
    plan = PartPlan("a test", "as given", claim, Mechanism(lambda d, rng: 0.0), [pair])
    return audit_part(plan, replace(Limits(), alpha=ALPHA), Runner(), auditors=auditors)


def test_the_auditors_of_a_part_share_one_error_rate():
    auditors = [Spends(0.25), Spends(0.25), Spends(1.0), Spends(1.0)]
    entry = audited(*auditors)
    given = [each.given for each in auditors]
    assert given == pytest.approx([2.5e-4, 1.875e-4, 5.625e-4, 0.0])
    assert sum(given) <= ALPHA * (1 + 1e-12)
    assert sum(line.share for line in entry.spending) == pytest.approx(ALPHA)


def test_an_auditor_that_spends_more_ends_the_audit():
    with pytest.raises(AssertionError, match="than it was given"):
        audited(Spends(0.25, books=2.0))


def test_the_slack_for_rounding_is_a_share_of_a_small_error_rate():
    budget = ErrorBudget(1e-9)
    budget.give(0.5)
    with pytest.raises(AssertionError, match="than it was given"):
        budget.book(Spent(Method.EXACT_WITNESS, 5e-10 + 1e-14))
    assert [line.share for line in ErrorBudget(1e-9).lines] == [1e-9]
