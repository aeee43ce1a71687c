"""The optimal composition of equal pure mechanisms, as an accountant: which closed form is the right one."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from dpcheck.accounting.accountants.interface import Accountant, AccountingMethod
from dpcheck.accounting.certify.bound import Plan
from dpcheck.accounting.certify.optimal import (
    Optimum,
    around_optimum,
    by_optimum,
    by_optimum_below,
    equal_pure,
)
from dpcheck.accounting.losses import Parts

# More mechanisms than this are not enumerated.
OPTIMAL_COMPOSITION_LIMIT = 50_000
# Of so few mechanisms the search starts at the first place: looking for a better one takes longer.
FEW = 4


@lru_cache(maxsize=256)  # both sides of a bound ask for the same
def best_optimum(epsilon: float, times: int, delta: float) -> Optimum:
    """What the right one of the closed forms proves."""
    hits = _likely_hits(epsilon, times, delta) if epsilon else 0
    while (found := around_optimum(epsilon, times, delta, hits)).further:
        hits += found.further
    return found


def optimal_composition(epsilon: float, times: int, delta: float) -> tuple[float, float]:
    """(lower, upper) around the epsilon of `times` adaptive epsilon-DP mechanisms at `delta`.

    Guarantee: encloses the optimum; no better bound holds for all such mechanisms.
    Reference: [Kairouz2017] Theorem 3.3.

    >>> round(optimal_composition(0.1, 100, 1e-5)[1], 4)
    4.3068
    """
    found = best_optimum(epsilon, times, delta)
    return found.lower, found.upper


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


class OptimalAccountant(Accountant):
    """[Kairouz2017] Theorem 3.3 for pure mechanisms that share one epsilon."""

    method = AccountingMethod.OPTIMAL_COMPOSITION

    def plan_above(self, parts: Parts, delta: float) -> Plan:
        """The optimum over all mechanisms with these epsilons; not solved for delta, which a lattice is."""
        equal = equal_pure(parts)
        if equal is None or equal[1] > OPTIMAL_COMPOSITION_LIMIT:
            return Plan()
        return Plan(by_optimum(parts, best_optimum(*equal, delta)))

    def plan_below(self, parts: Parts, delta: float) -> Plan:
        """The optimum of each group of equal responses of two outcomes in the composition."""
        found = []
        for loss, times in parts if delta > 0 else ():
            epsilon = loss.two_losses()
            if epsilon is not None:
                few = min(times, OPTIMAL_COMPOSITION_LIMIT)
                found.append(by_optimum_below(((loss, times),), best_optimum(epsilon, few, delta)))
        return Plan(*found)
