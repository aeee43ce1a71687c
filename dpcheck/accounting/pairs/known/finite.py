"""Outcomes that are listed in a table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from flint import arb

from dpcheck.accounting.pairs.pair import ENDLESS, Loss
from dpcheck.accounting.pld.pairs.atomic import AtomicPair
from dpcheck.accounting.pld.pairs.atoms import Atoms, common_span
from dpcheck.accounting.pld.pairs.pair import LossPair
from dpcheck.accounting.renyi.discrete import finite_moment
from dpcheck.accounting.renyi.moments import Floats
from dpcheck.numerics.balls import above, below, precision
from dpcheck.numerics.rounding import UNIT
from dpcheck.numerics.side import Side


@dataclass(frozen=True, slots=True)
class FiniteLoss(Loss):
    """Two tables of masses over the same outcomes."""

    p: tuple[float, ...]
    q: tuple[float, ...]
    sideless: ClassVar[bool] = True
    few_outcomes: ClassVar[bool] = True

    @property
    def one_sided(self) -> bool:
        """Whether an outcome is seen on one side only; a lack of mass beyond rounding is one."""
        rounding = 4 * len(self.p) * 2.0**-53
        lack = max(1 - math.fsum(self.p), 1 - math.fsum(self.q))
        unmatched = any((a > 0) != (b > 0) for a, b in zip(self.p, self.q, strict=True))
        return unmatched or lack > rounding

    def reversed(self) -> Loss:
        """The tables swapped."""
        return FiniteLoss(self.q, self.p)

    def largest(self) -> tuple[float, float]:
        """The largest ratio."""
        if self.one_sided:
            return ENDLESS
        p, q = np.asarray(self.p), np.asarray(self.q)
        seen = p > 0
        with precision(80):
            worst = [abs((arb(a) / arb(b)).log()) for a, b in zip(p[seen], q[seen], strict=True)]
            return max(max(0.0, below(w)) for w in worst), max(above(w) for w in worst)

    def on_lattice(self, side: Side) -> bool:  # noqa: ARG002
        """On both sides."""
        return True

    def lattice(self, side: Side) -> LossPair:  # noqa: ARG002
        """Outcome by outcome."""
        p, q = np.array(self.p), np.array(self.q)
        lack = 1.0 - math.fsum(self.p)
        # A lack within the rounding of the table is no outcome of its own.
        rest = lack if lack > 4 * len(p) * UNIT else 0.0
        atoms = Atoms(p, q, 4 * UNIT)
        return AtomicPair(atoms, rest, common_span(atoms.losses()))

    def renyi(self, orders: Floats) -> Floats:
        """Summed outcome by outcome."""
        if self.one_sided:
            return np.full_like(orders, math.inf)
        forward, rounding = finite_moment(self, orders)
        backward, _ = finite_moment(FiniteLoss(self.q, self.p), orders)
        moment: Floats = np.maximum(np.maximum(forward, backward), 0.0)
        return np.asarray((moment + rounding) / (orders - 1))

    def renyi_lower(self, orders: Floats) -> Floats:
        """The same from below."""
        if self.one_sided:
            # Mass of P where Q has none; in the other direction nothing is claimed.
            unmatched = any(a > 0 and b == 0 for a, b in zip(self.p, self.q, strict=True))
            return np.full_like(orders, math.inf if unmatched else 0.0)
        moment, rounding = finite_moment(self, orders)
        return np.maximum((moment - rounding) / (orders - 1), 0.0)
