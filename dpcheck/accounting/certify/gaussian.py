"""Gaussian differential privacy: the exact curve of N(mu, 1) against N(0, 1), in ball arithmetic.

Compositions of Gaussian mechanisms are one Gaussian with mu = sqrt(sum mu_i^2), so everything here is
exact up to rounding, which is enclosed.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from flint import arb

from dpcheck.accounting.certify.many import dominated, shown
from dpcheck.accounting.certify.theorem import Curve, Spends
from dpcheck.accounting.pairs.pair import Parts
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


def epsilon_above(mu: float, delta: float, point: float) -> float:
    """`point` where delta(point) <= delta is proved; else what a closed form proves.

    Guarantee: never below the epsilon of N(mu, 1) against N(0, 1) at `delta`, whatever the point.
    """
    if mu == 0:
        return 0.0
    high = most_epsilon(mu, delta)
    return point if 0 <= point < high and gdp_delta(mu, point)[1] <= delta else high


def most_epsilon(mu: float, delta: float) -> float:
    """The loss is N(mu^2/2, mu^2), so delta(eps) <= exp(-(eps/mu - mu/2)^2/2); infinite at delta 0."""
    if delta == 0:
        return math.inf
    # 3 roundings, and 6 of the root.
    return (mu * mu / 2 + mu * math.sqrt(2 * max(math.log(1 / delta), 0.0))) * (1 + 16 * UNIT)


def epsilon_below(mu: float, delta: float, point: float) -> float:
    """`point` where delta(point) > delta is proved, the median loss where delta is small enough; else 0.

    Guarantee: never above the epsilon of N(mu, 1) against N(0, 1) at `delta`, whatever the point.
    """
    if mu == 0:
        return 0.0
    if delta == 0:
        return math.inf
    if math.isinf(mu * mu):
        # At the median loss mu^2/2 delta is above 1/2 - 1/mu, and no float lies between that and 1/2.
        known = delta < 0.5 and math.isfinite(mu)
        return enclose(Fraction(mu) ** 2 / 2)[0] if known else 0.0
    return point if point > 0 and gdp_delta(mu, point)[0] > delta else 0.0


def gaussian_mu(parts: Parts) -> tuple[float, float] | None:
    """(lower, upper) around sqrt(sum mu^2) if every part is Gaussian, else None."""
    found = [(loss.normal_shift, times) for loss, times in parts]
    shifts = [(mu, times) for mu, times in found if mu is not None]
    if len(shifts) < len(parts):
        return None
    if len(parts) == 1 and parts[0][1] == 1:
        return shifts[0][0], shifts[0][0]
    return enclose_norm(shifts)


def by_gaussian(parts: Parts, delta: float, point: float) -> Spends | None:
    """The composition of Gaussians and very many pure guarantees from above; None for others."""
    mu = gaussian_mu(dominated(parts))
    if mu is None:
        return None
    return Spends(parts, Side.UPPER, epsilon_above(mu[1], delta, point), delta, both=True)


def by_gaussian_below(parts: Parts, delta: float, point: float) -> Spends | None:
    """The Gaussians among the parts and in them from below; None without any."""
    known = gaussian_below(parts, delta)
    if known is None:
        return None
    found = epsilon_below(*known, point)
    return Spends(parts, Side.LOWER, found, delta, both=True)


def gaussian_below(parts: Parts, delta: float) -> tuple[float, float] | None:
    """(mu, delta) of the one Gaussian that the parts show, but for what is hidden; None without any."""
    known, hidden = shown(parts)
    mu = gaussian_mu(known) if known else None
    allowed = math.nextafter(delta + hidden, math.inf) if hidden else delta
    return (mu[0], allowed) if mu and allowed < 1 else None


def gaussian_curve(parts: Parts, epsilons: Array) -> Curve | None:
    """Exact deltas, rounded up."""
    mu = gaussian_mu(dominated(parts))
    if mu is None:
        return None
    found = [gdp_delta(mu[1], epsilon)[1] for epsilon in epsilons.tolist()]
    return Curve(parts, Side.UPPER, epsilons, np.array(found), both=True)


def gaussian_curve_below(parts: Parts, epsilons: Array) -> Curve | None:
    """Exact deltas of the Gaussians that the parts show, rounded down."""
    known, hidden = shown(parts)
    mu = gaussian_mu(known) if known else None
    if mu is None:
        return None
    found = np.array([gdp_delta(mu[0], epsilon)[0] for epsilon in epsilons.tolist()])
    if hidden:
        found = np.maximum(np.nextafter(found - hidden, -math.inf), 0.0)
    return Curve(parts, Side.LOWER, epsilons, found, both=True)


def false_negatives(mu: float, false_positives: float, x: float) -> tuple[float, float]:
    """(lower, upper) around the trade-off function, each proved if the threshold lies on its side.

    Who calls what lies beyond x misses Phi(x - mu), at a rate of false positives of Phi(-x). A rate that is
    no less misses no more than the best test, one that is no more misses no less.

    Guarantee: encloses the least rate of false negatives at that rate of false positives, whatever x.
    """
    with precision(128):
        rate, missed = normal(-arb(x)), normal(arb(x) - arb(mu))
        least = below(missed) if rate >= false_positives else 0.0
        most = above(missed) if rate <= false_positives else 1.0
    return max(0.0, least), min(1.0, most)
