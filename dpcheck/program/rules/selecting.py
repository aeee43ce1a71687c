"""select, conversions of types, and what is missing: functions of entries with facts of their own."""

from __future__ import annotations

import numpy as np

from dpcheck.program.facts import boxes, norms
from dpcheck.program.facts.boxes import Array, Box, DType
from dpcheck.program.facts.kinds import RANDOM, Aggregate, Answers, Coins, Public, Released, Rows
from dpcheck.program.facts.rowsets import Shape, together
from dpcheck.program.facts.sizes import Size
from dpcheck.program.graph import Graph, Made, Node, primitive
from dpcheck.program.rules import answers, comparing, inverse, mirrored
from dpcheck.program.rules.common import (
    UNBOUNDED,
    aggregate,
    broadcast,
    check_fits,
    coins_of,
    is_zero,
    numpy_shape,
    only_released,
    opened,
    operand_box,
    plain,
    predicate_of,
    released,
    result_dtype,
    rowwise,
)
from dpcheck.program.rules.moved import changed_only
from dpcheck.program.rules.random_numbers import spent


def _where(condition: object, a: object, b: object) -> object:
    return np.where(condition, a, b)  # type: ignore[call-overload]


@primitive(
    "select",
    "an entry is one of two: the hull of their boxes; where a comparison decides, each side knows its answer",
    _where,
)
def select(graph: Graph, condition: Node, x: Node, y: Node) -> Made:
    """np.where with three arguments."""
    args = (condition, x, y)
    dtype = result_dtype(graph, lambda a, b: np.where(np.empty(0, bool), a, b), (x, y))
    if all(isinstance(arg.fact, Public) for arg in args):
        value = _where(*(arg.fact.value for arg in args))  # type: ignore[attr-defined]
        found = np.asarray(value)
        return Made(found.shape, found.dtype, Public(box=boxes.point(found), value=value))
    held = comparing.chosen(graph, args, dtype)
    if held is not None:
        return held
    if answers.may_answer(args):
        return answers.answers(graph, args, dtype)
    if any(isinstance(arg.fact, RANDOM) for arg in args):
        if not all(isinstance(arg.fact, (*RANDOM, Public, Released)) for arg in args):
            graph.refuse(
                "unknown-operation",
                "np.where of private values and random numbers is no known mechanism",
                "use one coin for each record: np.where(rng.random(n) < p, bits, ~bits)",
            )
        known = inverse.by_cases(condition, x, y) or mirrored.selected(condition, x, y)
        return known or spent(graph, args, dtype)
    opened(args)
    check_fits(graph, (x, y), dtype)
    if only_released(args):
        shape = numpy_shape(graph, [plain(arg.shape) for arg in args])
        return released(shape, dtype, x.fact.box.hull(y.fact.box))
    if any(isinstance(arg.fact, Aggregate) for arg in args):
        return _aggregates(graph, args, dtype)
    return _rows(graph, args, dtype)


def _rows(graph: Graph, args: tuple[Node, Node, Node], dtype: DType) -> Made:
    facts = [arg.fact for arg in args if isinstance(arg.fact, Rows)]
    if any(fact.rows is not facts[0].rows for fact in facts):
        graph.refuse("mixed-records", "rows of different records are combined", "aggregate first")
    shape, axis = broadcast(graph, args)
    condition, x, y = args
    box = _side(condition, x, shape, axis, True).hull(_side(condition, y, shape, axis, False))
    row, known = _kept(condition, x, y, shape)
    return rowwise(
        graph,
        shape,
        dtype,
        boxes.fitted(box, dtype),
        facts[0].rows,
        axis,
        row,
        coins=coins_of(*args),
        **known,
    )


def _side(
    condition: Node,
    value: Node,
    shape: Shape,
    axis: int,
    answer: bool,
    around: tuple[tuple[Node, bool], ...] = (),
) -> Box:
    """The box of one side; select(isnan(x), 0, x) is never NaN, select(x > c, c, x) is at most c.

    Of select(x < a, a, select(x > b, b, x)) the inner one knows the outer answer, too.
    """
    found = operand_box(value, shape, axis)
    tests = (*around, (condition, answer))
    for test, way in tests:
        found = _known_by(test, value, found, way)
    nested = value.primitive == "select" and value.shape == condition.shape
    if nested and isinstance(value.fact, Rows) and len(tests) < _MOST_NESTED:
        test, first, second = value.args
        inner = _side(test, first, shape, axis, True, tests).hull(
            _side(test, second, shape, axis, False, tests)
        )
        lo, hi = np.maximum(found.lo, inner.lo), np.minimum(found.hi, inner.hi)
        return Box(np.minimum(lo, hi), np.maximum(lo, hi), found.nan, found.plain_zero)
    return found


_MOST_NESTED = 8  # tests within tests that are looked through


def _known_by(condition: Node, value: Node, found: Box, answer: bool) -> Box:
    """The box of a value where a test has this answer."""
    fact = condition.fact
    if not isinstance(fact, Rows) or not isinstance(value.fact, Rows):
        return found
    if value.shape != condition.shape:
        return found
    if fact.missing is not None and fact.missing.source == value.id:
        return fact.missing.box_where(found, answer)
    region = ((fact.truth if answer else fact.falsehood) or {}).get(value.id)
    if region is None or region.members is not None:
        return found
    # Only a comparison that is true excludes NaN.
    nan = found.nan and not answer
    lo, hi = np.maximum(found.lo, region.low), np.minimum(found.hi, region.high)
    return Box(np.minimum(lo, hi), np.maximum(lo, hi), nan, found.plain_zero)


def _kept(condition: Node, x: Node, y: Node, shape: Shape) -> tuple[Size, dict[str, object]]:
    """select(mask, x, 0) keeps the norms of x; norms compared with C select a factor."""
    row, known = UNBOUNDED, {}  # type: tuple[Size, dict[str, object]]
    fact = condition.fact
    known["zero_null"] = all(
        is_zero(v) or (isinstance(v.fact, Rows) and v.fact.zero_null) for v in (x, y)
    )
    for kept, other, answer in ((x, y, True), (y, x, False)):
        if isinstance(kept.fact, Rows) and is_zero(other) and kept.shape == shape:
            row = row.both(kept.fact.row)
            known["sampling"] = kept.fact.sampling
        if is_zero(other):
            mine = predicate_of(condition, answer)
            own = kept.fact.predicate if isinstance(kept.fact, Rows) else {}
            known["predicate"] = together(mine, own)
    if isinstance(fact, Rows) and fact.threshold is not None:
        factors = [_factor(v, fact.threshold.tag) for v in (x, y)]
        if factors[0] is not None and factors[1] is not None:
            known["tag"] = fact.threshold.select(factors[0], factors[1])
    sides = _clipped_sides(condition, x, y)
    if sides is not None:
        row = row.both(sides)
    return row, known


def _clipped_sides(condition: Node, x: Node, y: Node) -> Size | None:
    """select(norm(v) > c, clipped, v): on the other side the norm of v is at most c."""
    fact = condition.fact
    if not isinstance(fact, Rows) or fact.threshold is None:
        return None
    test = fact.threshold
    long, short = (x, y) if test.greater else (y, x)
    if not isinstance(short.fact, Rows) or short.id != test.tag.source:
        return None
    if not isinstance(long.fact, Rows):
        return None
    sizes = long.fact.row
    limits = {1.0: sizes.l1, 2.0: sizes.l2, np.inf: sizes.linf}
    bound = max(limits[test.tag.order], test.limit)
    return Size(
        np.asarray(np.inf),
        *(bound if test.tag.order == order else np.inf for order in (1.0, 2.0, np.inf)),
    )


def _factor(value: Node, tag: norms.NormTag) -> norms.NormTag | None:
    own = value.fact.tag if isinstance(value.fact, Rows) else None
    if own is not None:
        return own if own.source == tag.source and own.order == tag.order else None
    if not isinstance(value.fact, Public) or value.ndim or value.dtype.kind not in "biuf":
        return None
    number = float(np.asarray(value.fact.value))
    return norms.constant(tag, number) if number >= 0 else None


def _aggregates(graph: Graph, args: tuple[Node, Node, Node], dtype: DType) -> Made:
    shape = numpy_shape(graph, [plain(arg.shape) for arg in args])
    condition, x, y = args
    box = x.fact.box.hull(y.fact.box)
    parts = [arg for arg in (x, y) if isinstance(arg.fact, Aggregate)]
    if isinstance(condition.fact, Aggregate) or any(plain(p.shape) != shape for p in parts):
        return aggregate(shape, dtype, box, UNBOUNDED, coins=coins_of(*args))
    sizes = [part.fact.diff for part in parts if isinstance(part.fact, Aggregate)]
    diff = sizes[0] if len(sizes) == 1 else sizes[0].plus(sizes[1])
    return aggregate(shape, dtype, box, diff, coins=coins_of(*args))


def _convert(value: object, dtype: DType) -> object:
    with np.errstate(all="ignore"):
        return np.asarray(value).astype(dtype)


@primitive(
    "convert",
    "a cast: rows stay rows; whole numbers that may not fit wrap around, fractions are cut",
    _convert,
)
def convert(graph: Graph, a: Node, dtype: DType) -> Made:
    """astype."""
    dtype = np.dtype(dtype)
    if isinstance(a.fact, Public):
        value = _convert(a.fact.value, dtype)
        found = np.asarray(value)
        return Made(found.shape, found.dtype, Public(box=boxes.point(found), value=value))
    if dtype.kind not in "biuf" or a.dtype.kind not in "biuf":
        graph.refuse("unknown-operation", f"a cast to {dtype} is not followed", "use numbers")
    if isinstance(a.fact, Answers | Coins):
        return Made(a.shape, dtype, a.fact)
    if isinstance(a.fact, RANDOM):
        same = dtype == a.dtype
        return Made(a.shape, dtype, a.fact) if same else spent(graph, (a,), dtype)
    check_fits(graph, (a,), dtype)
    box, exact = _cast_box(a, dtype)
    if isinstance(a.fact, Released):
        opened((a,))
        return released(a.shape, dtype, box)
    if isinstance(a.fact, Rows):
        keeps = exact or dtype.kind == "f"
        return rowwise(
            graph,
            a.shape,
            dtype,
            box,
            a.fact.rows,
            a.fact.axis,
            a.fact.row if exact else UNBOUNDED,
            coins=a.fact.coins,
            zero_null=a.fact.zero_null,
            sampling=a.fact.sampling,
            predicate=together(a.fact.predicate, predicate_of(a, True)),
            tag=a.fact.tag if keeps and dtype.itemsize >= 4 else None,
            complement_of=a.fact.complement_of if a.dtype.kind == "b" else None,
            multiple_of=(a.id, 1.0) if exact else None,
        )
    assert isinstance(a.fact, Aggregate)
    diff = a.fact.diff if exact else _cut(a, dtype)
    return aggregate(
        a.shape,
        dtype,
        box,
        diff,
        records=a.fact.records,
        coins=a.fact.coins,
        rising=a.fact.rising and exact,
        contribution=a.fact.contribution if exact else None,
        sampling=a.fact.sampling if exact else None,
        predicate=a.fact.predicate if exact else {},
        counts=a.fact.counts if exact else None,
    )


def _cast_box(a: Node, dtype: DType) -> tuple[Box, bool]:
    """The box after the cast, and whether every value stays what it was (up to float rounding)."""
    found = a.fact.box
    if dtype.kind == "b":
        return boxes.box(0.0, 1.0), a.dtype.kind == "b"
    if dtype.kind == "f":
        return boxes.fitted(found, dtype), not boxes.overflows(found, dtype, found)
    if a.dtype.kind == "f" and not found.nan:
        found = boxes.loosened(found) if isinstance(a.fact, Aggregate) else found
        found = Box(np.trunc(found.lo), np.trunc(found.hi), False, True)
    fitted = boxes.fitted(found, dtype)
    inside = bool((fitted.lo == found.lo).all() and (fitted.hi == found.hi).all()) and not found.nan
    return fitted, inside and a.dtype.kind in "biu"


def _cut(a: Node, dtype: DType) -> Size:
    """Fractions are cut off: one step more; what may wrap around may move by anything."""
    assert isinstance(a.fact, Aggregate)
    found = a.fact.box
    limits = boxes.of_dtype(dtype)
    inside = not found.nan and bool((found.lo > limits.lo).all() and (found.hi < limits.hi).all())
    if a.dtype.kind == "f" and dtype.kind in "iu" and inside:
        steps = np.floor(a.fact.diff.coordinates + 1e-9) + 1
        return Size(steps, changed=a.fact.diff.changed)
    return changed_only(a.fact.diff)


def _fill(value: object, nan: float, posinf: float | None, neginf: float | None) -> object:
    return np.nan_to_num(value, nan=nan, posinf=posinf, neginf=neginf)  # type: ignore[call-overload]


@primitive("fill", "NaN becomes a public number, infinities the public ends", _fill)
def fill(graph: Graph, a: Node, nan: float, posinf: float | None, neginf: float | None) -> Made:
    """np.nan_to_num."""
    if isinstance(a.fact, RANDOM):
        return spent(graph, (a,), a.dtype)
    if isinstance(a.fact, Public):
        value = np.asarray(_fill(a.fact.value, nan, posinf, neginf))
        return Made(value.shape, value.dtype, Public(box=boxes.point(value), value=value))
    opened((a,))
    if a.dtype.kind != "f":
        return Made(a.shape, a.dtype, a.fact)
    most = float(np.finfo(a.dtype.name).max)
    high, low = (
        most if posinf is None else float(posinf),
        -most if neginf is None else float(neginf),
    )
    old = a.fact.box

    def ends(value: Array) -> Array:
        return np.where(value == np.inf, high, np.where(value == -np.inf, low, value))

    found = Box(ends(old.lo), ends(old.hi))
    if np.isinf(old.hi).any() or np.isinf(old.lo).any():
        found = Box(
            np.minimum(np.minimum(found.lo, -most), min(low, high)),
            np.maximum(np.maximum(found.hi, most), max(low, high)),
        )
    if old.nan:
        found = found.hull(boxes.point(nan))
    found = boxes.fitted(found, a.dtype)
    if isinstance(a.fact, Rows):
        clean = not old.nan and bool(np.isfinite(old.magnitude).all())
        return rowwise(
            graph,
            a.shape,
            a.dtype,
            found,
            a.fact.rows,
            a.fact.axis,
            a.fact.row if clean else UNBOUNDED,
            coins=a.fact.coins,
            zero_null=a.fact.zero_null,
            sampling=a.fact.sampling,
            predicate=a.fact.predicate,
        )
    if isinstance(a.fact, Released):
        return released(a.shape, a.dtype, found)
    assert isinstance(a.fact, Aggregate)
    return aggregate(a.shape, a.dtype, found, changed_only(a.fact.diff), coins=a.fact.coins)
