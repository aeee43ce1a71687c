"""What is known by (epsilon, delta) alone: the worst pair is a randomized response."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from flint import arb

from dpcheck.accounting.pairs.pair import BOTH, ENDLESS, Loss
from dpcheck.accounting.pld.pairs.atomic import AtomicPair
from dpcheck.accounting.pld.pairs.atoms import Atoms
from dpcheck.accounting.pld.pairs.pair import LossPair
from dpcheck.accounting.pld.verify.curves import Outcomes
from dpcheck.accounting.renyi.divergence import ROUND_DOWN, ROUND_UP
from dpcheck.accounting.renyi.moments import Floats
from dpcheck.core.data import Plain
from dpcheck.numerics.rounding import UNIT
from dpcheck.numerics.side import Side


@dataclass(frozen=True, slots=True)
class ResponseLoss(Loss):
    """The worst pair of all (epsilon, delta)-DP mechanisms, with probability `neutral` of no loss.

    With neutral = 0: P = (delta, (1-delta) e^eps/(1+e^eps), (1-delta)/(1+e^eps), 0), Q is P
    backwards. Otherwise the two middle masses are multiplied by 1 - neutral and an outcome of loss 0
    takes the rest, (1-delta) neutral under both (k-ary randomized response).
    """

    epsilon: float
    delta: float = 0.0
    neutral: float = 0.0
    moments_checked: ClassVar[bool] = True
    sideless: ClassVar[bool] = True
    few_outcomes: ClassVar[bool] = True
    lattice_sides: ClassVar[tuple[Side, ...]] = BOTH

    def largest(self) -> tuple[float, float]:
        """epsilon, unless something may be revealed."""
        return ENDLESS if self.delta > 0 else (self.epsilon, self.epsilon)

    @property
    def leak(self) -> float:
        """delta: with probability 1 - delta on both sides it is an epsilon-DP pair [Kairouz2017, Theorem 3.1
        and its proof].
        """
        return self.delta

    def without_leak(self) -> Loss:
        """The same with delta = 0."""
        return replace(self, delta=0.0) if self.delta > 0 else self

    def two_losses(self) -> float | None:
        """Unless it may tell nothing."""
        return self.epsilon if self.neutral == 0 else None

    @property
    def steepness(self) -> float:
        """epsilon."""
        return self.epsilon

    def lattice(self, side: Side) -> LossPair:  # noqa: ARG002
        """Outcome by outcome."""
        kept = 1.0 - self.delta
        telling = kept * (1.0 - self.neutral)
        more = telling / (1.0 + math.exp(-self.epsilon))
        less = telling * (math.exp(-self.epsilon) / (1.0 + math.exp(-self.epsilon)))
        p = np.array([self.delta, more, less, kept * self.neutral])
        q = np.array([0.0, less, more, kept * self.neutral])
        # Losses are +-eps, and 0 where an answer may say nothing.
        span = (1 if self.neutral else 2) * self.epsilon if self.epsilon > 0 else None
        known = np.array([math.inf, self.epsilon, -self.epsilon, 0.0])
        # 1 + e^-x errs by 5 units, e^-x by 8, and up to 5 roundings follow: at most 18.
        return AtomicPair(Atoms(p, q, 24 * UNIT, known), span=span)

    def outcomes(self) -> Outcomes:
        """Those that tell, those that say nothing, and the leak."""
        leak, neutral, step = arb(self.delta), arb(self.neutral), arb(self.epsilon)
        telling = (1 - leak) * (1 - neutral)
        more, less = telling / (1 + (-step).exp()), telling / (1 + step.exp())
        nothing = [(1 - leak) * neutral] if self.neutral else []
        return Outcomes([more, less, *nothing], [less, more, *nothing], leak)

    def parameters(self) -> tuple[float, ...]:
        """epsilon, of answers that neither leak nor say nothing."""
        return () if self.delta or self.neutral else (self.epsilon,)

    def with_parameters(self, values: Sequence[float]) -> ResponseLoss:
        """Another epsilon."""
        return ResponseLoss(values[0])

    def no_worse(self, other: Loss) -> bool:
        """Smaller epsilon and delta, and no less often an answer that tells nothing."""
        return (
            isinstance(other, ResponseLoss)
            and self.epsilon <= other.epsilon
            and self.delta <= other.delta
            and self.neutral >= other.neutral
        )

    def stated(self) -> dict[str, Plain] | None:
        """Without a delta, which is stated apart."""
        if self.delta:
            return None
        return {"kind": "response", "epsilon": self.epsilon, "neutral": self.neutral}

    def renyi(self, orders: Floats) -> Floats:
        """The closed form."""
        if self.delta > 0:
            return np.full_like(orders, math.inf)
        a, e = orders, self.epsilon
        # ((e^{ae} + e^{(1-a)e}) / (1 + e^e) - 1) (1 - neutral), factored so that nothing cancels.
        with np.errstate(over="ignore", invalid="ignore"):
            excess = -np.expm1((1 - a) * e) * np.expm1(a * e) / (1 + np.exp(e))
            moment = np.log1p((1 - self.neutral) * excess)
        return np.minimum(np.where(np.isfinite(moment), moment / (a - 1), e), e) * ROUND_UP

    def renyi_lower(self, orders: Floats) -> Floats:
        """The same from below."""
        if self.delta > 0:
            return np.full_like(orders, math.inf)
        return self.renyi(orders) * ROUND_DOWN
