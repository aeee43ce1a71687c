"""A pair seen by somebody who owns several records."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dpcheck.accounting.pairs.pair import Loss
from dpcheck.accounting.pld.built import build
from dpcheck.accounting.pld.measures import group_pair, measure
from dpcheck.accounting.pld.pairs.pair import LossPair
from dpcheck.accounting.renyi.moments import Floats
from dpcheck.numerics.side import Side

# Larger groups are bounded by their Renyi divergence only.
LARGEST_GROUP = 64


@dataclass(frozen=True, slots=True)
class GroupedLoss(Loss):
    """`inner`, seen by an owner of `size` records, where no closed form is known.

    `mixed` where the steps between the two datasets may go either way along the pair.
    """

    inner: Loss
    size: int
    mixed: bool = False

    def reversed(self) -> Loss:
        """Every step reversed."""
        return replace(self, inner=self.inner.reversed())

    def largest(self) -> tuple[float, float]:
        """Losses add up along the steps; one step is contained."""
        lower, upper = self.inner.largest()
        return lower, math.nextafter(upper * self.size, math.inf)

    def on_lattice(self, side: Side) -> bool:
        """From above, for small groups."""
        small = self.size <= LARGEST_GROUP
        return side is Side.UPPER and small and self.inner.on_lattice(side)

    def lattice(self, side: Side) -> LossPair:
        """The best tests of a step, one after the other."""
        ways = (self.inner, self.inner.reversed()) if self.mixed else (self.inner,)
        found = [measure([(build(way, side), 1)], side) for way in dict.fromkeys(ways)]
        return group_pair(found, self.size)

    def renyi(self, orders: Floats) -> Floats:
        """[Mironov2017] Proposition 2."""
        # [Mironov2017] Proposition 2: halving the order c times pays for a group of 2^c.
        doublings = (self.size - 1).bit_length()
        bound = 3.0**doublings * self.inner.renyi(orders * 2.0**doublings)
        return np.where(orders >= 2, bound, math.inf)
