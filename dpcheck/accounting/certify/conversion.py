"""One Renyi divergence to epsilon or delta, in ball arithmetic.

`order` and `divergence` are exact floats; any order gives a valid bound if the divergence is never below
the true one. Precision is raised until the result has more than 30 good bits, so tiny epsilons keep
their digits in spite of the cancellation in these formulas.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from flint import arb

from dpcheck.numerics.balls import above, precision

GOOD_BITS = 30
MOST_BITS = 4096
# Beyond this log moment `optimal` gains less than e^-1000 on `improved`.
LARGEST_LOG_MOMENT = 1000.0


def _accurate(formula: Callable[[], arb]) -> float:
    """The upper end of a ball that is relatively small, at least 0."""
    bits = 96
    while True:
        with precision(bits):
            ball = formula()
            good = ball.is_finite() and ball.rel_accuracy_bits() > GOOD_BITS
            if good or ball < 0 or bits > MOST_BITS:
                return max(0.0, above(ball)) if ball.is_finite() else math.inf
        bits *= 2


def classic_epsilon(order: float, divergence: float, delta: float) -> float:
    """D + log(1/delta)/(a-1).

    Guarantee: never below the epsilon of a pair with this divergence.
    Reference: [Mironov2017] Proposition 3.

    >>> round(classic_epsilon(2.0, 1.0, 1e-5), 6)
    12.512925
    """
    return _accurate(lambda: arb(divergence) - arb(delta).log() / (arb(order) - 1))


def improved_epsilon(order: float, divergence: float, delta: float) -> float:
    """D + log((a-1)/a) - (log delta + log a)/(a-1).

    Guarantee: never below the epsilon of a pair with this divergence.
    Reference: [Canonne2020] Proposition 12.

    >>> round(improved_epsilon(2.0, 1.0, 1e-5), 6)
    11.126631
    """

    def formula() -> arb:
        a = arb(order)
        rest = (arb(delta).log() + a.log()) / (a - 1)
        return arb(divergence) + (-1 / a).log1p() - rest

    return _accurate(formula)


def improved_delta(order: float, divergence: float, epsilon: float) -> float:
    """`improved_epsilon` solved for delta: exp((a-1)(D - eps + log(1-1/a)) - log a).

    Guarantee: never below the delta of a pair with this divergence.
    Reference: [Canonne2020] Proposition 12.
    """

    def formula() -> arb:
        a = arb(order)
        return ((a - 1) * (arb(divergence) - arb(epsilon) + (-1 / a).log1p()) - a.log()).exp()

    return _accurate(formula)


def optimal_epsilon(order: float, divergence: float, delta: float, u: float) -> float:
    """The epsilon proved by the majorant with t = 1/(1+e^u).

    Maximise E_Q (x - e^eps)_+ over likelihood ratios x with E x = 1 and E x^a = M = e^{(a-1)D}. By
    weak duality every majorant lam x^a + mu x + nu of (x - e^eps)_+ proves
    delta <= lam M + mu + nu. The majorant that touches 0 at t in [0, 1) and the line x - e^eps at y has
    lam = delta / (M - a t^{a-1} + (a-1) t^a), y^{a-1} = t^{a-1} + 1/(a lam) and
    e^eps = y (1 - 1/a) + lam (a-1) t^{a-1} (y - t); t = 0 is `improved`. Every t is valid, the best
    is optimal (strong duality), so the search over t cannot break soundness.

    Guarantee: never below the epsilon of a pair with this divergence.
    Reference: [Asoodeh2021].
    """
    if (order - 1) * divergence > LARGEST_LOG_MOMENT:
        return math.inf

    def formula() -> arb:
        a, d = arb(order), arb(delta)
        t = 1 / (1 + arb(u).exp())
        power = ((a - 1) * t.log()).exp()
        room = ((a - 1) * arb(divergence)).expm1() + 1 - power * (a - (a - 1) * t)
        if not room > 0:  # not enough bits yet
            return arb("nan")
        y = ((power + room / (a * d)).log() / (a - 1)).exp()
        return (y * (1 - 1 / a) + d / room * (a - 1) * power * (y - t)).log()

    return _accurate(formula)
