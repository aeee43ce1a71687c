"""Choosing the order of a Renyi filter a little after the first release, and what that costs.

The order that suits the first event need not suit what follows. As long as little was released, the
choice can wait. Let s_- and s_+ be the least and the largest s = order - 1 to choose from, and let the
choice be made at a time T (before a release whose cost is known) up to which

    D_{1 + s_+} <= G_+     and     D_2 <= G_2          (the gates).

Whoever chooses may have seen all outputs so far. With L the privacy loss at T, the certificate of any
order to choose from is at most its delta times e^{s (L - D)} <= e^{s L} (see `certificate`, C = 0), so

    max over s of e^{s L} <= e^{s_+ L} + (s_+ - s_-) (e^{-L} - 1)_+ :

for L >= 0 the first term is enough; for L < 0 the largest is e^{s_- L}, and e^{s_- L} - e^{s_+ L} is
the integral of |L| e^{s L} over s, at most (s_+ - s_-) |L|. Under P the mean of the first is at most
e^{s_+ G_+}. That of (e^{-L} - 1)_+ is at most the total variation between P and Q up to T, hence at
most half the root of chi^2 = E[e^L] - 1 <= e^{G_2} - 1. So the choice costs a factor of

    kappa = e^{s_+ G_+} + (s_+ - s_-) / 2 sqrt(e^{G_2} - 1):

with delta / kappa for the order chosen, the mean at T of its certificate is at most delta, and from
there on it is a supermartingale like any other. Before T whoever stops has chosen by stopping.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dpcheck.ledger.pricing.costs import Floats

Pairs = tuple[tuple[float, float], ...]

# (s of the favoured order over the least, the largest over it), from wide to narrow
_WIDE = ((4.0, 1.6), (3.0, 1.6), (3.0, 1.25), (2.5, 1.25))
_NARROW = ((2.0, 1.25), (2.0, 1.0), (1.6, 1.0), (1.4, 1.0), (1.25, 1.0))
# What it may cost of the favoured order's releases, if the gates bear at least so many of the first
# event. More than `_MOST` in log(kappa) is never worth it.
_OFFERS = (
    (0.005, 4.0, _WIDE),
    (0.01, 2.0, _WIDE),
    (0.015, 1.0, _WIDE),
    (0.018, 1.0, _WIDE + _NARROW),
)
_MOST = 0.4
_LEAST = 0.1  # orders with less of the favoured limit are not worth a choice
_ROUNDING = 1e-12


class Deferral(NamedTuple):
    """Places of the orders to choose from, the gates by place, and kappa."""

    places: tuple[int, ...]
    gates: tuple[tuple[int, float], ...]
    factor: float


def price(low: float, high: float, at_high: float, at_two: float) -> float:
    """kappa for s between `low` and `high`, with gates at 1 + `high` and at order 2 or above.

    >>> round(price(2.0, 8.0, 1e-3, 1e-4), 4)
    1.038
    """
    if not (at_high * high < 1 and at_two < 1):
        return math.inf
    found = math.exp(high * at_high) + (high - low) / 2 * math.sqrt(math.expm1(at_two))
    return found * (1 + _ROUNDING)


def defer(orders: Floats, cost: Floats, favoured: int, limits: Floats) -> Deferral | None:
    """The widest choice around `favoured` that is worth its price, if a first event of `cost` leaves one.

    `limits` are those of all of delta, order by order. A factor kappa takes log(kappa) from s times
    the limit.
    """
    steps = orders - 1
    exponent = float(steps[favoured] * limits[favoured])
    useful = np.isfinite(cost) & (limits > _LEAST * limits[favoured])
    two = int(np.searchsorted(steps, 1.0))  # order 2, or the next above, whose divergence is larger
    for part, least, ranges in _OFFERS:
        factor = math.exp(min(_MOST, part * exponent))
        for below, above in ranges:
            near = (steps >= steps[favoured] / below * 0.999) & (
                steps <= steps[favoured] * above * 1.001
            )
            places = np.flatnonzero(near & useful)
            if len(places) < 2 or not np.isfinite(cost[two]):
                continue
            ends = float(steps[places[0]]), float(steps[places[-1]])
            high, low = float(cost[places[-1]]), float(cost[two])
            copies = _copies(ends, high, low, factor)
            if copies >= least:
                gates = ((int(places[-1]), copies * high), (two, copies * low))
                return Deferral(
                    tuple(places.tolist()), gates, price(*ends, gates[0][1], gates[1][1])
                )
    return None


def _copies(ends: tuple[float, float], high: float, low: float, factor: float) -> float:
    """How many of the first event the gates may bear at a price of `factor`; rounded down."""
    most = 1.0
    if price(*ends, high, low) > factor:
        return 0.0
    while most < 1e9 and price(*ends, 2 * most * high, 2 * most * low) <= factor:
        most *= 2
    step = most / 2
    while step > most / 64:
        if price(*ends, (most + step) * high, (most + step) * low) <= factor:
            most += step
        step /= 2
    return most
