"""Each lattice measure lies on its side of the true curve, in balls."""

from __future__ import annotations

from flint import arb

from dpcheck.accounting.pld.verify.curves import Curve
from dpcheck.accounting.pld.verify.refusals import contradiction
from dpcheck.numerics.lattice import LatticeLoss
from dpcheck.numerics.side import Side


def check_lattice(curve: Curve, loss: LatticeLoss, side: Side) -> None:
    """The measure's curve, as the floats it is, lies on its side of F.

    Upper: F is convex, so it suffices that the measure's piecewise linear curve is above F at its kinks.
    Lower: each piece of the measure's curve must lie below a line that lies below F.
    """
    step, offset = arb(loss.lattice.step), arb(loss.lattice.offset) - arb(loss.slack)
    levels = [offset + step * k for k in range(loss.first, loss.first + len(loss.masses))]
    above, scaled = arb(loss.infinite), arb(0)
    values = [arb(0)] * len(levels)
    for k in range(len(levels) - 1, -1, -1):
        values[k] = above - levels[k].exp() * scaled
        mass = arb(float(loss.masses[k]))
        above, scaled = above + mass, scaled + mass * (-levels[k]).exp()
    if side is Side.LOWER:
        _check_below(curve, levels, values, above, scaled)
        return
    if not above >= 1:
        raise contradiction("an upper lattice measure: its mass is below 1")
    for level, value in zip(levels, values, strict=True):
        if not value >= curve.at(level):
            raise contradiction(f"an upper lattice measure at loss {float(level.mid()):.6g}")


def _check_below(
    curve: Curve, levels: list[arb], values: list[arb], mass: arb, scaled: arb
) -> None:
    if not mass <= 1:
        raise contradiction("a lower lattice measure: its mass is above 1")
    # Beyond the last kink the curve is the mass of infinite loss.
    if not values[-1] <= curve.certain:
        raise contradiction("a lower lattice measure: the mass of infinite loss")
    trivial = ((arb(0), arb(0)), (arb(1), arb(1)))
    middles = [float(level.mid()) for level in levels]
    # Below the first kink the curve is mass - y scaled.
    y, before = levels[0].exp(), middles[0] - abs(middles[1] - middles[0]) if middles[1:] else -1.0
    first = (*trivial, *curve.lines(before, middles[0], scaled))
    if not any(a >= mass and a - y * b >= values[0] for a, b in first) and not scaled >= 1:
        raise contradiction("a lower lattice measure below its first point")
    for k in range(len(levels) - 1):
        left, right = levels[k].exp(), levels[k + 1].exp()
        slope = (values[k] - values[k + 1]) / (right - left)
        lines = (*trivial, *curve.lines(middles[k], middles[k + 1], slope))
        if not any(a - left * b >= values[k] and a - right * b >= values[k + 1] for a, b in lines):
            raise contradiction(f"a lower lattice measure at loss {middles[k]:.6g}")
