"""The optimal composition of equal pure mechanisms, as an accountant."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from flint import arb

from dpcheck.accounting.accountants.interface import Accountant, AccountingMethod
from dpcheck.accounting.losses import Parts
from dpcheck.numerics.balls import above, below, precision

# More mechanisms than this are not enumerated.
OPTIMAL_COMPOSITION_LIMIT = 50_000
# Of so few mechanisms the search starts at the first place: looking for a better one takes longer.
FEW = 4
# Terms smaller than this share of their sum, with all that follow, are left to the enclosure.
_NEGLIGIBLE_BITS = 120


@lru_cache(maxsize=256)  # both sides of a bound ask for the same
def optimal_composition(epsilon: float, times: int, delta: float) -> tuple[float, float]:
    """(lower, upper) around the epsilon of `times` adaptive epsilon-DP mechanisms at `delta`.

    delta(eps) is the maximum over i of (A_i - e^eps B_i)/Z with prefix sums of C(k,l) e^{(k-l) eps0} and
    C(k,l) e^{l eps0}; the maximum is at the last i with (k - 2i) eps0 >= eps. So eps(delta) is
    log((A_i - Z delta)/B_i) at the one i where that lies between (k - 2i - 2) eps0 and (k - 2i) eps0:
    guessed in floating point, proved in balls.

    Guarantee: encloses the optimum; no better bound holds for all such mechanisms.
    Reference: [Kairouz2017] Theorem 3.3.

    >>> round(optimal_composition(0.1, 100, 1e-5)[1], 4)
    4.3068
    """
    if epsilon == 0:
        return 0.0, 0.0
    last = (times - 1) // 2
    with precision(192):
        # Everything is divided by e^{k eps0}: no number is large.
        unit, step = (-arb(epsilon)).exp(), arb(epsilon)
        lost = arb(delta) * (1 + unit) ** times
        hits, low = _likely_hits(epsilon, times, delta), 0.0
        while True:
            ways = arb.bin_uiui(times, hits)
            left = _falling_sum(ways * unit**hits, times, hits, 1 / unit)
            room = left - lost
            if not room > 0:  # so few outcomes have less mass than delta, as far as can be told
                if hits == last:
                    return 0.0, 0.0 if room <= 0 else 2 * epsilon
                hits += 1
                continue
            right = _falling_sum(ways, times, hits, unit)  # over e^{(i - k) eps0}
            found = (times - hits) * step + (room / right).log()
            if not found.is_finite():
                return low, above(times * step)
            low = max(low, below(found))  # any set of outcomes is a test
            # Where it is not certain that an end was passed, both sides of it have this value.
            if found > (times - 2 * hits) * step and hits:
                hits -= 1
            elif found < (times - 2 * hits - 2) * step and hits < last:
                hits += 1
            else:
                return low, max(0.0, above(found))


def _likely_hits(epsilon: float, times: int, delta: float) -> int:
    """About the i whose closed form is epsilon; a bad guess costs time only."""
    if delta <= 0 or epsilon > 600 or times <= FEW:
        return 0
    hits = np.arange((times - 1) // 2 + 1, dtype=np.float64)
    ways = np.cumsum(np.log((times - hits[1:] + 1) / hits[1:]))
    logs = np.concatenate(([0.0], ways)) - times * math.log1p(math.exp(-epsilon))
    left = np.logaddexp.accumulate(logs - hits * epsilon)
    right = np.logaddexp.accumulate(logs - (times - hits) * epsilon)
    room = -np.expm1(np.minimum(math.log(delta) - left, 0.0))
    found = np.where(room > 0, left + np.log(np.maximum(room, 1e-300)) - right, -math.inf)
    return int(np.argmax(found))


def _falling_sum(term: arb, times: int, last: int, ratio: arb) -> arb:
    """The sum of C(times, l) c ratio^(-l) over l = 0 .. last, given its last term.

    Going down, terms change by l ratio / (times - l + 1), a factor that falls: once it is below 1 a
    geometric series bounds the rest.
    """
    total = arb(0)
    small = arb(2) ** -_NEGLIGIBLE_BITS
    for hits in range(last, -1, -1):
        total += term
        if not hits:
            break
        factor = ratio * hits / (times - hits + 1)
        term *= factor
        if hits % 16 == 0 and factor < 1 and term < total * small * (1 - factor):
            return total.union(total + term / (1 - factor))
    return total


class OptimalAccountant(Accountant):
    """[Kairouz2017] Theorem 3.3 for pure mechanisms that share one epsilon."""

    method = AccountingMethod.OPTIMAL_COMPOSITION

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
        """The optimum of each group of equal responses of two outcomes in the composition."""
        found = [0.0]
        for loss, times in parts if delta > 0 else ():
            epsilon = loss.two_losses()
            if epsilon is not None:
                few = min(times, OPTIMAL_COMPOSITION_LIMIT)
                found.append(optimal_composition(epsilon, few, delta)[0])
        return max(found)


def _equal_pure(parts: Parts) -> tuple[float, int] | None:
    """(epsilon, times) if all parts are pure DP with one epsilon and few enough to enumerate."""
    largest = {loss.largest()[1] for loss, _ in parts}
    times = sum(times for _, times in parts)
    if len(largest) != 1 or times > OPTIMAL_COMPOSITION_LIMIT:
        return None
    epsilon = largest.pop()
    return None if math.isinf(epsilon) else (epsilon, times)
