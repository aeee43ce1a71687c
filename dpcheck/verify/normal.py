"""The upper tail of the normal law, enclosed.

Up to `NEAR`: 1/2 - phi(x) (x + x^3/3 + x^5/(3 5) + ...), a series of positive terms. Beyond: phi(x) times
Mills' ratio 1/(x + 1/(x + 2/(x + 3/(x + ...)))), which lies between any two successive convergents.
Reference: [Abramowitz1964] 26.2.11 and 26.2.14.
"""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal

from dpcheck.verify.intervals import DIGITS, DOWN, HALF, ONE, TRAPS, UP, Interval

NEAR = Decimal(6)
# Rounded to the nearest with ten digits to spare: a million operations on positive numbers err by less than
# one of the last digit.
_SPARE = Context(DIGITS + 10, ROUND_HALF_EVEN, MIN_EMIN, MAX_EMAX, traps=TRAPS)
_SMALL = Decimal((0, (1,), -DIGITS))
_WIDER = Interval(_SPARE.subtract(ONE, _SMALL), _SPARE.add(ONE, _SMALL))
_PI = Interval(
    Decimal("3.1415926535897932384626433832795028841971693993751058209749445"),
    Decimal("3.1415926535897932384626433832795028841971693993751058209749446"),
)
_ROOT = (_PI + _PI).sqrt()


def tail(x: Interval) -> Interval:
    """Around P(Z > x) of a standard normal Z."""
    return Interval(tail_below(x.high), tail_above(x.low))


def tail_above(x: Decimal) -> Decimal:
    """P(Z > x) or a little more."""
    if x < 0:
        return UP.subtract(ONE, tail_below(x.copy_negate()))
    if x > NEAR:
        return _fraction(x).high
    return UP.subtract(HALF, DOWN.multiply(_density(x).low, _series(x, DOWN)))


def tail_below(x: Decimal) -> Decimal:
    """P(Z > x) or a little less."""
    if x < 0:
        return DOWN.subtract(ONE, tail_above(x.copy_negate()))
    if x > NEAR:
        return _fraction(x).low
    return DOWN.subtract(HALF, UP.multiply(_density(x).high, _series(x, UP)))


def _density(x: Decimal) -> Interval:
    half = Interval(DOWN.multiply(x, x), UP.multiply(x, x)) * Interval(HALF, HALF)
    return (-half).exp() / _ROOT


def _series(x: Decimal, context: Context) -> Decimal:
    """The series on the side that the context rounds to."""
    square = context.multiply(x, x)
    term = total = x
    odd = 1
    # Once terms fall by half what follows is less than the last one; 3 is room for comparing roughly.
    while square * 3 > odd + 2 or term > _SMALL * total:
        odd += 2
        term = context.divide(context.multiply(term, square), Decimal(odd))
        total = context.add(total, term)
    return total if context is DOWN else context.add(total, term)


def _fraction(x: Decimal) -> Interval:
    # Convergents of depth n differ by about e^(-2 x sqrt(2 n)) where n is large; any depth is sound.
    depth = int((Decimal(DIGITS) / x) ** 2) + 30
    found = [_convergent(x, depth), _convergent(x, depth + 1)]
    return _density(x) * (Interval(min(found), max(found)) * _WIDER)


def _convergent(x: Decimal, depth: int) -> Decimal:
    value = x
    for k in range(depth, 0, -1):
        value = _SPARE.add(x, _SPARE.divide(Decimal(k), value))
    return _SPARE.divide(ONE, value)
