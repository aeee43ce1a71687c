"""A whole composition on one Poisson sample."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from flint import arb

from dpcheck.accounting.pairs.pair import (
    Loss,
    Parts,
    composed_largest_loss,
    composed_variation,
    rounded_sum,
)
from dpcheck.accounting.pld.built import build
from dpcheck.accounting.pld.measures import measure, sampled_atoms, sampled_pair
from dpcheck.accounting.pld.pairs.atomic import AtomicPair
from dpcheck.accounting.pld.pairs.pair import LossPair
from dpcheck.accounting.renyi.amplified import LARGEST_ORDER, amplified
from dpcheck.accounting.renyi.divergence import composed_renyi
from dpcheck.accounting.renyi.moments import Floats
from dpcheck.numerics.balls import above, below, precision
from dpcheck.numerics.side import Side


@dataclass(frozen=True, slots=True)
class SampledLoss(Loss):
    """A composition on one Poisson sample: P = (1-rate) Q0 + rate P0, Q = Q0, (P0, Q0) the composition's."""

    inner: Parts
    rate: float
    backwards: bool = False

    def reversed(self) -> Loss:
        """The other direction."""
        return replace(self, backwards=not self.backwards)

    def largest(self) -> tuple[float, float]:
        """[Balle2018] Theorem 8 above; one direction is attained, and backwards is the smaller one."""
        lower, upper = composed_largest_loss(self.inner)
        if math.isinf(upper):
            return (math.inf if math.isinf(lower) else 0.0), math.inf
        with precision(80):
            least = -(1 + arb(self.rate) * (-arb(lower)).expm1()).log()
            if upper > 1e8:  # sampling never costs more; balls of e^upper would fill the memory
                return max(below(least), 0.0), upper
            most = (1 + arb(self.rate) * arb(upper).expm1()).log()
            return max(below(least), 0.0), above(most)

    def variation(self) -> float:
        """Neighbours differ only if the record is drawn."""
        return rounded_sum((self.rate * composed_variation(self.inner),))

    def on_lattice(self, side: Side) -> bool:
        """Where all parts are."""
        return all(part.on_lattice(side) for part, _ in self.inner)

    def lattice(self, side: Side) -> LossPair:
        """From the whole measure of what is inside, or outcome by outcome where all are listed."""
        ways = [(p.reversed() if self.backwards else p, times) for p, times in self.inner]
        inner = [(build(part, side), times) for part, times in ways]
        (first, _), (one, times) = self.inner[0], inner[0]
        if len(inner) == times == 1 and first.listed and isinstance(one, AtomicPair):
            return sampled_atoms(one, self.rate, backwards=self.backwards)
        return sampled_pair(measure(inner, side), self.rate, side, backwards=self.backwards)

    def renyi(self, orders: Floats) -> Floats:
        """Amplified, and never more than without sampling."""
        # (1-q) Q + q P against Q: x^a is convex, so its moment is at most 1 - q + q E_Q (P/Q)^a; likewise
        # backwards, where x^(1-a) is. Never more than without sampling.
        whole = composed_renyi(self.inner, orders)
        with np.errstate(over="ignore"):
            moment = np.log1p(self.rate * np.expm1(np.minimum((orders - 1) * whole, 700.0)))
        bound = np.where((orders - 1) * whole < 700.0, moment / (orders - 1) * (1 + 1e-12), whole)
        bound = np.minimum(bound, whole)
        if self.rate < 1 and any(part.by_curve for part, _ in self.inner):
            curve = composed_renyi(self.inner, np.arange(2.0, LARGEST_ORDER + 1))
            bound = np.minimum(bound, amplified(self.rate, curve, orders))
        return np.asarray(bound)
