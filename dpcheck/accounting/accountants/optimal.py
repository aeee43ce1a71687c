"""The optimal composition of equal pure mechanisms, as an accountant."""

from __future__ import annotations

import math

from flint import arb

from dpcheck.accounting.accountants.interface import Accountant, Method
from dpcheck.accounting.accountants.pure import largest_loss
from dpcheck.accounting.losses import Parts, ResponseLoss
from dpcheck.numerics.balls import above, below, precision

# More than this many mechanisms are not enumerated.
OPTIMAL_COMPOSITION_LIMIT = 2000


def optimal_composition(epsilon: float, times: int, delta: float) -> tuple[float, float]:
    """(lower, upper) around the epsilon of `times` adaptive epsilon-DP mechanisms at `delta`.

    delta(eps) is the maximum over i of (A_i - e^eps B_i)/Z with prefix sums of
    C(k,l) e^{(k-l) eps0} and C(k,l) e^{l eps0}, so eps(delta) is a maximum of closed forms.

    Guarantee: encloses the optimum; no better bound holds for all such mechanisms.
    Reference: [Kairouz2017] Theorem 3.3.

    >>> round(optimal_composition(0.1, 100, 1e-5)[1], 4)
    4.3068
    """
    if epsilon == 0:
        return 0.0, 0.0
    with precision(192):
        # Everything is divided by e^{k eps0}, the right sums by e^{i eps0}: no number is large.
        unit, step = (-arb(epsilon)).exp(), arb(epsilon)
        lost = arb(delta) * (1 + unit) ** times
        left, right, power = arb(0), arb(0), arb(1)
        low = high = 0.0
        for hits in range(times // 2 + 1):
            ways = arb(math.comb(times, hits))
            left += ways * power
            right = right * unit + ways
            power *= unit
            room = left - lost
            if room < 0:
                continue
            base = (times - hits) * step - right.log()
            # Where the sign is not certain only the upper end counts.
            high = max(high, above(base + arb(room.upper()).log()))
            if room > 0:
                low = max(low, below(base + room.log()))
        return low, high


class OptimalAccountant(Accountant):
    """[Kairouz2017] Theorem 3.3 for pure mechanisms that share one epsilon."""

    method = Method.OPTIMAL_COMPOSITION

    def supports(self, parts: Parts) -> bool:
        """Whether all parts are pure with one epsilon, and few enough to enumerate."""
        return _equal_pure(parts) is not None

    def epsilon(self, parts: Parts, delta: float) -> float:
        """The optimum over all mechanisms with these epsilons."""
        equal = _equal_pure(parts)
        return optimal_composition(*equal, delta)[1] if equal else math.inf

    def delta(self, parts: Parts, epsilon: float) -> float:  # noqa: ARG002
        """Not solved for delta; the privacy-loss distribution is."""
        return 1.0

    def epsilon_lower(self, parts: Parts, delta: float) -> float:
        """The optimum of each group of equal randomized responses in the composition."""
        found = [0.0]
        for loss, times in parts if delta > 0 else ():
            if isinstance(loss, ResponseLoss) and loss.neutral == 0:
                few = min(times, OPTIMAL_COMPOSITION_LIMIT)
                found.append(optimal_composition(loss.epsilon, few, delta)[0])
        return max(found)


def _equal_pure(parts: Parts) -> tuple[float, int] | None:
    """(epsilon, times) if all parts are pure DP with one epsilon and few enough to enumerate."""
    largest = {largest_loss(loss)[1] for loss, _ in parts}
    times = sum(times for _, times in parts)
    if len(largest) != 1 or times > OPTIMAL_COMPOSITION_LIMIT:
        return None
    epsilon = largest.pop()
    return None if math.isinf(epsilon) else (epsilon, times)
