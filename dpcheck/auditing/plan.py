"""What is to be audited of one protected part: its claim, its code, its pairs, what else is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dpcheck.auditing.claims import AuditedClaim, audited_claim
from dpcheck.auditing.mechanism import Mechanism, Pair
from dpcheck.auditing.pairs.search import PairSearch
from dpcheck.core.adjacency import as_adjacency
from dpcheck.core.audit_result import Observed, Proved
from dpcheck.core.claim import Claim
from dpcheck.core.data import Data
from dpcheck.core.events.event import Event
from dpcheck.core.evidence import Source
from dpcheck.core.reference import Describes, ReferenceMechanism
from dpcheck.core.witness import Witness
from dpcheck.execution.runner import Runner

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class NoiseShift:
    """One block of noise in the order it is drawn: its width, and where the neighbour lies from it.

    `direction` is the unit vector along which the noise has to lie for the loss to be large; None for
    a block that both datasets have in common. `ratio` is the largest loss.
    """

    width: int
    direction: Array | None
    ratio: float


Shifts = Callable[[Pair, bool], Sequence[NoiseShift] | None]  # of a pair, backwards or not


class LossLaw(Protocol):
    """The law of the loss of a whole release, where single runs of the mechanism are only steps of it."""

    @property
    def label(self) -> str:
        """The pair."""

    @property
    def source(self) -> Source:
        """How it is known."""

    def draw(self, backwards: bool, size: int, rng: np.random.Generator) -> Array:
        """`size` losses of runs on D, or on D' where `backwards`."""


class LossSearch(Protocol):
    """Searches the output and the pair with the largest exact loss, and proves that loss."""

    @property
    def delta(self) -> float:
        """0 where one loss is proved; above 0 what is proved is an epsilon at that delta."""

    @property
    def detectable(self) -> float | None:
        """What it would have found; None for everything above the claim."""

    def find(self, runner: Runner) -> tuple[float, Witness]:
        """(certified lower bound, its witness)."""


@runtime_checkable
class ShowsItsPair(Protocol):
    """A search whose witness stands on a pair that can be run, for the pictures of a report."""

    def shown(self, witness: Witness) -> tuple[ReferenceMechanism, Pair]:
        """The model, its public parameters included, and the pair; its label is the witness's."""


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """What one training showed; `agrees` is whether it fits the event that is bounded."""

    observed: Observed
    witness: Witness | None
    agrees: bool
    note: str


class TrainingAudit(Protocol):
    """A whole training with many canaries, each in the data by its own fair coin."""

    @property
    def tests(self) -> Sequence[str]:
        """The bounds it divides its error rate among."""

    def run(self, alpha: float, runner: Runner) -> TrainingResult:
        """What it found; wrong with probability at most alpha."""


@dataclass(frozen=True, slots=True)
class Pivot:
    """`values(data, outputs)` are Gamma(shape, 1) if code and event agree."""

    values: Callable[..., Array]
    shape: float
    what: str = "noise"


@dataclass(frozen=True, slots=True)
class CodeProof:
    """A proof of the code itself: what it releases, and the epsilon of that at any delta."""

    event: Event
    epsilon_at: Callable[[float], float]
    how: str
    guessed: tuple[str, ...] = ()  # columns it rests on whose description nobody has confirmed


@dataclass(frozen=True, slots=True)
class PartPlan:
    """Everything about one part; `tested` is the claim as auditors test it."""

    name: str
    variant: str
    claim: Claim
    mechanism: Mechanism | None
    pairs: Sequence[Pair] = ()
    proved: Proved | None = None
    pivot: Pivot | None = None
    search: LossSearch | None = None
    training: TrainingAudit | None = None
    loss_runs: int = 20_000
    floating_point: bool = False  # the mechanism's outputs are the bits of another one's
    pair_search: PairSearch | None = None  # finds the pairs, where none are given
    notes: tuple[str, ...] = ()  # what is known before any run
    many_runs: Callable[[Sequence[Data]], Mechanism | None] | None = (
        None  # the same law, made at once
    )
    event: Event | None = None  # what the algorithm describes it releases, for its certified curve
    law: LossLaw | None = None  # of the loss of the whole release, where runs are only steps of it
    shifts: Shifts | None = None  # how spherical noise has to lie for a large loss, block by block
    code_proof: CodeProof | None = None  # then `proved` needs no test that ties it to the code
    tried: int | None = None  # pairs that were tried to find `pairs`, where they were searched
    suspected: float = 0.0  # a loss above the claim that was seen on `pairs` and not proved
    tested: AuditedClaim = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tested", audited_claim(self.claim))


def certified(model: Describes, part: str, claim: Claim, data: Data, *assumes: str) -> Proved:
    """What the accountant proves of the event a model describes, at the claim's delta."""
    from dpcheck.accounting.api import epsilon

    delta = claim.budget.delta
    event = model.release_event(part, data)
    bound = epsilon(event, delta=delta, adjacency=as_adjacency(claim.adjacency))
    return Proved(bound.upper, delta, bound.method, (*bound.assumes, *assumes))


@dataclass(frozen=True, slots=True)
class Named:
    """Which audit and variant a plan belongs to."""

    audit: str
    variant: str
    timeout: float | None = None


def plan_part(
    named: Named,
    model: ReferenceMechanism,
    part: str,
    claim: Claim,
    pairs: Sequence[Pair],
    *,
    data: Data,
    pivot: Pivot,
    search: LossSearch,
    loss_runs: int,
    shifts: Shifts | None = None,
) -> PartPlan:
    """The plan of a reference mechanism: proved from its event, run and weighed by its own code."""
    return PartPlan(
        name=named.audit,
        variant=named.variant,
        claim=claim,
        mechanism=Mechanism(model.sample_releases, True, named.timeout, model.log_density),
        pairs=pairs,
        proved=certified(model, part, claim, data),
        pivot=pivot,
        search=search,
        loss_runs=loss_runs,
        event=model.release_event(part, data),
        shifts=shifts,
    )
