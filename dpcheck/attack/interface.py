"""What a prover hands in for the attack on its proof: its own run of the function on real data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.bound import Bound
from dpcheck.core.data import Data


@dataclass(frozen=True, slots=True)
class EvaluatedRelease:
    """A private value on one dataset, before its noise, and what the proof says of it for all.

    `low` and `high` bound every entry; neighbours differ by at most `l1`, `l2` and `linf`. Those
    differences say nothing of one run where rows were `sampled`: neighbours then flip other coins. Values
    and ends are arrays of one shape, or broadcast to one.
    """

    line: str
    value: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    l1: float
    l2: float
    linf: float
    sampled: bool = False


class CannotEvaluate(Exception):
    """The prover cannot run this function on these data itself; nothing is said about the proof."""


class Evaluation(Protocol):
    """A prover's concrete mode: the program as the proof understands it, on real data."""

    def evaluate(self, data: Data, seed: int) -> tuple[Data, Sequence[EvaluatedRelease]]:
        """Output and releases with the generator of `seed`; raises CannotEvaluate where it has none."""


class Proved(Protocol):
    """What is to be announced."""

    @property
    def adjacency(self) -> Adjacency:
        """Of which pairs."""

    def epsilon(self, delta: float = 0.0) -> Bound:
        """What is spent at most."""
