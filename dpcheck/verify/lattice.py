"""That a measure on a lattice dominates a pair.

A measure with masses m_j at losses l_j and `infinite` beyond all has G(y) = infinite + sum_j m_j (1 - y
e^(-l_j))+, made of straight lines between its kinks y = e^(l_j). The F of a pair is convex and falls from
F(0) = 1, so F <= G everywhere if it is at the kinks, and the total mass is at least 1. Domination
composes [Zhu2022, Theorem 10].
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpcheck.verify.events import Json, fraction, not_negative
from dpcheck.verify.intervals import NOTHING, number
from dpcheck.verify.pairs import Pair
from dpcheck.verify.result import Refused

MOST_POINTS = 2**20


@dataclass(frozen=True, slots=True)
class Measure:
    """Masses of the losses offset + index step, by increasing index, and the mass of an infinite loss."""

    offset: Fraction
    points: tuple[tuple[int, Fraction], ...]
    infinite: Fraction


def read_measure(data: Json) -> Measure:
    """The measure that a certificate writes down."""
    listed = data.get("points")
    if not isinstance(listed, list) or not 0 < len(listed) <= MOST_POINTS:
        raise Refused("points must be a list of [index, mass]")
    points: list[tuple[int, Fraction]] = []
    for entry in listed:
        if not isinstance(entry, list) or len(entry) != 2 or type(entry[0]) is not int:
            raise Refused("points must be a list of [index, mass]")
        if points and entry[0] <= points[-1][0]:
            raise Refused("points must be listed by increasing index")
        points.append((entry[0], not_negative({"mass": entry[1]}, "mass")))
    return Measure(fraction(data, "offset"), tuple(points), not_negative(data, "infinite"))


def check_domination(measure: Measure, pair: Pair, step: Fraction) -> None:
    """F of the pair is at most G of the measure at every kink, and the masses add up to 1 at least."""
    above, scaled = number(measure.infinite), NOTHING
    for index, mass in reversed(measure.points):
        level = measure.offset + index * step
        have = (above - number(level).exp() * scaled).low
        need = pair.curve(level)
        if not have >= need:
            raise Refused(
                f"a lattice measure lies below its pair at loss {float(level):.6g}: {have:.8e} < {need:.8e}"
            )
        weight = number(mass)
        above, scaled = above + weight, scaled + weight * (-number(level)).exp()
    total = measure.infinite + sum(mass for _, mass in measure.points)
    if total < 1:
        raise Refused("the masses of a lattice measure add up to less than 1")
