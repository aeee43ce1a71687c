"""A second, slow proof of the fast accountant's answer, in ball arithmetic.

`pld_verify` takes the lattice measures the fast path built, as the exact floats they are, and proves
with python-flint (i) that each lies on its side of the true curve F(y), and (ii) by exact polynomial
powers that their composition meets delta at the reported epsilon. It shares with the
fast path only the choice of lattice, not one error bound.

Upper measures: F is convex, so it suffices that the measure's piecewise linear curve is above F at
its kinks. Lower measures: every threshold c gives a line P(x > c) - y Q(x > c) <= F(y), and each
piece of the measure's curve must lie below one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from flint import arb, arb_poly

from dpcheck.accounting.losses import Loss
from dpcheck.accounting.pld.distribution import compose
from dpcheck.accounting.pld.mixtures import LaplacePair, Mixture, MixturePair
from dpcheck.core.bound import Bound
from dpcheck.core.errors import CannotCertify, DpcheckError
from dpcheck.numerics.balls import precision
from dpcheck.numerics.lattice import LatticeLoss
from dpcheck.numerics.side import Side
from dpcheck.numerics.spectrum import Window

MAX_POINTS = 120_000
BITS = 160

Tail = Callable[[arb], arb]


def pld_verify(parts: Sequence[tuple[Loss, int]], delta: float) -> Bound:
    """epsilon(delta) of one direction, both sides, proved a second time by balls.

    Limits: sampled or plain Gaussian and Laplace steps with one shift per loss, a lattice of up to
    120,000 points; seconds to a minute. Anything else raises CannotCertify.
    Guarantee: raises unless both bounds hold in ball arithmetic.

    >>> from dpcheck.accounting.losses import GaussianMixtureLoss
    >>> bound = pld_verify([(GaussianMixtureLoss((1.0,), (0.1,)), 4)], 1e-4)
    >>> 0 < bound.lower < bound.upper < 1.001 * bound.lower
    True
    """
    ends = []
    for side in (Side.LOWER, Side.UPPER):
        composed = compose(parts, side)
        solution = composed.solve(delta)
        value, losses, window = solution.value, *composed.layers(solution)
        with precision(BITS):
            _check_size(losses, window)
            for (pair, _), (loss, _) in zip(composed.parts, losses, strict=True):
                if not isinstance(pair, MixturePair):
                    raise _too_much("only Gaussian and Laplace steps are verified")
                _check_lattice(pair, loss, side)
            # Where rounding leaves only the sum of the largest losses there is nothing to compose.
            if value > 0 and math.isfinite(value):
                _check_composition(losses, window, value, delta, side)
        ends.append(composed.epsilon(delta))
    return Bound(ends[0], ends[1], "pld, verified in ball arithmetic")


def _too_much(why: str) -> CannotCertify:
    return CannotCertify(
        f"ball arithmetic cannot verify this within memory: {why}; the certified floating-point "
        "bounds and the Renyi bound (method='rdp') still hold without verification."
    )


def _check_size(losses: list[tuple[LatticeLoss, int]], window: Window) -> None:
    largest = max(window.size, *(len(loss.masses) for loss, _ in losses))
    if largest > MAX_POINTS:
        raise _too_much(f"the lattice has {largest} points, more than {MAX_POINTS}")


def _fail(what: str) -> DpcheckError:
    return DpcheckError(f"internal error: ball arithmetic contradicts {what}; please report it.")


def _tail(mixture: Mixture, normal: bool) -> Tail:
    """P(x > c) under a mixture."""
    shares = list(zip(mixture.means, mixture.weights, strict=True))
    base = 1 - sum((arb(weight) for _, weight in shares), arb(0))

    def one(z: arb) -> arb:
        if normal:
            return (z / arb(2).sqrt()).erfc() / 2
        low, high = 1 - z.exp() / 2, (-z).exp() / 2
        return high if z > 0 else low if z < 0 else low.union(high)

    def tail(c: arb) -> arb:
        return sum((arb(w) * one(c - arb(m)) for m, w in shares), base * one(c))

    return tail


def _threshold(pair: MixturePair, level: arb) -> arb | None:
    """The x at which the loss is `level`; None beyond its range. One shift on one side only."""
    if len(pair.p.means) + len(pair.q.means) != 1:
        raise _too_much("a loss has several shifts")
    forward = bool(pair.p.means)
    side = pair.p if forward else pair.q
    mean, weight = arb(side.means[0]), arb(side.weights[0])
    inside = ((level if forward else -level).exp() - 1 + weight) / weight
    if not inside > 0:
        if inside < 0:
            return None
        raise _too_much("a lattice point lies at the end of the loss's range")
    exponent = inside.log()
    if isinstance(pair, LaplacePair):
        return (exponent * (1 if side.means[0] > 0 else -1) + mean) / 2
    return exponent / mean + mean / 2


def _curve(pair: MixturePair, level: arb) -> arb:
    """F(e^level) of the true pair, as a ball."""
    normal = not isinstance(pair, LaplacePair)
    y = level.exp()
    x = _threshold(pair, level)
    if x is None:
        return 1 - y if pair.p.means else arb(0)
    if not normal:
        low, high = (arb(end) for end in pair.ends)
        if x < low:
            return 1 - y
        if x > high:
            return arb(0)
        # On an end of the plateau both formulas agree, so the ball may straddle it.
        x = x.max(low).min(high)
    return _tail(pair.p, normal)(x) - y * _tail(pair.q, normal)(x)


def _check_lattice(pair: MixturePair, loss: LatticeLoss, side: Side) -> None:
    """(i): the measure's curve lies on its side of F."""
    step, offset = arb(loss.lattice.step), arb(loss.lattice.offset) - arb(loss.slack)
    index = range(loss.first, loss.first + len(loss.masses))
    levels = [offset + step * k for k in index]
    above, scaled = arb(loss.infinite), arb(0)
    values = [arb(0)] * len(levels)
    for k in range(len(levels) - 1, -1, -1):
        values[k] = above - levels[k].exp() * scaled
        mass = arb(float(loss.masses[k]))
        above, scaled = above + mass, scaled + mass * (-levels[k]).exp()
    if side is Side.UPPER:
        if not above >= 1:
            raise _fail("an upper lattice measure: its mass is below 1")
        for level, value in zip(levels, values, strict=True):
            if not value >= _curve(pair, level):
                raise _fail(f"an upper lattice measure at loss {float(level.mid()):.6g}")
        return
    _check_below(pair, levels, values, above, scaled)


def _check_below(
    pair: MixturePair, levels: list[arb], values: list[arb], mass: arb, scaled: arb
) -> None:
    normal = not isinstance(pair, LaplacePair)
    p_tail, q_tail = _tail(pair.p, normal), _tail(pair.q, normal)
    if not (mass <= 1 and values[-1] <= 0):
        raise _fail("a lower lattice measure: its mass is above 1")
    # Below the first kink the curve is mass - y scaled, and F(y) >= 1 - y and F(0) = 1.
    y0 = levels[0].exp()
    if not values[0] <= _line(pair, p_tail, q_tail, float((levels[0]).mid()), y0) and scaled < 1:
        raise _fail("a lower lattice measure below its first point")
    middles = np.array([float(level.mid()) for level in levels])
    cuts = pair.cut((middles[1:] + middles[:-1]) / 2)
    for k in range(len(levels) - 1):
        left, right = levels[k].exp(), levels[k + 1].exp()
        slope = (values[k] - values[k + 1]) / (right - left)
        lines = _candidates(pair, p_tail, q_tail, float(cuts[k]), middles[k], middles[k + 1], slope)
        if not any(a - left * b >= values[k] and a - right * b >= values[k + 1] for a, b in lines):
            raise _fail(f"a lower lattice measure at loss {middles[k]:.6g}")


def _candidates(
    pair: MixturePair, p_tail: Tail, q_tail: Tail, cut: float, low: float, high: float, slope: arb
) -> Iterator[tuple[arb, arb]]:
    """Lines below F to try on one piece: the middle of the cell first, then a fan across it."""
    shares = (0.5, 0.25, 0.75, 0.05, 0.95, 0.4, 0.6, 0.1, 0.9, 0.0, 1.0, 0.01, 0.99)
    yield arb(0), arb(0)
    yield arb(1), arb(1)
    for share in shares:
        at = cut if share == 0.5 else float(pair.cut(np.array([low + share * (high - low)]))[0])
        if math.isfinite(at):
            yield p_tail(arb(at)), q_tail(arb(at))
    if not isinstance(pair, LaplacePair):
        return
    # At an atom of the loss F has a kink: all lines between its two sides lie below F. The one with
    # the slope of the piece is the one to try.
    low_end, high_end = (arb(end) for end in pair.ends)
    for a, b, c, d in (
        (arb(1), arb(1), p_tail(low_end), q_tail(low_end)),
        (p_tail(high_end), q_tail(high_end), arb(0), arb(0)),
    ):
        part = min(max(float(((slope - d) / (b - d)).mid()), 0.0), 1.0)
        yield a * part + c * (1 - arb(part)), b * part + d * (1 - arb(part))


def _line(pair: MixturePair, p_tail: Tail, q_tail: Tail, level: float, y: arb) -> arb:
    at = float(pair.cut(np.array([level]))[0])
    if math.isinf(at):
        return arb(0) if at > 0 else 1 - y
    return p_tail(arb(at)) - y * q_tail(arb(at))


def _check_composition(
    losses: list[tuple[LatticeLoss, int]], window: Window, epsilon: float, delta: float, side: Side
) -> None:
    """(ii): the composed lattice measures meet delta at epsilon, by polynomial powers on a circle."""
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
    body, at = arb(0), arb(epsilon)
    for k in range(window.start, window.start + size):
        excess = origin + step * k - at
        if not excess <= 0:
            body += values[k % size] * (-tilt * excess).exp() * (1 - (-excess).exp())
    first, last = origin + step * window.start, origin + step * (window.start + size)
    # No sum counts for more than the largest value of e^{-t x} (1 - e^{-x}).
    most = (tilt / (tilt + 1)) ** tilt / (tilt + 1)
    above, below = arb(0), arb(0)
    if sum(n * (a.first + len(a.masses) - 1) for a, n in losses) >= window.start + size:
        above = most * _chernoff(tilted, arb(window.slope_above), last)
    if sum(count * loss.first for loss, count in losses) < window.start:
        below = most * _chernoff(tilted, -arb(window.slope_below), first)
    scale = (log_scale - tilt * at).exp()
    if side is Side.UPPER:
        # At least one infinite loss: prod (m + i)^n - prod m^n <= prod (1 + n i / m) - 1 times prod m^n.
        finite, any_ = arb(1), arb(1)
        for loss, count in losses:
            mass = sum((arb(float(m)) for m in loss.masses), arb(0))
            finite *= mass**count
            any_ *= (mass + arb(loss.infinite)) ** count
        if not scale * (body + above) + any_ - finite <= delta:
            raise _fail("the upper bound")
        return
    if not scale * (body - above - below) >= delta:
        raise _fail("the lower bound")


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
