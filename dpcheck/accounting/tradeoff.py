"""The trade-off function of a composition, bounded by the accountant that fits it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpcheck.accounting.accountants.best import ACCOUNTANTS, deltas_upper
from dpcheck.accounting.accountants.distribution import tradeoff_by_pld
from dpcheck.accounting.accountants.gaussian import gdp_false_negatives
from dpcheck.accounting.accountants.interface import AccountingMethod
from dpcheck.accounting.assumptions import ARITHMETIC
from dpcheck.accounting.certify.bound import between
from dpcheck.accounting.certify.gaussian import gaussian_mu
from dpcheck.accounting.compose import Profile
from dpcheck.accounting.sides import NO_LEAK, OneSide, lower_side, upper_side
from dpcheck.core.bound import Bound
from dpcheck.numerics.enclose import enclose
from dpcheck.numerics.rounding import UNIT
from dpcheck.numerics.side import Side

# The accountants whose delta is cheap enough for a whole curve of points.
_CHEAP = (AccountingMethod.PURE, AccountingMethod.RENYI_OPTIMAL)
_CURVE = "epsilon-delta"


def best_tradeoff(profile: Profile, false_positives: float) -> Bound:
    """Bounds on the least false-negative rate at `false_positives`.

    What is leaked is told without an error: with probability D, so f(a) = (1 - D) f_0(a / (1 - D)).

    Guarantee: no test misses less often than `lower`.
    Reference: [Dong2022] Proposition 2.13 for the step from (epsilon, delta) to f.
    """
    above, below = upper_side(profile), lower_side(profile)
    allowed, missed = _without_leak(above, false_positives, Side.LOWER)
    least, method = _least(above._replace(leak=NO_LEAK), allowed) if allowed < 1 else (0.0, _CURVE)
    reached, left = _without_leak(below, false_positives, Side.UPPER)
    most = _most(below._replace(leak=NO_LEAK), reached) if reached < 1 else 0.0
    upper = min(enclose(left * Fraction(most))[1], 1 - false_positives)
    assumes = () if method == AccountingMethod.GAUSSIAN.value else (ARITHMETIC,)
    return between(enclose(missed * Fraction(least))[0], upper, method, assumes=assumes)


def _without_leak(side: OneSide, false_positives: float, bound: Side) -> tuple[float, Fraction]:
    """(the rate of false positives where nothing leaked, how often that is)."""
    left = 1 - side.leak
    if not side.leak or not left:
        return (false_positives if left else 1.0), left
    return enclose(Fraction(false_positives) / left)[bound is Side.LOWER], left


def _least(side: OneSide, false_positives: float) -> tuple[float, str]:
    """(no test misses less often, the name of the proof)."""
    mu = gaussian_mu(side.parts)
    if mu and not side.failure:
        least = gdp_false_negatives(mu[1], false_positives)[0]
        return max(least, 0.0), AccountingMethod.GAUSSIAN.value
    found = tradeoff_by_pld(side, false_positives, Side.LOWER)
    if found is None:
        return _by_deltas(side, false_positives), _CURVE
    return found, AccountingMethod.DISTRIBUTION.value


def _most(side: OneSide, false_positives: float) -> float:
    """Some test misses no more often."""
    if any(loss.objection is not None for loss, _ in side.parts):
        return 0.0
    if mu := gaussian_mu(side.parts):
        return gdp_false_negatives(mu[0], false_positives)[1]
    found = tradeoff_by_pld(side, false_positives, Side.UPPER)
    return 1.0 if found is None else found


def _by_deltas(side: OneSide, false_positives: float) -> float:
    """f(a) >= 1 - delta(eps) - e^eps a and its mirror image, for any set of epsilons."""
    points = np.concatenate(([0.0], np.geomspace(1e-3, 50.0, 60)))
    known = [deltas_upper(side, points, ACCOUNTANTS[method]) for method in _CHEAP]
    least, y = np.min(known, axis=0), np.exp(points)
    best = np.maximum(1 - least - y * false_positives, (1 - least - false_positives) / y)
    # An exponential (8 units), a product or quotient and two sums of numbers below 1.
    return max(0.0, float(best.max()) - 16 * UNIT)
