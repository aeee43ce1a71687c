"""What a function of rows keeps beside its box: norms, zeros, comparisons, the norm it is made of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from dpcheck.verify.program.boxes import KEEP_ZERO, Box, is_float, is_whole, limits, reciprocal
from dpcheck.verify.program.common import Node, element, holds_where, is_zero, scalar
from dpcheck.verify.program.facts import (
    Factor,
    Missing,
    Predicate,
    Public,
    Region,
    Rows,
    Sampling,
    Threshold,
    together,
)
from dpcheck.verify.program.numbers import INF, Number, finite, magnitude, root_up, times
from dpcheck.verify.program.sizes import UNKNOWN, Size

_ORDERING = ("less", "less_equal", "greater", "greater_equal")
_SWAPPED = dict(zip(_ORDERING, ("greater", "greater_equal", "less", "less_equal"), strict=True))
_OPPOSITE = dict(zip(_ORDERING, ("greater_equal", "greater", "less_equal", "less"), strict=True))


def known(node: Node) -> dict[str, Any]:
    """Everything beside box and norms."""
    return {
        "factor": _factor(node),
        "powers": _powers(node),
        "threshold": _threshold(node),
        "missing": _missing(node),
        "complement": _complement(node),
        "multiple": _multiple(node),
        "zero_null": zero_where(
            node, [isinstance(a.fact, Rows) and a.fact.zero_null for a in node.args]
        ),
        "sampling": _sampling(node),
        "predicate": _predicate(node),
        **_truths(node),
    }


# Norms --------------------------------------------------------------------------------------------------


def bound_in(order: str, bound: Number) -> Size:
    """A bound of one norm."""
    l1, l2, linf = (bound if order == name else INF for name in ("l1", "l2", "linf"))
    return Size((INF,), l1, l2, linf)


def clipped(node: Node) -> Size | None:
    """Norm clipping: g times a factor of its own norm.

    Lemma. With r = |g| and 0 <= s(r) <= min_i a_i r^p_i the norm |g s(r)| is at most min_i a_i r^(p_i + 1),
    which is a_i where p_i = -1. A multiple c g has c times the norm. Of a norm below sqrt(d t), with t the
    least float of all digits over the precision, the squares may be 0, and the factor anything in its box; a
    factor whose bound was found for norms above a public limit is not computed from such norms.
    """
    if node.primitive not in ("multiply", "divide"):
        return None
    for g, by in (node.args, node.args[::-1]):
        if not isinstance(g.fact, Rows) or not isinstance(by.fact, Rows):
            continue
        factor = by.fact.factor
        if node.primitive == "divide":
            factor = factor.raised(-1) if factor is not None and g is node.args[0] else None
        if factor is None or not _meets(node, g, by):
            continue
        many = _times(g, factor.source)
        if many is not None:
            bound = times(factor.product(), many)
            if not finite(factor.bound):
                bound = max(bound, _underflow(node, g, by))
            return bound_in(factor.order, bound)
    return None


_LEAST = {
    "float32": Fraction(1, 2**103),
    "float64": Fraction(1, 2**970),
}  # of all digits, over the precision


def _underflow(node: Node, g: Node, by: Node) -> Number:
    """How long a row may become whose squares are lost."""
    if by.dtype not in _LEAST:
        return INF
    found = by.fact.box if node.primitive == "multiply" else reciprocal(by.fact.box)
    low = root_up(_LEAST[by.dtype] * math.prod(element(g)))
    return times(low, max(found.size, default=INF))


def _times(g: Node, source: int) -> Number | None:
    """How many times the source these rows are."""
    if g.id == source:
        return Fraction(1)
    assert isinstance(g.fact, Rows)
    if g.fact.multiple is not None and g.fact.multiple[0] == source:
        return g.fact.multiple[1]
    return None


def _meets(node: Node, g: Node, by: Node) -> bool:
    """Whether the factor is one number a row, which meets that row, and nothing else is broadcast."""
    assert isinstance(g.fact, Rows)
    assert isinstance(by.fact, Rows)
    aligned = g.ndim - g.fact.axis == by.ndim - by.fact.axis and by.ndim <= g.ndim == node.ndim
    return aligned and math.prod(element(by)) == 1


def _factor(node: Node) -> Factor | None:
    """The result as a factor made of the norm of other rows."""
    found = [arg.fact.factor if isinstance(arg.fact, Rows) else None for arg in node.args]
    name, first = node.primitive, found[0]
    if len(found) == 1:
        power = {"sqrt": 0.5, "square": 2.0, "reciprocal": -1.0}.get(name)
        if first is None or name == "positive":
            return first
        return first.raised(power) if power is not None else None
    if (first is None) == (found[1] is None) or len(found) != 2:
        return None
    left = first is not None
    factor, number = first or found[1], scalar(node.args[1 if left else 0])
    if factor is None or number is None:
        return None
    if name == "multiply":
        return factor.scaled(number)
    if name == "divide":
        if left:
            return factor.scaled(1 / number)
        inverted = factor.raised(-1)
        return None if inverted is None else inverted.scaled(number)
    if name == "power" and left:
        return factor.raised(float(number)) if number in (2, Fraction(1, 2)) else None
    if name == "minimum":
        return factor.at_most(number)
    return factor.at_least(number) if name in ("maximum", "add") else None


def _powers(node: Node) -> Factor | None:
    """Squares or absolute values of entries, whose sum over a row is a power of its norm."""
    first = node.args[0]
    if (
        not isinstance(first.fact, Rows)
        or not is_float(first.dtype)
        or len(first.shape) != node.ndim
    ):
        return None
    name = node.primitive
    squared = (
        name == "square"
        or (name == "power" and scalar(node.args[1]) == 2)
        or (name == "multiply" and node.args[1] is first)
    )
    if squared:
        return Factor(first.id, "l2", ((Fraction(1), 2),), ((Fraction(1), 2),))
    return (
        Factor(first.id, "l1", ((Fraction(1), 1),), ((Fraction(1), 1),))
        if name == "absolute"
        else None
    )


def _threshold(node: Node) -> Threshold | None:
    """norm > C, kept for select."""
    if node.primitive not in _ORDERING:
        return None
    left = isinstance(node.args[0].fact, Rows)
    fact, limit = node.args[0 if left else 1].fact, scalar(node.args[1 if left else 0])
    norm = fact.factor if isinstance(fact, Rows) else None
    if norm is None or limit is None or not norm.itself() or fact.box.nan:
        return None
    return Threshold(norm, limit, node.primitive.startswith("greater") == left)


def _multiple(node: Node) -> tuple[int, Number] | None:
    """A positive public multiple of other rows."""
    if node.primitive not in ("multiply", "divide"):
        return None
    for g, other in (node.args, node.args[::-1]):
        number = scalar(other)
        if not isinstance(g.fact, Rows) or number is None or g.shape != node.shape:
            continue
        if node.primitive == "divide" and g is not node.args[0]:
            continue
        source, before = g.fact.multiple or (g.id, Fraction(1))
        return source, times(before, number if node.primitive == "multiply" else 1 / number)
    return None


# Zeros --------------------------------------------------------------------------------------------------


def zero_where(node: Node, zero: Sequence[bool]) -> bool:
    """Whether the result is 0 where those operands are."""
    name, args = node.primitive, node.args
    if len(args) == 1:
        return zero[0] and name in KEEP_ZERO
    boxes = [arg.fact.box for arg in args]
    if name == "multiply":
        return (zero[0] and boxes[1].finite) or (zero[1] and boxes[0].finite)
    if name == "divide":
        return zero[0] and (boxes[1].least > 0 or boxes[1].most < 0) and not boxes[1].nan
    if name in ("add", "subtract", "hypot"):
        return all(z or is_zero(arg) for z, arg in zip(zero, args, strict=True))
    if name == "power":
        return zero[0] and scalar(args[1]) is not None
    if name in ("minimum", "maximum"):
        if all(zero):
            return True
        for mine, other in ((0, 1), (1, 0)):
            inward = boxes[other].least >= 0 if name == "minimum" else boxes[other].most <= 0
            if zero[mine] and inward and not boxes[other].nan:
                return True
        return False
    if name in ("logical_and", "bitwise_and"):
        return any(zero)
    return name in ("logical_or", "bitwise_or") and all(zero)


def _sampling(node: Node) -> Sampling | None:
    """Whether rows that were not sampled are still 0."""
    found = [arg.fact.sampling if isinstance(arg.fact, Rows) else None for arg in node.args]
    some = [each for each in found if each is not None]
    if not some or any(each != some[0] for each in some):
        return None
    return some[0] if zero_where(node, [each is not None for each in found]) else None


def _predicate(node: Node) -> Predicate:
    """What holds of the record wherever the row is not 0."""
    name, args = node.primitive, node.args
    own = [arg.fact.predicate if isinstance(arg.fact, Rows) else {} for arg in args]
    found = [together(p, holds_where(arg, True)) for p, arg in zip(own, args, strict=True)]
    if len(args) == 1:
        return found[0] if name in KEEP_ZERO else {}
    if name in ("multiply", "logical_and", "bitwise_and"):
        result: Predicate = {}
        for i, each in enumerate(found):
            if each and zero_where(node, [j == i for j in range(2)]):
                result = together(result, each)
        return result
    if name == "divide" and found[0] and zero_where(node, [True, False]):
        return found[0]
    return found[0] if name in ("add", "subtract") and found[0] == found[1] else {}


# Truth values -------------------------------------------------------------------------------------------


def _complement(node: Node) -> int | None:
    """1 - x and ~x of truth values: the other answer."""
    last = node.args[-1]
    if not isinstance(last.fact, Rows):
        return None
    if node.primitive in ("logical_not", "invert") and last.dtype == "bool":
        return last.id
    return last.id if node.primitive == "subtract" and scalar(node.args[0]) == 1 else None


def _missing(node: Node) -> Missing | None:
    """isnan(x), isfinite(x) and their opposites remember which x they were asked about."""
    first, name = node.args[0], node.primitive
    if not isinstance(first.fact, Rows):
        return None
    if name in ("isnan", "isfinite"):
        return Missing(first.id, name == "isfinite")
    if name in ("logical_not", "invert") and first.fact.missing is not None:
        asked = first.fact.missing
        return Missing(asked.source, asked.finite, not asked.negated)
    return Missing(first.id, False) if name == "not_equal" and node.args[1] is first else None


def _truths(node: Node) -> dict[str, Any]:
    """What is known of a record where the answer is true, and where it is false."""
    name, args = node.primitive, node.args
    if name in (*_ORDERING, "equal", "not_equal"):
        return _compared(node)
    facts = [arg.fact for arg in args if isinstance(arg.fact, Rows) and arg.dtype == "bool"]
    if len(facts) < len(args):
        return {}
    if name in ("logical_not", "invert"):
        return {"truth": facts[0].falsehood, "falsehood": facts[0].truth}
    if name in ("logical_and", "bitwise_and"):
        return {"truth": together(facts[0].truth or {}, facts[1].truth or {})}
    if name in ("logical_or", "bitwise_or"):
        return {"falsehood": together(facts[0].falsehood or {}, facts[1].falsehood or {})}
    return {}


def _compared(node: Node) -> dict[str, Any]:
    a, b = node.args
    name = node.primitive
    if isinstance(b.fact, Rows):
        a, b, name = b, a, _SWAPPED.get(name, name)
    if not isinstance(a.fact, Rows) or not isinstance(b.fact, Public) or b.ndim:
        return {}
    value = b.fact.box.least
    exact = value == b.fact.box.most and not b.fact.box.nan and finite(value)
    # float32 columns are compared in float32, whole numbers from 2^53 on may be rounded to floats.
    if (
        not exact
        or a.dtype in ("float16", "float32")
        or ((is_whole(a.dtype) or is_whole(b.dtype)) and magnitude(value) >= 2**53)
    ):
        return {}
    if name in ("equal", "not_equal"):
        inside = Region(members=frozenset({_key(value)}))
        outside = Region(members=frozenset({_key(value)}), but=True)
        both = (inside, outside) if name == "equal" else (outside, inside)
        return {"truth": {a.id: both[0]}, "falsehood": {a.id: both[1]}}
    clean = not a.fact.box.nan
    return {
        "truth": {a.id: _range(name, value)},
        "falsehood": {a.id: _range(_OPPOSITE[name], value)} if clean else None,
    }


def region_of(name: str, value: Number, answer: bool) -> Region | None:
    """Where a comparison of size with a public number has that answer."""
    if name not in _ORDERING or not finite(value):
        return None
    return _range(name if answer else _OPPOSITE[name], value)


def _key(value: Number) -> object:
    return int(value) if not isinstance(value, float) and value.denominator == 1 else float(value)


def _range(name: str, value: Number) -> Region:
    if name in ("less", "less_equal"):
        return Region(high=value, high_in=name == "less_equal")
    return Region(low=value, low_in=name == "greater_equal")


# select -------------------------------------------------------------------------------------------------


def side(condition: Node, value: Node, box: Box, answer: bool) -> Box:
    """The box of one side; select(isnan(x), 0, x) is never NaN, select(x > c, c, x) is at most c."""
    fact = condition.fact
    if (
        not isinstance(fact, Rows)
        or not isinstance(value.fact, Rows)
        or value.shape != condition.shape
    ):
        return box
    if fact.missing is not None and fact.missing.source == value.id:
        return where_known(fact.missing, box, value.dtype, answer)
    region = ((fact.truth if answer else fact.falsehood) or {}).get(value.id)
    if region is None or region.members is not None:
        return box
    found = box.within(region.low, region.high)
    return Box(found.lo, found.hi, box.nan and not answer, box.plain)


def where_known(asked: Missing, box: Box, dtype: str, answer: bool) -> Box:
    """The box of x at entries where isnan(x) or isfinite(x) has that answer."""
    if (answer != asked.negated) != asked.finite:
        return box  # it may be NaN there
    if not asked.finite:
        return Box(box.lo, box.hi, False, box.plain)
    low, high = limits(dtype)
    return Box(box.lo, box.hi, False, box.plain).within(low, high)


def selected(node: Node) -> tuple[Size, dict[str, Any]]:
    """select(mask, x, 0) keeps the norms of x; norms compared with C select a factor."""
    condition, x, y = node.args
    size, found = UNKNOWN, {}  # type: tuple[Size, dict[str, Any]]
    found["zero_null"] = all(
        is_zero(v) or (isinstance(v.fact, Rows) and v.fact.zero_null) for v in (x, y)
    )
    for kept, other, answer in ((x, y, True), (y, x, False)):
        if not is_zero(other):
            continue
        own: Predicate = {}
        if isinstance(kept.fact, Rows):
            own = kept.fact.predicate
            if kept.shape == node.shape:
                size = size.both(kept.fact.size)
                found["sampling"] = kept.fact.sampling
        found["predicate"] = together(holds_where(condition, answer), own)
    fact = condition.fact
    if isinstance(fact, Rows) and fact.threshold is not None:
        found["factor"] = _chosen(fact.threshold, x, y)
        size = size.both(_short_or_clipped(node, fact.threshold, x, y))
    return size, found


def _chosen(test: Threshold, x: Node, y: Node) -> Factor | None:
    """One of two factors, as a comparison of the norm decides."""
    factors = [_as_factor(v, test.norm) for v in (x, y)]
    long, short = factors if test.greater else reversed(factors)
    if long is None or short is None:
        return None
    bound = max(long.product(test.limit, INF), short.product(Fraction(0), test.limit))
    return Factor(test.norm.source, test.norm.order, (), (), bound)


def _as_factor(value: Node, norm: Factor) -> Factor | None:
    own = value.fact.factor if isinstance(value.fact, Rows) else None
    if own is not None:
        return own if (own.source, own.order) == (norm.source, norm.order) else None
    number = scalar(value)
    return norm.constant(number) if number is not None else None


def _short_or_clipped(node: Node, test: Threshold, x: Node, y: Node) -> Size:
    """select(norm(v) > c, clipped, v): on the other side the norm of v is at most c."""
    long, short = (x, y) if test.greater else (y, x)
    if short.id != test.norm.source or not isinstance(long.fact, Rows) or short.shape != node.shape:
        return UNKNOWN
    order = test.norm.order
    return (
        bound_in(order, max(getattr(long.fact.size, order), test.limit))
        if long.shape == node.shape
        else UNKNOWN
    )
