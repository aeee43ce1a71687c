"""A Poisson-sampled record is replaced, whatever the noise: from above and from below."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from flint import arb

from dpcheck.accounting.pairs.noise.gaussian import GaussianLoss
from dpcheck.accounting.pairs.noise.laplace import LaplaceLoss
from dpcheck.accounting.pairs.pair import ABOVE, ENDLESS, Loss, rounded_sum
from dpcheck.accounting.pld.pairs.mixtures import LaplacePair, Mixture, NormalPair
from dpcheck.accounting.pld.pairs.pair import LossPair
from dpcheck.accounting.pld.pairs.symmetric import ReplacedSamplePair
from dpcheck.accounting.renyi.moments import Floats
from dpcheck.accounting.renyi.sampled import interpolated, replaced_moment
from dpcheck.numerics.balls import above, below, precision
from dpcheck.numerics.side import Side


@dataclass(frozen=True, slots=True)
class ReplacedSampleLoss(Loss):
    """A Poisson-sampled record is replaced: mixtures (1-rate) M0 + rate M1 against M1' in its place.

    `base` is the loss (GaussianLoss or LaplaceLoss) of one record against none; M1 and M1' are twice
    as far apart. Known by upper bounds only.
    """

    base: GaussianLoss | LaplaceLoss
    rate: float
    lattice_sides: ClassVar[tuple[Side, ...]] = ABOVE

    def largest(self) -> tuple[float, float]:
        """[Balle2018] Theorem 2 (advanced joint convexity) with the two records twice as far apart."""
        if self.base.normal:
            return ENDLESS
        attained = OppositeSampleLoss(self.base, self.rate).largest()[0]
        with precision(80):
            apart = (2 * arb(self.base.steepness)).expm1()
            return attained, above((1 + arb(self.rate) * apart).log())

    def variation(self) -> float:
        """Neighbours differ only if the record is drawn."""
        return rounded_sum((self.rate * min(2 * self.base.variation(), 1.0),))

    @property
    def steepness(self) -> float:
        """That of one record."""
        return self.base.steepness

    def lattice(self, side: Side) -> LossPair:  # noqa: ARG002
        """By advanced joint convexity."""
        return ReplacedSamplePair(self.base.steepness, self.rate, normal=self.base.normal)

    def renyi(self, orders: Floats) -> Floats:
        """From the moments at whole orders."""
        return interpolated(lambda order: replaced_moment(self, order), orders)


@dataclass(frozen=True, slots=True)
class OppositeSampleLoss(Loss):
    """The pair (1-rate) M(0) + rate M(+1) against (1-rate) M(0) + rate M(-1) on the line.

    One of the pairs ReplacedSampleLoss covers, so a lower bound for it.
    """

    base: GaussianLoss | LaplaceLoss
    rate: float

    def largest(self) -> tuple[float, float]:
        """Attained beyond the outermost centres."""
        if self.base.normal:
            return ENDLESS
        with precision(80):
            q, r = arb(self.rate), arb(self.base.steepness)
            ball = (1 + q * r.expm1()).log() - (1 + q * (-r).expm1()).log()
            return below(ball), above(ball)

    @property
    def steepness(self) -> float:
        """That of one record."""
        return self.base.steepness

    def on_lattice(self, side: Side) -> bool:
        """From below."""
        return side is Side.LOWER

    def lattice(self, side: Side) -> LossPair:  # noqa: ARG002
        """Two mirrored mixtures."""
        mean, kind = self.base.steepness, NormalPair if self.base.normal else LaplacePair
        return kind(Mixture((mean,), (self.rate,)), Mixture((-mean,), (self.rate,)))
