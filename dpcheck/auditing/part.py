"""One protected part of one algorithm: run the auditors it admits, give a verdict."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace

from dpcheck.auditing.auditors.distinguisher import Distinguisher
from dpcheck.auditing.auditors.guessing_game import GuessingGame
from dpcheck.auditing.auditors.interface import Auditor, Finding, conforms
from dpcheck.auditing.auditors.likelihood import Likelihood
from dpcheck.auditing.auditors.noise_scale import NoiseScaleTest
from dpcheck.auditing.auditors.one_run import OneRun
from dpcheck.auditing.auditors.replay import Replay
from dpcheck.auditing.auditors.witness_search import WitnessSearch
from dpcheck.auditing.contradictions import Ran, above, settled, without_refuted_bound
from dpcheck.auditing.counterexample.build import Confirmed, readable
from dpcheck.auditing.error_budget import ErrorBudget
from dpcheck.auditing.evidence import (
    FEWEST_DRAWN,
    drawing_runs,
    event_to_draw,
    evidence_runs,
    gather,
)
from dpcheck.auditing.limits import Early, Limits, Pace
from dpcheck.auditing.pairs.search import PairSearch, is_attained
from dpcheck.auditing.plan import PartPlan
from dpcheck.auditing.verdicts import Evidence, decide, good_enough, named_pairs
from dpcheck.core.audit_result import AuditEntry, Observed
from dpcheck.core.errors import NothingToAudit, TimeLimitReached
from dpcheck.core.evidence import RunEvidence, Spent
from dpcheck.core.method import Method
from dpcheck.core.verdict import Verdict
from dpcheck.core.witness import Witness
from dpcheck.execution.interrupts import until
from dpcheck.execution.runner import Runner


def standard_auditors(limits: Limits, *, at_once: bool = False) -> tuple[Auditor, ...]:
    """Proofs first, then tests, the cheapest first; what they find is listed in this order.

    Runs made `at_once` have a pace of their own.
    """
    limits = replace(limits, early=Early())
    many = replace(limits, pace=Pace()) if at_once else limits
    return (
        WitnessSearch(),
        Replay(limits),
        NoiseScaleTest(),
        OneRun(),
        Likelihood(),
        GuessingGame(limits),
        Distinguisher(many),
    )


def audit_part(
    plan: PartPlan,
    limits: Limits,
    runner: Runner,
    *,
    auditors: Sequence[Auditor] | None = None,
    pictures: bool = False,
) -> AuditEntry:
    """Run every auditor that applies and compare; with `pictures`, sample what a report draws.

    Guarantee: violated wrongly with probability at most `limits.alpha`: each auditor is given a
    fraction of what the ones before it left.
    """
    if plan.pair_search is not None and plan.mechanism is not None:
        plan = _with_pairs(plan, plan.pair_search, limits, runner)
    looked_at = _named(plan)
    findings: list[Finding] = []
    budget, late = ErrorBudget(limits.alpha), False
    if plan.mechanism is not None and not math.isinf(limits.deadline):
        plan = replace(plan, mechanism=replace(plan.mechanism, deadline=limits.deadline))
    many = _many_runs(plan, limits)
    if auditors is None:
        auditors = standard_auditors(limits, at_once=many is not plan)
    for auditor in auditors:
        given = many if isinstance(auditor, Likelihood | Distinguisher) else plan
        if late or _attained(plan, findings) or not auditor.applies(given, findings):
            continue
        share = budget.give(auditor.fraction)
        try:
            with until(limits.deadline):
                found = auditor.run(given, share, runner)
                findings.append(settled(Ran(auditor, given, found), runner))
            budget.book(findings[-1].spent)
            late = findings[-1].out_of_time
            if findings[-1].dependent:
                break
            plan, many = (_suspecting(each, findings[-1]) for each in (plan, many))
        except TimeLimitReached:
            late = True
    if late:
        note = "the time limit passed before every test was finished; this is the verdict so far"
        findings.append(_nothing_more(plan, limits, "the time limit passed", (note,)))
        budget.book(findings[-1].spent)
    elif findings and findings[-1].dependent:
        findings.append(_nothing_more(plan, limits, "calls depend on each other", ()))
        budget.book(findings[-1].spent)
    seen = _observations(findings)
    if not seen:
        raise NothingToAudit(
            f"{plan.name} cannot be audited: it cannot run on neighbours, and its density is not known."
        )
    observed, best = max(seen, key=lambda one: _weight(one[0], plan))
    detectable, tested = _power([each for each, _ in seen], plan, limits.tolerance)
    allowed = plan.tested.at(observed.delta)
    observed = replace(observed, allowed=allowed, detectable=detectable)
    plan = without_refuted_bound(plan, observed)
    evidence = Evidence(
        epsilon=allowed,
        observed=observed.epsilon,
        detectable=detectable,
        tested=tested,
        proved=_proved(plan, observed.delta),
        tied=_tied(plan, findings),
        tolerance=limits.tolerance,
        suspected=plan.suspected,
        pairs=looked_at,
        guessed=() if plan.code_proof is None else plan.code_proof.guessed,
    )
    decision = decide(evidence)
    spent = sum(each.runs + each.learning_runs for each, _ in seen)
    witness = best.witness
    if decision.verdict is Verdict.VIOLATED:
        witness, confirmed = _shown(plan, best, spent, limits, runner)
        if confirmed is not None and budget.left > 0 and best.method is not Method.REPLAY:
            sharper, line = _sharper(observed, confirmed, budget.give(1.0))
            budget.book(line)
            # More than is proved is chance, or the first bound would have been a contradiction.
            observed = observed if above(plan, sharper) else sharper
            plan = without_refuted_bound(plan, observed)
    told = [finding.conformance for finding in findings if finding.conformance is not None]
    if plan.code_proof is not None:
        told.insert(0, plan.code_proof.how)
    return AuditEntry(
        plan.name,
        plan.variant,
        plan.claim.part,
        plan.claim,
        plan.proved,
        observed,
        decision.verdict,
        witness,
        _said_once(
            *plan.notes,
            *(note for finding in findings for note in finding.notes),
            *runner.store.facts.notes(),
        ),
        told[0] if told else None,
        spending=budget.lines,
        evidence=_pictures(plan, findings, limits, runner) if pictures and not late else None,
        cut_short=late,
        floating_point=plan.floating_point,
        event=None if plan.code_proof is None else plan.code_proof.event,
        why=decision.why,
    )


def _suspecting(plan: PartPlan, found: Finding) -> PartPlan:
    """The plan with the pairs on which a loss above the claim was seen but not proved: they are tested."""
    if not found.suspects:
        return plan
    pairs = [plan.pairs[number] for number in found.suspects]
    return replace(plan, pairs=pairs, suspected=found.suspected)


def _named(plan: PartPlan) -> str:
    """On which pairs a part was looked at."""
    if plan.training is not None or plan.search is not None:
        return "the data tried"
    return named_pairs(len(plan.pairs), plan.tried)


def _said_once(*notes: str) -> tuple[str, ...]:
    """In order; two auditors that saw the same say it once."""
    return tuple(dict.fromkeys(notes))


_FEW_RUNS = 1000  # that many are not worth the calls it takes to compare


def _many_runs(plan: PartPlan, limits: Limits) -> PartPlan:
    """The plan for auditors of many runs, where they can be made at once."""
    if plan.many_runs is None or not plan.pairs:
        return plan
    if limits.max_runs is not None and limits.max_runs < _FEW_RUNS:
        return plan
    try:
        with until(limits.deadline):
            found = plan.many_runs([side for p in plan.pairs for side in (p.first, p.second)])
    except TimeLimitReached:
        return plan
    return (
        plan if found is None else replace(plan, mechanism=replace(found, deadline=limits.deadline))
    )


def _proved(plan: PartPlan, delta: float) -> float | None:
    """The certified upper bound, at the delta of what was observed where a proof of the code gives it."""
    if plan.code_proof is not None:
        return plan.code_proof.epsilon_at(delta)
    return None if plan.proved is None else plan.proved.epsilon


def _attained(plan: PartPlan, findings: Sequence[Finding]) -> bool:
    """Whether an attack reached what is proved of the code within the claim: no test finds more."""
    if plan.code_proof is None:
        return False
    seen = [finding.observed for finding in findings if finding.observed is not None]
    return any(is_attained(one.epsilon, _proved(plan, one.delta)) for one in seen) and (
        plan.code_proof.epsilon_at(plan.tested.delta) <= plan.tested.epsilon
    )


def _tied(plan: PartPlan, findings: Sequence[Finding]) -> bool:
    """Whether the bound is one of the code: proved of it, or tested; no test may say otherwise."""
    if plan.code_proof is not None:
        return all(finding.conforms is not False for finding in findings)
    return conforms(findings)


def _with_pairs(plan: PartPlan, search: PairSearch, limits: Limits, runner: Runner) -> PartPlan:
    """The plan with pairs that were searched, in a third of the time there is."""
    assert plan.mechanism is not None
    mechanism, ends = plan.mechanism, limits.deadline
    if not math.isinf(ends):
        ends = time.time() + limits.seconds_left / 3
        mechanism = replace(mechanism, deadline=ends)
    delta = plan.tested.typical_delta
    hunt = search.within(limits.max_runs)
    try:
        with until(ends):
            found = hunt.find(
                mechanism, runner, delta, plan.tested.at(delta), _proved_of_code(plan, delta)
            )
    except TimeLimitReached:
        found = search.unsearched()
    late = ("the search for neighbours was ended by the time limit",) if found.late else ()
    return replace(plan, pairs=found.pairs, tried=found.tried, notes=(*plan.notes, *late))


def _proved_of_code(plan: PartPlan, delta: float) -> float:
    return math.inf if plan.code_proof is None else plan.code_proof.epsilon_at(delta)


def _observations(findings: Sequence[Finding]) -> list[tuple[Observed, Finding]]:
    """What was observed; of code that was seen not to be what is described, nothing is vouched for."""
    contradicted = any(finding.contradicts_formula for finding in findings)
    return [
        (replace(each.observed, detectable=math.inf) if contradicted else each.observed, each)
        for each in findings
        if each.observed is not None
    ]


def _sharper(seen: Observed, confirmed: Confirmed, alpha: float) -> tuple[Observed, Spent]:
    """What was observed, or more, where the calls that confirmed a readable event prove more.

    A claim is refuted as soon as the evidence will do, so the bound is then barely above it. The
    calls after that are fresh, and are given the error rate that was left.
    """
    method = Method.CONFIRMED_EVENT
    line = Spent(
        method, alpha, (), "an event fixed before these calls, after the claim was refuted"
    )
    epsilon = confirmed.lower_epsilon(seen.delta, alpha)
    if epsilon <= seen.epsilon:
        return seen, line
    runs = seen.runs + -(-confirmed.calls // 2)
    return replace(seen, epsilon=epsilon, method=method, runs=runs), line


def _shown(
    plan: PartPlan, found: Finding, spent: int, limits: Limits, runner: Runner
) -> tuple[Witness | None, Confirmed | None]:
    """The witness of a violation; one of runs is made readable, within the time that is left."""
    try:
        with until(limits.deadline):
            return readable(plan, found, limits, spent, runner)
    except TimeLimitReached:
        return found.witness, None


def _weight(seen: Observed, plan: PartPlan) -> tuple[float, float, float, int]:
    """What refutes most comes first, then what attains the largest share of what is allowed.

    A claimed curve allows another epsilon at every delta, and 0 at some: attaining all of 0 says nothing.
    """
    allowed = plan.tested.at(seen.delta)
    share = seen.epsilon / allowed if allowed > 0 else 0.0
    return max(0.0, seen.epsilon - allowed), share, allowed - seen.detectable, seen.runs


def _power(seen: Sequence[Observed], plan: PartPlan, tolerance: float) -> tuple[float, float]:
    """What the most powerful test would have caught, and what the claim allows at that test's delta."""

    def missing(one: Observed) -> float:
        return one.detectable - good_enough(plan.tested.at(one.delta), tolerance)

    best = min(seen, key=missing)
    return best.detectable, plan.tested.at(best.delta)


def _nothing_more(plan: PartPlan, limits: Limits, why: str, notes: tuple[str, ...]) -> Finding:
    """What there is to say where tests end early: nothing more was seen, nothing more is claimed."""
    method = Method.NO_TEST
    return Finding(
        Spent(method, 0.0, (), why),
        Observed(0.0, plan.tested.delta, 1 - limits.alpha, method, 0, math.inf),
        notes=notes,
    )


def _pictures(
    plan: PartPlan, findings: Sequence[Finding], limits: Limits, runner: Runner
) -> RunEvidence | None:
    if plan.mechanism is None or not plan.pairs:
        return None
    tested = [finding.event for finding in findings if finding.event is not None]
    shown = [finding.drawn for finding in findings if finding.drawn is not None]
    mechanism, pairs = plan.mechanism, list(plan.pairs)
    if shown and not tested:
        mechanism, pairs = shown[0][0], [shown[0][1]]
    runs = evidence_runs(plan.mechanism, plan.loss_runs, limits.learning_for(plan.mechanism))
    told = [finding.pair for finding in findings if finding.refutes(plan)]
    only_drawn = bool(told) and not tested and not shown and mechanism.log_density is None
    try:
        if only_drawn:
            # Refuted before any event was learned: one is learned now, for the picture alone.
            runs = min(runs, drawing_runs(mechanism, limits))
            if runs < FEWEST_DRAWN:
                return None
            tested = event_to_draw(plan, mechanism, told[-1], runs, runner)
        found = gather(
            mechanism,
            pairs,
            tested[-1] if tested else None,
            epsilon=plan.claim.budget.epsilon,
            alpha=limits.alpha,
            runs=runs,
            runner=runner,
        )
        return replace(found, threshold=None) if only_drawn and found is not None else found
    except TimeLimitReached:
        return None
