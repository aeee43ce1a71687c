"""What is known by the range of its losses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpcheck.accounting.pairs.known.response import ResponseLoss
from dpcheck.accounting.pairs.pair import ABOVE, Loss, numbers_at_most
from dpcheck.accounting.pld.pairs.pair import LossPair
from dpcheck.accounting.pld.verify.curves import Outcomes
from dpcheck.accounting.renyi.moments import Floats, half_square
from dpcheck.core.data import Plain
from dpcheck.numerics.side import Side


@dataclass(frozen=True, slots=True)
class BoundedLoss(Loss):
    """|log P/Q| <= epsilon, and its supremum over the described mechanisms is at least `attained`."""

    epsilon: float
    attained: float
    few_outcomes: ClassVar[bool] = True
    lattice_sides: ClassVar[tuple[Side, ...]] = ABOVE

    def largest(self) -> tuple[float, float]:
        """As described."""
        return self.attained, self.epsilon

    @property
    def steepness(self) -> float:
        """epsilon."""
        return self.epsilon

    def outcomes(self) -> Outcomes:
        """Those of randomized response."""
        return ResponseLoss(self.epsilon).outcomes()

    def lattice(self, side: Side) -> LossPair:
        """That of randomized response."""
        return ResponseLoss(self.epsilon).lattice(side)

    def no_worse(self, other: Loss) -> bool:
        """A smaller range."""
        return numbers_at_most(self, other)

    def renyi(self, orders: Floats) -> Floats:
        """That of randomized response."""
        # Randomized response is the worst of all pairs of bounded loss [Kairouz2017, Theorem 3.1].
        return ResponseLoss(self.epsilon).renyi(orders)


@dataclass(frozen=True, slots=True)
class BoundedRangeLoss(Loss):
    """The loss lies in an interval of length epsilon that contains 0 (exponential mechanism)."""

    epsilon: float
    by_curve: ClassVar[bool] = True

    def largest(self) -> tuple[float, float]:
        """Attained in the limit of many candidates."""
        return self.epsilon, self.epsilon

    def concentration(self) -> float:
        """[Cesar2021] Lemma 3.2."""
        return self.epsilon**2 / 8

    def no_worse(self, other: Loss) -> bool:
        """A shorter interval."""
        return numbers_at_most(self, other)

    def stated(self) -> dict[str, Plain]:
        """A pure guarantee, which it is."""
        return {"kind": "response", "epsilon": self.epsilon, "neutral": 0.0}

    def renyi(self, orders: Floats) -> Floats:
        """That of the worst interval."""
        a, e = orders, self.epsilon
        concentrated = (
            half_square(a, e) / 4 * (1 + 1e-12)
        )  # [Cesar2021] Lemma 3.2: a range of eps is eps^2/8-zCDP
        if e < 1e-3:
            return concentrated
        # The loss lives on {t, t - eps}; the worst t solves a linear equation in e^t [Dong2020, Lemma 3.2].
        # Any t gives a divergence some such pair has; the stationary one is the largest.
        log_small = -e + np.log(-np.expm1((1 - a) * e))
        t = np.log((a - 1) / a) + np.log(-np.expm1(-a * e)) - log_small
        # In logarithms: of a large t nothing is left of e^-t, but of e^((a-1) t).
        # Next to eps nothing is left of 1 - e^(t - eps); no loss, so no divergence, is above eps.
        known = e - t > 1e-9 * (1 + e)
        t = np.where(known, t, e / 2)
        log_heads = np.log(-np.expm1(t - e)) - np.log(-np.expm1(-e)) - t
        tails = np.log1p(-np.exp(log_heads))
        moment: Floats = np.logaddexp(a * t + log_heads, a * (t - e) + tails)
        # Exponents of up to a e err by 6 units of themselves, logarithms beside them by 100; 1e-13 is 900.
        # The moment is stationary at t, so that the rounding of t does not matter.
        moment = moment + 1e-13 * (1 + a * e)
        return np.minimum(np.where(known, moment / (a - 1), e), concentrated)
