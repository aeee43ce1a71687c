"""Integer noise with the weights of a Laplace law."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from flint import arb

from dpcheck.accounting.pairs.pair import BOTH, Loss
from dpcheck.accounting.pld.pairs.atomic import AtomicPair
from dpcheck.accounting.pld.pairs.atoms import Atoms
from dpcheck.accounting.pld.pairs.pair import LossPair
from dpcheck.accounting.pld.verify.curves import Outcomes
from dpcheck.accounting.renyi.discrete import discrete_laplace_moment
from dpcheck.accounting.renyi.divergence import ROUND_UP
from dpcheck.accounting.renyi.moments import Floats
from dpcheck.core.data import Plain
from dpcheck.core.errors import CannotCertify
from dpcheck.numerics.enclose import enclose_quotient
from dpcheck.numerics.rounding import UNIT
from dpcheck.numerics.side import Side

# Integer noise spread wider than this many values is refused.
MAX_ATOMS = 4_000_000


@dataclass(frozen=True, slots=True)
class DiscreteLaplaceLoss(Loss):
    """Integer noise with mass proportional to exp(-|x|/scale), moved by `shift`."""

    scale: float
    shift: int
    moments_checked: ClassVar[bool] = True
    sideless: ClassVar[bool] = True
    few_outcomes: ClassVar[bool] = True
    listed: ClassVar[bool] = True
    lattice_sides: ClassVar[tuple[Side, ...]] = BOTH

    def largest(self) -> tuple[float, float]:
        """The shift over the scale, attained beyond the two centres."""
        return enclose_quotient(self.shift, self.scale)

    def two_losses(self) -> float | None:
        """Between neighbouring integers there are two ratios."""
        return self.largest()[0] if abs(self.shift) == 1 else None

    @property
    def steepness(self) -> float:
        """The shift over the scale."""
        return abs(self.shift) / self.scale

    def lattice(self, side: Side) -> LossPair:  # noqa: ARG002
        """Value by value between the centres; beyond either the ratio is constant."""
        scale, shift = self.scale, abs(self.shift)
        # P is centred at `shift`: mass (1-a)/(1+a) a^|x - shift|, a = e^{-1/scale}.
        if shift + 1 > MAX_ATOMS:
            raise CannotCertify(
                f"a shift of {shift} has too many values to list within memory; the Renyi bound still "
                "holds: ask for it with method='rdp'.",
                shift=shift,
            )
        inner = np.arange(1, shift, dtype=np.float64)
        end = 1 / (1 + math.exp(-1 / scale))
        center = -math.expm1(-1 / scale) * end  # tanh(1/(2 scale))
        far = end * math.exp(-shift / scale)
        p = np.concatenate(([far], center * np.exp((inner - shift) / scale), [end]))
        q = np.concatenate(([end], center * np.exp(-inner / scale), [far]))
        known = np.concatenate(([-shift / scale], (2 * inner - shift) / scale, [shift / scale]))
        if shift == 0:
            p, q, known = np.ones(1), np.ones(1), np.zeros(1)
        return AtomicPair(Atoms(p, q, (48 + 4 * shift / scale) * UNIT, known), span=2 / scale)

    def outcomes(self) -> Outcomes:
        """Below 0 and above the shift the ratio is constant: one outcome each."""
        scale, shift = arb(self.scale), abs(self.shift)
        if shift == 0:
            return Outcomes([arb(1)], [arb(1)])
        ratio = (-1 / scale).exp()
        centre, end = (1 - ratio) / (1 + ratio), 1 / (1 + ratio)
        far = end * ratio**shift
        inner = [centre * ratio**k for k in range(1, shift)]
        return Outcomes([end, *inner, far], [far, *inner[::-1], end])

    def stated(self) -> dict[str, Plain]:
        """Scale and shift."""
        return {"kind": "discrete-laplace", "scale": self.scale, "shift": abs(self.shift)}

    def renyi(self, orders: Floats) -> Floats:
        """Summed value by value."""
        moment, rounding = discrete_laplace_moment(self, orders)
        largest = self.shift / self.scale * ROUND_UP
        return np.clip((moment + rounding) / (orders - 1), 0.0, largest)

    def renyi_lower(self, orders: Floats) -> Floats:
        """The same from below."""
        moment, rounding = discrete_laplace_moment(self, orders)
        return np.maximum((moment - rounding) / (orders - 1), 0.0)
