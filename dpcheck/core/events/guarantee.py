"""Events known only by a guarantee they satisfy.

`adjacency` is the relation the guarantee was proved under. None stands for the one it is accounted
under, so the caller vouches for it there. A guarantee proved under add-remove or zero-out is turned
into a replace-one one by group privacy of two (a replacement is a removal and an addition).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dpcheck.core.adjacency import Adjacency, as_adjacency
from dpcheck.core.errors import InvalidParameter
from dpcheck.core.events.event import Event
from dpcheck.core.validate import non_negative, probability


def _read_adjacency(event: PureDP | ApproxDP | ZCDP | GDP) -> None:
    if event.adjacency is not None:
        object.__setattr__(event, "adjacency", as_adjacency(event.adjacency))


@dataclass(frozen=True, slots=True)
class PureDP(Event):
    """Any epsilon-DP mechanism."""

    epsilon: float
    adjacency: Adjacency | None = None
    natural: ClassVar[Adjacency | None] = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", non_negative("epsilon", self.epsilon))
        _read_adjacency(self)


@dataclass(frozen=True, slots=True)
class ApproxDP(Event):
    """Any (epsilon, delta)-DP mechanism."""

    epsilon: float
    delta: float
    adjacency: Adjacency | None = None
    natural: ClassVar[Adjacency | None] = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", non_negative("epsilon", self.epsilon))
        object.__setattr__(self, "delta", probability("delta", self.delta))
        _read_adjacency(self)


@dataclass(frozen=True, slots=True)
class ZCDP(Event):
    """Any rho-zero-concentrated-DP mechanism."""

    rho: float
    adjacency: Adjacency | None = None
    natural: ClassVar[Adjacency | None] = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", non_negative("rho", self.rho))
        _read_adjacency(self)


@dataclass(frozen=True, slots=True)
class GDP(Event):
    """Any mu-Gaussian-DP mechanism."""

    mu: float
    adjacency: Adjacency | None = None
    natural: ClassVar[Adjacency | None] = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", non_negative("mu", self.mu))
        _read_adjacency(self)


@dataclass(frozen=True, slots=True)
class NotPrivate(Event):
    """A release with no guarantee; its epsilon is infinite and `reason` says why."""

    reason: str
    natural: ClassVar[Adjacency | None] = None

    def __post_init__(self) -> None:
        if not isinstance(self.reason, str) or not self.reason.strip():
            raise InvalidParameter("reason must say why the release is not private.")
