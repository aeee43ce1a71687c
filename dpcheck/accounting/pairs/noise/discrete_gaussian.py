"""Integer noise with the weights of a Gaussian."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from flint import arb

from dpcheck.accounting.pairs.noise.discrete_laplace import MAX_ATOMS
from dpcheck.accounting.pairs.pair import BOTH, Loss
from dpcheck.accounting.pld.pairs.atomic import AtomicPair
from dpcheck.accounting.pld.pairs.atoms import Atoms
from dpcheck.accounting.pld.pairs.pair import LossPair
from dpcheck.accounting.pld.verify.curves import Outcomes
from dpcheck.accounting.pld.verify.refusals import too_much
from dpcheck.accounting.renyi.discrete import discrete_gaussian_divergence
from dpcheck.accounting.renyi.moments import Floats
from dpcheck.core.data import Plain
from dpcheck.core.errors import CannotCertify
from dpcheck.numerics.rounding import UNIT
from dpcheck.numerics.side import Side


@dataclass(frozen=True, slots=True)
class DiscreteGaussianLoss(Loss):
    """Integer noise with mass proportional to exp(-x^2/(2 scale^2)), moved by `shift`."""

    scale: float
    shift: int
    moments_checked: ClassVar[bool] = True
    sideless: ClassVar[bool] = True
    listed: ClassVar[bool] = True
    lattice_sides: ClassVar[tuple[Side, ...]] = BOTH
    endless: ClassVar[bool] = True

    def concentration(self) -> float:
        """That of the Gaussian: [Canonne2020] Proposition 5."""
        return (self.shift / self.scale) ** 2 / 2

    @property
    def steepness(self) -> float:
        """The shift over the scale."""
        return abs(self.shift) / self.scale

    def lattice(self, side: Side) -> LossPair:  # noqa: ARG002
        """Value by value."""
        scale, shift = self.scale, abs(self.shift)
        reach = math.ceil(38.0 * scale) + 2
        if 2 * reach + shift > MAX_ATOMS:
            raise CannotCertify(
                f"discrete Gaussian noise of scale {scale:g} has too many values to list within memory; "
                "its Renyi bound is that of the Gaussian: ask for it with method='rdp'.",
                scale=scale,
            )
        x = np.arange(-reach, reach + shift + 1, dtype=np.float64)
        weight = np.exp(-((x / scale) ** 2) / 2)
        other = np.exp(-(((x - shift) / scale) ** 2) / 2)
        # In blocks that are added exactly: a sum of n numbers errs by at most n units of itself.
        centred = weight[: 2 * reach + 1]
        total = math.fsum(np.add.reduceat(centred, np.arange(0, len(centred), 1024)))
        known = shift * (2 * x - shift) / (2 * scale**2)
        # Exponents up to 745, beyond which e^-x is no float, err by 3 units of themselves, the sum by 1024;
        # what is no normal float errs by less than the 1e-300 that counts as infinite; tails beyond 38
        # scales are below 1e-313.
        atoms = Atoms(other / total, weight / total, 4096 * UNIT, known)
        return AtomicPair(atoms, 1e-300, shift / scale**2)

    def outcomes(self) -> Outcomes:
        """Values within 40 scales of both centres; beyond lies less than e^-800."""
        scale, shift = self.scale, abs(self.shift)
        reach = math.ceil(40 * scale) + 2
        if 2 * reach + shift > 200_000:
            raise too_much(f"discrete Gaussian noise of scale {scale:g} has too many values")
        wide = 2 * arb(scale) ** 2
        weight = [(-arb(x * x) / wide).exp() for x in range(reach + shift + 1)]
        # The sum beyond `reach` is at most twice the integral from there on, below 3 scales e^-800.
        total = 2 * sum(weight[1 : reach + 1], arb(0)) + 1
        total = total.union(total + 3 * arb(scale) * (-arb(800)).exp())
        places = range(-reach, reach + shift + 1)
        p, q = ([weight[abs(x - at)] / total for x in places] for at in (shift, 0))
        return Outcomes(p, q, rest=1e-300)

    def stated(self) -> dict[str, Plain]:
        """Scale and shift."""
        return {"kind": "discrete-gaussian", "scale": self.scale, "shift": abs(self.shift)}

    def renyi(self, orders: Floats) -> Floats:
        """That of the Gaussian, less what whole numbers leave out."""
        return discrete_gaussian_divergence(self, orders, Side.UPPER)

    def renyi_lower(self, orders: Floats) -> Floats:
        """The same from below."""
        return discrete_gaussian_divergence(self, orders, Side.LOWER)
