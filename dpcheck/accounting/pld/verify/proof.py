"""A second, slow proof of the fast accountant's answer, in ball arithmetic.

`verified_epsilon` takes the lattice measures the fast path built, as the exact floats they are, and proves
with python-flint (i) that each lies on its side of the true curve F(y), and (ii) by exact polynomial
powers that their composition meets delta at the reported epsilon. It shares with the fast path only the
choice of lattice, not one error bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from flint import arb

from dpcheck.accounting.certify.bound import between
from dpcheck.accounting.losses import Loss
from dpcheck.accounting.pld.composed import ComposedLoss
from dpcheck.accounting.pld.distribution import compose
from dpcheck.accounting.pld.verify.composition import check_composition
from dpcheck.accounting.pld.verify.curves import Curve, curve_of
from dpcheck.accounting.pld.verify.lattice import check_lattice
from dpcheck.accounting.pld.verify.refusals import too_much
from dpcheck.core.bound import Bound
from dpcheck.numerics.balls import above, precision
from dpcheck.numerics.lattice import LatticeLoss
from dpcheck.numerics.series import Window
from dpcheck.numerics.side import Side

MAX_POINTS = 600_000
BITS = 160
# So far beyond the largest loss no rounding hides an outcome.
_BEYOND = 4e-9
METHOD = "pld, verified in ball arithmetic"


def pld_verify(parts: Sequence[tuple[Loss, int]], delta: float) -> Bound:
    """epsilon(delta) of one direction, both sides, proved a second time by balls.

    Limits: see `curve_of`, and a lattice of up to 600,000 points; seconds to minutes. Anything else raises
    CannotCertify.
    Guarantee: raises unless both bounds hold in ball arithmetic.

    >>> from dpcheck.accounting.losses import GaussianMixtureLoss
    >>> bound = pld_verify([(GaussianMixtureLoss((1.0,), (0.1,)), 4)], 1e-4)
    >>> 0 < bound.lower < bound.upper < 1.001 * bound.lower
    True
    """
    lower, upper = (verified_epsilon(parts, delta, side) for side in (Side.LOWER, Side.UPPER))
    return between(lower, upper, METHOD)


def verified_epsilon(parts: Sequence[tuple[Loss, int]], delta: float, side: Side) -> float:
    """epsilon(delta) of one direction on one side; at least 0."""
    composed = compose(parts, side)
    if not composed.parts:
        return 0.0
    solution = composed.solve(delta)
    value = max(solution.value, 0.0)
    if math.isinf(value) or (side is Side.LOWER and value == 0):
        return value  # trivial
    losses, window = composed.layers(solution)
    _check_size(losses, window)
    with precision(BITS):
        curves = [curve_of(loss, side) for loss in composed.losses]
        if side is Side.UPPER and value > (most := _largest(composed, curves)):
            return most
        for curve, (measure, _) in zip(curves, losses, strict=True):
            check_lattice(curve, measure, side)
        check_composition(losses, window, value, delta, side)
    return value


def _largest(composed: ComposedLoss, curves: Sequence[Curve]) -> float:
    """A bound on the sum of the losses: beyond the largest of each its curve is 0; infinite if it is not."""
    total = arb(0)
    for (pair, count), curve in zip(composed.parts, curves, strict=True):
        if math.isinf(pair.top):
            return math.inf
        top = arb(pair.top + _BEYOND * (1 + abs(pair.top)))
        if not curve.at(top) <= 0:
            return math.inf
        total += count * top
    return above(total)


def _check_size(losses: list[tuple[LatticeLoss, int]], window: Window) -> None:
    largest = max(window.size, *(len(loss.masses) for loss, _ in losses))
    if largest > MAX_POINTS:
        raise too_much(f"the lattice has {largest} points, more than {MAX_POINTS}")
