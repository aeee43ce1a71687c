"""Gaussian differential privacy: the exact curve of N(mu, 1) against N(0, 1), in ball arithmetic.

Compositions of Gaussian mechanisms are one Gaussian with mu = sqrt(sum mu_i^2), so everything here is
exact up to rounding, which is enclosed.
"""

from __future__ import annotations

import math

from flint import arb

from dpcheck.numerics.balls import above, below, precision


def _normal(x: arb) -> arb:
    """The normal distribution function."""
    return (-x / arb(2).sqrt()).erfc() / 2


def _delta_ball(mu: float, epsilon: float) -> arb:
    shift, e = arb(mu), arb(epsilon)
    return _normal(shift / 2 - e / shift) - e.exp() * _normal(-shift / 2 - e / shift)


def gdp_delta(mu: float, epsilon: float) -> tuple[float, float]:
    """(lower, upper) around delta(epsilon) of a mu-GDP Gaussian.

    Guarantee: encloses the exact value.
    Reference: [Balle2018b] Theorem 8.

    >>> gdp_delta(1.0, 1.0)[1] - 0.12693673750664397 < 1e-16
    True
    """
    if mu == 0:
        return 0.0, 0.0
    bits = 128
    while True:
        with precision(bits):
            ball = _delta_ball(mu, epsilon)
            # Two nearly equal tails are subtracted; add bits until the difference stands out.
            if ball.rel_accuracy_bits() > 40 or bits > 20_000:
                return max(0.0, below(ball)), min(1.0, above(ball))
        bits *= 2


def gdp_epsilon(mu: float, delta: float) -> tuple[float, float]:
    """(lower, upper) around the smallest epsilon with delta(epsilon) <= delta.

    Guarantee: lower is never above it, upper never below.

    >>> [round(e, 4) for e in gdp_epsilon(1.0, 1e-5)]
    [4.3772, 4.3772]
    """
    if mu == 0:
        return 0.0, 0.0
    if delta == 0:
        return math.inf, math.inf
    if gdp_delta(mu, 0.0)[1] <= delta:
        return 0.0, 0.0
    # The loss is N(mu^2/2, mu^2), so delta(eps) <= exp(-(eps/mu - mu/2)^2/2).
    low, high = 0.0, mu * mu / 2 + mu * math.sqrt(2 * math.log(1 / delta)) * (1 + 1e-9)
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        under, over = gdp_delta(mu, middle)
        if over <= delta:
            high = middle
        elif under > delta:
            low = middle
        else:  # delta lies inside the enclosure: as close as floats get
            break
    return low, high


def gdp_false_negatives(mu: float, false_positives: float) -> float:
    """The trade-off function: least false-negative rate of any test with this false-positive rate.

    >>> round(gdp_false_negatives(1.0, 0.05), 6)
    0.740489
    """
    from scipy.special import ndtr, ndtri

    return float(ndtr(-ndtri(false_positives) - mu))
