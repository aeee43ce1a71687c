"""Renyi divergences add up at one order, and a conversion turns them into epsilon or delta.

Any order above 1 gives a valid bound, and any majorant at it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpcheck.accounting.assumptions import PLAIN_ARITHMETIC
from dpcheck.accounting.certify.conversion import (
    classic_epsilon,
    improved_delta,
    improved_epsilon,
    optimal_epsilon,
)
from dpcheck.accounting.certify.theorem import Curve, Spends
from dpcheck.accounting.pairs.pair import Parts
from dpcheck.accounting.renyi.closed_forms import concentration
from dpcheck.accounting.renyi.divergence import composed_renyi
from dpcheck.numerics.rounding import Array
from dpcheck.numerics.side import Side


def divergence(parts: Parts, order: float) -> float:
    """A bound on the divergence of a composition at one order, in both directions."""
    if linear := concentration(parts):
        rho, offset = linear
        return (offset + rho * order) * (1 + 1e-15)  # three roundings; 1e-15 is nine
    return float(composed_renyi(parts, np.array([order]))[0])


def by_renyi(
    parts: Parts, delta: float, order: float, u: float = math.inf, *, classic: bool = False
) -> Spends | None:
    """The epsilon that one order proves with the majorant of t = 1/(1 + e^u); None where it proves none."""
    if not (1 < order < math.inf and 0 < delta < math.inf):
        return None
    known = divergence(parts, order)
    if not math.isfinite(known):
        return None
    if classic:
        found = classic_epsilon(order, known, delta)
    elif -LARGEST_ODDS < u < LARGEST_ODDS:
        found = optimal_epsilon(order, known, delta, u)
    else:
        found = improved_epsilon(order, known, delta)
    return Spends(parts, Side.UPPER, found, delta, both=True, assumes=(PLAIN_ARITHMETIC,))


# Odds beyond all that t = 1/(1 + e^u) shows in a float: the majorant of t = 0 stands for them.
LARGEST_ODDS = 745.0


def renyi_curve(parts: Parts, epsilons: Array, orders: Sequence[float]) -> Curve:
    """The deltas that one order each proves."""
    found = [_delta(parts, *pair) for pair in zip(epsilons.tolist(), orders, strict=True)]
    return Curve(
        parts, Side.UPPER, epsilons, np.array(found), both=True, assumes=(PLAIN_ARITHMETIC,)
    )


def _delta(parts: Parts, epsilon: float, order: float) -> float:
    if not 1 < order < math.inf:
        return 1.0
    known = divergence(parts, order)
    return min(1.0, improved_delta(order, known, epsilon)) if math.isfinite(known) else 1.0
