"""What an audit hands to reports and to the gate: plain values, no engine behind them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import Enum, StrEnum
from typing import Any

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.budget import Budget
from dpcheck.core.card import SIGNS, Card, Displayed
from dpcheck.core.card import number as display_number
from dpcheck.core.claim import Claim
from dpcheck.core.events.event import Event
from dpcheck.core.evidence import RunEvidence, Spent
from dpcheck.core.made import Made
from dpcheck.core.method import ONE_RUN, Method
from dpcheck.core.verdict import Verdict
from dpcheck.core.witness import Witness

SCHEMA = "dpcheck.report/1"
# What of a witness is neither a dataset nor an output. Its Python may hold both; the command that
# repeats the audit is in every report.
_FIGURES = frozenset(
    {
        *("kind", "audit", "variant", "part", "pair", "event", "epsilon", "exact"),
        *("hits_first", "hits_second", "runs", "loss", "delta", "lower", "at_delta"),
        *("claim", "claim_delta", "epsilon_claimed", "canaries", "guessed", "correct"),
    }
)


@dataclass(frozen=True, slots=True)
class Proved:
    """A certified upper bound on what the described mechanism spends."""

    epsilon: float
    delta: float
    method: str
    assumes: tuple[str, ...] = ()
    certificate: str | None = field(
        default=None, repr=False, compare=False
    )  # JSON, for `dpcheck verify`


@dataclass(frozen=True, slots=True)
class Observed:
    """A lower bound from runs or from an exact witness.

    `detectable` is the smallest epsilon the tests would have caught with power 0.9; `runs` counts
    test runs a side (for replay and the events it names all calls), `learning_runs` those spent on
    choosing what to test.
    `allowed` is the epsilon the claim allows at `delta`: the claimed one, or a point of a curve.
    """

    epsilon: float
    delta: float
    confidence: float
    method: Method
    runs: int
    detectable: float
    learning_runs: int = 0
    allowed: float | None = None

    @property
    def effort(self) -> str:
        """What it cost, in words.

        >>> Observed(2.0, 0.0, 1.0, Method.REPLAY, 4, 1.0).effort
        '4 calls'
        """
        if self.method in (Method.REPLAY, Method.NAMED_EVENT):
            return f"{self.runs:,} calls"
        if self.method in ONE_RUN:
            return "one training" if self.runs == 1 else f"{self.runs:,} trainings"
        return f"{self.runs:,} runs a side"

    @property
    def more(self) -> str:
        """What would let an undecided audit of this kind tell."""
        if self.method is Method.ONE_RUN_INDEPENDENT:
            return "more canaries or more trainings (canaries=, trainings=)"
        if self.method in ONE_RUN:
            return (
                'more canaries or more trainings (canaries=, trainings=), or scores="independent" if '
                "each canary is scored from its own coordinate and its own noise"
            )
        return "more runs (--max-runs, max_runs=), or neighbours that differ more"


@dataclass(frozen=True, slots=True)
class Location:
    """Where the audited code stands; the path is relative to the project, with slashes."""

    path: str
    line: int = 1


@dataclass(frozen=True, slots=True)
class AuditEntry(Displayed):
    """One audited part and its verdict."""

    name: str
    variant: str
    part: str
    claim: Claim
    proved: Proved | None
    observed: Observed
    verdict: Verdict
    witness: Witness | None = None
    notes: tuple[str, ...] = ()
    conformance: str | None = None  # how the code was tied to its event, and that test's power
    location: Location | None = None
    origin: str = "run"  # or "cached" (nothing changed since), or "continued" (more runs added)
    accepted: str | None = None  # why, and until when, the baseline lets this finding pass
    spending: tuple[Spent, ...] = ()  # how this part's error rate was spent
    evidence: RunEvidence | None = None  # what a report draws, where one was asked for
    cut_short: bool = False  # by the time limit; what was seen until then stands
    floating_point: bool = False  # about the bits of floats, kept apart from the algorithm
    event: Event | None = None  # what the code itself was proved to release, where it was read
    conditions: tuple[str, ...] = ()  # on the data: bounds on records, who confirmed them, public n
    seconds: float = field(default=0.0, compare=False)  # that the audit of this part took
    why: str = ""  # the verdict's reason, with its numbers and the pairs they are about

    @property
    def needed(self) -> str:
        """What would let an undecided audit decide."""
        if self.cut_short and self.observed.runs == 0:
            return (
                "No test was finished within the time limit: allow more time (--time-limit), or find out why "
                "the function is slow or does not return."
            )
        loose = self.proved is not None and self.proved.epsilon > self.claim.budget.epsilon
        if self.event is not None and loose:
            return (
                "More runs do not lower a proof: mend the line that costs too much, claim what is proved, or "
                "give neighbours that attain it."
            )
        return f"To decide, give it {self.observed.more}."

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
                "certificate": None
                if self.proved.certificate is None
                else json.loads(self.proved.certificate),
            }
        observed = {
            "epsilon": number(self.observed.epsilon),
            "delta": number(self.observed.delta),
            "confidence": number(self.observed.confidence),
            "method": self.observed.method,
            "runs": self.observed.runs,
            "detectable": number(self.observed.detectable),
            "learning_runs": self.observed.learning_runs,
            "allowed": None if self.observed.allowed is None else number(self.observed.allowed),
        }
        return {
            "name": self.name,
            "variant": self.variant,
            "part": self.part,
            "claim": claim,
            "proved": proved,
            "observed": observed,
            "witness": None if self.witness is None else self.witness.to_json(),
            "verdict": str(self.verdict),
            "why": self.why,
            "tie": self.conformance,
            "notes": list(self.notes),
            "conditions": list(self.conditions),
            "location": None if self.location is None else asdict(self.location),
            "origin": self.origin,
            "accepted": self.accepted,
            "spending": [asdict(line) for line in self.spending],
            "evidence": None if self.evidence is None else asdict(self.evidence),
        }

    def cards(self) -> tuple[Card, ...]:
        """What a notebook shows."""
        return (_card(self),)


class Standing(StrEnum):
    """What can be said of a budget."""

    WITHIN = "within"
    OVERSPENT = "overspent"
    VIOLATED = "violated"  # a claim that was added up is not true
    UNDECIDED = "undecided"  # nobody could tell whether it is


@dataclass(frozen=True, slots=True)
class Voucher:
    """An audited part whose claim counts towards a budget, and what became of the audit."""

    audit: str
    verdict: Verdict
    observed: float


@dataclass(frozen=True, slots=True)
class BudgetEntry:
    """What all releases from one dataset spend together, against its budget.

    `lower` and `upper` enclose the epsilon of the releases at the budget's delta; only a certified
    `upper` within the budget is a pass, as in a ledger.
    """

    dataset: str
    budget: Budget
    adjacency: Adjacency
    lower: float
    upper: float
    method: str
    releases: tuple[str, ...]
    accepted: str | None = None
    vouchers: tuple[Voucher, ...] = ()  # the audits whose claims were added up
    stated: tuple[str, ...] = ()  # events that the project file lists, which nobody audited
    apart: tuple[tuple[str, float], ...] = ()  # what is proved, claimed and stated spends by itself

    @property
    def within(self) -> bool:
        """Whether the releases are proved to stay within the budget, if the claims are true."""
        return self.upper <= self.budget.epsilon

    @property
    def standing(self) -> Standing:
        """The sum, as far as the audits vouch for what was added up."""
        verdicts = {each.verdict for each in self.vouchers}
        if not self.within:
            return Standing.OVERSPENT
        if Verdict.VIOLATED in verdicts:
            return Standing.VIOLATED
        return Standing.UNDECIDED if Verdict.UNDECIDED in verdicts else Standing.WITHIN

    @property
    def at_least(self) -> float:
        """An epsilon it is known to reach or, by the claims, may reach; for a baseline."""
        return max([self.upper, *(each.observed for each in self.vouchers)])

    @property
    def is_proved(self) -> bool:
        """Whether an audit proved every claim that is added up."""
        return not self.stated and all(each.verdict is Verdict.HOLDS for each in self.vouchers)

    @property
    def basis(self) -> str:
        """What of the sum is proved, and what is only claimed or stated.

        >>> from dpcheck.core.verdict import Verdict
        >>> seen = (Voucher("a", Verdict.HOLDS, 0.5), Voucher("b", Verdict.CONSISTENT, 0.5))
        >>> BudgetEntry("d", Budget(2), Adjacency.ADD_REMOVE, 1, 1, "pure", (), vouchers=seen).basis
        'proved: a; claimed, not proved: b (consistent)'
        """
        proved = [each.audit for each in self.vouchers if each.verdict is Verdict.HOLDS]
        claimed = [
            f"{each.audit} ({each.verdict})"
            for each in self.vouchers
            if each.verdict is not Verdict.HOLDS
        ]
        parts = (
            ("proved", proved),
            ("claimed, not proved", claimed),
            ("stated in the project file", self.stated),
        )
        return "; ".join(f"{word}: {', '.join(names)}" for word, names in parts if names)

    def to_dict(self) -> dict[str, Any]:
        """As in the report's JSON schema."""
        return {
            "dataset": self.dataset,
            "budget": {"epsilon": number(self.budget.epsilon), "delta": number(self.budget.delta)},
            "adjacency": str(self.adjacency),
            "spent": {
                "lower": number(self.lower),
                "upper": number(self.upper),
                "method": self.method,
            },
            "releases": list(self.releases),
            "apart": {word: number(epsilon) for word, epsilon in self.apart},
            "within": self.within,
            "standing": str(self.standing),
            "vouchers": [{"audit": v.audit, "verdict": str(v.verdict)} for v in self.vouchers],
            "proved": self.is_proved,
            "stated": list(self.stated),
            "accepted": self.accepted,
        }


class Scope(Enum):
    """What was asked for: one audit, or all of a project file."""

    AUDIT = "audit"
    PROJECT = "project"


@dataclass(frozen=True, slots=True)
class AuditReport(Displayed):
    """All entries of one command."""

    seed: int
    entries: tuple[AuditEntry, ...]
    confidence: float = 0.999
    versions: Mapping[str, str] = field(default_factory=dict)
    budgets: tuple[BudgetEntry, ...] = ()
    complaints: tuple[str, ...] = ()  # baseline entries that no longer hold
    command: str = ""  # what to type to run it again
    file: str = ""  # the project file that asked for it, relative to the checkout
    scope: Scope = Scope.AUDIT
    made: Made | None = None  # by whom, when, from what
    changes: tuple[str, ...] = ()  # since the last check of this project, in sentences

    def without_data(self) -> AuditReport:
        """The same report with nothing of the datasets or of single outputs in it."""
        return replace(
            self,
            entries=tuple(
                entry
                if entry.witness is None
                else replace(entry, witness=entry.witness.only(_FIGURES))
                for entry in self.entries
            ),
        )

    def to_dict(self) -> dict[str, Any]:
        """As in the report's JSON schema."""
        return {
            "schema": SCHEMA,
            "seed": self.seed,
            "confidence": self.confidence,
            "command": self.command,
            "versions": dict(self.versions),
            "made": None if self.made is None else self.made.to_dict(),
            "changes": list(self.changes),
            "audits": [entry.to_dict() for entry in self.entries],
            "budgets": [entry.to_dict() for entry in self.budgets],
            "complaints": list(self.complaints),
        }

    def cards(self) -> tuple[Card, ...]:
        """What a notebook shows: a card per entry."""
        return tuple(map(_card, self.entries))


_COLUMNS = ("part", "claimed ε", "proved", "observed", "confidence", "method")


def _card(entry: AuditEntry) -> Card:
    proved = entry.proved
    row = [
        entry.part,
        _budget(entry.claim.budget.epsilon, entry.claim.budget.delta),
        "–" if proved is None else "≤ " + _budget(proved.epsilon, proved.delta),
        "≥ " + _budget(entry.observed.epsilon, entry.observed.delta),
        f"{entry.observed.confidence:.6g}",
        entry.observed.method,
    ]
    title = f"{entry.name} ({entry.variant}): {SIGNS[entry.verdict]} {entry.verdict}"
    return Card(title, _COLUMNS, [row], entry.verdict, "details", _details(entry))


def _budget(epsilon: float, delta: float) -> str:
    return display_number(epsilon) + (f" (δ = {delta:.3g})" if delta else "")


def _details(entry: AuditEntry) -> list[str]:
    lines = [f"claim: {entry.claim.source}, {entry.claim.adjacency} neighbours"]
    if entry.conformance is not None:
        lines.append(entry.conformance)
    if entry.verdict in (Verdict.CONSISTENT, Verdict.UNDECIDED):
        lines.append(
            f"on the output sets tried, would have caught ε ≥ {display_number(entry.observed.detectable)}"
        )
    return [*lines, *entry.notes]


def number(value: float) -> float | str:
    """A number as JSON can carry it: infinity is the string "inf"."""
    return "inf" if value == math.inf else value
