"""Total variation: how often two neighbouring outputs can differ at all.

delta(0) is the total variation distance of a pair. Distances of independent outputs add at most up, so where
the sum of all steps is at most delta, epsilon is 0: sampling at a rate far below delta, whatever the noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import singledispatch

from dpcheck.accounting import losses
from dpcheck.accounting.accountants.interface import Accountant, AccountingMethod
from dpcheck.accounting.accountants.pure import largest_loss
from dpcheck.accounting.losses import Loss, Parts
from dpcheck.numerics.rounding import TINY

# 1/sqrt(2 pi), the largest density of the normal law, rounded up.
_NORMAL_PEAK = 0.3990
# Products and sums below err by a few units each; this is 9,000 of them.
_ROUND_UP = 1 + 1e-12


@singledispatch
def variation(loss: Loss) -> float:
    """A bound on the total variation distance of a pair, at most 1.

    Guarantee: never below it. With no loss above eps it is at most tanh(eps/2) <= eps/2, attained by
    randomized response [Kairouz2017, Theorem 3.1].
    """
    return min(largest_loss(loss)[1] / 2 * _ROUND_UP, 1.0)


@variation.register
def _(loss: losses.GaussianLoss) -> float:
    # P(|Z| <= mu/2) <= mu / sqrt(2 pi).
    return min(_NORMAL_PEAK * loss.mu, 1.0)


# Below, neighbours differ only if the record is drawn, and then by no more than what is drawn.


@variation.register
def _(loss: losses.GaussianMixtureLoss) -> float:
    parts = zip(loss.shifts, loss.weights, strict=True)
    return _rounded(weight * min(_NORMAL_PEAK * abs(shift), 1.0) for shift, weight in parts)


@variation.register
def _(loss: losses.OppositeMixtureLoss) -> float:
    parts = zip(loss.shifts, loss.weights, strict=True)
    return _rounded(weight * min(2 * _NORMAL_PEAK * abs(shift), 1.0) for shift, weight in parts)


@variation.register
def _(loss: losses.SampledLaplaceLoss) -> float:
    return _rounded((loss.rate * min(loss.ratio / 2, 1.0),))


@variation.register
def _(loss: losses.ReplacedSampleLoss) -> float:
    return _rounded((loss.rate * min(2 * variation(loss.base), 1.0),))


@variation.register
def _(loss: losses.WithoutReplacementLoss) -> float:
    return _rounded((loss.rate * min(_NORMAL_PEAK * loss.mu, 1.0),))


@variation.register
def _(loss: losses.SampledLoss) -> float:
    return _rounded((loss.rate * composed_variation(loss.inner),))


@variation.register
def _(loss: losses.CoinLoss) -> float:
    return _rounded(share * variation(option) for share, option in loss.options)


def composed_variation(parts: Parts) -> float:
    """A bound on the distance of a composition: at most the sum."""
    return _rounded(times * variation(loss) for loss, times in parts)


def _rounded(terms: Iterable[float]) -> float:
    # TINY: a product may have underflowed, and at delta = 0 that would say that nothing is spent.
    return min(math.fsum(terms) * _ROUND_UP + TINY, 1.0)


class VariationAccountant(Accountant):
    """epsilon 0 where the total variation is within delta; nothing elsewhere."""

    method = AccountingMethod.VARIATION

    def supports(self, parts: Parts) -> bool:  # noqa: ARG002
        """Every pair has a distance."""
        return True

    def epsilon(self, parts: Parts, delta: float) -> float:
        """0 or infinite."""
        return 0.0 if composed_variation(parts) <= delta else math.inf

    def delta(self, parts: Parts, epsilon: float) -> float:  # noqa: ARG002
        """The distance: delta falls in epsilon."""
        return composed_variation(parts)
