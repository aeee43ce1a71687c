"""Sums and their kin, over records or over the entries of a record; variances; all rows as one array."""

from __future__ import annotations

import math

import numpy as np

from dpcheck.program.facts import boxes
from dpcheck.program.facts.boxes import Box, DType
from dpcheck.program.facts.kinds import RANDOM, Aggregate, Public, Released, Rows
from dpcheck.program.facts.rowsets import Sampling, Shape, together
from dpcheck.program.facts.sizes import Size
from dpcheck.program.graph import Graph, Made, Node, primitive
from dpcheck.program.rules.common import (
    MOST_ROWS,
    UNBOUNDED,
    aggregate,
    differences,
    element,
    fixed,
    opened,
    padded,
    plain,
    predicate_of,
    refuse_endless,
    released,
    rowwise,
)
from dpcheck.program.rules.moved import changed_only
from dpcheck.program.rules.random_numbers import use_up
from dpcheck.program.rules.shapes import public

Axes = tuple[int, ...]


def left(shape: Shape, axes: Axes) -> Shape:
    """The shape without these axes."""
    return tuple(n for i, n in enumerate(shape) if i not in axes)


def dropped(box: Box, axes: Axes) -> Box:
    """A box without these axes, of length 1."""
    return box.mapped(lambda v: np.squeeze(v, axis=axes)) if box.lo.ndim else box


def summed(found: Box, lengths: tuple[int, ...], axes: Axes) -> Box:
    """The box of a sum over axes, which stay with length 1."""
    full = tuple(n if i in axes else 1 for i, n in enumerate(lengths))
    with np.errstate(invalid="ignore", over="ignore"):
        lo, hi = (
            np.broadcast_to(end, np.broadcast_shapes(end.shape, full)).sum(axis=axes, keepdims=True)
            for end in (found.lo, found.hi)
        )
    mixed = (found.lo == -np.inf) & (found.hi == np.inf)
    return Box(
        np.where(np.isnan(lo), -np.inf, lo),
        np.where(np.isnan(hi), np.inf, hi),
        found.nan or bool(mixed.any()),
        found.plain_zero,
    )


def sum_dtype(node: Node) -> DType:
    """The type numpy sums in."""
    return np.asarray(np.sum(np.empty(0, dtype=node.dtype))).dtype


def _sum(value: object, axes: Axes, dtype: DType) -> object:
    return np.sum(np.asarray(value), axis=axes, dtype=dtype)


@primitive(
    "sum",
    "over records: moves by the diameter of a row (replace-one) or by its norm (add-remove); "
    "over other axes: linear, with L1 at most the L1 before",
    _sum,
)
def total(graph: Graph, a: Node, axes: Axes, dtype: DType) -> Made:
    """The sum over some axes."""
    dtype = np.dtype(dtype)
    if isinstance(a.fact, Public):
        value = np.asarray(_sum(a.fact.value, axes, dtype))
        return Made(value.shape, value.dtype, Public(box=boxes.point(value), value=value))
    if a.dtype.kind == "f" and dtype.kind != "f":
        graph.refuse(
            "unknown-operation",
            "floats are added up in whole numbers, which cuts each of them",
            "leave dtype out",
        )
    if isinstance(a.fact, RANDOM):
        use_up(graph, (a,))
        return released(left(a.shape, axes), dtype, boxes.WHOLE)
    opened((a,))
    if isinstance(a.fact, Rows):
        inner = tuple(i for i in axes if i != a.fact.axis)
        if inner and a.fact.axis in axes:
            once = graph.add("sum", a, axes=inner, dtype=dtype)
            assert isinstance(once.fact, Rows)
            return total(graph, once, (once.fact.axis,), dtype)
        return (
            _over_records(graph, a, dtype) if inner == () else _over_entries(graph, a, inner, dtype)
        )
    shape = plain(left(a.shape, axes))
    exact = summed(a.fact.box.broadcast(plain(a.shape)), plain(a.shape), axes)
    box = dropped(boxes.fitted(exact, dtype), axes)
    if isinstance(a.fact, Released):
        return released(shape, dtype, box)
    assert isinstance(a.fact, Aggregate)
    fact, many = a.fact, math.prod(fixed(a.shape[i]) for i in axes)

    def change(size: Size) -> Size:
        entries = np.broadcast_to(size.coordinates, plain(a.shape)).sum(axis=axes)
        l2 = min(size.l1, math.sqrt(many) * size.l2)
        return Size(np.asarray(entries), size.l1, l2, size.l1, size.changed).tightened(shape)

    wraps = boxes.overflows(exact, dtype, fact.box)
    return aggregate(
        shape,
        dtype,
        box.broadcast(shape),
        changed_only(fact.diff) if wraps else change(fact.diff),
        sampling=None if wraps else fact.sampling,
        contribution=None if wraps or fact.contribution is None else change(fact.contribution),
        predicate={} if wraps else fact.predicate,
        records=fact.records,
        rising=fact.rising and not wraps,
        coins=fact.coins,
    )


def _over_entries(graph: Graph, a: Node, inner: Axes, dtype: DType) -> Made:
    """A sum over the entries of each row."""
    fact = a.fact
    assert isinstance(fact, Rows)
    lengths = element(a)
    exact = summed(padded(fact.box, a.ndim), lengths, inner)
    box = dropped(boxes.fitted(exact, dtype), inner)
    whole = all(i in inner or i == fact.axis or n == 1 for i, n in enumerate(lengths))
    wraps = boxes.overflows(exact, dtype, fact.box)
    shape = left(a.shape, inner)
    row = UNBOUNDED if wraps else Size(np.asarray(np.inf), l1=fact.row.l1)
    tag = fact.powers if whole and dtype.kind == "f" else None
    return rowwise(
        graph,
        shape,
        dtype,
        box,
        fact.rows,
        fact.axis - sum(i < fact.axis for i in inner),
        row,
        tag=tag,
        zero_null=fact.zero_null,
        sampling=fact.sampling,
        predicate=fact.predicate,
        coins=fact.coins,
    )


def count_of(fact: Rows) -> float:
    """At most how many records there are."""
    return MOST_ROWS if fact.rows.count is None else float(fact.rows.count)


def sampling_of(fact: Rows) -> Sampling | None:
    """The coins that decide which rows a sum holds; two kinds of them at once amplify nothing."""
    if fact.rows.sampling is not None and fact.sampling is not None:
        return None
    return fact.rows.sampling or fact.sampling


def _exact_sum(fact: Rows) -> Box:
    """Where the sum over records lies, without rounding to any type."""
    some = fact.rows.count is None or fact.rows.optional or fact.rows.sampling is not None
    one = fact.box.with_zero() if some else fact.box
    many = count_of(fact)
    with np.errstate(invalid="ignore", over="ignore"):
        ends = [np.where(end == 0, 0.0, end * many) for end in (one.lo, one.hi)]
    infinite = (one.lo == -np.inf) & (one.hi == np.inf)
    return Box(ends[0], ends[1], one.nan or bool(infinite.any()), one.plain_zero)


def check_end_of_sum(graph: Graph, a: Node, dtype: DType) -> None:
    """As `sum` adds whole numbers of Python, which have no end, over records."""
    if (
        dtype.kind in "iu"
        and isinstance(a.fact, Rows)
        and boxes.overflows(_exact_sum(a.fact), dtype)
    ):
        refuse_endless(graph)


def _over_records(graph: Graph, a: Node, dtype: DType) -> Made:
    """The sum over records."""
    fact = a.fact
    assert isinstance(fact, Rows)
    exact = _exact_sum(fact)
    wraps = boxes.overflows(exact, dtype, fact.box)
    inner = element(a)
    shape = left(inner, (fact.axis,))

    def flat(size: Size) -> Size:
        return size.shaped(np.broadcast_to(size.coordinates, inner).reshape(plain(shape)))

    box = boxes.fitted(exact, dtype).broadcast(inner).mapped(lambda v: v.reshape(plain(shape)))
    diff = differences(graph, a)
    predicate = together(together(fact.rows.predicate, fact.predicate), predicate_of(a, True))
    rising = not graph.public_rows and bool((fact.box.lo >= 0).all()) and not wraps
    records = fact.rows.records
    return aggregate(
        shape,
        dtype,
        box,
        flat(changed_only(diff) if wraps else diff),
        sampling=None if wraps else sampling_of(fact),
        contribution=None if wraps else flat(fact.row),
        predicate={} if wraps else predicate,
        records=None if records is None else frozenset(records),
        rising=rising,
        coins=fact.coins,
        counts=fact.rows if a.primitive == "ones" else None,
    )


def _spread(value: object, axes: Axes, ddof: int) -> object:
    return np.var(np.asarray(value), axis=axes, ddof=ddof)


@primitive(
    "variance",
    "(1/n^2) times the sum over pairs of (x_i - x_j)^2; n - 1 pairs hold the record: it moves by at "
    "most (n-1)/n^2 times the squared width",
    _spread,
)
def variance(graph: Graph, a: Node, axes: Axes, ddof: int) -> Made:
    """np.var over a public number of records, or over the entries of each."""
    fact = a.fact
    kind = a.dtype if a.dtype.kind == "f" else np.dtype(float)
    if isinstance(fact, RANDOM):
        use_up(graph, (a,))
        return released(left(a.shape, axes), kind, boxes.box(0.0, np.inf, True))
    opened((a,))
    if isinstance(fact, Released):
        return released(left(a.shape, axes), kind, boxes.box(0.0, np.inf, True))
    if isinstance(fact, Public):
        return public(_spread(fact.value, axes, ddof))
    if not isinstance(fact, Rows):
        box = boxes.box(0.0, np.inf, True)
        return aggregate(left(a.shape, axes), kind, box, UNBOUNDED, coins=fact.coins)
    lengths = element(a)
    width = Box(np.zeros_like(fact.box.lo), fact.box.width, fact.box.nan).broadcast(lengths)
    if axes == (fact.axis,) and fact.rows.count is not None and _all_in(fact):
        n = fact.rows.count
        if n - ddof <= 0:
            graph.refuse("failed", "a variance of too few records", "use more records")
        factor = n / (n - ddof)
        with np.errstate(over="ignore", invalid="ignore"):
            most = Box(np.zeros(lengths), width.hi**2 / 4 * factor, fact.box.nan)
            moves = (n - 1) / n**2 * width.hi**2 * factor
            total = Box(np.zeros(lengths), n * width.hi**2)  # of the squares, on the way
        if not boxes.fitted(total, kind).finite_ends:
            most, moves = boxes.WHOLE.broadcast(lengths), np.full(lengths, np.inf)
        shape = plain(left(lengths, axes))
        return aggregate(
            shape,
            kind,
            most.mapped(lambda v: v.reshape(shape)),
            Size(moves.reshape(shape)),
            coins=fact.coins,
        )
    if fact.axis in axes:
        graph.refuse(
            "private-length",
            "a variance over a private number of records",
            "release sums of x and of x ** 2, and a count, each with noise",
        )
    spread = fact.box.over(axes) if fact.box.lo.ndim else fact.box
    many = math.prod(lengths[i] for i in axes)
    if many - ddof <= 0:
        graph.refuse("failed", "a variance of too few entries", "use more")
    with np.errstate(over="ignore"):
        top = Box(np.zeros_like(spread.lo), spread.width**2 / 4 * many / (many - ddof), spread.nan)
        total = Box(np.zeros_like(spread.lo), many * spread.width**2)
    if not boxes.fitted(total, kind).finite_ends:
        top = boxes.WHOLE.broadcast(spread.lo.shape)
    top = dropped(top, axes)
    place = fact.axis - sum(i < fact.axis for i in axes)
    return rowwise(graph, left(a.shape, axes), kind, top, fact.rows, place, coins=fact.coins)


def _all_in(fact: Rows) -> bool:
    return not fact.rows.optional and fact.rows.sampling is None


def _itself(value: object) -> object:
    return value


@primitive("whole", "all rows as one array: between neighbours one row of it changes", _itself)
def whole(graph: Graph, a: Node) -> Made:
    """Rows of a public number of records as one private array."""
    fact = a.fact
    assert isinstance(fact, Rows)
    if fact.rows.count is None or not _all_in(fact) or not graph.public_rows:
        graph.refuse(
            "private-length",
            "an array with one entry per record is combined or released, and its length is private",
            "aggregate over the records first",
        )
    shape = tuple(fact.rows.count if i == fact.axis else n for i, n in enumerate(a.shape))
    diff = differences(graph, a)
    records = fact.rows.records
    return aggregate(
        shape,
        a.dtype,
        fact.box.broadcast(plain(shape)),
        diff.shaped(np.broadcast_to(diff.coordinates, plain(shape))),
        records=None if records is None else frozenset(records),
        coins=fact.coins,
    )


def _any(value: object, axes: Axes, some: bool) -> object:
    return (np.any if some else np.all)(np.asarray(value), axis=axes)


@primitive("any", "a truth value; over records nothing bounds it but its box", _any)
def any_of(graph: Graph, a: Node, axes: Axes, some: bool) -> Made:
    """np.any and np.all."""
    fact, kind, box = a.fact, np.dtype(bool), boxes.box(0.0, 1.0)
    shape = left(a.shape, axes)
    if isinstance(fact, RANDOM):
        use_up(graph, (a,))
        return released(shape, kind, box)
    opened((a,))
    if isinstance(fact, Public):
        value = np.asarray(_any(fact.value, axes, some))
        return Made(value.shape, kind, Public(box=boxes.point(value), value=value))
    if isinstance(fact, Released):
        return released(shape, kind, box)
    if isinstance(fact, Rows) and fact.axis not in axes:
        place = fact.axis - sum(i < fact.axis for i in axes)
        return rowwise(graph, shape, kind, box, fact.rows, place, coins=fact.coins, zero_null=False)
    return aggregate(shape, kind, box.broadcast(plain(shape)), UNBOUNDED, coins=fact.coins)
