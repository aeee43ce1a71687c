"""What a step of DP-SGD is asked to be, and what a check of it found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from dpcheck.core.errors import InvalidParameter
from dpcheck.core.validate import count, positive, probability

Vector = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Step:
    """A step as code, and the numbers it is accounted by.

    `update(batch, rng)` is the noisy update that one step on the examples with these indices
    releases, before the learning rate: (sum of clipped gradients + noise) / divisor. `gradient(i)` is
    the gradient of example i alone, unclipped. `sample(rng)` are the indices of one batch. With
    `follow` one update is made with its noise followed through the code, where that is numpy's.
    `code` is the function to be named where `update` only wraps it.
    """

    update: Callable[[Indices, np.random.Generator], Vector]
    gradient: Callable[[int], Vector]
    sample: Callable[[np.random.Generator], Sequence[int] | Indices]
    rows: int
    noise_multiplier: float
    clip: float
    sampling_rate: float
    divisor: float
    follow: bool = True
    code: Callable[..., object] | None = None

    def __post_init__(self) -> None:
        count("rows", self.rows, at_least=4)
        for name in ("noise_multiplier", "clip", "divisor"):
            positive(name, getattr(self, name))
        if probability("sampling_rate", self.sampling_rate) == 0:
            raise InvalidParameter("sampling_rate must be above 0.", name="sampling_rate")


class Outcome(StrEnum):
    """Of one check."""

    FINE = "fine"
    VIOLATED = "violated"
    UNKNOWN = "could not be checked"


@dataclass(frozen=True, slots=True)
class Checked:
    """One property: what was seen, and what to change, and where, if it does not hold."""

    name: str
    outcome: Outcome
    seen: str
    remedy: str = ""
    where: str = ""

    def __str__(self) -> str:
        where = f" ({self.where})" if self.where else ""
        change = f" Change{where}: {self.remedy}" if self.remedy else ""
        return f"{self.name}: {self.outcome}. {self.seen}{change}"


@dataclass(frozen=True, slots=True)
class StepReport:
    """Everything that was checked; `violated` if anything is."""

    checks: tuple[Checked, ...]

    @property
    def verdict(self) -> str:
        """violated, undecided (something could not be checked) or consistent."""
        outcomes = {one.outcome for one in self.checks}
        if Outcome.VIOLATED in outcomes:
            return "violated"
        return "undecided" if Outcome.UNKNOWN in outcomes else "consistent"

    @property
    def wrong(self) -> tuple[str, ...]:
        """The names of what does not hold."""
        return tuple(one.name for one in self.checks if one.outcome is Outcome.VIOLATED)

    def __str__(self) -> str:
        return "\n".join([f"one step: {self.verdict}", *(f"  {one}" for one in self.checks)])
