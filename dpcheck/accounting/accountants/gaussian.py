"""Gaussian differential privacy: the exact curve of N(mu, 1) against N(0, 1), in ball arithmetic.

Compositions of Gaussian mechanisms are one Gaussian with mu = sqrt(sum mu_i^2), so everything here is
exact up to rounding, which is enclosed.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from flint import arb

from dpcheck.accounting.accountants.interface import Accountant, AccountingMethod
from dpcheck.accounting.accountants.many import dominated, is_many, shown
from dpcheck.accounting.losses import Parts
from dpcheck.numerics.balls import above, below, precision
from dpcheck.numerics.enclose import enclose, enclose_norm
from dpcheck.numerics.normal import normal_tail
from dpcheck.numerics.rounding import TINY, UNIT, Array
from dpcheck.numerics.side import Side


def normal(x: arb) -> arb:
    """The normal distribution function."""
    return (-x * arb(0.5).sqrt()).erfc() / 2


# From here on ten terms of the asymptotic series of Mills' ratio have more than 50 good bits.
_FAR = 100.0
_SERIES_TERMS = 12


def _mills(z: arb) -> arb:
    """(1 - Phi(z))/phi(z) for z >= 100: partial sums of 1/z (1 - 1/z^2 + 3/z^4 - ...) enclose it.

    Reference: [Abramowitz1964] 26.2.12: the remainder is smaller than the first term left out, and of
    its sign.
    """
    term, total = 1 / z, arb(0)
    for k in range(_SERIES_TERMS):
        total += term
        term = -term * (2 * k + 1) / (z * z)
    return total.union(total + term)


def _delta_ball(mu: float, epsilon: float) -> arb:
    shift, e = arb(mu), arb(epsilon)
    half, ratio = shift / 2, e / shift
    near, far = half - ratio, half + ratio
    if far > _FAR:
        # e^eps Phi(-far) = phi(near) (1 - Phi(far))/phi(far), without e^eps.
        density = (-near * near / 2).exp() / (2 * arb.pi()).sqrt()
        left = normal(near) if near > -_FAR else density * _mills(-near)
        return left - density * _mills(far)
    return normal(near) - e.exp() * normal(-far)


def gdp_delta(mu: float, epsilon: float) -> tuple[float, float]:
    """(lower, upper) around delta(epsilon) of a mu-GDP Gaussian.

    Guarantee: encloses the exact value.
    Reference: [Balle2018b] Theorem 8.

    >>> gdp_delta(1.0, 1.0)[1] - 0.12693673750664397 < 1e-16
    True
    """
    if mu == 0:
        return 0.0, 0.0
    bits = 96
    while True:
        with precision(bits):
            ball = _delta_ball(mu, epsilon)
            # Two nearly equal tails are subtracted; add bits until the difference stands out.
            if ball.rel_accuracy_bits() > 56 or bits > 20_000:
                return max(0.0, below(ball)), min(1.0, above(ball))
        bits *= 2


# Below this shift two nearly equal tails cost `gdp_deltas` a part in a million of their difference.
_LEAST_SHIFT = 1e-8


def gdp_deltas(mu: float, epsilons: Array) -> Array:
    """delta of a mu-GDP Gaussian from above at many epsilons >= 0, up to 700.

    Guarantee: never below the exact values. near = mu/2 - eps/mu and far = mu/2 + eps/mu err by at most 3
    units of far; both are raised by 4, so that the normal law is not below that of near, and the tail not
    above that of far. The tails come with their error; e^eps errs by the 8 units of ELEMENTARY, and products
    and differences, of which there are three in either term, by one each.

    >>> bool(0.1269367375 < gdp_deltas(1.0, np.array([1.0]))[0] < 0.1269367376)
    True
    """
    if mu < _LEAST_SHIFT:
        return np.array([gdp_delta(mu, epsilon)[1] for epsilon in epsilons.tolist()])
    ratio = epsilons / mu
    slip = 4 * UNIT * (mu / 2 + ratio)
    near, far = mu / 2 - ratio + slip, mu / 2 + ratio + slip
    tail, error = normal_tail(np.abs(near))
    head = np.where(near > 0, (1 - tail) + (error + UNIT), tail + error) * (1 + 4 * UNIT)
    beyond, missed = normal_tail(far)
    taken = np.exp(epsilons) * np.maximum(beyond - missed, 0.0) * (1 - 16 * UNIT)
    return np.minimum(np.maximum(head - taken, 0.0) * (1 + 4 * UNIT) + TINY, 1.0)


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
    if mu == 0:
        return 0.0
    if delta == 0:
        return math.inf
    # Well below what erf says of delta(0) there is nothing to prove: 0 is a lower bound anyway.
    if delta > 0.999 * math.erf(mu / math.sqrt(8.0)) and gdp_delta(mu, 0.0)[1] <= delta:
        return 0.0
    if math.isinf(mu * mu):
        # At the median loss mu^2/2 delta is above 1/2 - 1/mu, and no float lies between that and 1/2.
        known = side is Side.LOWER and delta < 0.5 and math.isfinite(mu)
        return (
            enclose(Fraction(mu) ** 2 / 2)[0] if known else 0.0 if side is Side.LOWER else math.inf
        )
    # The loss is N(mu^2/2, mu^2), so delta(eps) <= exp(-(eps/mu - mu/2)^2/2): 3 roundings, and 6 of the root.
    middle, reach = mu * mu / 2, mu * math.sqrt(2 * math.log(1 / delta))
    high = (middle + reach) * (1 + 16 * UNIT)
    guess, unsure = _likely_epsilon(mu, delta, high)
    if unsure < _BESIDE * guess:  # then a proof on one side of the guess is a tight one
        point = guess * (1 + _BESIDE if side is Side.UPPER else 1 - _BESIDE)
        under, over = gdp_delta(mu, point)
        if over <= delta if side is Side.UPPER else under > delta:
            return min(point, high)
    low, high = _searched(mu, delta, guess, high)
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

    Guarantee: encloses the exact value: thresholds whose false-positive rate is proved to be at least,
    and at most, the asked one.

    >>> [round(f, 6) for f in gdp_false_negatives(1.0, 0.05)]
    [0.740489, 0.740489]
    """
    from scipy.special import ndtri

    if false_positives <= 0:
        return (1.0, 1.0) if math.isfinite(mu) else (0.0, 1.0)
    if false_positives >= 1:
        return 0.0, 0.0
    near, slip = -float(ndtri(false_positives)), 1e-15
    ends: dict[bool, float] = {}
    with precision(128):
        while len(ends) < 2 and slip < 1:
            for loose in (True, False):
                x = near - slip * (1 + abs(near)) if loose else near + slip * (1 + abs(near))
                rate = normal(-arb(x))
                proved = rate >= false_positives if loose else rate <= false_positives
                if loose not in ends and proved:
                    missed = normal(arb(x) - arb(mu))
                    ends[loose] = below(missed) if loose else above(missed)
            slip *= 4
    return max(0.0, ends.get(True, 0.0)), min(1.0, ends.get(False, 1.0))


def gaussian_mu(parts: Parts) -> tuple[float, float] | None:
    """(lower, upper) around sqrt(sum mu^2) if every part is Gaussian, else None."""
    found = [(loss.normal_shift, times) for loss, times in parts]
    shifts = [(mu, times) for mu, times in found if mu is not None]
    if len(shifts) < len(parts):
        return None
    if len(parts) == 1 and parts[0][1] == 1:
        return shifts[0][0], shifts[0][0]
    return enclose_norm(shifts)


class GaussianAccountant(Accountant):
    """Exact for compositions of Gaussian mechanisms; below, for the Gaussians among the parts.

    Very many pure guarantees are a Gaussian too, up to a part in a thousand (`many`).
    """

    method = AccountingMethod.GAUSSIAN

    def supports(self, parts: Parts) -> bool:
        """Whether every part is Gaussian."""
        return all(loss.normal_shift is not None or is_many(loss, times) for loss, times in parts)

    def epsilon(self, parts: Parts, delta: float) -> float:
        """The exact epsilon, rounded up."""
        mu = gaussian_mu(dominated(parts))
        return gdp_epsilon_on(mu[1], delta, Side.UPPER) if mu else math.inf

    def delta(self, parts: Parts, epsilon: float) -> float:
        """The exact delta, rounded up."""
        mu = gaussian_mu(dominated(parts))
        return gdp_delta(mu[1], epsilon)[1] if mu else 1.0

    def epsilon_lower(self, parts: Parts, delta: float) -> float:
        """The exact epsilon of the Gaussian parts, rounded down."""
        known, hidden = shown(parts) if delta > 0 else ((), 0.0)
        mu = gaussian_mu(known) if known else None
        allowed = math.nextafter(delta + hidden, math.inf) if hidden else delta
        return gdp_epsilon_on(mu[0], allowed, Side.LOWER) if mu and allowed < 1 else 0.0

    def delta_lower(self, parts: Parts, epsilon: float) -> float:
        """The exact delta of the Gaussian parts, rounded down."""
        known, hidden = shown(parts)
        mu = gaussian_mu(known)
        found = gdp_delta(mu[0], epsilon)[0] if mu else 0.0
        return max(0.0, math.nextafter(found - hidden, -math.inf)) if hidden else found
