"""Exact numbers and infinity: what is rational stays a fraction, roots and exponentials are rounded outwards.

A float here is always an infinity.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from math import isqrt

from dpcheck.verify.intervals import Interval
from dpcheck.verify.intervals import number as enclosed
from dpcheck.verify.result import Refused

Number = Fraction | float
INF = float("inf")
ZERO, ONE = Fraction(0), Fraction(1)
_FEWEST = 400  # digits after the point
_TINY = Fraction(1, 10**_FEWEST)
_BITS = 80  # of a root
_MOST_EXPONENT = 800  # beyond it exp is infinite for every float type


def read(value: object, name: str) -> Number:
    """A number of the file, or "inf" and "-inf"."""
    if value == "inf":
        return INF
    if value == "-inf":
        return -INF
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise Refused(f"{name} must be a number, got {value!r}")
    return value if abs(value) == INF else Fraction(value)


def finite(value: Number) -> bool:
    """Whether it is no infinity."""
    return not isinstance(value, float)


def add(a: Number, b: Number, unclear: Number = INF) -> Number:
    """a + b; `unclear` where infinities cancel."""
    if isinstance(a, float):
        return unclear if isinstance(b, float) and a != b else a
    return b if isinstance(b, float) else a + b


def times(a: Number, b: Number) -> Number:
    """a b, where 0 times anything is 0."""
    if not a or not b:
        return ZERO
    if isinstance(a, float) or isinstance(b, float):
        return INF if (a > 0) == (b > 0) else -INF
    return a * b


def magnitude(a: Number) -> Number:
    """Its absolute value."""
    return -a if a < 0 else a


def inverse(a: Number) -> Number:
    """1 / a of a number that is not 0; 0 of an infinity."""
    return ZERO if isinstance(a, float) else 1 / a


def root_up(a: Number) -> Number:
    """The square root or a little more.

    >>> root_up(Fraction(9, 4))
    Fraction(3, 2)
    """
    return _root(a, up=True)


def root_down(a: Number) -> Number:
    """The square root or a little less."""
    return _root(a, up=False)


def _root(a: Number, *, up: bool) -> Number:
    if isinstance(a, float) or not a:
        return a
    shift = max(0, _BITS + (a.denominator.bit_length() - a.numerator.bit_length()) // 2)
    scaled = a.numerator << (2 * shift)
    found = isqrt(scaled // a.denominator)
    if up and found * found * a.denominator < scaled:
        found += 1
    return Fraction(found, 1 << shift)


def ends_of(function: Callable[[Interval], Interval], a: Number) -> tuple[Fraction, Fraction]:
    """The ends of what a function of intervals makes of one number."""
    found = function(enclosed(Fraction(a)))
    return _exact(found.low, -_TINY), _exact(found.high, _TINY)


def _exact(end: Decimal, tiny: Fraction) -> Fraction:
    """An end as a fraction; one next to 0 may have a billion digits, and is moved outwards."""
    if end and end.adjusted() < -_FEWEST:
        return tiny if (end > 0) == (tiny > 0) else ZERO
    return Fraction(end)


def exp_ends(a: Number) -> tuple[Number, Number]:
    """Around e to it."""
    if a == -INF or a < -_MOST_EXPONENT:
        return ZERO, (ZERO if a == -INF else Fraction(1, 1 << 1000))
    if a > _MOST_EXPONENT:
        return (INF if a == INF else Fraction(1 << 1000)), INF
    return ends_of(Interval.exp, a)


def log_ends(a: Number) -> tuple[Number, Number]:
    """Around the natural logarithm; of 0 it is -inf."""
    if a == INF:
        return INF, INF
    return ends_of(Interval.ln, a) if a > 0 else (-INF, -INF)


def length_of_two(a: Number, b: Number) -> Number:
    """The root of the sum of two squares, or a little less."""
    return root_down(add(times(a, a), times(b, b)))
