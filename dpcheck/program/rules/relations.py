"""What a function of rows keeps beside its box: norms, zeros, comparisons, the norm it is made of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpcheck.program.facts import boxes, norms
from dpcheck.program.facts.boxes import Missing
from dpcheck.program.facts.kinds import Public, Rows
from dpcheck.program.facts.rowsets import Predicate, Region, Sampling, Shape, together
from dpcheck.program.facts.sizes import Size
from dpcheck.program.graph import Node
from dpcheck.program.rules.common import (
    UNBOUNDED,
    element,
    fixed,
    is_zero,
    operand_box,
    predicate_of,
    repeated,
    scalar,
    stand_in,
)
from dpcheck.program.rules.functions import COMPARISONS, FUNCTIONS

_POWERS = {"sqrt": 0.5, "square": 2.0, "reciprocal": -1.0}
_SAME_SIZE = ("negative", "positive", "absolute")


def known(name: str, args: Sequence[Node], shape: Shape) -> dict[str, object]:
    """Everything beside box and norms."""
    return {
        "tag": _tag(name, args),
        "powers": _powers_of_entries(name, args),
        "missing": _missing(name, args),
        "threshold": _threshold(name, args),
        "complement_of": _complement(name, args),
        "multiple_of": _multiple(name, args),
        "zero_null": _zero_null(name, args),
        "sampling": _sampling(name, args),
        "predicate": _predicate(name, args),
        **_truths(name, args),
    }


def _rows(args: Sequence[Node]) -> list[Rows]:
    return [arg.fact for arg in args if isinstance(arg.fact, Rows)]


# Sizes ----------------------------------------------------------------------------------------------


def row_size(name: str, args: Sequence[Node], shape: Shape, axis: int) -> Size:
    """A bound of the norm of a row of the result, beyond what its box says."""
    found = _by_operands(name, args, shape, axis)
    clip = _clip(name, args)
    return found if clip is None else found.both(clip)


def _by_operands(name: str, args: Sequence[Node], shape: Shape, axis: int) -> Size:
    first = args[0].fact
    inner = tuple(1 if i == axis else fixed(n) for i, n in enumerate(shape))
    if name in _SAME_SIZE and isinstance(first, Rows):
        return first.row
    if name in ("minimum", "maximum"):
        return _towards_zero(name, args, inner)
    if len(args) != 2 or name not in ("multiply", "divide", "add", "subtract"):
        return UNBOUNDED
    sizes = [
        repeated(arg.fact.row, element(arg), inner) if isinstance(arg.fact, Rows) else None
        for arg in args
    ]
    a, b = sizes
    if name in ("add", "subtract"):
        if a is not None and b is not None:
            return a.plus(b)
        return UNBOUNDED
    spans = [operand_box(arg, shape, axis) for arg in args]
    if name == "divide":
        inverse = boxes.reciprocal(spans[1]).magnitude
        return a.scaled(inverse) if a is not None else UNBOUNDED
    options = [
        size.scaled(spans[1 - i].magnitude) for i, size in enumerate(sizes) if size is not None
    ]
    return options[0] if len(options) == 1 else options[0].both(options[1])


def _towards_zero(name: str, args: Sequence[Node], inner: tuple[int, ...]) -> Size:
    """min(x, c) with c >= 0, max(x, c) with c <= 0: no entry grows."""
    for rows, other in ((args[0], args[1]), (args[1], args[0])):
        if not isinstance(rows.fact, Rows) or isinstance(other.fact, Rows):
            continue
        end = other.fact.box
        inward = (end.lo >= 0).all() if name == "minimum" else (end.hi <= 0).all()
        if inward and not end.nan:
            return repeated(rows.fact.row, element(rows), inner)
    return UNBOUNDED


def _clip(name: str, args: Sequence[Node]) -> Size | None:
    """g times a factor of its own norm: the norm of the product is bounded.

    Lemma: with r = |g| and a factor 0 <= s(r) <= min_i a_i r^p_i the norm |g s(r)| is at most
    min_i a_i r^(p_i + 1), which is a_i where p_i = -1. A multiple c g has c times the norm.
    """
    if name not in ("multiply", "divide") or len(args) != 2:
        return None
    for g, factor in ((args[0], args[1]), (args[1], args[0])):
        if not isinstance(g.fact, Rows) or not isinstance(factor.fact, Rows):
            continue
        tag = factor.fact.tag
        if name == "divide":
            tag = tag.raised(-1.0) if tag is not None and g is args[0] else None
        if tag is None or not _fits(g, factor):
            continue
        times = _times(g, tag.source)
        if times is None:
            continue
        bound = max(tag.product_bound(), _underflow(name, g, factor, tag)) * times
        return Size(
            np.asarray(np.inf),
            *(bound if tag.order == order else np.inf for order in (1.0, 2.0, np.inf)),
        )
    return None


def _underflow(name: str, g: Node, factor: Node, tag: norms.NormTag) -> float:
    """How long a row of a norm so small that its square is lost may become.

    Lemma. Of a norm below sqrt(d) t the squares may be 0 or inexact, with t^2 the least number of full
    precision over the precision; the factor is then anything in its box. A factor whose bound was found
    for norms above a public limit is not computed from such norms.
    """
    if tag.bound < np.inf:
        return 0.0
    span = factor.fact.box if name == "multiply" else boxes.reciprocal(factor.fact.box)
    kind = np.finfo(factor.dtype.name)
    low = float(np.sqrt(np.prod(element(g)) * float(kind.tiny) / float(kind.eps)))
    return low * float(span.magnitude.max())


def _times(g: Node, source: object) -> float | None:
    """How many times the source these rows are."""
    if g.id == source:
        return 1.0
    assert isinstance(g.fact, Rows)
    if g.fact.multiple_of is not None and g.fact.multiple_of[0] == source:
        return g.fact.multiple_of[1]
    return None


def _fits(g: Node, factor: Node) -> bool:
    """Whether the factor has one number a row, which meets that row."""
    assert isinstance(g.fact, Rows)
    assert isinstance(factor.fact, Rows)
    places = (g.ndim - g.fact.axis, factor.ndim - factor.fact.axis)
    one = all(n == 1 for i, n in enumerate(factor.shape) if i != factor.fact.axis)
    return places[0] == places[1] and one and factor.ndim <= g.ndim


# Factors of a norm ------------------------------------------------------------------------------------


def _tag(name: str, args: Sequence[Node]) -> norms.NormTag | None:
    """The result as a factor made of the norm of other rows."""
    tags = [arg.fact.tag if isinstance(arg.fact, Rows) else None for arg in args]
    if not any(tags):
        return None
    if len(args) == 1:
        power = _POWERS.get(name)
        if name == "positive":
            return tags[0]
        return tags[0].raised(power) if power is not None and tags[0] is not None else None
    if all(tags):
        return None
    other = args[1] if tags[0] else args[0]
    tag, constant = tags[0] or tags[1], scalar(other)
    if tag is None or constant is None:
        return None
    if name == "multiply":
        return tag.scaled(constant)
    if name == "divide":
        if tags[0]:
            return tag.scaled(1 / constant)
        inverse = tag.raised(-1.0)
        return None if inverse is None else inverse.scaled(constant)
    if name == "power" and tags[0]:
        return tag.raised(constant)
    if name == "minimum":
        return tag.at_most(constant)
    if name in ("maximum", "add"):
        return tag.at_least(constant)
    return None


def _powers_of_entries(name: str, args: Sequence[Node]) -> norms.NormTag | None:
    """Squares or absolute values of the entries of rows, whose sum is a power of their norm."""
    first = args[0]
    if not isinstance(first.fact, Rows) or first.dtype.kind != "f":
        return None
    squared = (
        name == "square"
        or (name == "power" and scalar(args[1]) == 2.0)
        or (name == "multiply" and args[0] is args[1])
    )
    if squared:
        return norms.NormTag(first.id, 2.0, ((1.0, 2.0),), ((1.0, 2.0),))
    return norms.norm_of(first.id, 1.0) if name == "absolute" else None


def _threshold(name: str, args: Sequence[Node]) -> norms.Threshold | None:
    """norm > C, kept for select."""
    if name not in ("greater", "greater_equal", "less", "less_equal"):
        return None
    left = isinstance(args[0].fact, Rows)
    fact, limit = args[0 if left else 1].fact, scalar(args[1 if left else 0])
    tag = fact.tag if isinstance(fact, Rows) else None
    itself = ((1.0, 1.0),)
    if tag is None or limit is None or tag.above != itself or tag.below != itself:
        return None
    return norms.Threshold(tag, limit, (name in ("greater", "greater_equal")) == left)


def _multiple(name: str, args: Sequence[Node]) -> tuple[int, float] | None:
    """A positive public multiple of other rows."""
    if name not in ("multiply", "divide"):
        return None
    for rows, other in ((args[0], args[1]), (args[1], args[0])):
        if name == "divide" and rows is not args[0]:
            continue
        factor = scalar(other)
        if not isinstance(rows.fact, Rows) or factor is None:
            continue
        factor = factor if name == "multiply" else 1 / factor
        before = rows.fact.multiple_of or (rows.id, 1.0)
        return before[0], before[1] * factor
    return None


# Zeros ------------------------------------------------------------------------------------------------


def _zero_null(name: str, args: Sequence[Node]) -> bool:
    """Whether the row of the null record is 0."""
    return _zero_where(name, args, [isinstance(a.fact, Rows) and a.fact.zero_null for a in args])


def _zero_where(name: str, args: Sequence[Node], zero: Sequence[bool]) -> bool:
    """Whether the result is 0 where those operands are."""
    if len(args) == 1:
        return zero[0] and FUNCTIONS[name].keeps_zero
    finite = [
        not arg.fact.box.nan and bool(np.isfinite(arg.fact.box.magnitude).all()) for arg in args
    ]
    if name == "multiply":
        return (zero[0] and finite[1]) or (zero[1] and finite[0])
    if name == "divide":
        below = args[1].fact.box
        never = bool(((below.lo > 0) | (below.hi < 0)).all()) and not below.nan
        return zero[0] and never
    if name in ("add", "subtract", "hypot"):
        return all(z or is_zero(arg) for z, arg in zip(zero, args, strict=True))
    if name == "power":
        return zero[0] and scalar(args[1]) is not None
    if name in ("minimum", "maximum"):
        return all(zero) or _ends_hold_zero(name, args, zero)
    if name in ("logical_and", "bitwise_and"):
        return any(zero)
    if name in ("logical_or", "bitwise_or"):
        return all(zero)
    return False


def _ends_hold_zero(name: str, args: Sequence[Node], zero: Sequence[bool]) -> bool:
    for mine, other in ((0, 1), (1, 0)):
        end = args[other].fact.box
        inward = (end.lo >= 0).all() if name == "minimum" else (end.hi <= 0).all()
        if zero[mine] and inward and not end.nan:
            return True
    return False


def _sampling(name: str, args: Sequence[Node]) -> Sampling | None:
    """Whether rows that were not sampled are still 0."""
    found = [arg.fact.sampling if isinstance(arg.fact, Rows) else None for arg in args]
    known = [each for each in found if each is not None]
    if not known or any(each != known[0] for each in known):
        return None
    zero = [each is not None for each in found]
    return known[0] if _zero_where(name, args, zero) else None


def _predicate(name: str, args: Sequence[Node]) -> Predicate:
    """What holds of the record wherever the row is not 0."""
    found = [arg.fact.predicate if isinstance(arg.fact, Rows) else {} for arg in args]
    truths = [together(p, predicate_of(arg, True)) for p, arg in zip(found, args, strict=True)]
    if len(args) == 1:
        return truths[0] if FUNCTIONS[name].keeps_zero else {}
    if name in ("multiply", "logical_and", "bitwise_and"):
        zero = [bool(p) for p in truths]
        kept: Predicate = {}
        for i, p in enumerate(truths):
            alone = [False, False]
            alone[i] = zero[i]
            if zero[i] and _zero_where(name, args, alone):
                kept = together(kept, p)
        return kept
    if name == "divide" and truths[0] and _zero_where(name, args, [True, False]):
        return truths[0]
    if name in ("add", "subtract") and truths[0] and truths[0] == truths[1]:
        return truths[0]
    return {}


# Truth values -------------------------------------------------------------------------------------------


def _complement(name: str, args: Sequence[Node]) -> int | None:
    """1 - x and ~x of truth values: the other answer."""
    last = args[-1]
    if not isinstance(last.fact, Rows):
        return None
    if name in ("logical_not", "invert") and last.dtype.kind == "b":
        return last.id
    first = args[0].fact
    one = isinstance(first, Public) and args[0].ndim == 0 and first.value == 1
    return last.id if name == "subtract" and len(args) == 2 and one else None


def _missing(name: str, args: Sequence[Node]) -> Missing | None:
    """isnan(x), isfinite(x) and their opposites remember which x they were asked about."""
    first = args[0]
    if not isinstance(first.fact, Rows):
        return None
    if name in ("isnan", "isfinite"):
        return Missing(first.id, finite=name == "isfinite")
    if name in ("logical_not", "invert") and first.fact.missing is not None:
        return first.fact.missing.opposite()
    if name == "not_equal" and args[0] is args[1]:
        return Missing(first.id, finite=False)
    return None


def _truths(name: str, args: Sequence[Node]) -> dict[str, object]:
    """What is known of a record where the answer is true, and where it is false."""
    if name in COMPARISONS:
        return _compared(name, args)
    facts = [arg.fact for arg in args]
    if not all(
        isinstance(f, Rows) and a.dtype.kind == "b" for f, a in zip(facts, args, strict=True)
    ):
        return {}
    rows = _rows(args)
    if name in ("logical_not", "invert"):
        return {"truth": rows[0].falsehood, "falsehood": rows[0].truth}
    if name in ("logical_and", "bitwise_and"):
        sides = [fact.truth or {} for fact in rows]
        return {"truth": together(sides[0], sides[1])}
    if name in ("logical_or", "bitwise_or"):
        sides = [fact.falsehood or {} for fact in rows]
        return {"falsehood": together(sides[0], sides[1])}
    return {}


_SWAPPED = {
    "less": "greater",
    "greater": "less",
    "less_equal": "greater_equal",
    "greater_equal": "less_equal",
}
_OPPOSITE = {
    "less": "greater_equal",
    "greater": "less_equal",
    "less_equal": "greater",
    "greater_equal": "less",
}


def _compared(name: str, args: Sequence[Node]) -> dict[str, object]:
    a, b = args
    if isinstance(b.fact, Rows) and isinstance(a.fact, Public):
        a, b, name = b, a, _SWAPPED.get(name, name)
    if not isinstance(a.fact, Rows) or not isinstance(b.fact, Public) or b.ndim:
        return {}
    value = _as_compared(a, b)
    if value is None:
        return {}
    return {
        "truth": {a.id: region(name, value)},
        "falsehood": {a.id: region(_OPPOSITE[name], value)}
        if name in _OPPOSITE and not a.fact.box.nan
        else ({a.id: region(_EQUALITY[name], value)} if name in _EQUALITY else None),
    }


def _as_compared(a: Node, b: Node) -> bool | int | float | None:
    """The public number as numpy compares it with entries of `a`, None where those are rounded too.

    A float32 column is compared in float32, in which 0.1 is 0.100000001; whole numbers above 2**53 may
    be rounded to floats.
    """
    value = np.asarray(b.fact.value).item()  # type: ignore[attr-defined]
    if not isinstance(value, bool | int | float) or value != value:
        return None
    kind = np.result_type(stand_in(a), stand_in(b))  # type: ignore[arg-type]
    if kind.kind == "f":
        with np.errstate(over="ignore"):
            value = np.asarray(value).astype(kind).item()
    whole = a.dtype.kind in "iu" or isinstance(value, int)
    return None if whole and abs(value) >= 2**53 else value


_EQUALITY = {"equal": "not_equal", "not_equal": "equal"}


def region(name: str, value: bool | int | float) -> Region:
    """Where a comparison with a public value is true."""
    if name in ("equal", "not_equal"):
        return Region(members=frozenset({value}), but=name == "not_equal")
    end = float(value)
    if name in ("less", "less_equal"):
        return Region(high=end, high_in=name == "less_equal")
    return Region(low=end, low_in=name == "greater_equal")
