"""What one part's auditors are told, when they stop, and what is made of what they saw."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

import dpcheck
from dpcheck.auditing.auditors.interface import Finding
from dpcheck.auditing.limits import Limits
from dpcheck.auditing.mechanism import Mechanism, Pair
from dpcheck.auditing.pairs.forms import Form
from dpcheck.auditing.pairs.search import PairSearch
from dpcheck.auditing.part import audit_part
from dpcheck.auditing.plan import CodeProof, PartPlan
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.audit_result import Observed, Proved
from dpcheck.core.errors import NothingToAudit, TimeLimitReached
from dpcheck.core.evidence import Spent
from dpcheck.core.method import Method
from dpcheck.core.verdict import Verdict
from dpcheck.execution.parallel import Workers
from dpcheck.execution.runner import Runner
from dpcheck.session.claims import read_claim

ALPHA = 1e-3
LIMITS = Limits(alpha=ALPHA)
PAIRS = [Pair([0.0], [1.0], "near"), Pair([0.0], [2.0], "far")]


def plan(**changes):
    claim = read_claim(1.0, "replace-one", "a test")
    mechanism = Mechanism(lambda d, rng: float(d[0] + rng.laplace()))
    return replace(PartPlan("a test", "as given", claim, mechanism, PAIRS), **changes)


def seen(epsilon=0.0, detectable=1.1, **changes):
    return replace(
        Observed(epsilon, 0.0, 1 - ALPHA, Method.DISTINGUISHER, 100, detectable), **changes
    )


@dataclass
class Says:
    """An auditor with one finding, or one error; it notes what it was given."""

    finding: Finding | Exception
    fraction: float = 0.5
    plans: list = field(default_factory=list)

    def applies(self, plan, before):
        return True

    def run(self, plan, alpha, runner):
        self.plans.append(plan)
        if isinstance(self.finding, Exception):
            raise self.finding
        return self.finding


def finds(observed=None, method=Method.DISTINGUISHER, share=0.0, **changes):
    return Says(Finding(Spent(method, share), observed, **changes))


def audited(*auditors, limits=LIMITS, **changes):
    runner = Runner(0, Workers(jobs=1))
    return audit_part(plan(**changes), limits, runner, auditors=auditors)


def test_without_an_observation_there_is_no_verdict():
    with pytest.raises(NothingToAudit, match="cannot be audited"):
        audited(finds())


def test_calls_that_depend_on_each_other_end_the_audit_undecided():
    after = finds(seen(0.9))
    entry = audited(finds(dependent=True, notes=("it remembers",)), after)
    assert after.plans == []
    assert entry.verdict is Verdict.UNDECIDED
    assert entry.observed.method is Method.NO_TEST
    assert "it remembers" in entry.notes
    assert sum(line.share for line in entry.spending) == pytest.approx(ALPHA)


@pytest.mark.parametrize("finding", ["raised", "told"])
def test_a_time_limit_keeps_what_was_seen(finding):
    late = Says(TimeLimitReached("late")) if finding == "raised" else finds(out_of_time=True)
    after = finds(seen(0.9))
    entry = audited(finds(seen(0.4, 1.1)), late, after)
    assert after.plans == []
    assert entry.cut_short
    assert entry.observed.epsilon == 0.4
    assert entry.verdict is Verdict.CONSISTENT  # the test that was finished had the power
    assert any("verdict so far" in note for note in entry.notes)
    convicted = audited(finds(seen(1.5)), late)
    assert convicted.verdict is Verdict.VIOLATED
    nothing = audited(late)
    assert nothing.verdict is Verdict.UNDECIDED
    assert nothing.observed.runs == 0


def test_a_deadline_that_has_passed_runs_nothing():
    auditor = finds(seen(0.9))
    entry = audited(auditor, limits=replace(LIMITS, deadline=time.time() - 1))
    assert auditor.plans == []
    assert entry.cut_short
    assert entry.verdict is Verdict.UNDECIDED


def test_a_loss_that_was_not_proved_is_tested_where_it_was_seen():
    after = finds(seen(0.2, 1.1))
    entry = audited(finds(suspects=(1,), suspected=2.0), after)
    (given,) = after.plans
    assert [pair.label for pair in given.pairs] == ["far"]
    assert given.suspected == 2.0
    assert entry.verdict is Verdict.CONSISTENT  # a test with power at 2 has refuted the hint
    weak = audited(finds(suspects=(1,), suspected=2.0), finds(seen(0.2, 2.5)))
    assert weak.verdict is Verdict.UNDECIDED
    assert "a loss of 2 was seen on the 2 given pairs" in weak.why


def test_code_that_is_not_its_event_has_no_power():
    entry = audited(
        finds(seen(0.9, 1.01), conforms=False, contradicts_formula=True, conformance="no"),
        proved=Proved(1.0, 0.0, "an event", ()),
    )
    assert entry.verdict is Verdict.UNDECIDED
    assert math.isinf(entry.observed.detectable)


def test_what_refutes_most_is_shown_and_the_best_power_is_told():
    entry = audited(
        finds(seen(0.3, 1.05)),
        finds(seen(0.8, 4.0, method=Method.REPLAY), method=Method.REPLAY),
        finds(seen(0.5, math.inf)),
    )
    assert (entry.observed.epsilon, entry.observed.method) == (0.8, Method.REPLAY)
    assert entry.observed.detectable == 1.05
    worst = audited(finds(seen(1.2)), finds(seen(3.0, runs=7)))
    assert worst.verdict is Verdict.VIOLATED
    assert worst.observed.runs == 7


def proof(epsilon, **changes):
    return CodeProof(dpcheck.PureDP(epsilon), lambda delta: epsilon, "read", **changes)


def test_nothing_is_tested_once_an_attack_attains_what_is_proved_within_the_claim():
    attains = finds(seen(0.8, confidence=1.0, method=Method.REPLAY), method=Method.REPLAY)
    after = finds(seen(0.1))
    told = {"proved": Proved(0.8, 0.0, "read", ()), "code_proof": proof(0.8)}
    entry = audited(attains, after, **told)
    assert after.plans == []
    assert entry.verdict is Verdict.HOLDS
    assert entry.conformance == "read"
    # Above the claim there is something left to find.
    told = {"proved": Proved(1.5, 0.0, "read", ()), "code_proof": proof(1.5)}
    entry = audited(attains, after, **told)
    assert len(after.plans) == 1
    assert "proved at most 1.5, attained 0.8 on the 2 given pairs" in entry.why


def test_a_proof_that_rests_on_guesses_is_consistent_and_says_which():
    told = {
        "proved": Proved(0.8, 0.0, "read", ()),
        "code_proof": proof(0.8, guessed=("income",)),
    }
    entry = audited(finds(seen(0.5)), **told)
    assert entry.verdict is Verdict.CONSISTENT
    assert "the guesses about income are right" in entry.why


def test_a_bound_of_an_event_needs_a_tie_and_none_that_speaks_against_it():
    bound = {"proved": Proved(0.9, 0.0, "an event", ())}
    tie = finds(conforms=True, conformance="the noise has the scale it should")
    assert audited(tie, finds(seen(0.5)), **bound).verdict is Verdict.HOLDS
    assert audited(finds(seen(0.5)), **bound).verdict is Verdict.CONSISTENT
    against = finds(conforms=False, conformance="it has not")
    assert audited(tie, against, finds(seen(0.5)), **bound).verdict is Verdict.CONSISTENT


def test_a_bound_that_was_refuted_is_taken_back():
    entry = audited(finds(seen(0.9)), proved=Proved(0.5, 0.0, "an event", ()))
    assert entry.proved is None
    assert any("costs at most 0.5" in note for note in entry.notes)


def test_the_same_note_is_said_once():
    entry = audited(finds(notes=("twice",)), finds(seen(), notes=("twice",)), notes=("before",))
    assert entry.notes == ("before", "twice")


ONE = dpcheck.records(x=dpcheck.number(0, 1), rows=3)


def test_searched_pairs_are_counted_and_the_search_has_a_third_of_the_time():
    def slow(data, rng):
        time.sleep(0.02)
        return float(np.sum(data) + rng.laplace())

    search = PairSearch(ONE, Adjacency.REPLACE_ONE, Form.VALUES)
    auditor = finds(seen(0.2))
    began = time.time()
    entry = audited(
        auditor,
        limits=replace(LIMITS, deadline=began + 1.5),
        mechanism=Mechanism(slow),
        pairs=(),
        pair_search=search,
    )
    assert time.time() - began < 1.5
    (given,) = auditor.plans
    assert given.pairs
    assert given.tried >= len(given.pairs)
    assert f"the worst of {given.tried:,} pairs tried" in entry.why
    none = audited(
        finds(),
        limits=replace(LIMITS, deadline=began - 1),
        mechanism=Mechanism(slow),
        pairs=(),
        pair_search=search,
    )
    assert any("search for neighbours was ended" in note for note in none.notes)
