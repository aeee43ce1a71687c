"""The divergence of the reversed pair of composed lattice losses, bounded by three moments of each.

(q - y p)+ = q - y p + y (p - q/y)+, so at y = e^epsilon the reversed pair has the divergence
1 - y + y F(1/y), F that of the pair. For a lattice measure A with the mass T (infinite losses included) and
Q = sum A e^-l it is

    y (T - 1) + (1 - Q) + sum A e^-l (1 - e^-x)+,    x = -l - epsilon.

For every slope s > 0 and every width d > 0, with x1 = log(1 + 1/(s + 2/d)) and b = d - x1,

    (1 - e^-x)+ <= e^(s x) a (x + b)^2,    a = e^(-s x1) (1 - e^-x1) / d^2:

the logarithm of left over right is 0 at x1, and its derivative has the sign of (1/(e^x - 1) - s)(x + b) - 2,
which is 0 at x1 and falls in x: its own derivative is 1/(e^x - 1) - s - (x + b) e^x/(e^x - 1)^2 < -s, since
e^x/(e^x - 1) >= 1/x and b > 0 (x1 <= d/2). The sum is then at most e^(-s epsilon) a times the mean of
(x + b)^2 under A e^(-(1+s) l), which for a composition follows from mass, mean and variance of each factor:
Chernoff's bound with a parabola in place of a constant, as in Cantelli's inequality.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dpcheck.numerics.lattice import LatticeLoss
from dpcheck.numerics.rounding import ELEMENTARY, TINY, UNIT, Array

# Exponents further apart than this are not worth a bound.
STEEPEST = 600.0
# Room for the rounding of what is not relative to many uses: 9,000 units.
_ROUND_UP = 1 + 1e-12
# Units of the largest level that a mean of levels may err by: a quotient of two sums, 65 each.
_MEAN_UNITS = 192


class Parabola(NamedTuple):
    """A majorant: its slope and its width."""

    slope: float
    width: float

    def terms(self) -> tuple[float, float]:
        """(b, log a), the logarithm rounded up: a few functions and roundings, _ROUND_UP is 9,000 units."""
        touch = math.log1p(1 / (self.slope + 2 / self.width))
        top = math.log(-math.expm1(-touch)) - self.slope * touch - 2 * math.log(self.width)
        size = 8 + abs(top) + self.slope * touch + 2 * abs(math.log(self.width))
        return self.width - touch, top + (_ROUND_UP - 1) * size


def opposite_divergence(
    parts: Sequence[tuple[LatticeLoss, int]], epsilon: float, parabola: Parabola
) -> float:
    """An upper bound on the reversed divergence at `epsilon` >= 0 of upper lattice losses and counts."""
    shift, log_height = parabola.terms()
    log_total = log_other = spread = middle = 0.0
    log_sum = log_height - parabola.slope * epsilon
    size = abs(log_height) + parabola.slope * epsilon
    uses, off = 0, 4 * UNIT * (epsilon + shift)
    for loss, count in parts:
        seen = np.flatnonzero(loss.masses)
        masses, levels = loss.masses[seen], loss.lattice.levels(loss.first + seen)
        furthest = float(np.abs(levels).max(initial=0.0))
        if (2 + parabola.slope) * furthest > STEEPEST:
            return 1.0
        total, other = float(np.sum(masses)), float(np.sum(masses * np.exp(-levels)))
        if other <= 0:
            return 1.0
        tilted = _moments(masses, levels, parabola.slope)
        uses += count
        log_total += count * math.log(total + loss.infinite)
        log_other += count * math.log(other)
        term = count * tilted[0]
        log_sum, size = log_sum + term, size + abs(term)
        # The exponent of a level, and the level, err by 6 units of themselves.
        size += count * (2 + parabola.slope) * furthest
        middle += count * tilted[1]
        # Deviations err by two units of what they are the difference of.
        spread += count * (math.sqrt(tilted[2]) + 4 * UNIT * furthest) ** 2
        off += count * _MEAN_UNITS * UNIT * furthest
    slip = (2 * ELEMENTARY + 2 * UNIT * len(parts)) * (size + 8.0 * uses)
    slip_sums = slip + 2 * UNIT * (abs(log_total) + abs(log_other))
    if max(log_total, log_sum) + slip_sums + epsilon > 700.0 or epsilon > 300.0:
        return 1.0
    away = abs(middle - epsilon + shift) * _ROUND_UP + off
    log_square = math.log((spread + away * away) * _ROUND_UP)
    log_sum += log_square
    if log_sum > 0:
        return 1.0
    found = math.exp(epsilon) * max(math.expm1(log_total + slip_sums), 0.0)
    found -= math.expm1(log_other - slip_sums)
    found += math.exp(log_sum + slip + ELEMENTARY * (8 + abs(log_sum) + abs(log_square)))
    return min(max(found, 0.0) * _ROUND_UP + 64 * UNIT, 1.0)


def opposite_noise(counts: Sequence[int]) -> float:
    """What the bound is at least, however small the truth: the rounding of so many masses."""
    return (2 * ELEMENTARY) * 8.0 * sum(counts)


def _moments(masses: Array, levels: Array, slope: float) -> tuple[float, float, float]:
    """(log of the mass, mean of -l, its mean square around that) of masses e^(-(1+slope) l)."""
    exponent = levels * -(1 + slope)
    top = float(exponent.max())
    weights = masses * np.exp(exponent - top) + TINY  # what underflows counts too much
    total = float(np.sum(weights))
    mean = -float(np.sum(weights * levels)) / total
    away = levels + mean
    square = float(np.sum(weights * away * away)) / total
    return top + math.log(total), mean, square
