"""Gaussian noise on a Poisson sample, and on whatever of a person's records chance adds up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dpcheck.accounting.pairs.noise.gaussian import NORMAL_PEAK
from dpcheck.accounting.pairs.pair import Loss, numbers_at_most, rounded_sum
from dpcheck.accounting.pld.pairs.mixtures import Mixture, NormalPair
from dpcheck.accounting.pld.pairs.pair import LossPair
from dpcheck.accounting.renyi.divergence import ROUND_DOWN, ROUND_UP
from dpcheck.accounting.renyi.moments import LEAST_WEIGHT, Floats, log_sum_exp, mixture_log_moments
from dpcheck.core.data import Plain
from dpcheck.numerics.side import Side


@dataclass(frozen=True, slots=True)
class GaussianMixtureLoss(Loss):
    """P = sum_j weights_j N(shifts_j, 1) + (1 - sum weights) N(0, 1), Q = N(0, 1).

    One Poisson-sampled Gaussian is shifts (mu,), weights (rate,). `backwards` swaps P and Q.
    """

    shifts: tuple[float, ...]
    weights: tuple[float, ...]
    backwards: bool = False
    sideless: ClassVar[bool] = True
    smooth: ClassVar[bool] = True
    endless: ClassVar[bool] = True

    def reversed(self) -> Loss:
        """The other direction."""
        return replace(self, backwards=not self.backwards)

    def variation(self) -> float:
        """Neighbours differ only if something is drawn, and then by no more than that."""
        parts = zip(self.shifts, self.weights, strict=True)
        return rounded_sum(weight * min(NORMAL_PEAK * abs(shift), 1.0) for shift, weight in parts)

    @property
    def steepness(self) -> float:
        """The largest shift."""
        return max(map(abs, self.shifts), default=0.0)

    def on_lattice(self, side: Side) -> bool:  # noqa: ARG002
        """On both sides, where all shifts go one way: then the loss grows along the line."""
        return all(shift >= 0 for shift in self.shifts) or all(shift <= 0 for shift in self.shifts)

    def lattice(self, side: Side) -> LossPair:  # noqa: ARG002
        """Shifts of 0 belong to the unshifted part; mirroring the line makes all others positive."""
        parts = zip(self.shifts, self.weights, strict=True)
        kept = [(abs(m), w) for m, w in parts if m != 0 and w > 0]
        means, weights = tuple(m for m, _ in kept), tuple(w for _, w in kept)
        if self.backwards:
            return NormalPair(Mixture(), Mixture(tuple(-m for m in means), weights))
        return NormalPair(Mixture(means, weights), Mixture())

    def parameters(self) -> tuple[float, ...]:
        """Shift and rate of a single record."""
        return (self.shifts[0], self.weights[0]) if len(self.shifts) == 1 else ()

    def with_parameters(self, values: Sequence[float]) -> GaussianMixtureLoss:
        """Another shift and rate."""
        return replace(self, shifts=(values[0],), weights=(values[1],))

    def no_worse(self, other: Loss) -> bool:
        """Shifts and weights that are no larger: the rest of the time nothing is drawn."""
        return numbers_at_most(self, other)

    def stated(self) -> dict[str, Plain] | None:
        """One shift."""
        if len(self.shifts) != 1 or self.backwards:
            return None
        return {"kind": "gaussian", "shift": self.shifts[0], "rate": self.weights[0]}

    def renyi(self, orders: Floats) -> Floats:
        """From the moments of the mixture."""
        # One shift: the direction with the mixture on top is the larger one [Mironov2019, Theorem 5].
        weights, total = self.weights, math.fsum(self.weights)
        if 0 < total < LEAST_WEIGHT:
            weights = tuple(weight * (LEAST_WEIGHT / total * (1 + 1e-12)) for weight in weights)
        moments = np.add(*mixture_log_moments(self.shifts, weights, tuple(orders.tolist())))
        if len(self.shifts) > 1:
            back = mixture_log_moments(self.shifts, weights, tuple((1 - orders).tolist()))
            moments = np.maximum(moments, np.add(*back))
        if not np.isfinite(moments).all():  # too long a sum
            moments = np.where(np.isfinite(moments), moments, _convex_mixture_moments(self, orders))
        return np.asarray(moments / (orders - 1) * ROUND_UP)

    def renyi_lower(self, orders: Floats) -> Floats:
        """The same from below."""
        exponents = 1 - orders if self.backwards else orders
        moments, errors = mixture_log_moments(self.shifts, self.weights, tuple(exponents.tolist()))
        known = np.isfinite(moments) & np.isfinite(errors)
        least = np.where(known, moments, 0.0) - np.where(known, errors, 0.0)
        return np.maximum(least / (orders - 1) * ROUND_DOWN, 0.0)


def _convex_mixture_moments(loss: GaussianMixtureLoss, orders: Floats) -> Floats:
    """log((1-w) + sum_j w_j e^{a (a-1) s_j^2/2}), w = sum_j w_j: x^a and x^(1-a) are convex, so the mixture's
    moments, of either direction, are at most the mixture of the moments.
    """
    shifts, weights = np.asarray(loss.shifts), np.asarray(loss.weights)
    rest = max(1 - math.fsum(loss.weights), 1e-300)
    terms = np.log(weights) + (orders * (orders - 1) / 2)[:, None] * shifts**2
    moment = np.logaddexp(math.log(rest), log_sum_exp(terms))
    return np.maximum(moment, 0.0) * (1 + 1e-12) + 1e-12
