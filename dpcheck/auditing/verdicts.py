"""From numbers to a verdict: one function, so no two commands can disagree."""

from __future__ import annotations

from dataclasses import dataclass

from dpcheck.core.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything a verdict depends on. `epsilon`, `proved` and `observed` are at the same delta."""

    epsilon: float
    observed: float
    detectable: float
    proved: float | None
    tied: bool
    tolerance: float = 0.25


def decide(evidence: Evidence) -> Verdict:
    """The verdict; certified numbers are compared without slack.

    Guarantee: violated only if a proved lower bound exceeds the claim; holds only if a certified
    upper bound is within it and a test of stated power tied the code to the bounded event.

    >>> decide(Evidence(epsilon=1.0, observed=0.9, detectable=1.1, proved=1.0, tied=True)).value
    'holds'
    """
    if evidence.observed > evidence.epsilon:
        return Verdict.VIOLATED
    if evidence.proved is not None and evidence.proved <= evidence.epsilon and evidence.tied:
        return Verdict.HOLDS
    if evidence.detectable > good_enough(evidence.epsilon, evidence.tolerance):
        return Verdict.UNDECIDED
    return Verdict.CONSISTENT


def good_enough(epsilon: float, tolerance: float) -> float:
    """The largest detectable epsilon that still counts as an answer.

    Relative to the claim; a claim of (almost) 0 is judged as one of 0.1.
    """
    return epsilon + tolerance * max(epsilon, 0.1)
