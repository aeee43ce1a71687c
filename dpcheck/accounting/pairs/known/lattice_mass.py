"""A privacy-loss distribution computed elsewhere."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpcheck.accounting.pairs.pair import ABOVE, Loss
from dpcheck.accounting.pld.pairs.atomic import AtomicPair
from dpcheck.accounting.pld.pairs.atoms import Atoms
from dpcheck.accounting.pld.pairs.pair import LossPair
from dpcheck.accounting.renyi.moments import Floats, log_sum_exp
from dpcheck.numerics.rounding import UNIT
from dpcheck.numerics.side import Side


@dataclass(frozen=True, slots=True)
class LatticeMassLoss(Loss):
    """P-masses of the losses (first + i) * step that bound a pair from above, and of an infinite one.

    `added` bounds the reversed pair likewise; None where it is the same. `most` is a loss that what counts as
    infinite is known not to exceed, for bounds that need no lattice.
    """

    step: float
    first: int
    masses: tuple[float, ...]
    infinite: float
    added: tuple[int, tuple[float, ...], float] | None = None
    most: float = math.inf
    lattice_sides: ClassVar[tuple[Side, ...]] = ABOVE

    def reversed(self) -> Loss:
        """The measure of the other direction."""
        if self.added is None:
            return self
        other = (self.first, self.masses, self.infinite)
        return LatticeMassLoss(self.step, *self.added, other, self.most)

    def largest(self) -> tuple[float, float]:
        """The last point with mass; a bound from above, of which nothing is known to be attained."""
        tops = []
        for first, masses, infinite in (
            (self.first, self.masses, self.infinite),
            self.added or (self.first, self.masses, self.infinite),
        ):
            last = max((i for i, mass in enumerate(masses) if mass > 0), default=0)
            tops.append(max((first + last) * self.step, self.most if infinite > 0 else 0.0, 0.0))
        return 0.0, math.nextafter(max(tops), math.inf)

    def lattice(self, side: Side) -> LossPair:  # noqa: ARG002
        """The masses as they are."""
        masses = np.array(self.masses)
        seen = masses > 0
        p = masses[seen]
        losses = (self.first + np.arange(len(masses), dtype=np.float64))[seen] * self.step
        q = p * np.exp(-np.clip(losses, -700.0, 700.0))
        return AtomicPair(Atoms(p, q, 16 * UNIT, losses), self.infinite, self.step)

    def renyi(self, orders: Floats) -> Floats:
        """From the moments of the measures."""
        # E_P e^{(a-1) L} of each direction; convex in the curve, so an upper curve gives an upper moment.
        worst = np.zeros_like(orders)
        for way in (self, self.reversed()):
            assert isinstance(way, LatticeMassLoss)
            if way.infinite > 0 and math.isinf(way.most):
                return np.full_like(orders, math.inf)
            p = np.asarray((*way.masses, way.infinite))
            at = np.append(
                (way.first + np.arange(len(way.masses))) * way.step, min(way.most, 1e300)
            )
            p, at = p[p > 0], at[p > 0]
            moment = log_sum_exp((orders[:, None] - 1) * at + np.log(p))
            rounding = 1e-13 * (1 + float(np.abs(at).max()) * orders)
            worst = np.maximum(worst, (moment + rounding) / (orders - 1))
        return worst
