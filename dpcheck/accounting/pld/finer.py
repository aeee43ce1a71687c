"""One epsilon on finer lattices than are usual, for a composition whose epsilon is roughly known.

Nothing is certified here but what the lattices prove: any choice of share, tilt and window gives a bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from dpcheck.accounting.certify.lattice import in_cell, law, transformed
from dpcheck.accounting.certify.theorem import Spends
from dpcheck.accounting.losses import Parts
from dpcheck.accounting.pld.composed import ComposedLoss
from dpcheck.accounting.pld.layout import laid_out
from dpcheck.accounting.pld.window import Cumulants
from dpcheck.numerics.search import cell
from dpcheck.numerics.side import Side

# Losses that are too rare to matter to a relative change of delta of this share of what is asked for.
LEFT_OUT = 0.1
# Placements of the window that are tried.
TRIES = 3


def finer_epsilon(
    parts: Parts, delta: float, side: Side, *, about: float, share: float
) -> Spends | None:
    """What proves an epsilon of one direction at `delta`, on `side`, near `about`.

    Lattice, window and rare losses may each cost a `share` of epsilon.
    """
    one = ComposedLoss(parts, side)
    if not one.parts or not 0 < delta < 1 or about <= 0:
        return None
    # A relative change d of delta moves epsilon by d over the tilt, which is seldom below 1.
    cumulants = Cumulants(one.parts, math.log(delta) + min(math.log(share * LEFT_OUT * about), 0.0))
    best, tilt = None, cumulants.tilt_for_epsilon(about)
    for _ in range(TRIES):
        known = transformed(*laid_out(one.losses, side, cumulants, tilt, share=share))
        if known is None:
            return None
        composed = law(known, one.counts)
        place = cell(composed.sums, delta)
        found = in_cell(composed, place.point, delta) if place else None
        if place is None or found is None:
            return best
        less = best is None or found.epsilon < best.epsilon
        best = found if best is None or less is (side is Side.UPPER) else best
        better = cumulants.tilt_for_epsilon(found.epsilon)
        if place.noise <= share * about * tilt or abs(better - tilt) <= 0.01 * tilt:
            break
        tilt = better
    return best


def finer_worse_epsilon(
    ways: Sequence[Parts], delta: float, side: Side, share: float
) -> list[Spends]:
    """What proves epsilon of the worse of a composition and its reversal, from what is usual.

    Above, a direction whose usual bound is below what the other's finer one proves needs no finer one.
    """
    wholes = [ComposedLoss(way, side) for way in ways]
    usual = sorted(((one.epsilon(delta), k) for k, one in enumerate(wholes)), reverse=True)
    proofs, found = [], 0.0
    for about, k in usual:
        proofs += wholes[k].spends(delta)
        if about <= found or math.isinf(about):
            found = max(found, about)
            continue
        finer = finer_epsilon(ways[k], delta, side, about=about, share=share)
        if finer is not None:
            proofs.append(finer)
            about = (min if side is Side.UPPER else max)(about, finer.epsilon)
        found = max(found, about)
    return proofs
