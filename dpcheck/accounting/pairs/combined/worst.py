"""A choice among compositions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpcheck.accounting.pairs.pair import Loss, Parts, composed_largest_loss, reverse_parts
from dpcheck.accounting.pld.built import build
from dpcheck.accounting.pld.measures import group_pair, measure
from dpcheck.accounting.pld.pairs.pair import LossPair
from dpcheck.accounting.pld.verify.curves import Curve, WorstCurve, curve_of
from dpcheck.accounting.renyi.divergence import composed_renyi
from dpcheck.accounting.renyi.moments import Floats
from dpcheck.numerics.side import Side


@dataclass(frozen=True, slots=True)
class WorstLoss(Loss):
    """Whichever of several compositions costs most; too many choices to account one by one."""

    options: tuple[Parts, ...]

    def reversed(self) -> Loss:
        """Every option reversed."""
        return WorstLoss(tuple(reverse_parts(option) for option in self.options))

    def largest(self) -> tuple[float, float]:
        """The largest of all."""
        bounds = [composed_largest_loss(option) for option in self.options]
        return max(low for low, _ in bounds), max(high for _, high in bounds)

    def on_lattice(self, side: Side) -> bool:
        """From above, where all parts are."""
        parts = [part for option in self.options for part, _ in option]
        return side is Side.UPPER and all(part.on_lattice(side) for part in parts)

    def lattice(self, side: Side) -> LossPair:
        """No test of any option has more power than the pair made of the best tests of all of them, so that
        pair dominates each, and dominating pairs compose [Zhu2022, Theorem 10].
        """
        options = [[(build(part, side), times) for part, times in way] for way in self.options]
        return group_pair([measure(option, side) for option in options if option], 1)

    def choices(self) -> tuple[Parts, ...]:
        """The options."""
        return self.options

    def ball_curve(self, side: Side) -> Curve | None:
        """The largest, where each option is one pair."""
        if any(len(way) != 1 or way[0][1] != 1 for way in self.options):
            return None
        return WorstCurve([curve_of(way[0][0], side) for way in self.options])

    def renyi(self, orders: Floats) -> Floats:
        """The largest of all."""
        worst: Floats = np.max([composed_renyi(option, orders) for option in self.options], axis=0)
        return worst
