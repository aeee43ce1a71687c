"""What every auditor is: it takes a plan and a share of the error rate, and gives a finding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from dpcheck.auditing.learning.events import LearnedEvent
from dpcheck.auditing.mechanism import Mechanism, Pair
from dpcheck.auditing.outputs.tables import Encoded
from dpcheck.auditing.plan import PartPlan
from dpcheck.core.audit_result import Observed
from dpcheck.core.evidence import Spent
from dpcheck.core.method import Method
from dpcheck.core.witness import Witness
from dpcheck.execution.runner import Runner


@dataclass(frozen=True, slots=True)
class Finding:
    """What one auditor found, and its line of the error budget.

    `conforms` says whether the code was seen to be the event that is bounded, with power; None
    where the auditor does not tell. `contradicts_formula`: the code was seen not to be, and
    then no power is claimed. `event` is (pair, event) that was tested.
    """

    spent: Spent
    observed: Observed | None = None
    witness: Witness | None = None
    notes: tuple[str, ...] = ()
    conforms: bool | None = None
    contradicts_formula: bool = False
    conformance: str | None = None
    event: tuple[int, LearnedEvent] | None = None
    out_of_time: bool = False  # cut short by the time limit
    dependent: bool = False  # runs are not independent, so that no test means anything
    pair: int | None = None  # the one that told most
    seen: tuple[Sequence[Encoded], Sequence[Encoded]] | None = None  # outputs on it, by side
    drawn: tuple[Mechanism, Pair] | None = None  # what to run for a picture of the witness
    suspected: float = 0.0  # the largest loss that was seen and not proved, if above the claim
    suspects: tuple[int, ...] = ()  # the pairs it was seen on, the worst first

    @property
    def method(self) -> Method:
        """How it was found."""
        return self.spent.test

    def refutes(self, plan: PartPlan) -> bool:
        """Whether it proves the claim wrong."""
        return self.observed is not None and self.observed.epsilon > plan.tested.at(
            self.observed.delta
        )


class Auditor(Protocol):
    """One way to find out. Auditors run one after the other, each told what was found before."""

    @property
    def fraction(self) -> float:
        """Of the error rate that is left, how much it may spend; 0 for a proof."""

    def applies(self, plan: PartPlan, before: Sequence[Finding]) -> bool:
        """Whether it can say something about this part that is still worth knowing."""

    def run(self, plan: PartPlan, alpha: float, runner: Runner) -> Finding:
        """What it finds.

        Guarantee: `observed.epsilon` is above the truth with probability at most alpha.
        """


def refuted(plan: PartPlan, findings: Sequence[Finding]) -> bool:
    """Whether a finding already proves the claim wrong."""
    return any(finding.refutes(plan) for finding in findings)


def conforms(findings: Sequence[Finding]) -> bool:
    """Whether the code was tied to the bounded event, and nothing spoke against it."""
    told = [finding.conforms for finding in findings if finding.conforms is not None]
    tested = any(finding.conformance is not None for finding in findings)
    return tested and all(told)


def nothing_told(runs: int) -> str:
    """What is said where no event was likelier on one side of a pair: of such datasets nothing is."""
    return (
        f"in {runs:,} runs a side nothing told the two datasets apart, so the runs say nothing "
        "about privacy. Do the datasets differ in one record? Does the function use its data and "
        "return its answer?"
    )
