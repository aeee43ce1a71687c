"""Which values an array may hold: an interval per coordinate, ends included, and whether NaN.

Infinite ends say that the value may be infinite, so that inf - inf, 0 * inf and 0 / 0 are seen.
Guarantee: every rule's box holds the result for all values in the boxes it was given, up to the
rounding of floats.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
DType = np.dtype[np.generic]


@dataclass(frozen=True, slots=True)
class Box:
    """Intervals that broadcast to the array's shape; `nan` if an entry may be NaN.

    `plain_zero` if no entry is -0.0, by which a division gives -inf.
    """

    lo: Array
    hi: Array
    nan: bool = False
    plain_zero: bool = False

    @property
    def finite(self) -> bool:
        """Whether every entry is a number that is not infinite."""
        return not self.nan and self.finite_ends

    @property
    def finite_ends(self) -> bool:
        """Whether no entry is infinite."""
        return bool(np.isfinite(self.lo).all() and np.isfinite(self.hi).all())

    @property
    def magnitude(self) -> Array:
        """The largest absolute value per coordinate."""
        return np.maximum(np.abs(self.lo), np.abs(self.hi))

    @property
    def width(self) -> Array:
        """The length of the interval per coordinate; infinite where an end is."""
        with np.errstate(invalid="ignore", over="ignore"):
            found = np.maximum(np.asarray(self.hi - self.lo, dtype=float), 0.0)
        return np.where(np.isfinite(self.lo) & np.isfinite(self.hi), found, np.inf)

    def with_zero(self) -> Box:
        """The box and 0."""
        return Box(np.minimum(self.lo, 0.0), np.maximum(self.hi, 0.0), self.nan)

    def hull(self, other: Box) -> Box:
        """Everything in either."""
        return Box(
            np.minimum(self.lo, other.lo), np.maximum(self.hi, other.hi), self.nan or other.nan
        )

    def mapped(self, change: Callable[[Array], Array]) -> Box:
        """The same change of shape on both ends."""
        return Box(change(self.lo), change(self.hi), self.nan, self.plain_zero)

    def broadcast(self, shape: tuple[int, ...]) -> Box:
        """One interval for every entry of that shape."""
        return self.mapped(lambda end: np.broadcast_to(end, shape))

    def over(self, axes: tuple[int, ...]) -> Box:
        """The hull over these axes, which stay with length 1."""
        return Box(
            self.lo.min(axis=axes, keepdims=True),
            self.hi.max(axis=axes, keepdims=True),
            self.nan,
            self.plain_zero,
        )


@dataclass(frozen=True, slots=True)
class Missing:
    """Truth values of np.isnan(x) or np.isfinite(x), or `negated`, for the array of that identity."""

    source: object
    finite: bool
    negated: bool = False

    def opposite(self) -> Missing:
        """The other answers."""
        return Missing(self.source, self.finite, not self.negated)

    def box_where(self, found: Box, answer: bool) -> Box:
        """The box of the x asked about, at entries where the answer is `answer`.

        Lemma: where isnan is false or isfinite is true, the entry is no NaN; in the second case it is
        finite, too.
        """
        if (answer != self.negated) != self.finite:
            return found  # it may be NaN there
        if not self.finite:
            return Box(found.lo, found.hi, False, found.plain_zero)
        most = np.finfo(float).max
        return Box(np.maximum(found.lo, -most), np.minimum(found.hi, most), False, found.plain_zero)


def box(lo: float, hi: float, nan: bool = False) -> Box:
    """One interval for all coordinates."""
    return Box(np.asarray(lo, dtype=float), np.asarray(hi, dtype=float), nan)


WHOLE = box(-np.inf, np.inf, True)


def point(value: object) -> Box:
    """The box of a known value; NaN entries widen to everything."""
    found = np.asarray(value)
    if found.dtype.kind not in "biuf":
        return WHOLE
    numbers = found.astype(float)
    missing = np.isnan(numbers)
    return Box(
        np.where(missing, -np.inf, numbers),
        np.where(missing, np.inf, numbers),
        bool(missing.any()),
        not bool((np.signbit(numbers) & (numbers == 0)).any()),
    )


def of_dtype(dtype: DType) -> Box:
    """Everything an array of that type may hold."""
    if dtype.kind == "b":
        return box(0.0, 1.0)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype.name)
        # 2**63 - 1 is no float; rounded up it would hide that abs(-2**63) wraps around.
        high = float(limits.max) if limits.bits < 64 else np.nextafter(float(limits.max), 0.0)
        return Box(np.asarray(float(limits.min)), np.asarray(high), False, True)
    return WHOLE


def fitted(found: Box, dtype: DType) -> Box:
    """The box after rounding to a type: integers that may overflow wrap around, floats become inf."""
    if dtype.kind == "b":
        return Box(np.clip(found.lo, 0, 1), np.clip(found.hi, 0, 1)) if not found.nan else box(0, 1)
    if dtype.kind in "iu":
        all_of_it = of_dtype(dtype)
        inside = (found.lo >= all_of_it.lo) & (found.hi <= all_of_it.hi)
        return found if inside.all() and not found.nan else all_of_it
    if dtype.kind == "f":
        most = float(np.finfo(dtype.name).max)
        if (found.hi > most).any() or (found.lo < -most).any():
            return Box(
                np.where(found.lo < -most, -np.inf, found.lo),
                np.where(found.hi > most, np.inf, found.hi),
                found.nan,
            )
        if dtype.itemsize == 2:  # rounding keeps the order of numbers
            return Box(_halved(found.lo), _halved(found.hi), found.nan, found.plain_zero)
    return found


def loosened(found: Box) -> Box:
    """The box with room for what sums of floats are rounded by, which decides between two steps."""
    room = [1e-9 * np.where(np.isfinite(end), np.abs(end), 0.0) for end in (found.lo, found.hi)]
    return Box(found.lo - room[0], found.hi + room[1], found.nan, found.plain_zero)


def _halved(end: Array) -> Array:
    return np.asarray(end).astype(np.float16).astype(float)


def overflows(exact: Box, dtype: DType, *operands: Box) -> bool:
    """Whether a result may not fit its type: whole numbers wrap around, floats become infinite.

    Infinite operands make infinite results, which is no overflow.
    """
    found = fitted(exact, dtype)
    if dtype.kind == "f":
        return not found.finite_ends and all(each.finite_ends for each in operands)
    inside = bool((exact.lo >= found.lo).all() and (exact.hi <= found.hi).all())
    return dtype.kind in "iu" and not (inside and not exact.nan)


def _infinite(found: Box) -> NDArray[np.bool_]:
    return np.isinf(found.lo) | np.isinf(found.hi)


def _has_zero(found: Box) -> NDArray[np.bool_]:
    return (found.lo <= 0) & (found.hi >= 0)


def add(a: Box, b: Box) -> Box:
    """Sum; NaN where inf meets -inf."""
    with np.errstate(invalid="ignore", over="ignore"):
        lo, hi = a.lo + b.lo, a.hi + b.hi
    opposite = ((a.hi == np.inf) & (b.lo == -np.inf)) | ((a.lo == -np.inf) & (b.hi == np.inf))
    return Box(
        np.where(np.isnan(lo), -np.inf, lo),
        np.where(np.isnan(hi), np.inf, hi),
        a.nan or b.nan or bool(opposite.any()),
        a.plain_zero or b.plain_zero,
    )


def negative(a: Box) -> Box:
    """Minus."""
    return Box(-a.hi, -a.lo, a.nan)


def subtract(a: Box, b: Box) -> Box:
    """Difference."""
    return add(a, negative(b))


def multiply(a: Box, b: Box) -> Box:
    """Product: the extreme corners; NaN where 0 may meet inf."""
    with np.errstate(invalid="ignore", over="ignore"):
        corners = np.broadcast_arrays(a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi)
    known = [np.where(np.isnan(c), 0.0, c) for c in corners]
    mixed = (_has_zero(a) & _infinite(b)) | (_has_zero(b) & _infinite(a))
    lo, hi = np.minimum.reduce(known), np.maximum.reduce(known)
    return Box(lo, hi, a.nan or b.nan or bool(mixed.any()), _both_plain(a, b))


def _both_plain(a: Box, b: Box) -> bool:
    return a.plain_zero and b.plain_zero and bool((a.lo >= 0).all() and (b.lo >= 0).all())


def reciprocal(a: Box) -> Box:
    """1/a; where a may be 0 its sign decides between inf and -inf, and -0.0 is below."""
    with np.errstate(divide="ignore", over="ignore"):
        lo, hi = 1.0 / a.hi, 1.0 / a.lo
    zero = _has_zero(a)
    below = zero & ((a.lo < 0) | (not a.plain_zero))
    lo = np.where(below, -np.inf, np.where(zero & (a.hi == 0), np.inf, lo))
    hi = np.where(zero, np.inf, hi)
    return Box(lo, hi, a.nan, a.plain_zero and bool((a.lo >= 0).all()))


def divide(a: Box, b: Box) -> Box:
    """Quotient; NaN where 0/0 or inf/inf may be."""
    found = multiply(a, reciprocal(b))
    bad = (_has_zero(a) & _has_zero(b)) | (_infinite(a) & _infinite(b))
    return Box(found.lo, found.hi, a.nan or b.nan or bool(bad.any()), _both_plain(a, b))


def absolute(a: Box) -> Box:
    """Absolute value."""
    inside = _has_zero(a)
    low = np.where(inside, 0.0, np.minimum(np.abs(a.lo), np.abs(a.hi)))
    return Box(low, a.magnitude, a.nan, True)


def square(a: Box) -> Box:
    """a squared."""
    found = absolute(a)
    with np.errstate(over="ignore"):
        return Box(found.lo**2, found.hi**2, a.nan, True)


def minimum(a: Box, b: Box) -> Box:
    """The smaller; NaN if either is."""
    return Box(np.minimum(a.lo, b.lo), np.minimum(a.hi, b.hi), a.nan or b.nan, _both_plain(a, b))


def maximum(a: Box, b: Box) -> Box:
    """The larger; NaN if either is."""
    return Box(np.maximum(a.lo, b.lo), np.maximum(a.hi, b.hi), a.nan or b.nan, _both_plain(a, b))


def power(a: Box, b: Box) -> Box:
    """a to a known power: whole ones by absolute values, others for a that is never negative."""
    if not (b.lo.size == 1 and (b.lo == b.hi).all()):
        return WHOLE
    exponent = float(b.lo.ravel()[0])
    if exponent == 2.0:
        return square(a)
    with np.errstate(over="ignore", divide="ignore"):
        if (a.lo >= 0).all():
            ends = (a.lo**exponent, a.hi**exponent)
            low = np.minimum(*ends)
            if exponent < 0 and not a.plain_zero:
                low = np.where(a.lo == 0, -np.inf, low)  # -0.0 to an odd negative power
            return Box(low, np.maximum(*ends), a.nan)
        if exponent.is_integer() and exponent > 0:
            if exponent % 2:
                return Box(a.lo**exponent, a.hi**exponent, a.nan)
            found = absolute(a)
            return Box(found.lo**exponent, found.hi**exponent, a.nan)
    return WHOLE


def increasing(function: Callable[..., Array], domain: tuple[float, float]) -> Callable[[Box], Box]:
    """The rule of a function that never falls on its closed domain, and is NaN outside."""

    def rule(a: Box) -> Box:
        outside = bool((a.lo < domain[0]).any() or (a.hi > domain[1]).any())
        with np.errstate(all="ignore"):
            lo = function(np.clip(a.lo, *domain))
            hi = function(np.clip(a.hi, *domain))
        return Box(lo, hi, a.nan or outside, a.plain_zero and bool((lo >= 0).all()))

    return rule


def bounded(lo: float, hi: float) -> Callable[[Box], Box]:
    """The rule of a function with that range, NaN at infinite arguments."""

    def rule(a: Box) -> Box:
        return Box(
            np.full_like(a.lo, lo), np.full_like(a.hi, hi), a.nan or bool(_infinite(a).any())
        )

    return rule


def truth(*_: Box) -> Box:
    """A comparison or a logical operation."""
    return box(0.0, 1.0)


def hypot(a: Box, b: Box) -> Box:
    """The length of (a, b)."""
    one, two = absolute(a), absolute(b)
    with np.errstate(over="ignore"):
        return Box(np.hypot(one.lo, two.lo), np.hypot(one.hi, two.hi), a.nan or b.nan, True)


def floor_divide(a: Box, b: Box) -> Box:
    """The whole part of a quotient."""
    found = divide(a, b)
    with np.errstate(all="ignore"):  # 1.0 // 0.1 is 9: the function's own corners count as well
        ends = [np.floor_divide(x, y) for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    corners = [np.where(np.isnan(end), np.floor(found.lo), end) for end in ends]
    return Box(
        np.minimum.reduce(np.broadcast_arrays(np.floor(found.lo), *corners)),
        np.maximum.reduce(np.broadcast_arrays(np.floor(found.hi), *corners)),
        found.nan or bool((_has_zero(b) | _infinite(a)).any()),  # inf // 2 is NaN
    )


def remainder(a: Box, b: Box) -> Box:
    """The rest of a division by a positive number."""
    if (b.lo > 0).all() and a.finite:
        return Box(np.zeros_like(b.lo), b.hi, b.nan)
    return WHOLE
