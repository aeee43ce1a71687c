"""What every accountant can be asked, and the names answers carry.

An accountant plans for one composition of worst-case pairs: no adjacency, no leaks, no failures (those are
taken out before, see `dpcheck.accounting.sides`). It guesses and searches as it likes; what holds of its
plans is for `dpcheck.accounting.certify` to say. An empty plan is always allowed: it proves nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import StrEnum
from typing import ClassVar

import numpy as np

from dpcheck.accounting.certify.bound import Plan, Question, proved_deltas, proved_epsilon
from dpcheck.accounting.losses import Parts
from dpcheck.numerics.rounding import Array
from dpcheck.numerics.side import Side


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
    """Plans for a composition from above and, where it can, from below."""

    method: ClassVar[AccountingMethod]
    #: Never tighter than another accountant: asked by name only, not when the best is wanted.
    by_name_only: ClassVar[bool] = False
    #: Asked after those that an answer close to the lower bound can come from.
    asked_last: ClassVar[bool] = False

    @abstractmethod
    def plan_above(self, parts: Parts, delta: float) -> Plan:
        """A plan for the least epsilon at `delta`; empty where it has nothing to say."""

    def plan_below(self, parts: Parts, delta: float) -> Plan:  # noqa: ARG002
        """A plan for an epsilon the composition reaches at `delta`."""
        return Plan()

    def curve_above(self, parts: Parts, epsilons: Array) -> Plan:  # noqa: ARG002
        """A plan for the least delta at each epsilon."""
        return Plan()

    def curve_below(self, parts: Parts, epsilons: Array) -> Plan:  # noqa: ARG002
        """A plan for a delta the composition reaches at each epsilon."""
        return Plan()

    def plan(self, question: Question) -> Plan:
        """The plan for any of these questions."""
        above = question.side is Side.UPPER
        if question.delta is not None:
            return (self.plan_above if above else self.plan_below)(question.parts, question.delta)
        assert question.epsilons is not None
        return (self.curve_above if above else self.curve_below)(question.parts, question.epsilons)

    def epsilon(self, parts: Parts, delta: float) -> float:
        """The least epsilon proved at `delta`; infinite where none is.

        Guarantee: never below the true epsilon of the composition.
        """
        plan = self.plan_above(parts, delta)
        return proved_epsilon(plan, Question(parts, Side.UPPER, delta)).value

    def deltas(self, parts: Parts, epsilons: Array) -> Array:
        """The least delta proved at each epsilon; 1 where none is.

        Guarantee: never below the true delta of the composition.
        """
        plan = self.curve_above(parts, epsilons)
        return proved_deltas(plan, Question(parts, Side.UPPER, epsilons=epsilons)).values

    def delta(self, parts: Parts, epsilon: float) -> float:
        """The same at one epsilon."""
        return float(self.deltas(parts, np.array([epsilon]))[0])

    def epsilon_lower(self, parts: Parts, delta: float) -> float:
        """An epsilon the composition is proved to reach at `delta` > 0.

        Guarantee: never above the true epsilon; 0 where nothing is known.
        """
        plan = self.plan_below(parts, delta)
        return proved_epsilon(plan, Question(parts, Side.LOWER, delta)).value

    def explain(self, parts: Parts, delta: float) -> None:  # noqa: B027
        """Raise CannotCertify if the composition is supported but too large; silent otherwise."""
