"""A published program: what its paper says, what it claims, and what it costs here."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import dpcheck

EPSILON = 1.0
QUERIES = 10
# Ten answers, each in [0, 1], of every person: all sums may move by 1 ("ALL_DIFFER").
ANSWERS = dpcheck.records(**{f"q{i}": dpcheck.number(0, 1) for i in range(QUERIES)}, rows=100)
# One number of every person: one bin of a histogram moves by 1 ("ONE_DIFFER").
NUMBERS = dpcheck.records(x=dpcheck.number(0, 1), rows=100)
REFUSED = math.inf


@dataclass(frozen=True)
class Program:
    """`claimed` is the paper's claim; `charged` what is proved, infinite where it is refused."""

    paper: str
    function: Callable[[Any, Any], Any]
    data: Any
    adjacency: str
    claimed: float
    charged: float
    right: bool

    @property
    def name(self) -> str:
        """Paper and program."""
        return f"{self.paper}-{self.function.__name__}"


class Paper:
    """The programs of one paper, in its order."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.programs: list[Program] = []

    def right(
        self, charged: float = EPSILON, *, claimed: float = EPSILON, one: bool = False
    ) -> Any:
        """A program that keeps its claim."""
        return self._add(charged, claimed, one, True)

    def wrong(self, charged: float, *, claimed: float = EPSILON, one: bool = False) -> Any:
        """A program that breaks its claim."""
        return self._add(charged, claimed, one, False)

    def _add(self, charged: float, claimed: float, one: bool, right: bool) -> Any:
        data, adjacency = (NUMBERS, "add-remove") if one else (ANSWERS, "replace-one")

        def add(function: Any) -> Any:
            made = Program(self.name, function, data, adjacency, claimed, charged, right)
            self.programs.append(made)
            return function

        return add


def histogram(x: Any) -> Any:
    """One number of every person, counted in public bins."""
    return np.histogram(x, bins=QUERIES, range=(0, 1))[0]
