"""One protected part of one algorithm: choose the auditors it admits, run them, give a verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from dpcheck.auditing.auditors.distinguisher import Distinction, Limits, distinguish
from dpcheck.auditing.auditors.likelihood import epsilon_lower, sample_losses
from dpcheck.auditing.auditors.noise_scale import Pivot, noise_scale_test
from dpcheck.auditing.claims import AuditedClaim
from dpcheck.auditing.error_budget import DIRECTIONS, bill
from dpcheck.auditing.evidence import evidence_runs, gather
from dpcheck.auditing.mechanism import Mechanism, Pair
from dpcheck.auditing.plain import plain_pair
from dpcheck.auditing.verdicts import Evidence, decide
from dpcheck.core.audit_result import AuditEntry, Observed, Proved
from dpcheck.core.claim import Claim
from dpcheck.core.errors import NothingToAudit
from dpcheck.core.evidence import RunEvidence
from dpcheck.execution.runner import Runner


class WitnessHunt(Protocol):
    """Finds an output and a pair with a large exact loss, and proves the loss.

    With an attribute `delta` above 0 what it proves is an epsilon at that delta, not one loss. With
    an attribute `detectable` it says itself what it would have caught; else all above the claim.
    """

    def find(self, runner: Runner) -> tuple[float, Mapping[str, Any]]:
        """(certified lower bound on the loss, the witness as plain data)."""


@dataclass(frozen=True, slots=True)
class TrialResult:
    """What a further auditor found; `agrees` is whether the runs fit the event that is bounded."""

    observed: Observed
    witness: Mapping[str, Any] | None
    agrees: bool
    note: str


class Trial(Protocol):
    """A further auditor with runs of its own, such as one whole training with many canaries."""

    def run(self, alpha: float, runner: Runner) -> TrialResult:
        """What it found; wrong with probability at most alpha."""


@dataclass(frozen=True, slots=True)
class PartPlan:
    """Everything about one part: what runs, what it claims, what is proved, what else is known."""

    name: str
    variant: str
    claim: Claim
    tested: AuditedClaim
    mechanism: Mechanism | None
    pairs: Sequence[Pair] = ()
    proved: Proved | None = None
    pivot: Pivot | None = None
    hunt: WitnessHunt | None = None
    trial: Trial | None = None
    loss_runs: int = 20_000


Finding = tuple[Observed, Mapping[str, Any] | None]


def audit_part(
    plan: PartPlan, limits: Limits, runner: Runner, *, pictures: bool = False
) -> AuditEntry:
    """Run every auditor the plan admits and compare; with `pictures`, sample what a report draws.

    Where both run, the likelihood test and the distinguisher share the part's error rate; exact
    witnesses and certified bounds need none of it. Where the loss is known exactly and the code was
    tied to it, a distinguisher could only do worse and is left out.
    """
    pure = plan.tested.delta == 0 and plan.tested.lines is None
    exact = (pure or plan.tested.lines is None) and (
        plan.hunt is not None and getattr(plan.hunt, "delta", 0.0) == plan.tested.delta
    )
    found: list[Finding] = []
    notes: list[str] = []
    tie = distinction = losses = None
    share = limits.alpha
    if plan.pivot is not None and plan.mechanism is not None and plan.pairs:
        tie = noise_scale_test(plan.mechanism, plan.pivot, plan.pairs[0].first, runner)
    tied = tie is not None and tie.passed and tie.power >= 0.99
    trial = None
    if plan.trial is not None:
        share = limits.alpha / 2
        trial = plan.trial.run(share, runner)
        tied = tied and trial.agrees
        notes.append(trial.note)
    if plan.hunt is not None and exact:
        runner.progress.stage(f"{runner.prefix}: searching a witness")
        epsilon, witness = plan.hunt.find(runner)
        # An exact loss has no statistical error: anything above the claim would have been seen,
        # unless the code's noise is not the formula's.
        method = "exact witness" if pure else "certified lower bound of a pair"
        reach = getattr(plan.hunt, "detectable", plan.tested.epsilon)
        reach = reach if tie is None or tie.passed else math.inf
        found.append((Observed(epsilon, plan.tested.delta, 1.0, method, 0, reach), witness))
    if trial is not None:
        found.append((trial.observed, trial.witness))
    refuted = any(seen.epsilon > plan.tested.epsilon for seen, _ in found)
    if plan.mechanism is not None and plan.pairs and not refuted:
        known = plan.mechanism.log_density is not None and plan.tested.lines is None
        if known:
            share /= 2
            found.append(_likelihood(plan, share, runner))
            losses = found[-1][0].method
        if not (exact and tied):
            distinction = distinguish(
                plan.mechanism, plan.pairs, plan.tested, replace(limits, alpha=share), runner
            )
            found.append(_observed(distinction, plan, limits))
            notes += distinction.notes
            if plan.tested.lines is not None:
                notes.append(
                    f"the claimed curve allows epsilon {distinction.epsilon:.6g} at the tested "
                    f"delta {distinction.delta:.3g}"
                )
    if not found:
        raise NothingToAudit(f"{plan.name} has neither runs on neighbours nor a known density.")
    observed, shown = max(found, key=lambda item: item[0].epsilon - _level(plan, item[0]))
    observed = replace(observed, allowed=_level(plan, observed))
    evidence = Evidence(
        epsilon=_level(plan, observed),
        observed=observed.epsilon,
        detectable=min(seen.detectable for seen, _ in found),
        proved=plan.proved.epsilon if plan.proved is not None else None,
        tied=tied,
        tolerance=limits.tolerance,
    )
    spending = bill(
        limits.alpha,
        tie=tie,
        witness=found[0][0].method if exact else None,
        losses=losses,
        trial=None if trial is None else trial.observed.method,
        pairs=[pair.label for pair in plan.pairs],
        distinguisher=None if distinction is None else share,
        events=[] if distinction is None else _events(distinction, plan.pairs),
    )
    return AuditEntry(
        plan.name,
        plan.variant,
        plan.claim.part,
        plan.claim,
        plan.proved,
        observed,
        decide(evidence),
        shown,
        (*notes, *runner.store.facts.notes()),
        tie.describe() if tie is not None else None,
        spending=spending,
        evidence=_pictures(plan, distinction, limits, runner) if pictures else None,
    )


def _events(distinction: Distinction, pairs: Sequence[Pair]) -> list[str]:
    """What was tested, with its pair and direction."""
    return [
        f"{each.event.describe()} on {pairs[each.pair].label}, {DIRECTIONS[each.event.swapped]}"
        for each in distinction.candidates
    ]


def _pictures(
    plan: PartPlan, distinction: Distinction | None, limits: Limits, runner: Runner
) -> RunEvidence | None:
    if plan.mechanism is None or not plan.pairs:
        return None
    event = None
    if distinction is not None:
        best = distinction.candidates[distinction.best]
        event = (best.pair, best.event)
    runs = evidence_runs(plan.mechanism, plan.loss_runs, limits.learning_for(plan.mechanism))
    return gather(
        plan.mechanism,
        plan.pairs,
        event,
        epsilon=plan.claim.budget.epsilon,
        alpha=limits.alpha,
        runs=runs,
        runner=runner,
    )


def _level(plan: PartPlan, observed: Observed) -> float:
    """The claim's epsilon at the delta of an observation; a curve is tested on a line of it."""
    for epsilon, delta in plan.tested.lines or ():
        if delta == observed.delta:
            return epsilon
    return plan.tested.epsilon


def _likelihood(plan: PartPlan, alpha: float, runner: Runner) -> Finding:
    assert plan.mechanism is not None
    runner.progress.stage(f"{runner.prefix}: exact losses of sampled outputs")
    best: Finding | None = None
    share = alpha / len(plan.pairs)
    for pair in plan.pairs:
        sample = sample_losses(plan.mechanism, pair, plan.loss_runs, runner)
        if plan.tested.delta == 0:
            epsilon, confidence, method = max(0.0, sample.best), 1.0, "exact loss of an output"
        else:
            epsilon = epsilon_lower(sample.losses, plan.tested.delta, share)
            confidence, method = 1 - alpha, "importance-sampled delta"
        observed = Observed(
            epsilon, plan.tested.delta, confidence, method, plan.loss_runs, plan.tested.epsilon
        )
        shown = plain_pair(pair.first, pair.second)
        witness = {
            "kind": "exact loss",
            "pair": pair.label,
            "first": shown[sample.swapped],
            "second": shown[not sample.swapped],
            "output": sample.output.tolist(),
            "loss": sample.best if math.isfinite(sample.best) else "inf",
        }
        if best is None or epsilon > best[0].epsilon:
            best = (observed, witness if epsilon > plan.tested.epsilon else None)
    assert best is not None
    return best


def _observed(distinction: Distinction, plan: PartPlan, limits: Limits) -> Finding:
    observed = Observed(
        distinction.lower,
        distinction.delta,
        1 - limits.alpha,
        "distinguisher",
        distinction.runs,
        distinction.detectable,
        distinction.learning_runs,
    )
    if distinction.lower <= distinction.epsilon:
        return observed, None
    best = distinction.best
    candidate, counts = distinction.candidates[best], distinction.counts[best]
    pair = plan.pairs[candidate.pair]
    first, second = pair.first, pair.second
    if candidate.event.swapped:
        first, second = second, first
    shown = plain_pair(first, second)
    return observed, {
        "kind": "event",
        "pair": pair.label,
        "first": shown[0],
        "second": shown[1],
        "event": candidate.event.describe(),
        "hits_first": counts.hits,
        "hits_second": counts.other,
        "runs": counts.runs,
        "epsilon_claimed": distinction.epsilon,
        "delta": distinction.delta,
    }
