"""Events of one noisy answer on all the data.

`noise_multiplier` is the noise scale divided by the bound C on the norm of one record's
contribution. The sensitivity follows from the adjacency: C under add-remove and zero-out, 2C under
replace-one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dpcheck.core.adjacency import Adjacency, as_adjacency
from dpcheck.core.errors import InvalidParameter
from dpcheck.core.events.event import Event
from dpcheck.core.validate import (
    count,
    each,
    finite,
    moderate_or_zero,
    non_negative,
    positive_or_zero,
    rate,
)


@dataclass(frozen=True, slots=True)
class Gaussian(Event):
    """A sum of contributions of L2 norm at most C, plus N(0, (noise_multiplier C)^2 I)."""

    noise_multiplier: float

    def __post_init__(self) -> None:
        value = positive_or_zero("noise_multiplier", self.noise_multiplier)
        object.__setattr__(self, "noise_multiplier", value)


@dataclass(frozen=True, slots=True)
class Laplace(Event):
    """A scalar sum of contributions in [-C, C], plus Laplace noise of scale noise_multiplier C."""

    noise_multiplier: float

    def __post_init__(self) -> None:
        value = positive_or_zero("noise_multiplier", self.noise_multiplier)
        object.__setattr__(self, "noise_multiplier", value)


@dataclass(frozen=True, slots=True)
class DiscreteGaussian(Event):
    """An integer sum, plus integer noise with mass proportional to exp(-x^2 / (2 scale^2)).

    One record moves the sum by at most `norm_bound`, up or down.
    """

    scale: float
    norm_bound: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", moderate_or_zero("scale", self.scale))
        object.__setattr__(self, "norm_bound", count("norm_bound", self.norm_bound))


@dataclass(frozen=True, slots=True)
class DiscreteLaplace(Event):
    """An integer sum, plus integer noise with mass proportional to exp(-|x| / scale).

    One record moves the sum by at most `norm_bound`, up or down.
    """

    scale: float
    norm_bound: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", moderate_or_zero("scale", self.scale))
        object.__setattr__(self, "norm_bound", count("norm_bound", self.norm_bound))


@dataclass(frozen=True, slots=True)
class RandomizedResponse(Event):
    """Each person's answer among `categories`; with probability `noise` a uniformly random one."""

    noise: float
    categories: int = 2
    natural: ClassVar[Adjacency | None] = Adjacency.REPLACE_ONE

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise", rate("noise", self.noise))
        object.__setattr__(self, "categories", count("categories", self.categories, at_least=2))


@dataclass(frozen=True, slots=True)
class ExponentialMechanism(Event):
    """Choice with probability proportional to exp(epsilon * utility / (2 sensitivity)).

    `adjacency` is the relation the utility's sensitivity was computed under; None stands for the
    one it is accounted under.
    """

    epsilon: float
    adjacency: Adjacency | None = None
    natural: ClassVar[Adjacency | None] = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", non_negative("epsilon", self.epsilon))
        if self.adjacency is not None:
            object.__setattr__(self, "adjacency", as_adjacency(self.adjacency))


@dataclass(frozen=True, slots=True)
class FinitePair(Event):
    """A mechanism whose worst neighbouring pair is a table: masses `p` and `q` of its outcomes.

    Both directions are accounted. Masses must add up to 1 within 1e-9 and are renormalised by nobody:
    what they lack beyond rounding counts as an outcome seen on one side only. `adjacency` is the
    relation the pair is the worst of; None stands for the one it is accounted under. `with_record`, "p" or
    "q", says which table is the output with the record; None that either may be, and the worse is taken.
    In a composition the tables p of all of them belong to the same dataset.
    """

    p: tuple[float, ...]
    q: tuple[float, ...]
    adjacency: Adjacency | None = None
    with_record: str | None = None
    natural: ClassVar[Adjacency | None] = None

    def __post_init__(self) -> None:
        for name in ("p", "q"):
            masses = each(name, getattr(self, name), non_negative)
            object.__setattr__(self, name, masses)
            if abs(finite(name, sum(masses)) - 1) > 1e-9:
                raise InvalidParameter(
                    f"the masses {name} must add up to 1, got {sum(masses)!r}.", name=name
                )
        if self.adjacency is not None:
            object.__setattr__(self, "adjacency", as_adjacency(self.adjacency))
        if len(self.p) != len(self.q):
            raise InvalidParameter("p and q must list the same outcomes in the same order.")
        if self.with_record not in (None, "p", "q"):
            raise InvalidParameter(
                f"with_record must be 'p', 'q' or None, got {self.with_record!r}.",
                name="with_record",
            )
