"""One verdict from all evidence: every combination of what may be known, against a table written by hand."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import dpcheck
from dpcheck.auditing.auditors.interface import Finding
from dpcheck.auditing.limits import Limits
from dpcheck.auditing.mechanism import Mechanism, Pair
from dpcheck.auditing.part import audit_part
from dpcheck.auditing.plan import PartPlan
from dpcheck.auditing.verdicts import Evidence, decide, good_enough
from dpcheck.core.audit_result import Observed, Proved
from dpcheck.core.evidence import Spent
from dpcheck.core.method import Method
from dpcheck.core.verdict import Verdict
from dpcheck.execution.runner import Runner
from dpcheck.session.claims import read_claim

ABOVE = math.nextafter(1.0, 2.0)
LOWER = {"below": 0.5, "equal": 1.0, "above": ABOVE}
UPPER = {"none": None, "within": 0.9, "equal": 1.0, "above": ABOVE, "far": 5.0}
POWER = {"good": 1.1, "just": 1.25, "bad": 1.26, "none": math.inf}
# Against the power: a suspected loss that would have been caught, one that could have been missed.
SEEN = {"nothing": 0.0, "below": 0.9, "caught": 1.3, "missed": 1.05}
TABLE = list(itertools.product(LOWER, UPPER, (True, False), POWER, SEEN))


def expected(lower, upper, tied, power, seen):
    """The table, in the order in which evidence is met [theory, what is known of a part]."""
    if lower == "above":
        return Verdict.VIOLATED  # a proved lower bound above the claim, whatever else is known
    if upper in ("within", "equal") and tied:
        return Verdict.HOLDS
    if upper in ("above", "far"):
        return Verdict.UNDECIDED  # proved above the claim, and not attained
    missed = seen == "missed" or (seen == "caught" and power == "none")
    if missed or power in ("bad", "none"):
        return Verdict.UNDECIDED
    return Verdict.CONSISTENT


@pytest.mark.parametrize(("lower", "upper", "tied", "power", "seen"), TABLE)
def test_every_case(lower, upper, tied, power, seen):
    known = Evidence(
        epsilon=1.0,
        observed=LOWER[lower],
        detectable=POWER[power],
        proved=UPPER[upper],
        tied=tied,
        suspected=SEEN[seen],
    )
    decision = decide(known)
    assert decision.verdict is expected(lower, upper, tied, power, seen)
    assert decision.why
    if decision.verdict in (Verdict.CONSISTENT, Verdict.UNDECIDED):
        assert "the given pairs" in decision.why  # never without saying on which


def test_a_wider_tolerance():
    known = {"epsilon": 1.0, "observed": 0.5, "detectable": 1.4, "proved": None, "tied": False}
    assert decide(Evidence(**known)).verdict is Verdict.UNDECIDED
    assert decide(Evidence(**known, tolerance=0.5)).verdict is Verdict.CONSISTENT


def test_reasons_have_digits_enough_to_differ():
    why = decide(Evidence(1.0, ABOVE, 1.1, None, False)).why
    assert why == "epsilon is at least 1.0000000000000002, and the claim allows 1"
    why = decide(Evidence(1.0, 1.0, 1.1, 5.0, True, pairs="the 3 given pairs")).why
    assert why.startswith("proved at most 5, attained 1 on the 3 given pairs")


class Told:
    """An auditor that says what it was made with."""

    def __init__(self, **found):
        self.found, self.fraction, self.pairs = found, 0.1, None

    def applies(self, plan, before):
        return True

    def run(self, plan, alpha, runner):
        self.pairs = [pair.label for pair in plan.pairs]
        return Finding(Spent(Method.DISTINGUISHER, 0.0), **self.found)


def seen(epsilon, detectable=math.inf, method=Method.DISTINGUISHER):
    return Observed(epsilon, 0.0, 0.999, method, 10, detectable)


def audited(*auditors, **changes):
    pairs = [Pair([0.0], [float(k)], f"pair {k}") for k in (1, 2, 3)]
    claim = read_claim(1.0, "replace-one", "a test")
    plan = PartPlan("f", "as given", claim, Mechanism(lambda d, rng: 0.0), pairs, **changes)
    return audit_part(plan, Limits(), Runner(), auditors=auditors)


def test_what_proves_most_is_reported_with_the_power_of_all():
    exact = Told(observed=seen(0.97, method=Method.REPLAY))
    entry = audited(exact, Told(observed=seen(0.4, 1.05)))
    assert (entry.observed.epsilon, entry.observed.method) == (0.97, Method.REPLAY)
    assert entry.observed.detectable == 1.05
    assert entry.verdict is Verdict.CONSISTENT
    assert "the 3 given pairs" in entry.why


def test_a_proof_above_the_claim_that_is_not_attained_is_undecided():
    """It was consistent: 'proved <= 5, observed >= 0.09'."""
    proved = Proved(5.0, 0.0, "pure")
    entry = audited(Told(observed=seen(0.09, 1.05)), proved=proved)
    assert entry.verdict is Verdict.UNDECIDED
    assert entry.why.startswith("proved at most 5, attained 0.09 on the 3 given pairs")


def test_suspected_losses_are_tested_before_anything_is_consistent():
    suspicion = {"suspected": 1.4, "suspects": (2, 1)}
    after = Told(observed=seen(0.5, 1.5))
    entry = audited(Told(**suspicion), after)
    assert after.pairs == ["pair 3", "pair 2"]  # those it was seen on, the worst first
    assert entry.verdict is Verdict.UNDECIDED
    assert "a loss of 1.4 was seen" in entry.why
    entry = audited(Told(**suspicion), Told(observed=seen(0.5, 1.2)))
    assert entry.verdict is Verdict.CONSISTENT


def unfollowed(value):
    return float(repr(float(value)))


def test_a_loss_that_was_seen_and_not_followed(monkeypatch):
    """Noise of scale 0.72 for a claim of 1, behind text: epsilon is 1.389 if it is what it seems."""

    def noisy(data, rng):
        return unfollowed(data[0] + rng.laplace(scale=0.72))

    options = {"neighbours": [([0.0], [1.0])], "adjacency": "replace-one"}
    (entry,) = dpcheck.audit(noisy, epsilon=1.0, max_runs=2000, **options).entries
    assert any("(not followed, so no proof)" in note for note in entry.notes)
    assert entry.verdict in (Verdict.UNDECIDED, Verdict.VIOLATED)
    (entry,) = dpcheck.audit(noisy, epsilon=1.0, max_runs=40_000, **options).entries
    assert entry.verdict is Verdict.VIOLATED


def test_what_was_attained_exactly_is_reported():
    def noisy(data, rng):
        return np.sum(data) + rng.laplace(scale=1.25)

    options = {"neighbours": [([0.0], [1.0])], "adjacency": "replace-one", "max_runs": 3000}
    (entry,) = dpcheck.audit(noisy, epsilon=1.0, **options).entries
    assert entry.observed.epsilon == pytest.approx(0.8, rel=1e-8)
    assert entry.observed.method is Method.REPLAY
    assert entry.observed.confidence == 1.0


def test_only_the_first_five_guesses_are_named():
    known = Evidence(1.0, 0.5, 1.1, 0.9, tied=True, guessed=("a", "b", "c", "d", "e"))
    assert "a, b, c, d, e are right" in decide(known).why
    more = Evidence(1.0, 0.5, 1.1, 0.9, tied=True, guessed=("a", "b", "c", "d", "e", "f", "g"))
    assert "a, b, c, d, e and 2 more are right" in decide(more).why


@pytest.mark.parametrize(
    ("claim", "tolerance", "expected"), [(4.0, 0.25, 5.0), (0.5, 0.2, 0.6), (0.0, 0.25, 0.025)]
)
def test_good_enough_is_relative_to_the_claim(claim, tolerance, expected):
    assert good_enough(claim, tolerance) == pytest.approx(expected)
