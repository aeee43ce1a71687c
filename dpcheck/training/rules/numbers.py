"""Numbers through elementwise functions: interval arithmetic over the reals, with what may be infinite or NaN."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dpcheck.training.facts import Numbers

ANY = Numbers()
WILD = Numbers(inf=True, nan=True)
TRUTH = Numbers(0.0, 1.0)
_LARGEST_HALF = 65504.0


def of_constant(array: np.ndarray) -> Numbers:
    """What is known of an array that is known."""
    if array.dtype == object or array.dtype.kind not in "fiub" or not array.size:
        return WILD if array.dtype.kind not in "iub" else ANY
    values = array.astype(float)
    nan = bool(np.isnan(values).any())
    kept = values[~np.isnan(values)]
    if not kept.size:
        return WILD
    low, high = float(kept.min()), float(kept.max())
    return Numbers(low, high, bool((kept != 0).all()), bool(np.isinf(kept).any()), nan)


def stored(numbers: Numbers, dtype: str) -> Numbers:
    """The same numbers in a data type: integers wrap, and half precision overflows."""
    if dtype == "bool":
        return Numbers(max(numbers.lo, 0.0), min(numbers.hi, 1.0), numbers.without_zero)
    if dtype.startswith(("int", "uint")):
        info = np.iinfo(dtype) if dtype.lstrip("uint") in {"8", "16", "32", "64"} else None
        if info is None:
            return ANY
        if numbers.lo < info.min or numbers.hi > info.max or not numbers.tame:
            return Numbers(float(info.min), float(info.max))
        return replace(numbers, inf=False, nan=False)
    if dtype == "float16" and max(-numbers.lo, numbers.hi) > _LARGEST_HALF:
        return (
            Numbers(
                numbers.lo,
                math.inf if numbers.hi > _LARGEST_HALF else numbers.hi,
                False,
                True,
                numbers.nan,
            )
            if numbers.lo >= -_LARGEST_HALF
            else WILD
        )
    if dtype.startswith("float8"):
        return WILD
    if dtype in ("float16", "bfloat16"):
        return replace(numbers, nonzero=False)
    return numbers


def _exp(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def _times(a: float, b: float) -> float:
    return 0.0 if a == 0 or b == 0 else a * b


def add(a: Numbers, b: Numbers) -> Numbers:
    """a + b; inf - inf is NaN."""
    low, high = a.lo + b.lo, a.hi + b.hi
    clash = (a.positive_inf and b.negative_inf) or (a.negative_inf and b.positive_inf)
    same = (a.lo >= 0 and b.lo >= 0) or (a.hi <= 0 and b.hi <= 0)
    return Numbers(
        -math.inf if math.isnan(low) else low,
        math.inf if math.isnan(high) else high,
        same and (a.without_zero or b.without_zero),
        a.inf or b.inf,
        a.nan or b.nan or clash,
    )


def neg(a: Numbers) -> Numbers:
    """-a."""
    return replace(a, lo=-a.hi, hi=-a.lo)


def mul(a: Numbers, b: Numbers) -> Numbers:
    """a b; 0 inf is NaN."""
    ends = [_times(x, y) for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    lost = (a.inf and not b.without_zero) or (b.inf and not a.without_zero)
    return Numbers(
        min(ends),
        max(ends),
        a.without_zero and b.without_zero,
        a.inf or b.inf,
        a.nan or b.nan or lost,
    )


def reciprocal(a: Numbers) -> Numbers:
    """1 / a, infinite where a may be 0."""
    zero = not a.without_zero
    if a.lo >= 0:
        low, high = (
            (0.0 if math.isinf(a.hi) else 1 / a.hi if a.hi else math.inf),
            (1 / a.lo if a.lo > 0 else math.inf),
        )
    elif a.hi <= 0:
        low, high = (1 / a.hi if a.hi < 0 else -math.inf), (0.0 if math.isinf(a.lo) else 1 / a.lo)
    else:
        low, high = -math.inf, math.inf
    return Numbers(low, high, not a.inf, zero, a.nan)


def div(a: Numbers, b: Numbers) -> Numbers:
    """a / b; 0 / 0 and inf / inf are NaN."""
    found = mul(replace(a, inf=False), replace(reciprocal(b), inf=False))
    lost = (not a.without_zero and not b.without_zero) or (a.inf and b.inf)
    never = a.exactly == 0.0
    over = not b.without_zero and not never
    if over:
        sign = a.lo >= 0 or a.hi <= 0
        if not (sign and (b.lo >= 0 or b.hi <= 0)):
            found = replace(found, lo=-math.inf, hi=math.inf)
    return replace(
        found, inf=a.inf or over, nan=a.nan or b.nan or lost, nonzero=a.without_zero and not b.inf
    )


def power(a: Numbers, exponent: float) -> Numbers:
    """a to a known power."""
    if exponent == 0:
        return Numbers(1.0, 1.0, True)
    if exponent < 0:
        return reciprocal(power(a, -exponent))
    whole = exponent == int(exponent)

    def raised(x: float) -> float:
        try:
            return x**exponent
        except OverflowError:
            return math.inf

    if a.lo >= 0:
        return replace(a, lo=raised(a.lo), hi=raised(a.hi))
    if not whole:
        return replace(power(replace(a, lo=0.0), exponent), nan=True)
    if int(exponent) % 2:
        return replace(a, lo=-raised(-a.lo), hi=raised(a.hi) if a.hi >= 0 else -raised(-a.hi))
    ends = (raised(abs(a.lo)), raised(abs(a.hi)))
    low = 0.0 if a.hi >= 0 else min(ends)
    return replace(a, lo=low, hi=max(ends))


def sqrt(a: Numbers) -> Numbers:
    """The square root; NaN of what may be negative."""
    low = math.sqrt(max(a.lo, 0.0)) if math.isfinite(a.lo) else 0.0
    high = math.sqrt(max(a.hi, 0.0)) if math.isfinite(a.hi) else math.inf
    return Numbers(low, high, a.without_zero, a.positive_inf, a.nan or a.lo < 0)


def exp(a: Numbers) -> Numbers:
    """e^a > 0."""
    return Numbers(_exp(a.lo), _exp(a.hi), not a.negative_inf, a.positive_inf, a.nan)


def log(a: Numbers) -> Numbers:
    """The logarithm: -inf of 0, NaN below."""
    low = math.log(a.lo) if 0 < a.lo < math.inf else -math.inf
    high = math.log(a.hi) if 0 < a.hi < math.inf else math.inf if a.hi > 0 else -math.inf
    return Numbers(
        low, high, False, a.positive_inf or not a.without_zero or a.lo < 0, a.nan or a.lo < 0
    )


def log1p(a: Numbers) -> Numbers:
    """log(1 + a)."""
    return log(replace(add(a, Numbers(1.0, 1.0)), nonzero=a.lo > -1))


def _bounded(low: float, high: float) -> Callable[[Numbers], Numbers]:
    def found(a: Numbers) -> Numbers:
        return Numbers(low, high, False, False, a.nan)

    return found


def _oscillating(a: Numbers) -> Numbers:
    return Numbers(-1.0, 1.0, False, False, a.nan or a.inf)


def _monotone(function: Callable[[float], float]) -> Callable[[Numbers], Numbers]:
    def found(a: Numbers) -> Numbers:
        ends = [x if math.isinf(x) else function(x) for x in (a.lo, a.hi)]
        return replace(a, lo=ends[0], hi=ends[1], nonzero=False)

    return found


def _absolute(a: Numbers) -> Numbers:
    ends = (abs(a.lo), abs(a.hi))
    return replace(a, lo=0.0 if a.lo <= 0 <= a.hi else min(ends), hi=max(ends))


def _odd_unbounded(a: Numbers) -> Numbers:
    """sinh, asinh: finite of what is finite, and 0 at 0 only."""
    return Numbers(
        -math.inf if a.lo < 0 else 0.0, math.inf if a.hi > 0 else 0.0, a.nonzero, a.inf, a.nan
    )


def _logistic(a: Numbers) -> Numbers:
    return Numbers(0.0, 1.0, not a.negative_inf, False, a.nan)


def _erfc(a: Numbers) -> Numbers:
    return Numbers(0.0, 2.0, not a.positive_inf, False, a.nan)


def _tanh(a: Numbers) -> Numbers:
    return Numbers(0.0 if a.lo >= 0 else -1.0, 0.0 if a.hi <= 0 else 1.0, a.nonzero, False, a.nan)


def _within(domain: float) -> Callable[[Numbers], Numbers]:
    def found(a: Numbers) -> Numbers:
        inside = -domain < a.lo and a.hi < domain
        return Numbers(inf=not inside, nan=a.nan or not (-domain <= a.lo and a.hi <= domain))

    return found


def _expm1(a: Numbers) -> Numbers:
    low = -1.0 if math.isinf(a.lo) else math.expm1(min(a.lo, 700.0))
    high = math.inf if a.hi > 700 else math.expm1(a.hi) if math.isfinite(a.hi) else -1.0
    return Numbers(low, high, a.nonzero, a.positive_inf, a.nan)


def _sign(a: Numbers) -> Numbers:
    return Numbers(-1.0 if a.lo < 0 else 0.0, 1.0 if a.hi > 0 else 0.0, a.nonzero, False, a.nan)


def _same(a: Numbers) -> Numbers:
    return a


def _gamma(a: Numbers) -> Numbers:
    return Numbers(inf=a.inf or a.lo <= 0, nan=a.nan or a.lo <= 0)


UNARY: dict[str, Callable[[Numbers], Numbers]] = {
    "neg": neg,
    "abs": _absolute,
    "sign": _sign,
    "square": lambda a: power(a, 2.0),
    "sqrt": sqrt,
    "rsqrt": lambda a: reciprocal(sqrt(a)),
    "cbrt": lambda a: replace(_odd_unbounded(a)),
    "reciprocal": reciprocal,
    "exp": exp,
    "exp2": lambda a: exp(mul(a, Numbers(math.log(2), math.log(2)))),
    "expm1": _expm1,
    "log": log,
    "log2": lambda a: replace(log(a), lo=-math.inf, hi=math.inf),
    "log1p": log1p,
    "sin": _oscillating,
    "cos": _oscillating,
    "tan": lambda a: Numbers(nan=a.nan or a.inf),
    "asin": lambda a: Numbers(-2.0, 2.0, nan=a.nan or a.lo < -1 or a.hi > 1),
    "acos": lambda a: Numbers(0.0, 4.0, nan=a.nan or a.lo < -1 or a.hi > 1),
    "atan": _bounded(-2.0, 2.0),
    "sinh": _odd_unbounded,
    "asinh": _odd_unbounded,
    "cosh": lambda a: Numbers(1.0, math.inf, True, a.inf, a.nan),
    "acosh": lambda a: Numbers(0.0, math.inf, False, a.inf, a.nan or a.lo < 1),
    "atanh": _within(1.0),
    "tanh": _tanh,
    "logistic": _logistic,
    "erf": _tanh,
    "erfc": _erfc,
    "erf_inv": _within(1.0),
    "lgamma": _gamma,
    "digamma": _gamma,
    "floor": _monotone(math.floor),
    "ceil": _monotone(math.ceil),
    "round": _monotone(round),
    "is_finite": lambda a: Numbers(1.0, 1.0) if a.tame else TRUTH,
    "is_nan": lambda a: TRUTH if a.nan else Numbers(0.0, 0.0),
    "not": lambda a: Numbers(
        1.0 - a.hi, 1.0 - a.lo
    ),  # of truth values; others are cut to their type
    "copy": _same,
    "stop_gradient": _same,
    "bitcast": lambda _: WILD,
}


def maximum(a: Numbers, b: Numbers) -> Numbers:
    """max(a, b), NaN if either is."""
    low, high = max(a.lo, b.lo), max(a.hi, b.hi)
    inf = a.positive_inf or b.positive_inf or (a.negative_inf and b.negative_inf)
    nonzero = low > 0 or high < 0 or (a.without_zero and b.without_zero)
    return Numbers(low, high, nonzero, inf, a.nan or b.nan)


def minimum(a: Numbers, b: Numbers) -> Numbers:
    """min(a, b), NaN if either is."""
    return neg(maximum(neg(a), neg(b)))


def _rem(a: Numbers, b: Numbers) -> Numbers:
    most = min(max(abs(b.lo), abs(b.hi)), max(abs(a.lo), abs(a.hi)))
    nan = a.nan or b.nan or a.inf or not b.without_zero
    return Numbers(-most if a.lo < 0 else 0.0, most if a.hi > 0 else 0.0, nan=nan)


def _pow(a: Numbers, b: Numbers) -> Numbers:
    if b.exactly is not None:
        return power(a, b.exactly)
    if a.lo > 0 or (a.lo >= 0 and a.nonzero):
        return Numbers(
            0.0, math.inf, not (a.inf or b.inf), a.inf or b.inf, a.nan or b.nan or a.inf or b.inf
        )
    return WILD


def _less(a: Numbers, b: Numbers, strict: bool) -> Numbers:
    if a.nan or b.nan:
        return TRUTH
    if a.hi < b.lo or (not strict and a.hi <= b.lo):
        return Numbers(1.0, 1.0)
    if a.lo > b.hi or (strict and a.lo >= b.hi):
        return Numbers(0.0, 0.0)
    return TRUTH


def _equal(a: Numbers, b: Numbers) -> Numbers:
    if a.nan or b.nan:
        return TRUTH
    apart = (
        a.hi < b.lo
        or b.hi < a.lo
        or (a.exactly == 0 and b.without_zero)
        or (b.exactly == 0 and a.without_zero)
    )
    if a.inf != b.inf and (a.lo == a.hi or b.lo == b.hi):
        apart = (
            apart
            or (math.isinf(a.lo) and a.lo == a.hi and not b.inf)
            or (math.isinf(b.lo) and b.lo == b.hi and not a.inf)
        )
    if apart:
        return Numbers(0.0, 0.0)
    return Numbers(1.0, 1.0) if a.exactly is not None and a.exactly == b.exactly else TRUTH


def _bits(a: Numbers, b: Numbers) -> Numbers:
    return TRUTH if a.lo >= 0 and a.hi <= 1 and b.lo >= 0 and b.hi <= 1 else ANY


BINARY: dict[str, Callable[[Numbers, Numbers], Numbers]] = {
    "add": add,
    "sub": lambda a, b: add(a, neg(b)),
    "mul": mul,
    "div": div,
    "rem": _rem,
    "pow": _pow,
    "max": maximum,
    "min": minimum,
    "atan2": lambda a, b: Numbers(-4.0, 4.0, nan=a.nan or b.nan),
    "and": lambda a, b: minimum(a, b) if _bits(a, b) is TRUTH else ANY,
    "or": lambda a, b: maximum(a, b) if _bits(a, b) is TRUTH else ANY,
    "xor": _bits,
    "shift_left": lambda _a, _b: ANY,
    "shift_right": lambda _a, _b: ANY,
    "eq": _equal,
    "ne": lambda a, b: UNARY["not"](_equal(a, b)),
    "lt": lambda a, b: _less(a, b, strict=True),
    "le": lambda a, b: _less(a, b, strict=False),
    "gt": lambda a, b: _less(b, a, strict=True),
    "ge": lambda a, b: _less(b, a, strict=False),
}


def summed(a: Numbers, count: int) -> Numbers:
    """A sum of `count` such numbers."""
    if not count:
        return Numbers(0.0, 0.0)
    signed = a.lo >= 0 or a.hi <= 0
    clash = a.positive_inf and a.negative_inf and count > 1
    return Numbers(
        _times(a.lo, count), _times(a.hi, count), signed and a.without_zero, a.inf, a.nan or clash
    )
