"""Sums of independent losses on one lattice, by exact products of whole numbers.

Masses are whole numbers over 10^digits, rounded up. The masses of a sum are the coefficients of a product
of polynomials, which is one product of two long decimal numbers whose digits are the coefficients, each
in a slot wide enough for any of them: Python's decimals multiply by a number-theoretic transform. What
lies beyond a window is counted as an infinite loss above it, and as its smallest loss below: both only
raise the divergence.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, Inexact
from fractions import Fraction

from dpcheck.verify.intervals import DOWN, ONE, UP, ZERO, number
from dpcheck.verify.lattice import MOST_POINTS, Measure
from dpcheck.verify.result import Refused


@dataclass(frozen=True, slots=True)
class Law:
    """Masses of consecutive losses from index `first` on, and of an infinite one."""

    first: int
    masses: list[int]
    infinite: int


@dataclass(frozen=True, slots=True)
class Composer:
    """Whole numbers over 10^digits; windows leave out up to `tails` in all, on the safe side."""

    digits: int
    tails: Fraction

    @property
    def scale(self) -> int:
        """What stands for a mass of 1."""
        return int(10**self.digits)

    def composed(self, parts: list[tuple[Measure, int]]) -> Law:
        """The sum of all of them, each so many times."""
        total = Law(0, [self.scale], 0)
        for measure, times in parts:
            total = self._cut(self._sum(total, self._power(self._law(measure, times), times)), 1)
        return total

    def _law(self, measure: Measure, times: int) -> Law:
        first, last = measure.points[0][0], measure.points[-1][0]
        if last - first >= MOST_POINTS:
            raise Refused(f"a lattice of {last - first + 1} points is too large to check")
        masses = [0] * (last - first + 1)
        for index, mass in measure.points:
            masses[index - first] = self._up(mass)
        return self._cut(Law(first, masses, self._up(measure.infinite)), times)

    def _up(self, mass: Fraction) -> int:
        return -(-mass.numerator * self.scale // mass.denominator)

    def _power(self, law: Law, times: int) -> Law:
        result: Law | None = None
        left = times
        while True:
            if left & 1:
                result = law if result is None else self._cut(self._sum(result, law), 1)
            left >>= 1
            if not left:
                break
            law = self._cut(self._sum(law, law), left)
        return Law(0, [self.scale], 0) if result is None else result

    def _cut(self, law: Law, uses: int) -> Law:
        """Within the window outside of which next to nothing lies, if the law is used so often."""
        allowed = int(self.tails * self.scale / (64 * uses))
        masses = law.masses
        stop, lost = len(masses), 0
        while stop > 1 and lost + masses[stop - 1] <= allowed:
            stop -= 1
            lost += masses[stop]
        start, raised = 0, 0
        while start < stop - 1 and raised + masses[start] <= allowed:
            raised += masses[start]
            start += 1
        kept = masses[start:stop]
        kept[0] += raised
        if len(kept) > MOST_POINTS:
            raise Refused(f"a window of {len(kept)} points is too large to check")
        return Law(law.first + start, kept, law.infinite + lost)

    def _sum(self, a: Law, b: Law) -> Law:
        total_a, total_b = sum(a.masses), sum(b.masses)
        if total_a == 0 or total_b == 0:
            raise Refused("a law without any finite loss is not composed")
        # No coefficient is larger than the product of the totals.
        width = len(str(total_a * total_b))
        count = len(a.masses) + len(b.masses) - 1
        # `Inexact` is trapped: the product is exact or an error.
        exact = Context((count + 1) * width + 1, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[Inexact])
        one = _packed(a.masses, width)
        found = exact.multiply(one, one if a is b else _packed(b.masses, width))
        written = format(found, "f").zfill(count * width)
        cut = max(width - self.digits, 0)
        # Dividing by the scale drops as many digits; 1 more is at least what they were.
        masses = [
            int(written[at : at + cut] or "0") + 1 for at in range((count - 1) * width, -1, -width)
        ]
        infinite = (a.infinite + total_a) * b.infinite + a.infinite * total_b
        return Law(a.first + b.first, masses, -(-infinite // self.scale))


def _packed(masses: list[int], width: int) -> Decimal:
    return Decimal("".join([f"{mass:0{width}d}" for mass in reversed(masses)]))


def divergence(
    law: Law, scale: int, origin: Fraction, step: Fraction, epsilon: Fraction
) -> Decimal:
    """The sum of m (1 - e^(epsilon - l)) over the losses l above epsilon, and the infinite one, or more."""
    first = max((epsilon - origin) // step + 1, law.first)
    shrink = (-number(step)).exp().low
    rest = number(epsilon - origin - first * step).exp().low
    total = ZERO
    for mass in law.masses[first - law.first :]:
        total = UP.add(total, UP.multiply(Decimal(mass), UP.subtract(ONE, rest)))
        rest = DOWN.multiply(rest, shrink)
    return UP.divide(UP.add(total, Decimal(law.infinite)), Decimal(scale))
