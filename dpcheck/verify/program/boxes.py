"""Which values an array may hold: an interval for each entry, ends included, and whether NaN.

Lemma of every rule: the result lies in its box, for all values in the boxes it was given. Infinite ends
say that a value may be infinite, so that inf - inf, 0 * inf and 0 / 0 are seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from dpcheck.verify.program.numbers import (
    INF,
    ONE,
    ZERO,
    Number,
    add,
    exp_ends,
    finite,
    inverse,
    log_ends,
    magnitude,
    root_down,
    root_up,
    times,
)

Entries = tuple[Number, ...]
_LARGEST = {
    "float16": Fraction(65504),
    "float32": Fraction((2**24 - 1) * 2**104),
    "float64": Fraction((2**53 - 1) * 2**971),
}


@dataclass(frozen=True, slots=True)
class Box:
    """One interval for all entries, or one for each; `plain` if no entry is -0.0, which divides to -inf."""

    lo: Entries
    hi: Entries
    nan: bool = False
    plain: bool = False

    @property
    def finite(self) -> bool:
        """Whether every entry is a number that is not infinite."""
        return not self.nan and self.bounded

    @property
    def bounded(self) -> bool:
        """Whether no entry is infinite."""
        return all(finite(end) for end in self.lo) and all(finite(end) for end in self.hi)

    @property
    def size(self) -> Entries:
        """The largest absolute value of each entry."""
        return tuple(max(magnitude(a), magnitude(b)) for a, b in zip(self.lo, self.hi, strict=True))

    @property
    def width(self) -> Entries:
        """The length of each interval."""
        pairs = zip(self.lo, self.hi, strict=True)
        return tuple(b - a if finite(a) and finite(b) else INF for a, b in pairs)

    @property
    def least(self) -> Number:
        """The lowest end."""
        return min(self.lo, default=ZERO)

    @property
    def most(self) -> Number:
        """The highest end."""
        return max(self.hi, default=ZERO)

    def with_zero(self) -> Box:
        """The box and 0."""
        lo, hi = (
            tuple(pick(end, ZERO) for end in ends)
            for pick, ends in ((min, self.lo), (max, self.hi))
        )
        return Box(lo, hi, self.nan, self.plain)

    def within(self, low: Number, high: Number) -> Box:
        """Cut to [low, high], where the values are known to lie; never empty."""
        lo = tuple(max(end, low) for end in self.lo)
        hi = tuple(max(min(end, high), start) for end, start in zip(self.hi, lo, strict=True))
        return Box(lo, hi, self.nan, self.plain)

    def hull(self) -> Box:
        """One interval that holds them all."""
        return Box((self.least,), (self.most,), self.nan, self.plain)

    def holds(self, other: Box) -> bool:
        """Whether everything in the other box is in this one."""
        lo, hi, low, high = pair(self.lo, self.hi, other.lo, other.hi)
        inside = all(a <= b for a, b in zip(lo, low, strict=True)) and all(
            a >= b for a, b in zip(hi, high, strict=True)
        )
        return inside and (self.nan or not other.nan) and (other.plain or not self.plain)


def box(lo: Number, hi: Number, nan: bool = False, plain: bool = False) -> Box:
    """One interval for all entries."""
    return Box((lo,), (hi,), nan, plain)


WHOLE = box(-INF, INF, nan=True)
TRUTH = box(ZERO, ONE, plain=True)


def pair(*several: Entries) -> tuple[Entries, ...]:
    """Entries side by side, one value repeated for all."""
    many = max(map(len, several), default=1)
    many = 0 if any(len(each) == 0 for each in several) else many
    return tuple(each * many if len(each) == 1 and many != 1 else each for each in several)


def union(a: Box, b: Box) -> Box:
    """Everything in either."""
    alo, ahi, blo, bhi = pair(a.lo, a.hi, b.lo, b.hi)
    lo = tuple(map(min, alo, blo))
    return Box(lo, tuple(map(max, ahi, bhi)), a.nan or b.nan, a.plain and b.plain)


# Types --------------------------------------------------------------------------------------------------


def limits(dtype: str) -> tuple[Number, Number]:
    """The least and the largest number of a type; floats that are larger become infinite."""
    if dtype == "bool":
        return ZERO, ONE
    if dtype in _LARGEST:
        return -_LARGEST[dtype], _LARGEST[dtype]
    for kind, start in (("uint", 4), ("int", 3)):
        if dtype.startswith(kind) and dtype[start:] in ("8", "16", "32", "64"):
            bits = int(dtype[start:])
            half = Fraction(2) ** (bits - 1)
            return (ZERO, 2 * half - 1) if kind == "uint" else (-half, half - 1)
    return -INF, INF


def is_float(dtype: str) -> bool:
    """Whether it is a type of floats that is followed."""
    return dtype in _LARGEST


def is_whole(dtype: str) -> bool:
    """Whether it is a type of whole numbers or truth values."""
    return dtype == "bool" or dtype.startswith(("int", "uint"))


def fitted(found: Box, dtype: str) -> tuple[Box, bool]:
    """The box after rounding to a type, and whether all of it fits: whole numbers wrap around."""
    low, high = limits(dtype)
    inside = all(end >= low for end in found.lo) and all(end <= high for end in found.hi)
    if dtype == "bool":
        return (found.within(ZERO, ONE) if not found.nan else TRUTH), inside
    if inside:
        return found, not (found.nan and is_whole(dtype))
    if is_float(dtype):
        lo = tuple(-INF if end < low else end for end in found.lo)
        hi = tuple(INF if end > high else end for end in found.hi)
        return Box(lo, hi, found.nan, found.plain), False
    return box(low, high, nan=not is_whole(dtype), plain=True), False


# Entry by entry -----------------------------------------------------------------------------------------

Ends = tuple[Number, Number]
Made = tuple[Number, Number, bool]


def _zero(a: Ends) -> bool:
    return a[0] <= 0 <= a[1]


def _endless(a: Ends) -> bool:
    return not finite(a[0]) or not finite(a[1])


def _add(a: Ends, b: Ends) -> Made:
    nan = (a[1] == INF and b[0] == -INF) or (a[0] == -INF and b[1] == INF)
    return add(a[0], b[0], -INF), add(a[1], b[1], INF), nan


def _multiply(a: Ends, b: Ends) -> Made:
    corners = [times(x, y) for x in a for y in b]
    nan = (_zero(a) and _endless(b)) or (_zero(b) and _endless(a))
    return min(corners), max(corners), nan


def _reciprocal(a: Ends, plain: bool) -> Ends:
    if not _zero(a):
        return inverse(a[1]), inverse(a[0])
    if a[0] < 0 or not plain:
        return -INF, INF
    return (inverse(a[1]) if a[1] else INF), INF


def _absolute(a: Ends) -> Ends:
    most = max(magnitude(a[0]), magnitude(a[1]))
    return (ZERO if _zero(a) else min(magnitude(a[0]), magnitude(a[1]))), most


def _made(one: Callable[..., Made], *given: Box, plain: bool) -> Box:
    ends = pair(*(end for each in given for end in (each.lo, each.hi)))
    sides = [list(zip(ends[i], ends[i + 1], strict=True)) for i in range(0, len(ends), 2)]
    found = [one(*each) for each in zip(*sides, strict=True)]
    nan = any(each.nan for each in given) or any(each[2] for each in found)
    return Box(tuple(each[0] for each in found), tuple(each[1] for each in found), nan, plain)


def _positive(*given: Box) -> bool:
    return all(each.plain and each.least >= 0 for each in given)


def plus(a: Box, b: Box) -> Box:
    """Sum; NaN where inf meets -inf."""
    return _made(_add, a, b, plain=a.plain or b.plain)


def minus(a: Box) -> Box:
    """Its negative."""
    return Box(tuple(-end for end in a.hi), tuple(-end for end in a.lo), a.nan)


def multiply(a: Box, b: Box) -> Box:
    """Product; NaN where 0 may meet inf."""
    return _made(_multiply, a, b, plain=_positive(a, b))


def reciprocal(a: Box) -> Box:
    """1 / a."""
    return _made(lambda x: (*_reciprocal(x, a.plain), False), a, plain=_positive(a))


def divide(a: Box, b: Box) -> Box:
    """Quotient; NaN where 0 / 0 or inf / inf may be."""

    def one(x: Ends, y: Ends) -> Made:
        low, high, _ = _multiply(x, _reciprocal(y, b.plain))
        return low, high, (_zero(x) and _zero(y)) or (_endless(x) and _endless(y))

    return _made(one, a, b, plain=_positive(a, b))


def absolute(a: Box) -> Box:
    """Absolute value."""
    return _made(lambda x: (*_absolute(x), False), a, plain=True)


def square(a: Box) -> Box:
    """a squared."""
    found = absolute(a)
    lo, hi = (tuple(times(end, end) for end in ends) for ends in (found.lo, found.hi))
    return Box(lo, hi, a.nan, plain=True)


def _rising(
    low: Callable[[Number], Number], high: Callable[[Number], Number], start: Number = -INF
) -> Callable[[Box], Box]:
    """A function that never falls from `start` on, and is NaN below."""

    def rule(a: Box) -> Box:
        lo = tuple(low(max(end, start)) for end in a.lo)
        hi = tuple(high(max(end, start)) for end in a.hi)
        return Box(lo, hi, a.nan or a.least < start, a.plain and min(lo, default=ZERO) >= 0)

    return rule


def _scaled(base: Fraction) -> Callable[[Number], Ends]:
    """Around the logarithm to a whole base."""

    def ends(a: Number) -> Ends:
        low, high = log_ends(a)
        if not finite(low):
            return low, high
        one, two = log_ends(base)
        quotients = [x / y for x in (low, high) for y in (one, two)]
        return min(quotients), max(quotients)

    return ends


def loosened(found: Box, exact: bool = False) -> Box:
    """Room for what floats were rounded by, which decides between two steps: 3 * (1 / 3) is 1, or less."""
    if exact:
        return found
    lo, hi = (
        tuple(end if isinstance(end, float) else end + sign * ROOM * magnitude(end) for end in ends)
        for ends, sign in ((found.lo, -1), (found.hi, 1))
    )
    return Box(lo, hi, found.nan, found.plain)


ROOM = Fraction(1, 10**9)


def _stepped(function: Callable[[Fraction], int]) -> Callable[[Box], Box]:
    def one(a: Number) -> Number:
        return a if isinstance(a, float) else Fraction(function(a))

    def rule(a: Box) -> Box:
        found = _rising(one, one)(a)
        return Box(found.lo, found.hi, found.nan)  # floor(-0.5) is no -0.0, ceil(-0.5) is

    return rule


def _ranged(low: int, high: int) -> Callable[[Box], Box]:
    return lambda a: box(Fraction(low), Fraction(high), a.nan or not a.bounded)


def _tanh(a: Box) -> Box:
    return box(ZERO if a.least >= 0 else -ONE, ZERO if a.most <= 0 else ONE, a.nan)


def _arctan(a: Box) -> Box:
    return box(ZERO if a.least >= 0 else Fraction(-2), ZERO if a.most <= 0 else Fraction(2), a.nan)


def _sign(a: Box) -> Box:
    found = [(ONE if end > 0 else -ONE if end < 0 else ZERO) for end in (a.least, a.most)]
    return box(found[0], found[1], a.nan)


def smaller(a: Box, b: Box) -> Box:
    """The smaller one; NaN if either is."""
    alo, ahi, blo, bhi = pair(a.lo, a.hi, b.lo, b.hi)
    return Box(
        tuple(map(min, alo, blo)), tuple(map(min, ahi, bhi)), a.nan or b.nan, _positive(a, b)
    )


def larger(a: Box, b: Box) -> Box:
    """The larger one; NaN if either is."""
    alo, ahi, blo, bhi = pair(a.lo, a.hi, b.lo, b.hi)
    return Box(
        tuple(map(max, alo, blo)), tuple(map(max, ahi, bhi)), a.nan or b.nan, _positive(a, b)
    )


def _known(pick: Callable[[Box, Box], Box]) -> Callable[[Box, Box], Box]:
    """fmin and fmax: the other operand where one is NaN."""

    def rule(a: Box, b: Box) -> Box:
        numbers = [Box(each.lo, each.hi) for each in (a, b)]
        found = pick(*numbers)
        if a.nan:
            found = union(found, numbers[1])
        if b.nan:
            found = union(found, numbers[0])
        return Box(found.lo, found.hi, a.nan and b.nan)

    return rule


def power(a: Box, b: Box) -> Box:
    """a to a known power: 2, 1/2, 1 and -1; other whole ones by absolute values."""
    if len(b.lo) != 1 or b.lo != b.hi or b.nan or not finite(b.lo[0]):
        return WHOLE
    exponent = Fraction(b.lo[0])
    if exponent == 2:
        return square(a)
    if exponent == 1:
        return a
    if exponent == Fraction(1, 2) and a.least >= 0:
        return BOXES["sqrt"](a)
    if exponent == -1 and (a.least > 0 or a.most < 0):
        return reciprocal(a)
    if exponent.denominator == 1 and 2 < exponent <= 64 and a.bounded:
        n = int(exponent)
        if n % 2 or a.least >= 0:
            return Box(tuple(end**n for end in a.lo), tuple(end**n for end in a.hi), a.nan)
        found = absolute(a)
        return Box(tuple(end**n for end in found.lo), tuple(end**n for end in found.hi), a.nan)
    return WHOLE


def floor_divide(a: Box, b: Box) -> Box:
    """The whole part of a quotient."""
    found = divide(a, b)
    lo, hi = (
        tuple(Fraction(math.floor(end)) if isinstance(end, Fraction) else end for end in ends)
        for ends in (found.lo, found.hi)
    )
    return Box(lo, hi, found.nan or b.least <= 0 <= b.most or not a.bounded)


def remainder(a: Box, b: Box) -> Box:
    """The rest of a division by a positive number."""
    if b.least > 0 and a.finite and b.finite:
        return Box((ZERO,) * len(b.hi), b.hi)
    return WHOLE


def _two_to(a: Number) -> tuple[Number, Number]:
    """Around 2 to it."""
    low, high = log_ends(Fraction(2))
    return exp_ends(min(times(a, low), times(a, high)))[0], exp_ends(
        max(times(a, low), times(a, high))
    )[1]


BOXES: dict[str, Callable[..., Box]] = {
    "negative": minus,
    "positive": lambda a: a,
    "absolute": absolute,
    "square": square,
    "sqrt": _rising(root_down, root_up, ZERO),
    "cbrt": lambda a: WHOLE if not a.finite else box(min(a.least, -ONE), max(a.most, ONE)),
    "exp": _rising(lambda a: exp_ends(a)[0], lambda a: exp_ends(a)[1]),
    "exp2": _rising(lambda a: _two_to(a)[0], lambda a: _two_to(a)[1]),
    "expm1": _rising(lambda a: add(exp_ends(a)[0], -ONE), lambda a: add(exp_ends(a)[1], -ONE)),
    "log": _rising(lambda a: log_ends(a)[0], lambda a: log_ends(a)[1], ZERO),
    "log2": _rising(
        lambda a: _scaled(Fraction(2))(a)[0], lambda a: _scaled(Fraction(2))(a)[1], ZERO
    ),
    "log10": _rising(
        lambda a: _scaled(Fraction(10))(a)[0], lambda a: _scaled(Fraction(10))(a)[1], ZERO
    ),
    "log1p": _rising(lambda a: log_ends(add(a, ONE))[0], lambda a: log_ends(add(a, ONE))[1], -ONE),
    "tanh": _tanh,
    "arctan": _arctan,
    "sin": _ranged(-1, 1),
    "cos": _ranged(-1, 1),
    "sign": _sign,
    "floor": _stepped(math.floor),
    "ceil": _stepped(math.ceil),
    "rint": _stepped(round),
    "trunc": _stepped(math.trunc),
    "reciprocal": reciprocal,
    "add": plus,
    "subtract": lambda a, b: plus(a, minus(b)),
    "multiply": multiply,
    "divide": divide,
    "floor_divide": floor_divide,
    "remainder": remainder,
    "power": power,
    "hypot": lambda a, b: BOXES["sqrt"](plus(square(a), square(b))),
    "minimum": smaller,
    "maximum": larger,
    "fmin": _known(smaller),
    "fmax": _known(larger),
    **{
        name: lambda *_: TRUTH
        for name in (
            *("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"),
            *("logical_and", "logical_or", "logical_not", "logical_xor"),
            *("isnan", "isfinite", "isinf", "signbit"),
        )
    },
    **{
        name: lambda *_: WHOLE  # the range of the type
        for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "invert")
    },
}
KEEP_ZERO = frozenset(
    {
        *("negative", "positive", "absolute", "square", "sqrt", "cbrt", "expm1", "log1p"),
        *("tanh", "arctan", "sin", "sign", "floor", "ceil", "rint", "trunc"),
    }
)
STEPS = ("floor", "ceil", "rint", "trunc")


def steepness(name: str, a: Box) -> Entries | None:
    """The largest slope of a function of one number on its box; None where it is not known."""
    if name in ("negative", "positive", "absolute", "tanh", "arctan", "sin", "cos"):
        return (ONE,)
    if name == "square":
        return tuple(2 * end for end in a.size)
    if name == "sqrt":
        return tuple(inverse(2 * root_down(end)) if end > 0 else INF for end in a.lo)
    if name in ("exp", "expm1"):
        return tuple(exp_ends(end)[1] for end in a.hi)
    if name == "exp2":  # log 2 is less than 1
        return tuple(_two_to(end)[1] for end in a.hi)
    if name in ("log", "log10"):
        return tuple(inverse(end) if end > 0 else INF for end in a.lo)
    if name == "log1p":
        return tuple(inverse(add(end, ONE)) if end > -1 else INF for end in a.lo)
    return None
