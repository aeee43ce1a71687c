"""Long logs of steps that all differ a little: parameters rounded to a grid, so that few kinds are left.

Each kind of pair below is ordered by its parameters: with smaller ones it is what somebody sees who passes
the output on through a channel. Scaling x to c x and adding N(0, 1 - c^2) takes N(s, 1) to N(c s, 1) and
leaves N(0, 1) as it is; drawing anew from the law of nobody, with probability 1 - w'/w, takes the weight w
of those who are drawn to w'; for Laplace noise and randomized response there is such a channel by
Blackwell's theorem, since their trade-off functions are ordered. A channel acts on mixtures part by part.
So parameters are rounded up above and down below.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from dpcheck.accounting.pairs.pair import Loss
from dpcheck.numerics.rounding import Array, Indices
from dpcheck.numerics.side import Side

# Compositions of more kinds than this are rounded, to at most so many.
MANY_KINDS, FEW_KINDS = 2000, 180
# Cells of the finest and of the coarsest grid in a factor of e, and steps of the search between them.
_FINEST, _COARSEST, _STEPS = 1e6, 1e-3, 24

_Group = list[tuple[Loss, int]]


def rounded(parts: Mapping[Loss, int], side: Side) -> dict[Loss, int]:
    """The parts, of many different ones those with nearby parameters counted together.

    Guarantee: above, dominates the composition of `parts`; below, is contained in it.
    """
    if len(parts) <= MANY_KINDS:
        return dict(parts)
    found: dict[Loss, int] = {}
    groups: dict[Loss, tuple[_Group, list[tuple[float, ...]]]] = {}
    for loss, times in parts.items():
        values = loss.parameters()
        if not values or not all(1e-150 < value < 1e150 for value in values):
            found[loss] = found.get(loss, 0) + times
        else:
            # Equal but for their parameters.
            members, table = groups.setdefault(loss.with_parameters([1.0] * len(values)), ([], []))
            members.append((loss, times))
            table.append(values)
    logs = [np.log(np.array(table)) for _, table in groups.values()]
    share = FEW_KINDS / max(sum(len(one) for one in logs), 1)
    for (members, table), log in zip(groups.values(), logs, strict=True):
        cells = _cells(log, max(1, int(share * len(log))))
        values_ = np.array(table)
        for at in _together(cells):
            # The corner of a cell is the worst, or the best, of those that lie in it.
            corner = values_[at].max(axis=0) if side is Side.UPPER else values_[at].min(axis=0)
            loss = members[int(at[0])][0].with_parameters(corner.tolist())
            found[loss] = found.get(loss, 0) + sum(members[i][1] for i in at.tolist())
    return found


def _cells(logs: Array, most: int) -> Indices:
    """Which cell of a grid each row lies in, of the finest grid with at most so many that are not empty."""
    low, high = math.log(_COARSEST), math.log(_FINEST)
    best = np.floor(logs * _COARSEST).astype(np.int64)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        cells = np.floor(logs * math.exp(middle)).astype(np.int64)
        if len(np.unique(cells, axis=0)) <= most:
            low, best = middle, cells
        else:
            high = middle
    return best


def _together(cells: Indices) -> list[Indices]:
    """The rows of each cell."""
    _, which = np.unique(cells, axis=0, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    return np.split(order, np.flatnonzero(np.diff(which.ravel()[order])) + 1)
