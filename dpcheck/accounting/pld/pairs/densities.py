"""Any pair of densities, integrated in ball arithmetic.

Masses of the cells between the knots come from flint's rigorous integration, the range of the loss
over a cell from evaluating it on the whole cell as one ball. Upper: the cell's curve lies below the
chord between the ends of that range (as in `dpcheck.numerics.lattice.spread`). Lower: the cell is
merged into one outcome. Finer knots give closer bounds, quadratically.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
from flint import acb, arb

from dpcheck.accounting.losses import DensityLoss
from dpcheck.accounting.pld.pairs.atomic import AtomicPair
from dpcheck.accounting.pld.pairs.atoms import Atoms
from dpcheck.core.errors import CannotCertify
from dpcheck.numerics.balls import above, below, precision
from dpcheck.numerics.rounding import UNIT
from dpcheck.numerics.side import Side

# Balls a cell is covered with to bound its losses: one ball overestimates their range.
PIECES = 32


def density_pair(loss: DensityLoss, side: Side) -> AtomicPair:
    """The certified outcomes of a pair of densities on one side.

    Guarantee: as `AtomicPair`; Assumes: both densities integrate to at most 1 and are analytic
    inside the cells.
    """
    p: list[float] = []
    q: list[float] = []
    total = arb(0)
    with precision(96):
        for left, right in zip(loss.knots[:-1], loss.knots[1:], strict=True):
            mass_p, mass_q = (_integral(f, left, right) for f in (loss.p, loss.q))
            total += mass_p
            if side is Side.LOWER:
                p.append(max(below(mass_p), 0.0))
                q.append(above(mass_q))
                continue
            low, high = _range(loss, left, right)
            # The share of the upper end: p - e^low q, over 1 - e^(low - high), at most all of p.
            whole = max(above(mass_p), 0.0)
            share = whole
            if high > low:
                part = (mass_p - arb(low).exp() * mass_q) / (1 - (arb(low) - arb(high)).exp())
                share = min(max(above(part), 0.0), whole)
            for mass, at in ((whole - share, low), (share, high)):
                p.append(mass)
                q.append(mass * math.exp(-at))
        rest = max(above(1 - total), 0.0) if side is Side.UPPER else 0.0
    return AtomicPair(Atoms(np.array(p), np.array(q), 1024 * UNIT), rest)


def _integral(density: Callable[[acb], acb], left: float, right: float) -> arb:
    value = acb.integral(lambda z, _: density(z), acb(left), acb(right)).real
    if not value.is_finite():
        raise CannotCertify(
            f"the density could not be integrated between {left:g} and {right:g}; put knots at its "
            "kinks and jumps.",
            left=left,
            right=right,
        )
    return value


def _range(loss: DensityLoss, left: float, right: float) -> tuple[float, float]:
    """Floats below and above log p/q on the cell."""
    low, high = math.inf, -math.inf
    edges = np.linspace(left, right, PIECES + 1).tolist()
    for start, stop in itertools.pairwise(edges):
        # Wide enough to hold both edges in spite of rounding.
        piece = arb((start + stop) / 2, (stop - start) / 2 * (1 + 1e-9) + 4 * UNIT * abs(stop))
        ratio = (loss.p(acb(piece)) / loss.q(acb(piece))).real
        if not ratio > 0:
            raise CannotCertify(
                f"the likelihood ratio has no positive enclosure between {left:g} and {right:g}; use "
                "finer knots.",
                left=left,
                right=right,
            )
        value = ratio.log()
        low, high = min(low, below(value)), max(high, above(value))
    return low, high
