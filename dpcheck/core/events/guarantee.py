"""Events known only by a guarantee they satisfy.

`adjacency` is the relation the guarantee was proved under. None stands for the one it is accounted
under, so the caller vouches for it there. A guarantee proved under add-remove or zero-out is turned
into a replace-one one by group privacy of two (a replacement is a removal and an addition).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from dpcheck.core.adjacency import Adjacency, as_adjacency
from dpcheck.core.errors import InvalidParameter
from dpcheck.core.events.event import Event
from dpcheck.core.validate import MOST, chance, each, non_negative, positive, sequence


def _read_adjacency(event: PureDP | ApproxDP | ZCDP | GDP | LossDistribution) -> None:
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
        object.__setattr__(self, "delta", chance("delta", self.delta))
        _read_adjacency(self)


@dataclass(frozen=True, slots=True)
class ZCDP(Event):
    """Any (xi, rho)-zero-concentrated-DP mechanism: Renyi divergence at most xi + rho * order."""

    rho: float
    adjacency: Adjacency | None = None
    xi: float = 0.0
    natural: ClassVar[Adjacency | None] = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", non_negative("rho", self.rho))
        object.__setattr__(self, "xi", non_negative("xi", self.xi))
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
class LossDistribution(Event):
    """A privacy-loss distribution computed elsewhere, taken as given: its curve bounds the mechanism's.

    `masses[i]` is the probability of the loss (first + i) * step, `infinite` that of an infinite one.
    `added` is (first, masses, infinite) of the other direction, None where both are the same.
    """

    step: float
    first: int
    masses: tuple[float, ...]
    infinite: float = 0.0
    added: tuple[int, tuple[float, ...], float] | None = None
    adjacency: Adjacency | None = None
    natural: ClassVar[Adjacency | None] = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "step", positive("step", self.step))
        if self.added is not None and len(sequence("added", self.added)) != 3:
            raise InvalidParameter("added is (first, masses, infinite) of the other direction.")
        for first, masses, infinite in (
            (self.first, self.masses, self.infinite),
            self.added or (self.first, self.masses, self.infinite),
        ):
            if not isinstance(first, int) or abs(first) > MOST or not masses:
                raise InvalidParameter("a loss distribution has a whole first index and masses.")
            total = math.fsum(each("masses", masses, non_negative))
            if total + non_negative("infinite", infinite) < 1 - 1e-9:
                raise InvalidParameter(
                    f"the masses of a loss distribution add up to {total + infinite:g}, less than 1; what is "
                    "missing may have any loss, so add it to infinite."
                )
            _check_curve(self.step, first, masses, infinite)
        object.__setattr__(self, "masses", tuple(map(float, self.masses)))
        if self.added is not None:
            first, masses, infinite = self.added
            object.__setattr__(self, "added", (first, tuple(map(float, masses)), float(infinite)))
        _read_adjacency(self)


def _check_curve(step: float, first: int, masses: tuple[float, ...], infinite: float) -> None:
    """Refuse losses that no pair of laws has, nor lies below: F(y) = E_P (1 - y e^-L)+ is at least 1 - y.

    F is made of straight lines between its kinks at y = e^loss, so these are looked at, the largest first.
    """
    above = shrunk = 0.0  # the mass above a loss, and the same times e^-(its distance)
    for i in range(len(masses) - 1, -1, -1):
        loss = (first + i) * step
        least = -math.expm1(min(loss, 0.0))
        if infinite + above - shrunk < least - 1e-9:
            raise InvalidParameter(
                f"no mechanism has these losses: its delta at epsilon {loss:g} would be "
                f"{infinite + above - shrunk:g}, and no delta is below 1 - e^epsilon = {least:g} there. "
                "Losses are log(P/Q) under P; are their signs the other way round?"
            )
        above += masses[i]
        shrunk = (shrunk + masses[i]) * math.exp(-step)


@dataclass(frozen=True, slots=True)
class NotPrivate(Event):
    """A release with no guarantee; its epsilon is infinite and `reason` says why."""

    reason: str
    natural: ClassVar[Adjacency | None] = None

    def __post_init__(self) -> None:
        if not isinstance(self.reason, str) or not self.reason.strip():
            raise InvalidParameter("reason must say why the release is not private.")
