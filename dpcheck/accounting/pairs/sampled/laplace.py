"""Laplace noise on a Poisson sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from flint import arb

from dpcheck.accounting.pairs.pair import BOTH, Loss, rounded_sum
from dpcheck.accounting.pld.pairs.mixtures import LaplacePair, Mixture
from dpcheck.accounting.pld.pairs.pair import LossPair
from dpcheck.accounting.renyi.divergence import ROUND_DOWN, ROUND_UP
from dpcheck.accounting.renyi.moments import Floats, laplace_log_moment
from dpcheck.core.data import Plain
from dpcheck.numerics.balls import above, below, precision
from dpcheck.numerics.side import Side


@dataclass(frozen=True, slots=True)
class SampledLaplaceLoss(Loss):
    """P = (1-rate) Laplace(0, 1) + rate Laplace(ratio, 1), Q = Laplace(0, 1)."""

    ratio: float
    rate: float
    backwards: bool = False
    sideless: ClassVar[bool] = True
    smooth: ClassVar[bool] = True
    lattice_sides: ClassVar[tuple[Side, ...]] = BOTH

    def reversed(self) -> Loss:
        """The other direction."""
        return replace(self, backwards=not self.backwards)

    def largest(self) -> tuple[float, float]:
        """log(1 + q(e^r - 1)) [Balle2018, Theorem 8], the larger of the two directions."""
        with precision(80):
            ball = (1 + arb(self.rate) * arb(self.ratio).expm1()).log()
            return below(ball), above(ball)

    def variation(self) -> float:
        """Neighbours differ only if the record is drawn."""
        return rounded_sum((self.rate * min(self.ratio / 2, 1.0),))

    @property
    def steepness(self) -> float:
        """ratio."""
        return self.ratio

    def parameters(self) -> tuple[float, ...]:
        """Ratio and rate."""
        return self.ratio, self.rate

    def with_parameters(self, values: Sequence[float]) -> SampledLaplaceLoss:
        """Another ratio and rate."""
        return replace(self, ratio=values[0], rate=values[1])

    def lattice(self, side: Side) -> LossPair:  # noqa: ARG002
        """A mixture of two Laplace laws against one."""
        if self.backwards:
            return LaplacePair(Mixture(), Mixture((-self.ratio,), (self.rate,)))
        return LaplacePair(Mixture((self.ratio,), (self.rate,)), Mixture())

    def stated(self) -> dict[str, Plain] | None:
        """Ratio and rate."""
        if self.backwards:
            return None
        return {"kind": "laplace", "shift": self.ratio, "rate": self.rate}

    def renyi(self, orders: Floats) -> Floats:
        """From the moments of the mixture."""
        result = np.full_like(orders, self.largest()[1])  # no divergence exceeds the largest loss
        for i, a in enumerate(orders):
            if a * self.ratio < 1000:  # beyond, the divergence is the largest loss but for 1/order
                forward = sum(laplace_log_moment(self.ratio, self.rate, a))
                backward = sum(laplace_log_moment(self.ratio, self.rate, 1 - a))
                result[i] = min(result[i], max(forward, backward) / (a - 1) * ROUND_UP)
        return result

    def renyi_lower(self, orders: Floats) -> Floats:
        """The same from below."""
        result = np.zeros_like(orders)
        for i, a in enumerate(orders):
            if a * self.ratio < 1000:
                exponent = 1 - a if self.backwards else a
                moment, error = laplace_log_moment(self.ratio, self.rate, exponent)
                result[i] = max((moment - error) / (a - 1) * ROUND_DOWN, 0.0)
        return result
