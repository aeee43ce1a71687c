"""A hostile function, what it is proved on, a pair that shows what it spends, and how much that is."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import dpcheck

ROWS = 50
UNIT = dpcheck.records(x=dpcheck.number(0, 1), rows=ROWS)
R, A, Z = "replace-one", "add-remove", "zero-out"


def unit(last: float = 0.0, others: float = 0.0) -> Any:
    """A column of UNIT: all alike but the last."""
    x = np.full(ROWS, others)
    x[-1] = last
    return x


NOUGHT_OR_ONE = (unit(0.0), unit(1.0))
NOUGHT_OR_HALF = (unit(0.0), unit(0.5))
ONES_OR_NOUGHT = (unit(1.0, 1.0), unit(0.0, 1.0))


@dataclass(frozen=True)
class Case:
    """`epsilon` is what the pair shows; of a `right` function it is what a derivation gives for all.

    Outputs are a value plus Laplace noise of `scale`, so that with one seed they move by epsilon times
    the scale. Where epsilon is infinite, `leak` of the output says without noise which of the two it was.
    """

    group: str
    function: Callable[[Any, Any], Any]
    data: Any
    adjacency: str
    pair: tuple[Any, Any]
    epsilon: float
    scale: float = 1.0
    form: str | None = None
    leak: Callable[[Any], Any] | None = None
    right: bool = False

    @property
    def name(self) -> str:
        return f"{self.group}-{self.function.__name__}"


@dataclass
class Group:
    """The cases of one cause."""

    name: str
    data: Any = UNIT
    pair: tuple[Any, Any] = NOUGHT_OR_ONE
    adjacency: str = R
    form: str | None = None
    cases: list[Case] = field(default_factory=list)

    def wrong(self, epsilon: float = 50.0, pair: Any = None, **others: Any) -> Any:
        """A function that spends `epsilon`; to prove less is false."""

        def add(function: Any) -> Any:
            given = {"data": self.data, "adjacency": self.adjacency, "form": self.form, **others}
            shown = pair or self.pair
            self.cases.append(
                Case(self.name, function, pair=shown, epsilon=float(epsilon), **given)
            )
            return function

        return add

    def right(self, epsilon: float, **others: Any) -> Any:
        """A function that a prover should manage, at exactly this epsilon."""
        return self.wrong(epsilon, right=True, **others)


INF = math.inf


def itself(output: Any) -> Any:
    """The leak of an output without noise."""
    return output
