"""Pure differential privacy: the largest loss of a pair, added up along a composition."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache, singledispatch

import numpy as np
from flint import arb

from dpcheck.accounting import losses
from dpcheck.accounting.accountants.interface import Accountant, AccountingMethod
from dpcheck.accounting.losses import Loss, Parts
from dpcheck.numerics.balls import above, below, precision
from dpcheck.numerics.enclose import enclose, enclose_quotient


@singledispatch
def largest_loss(loss: Loss) -> tuple[float, float]:
    """(lower, upper) around sup |log P/Q|; infinite where the loss has no bound.

    Guarantee: encloses the supremum.
    """
    return math.inf, math.inf  # Gaussians and everything built on them: tails without end


@largest_loss.register
def _(loss: losses.LaplaceLoss) -> tuple[float, float]:
    return loss.ratio, loss.ratio


@largest_loss.register
def _(loss: losses.DiscreteLaplaceLoss) -> tuple[float, float]:
    return enclose_quotient(loss.shift, loss.scale)


@largest_loss.register
def _(loss: losses.ResponseLoss) -> tuple[float, float]:
    return (math.inf, math.inf) if loss.delta > 0 else (loss.epsilon, loss.epsilon)


@largest_loss.register
def _(loss: losses.BoundedLoss) -> tuple[float, float]:
    return loss.attained, loss.epsilon


@largest_loss.register
def _(loss: losses.BoundedRangeLoss) -> tuple[float, float]:
    return loss.epsilon, loss.epsilon  # attained in the limit of many candidates


@largest_loss.register
def _(loss: losses.FiniteLoss) -> tuple[float, float]:
    p, q = np.asarray(loss.p), np.asarray(loss.q)
    if loss.one_sided:
        return math.inf, math.inf
    seen = p > 0
    with precision(80):
        worst = [abs((arb(a) / arb(b)).log()) for a, b in zip(p[seen], q[seen], strict=True)]
        return max(max(0.0, below(w)) for w in worst), max(above(w) for w in worst)


@largest_loss.register
def _(loss: losses.LatticeMassLoss) -> tuple[float, float]:
    # A bound from above: nothing is known to be attained.
    tops = []
    for first, masses, infinite in (
        (loss.first, loss.masses, loss.infinite),
        loss.added or (loss.first, loss.masses, loss.infinite),
    ):
        last = max((i for i, mass in enumerate(masses) if mass > 0), default=0)
        tops.append(max((first + last) * loss.step, loss.most if infinite > 0 else 0.0, 0.0))
    return 0.0, math.nextafter(max(tops), math.inf)


@largest_loss.register
def _(loss: losses.SampledLaplaceLoss) -> tuple[float, float]:
    # [Balle2018] Theorem 8: log(1 + q(e^r - 1)), the larger of the two directions.
    with precision(80):
        ball = (1 + arb(loss.rate) * arb(loss.ratio).expm1()).log()
        return below(ball), above(ball)


@largest_loss.register
def _(loss: losses.ReplacedSampleLoss) -> tuple[float, float]:
    if isinstance(loss.base, losses.GaussianLoss):
        return math.inf, math.inf
    attained = largest_loss(losses.OppositeSampleLoss(loss.base, loss.rate))[0]
    with precision(80):
        # [Balle2018] Theorem 2 (advanced joint convexity) with the two records 2r apart.
        return attained, above((1 + arb(loss.rate) * (2 * arb(loss.base.ratio)).expm1()).log())


@largest_loss.register
def _(loss: losses.OppositeSampleLoss) -> tuple[float, float]:
    if isinstance(loss.base, losses.GaussianLoss):
        return math.inf, math.inf
    with precision(80):
        q, r = arb(loss.rate), arb(loss.base.ratio)
        ball = (1 + q * r.expm1()).log() - (1 + q * (-r).expm1()).log()
        return below(ball), above(ball)


@largest_loss.register
def _(loss: losses.GroupedLoss) -> tuple[float, float]:
    lower, upper = largest_loss(loss.inner)
    return lower, math.nextafter(upper * loss.size, math.inf)


@largest_loss.register
def _(loss: losses.CoinLoss) -> tuple[float, float]:
    bounds = [largest_loss(option) for share, option in loss.options if share > 0]
    return max(low for low, _ in bounds), max(high for _, high in bounds)


@largest_loss.register
def _(loss: losses.SampledLoss) -> tuple[float, float]:
    # [Balle2018] Theorem 8 above; one direction is attained, and backwards is the smaller one.
    lower, upper = composed_largest_loss(loss.inner)
    if math.isinf(upper):
        return (math.inf if math.isinf(lower) else 0.0), math.inf
    with precision(80):
        least = -(1 + arb(loss.rate) * (-arb(lower)).expm1()).log()
        if upper > 1e8:  # sampling never costs more; balls of e^upper would fill the memory
            return max(below(least), 0.0), upper
        most = (1 + arb(loss.rate) * arb(upper).expm1()).log()
        return max(below(least), 0.0), above(most)


@largest_loss.register
def _(loss: losses.WorstLoss) -> tuple[float, float]:
    bounds = [composed_largest_loss(option) for option in loss.options]
    return max(low for low, _ in bounds), max(high for _, high in bounds)


@largest_loss.register
def _(loss: losses.SelectedLoss) -> tuple[float, float]:
    # [Papernot2022] Corollary 3: (2 + shape) eps, or [Liu2019]'s 3 eps for geometric stopping.
    lower, upper = composed_largest_loss(loss.inner)
    if math.isinf(upper):
        return lower, upper
    return lower, enclose((2 + Fraction(loss.shape)) * Fraction(upper))[1]


@largest_loss.register
def _(loss: losses.PoissonSelectedLoss) -> tuple[float, float]:
    # f'(F_P)/f'(F_Q) = e^{mean (F_P - F_Q)} beside the ratio of one run (see `selected`), and F_P - F_Q is at
    # most the total variation, tanh(eps/2) [Kairouz2017, Theorem 3.1].
    lower, upper = composed_largest_loss(loss.inner)
    apart = -math.expm1(-upper) / (1 + math.exp(-upper))
    return lower, math.nextafter(upper + loss.mean * apart * (1 + 1e-12), math.inf)


@lru_cache(maxsize=512)
def composed_largest_loss(parts: Parts) -> tuple[float, float]:
    """Suprema of independent losses add, so basic composition is exact at delta = 0."""
    low = high = Fraction(0)
    for loss, times in parts:
        lower, upper = largest_loss(loss)
        if math.isinf(upper):
            return (math.inf, math.inf) if math.isinf(lower) else (lower, math.inf)
        low, high = low + Fraction(lower) * times, high + Fraction(upper) * times
    down, up = _near(low), _near(high)
    # Exact sums rounded once: step outward only where the float is on the wrong side.
    return (
        down if math.isfinite(down) and Fraction(down) <= low else math.nextafter(down, 0.0),
        up if math.isinf(up) or Fraction(up) >= high else math.nextafter(up, math.inf),
    )


def _near(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        return math.inf


class PureAccountant(Accountant):
    """Basic composition of largest losses."""

    method = AccountingMethod.PURE

    def supports(self, parts: Parts) -> bool:
        """Whether every loss is bounded."""
        return math.isfinite(composed_largest_loss(parts)[1])

    def epsilon(self, parts: Parts, delta: float) -> float:  # noqa: ARG002
        """The sum of the largest losses, at any delta."""
        return composed_largest_loss(parts)[1]

    def delta(self, parts: Parts, epsilon: float) -> float:
        """Nothing is left beyond the largest loss; below it this accountant knows nothing."""
        return 0.0 if composed_largest_loss(parts)[1] <= epsilon else 1.0

    def epsilon_lower(self, parts: Parts, delta: float) -> float:
        """Exact at delta 0; above it only what is not private at all is known."""
        if delta <= 0:
            return composed_largest_loss(parts)[0]
        return math.inf if _unbounded(parts) else 0.0

    def delta_lower(self, parts: Parts, epsilon: float) -> float:  # noqa: ARG002
        """1 for what is not private at all."""
        return 1.0 if _unbounded(parts) else 0.0


def _unbounded(parts: Parts) -> bool:
    return any(isinstance(loss, losses.UnboundedLoss) for loss, _ in parts)
