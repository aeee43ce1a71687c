"""The auditor of one training: coins of many canaries, guessed after the fact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dpcheck.auditing.auditors.interface import Finding
from dpcheck.auditing.plan import PartPlan
from dpcheck.core.evidence import Spent
from dpcheck.execution.runner import Runner


@dataclass(frozen=True, slots=True)
class OneRun:
    """Runs the plan's training with half of the error rate, split over its bounds."""

    fraction: float = 0.5

    def applies(self, plan: PartPlan, before: Sequence[Finding]) -> bool:  # noqa: ARG002 - interface
        """Where the plan has a training."""
        return plan.training is not None

    def run(self, plan: PartPlan, alpha: float, runner: Runner) -> Finding:
        """What the guesses prove, and whether the training is its event."""
        assert plan.training is not None
        seen = plan.training.run(alpha, runner)
        note = "a whole training with canaries; split over its bounds"
        return Finding(
            Spent(seen.observed.method, alpha, tuple(plan.training.tests), note),
            seen.observed,
            seen.witness,
            (seen.note,),
            conforms=seen.agrees,
        )
