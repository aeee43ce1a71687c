"""The certified privacy-loss-distribution accountant.

`compose` puts every loss on a lattice that bounds it from the wanted side, and adds them up by one
tilted FFT whose every error is bounded (`dpcheck.numerics.lattice`, `dpcheck.numerics.tilted`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpcheck.accounting.certify.theorem import Spends, Theorem
from dpcheck.accounting.losses import Loss, Parts
from dpcheck.accounting.pld.composed import ComposedLoss
from dpcheck.accounting.pld.finer import finer_worse_epsilon
from dpcheck.accounting.pld.measures import lower_hull
from dpcheck.accounting.pld.reuse import banded, planned, raised
from dpcheck.numerics.rounding import Array
from dpcheck.numerics.side import Side

__all__ = [
    "Bulk",
    "ComposedLoss",
    "bulk",
    "compose",
    "finer_worse_epsilon",
    "likely_worse",
    "lower_hull",
    "pld_delta",
    "pld_epsilon",
    "pld_tradeoff",
    "worse_deltas",
    "worse_epsilon",
]


# Directions estimated within this share of each other are both bounded from below.
CLOSE = 0.003
# Share of the estimated lead of one direction that the other's lattice may cost.
SPARED = 0.3
MOST_SPARED = 0.05


@lru_cache(maxsize=64)
def _composed(parts: tuple[tuple[Loss, int], ...], side: Side) -> ComposedLoss:
    return ComposedLoss(parts, side)


def compose(parts: Sequence[tuple[Loss, int]], side: Side) -> ComposedLoss:
    """The composed loss of (loss, count) parts; cached, so repeated questions share the work."""
    return _composed(tuple((loss, int(count)) for loss, count in parts), side)


def pld_epsilon(parts: Sequence[tuple[Loss, int]], delta: float, side: Side) -> float:
    """epsilon(delta) of one direction of the composition, certified on `side`.

    >>> from dpcheck.accounting.losses import GaussianLoss
    >>> round(pld_epsilon([(GaussianLoss(1.0), 1)], 1e-5, Side.UPPER), 2)
    4.38
    """
    return compose(parts, side).epsilon(delta)


def worse_epsilon(
    ways: Sequence[Parts], delta: float, side: Side, share: float = 0.0
) -> list[Spends]:
    """What proves epsilon(delta) of the worse of a composition and its reversal, on `side`.

    Lattices may cost a `share` of epsilon, where that is more than what they may cost anyway. Above, the
    direction that is estimated to cost less is proved to by a coarser lattice. Below, any one direction is a
    bound; the other is asked only where the estimates are too close to tell.
    """
    if len(ways) == 1:
        return _spends(ways[0], delta, side, share)[0]
    estimates = _estimates(tuple(map(_banded, ways)), side, round(math.log(delta)))
    first, second = (0, 1) if estimates[0] >= estimates[1] else (1, 0)
    proofs, found = _spends(ways[first], delta, side, share)
    if math.isinf(found):
        return proofs
    if side is Side.LOWER:
        gap, less = estimates[first] - estimates[second], abs(estimates[second])
        close = not gap > CLOSE * less or found <= 0
        return proofs + _spends(ways[second], delta, side, share)[0] if close else proofs
    one, added = compose(ways[second], side).lean(delta)
    less = one.estimate(delta)
    spare = min((estimates[first] - less) * SPARED, MOST_SPARED * abs(less))
    left = math.nextafter(found - added, 0.0) if added else found
    if left >= 0:
        known = _surely_within(one, left, delta, spare) or one.within(left, delta, spare)
        if known:
            return [*proofs, known]
    return proofs + _spends(ways[second], delta, side, share)[0]


def likely_worse(ways: Sequence[Parts], delta: float, side: Side) -> ComposedLoss:
    """The direction that is estimated to cost more."""
    if len(ways) == 1:
        return compose(ways[0], side)
    estimates = _estimates(tuple(map(_banded, ways)), side, round(math.log(delta)))
    return compose(ways[int(estimates[0] < estimates[1])], side)


class Bulk(NamedTuple):
    """About mean and standard deviation of a composed loss, and the tilt for a delta; for planning only."""

    mean: float
    sd: float
    tilt: float


def bulk(composed: ComposedLoss, delta: float) -> Bulk:
    """What the plan for about `delta` knows of the whole law."""
    log_delta = round(math.log(delta))
    plan, _ = planned(composed.losses, composed.counts, composed.side, log_delta)
    return Bulk(plan.cumulants.mean, plan.cumulants.sd, plan.tilt)


def _spends(way: Parts, delta: float, side: Side, share: float) -> tuple[list[Spends], float]:
    """What proves the epsilon of one direction, and that epsilon."""
    one, added = compose(way, side).lean(delta)
    proofs = one.spends(delta, share)
    found = [proof.epsilon for proof in proofs]
    if side is Side.LOWER:
        return proofs, max(found, default=0.0)
    least = max(min(found, default=math.inf), 0.0)
    return proofs, math.nextafter(least + added, math.inf) if added else least


def _banded(way: Parts) -> Parts:
    return tuple((loss, banded(count)) for loss, count in way)


@lru_cache(maxsize=512)
def _estimates(ways: tuple[Parts, Parts], side: Side, log_delta: int) -> tuple[float, float]:
    """About epsilon of both directions near this delta; for planning only."""
    delta = math.exp(min(log_delta, -1e-3))
    one = compose(ways[0], side).lean(delta)[0]
    if (lead := one.lead(delta)) > 0:
        return one.estimate(delta), one.estimate(delta) - lead
    return one.estimate(delta), compose(ways[1], side).lean(delta)[0].estimate(delta)


def _surely_within(one: ComposedLoss, epsilon: float, delta: float, spare: float) -> Spends | None:
    """What proves that a few steps more cost no more than `epsilon`: fewer then do not either."""
    counts = tuple(raised(count) for count in one.counts)
    # A power of two: most neighbours ask the same.
    spare = 2.0 ** math.floor(math.log2(spare)) if spare > 0 else 0.0
    found = _more_steps(one.losses, counts, delta, spare)
    return found if found and found.epsilon <= epsilon else None


@lru_cache(maxsize=512)
def _more_steps(
    losses: tuple[Loss, ...], counts: tuple[int, ...], delta: float, spare: float
) -> Spends | None:
    parts = tuple(zip(losses, counts, strict=True))
    return _composed(parts, Side.UPPER).rough(delta, spare)


def worse_deltas(ways: Sequence[Parts], epsilons: Array, side: Side) -> list[Theorem]:
    """What proves delta(epsilon) of the worse of a composition and its reversal at every epsilon, on `side`.

    Above, the direction that is estimated to need less is asked until it is proved to. Below, any one
    direction is a bound; the other is asked only where Chernoff's estimate of it is not less.
    """
    both = [compose(way, side) for way in ways]
    if len(both) == 1:
        return both[0].curves(epsilons)
    estimates = [one.log_deltas(epsilons) for one in both]
    middle = len(epsilons) // 2
    worse = int(estimates[0][middle] < estimates[1][middle])
    proofs = both[worse].curves(epsilons)
    found = both[worse].told(proofs, epsilons)
    if side is Side.UPPER:
        return proofs + both[1 - worse].curves(epsilons, found)
    asked = np.exp(estimates[1 - worse]) > found
    return proofs + both[1 - worse].curves(epsilons[asked]) if asked.any() else proofs


def pld_delta(parts: Sequence[tuple[Loss, int]], epsilons: npt.ArrayLike, side: Side) -> Array:
    """delta(epsilon) of one direction at every epsilon, certified on `side`."""
    return compose(parts, side).delta(epsilons)


def pld_tradeoff(parts: Sequence[tuple[Loss, int]], fpr: npt.ArrayLike, side: Side) -> Array:
    """The least false-negative rate f(fpr) of any test of Q (without the record) against P.

    Guarantee: the returned f lies on `side` of the true one; LOWER is the one a claim may be held
    to by an accountant, UPPER the one no test has to stay above. Reference: [Dong2022] Proposition
    2.12: f(a) = sup over all real epsilon of 1 - delta(epsilon) - e^epsilon a.
    """
    return compose(parts, Side.UPPER if side is Side.LOWER else Side.LOWER).tradeoff(fpr)
