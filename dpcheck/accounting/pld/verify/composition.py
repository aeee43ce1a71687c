"""The composition of lattice measures by exact polynomial powers, in balls."""

from __future__ import annotations

import math

from flint import arb, arb_poly

from dpcheck.accounting.pld.verify.refusals import contradiction
from dpcheck.numerics.lattice import LatticeLoss
from dpcheck.numerics.series import Window
from dpcheck.numerics.side import Side


def check_composition(
    losses: list[tuple[LatticeLoss, int]], window: Window, epsilon: float, delta: float, side: Side
) -> None:
    """The composed lattice measures meet delta at epsilon, by polynomial powers on a circle."""
    size, tilt = window.size, arb(window.tilt)
    step = arb(losses[0][0].lattice.step)
    total, log_scale, origin = arb_poly([1]), arb(0), arb(0)
    tilted: list[tuple[list[arb], list[arb], int]] = []
    for loss, count in losses:
        lattice = loss.lattice
        levels = [
            arb(lattice.offset) - arb(loss.slack) + step * k
            for k in range(loss.first, loss.first + len(loss.masses))
        ]
        x = [
            arb(float(m)) * (tilt * level).exp()
            for m, level in zip(loss.masses, levels, strict=True)
        ]
        scale = sum(x, arb(0)).mid()
        x = [value / scale for value in x]
        log_scale += count * scale.log()
        origin += count * (arb(lattice.offset) - arb(loss.slack))
        tilted.append((levels, x, count))
        circle = [arb(0)] * size
        for k, value in enumerate(x, loss.first):
            circle[k % size] += value
        total = _fold(total * _power(arb_poly(circle), count, size), size)
    values = total.coeffs()
    values += [arb(0)] * (size - len(values))
    first, last = origin + step * window.start, origin + step * (window.start + size)
    # No sum counts for more than the largest value of e^{-t x} (1 - e^{-x}).
    most = (tilt / (tilt + 1)) ** tilt / (tilt + 1)
    above, below = arb(0), arb(0)
    if sum(n * (a.first + len(a.masses) - 1) for a, n in losses) >= window.start + size:
        above = most * _chernoff(tilted, arb(window.slope_above), last)
    if sum(count * loss.first for loss, count in losses) < window.start:
        below = most * _chernoff(tilted, -arb(window.slope_below), first)
    # At least one infinite loss: prod (m + i)^n - prod m^n.
    finite, any_ = arb(1), arb(1)
    for loss, count in losses:
        mass = sum((arb(float(m)) for m in loss.masses), arb(0))
        finite *= mass**count
        any_ *= (mass + arb(loss.infinite)) ** count

    def divergence(at: arb, missed: arb) -> arb:
        """That of the composed measures at epsilon `at`, with what is missed added."""
        body = missed
        for k in range(window.start, window.start + size):
            excess = origin + step * k - at
            if not excess <= 0:
                body += values[k % size] * (-tilt * excess).exp() * (1 - (-excess).exp())
        return (log_scale - tilt * at).exp() * body

    asked = arb(epsilon)
    if side is Side.UPPER:
        if not divergence(asked, above) + any_ - finite <= delta:
            raise contradiction("the upper bound")
        return
    # Between two points the curve is linear in e^epsilon: the chord of lower bounds there is one.
    point = math.floor(float(((asked - origin) / step).mid()))
    ends = [origin + step * k for k in (point, point + 1)]
    if not ends[0] <= asked <= ends[1]:
        ends = [asked, asked + step]
    left, right = (divergence(end, -above - below).max(arb(0)) for end in ends)
    share = (asked.exp() - ends[0].exp()) / (ends[1].exp() - ends[0].exp())
    if not left + (right - left) * share + any_ - finite >= delta:
        raise contradiction("the lower bound")


def _fold(poly: arb_poly, size: int) -> arb_poly:
    coefficients = poly.coeffs()
    if len(coefficients) <= size:
        return poly
    folded = coefficients[:size]
    for k, value in enumerate(coefficients[size:]):
        folded[k % size] += value
    return arb_poly(folded)


def _power(poly: arb_poly, count: int, size: int) -> arb_poly:
    """poly^count modulo x^size - 1."""
    result = arb_poly([1])
    while count:
        if count & 1:
            result = _fold(result * poly, size)
        count >>= 1
        if count:
            poly = _fold(poly * poly, size)
    return result


def _chernoff(tilted: list[tuple[list[arb], list[arb], int]], slope: arb, edge: arb) -> arb:
    total = -slope * edge
    for levels, x, count in tilted:
        moment = sum(
            (value * (slope * level).exp() for value, level in zip(x, levels, strict=True)), arb(0)
        )
        total += count * moment.log()
    return total.exp()
