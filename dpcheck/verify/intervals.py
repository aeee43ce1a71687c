"""Intervals of decimal numbers that contain the exact result of every operation on them.

Sums, products and quotients are rounded outwards; `exp` and `ln` of Python's decimals are correctly rounded
to the nearest, so one step outwards encloses them. Operators of `Decimal` itself round to 28 digits and are
used for comparing only.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import (
    MAX_EMAX,
    MIN_EMIN,
    ROUND_CEILING,
    ROUND_FLOOR,
    Context,
    Decimal,
    DivisionByZero,
    InvalidOperation,
    Overflow,
)
from fractions import Fraction

# Significant digits: curves are compared with masses of 16 digits, down to about 1e-30 of them.
DIGITS = 50
TRAPS = [InvalidOperation, DivisionByZero, Overflow]
DOWN = Context(DIGITS, ROUND_FLOOR, MIN_EMIN, MAX_EMAX, traps=TRAPS)
UP = Context(DIGITS, ROUND_CEILING, MIN_EMIN, MAX_EMAX, traps=TRAPS)
ZERO, HALF, ONE = Decimal(0), Decimal("0.5"), Decimal(1)


@dataclass(frozen=True, slots=True)
class Interval:
    """All numbers from `low` to `high`.

    >>> third = number(Fraction(1, 3))
    >>> third.low < Fraction(1, 3) < third.high
    True
    """

    low: Decimal
    high: Decimal

    def __neg__(self) -> Interval:
        return Interval(self.high.copy_negate(), self.low.copy_negate())

    def __add__(self, other: Interval) -> Interval:
        return Interval(DOWN.add(self.low, other.low), UP.add(self.high, other.high))

    def __sub__(self, other: Interval) -> Interval:
        return Interval(DOWN.subtract(self.low, other.high), UP.subtract(self.high, other.low))

    def __mul__(self, other: Interval) -> Interval:
        if self.low >= 0 and other.low >= 0:
            return Interval(DOWN.multiply(self.low, other.low), UP.multiply(self.high, other.high))
        ends = [(a, b) for a in (self.low, self.high) for b in (other.low, other.high)]
        return Interval(
            min(DOWN.multiply(a, b) for a, b in ends), max(UP.multiply(a, b) for a, b in ends)
        )

    def __truediv__(self, other: Interval) -> Interval:
        if other.low <= 0:
            raise ZeroDivisionError("divided by an interval that is not above 0")
        low = DOWN.divide(self.low, other.high if self.low >= 0 else other.low)
        return Interval(low, UP.divide(self.high, other.low if self.high >= 0 else other.high))

    def exp(self) -> Interval:
        """e to it."""
        return Interval(
            max(DOWN.next_minus(DOWN.exp(self.low)), ZERO), UP.next_plus(UP.exp(self.high))
        )

    def ln(self) -> Interval:
        """The natural logarithm, of numbers above 0."""
        if self.low <= 0:
            raise ZeroDivisionError("the logarithm of an interval that is not above 0")
        return Interval(DOWN.next_minus(DOWN.ln(self.low)), UP.next_plus(UP.ln(self.high)))

    def sqrt(self) -> Interval:
        """The square root, of numbers that are not negative."""
        low, high = DOWN.sqrt(max(self.low, ZERO)), UP.sqrt(max(self.high, ZERO))
        return Interval(max(DOWN.next_minus(low), ZERO), UP.next_plus(high))

    def power(self, times: int) -> Interval:
        """It, not negative, to a whole power."""
        result, factor = WHOLE, self
        while times:
            if times & 1:
                result *= factor
            times >>= 1
            factor = factor * factor if times else factor
        return result

    def within(self, low: Interval, high: Interval) -> Interval:
        """Around the number cut to [low, high]."""
        return Interval(
            min(max(self.low, low.low), high.low), min(max(self.high, low.high), high.high)
        )


def number(exact: Fraction | float | int) -> Interval:
    """Around a rational number; floats are the binary fractions they are."""
    above, below = exact.as_integer_ratio()
    a, b = Decimal(above), Decimal(below)
    return Interval(DOWN.divide(a, b), UP.divide(a, b))


WHOLE, NOTHING = Interval(ONE, ONE), Interval(ZERO, ZERO)
