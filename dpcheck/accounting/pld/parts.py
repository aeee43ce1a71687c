"""The parts of a composition as the lattice sees them: equal ones counted together, few outcomes listed."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dpcheck.accounting.losses import GaussianLoss, Loss
from dpcheck.accounting.pld.built import build
from dpcheck.accounting.pld.pairs.together import Listed, listed, may_be_listed, together
from dpcheck.numerics.rounding import UNIT
from dpcheck.numerics.side import Side


def merged(parts: Sequence[tuple[Loss, int]], side: Side) -> list[tuple[Loss, int]]:
    """Equal losses counted together; all Gaussian ones as the one they compose to exactly, different ones
    of a few outcomes in groups whose outcomes are listed.
    """
    counts: dict[Loss, int] = {}
    squares: list[float] = []
    for loss, count in parts:
        if (mu := loss.normal_shift) is not None:
            squares.append(count * mu * mu)  # in this order only what is nothing underflows
        elif count > 0:
            counts[loss] = counts.get(loss, 0) + count
    if math.fsum(squares) > 0:
        slip = 8 * UNIT if side is Side.UPPER else -8 * UNIT
        counts[GaussianLoss(math.sqrt(math.fsum(squares)) * (1 + slip))] = 1
    if len(counts) < 2:
        return list(counts.items())
    alone: list[tuple[Loss, int]] = []
    few: list[Listed] = []
    for loss, count in counts.items():
        one = listed(loss, count, build(loss, side)) if may_be_listed(loss, count) else None
        if one is None:
            alone.append((loss, count))
        else:
            few.append(one)
    return alone + together(few)
