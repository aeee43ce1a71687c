"""One epsilon on finer lattices than are usual, for a composition whose epsilon is roughly known.

Nothing is certified here but what the lattices prove: any choice of share, tilt and window gives a bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpcheck.accounting.losses import Parts
from dpcheck.accounting.pld.composed import ComposedLoss
from dpcheck.accounting.pld.layout import laid_out
from dpcheck.accounting.pld.window import Cumulants
from dpcheck.numerics.side import Side
from dpcheck.numerics.spectrum import spectrum
from dpcheck.numerics.tilted import Convolution

# Losses that are too rare to matter to a relative change of delta of this share of what is asked for.
LEFT_OUT = 0.1
# Placements of the window that are tried.
TRIES = 3


def finer_epsilon(parts: Parts, delta: float, side: Side, *, about: float, share: float) -> float:
    """An epsilon of one direction at `delta`, certified on `side`, near `about`.

    Lattice, window and rare losses may each cost a `share` of epsilon. Infinite (above) or 0 (below) where no
    such lattice answers.
    """
    nothing = math.inf if side is Side.UPPER else 0.0
    one = ComposedLoss(parts, side)
    if not one.parts:
        return 0.0
    if not 0 < delta < 1 or about <= 0:
        return nothing
    # A relative change d of delta moves epsilon by d over the tilt, which is seldom below 1.
    cumulants = Cumulants(one.parts, math.log(delta) + min(math.log(share * LEFT_OUT * about), 0.0))
    best, tilt = nothing, cumulants.tilt_for_epsilon(about)
    for _ in range(TRIES):
        terms = spectrum(*laid_out(side, cumulants, tilt, share=share))
        if terms is None:
            return nothing
        value, noise = Convolution(terms, one.counts, side).epsilon(delta)
        if math.isnan(value):
            return best
        best = min(best, value) if side is Side.UPPER else max(best, value)
        better = cumulants.tilt_for_epsilon(value)
        if noise <= share * about * tilt or abs(better - tilt) <= 0.01 * tilt:
            break
        tilt = better
    return float(np.maximum(best, 0.0))


def finer_worse_epsilon(ways: Sequence[Parts], delta: float, side: Side, share: float) -> float:
    """The same of the worse of a composition and its reversal, from what is usual.

    Above, a direction whose usual bound is below what the other's finer one proves needs no finer one.
    """
    usual = sorted(((ComposedLoss(way, side).epsilon(delta), way) for way in ways), key=_first)[
        ::-1
    ]
    found = 0.0
    for about, way in usual:
        if about <= found or math.isinf(about):
            found = max(found, about)
            continue
        finer = finer_epsilon(way, delta, side, about=about, share=share)
        found = max(found, min(about, finer) if side is Side.UPPER else max(about, finer))
    return found


def _first(pair: tuple[float, Parts]) -> float:
    return pair[0]
