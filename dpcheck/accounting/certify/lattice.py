"""What lattices prove: each measure bounds a pair, their transforms the composition, a cell its epsilon.

`on_lattices`, `transformed` and `law` make a theorem each from the one before. What may be chosen is the
lattice (its step, which losses it shows, how wide its cells are), the window with its tilt, and the cell that
is looked at; the guarantees hold for any choice. What is known of each pair is in its own file, what is
proved of measures and their sums in `dpcheck.numerics.lattice` and `tilted`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpcheck.accounting.assumptions import ARITHMETIC
from dpcheck.accounting.certify.theorem import Curve, Spends
from dpcheck.accounting.pairs.pair import Loss, Parts, reverse_parts
from dpcheck.accounting.pld.built import build
from dpcheck.core.errors import CannotCertify
from dpcheck.numerics.lattice import LatticeLoss
from dpcheck.numerics.rounding import ELEMENTARY, TINY, UNIT, Array
from dpcheck.numerics.series import Window
from dpcheck.numerics.side import Side
from dpcheck.numerics.spectrum import Spectrum, spectrum
from dpcheck.numerics.tilted import Convolution

ASSUMES = (ARITHMETIC,)
# Whole numbers up to this one are floats, with all their halves.
MOST_STEPS = 2**52


@dataclass(frozen=True, slots=True, eq=False)
class OnLattices:
    """A measure for each loss, all with the same step, whose curve lies on `side` of that of the loss."""

    losses: tuple[Loss, ...]
    side: Side
    measures: tuple[LatticeLoss, ...]


def on_lattices(
    losses: Sequence[Loss],
    side: Side,
    step: float,
    ranges: Sequence[tuple[float, float]],
) -> OnLattices:
    """The measures on a lattice of that step, each for losses in its range."""
    found = []
    for loss, ends in zip(losses, ranges, strict=True):
        pair = build(loss, side)
        lay = pair.upper if side is Side.UPPER else pair.lower
        found.append(lay(step, *ends))
    return OnLattices(tuple(losses), side, tuple(found))


@dataclass(frozen=True, slots=True, eq=False)
class Transformed:
    """The spectrum of these measures, with every error bounded."""

    lattices: OnLattices
    spectrum: Spectrum


def transformed(lattices: OnLattices, counts: Sequence[int], window: Window) -> Transformed | None:
    """The spectrum in a window for about these counts; None where a loss has no finite part."""
    if abs(window.start) > MOST_STEPS:
        raise CannotCertify("the losses are more steps from 0 than floats can tell apart.")
    found = spectrum(list(zip(lattices.measures, counts, strict=True)), window)
    return None if found is None else Transformed(lattices, found)


@dataclass(frozen=True, slots=True, eq=False)
class Law:
    """The composition of so many uses of these losses, bounded on one side."""

    parts: Parts
    side: Side
    transformed: Transformed
    sums: Convolution


def law(known: Transformed, counts: Sequence[int]) -> Law:
    """The composition with these counts."""
    lattices = known.lattices
    sums = Convolution(known.spectrum, counts, lattices.side)
    return Law(tuple(zip(lattices.losses, counts, strict=True)), lattices.side, known, sums)


def in_cell(known: Law, point: int, delta: float) -> Spends | None:
    """The epsilon between a lattice point and the one before it; None where delta is passed elsewhere."""
    value = known.sums.between(point, delta)
    if math.isnan(value):
        return None
    return Spends(known.parts, known.side, value, delta, both=False, assumes=ASSUMES)


def at(known: Law, epsilons: Array) -> tuple[Curve, Array]:
    """Deltas at these epsilons, and which share of them is allowance for error."""
    found, noises = known.sums.delta(epsilons)
    return Curve(known.parts, known.side, epsilons, found, both=False, assumes=ASSUMES), noises


def at_one(known: Law, epsilon: float) -> Spends | None:
    """The delta at one epsilon from above; None from below, where another rule is needed."""
    if known.side is not Side.UPPER:
        return None
    found = float(known.sums.delta(np.array([epsilon]))[0][0])
    return Spends(known.parts, Side.UPPER, epsilon, found, both=False, assumes=ASSUMES)


def in_both_directions(known: Law, epsilons: Array) -> tuple[Curve, Array] | None:
    """Deltas of the worse direction from above, from the law of one; and which share of them is allowance
    for error.

    (q - y p)+ = q - y p + y (p - q/y)+, so the reversed pair has the divergence 1 - y + y F(1/y) at
    y = e^eps, F that of this one.
    """
    if known.side is not Side.UPPER:
        return None
    if reverse_parts(known.parts) == known.parts:
        values, noises = known.sums.delta(epsilons)
    else:
        values, noises = _worse(known.sums, epsilons)
    curve = Curve(known.parts, Side.UPPER, epsilons, values, both=True, assumes=ASSUMES)
    return curve, noises


def _worse(sums: Convolution, epsilons: Array) -> tuple[Array, Array]:
    values, noises = sums.delta(np.concatenate((epsilons, -epsilons)))
    (forward, back), (noise, noise_back) = np.split(values, 2), np.split(noises, 2)
    with np.errstate(over="ignore", invalid="ignore"):
        # e^x errs by 8 units, the difference and the products by one each, the last sums by 2 of 1.
        y = np.exp(epsilons) * (1 - 16 * UNIT)
        known = (back < 1) & (epsilons < 700)
        backward = np.where(known, 1 - y * (1 - back) + 4 * UNIT, 1.0)
        noise_back = y * back * noise_back / np.maximum(backward, TINY)
    worse = np.minimum(np.maximum(forward, backward), 1.0)
    return worse, np.where(forward >= backward, noise, np.where(known, noise_back, 1.0))


def by_top(parts: Parts) -> Spends:
    """Nothing lies beyond the largest loss of this direction."""
    total = math.fsum(count * build(loss, Side.UPPER).top for loss, count in parts)
    if math.isfinite(total):
        total += 64 * UNIT * (1 + abs(total)) * sum(count for _, count in parts)
    return Spends(parts, Side.UPPER, max(total, 0.0), 0.0, both=False, assumes=ASSUMES)


def by_top_below(parts: Parts) -> Spends:
    """The largest losses are reached, so that no smaller epsilon holds at delta 0."""
    total = math.fsum(count * build(loss, Side.LOWER).top for loss, count in parts)
    if math.isfinite(total):
        total -= 64 * UNIT * (1 + abs(total)) * sum(count for _, count in parts)
    return Spends(parts, Side.LOWER, max(total, 0.0), 0.0, both=False, assumes=ASSUMES)


def of_nothing(epsilons: Array, side: Side) -> Curve:
    """The curve of two equal laws: 1 - y below y = 1."""
    widened = 1 + (2 if side is Side.UPPER else -2) * ELEMENTARY  # and two products
    found = -np.expm1(np.minimum(epsilons, 0.0)) * widened + 0.0
    return Curve((), side, epsilons, found, both=True, assumes=ASSUMES)


def once(loss: Loss, delta: float, side: Side) -> Spends | None:
    """One use of a pair whose own curve says it; None for others."""
    found = build(loss, side).single_epsilon(delta, side)
    if found is None:
        return None
    return Spends(((loss, 1),), side, found, delta, both=False, assumes=ASSUMES)


def certain_leak(parts: Parts, side: Side) -> float:
    """A lower bound on the probability of an infinite loss somewhere."""
    leaks = [(build(loss, side).certain_infinite, count) for loss, count in parts]
    if not any(p for p, _ in leaks):
        return 0.0
    total = -math.expm1(math.fsum(n * math.log1p(-p) for p, n in leaks if p < 1))
    return 1.0 if any(p >= 1 for p, _ in leaks) else total * (1 - 1e-12)


def by_leak(parts: Parts, delta: float) -> Spends | None:
    """No epsilon is enough where more than delta is certain to be revealed."""
    if not certain_leak(parts, Side.LOWER) > delta:
        return None
    return Spends(parts, Side.LOWER, math.inf, delta, both=False, assumes=ASSUMES)
