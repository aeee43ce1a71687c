"""Gaussian differential privacy: where the epsilon of one Gaussian lies, guessed and then proved.

What proves it is in `certify.gaussian`; what is guessed here is proved or replaced by something looser.
"""

from __future__ import annotations

import math

from dpcheck.accounting.accountants.interface import Accountant, AccountingMethod
from dpcheck.accounting.certify.bound import Plan
from dpcheck.accounting.certify.gaussian import (
    by_gaussian,
    by_gaussian_below,
    epsilon_above,
    epsilon_below,
    false_negatives,
    gaussian_below,
    gaussian_curve,
    gaussian_curve_below,
    gaussian_mu,
    gdp_delta,
    most_epsilon,
)
from dpcheck.accounting.certify.many import dominated
from dpcheck.accounting.losses import Parts
from dpcheck.numerics.rounding import UNIT, Array
from dpcheck.numerics.side import Side


def gdp_epsilon(mu: float, delta: float) -> tuple[float, float]:
    """(lower, upper) around the smallest epsilon with delta(epsilon) <= delta.

    Guarantee: lower is never above it, upper never below.

    >>> [round(e, 4) for e in gdp_epsilon(1.0, 1e-5)]
    [4.3772, 4.3772]
    """
    return gdp_epsilon_on(mu, delta, Side.LOWER), gdp_epsilon_on(mu, delta, Side.UPPER)


# The share of a guess by which a proof is tried beside it first.
_BESIDE = 4e-14


def gdp_epsilon_on(mu: float, delta: float, side: Side) -> float:
    """The smallest epsilon with delta(epsilon) <= delta, from one side.

    Guarantee: never above it on the lower side, never below it on the upper one.
    """
    prove = epsilon_above if side is Side.UPPER else epsilon_below
    point, sure = likely_point(mu, delta, side)
    found = prove(mu, delta, point)
    if sure and found == point:
        return found
    return prove(mu, delta, searched_point(mu, delta, point, side))


def likely_point(mu: float, delta: float, side: Side) -> tuple[float, bool]:
    """An epsilon next to the true one, where a proof will do; and whether that is all there is to find."""
    if mu == 0 or delta == 0 or math.isinf(mu * mu):
        return 0.0, False
    # Well below what erf says of delta(0) there is nothing to prove: 0 is a lower bound anyway.
    if delta > 0.999 * math.erf(mu / math.sqrt(8.0)) and gdp_delta(mu, 0.0)[1] <= delta:
        return 0.0, True
    guess, unsure = _likely_epsilon(mu, delta, most_epsilon(mu, delta))
    if unsure < _BESIDE * guess:  # then a proof on one side of the guess is a tight one
        return guess * (1 + _BESIDE if side is Side.UPPER else 1 - _BESIDE), True
    return guess, False


def searched_point(mu: float, delta: float, guess: float, side: Side) -> float:
    """An epsilon that is proved on one side, next to one that is proved on the other."""
    if mu == 0 or delta == 0 or math.isinf(mu * mu):
        return 0.0
    low, high = _searched(mu, delta, guess, most_epsilon(mu, delta))
    return high if side is Side.UPPER else low


def _searched(mu: float, delta: float, guess: float, high: float) -> tuple[float, float]:
    """(lower, upper) around epsilon, at most `high`: further and further from a guess, then by halves."""
    low, width = 0.0, _BESIDE
    while high - low > 1e-13 * high:
        for point in (guess * (1 - width), guess * (1 + width)) if width else ((low + high) / 2,):
            if low < point < high:
                under, over = gdp_delta(mu, point)
                if over <= delta:
                    high = point
                elif under > delta:
                    low = point
                else:  # delta lies inside the enclosure: as close as floats get
                    return low, high
        width = width * 32 if 0 < width < 1e-6 else 0.0
    return low, high


def _likely_epsilon(mu: float, delta: float, high: float) -> tuple[float, float]:
    """(about epsilon, about its error): Newton's method on log delta, halving where it leaves the bracket.

    The derivative of delta is -e^epsilon Phi(-mu/2 - epsilon/mu).
    """
    low, wanted, at, unsure = 0.0, math.log(delta), high / 2, math.inf
    for _ in range(54):
        near, far = _log_normal(mu / 2 - at / mu), at + _log_normal(-mu / 2 - at / mu)
        over, step = -1.0, 0.0
        if far < near:
            left = -math.expm1(far - near)
            found = near + math.log(left)
            moved = math.exp(min(found - far, 700.0))
            over, step = found - wanted, (found - wanted) * moved
            # Logarithms of tails err with themselves, and that of the far tail is the larger one.
            unsure = 4 * UNIT * (1 + at - far) / left * moved
        low, high = (at, high) if over > 0 else (low, at)
        # What a step leaves is about its square.
        close = high - low <= 1e-15 * high or 0 < abs(step) <= 1e-8 * at
        at = at + step if step and low <= at + step <= high else (low + high) / 2
        if close:
            break
    return at, unsure


def _log_normal(x: float) -> float:
    """About the logarithm of the normal distribution function."""
    if x > -30:
        return math.log(math.erfc(-x * math.sqrt(0.5)) / 2)
    from scipy.special import log_ndtr

    return float(log_ndtr(x))


def gdp_false_negatives(mu: float, false_positives: float) -> tuple[float, float]:
    """(lower, upper) around the trade-off function: the least false-negative rate at this
    false-positive rate, Phi(x - mu) where Phi(-x) is that rate.

    Guarantee: encloses the exact value.

    >>> [round(f, 6) for f in gdp_false_negatives(1.0, 0.05)]
    [0.740489, 0.740489]
    """
    from scipy.special import ndtri

    if false_positives <= 0:
        return (1.0, 1.0) if math.isfinite(mu) else (0.0, 1.0)
    if false_positives >= 1:
        return 0.0, 0.0
    near, slip = -float(ndtri(false_positives)), 1e-15
    least, most = 0.0, 1.0
    while slip < 1 and (least == 0 or most == 1):
        for x in (near - slip * (1 + abs(near)), near + slip * (1 + abs(near))):
            low, high = false_negatives(mu, false_positives, x)
            # The first that is proved is the nearest.
            least, most = least or low, high if most == 1 else most
        slip *= 4
    return least, most


class GaussianAccountant(Accountant):
    """Exact for compositions of Gaussian mechanisms; below, for the Gaussians among the parts.

    Very many pure guarantees are a Gaussian too, up to a part in a thousand (`many`).
    """

    method = AccountingMethod.GAUSSIAN

    def plan_above(self, parts: Parts, delta: float) -> Plan:
        """The exact epsilon, rounded up."""
        mu = gaussian_mu(dominated(parts))
        if mu is None:
            return Plan()
        point, sure = likely_point(mu[1], delta, Side.UPPER)
        found = by_gaussian(parts, delta, point)
        if found and not (sure and found.epsilon == point):
            found = by_gaussian(parts, delta, searched_point(mu[1], delta, point, Side.UPPER))
        return Plan(found)

    def plan_below(self, parts: Parts, delta: float) -> Plan:
        """The exact epsilon of the Gaussian parts, rounded down."""
        known = gaussian_below(parts, delta) if delta > 0 else None
        if known is None:
            return Plan()
        point, sure = likely_point(*known, Side.LOWER)
        found = by_gaussian_below(parts, delta, point)
        if found and not (sure and found.epsilon == point):
            found = by_gaussian_below(parts, delta, searched_point(*known, point, Side.LOWER))
        return Plan(found)

    def curve_above(self, parts: Parts, epsilons: Array) -> Plan:
        """The exact deltas, rounded up."""
        return Plan(gaussian_curve(parts, epsilons))

    def curve_below(self, parts: Parts, epsilons: Array) -> Plan:
        """The exact deltas of the Gaussian parts, rounded down."""
        return Plan(gaussian_curve_below(parts, epsilons))
