"""Cells of an upper lattice that are wide where hardly any tilted mass lies.

Nothing here is certified and nothing needs to be: any choice of cells gives a bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcheck.numerics.lattice import Lattice
from dpcheck.numerics.rounding import Array, Indices

# What wider cells may add to the cost of an upper lattice, and the number of cells from which it pays.
GRADED, GRADED_CELLS = 0.05, 2000
# How much the logarithm of the tilt may grow over a wide cell.
GENTLE = 0.03


@dataclass(frozen=True, slots=True)
class Grading:
    """About how many cells lie below each of increasing losses, less the anchor; any choice is sound."""

    away: Array
    cells: Array

    def among(self, index: Indices, lattice: Lattice, anchor: float) -> Indices:
        """The points of a lattice, `index` all of them, that end these cells; the anchor is among them."""
        first, last, middle = int(index[0]), int(index[-1]), lattice.nearest(anchor)
        ends = np.array([first - middle, last - middle]) * lattice.step
        low, high = np.interp(ends, self.away, self.cells).tolist()
        wanted = np.arange(math.floor(low), math.ceil(high) + 1)
        places = np.rint(np.interp(wanted, self.cells, self.away) / lattice.step)
        kept = np.zeros(len(index), dtype=bool)
        kept[
            np.minimum(np.maximum(places + (middle - first), 0), last - first).astype(np.int64)
        ] = True
        for at in (first, first + 1, middle - 1, middle, middle + 1, last - 1, last):
            if first <= at <= last:
                kept[at - first] = True
        return index[kept]


def graded(away: Array, logs: Array, tilt: float, step: float) -> Grading | None:
    """Cells as wide as their tilted masses allow, at distances from the anchor: with widths r step they cost
    E min(r^2, 6 distance / step) (see `spread_cost`), about 1 + GRADED times the cost of r = 1.

    The fewest cells have r proportional to the cube root of gap over mass, 1 at least; a cell over
    which the tilt grows much costs more than that. None where they are not fewer.
    """
    widest = GENTLE / ((tilt + 1) * step)
    if widest < 2 or float(away[-1] - away[0]) < GRADED_CELLS * step:
        return None
    masses = np.exp(logs - logs.max())
    masses /= masses.sum()
    added = GRADED * float(masses @ np.minimum(np.abs(away) * (6 / step), 1.0))
    weights, gaps = np.maximum(masses[1:], masses[:-1]) + 1e-300, away[1:] - away[:-1]
    rates = np.cbrt(gaps / weights)
    order = np.argsort(rates)[::-1]
    # Those that are widened, the widest first, share what may be added.
    costs = np.cumsum((weights * rates**2)[order] + 1e-300)
    scales = np.sqrt(added / costs)
    wide = int(np.count_nonzero(scales * rates[order] > 1))
    if not wide:
        return None
    ratios = np.minimum(np.maximum(rates * scales[wide - 1], 1.0), widest)
    cells = np.zeros(len(away))
    np.cumsum(gaps / (ratios * step), out=cells[1:])
    return Grading(away, cells)
