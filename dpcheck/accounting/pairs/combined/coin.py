"""A public coin picks the pair."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from flint import arb

from dpcheck.accounting.pairs.pair import Loss, rounded_sum
from dpcheck.accounting.pld.built import build
from dpcheck.accounting.pld.pairs.coin import CoinPair
from dpcheck.accounting.pld.pairs.pair import LossPair
from dpcheck.accounting.pld.verify.curves import CoinCurve, Curve, curve_of
from dpcheck.accounting.renyi.moments import Floats, log_sum_exp
from dpcheck.numerics.side import Side


@dataclass(frozen=True, slots=True)
class CoinLoss(Loss):
    """A public coin picks one of several pairs: (probability, pair), probabilities rounded up."""

    options: tuple[tuple[float, Loss], ...]

    def reversed(self) -> Loss:
        """The same coin, every pair reversed."""
        return CoinLoss(tuple((share, option.reversed()) for share, option in self.options))

    def largest(self) -> tuple[float, float]:
        """The largest of those that may be picked."""
        bounds = [option.largest() for share, option in self.options if share > 0]
        return max(low for low, _ in bounds), max(high for _, high in bounds)

    def variation(self) -> float:
        """The mean."""
        return rounded_sum(share * option.variation() for share, option in self.options)

    @property
    def steepness(self) -> float:
        """The steepest."""
        return max(option.steepness for _, option in self.options)

    def on_lattice(self, side: Side) -> bool:
        """From above, where all are."""
        return side is Side.UPPER and all(option.on_lattice(side) for _, option in self.options)

    def lattice(self, side: Side) -> LossPair:
        """The mean of the lattices."""
        return CoinPair([(share, build(option, side)) for share, option in self.options if share])

    def ball_curve(self, side: Side) -> Curve:
        """The weighted sum."""
        return CoinCurve([(arb(share), curve_of(option, side)) for share, option in self.options])

    def renyi(self, orders: Floats) -> Floats:
        """The mean of the moments."""
        # The coin is public: E (P/Q)^a is the mean of the options' moments.
        terms = [
            math.log(share) + (orders - 1) * option.renyi(orders)
            for share, option in self.options
            if share > 0
        ]
        moment = np.maximum(log_sum_exp(np.stack(terms, axis=-1)), 0.0)
        return np.asarray((moment * (1 + 1e-12) + 1e-14) / (orders - 1))
