"""Divergences of compositions add; formulas that several pairs share.

What is known of one pair is in its file below `pairs`.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from flint import arb

from dpcheck.accounting.pairs.pair import Parts, reverse_parts
from dpcheck.accounting.renyi.moments import Floats, log_sum_exp
from dpcheck.numerics.balls import above, precision
from dpcheck.numerics.rounding import FAINTEST

# Closed forms are a handful of elementary functions: 1e-14 covers their rounding.
ROUND_UP = 1 + 1e-14
# Closed forms, and the quotients of moments that come with their own error, err by less than this.
ROUND_DOWN = 1 - 1e-11


def composed_renyi(parts: Parts, orders: Floats) -> Floats:
    """Divergences of an adaptive composition: they add [Mironov2017, Proposition 1]."""
    total = np.zeros_like(orders)
    for loss, times in parts:
        divergence = loss.renyi(orders)
        if divergence.min() < FAINTEST and loss.largest()[1] > 0:
            divergence = np.maximum(divergence, FAINTEST)
        total += times * divergence
    return total * (1 + 1e-14 * len(parts))


def composed_renyi_lower(parts: Parts, orders: Floats) -> Floats:
    """Lower bounds on the divergence of a composition in its worse direction.

    Guarantee: never above it: divergences of independent pairs add in each direction.
    """
    backwards = reverse_parts(parts)
    totals = []
    for way in (parts, backwards):
        total = np.zeros_like(orders)
        for loss, times in way:
            found = loss.renyi_lower(orders)
            # Below, digits may be lost to underflow.
            total += times * np.where(found < FAINTEST, 0.0, found)
        totals.append(total * (1 - 1e-14 * len(parts)))
    return np.maximum(*totals)


def renyi_of_mixed_shifts(shifts: Floats, weights: Floats, orders: Floats) -> Floats:
    """Gaussian pairs mixed by a coin that is tossed alike in P and Q, and kept secret: at most the mean of
    their moments, 1 - w + sum_j w_j e^{a (a-1) s_j^2/2} [VanErven2014, Theorem 11: joint convexity].
    """
    rest = max(1 - math.fsum(weights), 1e-300)
    terms = np.log(weights) + (orders * (orders - 1) / 2)[:, None] * shifts**2
    moment = np.maximum(np.logaddexp(math.log(rest), log_sum_exp(terms)), 0.0)
    return np.asarray((moment * (1 + 1e-12) + 1e-13) / (orders - 1))


@lru_cache(maxsize=256)
def log_expected_runs(eta: float, gamma: float) -> float:
    """log of `expected_runs`, rounded up: next to gamma = 1 its formula loses all digits."""
    with precision(320):
        shape, stop = arb(eta), arb(gamma)
        rare = 1 - (shape * stop.log()).exp() if eta else -stop.log()
        return max(above(((shape if eta else arb(1)) * (1 - stop) / (stop * rare)).log()), 0.0)


def expected_runs(eta: float, gamma: float) -> float:
    """Mean of the truncated negative binomial distribution [Papernot2022, Definition 1]."""
    if eta == 0:
        return (1 / gamma - 1) / math.log(1 / gamma)
    return eta * (1 - gamma) / (gamma * -math.expm1(eta * math.log(gamma)))
