"""Evidence above a proof: an error if it is exact or repeats itself, chance if not; never a row."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

import dpcheck
from dpcheck.auditing.auditors.interface import Finding
from dpcheck.auditing.contradictions import Ran, settled, without_refuted_bound
from dpcheck.auditing.limits import Limits
from dpcheck.auditing.mechanism import Mechanism, Pair
from dpcheck.auditing.part import audit_part
from dpcheck.auditing.plan import CodeProof, PartPlan
from dpcheck.core.audit_result import Observed, Proved
from dpcheck.core.budget import Budget
from dpcheck.core.claim import Claim
from dpcheck.core.errors import ProofsContradict
from dpcheck.core.evidence import Spent
from dpcheck.core.method import Method
from dpcheck.core.verdict import Verdict
from dpcheck.execution.parallel import Workers
from dpcheck.execution.progress import Progress
from dpcheck.execution.runner import Runner
from dpcheck.execution.store import MemoryStore


def total(x, rng):
    return float(x.sum() + rng.laplace())


def plan(proved=1.0, claimed=2.0):
    import numpy as np

    proof = CodeProof(dpcheck.PureDP(proved), lambda delta: proved, "traced")
    return PartPlan(
        "total",
        "as given",
        Claim(Budget(claimed), "replace-one", "test"),
        Mechanism(total),
        (Pair(np.zeros(3), np.array([0.0, 0.0, 1.0])),),
        proved=Proved(proved, 0.0, "trace", ()),
        code_proof=proof,
    )


def runner():
    return Runner(0, Workers(), MemoryStore(), Progress(quiet=True), "total")


def seen(epsilon, confidence):
    return Observed(epsilon, 0.0, confidence, Method.DISTINGUISHER, 100, 1.0)


@dataclass
class Told:
    """An auditor whose answers are known: the first, and those of repetitions."""

    answers: list
    fraction: float = 0.5
    rates: list = field(default_factory=list)
    prefixes: list = field(default_factory=list)

    def applies(self, plan, before):
        return True

    def run(self, plan, alpha, runner):
        self.rates.append(alpha)
        self.prefixes.append(runner.prefix)
        spent = Spent(Method.DISTINGUISHER, min(alpha, 1e-4), (), "told")
        return Finding(spent, self.answers.pop(0))


def first(auditor, of):
    return Ran(auditor, of, auditor.run(of, 1e-3, runner()))


def test_exact_evidence_above_a_proof_is_an_error_at_once():
    auditor = Told([seen(1.5, 1.0)])
    with pytest.raises(ProofsContradict, match=r"at most 1 by the proof .* at least 1\.5"):
        settled(first(auditor, plan()), runner())


def test_exact_evidence_within_rounding_is_shown_as_what_is_proved():
    found = settled(first(Told([seen(1.0000000000000002, 1.0)]), plan()), runner())
    assert found.observed.epsilon == 1.0


def test_a_test_above_a_proof_is_repeated_on_fresh_runs_at_1e_9():
    auditor = Told([seen(1.5, 0.999), seen(1.2, 1 - 1e-9)])
    with pytest.raises(ProofsContradict, match=r"at least 1\.2"):
        settled(first(auditor, plan()), runner())
    assert auditor.rates == [1e-3, 1e-9]
    assert auditor.prefixes[0] != auditor.prefixes[1]  # other seeds


def test_a_test_that_does_not_repeat_was_chance():
    auditor = Told([seen(1.5, 0.999), seen(0.7, 1 - 1e-9)])
    found = settled(first(auditor, plan()), runner())
    assert found.observed.epsilon == 0.7
    assert "chance" in found.notes[-1]


def test_a_repetition_that_saw_nothing_leaves_nothing():
    found = settled(first(Told([seen(1.5, 0.999), None]), plan()), runner())
    assert found.observed.epsilon == 0.0
    assert found.witness is None


def test_evidence_below_a_proof_is_left_alone():
    auditor = Told([seen(0.9, 0.999)])
    made = first(auditor, plan())
    assert settled(made, runner()) == made.finding
    assert auditor.rates == [1e-3]


def test_an_audit_has_no_row_with_more_observed_than_proved():
    """Chance above claim and proof: the verdict is that of the proof."""
    auditor = Told([seen(2.5, 0.999), seen(0.7, 1 - 1e-9)])
    entry = audit_part(plan(), Limits(), runner(), auditors=[auditor])
    assert entry.observed.epsilon <= entry.proved.epsilon
    assert entry.verdict is Verdict.HOLDS


def test_an_audit_ends_with_the_error():
    auditor = Told([seen(2.5, 1.0)])
    with pytest.raises(ProofsContradict):
        audit_part(plan(), Limits(), runner(), auditors=[auditor])


def test_replay_above_a_proof_of_the_code_ends_the_audit():
    """The real auditor on a real pair: the loss is 1, and 0.5 is said to be proved."""
    with pytest.raises(ProofsContradict, match=r"at most 0\.5 .* at least 0\.99999.* by replay"):
        audit_part(plan(proved=0.5, claimed=0.5), Limits(max_runs=200), runner())


def test_a_bound_of_an_event_that_the_code_is_not_is_taken_away():
    described = replace(plan(), code_proof=None)
    kept = without_refuted_bound(described, seen(0.9, 0.999))
    assert kept is described
    gone = without_refuted_bound(described, seen(1.5, 0.999))
    assert gone.proved is None
    assert "is not that event" in gone.notes[-1]
