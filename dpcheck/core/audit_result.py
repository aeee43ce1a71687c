"""What an audit hands to reports and to the gate: plain values, no engine behind them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dpcheck.core.claim import Claim
from dpcheck.core.verdict import Verdict

SCHEMA = "dpcheck.report/1"


@dataclass(frozen=True, slots=True)
class Proved:
    """A certified upper bound on what the described mechanism spends."""

    epsilon: float
    delta: float
    method: str
    assumes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Observed:
    """A lower bound from runs or from an exact witness.

    `detectable` is the smallest epsilon the tests would have caught with power 0.9; `runs` counts
    test runs a side, `learning_runs` those spent on choosing what to test.
    """

    epsilon: float
    delta: float
    confidence: float
    method: str
    runs: int
    detectable: float
    learning_runs: int = 0


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One audited part and its verdict."""

    name: str
    variant: str
    part: str
    claim: Claim
    proved: Proved | None
    observed: Observed
    verdict: Verdict
    witness: Mapping[str, Any] | None = None
    notes: tuple[str, ...] = ()
    tie: str | None = None  # how the code was tied to its event, with the power of that test

    def to_dict(self) -> dict[str, Any]:
        """As in the report's JSON schema."""
        claim: dict[str, Any] = {
            "epsilon": number(self.claim.budget.epsilon),
            "delta": number(self.claim.budget.delta),
            "adjacency": str(self.claim.adjacency),
            "source": self.claim.source,
        }
        proved = None
        if self.proved is not None:
            proved = {
                "epsilon": number(self.proved.epsilon),
                "delta": number(self.proved.delta),
                "method": self.proved.method,
                "assumes": list(self.proved.assumes),
            }
        observed = {
            "epsilon": number(self.observed.epsilon),
            "delta": number(self.observed.delta),
            "confidence": number(self.observed.confidence),
            "method": self.observed.method,
            "runs": self.observed.runs,
            "detectable": number(self.observed.detectable),
            "learning_runs": self.observed.learning_runs,
        }
        return {
            "name": self.name,
            "variant": self.variant,
            "part": self.part,
            "claim": claim,
            "proved": proved,
            "observed": observed,
            "witness": dict(self.witness) if self.witness is not None else None,
            "verdict": str(self.verdict),
            "tie": self.tie,
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class AuditReport:
    """All entries of one command."""

    seed: int
    entries: tuple[AuditEntry, ...]
    confidence: float = 0.999
    versions: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """As in the report's JSON schema."""
        return {
            "schema": SCHEMA,
            "seed": self.seed,
            "confidence": self.confidence,
            "audits": [entry.to_dict() for entry in self.entries],
        }


def number(value: float) -> float | str:
    """A number as JSON can carry it: infinity is the string "inf"."""
    return "inf" if value == math.inf else value
