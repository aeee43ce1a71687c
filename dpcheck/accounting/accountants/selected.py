"""The best of a random number of runs, from the privacy curve of one run.

With f the generating function of the number of runs and x_P, x_Q the chances that a run is better than an
outcome y, that outcome is released with density f'(1 - x_P) P(y) or f'(1 - x_Q) Q(y) [Papernot2022, Lemma 7].
f' is largest at 1, where it is the mean m. For a truncated negative binomial f'(1 - x) is proportional to
(g + (1-g) x)^-(1+shape), g the stopping parameter. One run is (e, d)-DP, so x_Q <= e^e x_P + d, and

    f'(1 - x_P) / f'(1 - x_Q) = ((g + (1-g) x_Q) / (g + (1-g) x_P))^(1+shape) <= e^c,
    c = (1 + shape) max(e, log(1 + d (1-g)/g)),

since the bound on the ratio is monotone in x_P, from its value 1 + d (1-g)/g at 0 to its limit e^e. Hence
f'(1 - x_P) P - e^eps f'(1 - x_Q) Q <= f'(1 - x_P) (P - e^(eps - c) Q), and

    delta(eps) <= m delta_one(eps - c),    epsilon(delta) <= c + epsilon_one(delta / m).

Any (e, d) of one run will do. Reference: [Koskela2024].
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from dpcheck.accounting.accountants.distribution import DistributionAccountant
from dpcheck.accounting.accountants.gaussian import (
    GaussianAccountant,
    gaussian_mu,
    gdp_deltas,
)
from dpcheck.accounting.accountants.interface import Accountant, AccountingMethod
from dpcheck.accounting.accountants.pure import PureAccountant
from dpcheck.accounting.accountants.renyi import RenyiOptimal
from dpcheck.accounting.accountants.variation import composed_variation
from dpcheck.accounting.losses import LaplaceLoss, Parts, SelectedLoss
from dpcheck.accounting.renyi.divergence import log_expected_runs
from dpcheck.numerics.rounding import Array

# Costs of selection are searched for until the two terms of their maximum are this close, so many times.
BALANCED, TRIES = 2e-2, 4
# Sums, products and logarithms below err by a few units each; this is 4,500 of them.
_ROUND_UP = 1 + 1e-12


class SelectionAccountant(Accountant):
    """One selection, by the curve of one run; its composition is left to Renyi divergences."""

    method = AccountingMethod.SELECTION

    def supports(self, parts: Parts) -> bool:
        """Whether there is one selection and nothing else."""
        return len(parts) == 1 and parts[0][1] == 1 and isinstance(parts[0][0], SelectedLoss)

    def epsilon(self, parts: Parts, delta: float) -> float:
        """The cost of selecting and of one run at a smaller delta."""
        loss = parts[0][0]
        if delta <= 0 or not isinstance(loss, SelectedLoss):
            return math.inf
        runs = _runs(loss)
        smaller = delta / runs / _ROUND_UP
        one = _epsilon(loss.inner, smaller)
        return (one + _cost(loss, smaller, one)) * _ROUND_UP

    def delta(self, parts: Parts, epsilon: float) -> float:
        """The runs' deltas at what the cost of selecting leaves."""
        loss = parts[0][0]
        assert isinstance(loss, SelectedLoss)
        left = epsilon - _cost(loss, 0.5, _epsilon(loss.inner, 0.5)) * _ROUND_UP
        left = math.nextafter(left, -math.inf)
        runs = _runs(loss)
        if left <= 0 or math.isinf(runs):
            return 1.0
        return min(1.0, runs * _delta(loss.inner, left) * _ROUND_UP)


def _runs(loss: SelectedLoss) -> float:
    """The mean number of runs, from above; infinite beyond all floats."""
    log = log_expected_runs(loss.shape, loss.stop)
    return math.exp(log) * _ROUND_UP if log < 700 else math.inf


def _cost(loss: SelectedLoss, delta: float, epsilon: float) -> float:
    """c, searched for from one point of the curve of one run."""
    odds = (1 - loss.stop) / loss.stop
    # No loss beyond the largest: d = 0.
    best = PureAccountant().epsilon(loss.inner, 0.0)
    for _ in range(TRIES):
        found = max(epsilon, math.log1p(odds * delta))
        best = min(best, found)
        if math.isinf(epsilon) or found - min(epsilon, math.log1p(odds * delta)) <= BALANCED * best:
            break
        delta = _balanced(_gaussian_like(epsilon, delta), odds)
        epsilon = _epsilon(loss.inner, delta)
    return (1 + loss.shape) * best * _ROUND_UP


def _epsilon(parts: Parts, delta: float) -> float:
    """The least epsilon proved of one run."""
    if gaussian_mu(parts):
        return GaussianAccountant().epsilon(parts, delta)
    distribution, pure = DistributionAccountant(), PureAccountant().epsilon(parts, delta)
    found = distribution.epsilon(parts, delta) if distribution.supports(parts) else math.inf
    if math.isinf(found):
        found = RenyiOptimal().epsilon(parts, delta)
    return min(found, pure)


def _delta(parts: Parts, epsilon: float) -> float:
    """The least delta proved of one run."""
    if gaussian_mu(parts):
        return GaussianAccountant().delta(parts, epsilon)
    able = (DistributionAccountant(), PureAccountant(), RenyiOptimal())
    return min(one.delta(parts, epsilon) for one in able if one.supports(parts))


def _gaussian_like(epsilon: float, delta: float) -> float:
    """The shift of a Gaussian with that epsilon at that delta, about; for searching only."""
    low, high = 1e-9, 1e3
    for _ in range(30):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if _curve(middle, epsilon) > delta else (middle, high)
    return math.sqrt(low * high)


def _balanced(mu: float, odds: float) -> float:
    """The delta at which log(1 + odds delta) is the epsilon of such a Gaussian, about."""
    low, high = 0.0, max(10.0, mu * (mu + 40.0))
    for _ in range(30):
        middle = (low + high) / 2
        over = math.log1p(odds * _curve(mu, middle)) > middle
        low, high = (middle, high) if over else (low, middle)
    return min(max(math.expm1(min(high, 600.0)) / odds, 1e-300), 0.999)


def _curve(mu: float, epsilon: float) -> float:
    """delta of a Gaussian in floating point."""
    near, far = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
    tail = math.exp(min(epsilon, 700.0)) * math.erfc(-far / math.sqrt(2)) / 2
    return max(math.erfc(-near / math.sqrt(2)) / 2 - tail, 0.0)


# A curve is followed to where it is below this.
_FAINT = 1e-40
# Ratios e^eps, less 1, at which the curve of one run is asked.
_CORNERS: Array = np.concatenate(([0.0], np.geomspace(1e-3, 100.0, 101)))


def curve_above(parts: Parts, excess: Array) -> Array:
    """delta of a composition at epsilon = log(1 + excess) from above, excess >= 0.

    By its formula, or known at some points: delta is convex in e^eps, so straight lines between them are above
    it; beyond the last it is no larger than there.
    """
    found = _formula(parts, _epsilons(excess))
    return np.interp(excess, *_corners(parts)) * _ROUND_UP if found is None else found


def _epsilons(excess: Array) -> Array:
    """log(1 + excess), never above it: a logarithm errs by 8 units, the product by one; 2e-15 is 18."""
    return np.asarray(np.log1p(excess) * (1 - 2e-15))


def _formula(parts: Parts, epsilons: Array) -> Array | None:
    """delta of what has a closed form, rounded up."""
    if mu := gaussian_mu(parts):
        return gdp_deltas(mu[1], epsilons)
    if len(parts) == parts[0][1] == 1 and isinstance(parts[0][0], LaplaceLoss):
        # 1 - e^{(eps - r)/2} up to the largest loss r: see `pld.mixtures.LaplacePair`.
        left = np.minimum(epsilons - parts[0][0].ratio, 0.0)
        return np.asarray(-np.expm1(left / 2) * _ROUND_UP)
    return None


@lru_cache(maxsize=64)
def _corners(parts: Parts) -> tuple[Array, Array]:
    pure = PureAccountant().epsilon(parts, 0.0)
    corners = _CORNERS
    if 0 < pure < math.log1p(float(corners[-1])):
        last = math.expm1(pure) * (1 + 1e-14)  # nothing is left from there on
        corners = np.append(corners[corners < last], last)
    points = _epsilons(corners)
    if DistributionAccountant().supports(parts):
        found = DistributionAccountant().deltas(parts, points, faint=_FAINT)
    else:
        found = np.array([_delta(parts, point) for point in points.tolist()])
    found = np.minimum(found, composed_variation(parts))
    return corners, np.where(points >= pure, 0.0, found)
