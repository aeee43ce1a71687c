"""The optimal composition of equal pure mechanisms."""

from __future__ import annotations

import math
from dataclasses import dataclass

from flint import arb

from dpcheck.accounting.certify.theorem import Spends
from dpcheck.accounting.pairs.pair import Parts
from dpcheck.numerics.balls import above, below, precision
from dpcheck.numerics.side import Side

# Terms smaller than this share of their sum, with all that follow, are left to the enclosure.
_NEGLIGIBLE_BITS = 120


def equal_pure(parts: Parts) -> tuple[float, int] | None:
    """(epsilon, times) if all parts are pure DP with one epsilon; None elsewhere."""
    largest = {loss.largest()[1] for loss, _ in parts}
    if len(largest) != 1:
        return None
    epsilon = largest.pop()
    return None if math.isinf(epsilon) else (epsilon, sum(times for _, times in parts))


@dataclass(frozen=True, slots=True)
class Optimum:
    """The epsilon of `times` adaptive epsilon-DP mechanisms at `delta` lies between `lower` and `upper`.

    `further` says where else to look: -1 for fewer hits, 1 for more, 0 where this was the place.
    """

    epsilon: float
    times: int
    delta: float
    lower: float
    upper: float
    further: int = 0


def around_optimum(epsilon: float, times: int, delta: float, hits: int) -> Optimum:
    """The epsilon of `times` adaptive epsilon-DP mechanisms at `delta`, by the closed form for so many hits.

    delta(eps) is the maximum over i of (A_i - e^eps B_i)/Z with prefix sums of C(k,l) e^{(k-l) eps0} and
    C(k,l) e^{l eps0}; the maximum is at the last i with (k - 2i) eps0 >= eps. So eps(delta) is
    log((A_i - Z delta)/B_i) at the one i where that lies between (k - 2i - 2) eps0 and (k - 2i) eps0. At any
    other it is a lower bound, since any set of outcomes is a test, and the sum of all epsilons an upper one.

    Guarantee: encloses the optimum, whatever `hits`; no better bound holds for all such mechanisms.
    Reference: [Kairouz2017] Theorem 3.3.
    """
    return Optimum(epsilon, times, delta, *_around(epsilon, times, delta, hits))


def _around(epsilon: float, times: int, delta: float, hits: int) -> tuple[float, float, int]:
    """(lower, upper, further)."""
    if epsilon == 0:
        return 0.0, 0.0, 0
    last = (times - 1) // 2
    if not 0 <= hits <= last:
        return 0.0, math.inf, 0
    with precision(192):
        # Everything is divided by e^{k eps0}: no number is large.
        unit, step = (-arb(epsilon)).exp(), arb(epsilon)
        lost = arb(delta) * (1 + unit) ** times
        most = above(times * step)
        ways = arb.bin_uiui(times, hits)
        left = _falling_sum(ways * unit**hits, times, hits, 1 / unit)
        room = left - lost
        if not room > 0:  # so few outcomes have less mass than delta, as far as can be told
            if hits == last:
                return 0.0, min(0.0 if room <= 0 else 2 * epsilon, most), 0
            return 0.0, most, 1
        right = _falling_sum(ways, times, hits, unit)  # over e^{(i - k) eps0}
        found = (times - hits) * step + (room / right).log()
        if not found.is_finite():
            return 0.0, most, 0
        low = max(0.0, below(found))  # no epsilon is below 0
        # Where it is not certain that an end was passed, both sides of it have this value.
        if found > (times - 2 * hits) * step and hits:
            return low, most, -1
        if found < (times - 2 * hits - 2) * step and hits < last:
            return low, most, 1
        return low, max(0.0, above(found)), 0


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


def by_optimum(parts: Parts, known: Optimum) -> Spends | None:
    """Pure mechanisms of one epsilon from above; None where the theorem is about others."""
    if equal_pure(parts) != (known.epsilon, known.times):
        return None
    return Spends(parts, Side.UPPER, known.upper, known.delta, both=True)


def by_optimum_below(parts: Parts, known: Optimum) -> Spends | None:
    """As many of the responses of two outcomes that `parts` are, or fewer; None where they are others."""
    ((loss, most),) = parts
    if loss.two_losses() != known.epsilon or known.times > most:
        return None
    return Spends(parts, Side.LOWER, known.lower, known.delta, both=True)
