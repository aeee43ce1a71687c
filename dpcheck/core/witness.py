"""What convicts: plain figures of one kind, saved as JSON, checked again by whoever knows the kind."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from dpcheck.core.data import Plain
from dpcheck.core.errors import CannotReplay


class WitnessKind(StrEnum):
    """What a witness consists of; the values are those of the JSON."""

    EXACT_WITNESS = "exact witness"  # a pair and an output whose loss is certified
    CANARY_TRANSCRIPT = "canary transcript"  # a canary's pair whose epsilon is certified
    TWO_TRANSCRIPTS = "two transcripts"  # views that never occur on the same data
    SHIFTED_GAUSSIANS = "shifted Gaussians"  # a pair that is exactly Gaussian
    EXACT_LOSS = "exact loss"  # an output whose densities on both sides are known
    REPLAY = "replay"  # a pair whose laws are known by following the noise through the code
    EVENT = "event"  # how often an event was hit on both sides
    GUESSES = "guesses"  # how often it was guessed which side a call came from
    ONE_RUN = "one run"  # coins guessed after one training
    SAVED_PAIR = "dpcheck.pytest/1"  # the pair of a failed test


@dataclass(frozen=True, slots=True)
class Witness(Mapping[str, Plain]):
    """A counterexample, read like the JSON object it is saved as: "kind" first, then its figures."""

    kind: WitnessKind
    figures: Mapping[str, Plain] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Plain:
        return str(self.kind) if name == "kind" else self.figures[name]

    def __iter__(self) -> Iterator[str]:
        yield "kind"
        yield from self.figures

    def __len__(self) -> int:
        return 1 + len(self.figures)

    @property
    def program(self) -> str:
        """Python that shows the finding again; empty where there is none."""
        return str(self.figures.get("python") or "")

    def extended(self, **figures: Plain) -> Witness:
        """The witness with further figures."""
        return Witness(self.kind, {**self.figures, **figures})

    def without(self, *names: str) -> Witness:
        """The witness without some of its figures."""
        return Witness(self.kind, {k: v for k, v in self.figures.items() if k not in names})

    def only(self, names: Collection[str]) -> Witness:
        """The witness with no other figures than these."""
        return Witness(self.kind, {k: v for k, v in self.figures.items() if k in names})

    def to_json(self) -> dict[str, Plain]:
        """One plain object."""
        return dict(self)

    @classmethod
    def from_json(cls, data: object) -> Witness:
        """The witness `to_json` wrote."""
        if not isinstance(data, Mapping) or data.get("kind") not in list(WitnessKind):
            raise CannotReplay("this is not a witness of dpcheck; run the audit again to make one.")
        figures = {str(name): value for name, value in data.items() if name != "kind"}
        return cls(WitnessKind(data["kind"]), figures)

    @property
    def is_replayable(self) -> bool:
        """Whether `replay` can check it again without an audit."""
        return self.kind in _REPLAYERS

    def replay(self) -> float:
        """The epsilon it proves, certified anew from its figures."""
        if not self.is_replayable:
            raise CannotReplay(
                f"a witness of kind {str(self.kind)!r} is no proof by itself; run the audit again."
            )
        try:
            return _REPLAYERS[self.kind](self)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            if isinstance(error, CannotReplay):
                raise
            raise CannotReplay(f"this witness is incomplete or damaged: {error!r}.") from None


_REPLAYERS: dict[WitnessKind, Callable[[Witness], float]] = {}


def replayed_by(kind: WitnessKind, replayer: Callable[[Witness], float]) -> None:
    """Let `replayer` check witnesses of a kind again; a higher room says so when it is imported."""
    _REPLAYERS[kind] = replayer
