"""Events that release a choice or a yes and no instead of a number, and answers seen only after a shuffle.

`adjacency` is the relation the sensitivity of the scores was computed under; None stands for the one the
event is accounted under. `monotone` scores all rise, or all fall, when a record is added (counts).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dpcheck.core.adjacency import Adjacency, as_adjacency
from dpcheck.core.errors import InvalidParameter
from dpcheck.core.events.event import Event
from dpcheck.core.validate import count, positive_or_zero, truth

# Kinds of noise under an argmax.
NOISES = ("laplace", "gumbel", "exponential")


def _read_adjacency(event: ReportNoisyMax | PermuteAndFlip | AboveThreshold) -> None:
    if event.adjacency is not None:
        object.__setattr__(event, "adjacency", as_adjacency(event.adjacency))


@dataclass(frozen=True, slots=True)
class ReportNoisyMax(Event):
    """The index of the largest score after noise of scale noise_multiplier times the sensitivity.

    `noise` is laplace, gumbel (the exponential mechanism) or exponential (permute-and-flip); a fresh draw for
    every score, and only the index is released.
    """

    noise_multiplier: float
    noise: str = "laplace"
    monotone: bool = False
    adjacency: Adjacency | None = None
    natural: ClassVar[Adjacency | None] = None

    def __post_init__(self) -> None:
        value = positive_or_zero("noise_multiplier", self.noise_multiplier)
        object.__setattr__(self, "noise_multiplier", value)
        if self.noise not in NOISES:
            raise InvalidParameter(
                f"noise must be one of {', '.join(NOISES)}, got {self.noise!r}.", name="noise"
            )
        object.__setattr__(self, "monotone", truth("monotone", self.monotone))
        _read_adjacency(self)


@dataclass(frozen=True, slots=True)
class PermuteAndFlip(Event):
    """Candidates in random order, each taken with probability exp(epsilon (score - best)/(2 sensitivity))."""

    epsilon: float
    adjacency: Adjacency | None = None
    natural: ClassVar[Adjacency | None] = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive_or_zero("epsilon", self.epsilon))
        _read_adjacency(self)


@dataclass(frozen=True, slots=True)
class AboveThreshold(Event):
    """The sparse vector technique: which of many adaptive queries exceed a threshold, up to `positives`.

    Laplace noise of scale threshold_noise times the sensitivity on the threshold, once; of scale query_noise
    times the sensitivity on every query, afresh; it stops after `positives` queries above. Nothing but
    above or below is released.
    """

    threshold_noise: float
    query_noise: float
    positives: int = 1
    monotone: bool = False
    adjacency: Adjacency | None = None
    natural: ClassVar[Adjacency | None] = None

    def __post_init__(self) -> None:
        for name in ("threshold_noise", "query_noise"):
            object.__setattr__(self, name, positive_or_zero(name, getattr(self, name)))
        object.__setattr__(self, "positives", count("positives", self.positives))
        object.__setattr__(self, "monotone", truth("monotone", self.monotone))
        _read_adjacency(self)


@dataclass(frozen=True, slots=True)
class ShuffledReports(Event):
    """One report each of `people`, every one by an epsilon-DP local randomizer, seen in random order only.

    The randomizers may differ and depend on earlier reports; who shuffles is trusted.
    """

    epsilon: float
    people: int
    natural: ClassVar[Adjacency | None] = Adjacency.REPLACE_ONE

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive_or_zero("epsilon", self.epsilon))
        object.__setattr__(self, "people", count("people", self.people))
