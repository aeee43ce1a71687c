"""One Poisson-sampled Gaussian step, exactly: its divergence is a closed form, evaluated in balls.

With y = e^epsilon the likelihood ratio 1 - q + q e^{mu x - mu^2/2} exceeds y beyond the x0 with mu x0 =
log((y - 1 + q)/q) + mu^2/2. With the record the divergence is F(y) = q Phi(mu - x0) - (y - 1 + q) Phi(-x0),
and 1 - y where y <= 1 - q. Without it, since (b - y a)+ = b - y a + y (a - b/y)+, it is 1 - y + y F(1/y).
"""

from __future__ import annotations

import math
from functools import lru_cache

from flint import arb

from dpcheck.numerics.balls import precision
from dpcheck.numerics.rounding import FAINTEST
from dpcheck.numerics.side import Side

# Bits of the balls: two nearly equal tails are subtracted, and y - 1 may be as small as the rate.
_BITS = 384
# Steps of the search, which halves differences of logarithms first.
_STEPS = 400
_LARGEST = 1e6
# The search stops where its ends are this share apart.
_CLOSE = 1e-12


def sampled_delta(mu: float, rate: float, epsilon: float, *, backwards: bool) -> arb:
    """The divergence of one step at `epsilon` >= 0, as a ball."""
    over = arb(epsilon).expm1()  # y - 1
    if not backwards:
        return _forward(arb(mu), arb(rate), over)
    y = over + 1
    return -over + y * _forward(arb(mu), arb(rate), (-arb(epsilon)).expm1())


def _forward(mu: arb, rate: arb, over: arb) -> arb:
    left = over + rate
    if left <= 0:
        return -over
    if not left > 0:  # not told apart from y = 1 - q, where the value is q
        return (-over).union(rate)
    cut = (left / rate).log() / mu + mu / 2
    return rate * _normal(mu - cut) - left * _normal(-cut)


def _normal(x: arb) -> arb:
    return (-x * arb(0.5).sqrt()).erfc() / 2


@lru_cache(maxsize=256)  # both sides, and both directions, of neighbouring questions
def sampled_epsilon(
    mu: float, rate: float, delta: float, side: Side, *, backwards: bool
) -> float | None:
    """The smallest epsilon >= 0 with divergence at most `delta`, certified on `side`.

    None where no float bounds it.
    """
    with precision(_BITS):

        def within(epsilon: float) -> bool | None:
            ball = sampled_delta(mu, rate, epsilon, backwards=backwards)
            return True if ball <= delta else False if ball > delta else None

        if within(0.0):
            return 0.0
        low, high = 0.0, 1.0
        while not within(high):
            low = high if within(high) is False else low
            high *= 2
            if high > _LARGEST:
                return None
        for _ in range(_STEPS):
            if high - low <= _CLOSE * high or high < FAINTEST:
                break
            middle = _between(low, high)
            verdict = within(middle)
            if verdict is None:  # delta lies inside the ball: as close as these bits get
                break
            low, high = (low, middle) if verdict else (middle, high)
    return high if side is Side.UPPER else low


def _between(low: float, high: float) -> float:
    if low == 0:
        return high / 1024
    return math.sqrt(low * high) if high > 2 * low else (low + high) / 2
