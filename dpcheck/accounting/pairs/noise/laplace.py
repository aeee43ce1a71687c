"""Laplace noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpcheck.accounting.pairs.pair import BOTH, Loss, numbers_at_most
from dpcheck.accounting.pld.pairs.mixtures import LaplacePair, Mixture
from dpcheck.accounting.pld.pairs.pair import LossPair
from dpcheck.accounting.renyi.divergence import ROUND_DOWN, ROUND_UP
from dpcheck.accounting.renyi.moments import Floats, exp_beyond_first
from dpcheck.core.data import Plain
from dpcheck.numerics.rounding import Array
from dpcheck.numerics.side import Side


@dataclass(frozen=True, slots=True)
class LaplaceLoss(Loss):
    """P = Laplace(ratio, 1), Q = Laplace(0, 1); ratio is sensitivity over scale."""

    ratio: float
    moments_checked: ClassVar[bool] = True
    sideless: ClassVar[bool] = True
    smooth: ClassVar[bool] = True
    normal: ClassVar[bool] = False
    lattice_sides: ClassVar[tuple[Side, ...]] = BOTH

    def largest(self) -> tuple[float, float]:
        """Attained beyond the two centres."""
        return self.ratio, self.ratio

    @property
    def laplace_ratio(self) -> float:
        """ratio."""
        return self.ratio

    @property
    def steepness(self) -> float:
        """ratio."""
        return self.ratio

    def lattice(self, side: Side) -> LossPair:  # noqa: ARG002
        """One shifted Laplace law."""
        return LaplacePair(Mixture((self.ratio,), (1.0,)), Mixture())

    def parameters(self) -> tuple[float, ...]:
        """The ratio."""
        return (self.ratio,)

    def with_parameters(self, values: Sequence[float]) -> LaplaceLoss:
        """Another ratio."""
        return LaplaceLoss(values[0])

    def no_worse(self, other: Loss) -> bool:
        """A smaller ratio is a larger one with noise added: Laplace laws are self-decomposable."""
        return numbers_at_most(self, other)

    def stated(self) -> dict[str, Plain]:
        """Laplace noise on what is always drawn."""
        return {"kind": "laplace", "shift": self.ratio, "rate": 1.0}

    def drawn(self, size: int, rng: np.random.Generator) -> Array:
        """Differences of two distances."""
        noise = rng.laplace(size=size)
        return np.asarray(np.abs(noise + self.ratio) - np.abs(noise))

    def shrunk(self, share: float) -> Loss:
        """A smaller ratio, of a few digits."""
        return LaplaceLoss(float(f"{self.ratio * (1 - share):.12g}") * (1 - share))

    def renyi(self, orders: Floats) -> Floats:
        """The closed form."""
        # [Mironov2017] Proposition 6, with its first-order terms, which cancel, left out.
        a, r = orders, self.ratio
        with np.errstate(over="ignore"):
            excess = a * exp_beyond_first((a - 1) * r) + (a - 1) * exp_beyond_first(-a * r)
            small = np.log1p(excess / (2 * a - 1))
        large = (
            (a - 1) * r + np.log(a / (2 * a - 1)) + np.log1p((a - 1) / a * np.exp((1 - 2 * a) * r))
        )
        moment = np.where((a - 1) * r > 600, large, small)
        return np.minimum(moment / (a - 1), r) * ROUND_UP * (1 + 1e-12)

    def renyi_lower(self, orders: Floats) -> Floats:
        """The same from below."""
        return self.renyi(orders) * ROUND_DOWN
