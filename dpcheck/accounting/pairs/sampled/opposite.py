"""Gaussian noise, sampled records replaced: mirrored mixtures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dpcheck.accounting.pairs.combined.grouped import GroupedLoss
from dpcheck.accounting.pairs.noise.gaussian import NORMAL_PEAK, GaussianLoss
from dpcheck.accounting.pairs.pair import BOTH, Loss, rounded_sum
from dpcheck.accounting.pairs.sampled.replaced import ReplacedSampleLoss
from dpcheck.accounting.pld.pairs.mixtures import Mixture, NormalPair
from dpcheck.accounting.pld.pairs.pair import LossPair
from dpcheck.accounting.renyi.divergence import renyi_of_mixed_shifts
from dpcheck.accounting.renyi.moments import Floats
from dpcheck.core.data import Plain
from dpcheck.numerics.side import Side


@dataclass(frozen=True, slots=True)
class OppositeMixtureLoss(Loss):
    """P = sum_j weights_j N(shifts_j, 1) + rest N(0, 1), Q = P mirrored: all shifts negative.

    Sampled records that are replaced, drawn in P and Q alike (Gaussian noise): the worst pair. `binomial`
    where the shifts are multiples of the first, by how many of a group's records were drawn.
    """

    shifts: tuple[float, ...]
    weights: tuple[float, ...]
    binomial: bool = True
    sideless: ClassVar[bool] = True
    smooth: ClassVar[bool] = True
    lattice_sides: ClassVar[tuple[Side, ...]] = BOTH
    endless: ClassVar[bool] = True

    def variation(self) -> float:
        """Neighbours differ only if something is drawn, and then by twice that at most."""
        parts = zip(self.shifts, self.weights, strict=True)
        return rounded_sum(
            weight * min(2 * NORMAL_PEAK * abs(shift), 1.0) for shift, weight in parts
        )

    @property
    def steepness(self) -> float:
        """The largest shift."""
        return max(map(abs, self.shifts), default=0.0)

    def parameters(self) -> tuple[float, ...]:
        """Shift and rate of a single record."""
        return (self.shifts[0], self.weights[0]) if len(self.shifts) == 1 else ()

    def with_parameters(self, values: Sequence[float]) -> OppositeMixtureLoss:
        """Another shift and rate."""
        return replace(self, shifts=(values[0],), weights=(values[1],))

    def lattice(self, side: Side) -> LossPair:  # noqa: ARG002
        """A mixture and its mirror image."""
        mirrored = Mixture(tuple(-shift for shift in self.shifts), self.weights)
        return NormalPair(Mixture(self.shifts, self.weights), mirrored)

    def stated(self) -> dict[str, Plain] | None:
        """One shift."""
        if len(self.shifts) != 1:
            return None
        return {"kind": "opposite-gaussian", "shift": self.shifts[0], "rate": self.weights[0]}

    def renyi(self, orders: Floats) -> Floats:
        """That of all pairs of a replaced record."""
        if not self.binomial:
            return renyi_of_mixed_shifts(
                2 * np.asarray(self.shifts), np.asarray(self.weights), orders
            )
        # One record: the bound on all pairs of a replaced record. A group: by group privacy of that.
        one = ReplacedSampleLoss(GaussianLoss(self.shifts[0]), _drawn_once(self))
        group = one if len(self.shifts) == 1 else GroupedLoss(one, len(self.shifts))
        return group.renyi(orders)


def _drawn_once(loss: OppositeMixtureLoss) -> float:
    """The sampling rate of a group's records, from the weight of none being drawn, rounded up."""
    if len(loss.weights) == 1:
        return loss.weights[0]
    none = math.log1p(-math.fsum(loss.weights))  # at least 1/4 of the time: few units of it
    return min(1.0, -math.expm1(none / len(loss.weights)) * (1 + 1e-12))
