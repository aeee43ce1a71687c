"""Where the lattice of a composition is laid: step, tilt, losses and window.

Nothing here is certified but the lattice losses: a bad choice gives a loose bound, never a wrong one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpcheck.accounting.certify.lattice import OnLattices, on_lattices
from dpcheck.accounting.losses import Loss
from dpcheck.accounting.pld.window import (
    MAX_POINTS,
    MOST_ASKED,
    Cumulants,
    Reach,
    allowed_cost,
    fitted,
    given_away,
    loss_ranges,
    reach,
    spread_cost,
    too_many_points,
)
from dpcheck.numerics.fourier import fast_size
from dpcheck.numerics.rounding import Array
from dpcheck.numerics.series import Window
from dpcheck.numerics.side import Side

FEW = 100
STEEPEST = 12.0
# Share of epsilon, and absolute epsilon, that the lattice may cost on each side.
ACCURACY = {Side.UPPER: (6e-5, 2e-7), Side.LOWER: (4e-4, 3e-7)}
# A lower lattice is made finer by a third this often, unless its steps hardly matter at the tilt.
FINER, FINEST = 3, 1e-5
# Steps that are tried, as powers of the coarsest over the finest.
_HUNDREDTHS = np.linspace(0.0, 1.0, 100)


def laid_out(
    losses: Sequence[Loss],
    side: Side,
    cumulants: Cumulants,
    tilt: float,
    spare: float = 0.0,
    share: float = 0.0,
) -> tuple[OnLattices, list[int], Window]:
    """The lattice losses with the planned counts, and the window around the saddle point of `tilt`.

    They may cost about ACCURACY, and `spare` where that is more; with a `share`, that share of epsilon.
    """
    plan = reach(cumulants, tilt)
    if not any(pair.exact for pair, *_ in cumulants.parts):
        # Steeper tilts resolve epsilon beyond the accuracy the lattice has anyway.
        relative, absolute = ACCURACY[Side.UPPER]
        tilt = min(tilt, 3 / ((share or relative) * abs(plan.center) + absolute))
        plan = plan if tilt == plan.tilt else reach(cumulants, tilt)
    ranges = loss_ranges(cumulants, tilt)
    widest = max(high - low for low, high in ranges)
    step = _step(side, cumulants, plan, (spare, share), widest)
    if tilt * step > STEEPEST:
        # The point below epsilon must not drown in the weight of the one above it.
        tilt = STEEPEST / step
        plan, ranges = reach(cumulants, tilt), loss_ranges(cumulants, tilt)
    counts = [count for _, count, *_ in cumulants.parts]
    laid = on_lattices(losses, side, step, ranges)
    if side is Side.LOWER:
        # Masses that fall steeply next to an atom need cells that show it.
        for _ in range(FINER):
            large = 3 * max(plan.high - plan.low, widest) > step * _most(side, share)
            most = 1.5 * float(_allowed(side, cumulants, plan, step, share))
            if large or tilt * step < FINEST or given_away(cumulants, laid.measures, tilt) <= most:
                break
            step /= 3
            laid = on_lattices(losses, side, step, ranges)
    measures = list(zip(laid.measures, counts, strict=True))
    origin = sum(count * loss.lattice.offset for loss, count in measures)
    # The window need not reach beyond the sums there are.
    first = sum(count * loss.first for loss, count in measures)
    last = sum(count * (loss.first + len(loss.masses) - 1) for loss, count in measures)
    start = max(math.floor((plan.low - origin) / step) - 1, first - 1)
    stop = min(math.ceil((plan.high - origin) / step) + 1, last + 2)
    if stop - start > 2 * max(
        MAX_POINTS, _most(side, share)
    ):  # losses with steps of their own cannot be made coarser
        raise too_many_points(cumulants)
    size = fast_size(max(stop - start, 128))
    return laid, counts, Window(tilt, start, size, plan.slope_below, plan.slope_above)


def _most(side: Side, share: float) -> int:
    """Points of the largest lattice."""
    if share:
        return MOST_ASKED
    return MAX_POINTS if side is Side.UPPER else MAX_POINTS // 2


def _step(
    side: Side, cumulants: Cumulants, plan: Reach, cost: tuple[float, float], widest: float
) -> float:
    spare, share = cost
    width = plan.high - plan.low
    most = _most(side, share)
    finest, coarsest = width / most * 1.01, min(width, 1.0)
    steps = finest * (coarsest / finest) ** _HUNDREDTHS
    if cumulants.uses <= FEW:
        # Little averaging over the cell then, and a fine lattice costs nothing.
        allowed = max(float(_allowed(side, cumulants, plan, width, share)), spare)
        steps = np.minimum(steps, max(width / 2000, allowed / 2, widest / 200_000))
    laid = fitted(cumulants, steps, max(width, widest) / most)
    merged = laid if side is Side.LOWER else None
    costs = spread_cost(cumulants, plan.tilt, steps, merged=merged, finest=width / most)
    # The worst point of a cell counts when few losses are added.
    costs = costs * (1 + 2 / cumulants.uses)
    costs = costs * (1 + plan.tilt * steps)
    fine = np.flatnonzero(costs <= np.maximum(_allowed(side, cumulants, plan, steps, share), spare))
    if not len(fine) and costs[0] > 0.05 * abs(plan.center) + 1e-3:
        raise too_many_points(cumulants)
    return max(float(laid[fine[-1] if len(fine) else 0]), widest / most)


def _allowed(
    side: Side, cumulants: Cumulants, plan: Reach, step: Array | float, share: float
) -> Array:
    """The epsilon the lattice may cost: what is usual, or the share that is asked for."""
    if share:
        return np.full(np.shape(step), share * abs(plan.center))
    loose = [pair.loose_atoms > 0 for pair, *_ in cumulants.parts]
    lone = sum(loose) if side is Side.LOWER else 0
    return allowed_cost(plan, step, ACCURACY[side], lone=lone)
