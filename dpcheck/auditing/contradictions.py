"""Evidence above a proof: one of the two is wrong, so both together are never a row of a table.

Exact evidence says so at once. A test is wrong at its error rate, so it is repeated on fresh runs at 1e-9
before it is called a contradiction; where the repetition does not confirm it, it takes its place.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from dpcheck.auditing.auditors.interface import Auditor, Finding
from dpcheck.auditing.plan import PartPlan
from dpcheck.core.audit_result import Observed
from dpcheck.core.budget import Budget
from dpcheck.core.errors import ProofsContradict
from dpcheck.execution.runner import Runner

ALPHA = 1e-9
_ROUNDING = 1e-9  # of exact losses, which are computed in floats


@dataclass(frozen=True, slots=True)
class Ran:
    """A finding, who found it, and of which plan."""

    auditor: Auditor
    plan: PartPlan
    finding: Finding


def proved_at(plan: PartPlan, delta: float) -> float:
    """What is proved of this code at `delta`; infinite where nothing is.

    A bound of a described event speaks about the code only as far as tests tie the two together, and a
    part that reads the bits of floats asks about what proofs in real numbers leave out.
    """
    if plan.floating_point or plan.code_proof is None:
        return math.inf
    return plan.code_proof.epsilon_at(delta)


def above(plan: PartPlan, observed: Observed) -> bool:
    """Whether what was observed is more than what is proved, beyond rounding."""
    proved = proved_at(plan, observed.delta)
    return observed.epsilon > proved * (1 + _ROUNDING) + _ROUNDING


def settled(ran: Ran, runner: Runner) -> Finding:
    """The finding, below its proof; raises ProofsContradict where both stand.

    Guarantee: raised of a right proof with probability at most 1e-9 for each finding.
    """
    observed = ran.finding.observed
    if observed is None:
        return ran.finding
    proved = proved_at(ran.plan, observed.delta)
    if not above(ran.plan, observed):
        within = replace(observed, epsilon=min(observed.epsilon, proved))
        return replace(ran.finding, observed=within)
    if observed.confidence == 1.0:
        raise contradiction(ran.plan, observed, proved)
    claim = replace(ran.plan.claim, budget=Budget(proved, observed.delta), event=None)
    again = ran.auditor.run(
        replace(ran.plan, claim=claim), ALPHA, runner.within("against the proof")
    )
    if again.observed is not None and above(ran.plan, again.observed):
        raise contradiction(ran.plan, again.observed, proved)
    note = (
        f"a test gave epsilon >= {observed.epsilon:.6g}, above what is proved; repeated on fresh runs it did "
        "not, so it was chance"
    )
    seen = replace(observed, epsilon=0.0) if again.observed is None else again.observed
    return replace(
        ran.finding,
        observed=replace(seen, epsilon=min(seen.epsilon, proved), allowed=observed.allowed),
        witness=None,
        notes=(*ran.finding.notes, note),
        event=None,
    )


def without_refuted_bound(plan: PartPlan, observed: Observed) -> PartPlan:
    """The plan without the bound of its event, where the code was seen to spend more than that."""
    bound = plan.proved
    if plan.code_proof is not None or plan.floating_point or bound is None:
        return plan
    if observed.delta < bound.delta or observed.epsilon <= bound.epsilon * (1 + _ROUNDING):
        return plan
    note = (
        f"the event it describes costs at most {bound.epsilon:.6g}, and the code was seen to spend more: it "
        "is not that event, so the bound says nothing about it"
    )
    return replace(plan, proved=None, notes=(*plan.notes, note))


def contradiction(plan: PartPlan, observed: Observed, proved: float) -> ProofsContradict:
    """Both are kept from the report."""
    return ProofsContradict(
        f"{plan.name}: epsilon is at most {proved:.9g} by the proof of its code, and at least "
        f"{observed.epsilon:.9g} at delta {observed.delta:g} by {observed.method} (confidence "
        f"{observed.confidence:.12g}). One of them is wrong, so there is no verdict. This is a mistake in "
        "dpcheck; please report it with the function.",
        proved=proved,
        observed=observed.epsilon,
        delta=observed.delta,
    )
