"""The trade-off function of a composition, bounded by the accountant that fits it."""

from __future__ import annotations

import numpy as np

from dpcheck.accounting.accountants.best import ACCOUNTANTS, deltas_upper
from dpcheck.accounting.accountants.distribution import tradeoff_by_pld
from dpcheck.accounting.accountants.gaussian import gdp_false_negatives
from dpcheck.accounting.accountants.interface import AccountingMethod
from dpcheck.accounting.assumptions import ARITHMETIC, PLAIN_ARITHMETIC
from dpcheck.accounting.certify.bound import between
from dpcheck.accounting.certify.gaussian import gaussian_mu
from dpcheck.accounting.compose import Profile
from dpcheck.accounting.sides import OneSide, lower_side, upper_side
from dpcheck.core.bound import Bound
from dpcheck.numerics.rounding import UNIT
from dpcheck.numerics.side import Side

# The accountants whose delta is cheap enough for a whole curve of points.
_CHEAP = (AccountingMethod.PURE, AccountingMethod.RENYI_OPTIMAL)


def best_tradeoff(profile: Profile, false_positives: float) -> Bound:
    """Bounds on the least false-negative rate at `false_positives`.

    Guarantee: no test misses less often than `lower`.
    Reference: [Dong2022] Proposition 2.13 for the step from (epsilon, delta) to f.
    """
    above, below = upper_side(profile), lower_side(profile)
    mu = gaussian_mu(above.parts)
    if mu and not above.leak and not above.failure:
        # The pairs the composition contains may be smaller than those that dominate it.
        reached = gaussian_mu(below.parts)
        missed = gdp_false_negatives(mu[1], false_positives)[0]
        reach = gdp_false_negatives(reached[0], false_positives)[1] if reached else 1.0
        hit = max(missed, min(1 - false_positives, reach))
        return between(missed, hit, AccountingMethod.GAUSSIAN.value)
    least = tradeoff_by_pld(above, false_positives, Side.LOWER)
    most = tradeoff_by_pld(below, false_positives, Side.UPPER)
    method = AccountingMethod.DISTRIBUTION.value
    if least is None:
        least, method = _by_deltas(above, false_positives), "epsilon-delta"
    upper = 1 - false_positives if most is None else most
    used = method == AccountingMethod.DISTRIBUTION.value or most is not None
    return between(least, upper, method, assumes=(ARITHMETIC if used else PLAIN_ARITHMETIC,))


def _by_deltas(side: OneSide, false_positives: float) -> float:
    """f(a) >= 1 - delta(eps) - e^eps a and its mirror image, for any set of epsilons."""
    points = np.concatenate(([0.0], np.geomspace(1e-3, 50.0, 60)))
    known = [deltas_upper(side, points, ACCOUNTANTS[method]) for method in _CHEAP]
    least, y = np.min(known, axis=0), np.exp(points)
    best = np.maximum(1 - least - y * false_positives, (1 - least - false_positives) / y)
    # An exponential (8 units), a product or quotient and two sums of numbers below 1.
    return max(0.0, float(best.max()) - 16 * UNIT)
