"""What every accountant can be asked, and the names answers carry.

An accountant bounds one composition of worst-case pairs: no adjacency, no leaks, no failures (those are
taken out before, see `dpcheck.accounting.sides`). Saying nothing is always allowed: infinity or 1 from
above, 0 from below.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import StrEnum
from typing import ClassVar

import numpy as np

from dpcheck.accounting.losses import Parts
from dpcheck.numerics.rounding import Array


class AccountingMethod(StrEnum):
    """The accountants, by the names that `Bound.method` uses."""

    PURE = "pure"
    VARIATION = "variation"
    GAUSSIAN = "gdp"
    OPTIMAL_COMPOSITION = "optimal-composition"
    RENYI_CLASSIC = "rdp-classic"
    RENYI_IMPROVED = "rdp-improved"
    RENYI_OPTIMAL = "rdp-optimal"
    DISTRIBUTION = "pld"
    SELECTION = "selection"


class Accountant(ABC):
    """Bounds a composition from above and, where it can, from below."""

    method: ClassVar[AccountingMethod]
    #: Never tighter than another accountant: asked by name only, not when the best is wanted.
    by_name_only: ClassVar[bool] = False
    #: Asked after those that an answer close to the lower bound can come from.
    asked_last: ClassVar[bool] = False

    @abstractmethod
    def supports(self, parts: Parts) -> bool:
        """Whether this accountant has anything to say about the composition."""

    @abstractmethod
    def epsilon(self, parts: Parts, delta: float) -> float:
        """The least epsilon proved at `delta`; infinite where none is.

        Guarantee: never below the true epsilon of the composition.
        """

    @abstractmethod
    def delta(self, parts: Parts, epsilon: float) -> float:
        """The least delta proved at `epsilon`; 1 where none is.

        Guarantee: never below the true delta of the composition.
        """

    def deltas(self, parts: Parts, epsilons: Array) -> Array:
        """`delta` at each epsilon."""
        return np.array([self.delta(parts, epsilon) for epsilon in epsilons.tolist()])

    def epsilon_lower(self, parts: Parts, delta: float) -> float:  # noqa: ARG002
        """An epsilon the composition is proved to reach at `delta` > 0.

        Guarantee: never above the true epsilon; 0 where nothing is known.
        """
        return 0.0

    def delta_lower(self, parts: Parts, epsilon: float) -> float:  # noqa: ARG002
        """A delta the composition is proved to reach at `epsilon`.

        Guarantee: never above the true delta; 0 where nothing is known.
        """
        return 0.0

    def deltas_lower(self, parts: Parts, epsilons: Array) -> Array:
        """`delta_lower` at each epsilon."""
        if type(self).delta_lower is Accountant.delta_lower:
            return np.zeros(len(epsilons))
        return np.array([self.delta_lower(parts, epsilon) for epsilon in epsilons.tolist()])

    def explain(self, parts: Parts, delta: float) -> None:  # noqa: B027
        """Raise CannotCertify if the composition is supported but too large; silent otherwise."""
