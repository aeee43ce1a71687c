"""What is solved under Gaussian noise in the objective."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpcheck.accounting.pairs.known.finite import FiniteLoss
from dpcheck.accounting.pairs.pair import ABOVE, Loss, numbers_at_most
from dpcheck.accounting.pld.pairs.pair import LossPair
from dpcheck.accounting.renyi.divergence import ROUND_UP
from dpcheck.accounting.renyi.moments import Floats
from dpcheck.numerics.side import Side

# Floats resolve e^epsilon along a curve up to this one, where its table ends.
LAST = 300.0


@dataclass(frozen=True, slots=True)
class GaussianObjectiveLoss(Loss):
    """Objective perturbation with Gaussian noise: one record replaced, or one made null.

    A record of slope s in (0, 1) moves the noise by at most s `shift` standard deviations, and the
    determinants by a factor of at most 1 + s(1-s) `curvature`. `pld.pairs.objective` has the proofs.
    """

    shift: float
    curvature: float
    replaced: bool
    lattice_sides: ClassVar[tuple[Side, ...]] = ABOVE
    endless: ClassVar[bool] = True

    @property
    def bend(self) -> float:
        """What determinants cost at most, rounded up: s(1-s) <= 1/4."""
        return math.log1p(self.curvature / 4) * ROUND_UP

    @property
    def steepness(self) -> float:
        """The largest shift."""
        return 2 * self.shift if self.replaced else self.shift

    def on_lattice(self, side: Side) -> bool:
        """From above, where the curve falls within the range of floats."""
        return side is Side.UPPER and self.bend + self.steepness < LAST

    def lattice(self, side: Side) -> LossPair:
        """That of its table."""
        return self.table().lattice(side)

    def table(self) -> FiniteLoss:
        """A table that bounds its losses from above."""
        from dpcheck.accounting.pld.pairs.objective import dominating

        return dominating(self)

    def no_worse(self, other: Loss) -> bool:
        """A smaller shift and smaller determinants."""
        return numbers_at_most(self, other)

    def renyi(self, orders: Floats) -> Floats:
        """L <= bend + max(0, l_1, ...), l_i Gaussian losses: the moments of all of them, added up."""
        a = orders - 1
        single = orders * a * self.shift**2 / 2
        terms = [np.zeros_like(orders), single]
        if self.replaced:
            terms += [single, 4 * single]
        moment = np.logaddexp.reduce(np.array(terms), axis=0)
        return np.asarray((self.bend + moment / a) * ROUND_UP)
