"""What replay has to say about one pair: an exact loss, or hints in plain words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from dpcheck.accounting.certify.bound import between
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.bound import Bound
from dpcheck.core.data import Value
from dpcheck.replay.draws import Line
from dpcheck.replay.losses.half_lines import HalfLine
from dpcheck.replay.losses.parts import Part, epsilon_of


class FindingKind(StrEnum):
    """How much is known."""

    EXACT = "exact"  # both laws are known for every value of the noise, in every output
    PROVED = "proved"  # the same for some outputs, or some paths: a lower bound, no more
    HINT = "hint"  # something was seen that steers other auditors and proves nothing
    NOTHING = "nothing"  # neither


class HintKind(StrEnum):
    """What was seen without being a proof."""

    SCALE = "the scale of the noise depends on the data"
    PATH = "which draws are made depends on the data"
    REUSED = "one draw is used in several outputs"
    NO_DRAW = "nothing random was drawn"
    FIXED_SEED = "the seed is fixed in the code"
    UNUSED = "a draw never reaches the output"
    SHIFT = "the output moves when the data changes and the noise stays"
    ADDITIVE = "the output looks additive in the noise, and its loss would be above the claim"
    NOT_FOLLOWED = "the noise was not followed to the end"
    UNREPEATABLE = "two runs with the same draws differ"


@dataclass(frozen=True, slots=True)
class Hint:
    """One line in plain words, with the line of code it is about."""

    kind: HintKind
    line: Line
    words: str
    epsilon: float = 0.0  # the loss that was seen, at the claim's delta; no proof

    def __str__(self) -> str:
        return f"{self.line}: {self.words}"


@dataclass(frozen=True, slots=True)
class SuggestedEvent:
    """A half-space of the flattened output that should tell D' from D: direction . y >= threshold."""

    direction: tuple[float, ...]
    threshold: float


@dataclass(frozen=True, slots=True)
class ReplayFinding:
    """The answer about one pair after `calls` calls of the function.

    Guarantee: with kind EXACT or PROVED, `epsilon(delta)` is never above the epsilon of the function on this
    pair, in real arithmetic and if compiled code is as deterministic as it is listed to be.
    """

    kind: FindingKind
    pair: str
    calls: int
    parts: tuple[Part, ...] = ()
    lines: tuple[Line, ...] = ()
    hints: tuple[Hint, ...] = ()
    event: SuggestedEvent | None = None
    adjacency: Adjacency | None = None
    witness: Mapping[str, Value] = field(default_factory=dict)
    half_line: HalfLine | None = None  # of a proof about one noisy number, where its laws are known

    @property
    def suspected(self) -> float:
        """The largest loss that was seen and not proved; 0 where there is none."""
        return max((hint.epsilon for hint in self.hints), default=0.0)

    @property
    def proved(self) -> bool:
        """Whether `epsilon` is a proof rather than a guess."""
        return self.kind in (FindingKind.EXACT, FindingKind.PROVED)

    def epsilon(self, delta: float = 0.0) -> Bound:
        """A proved lower bound on the pair's epsilon at `delta`; 0 where nothing is known."""
        lower = epsilon_of(self.parts, delta) if self.proved else 0.0
        assumes = ("compiled libraries are deterministic", "real arithmetic")
        return between(lower, math.inf, "replay", self.adjacency, assumes)

    def exceeds(self, epsilon: float, delta: float = 0.0) -> bool:
        """Whether an (epsilon, delta) claim is refuted."""
        return self.proved and self.epsilon(delta).lower > epsilon

    def sentence(self, delta: float = 0.0) -> str:
        """The finding in one line."""
        if self.proved and self.parts:
            worst = max(self.parts, key=lambda part: max(part.forward, part.backward))
            where = f" (noise drawn at {self.lines[0]})" if self.lines else ""
            value = self.epsilon(delta).lower
            at = f" at delta {delta:g}" if delta else ""
            told = f"epsilon is at least {value:.6g}{at}"
            if math.isinf(value):
                told = f"no finite epsilon holds{at}"
            others = f", and {len(self.parts) - 1} more" if len(self.parts) > 1 else ""
            return f"{told} on this pair: {self.pair}. {worst.words}{others}{where}"
        if self.kind is FindingKind.EXACT:
            return f"the outputs of {self.pair} have the same law"
        if self.kind is FindingKind.PROVED:
            return f"the outputs of {self.pair} that could be followed have the same law"
        if self.hints:
            return f"{self.pair}: {self.hints[0]}"
        return f"{self.pair}: nothing was found"
