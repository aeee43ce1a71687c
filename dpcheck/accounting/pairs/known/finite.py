"""Outcomes that are listed in a table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from flint import arb

from dpcheck.accounting.pairs.pair import BOTH, ENDLESS, Loss
from dpcheck.accounting.pld.pairs.atomic import AtomicPair
from dpcheck.accounting.pld.pairs.atoms import Atoms, common_span
from dpcheck.accounting.pld.pairs.pair import LossPair
from dpcheck.accounting.pld.verify.curves import Outcomes
from dpcheck.accounting.renyi.discrete import finite_moment
from dpcheck.accounting.renyi.moments import Floats
from dpcheck.numerics.balls import above, below, precision
from dpcheck.numerics.rounding import UNIT, Array
from dpcheck.numerics.side import Side


@dataclass(frozen=True, slots=True)
class FiniteLoss(Loss):
    """Two tables of masses over the same outcomes."""

    p: tuple[float, ...]
    q: tuple[float, ...]
    sideless: ClassVar[bool] = True
    few_outcomes: ClassVar[bool] = True
    lattice_sides: ClassVar[tuple[Side, ...]] = BOTH

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

    def variation(self) -> float:
        """The larger excess, exactly; what a table lacks may be anywhere."""
        found = 0.0
        for one, other in ((self.p, self.q), (self.q, self.p)):
            more = [x for a, b in zip(one, other, strict=True) if a > b for x in (a, -b)]
            lack = [1.0, *(-a for a in one)]
            terms = more + lack if math.fsum(lack) > 0 else more
            total = math.fsum(terms)
            if math.fsum((*terms, -total)) > 0:  # it was rounded down
                total = math.nextafter(total, math.inf)
            found = max(found, total)
        return min(found, 1.0)

    def lattice(self, side: Side) -> LossPair:  # noqa: ARG002
        """Outcome by outcome."""
        p, q = np.array(self.p), np.array(self.q)
        lack = 1.0 - math.fsum(self.p)
        # A lack within the rounding of the table is no outcome of its own.
        rest = lack if lack > 4 * len(p) * UNIT else 0.0
        atoms = Atoms(p, q, 4 * UNIT)
        return AtomicPair(atoms, rest, common_span(atoms.losses()))

    def outcomes(self) -> Outcomes:
        """Those of the table; what P alone has is certain, what it lacks is a rest."""
        seen = [(arb(a), arb(b)) for a, b in zip(self.p, self.q, strict=True) if a > 0]
        certain = sum((a for a, b in seen if b == 0), arb(0))
        known = [(a, b) for a, b in seen if b != 0]
        lack = 1.0 - math.fsum(self.p)
        # Tables that add up to 1 but for the rounding of their entries are whole.
        rest = lack if lack > 4 * len(self.p) * UNIT else 0.0
        return Outcomes([a for a, _ in known], [b for _, b in known], certain, rest)

    def drawn(self, size: int, rng: np.random.Generator) -> Array:
        """By the table."""
        ratios = [
            math.inf if b == 0 else math.log(a / b) if a > 0 else 0.0
            for a, b in zip(self.p, self.q, strict=True)
        ]
        chances = np.array(self.p) / math.fsum(self.p)
        return np.array(ratios)[rng.choice(len(self.p), size, p=chances)]

    @property
    def revealed(self) -> float:
        """Outcomes of the table that Q has never."""
        return min(1.0, math.fsum(a for a, b in zip(self.p, self.q, strict=True) if b == 0))

    def shrunk(self, share: float) -> FiniteLoss:
        """A pair that every pair of tables contains whose masses are these within a relative `share`.

        Outcomes likelier under P keep their least p and their most q, those likelier under Q the other way
        around, and what is left is one outcome of equal mass on both sides. The larger of the two excesses
        is lowered to the smaller one, so that this is possible. For every epsilon >= 0 and in both
        directions the sum of (p - e^epsilon q)+ is then at most the true one, term by term, so that the
        pair is a garbling of the true one (Blackwell).
        """
        less, more = 1 - share, 1 + share
        ahead = [
            (a * less, b * more) for a, b in zip(self.p, self.q, strict=True) if a * less > b * more
        ]
        behind = [
            (a * more, b * less) for a, b in zip(self.p, self.q, strict=True) if b * less > a * more
        ]
        gained, lost = math.fsum(a - b for a, b in ahead), math.fsum(b - a for a, b in behind)
        excess = min(gained, lost)
        if excess <= 0:
            return FiniteLoss((1.0,), (1.0,))
        ahead = [(b + (a - b) * (excess / gained), b) for a, b in ahead]
        behind = [(a, a + (b - a) * (excess / lost)) for a, b in behind]
        kept = [*ahead, *behind]
        # Multiplied by less than 1, a garbling too, where rounding outward left more than 1.
        total = max(math.fsum(a for a, _ in kept), math.fsum(b for _, b in kept), less)
        shrink = less / total
        kept = [(a * shrink, b * shrink) for a, b in kept]
        rest = max(0.0, 1 - max(math.fsum(a for a, _ in kept), math.fsum(b for _, b in kept)))
        return FiniteLoss((*(a for a, _ in kept), rest), (*(b for _, b in kept), rest))

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
