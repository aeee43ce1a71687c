"""Sums, means and their kin over records or over the entries of a record."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.core.data import Data
from dpcheck.tracing.facts import boxes, norms
from dpcheck.tracing.facts.boxes import Box, DType
from dpcheck.tracing.facts.rowsets import Sampling
from dpcheck.tracing.facts.sizes import Shape, Size
from dpcheck.tracing.registry import Family, rule
from dpcheck.tracing.rules import aggregates, noise
from dpcheck.tracing.rules.rowwise import differences, made
from dpcheck.tracing.values import Aggregate, Coin, Noise, Released, Rows, Traced

if TYPE_CHECKING:
    from dpcheck.tracing.tracer import Tracer


def axes_of(value: Traced, axis: Data) -> tuple[int, ...]:
    """The axes that are reduced."""
    if axis is None:
        return tuple(range(value.ndim))
    many = axis if isinstance(axis, tuple) else (axis,)
    return tuple(sorted(int(each) % value.ndim for each in many))


def reduced(dims: Shape, axes: tuple[int, ...], keepdims: bool) -> Shape:
    """The shape that is left."""
    if keepdims:
        return tuple(1 if i in axes else n for i, n in enumerate(dims))
    return tuple(n for i, n in enumerate(dims) if i not in axes)


def count_of(rows: Rows) -> float:
    """At most how many records there are."""
    from dpcheck.tracing.tracer import MOST_ROWS

    return MOST_ROWS if rows.rows.count is None else float(rows.rows.count)


def summed(found: Box, dims: Shape, axes: tuple[int, ...]) -> Box:
    """The box of a sum over axes, kept with length 1."""
    full = tuple(n if i in axes else 1 for i, n in enumerate(dims))
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


def _squeezed(found: Box, axes: tuple[int, ...], keepdims: bool) -> Box:
    return found if keepdims else found.mapped(lambda v: np.squeeze(v, axis=axes))


def sum_dtype(value: Traced, dtype: Data) -> DType:
    """The type numpy sums in."""
    if dtype is not None:
        return np.dtype(dtype)
    return np.asarray(np.sum(np.empty(0, dtype=value.dtype))).dtype


@rule(
    np.sum,
    family=Family.REDUCTION,
    lemma="over records: moves by the diameter of a row (replace-one) or by its norm (add-remove); "
    "over other axes: linear, with L1 at most the L1 before",
    methods=("sum",),
)
def total(
    tracer: Tracer,
    a: Data,
    axis: Data = None,
    dtype: Data = None,
    out: Data = None,
    keepdims: bool = False,
    where: Data = None,
    initial: Data = None,
) -> Data:
    """np.sum."""
    if isinstance(a, Noise | Coin):
        return noise.spent(tracer, np.sum, (a,), axis=axis)
    if not isinstance(a, Traced):
        a = np.asarray(a)
    if out is not None or initial is not None or not isinstance(a, Rows | Aggregate):
        tracer.unknown("np.sum with out= or initial=")
    if where is not None:
        a = tracer.function(np.where, (where, a, 0), {})
    kind = sum_dtype(a, dtype)
    if isinstance(a, Aggregate):
        return _aggregate_sum(a, axes_of(a, axis), kind, keepdims)
    axes = axes_of(a, axis)
    inner = tuple(i for i in axes if i != a.axis)
    rows = _element_sum(a, inner, kind) if inner else a
    if a.axis not in axes:
        return _dropped(rows, inner, keepdims)
    return _record_sum(rows, axes, kind, keepdims)


def _element_sum(a: Rows, inner: tuple[int, ...], kind: DType) -> Rows:
    """A sum over the entries of each row; its axes stay with length 1."""
    dims = reduced(a.dims, inner, True)
    found = boxes.fitted(summed(a.box, a.dims, inner), kind)
    whole = all(i in inner or i == a.axis or n == 1 for i, n in enumerate(a.dims))
    row = Size(np.asarray(np.inf), l1=a.row.l1) if kind.kind == "f" else None
    result = made(a, dims, kind, found, row, sampling=a.sampling)
    if whole and isinstance(a.kind, norms.NormTag) and a.kind.source is not None:
        result.tag = a.kind  # sum of squares or absolute values: a power of the norm
    return result


def _dropped(rows: Rows, inner: tuple[int, ...], keepdims: bool) -> Rows:
    if keepdims or not inner:
        return rows
    axis = rows.axis - sum(i < rows.axis for i in inner)
    result = made(
        rows,
        reduced(rows.dims, inner, False),
        rows.dtype,
        _squeezed(rows.box, inner, False),
        rows.row.shaped(
            np.squeeze(rows.row.coordinates, axis=inner)
            if rows.row.coordinates.ndim == rows.ndim
            else np.asarray(rows.row.linf)
        ),
        axis=axis,
        sampling=rows.sampling,
    )
    result.tag = rows.tag
    return result


def sampling_of(rows: Rows) -> Sampling | None:
    """The coins that decide which rows a sum holds; two kinds of them at once amplify nothing."""
    if rows.rows.sampling is not None and rows.sampling is not None:
        return None
    return rows.rows.sampling or rows.sampling


def _record_sum(rows: Rows, axes: tuple[int, ...], kind: DType, keepdims: bool) -> Aggregate:
    """The sum over records."""
    tracer = rows.tracer
    one = (
        rows.box.with_zero()
        if rows.rows.count is None or rows.rows.optional or rows.rows.sampling
        else rows.box
    )
    many = count_of(rows)
    with np.errstate(invalid="ignore", over="ignore"):
        ends = [np.where(end == 0, 0.0, end * many) for end in (one.lo, one.hi)]
    infinite = (one.lo == -np.inf) & (one.hi == np.inf)
    exact = Box(ends[0], ends[1], one.nan or bool(infinite.any()), one.plain_zero)
    found = boxes.fitted(exact, kind)
    wrapped = kind.kind in "iu" and not (exact.lo >= found.lo).all() & (exact.hi <= found.hi).all()
    diff = differences(rows)
    if wrapped:
        diff = aggregates.changed_only(diff)
    dims = reduced(rows.dims, axes, keepdims)

    def flat(size: Size) -> Size:
        entries = np.broadcast_to(size.coordinates, rows.element)
        return size.shaped(entries.reshape(dims))

    full = found.broadcast(rows.element).mapped(lambda end: end.reshape(dims))
    sampling = sampling_of(rows)
    result = Aggregate(
        tracer,
        dims,
        kind,
        full,
        flat(diff),
        sampling=sampling,
        contribution=flat(rows.row) if sampling is not None and not wrapped else None,
        records=rows.rows.records,
    )
    if not tracer.public_rows and bool((rows.box.lo >= 0).all()) and not wrapped:
        result.direction = "up"
    return result


def _aggregate_sum(a: Aggregate, axes: tuple[int, ...], kind: DType, keepdims: bool) -> Aggregate:
    dims = reduced(a.dims, axes, keepdims)
    exact = summed(a.box, a.dims, axes)
    found = _squeezed(boxes.fitted(exact, kind), axes, keepdims)
    many = math.prod(a.dims[i] for i in axes)

    def change(size: Size) -> Size:
        entries = np.broadcast_to(size.coordinates, a.dims).sum(axis=axes, keepdims=keepdims)
        l2 = min(size.l1, math.sqrt(many) * size.l2)
        return Size(np.asarray(entries), size.l1, l2, size.l1, size.changed).tightened(dims)

    full = Box(np.broadcast_to(found.lo, dims), np.broadcast_to(found.hi, dims), found.nan)
    result = aggregates.linear(a, dims, full, change, kind)
    if kind.kind in "iu" and not (
        (exact.lo >= boxes.of_dtype(kind).lo).all() and (exact.hi <= boxes.of_dtype(kind).hi).all()
    ):
        result.diff = Size(np.asarray(np.inf))
        result.contribution = None
    result.direction = a.direction
    return result


@rule(
    np.mean,
    np.average,
    family=Family.REDUCTION,
    lemma="the sum divided by a public number of rows",
    methods=("mean",),
)
def mean(
    tracer: Tracer,
    a: Data,
    axis: Data = None,
    dtype: Data = None,
    out: Data = None,
    keepdims: bool = False,
    weights: Data = None,
) -> Data:
    """np.mean; a private number of rows is refused."""
    if isinstance(a, Noise | Coin):
        return noise.spent(tracer, np.mean, (a,), axis=axis)
    if not isinstance(a, Rows | Aggregate) or out is not None or weights is not None:
        tracer.unknown("np.mean with out= or weights=")
    axes = axes_of(a, axis)
    if isinstance(a, Rows) and a.axis in axes and a.rows.count is None:
        tracer.refuse(
            "private-count",
            "a mean over a private number of records divides by that number",
            "release a noisy sum and a noisy count, and divide those",
        )
    number = math.prod(a.dims[i] for i in axes)
    kind = (
        np.dtype(float) if a.dtype.kind in "biu" and dtype is None else np.dtype(dtype or a.dtype)
    )
    return total(tracer, a, axis, kind, keepdims=keepdims) / number


@rule(
    np.var,
    family=Family.REDUCTION,
    lemma="(1/n^2) sum of squared differences over pairs: n-1 of them move, each by at most the square "
    "of the width",
    methods=("var",),
)
def variance(
    tracer: Tracer, a: Data, axis: Data = None, ddof: float = 0, keepdims: bool = False
) -> Data:
    """np.var over records of a public number, or over the entries of rows."""
    if not isinstance(a, Rows | Aggregate):
        tracer.unknown("np.var")
    axes = axes_of(a, axis)
    if isinstance(a, Rows) and axes == (a.axis,) and a.rows.count is not None:
        many = a.rows.count
        if many - ddof <= 0 or not tracer.public_rows or a.rows.optional:
            tracer.unknown("np.var of so few records")
        center = mean(tracer, a, a.axis, keepdims=keepdims)
        width = np.broadcast_to(a.box.width, a.element).reshape(center.dims)
        scale = many / (many - ddof)
        found = Box(np.zeros(center.dims), width**2 / 4 * scale, a.box.nan, True)
        diff = Size(width**2 * (many - 1) / many**2 * scale, changed=center.diff.changed)
        return Aggregate(tracer, center.dims, np.dtype(float), found, diff)
    centered = a - mean(tracer, a, axis, keepdims=True)
    number = math.prod(a.dims[i] for i in axes)
    return total(tracer, centered * centered, axis, keepdims=keepdims) / (number - ddof)


@rule(
    np.std,
    family=Family.REDUCTION,
    lemma="the root of the variance: |sqrt(a) - sqrt(b)| <= sqrt|a - b|",
    methods=("std",),
)
def deviation(
    tracer: Tracer, a: Data, axis: Data = None, ddof: float = 0, keepdims: bool = False
) -> Data:
    """np.std."""
    found = variance(tracer, a, axis, ddof, keepdims)
    root = np.sqrt(found)
    if isinstance(root, Aggregate):
        bound = Size(np.sqrt(found.diff.coordinates), changed=found.diff.changed)
        root.diff = root.diff.both(bound).tightened(root.dims)
    return root


@rule(
    np.any,
    np.all,
    family=Family.REDUCTION,
    lemma="a truth value moves by at most 1",
    methods=("any", "all"),
)
def truth(tracer: Tracer, a: Data, axis: Data = None, keepdims: bool = False) -> Data:
    """np.any and np.all."""
    if isinstance(a, Released) or not isinstance(a, Rows | Aggregate):
        tracer.unknown("np.any")
    axes = axes_of(a, axis)
    dims = reduced(a.dims, axes, keepdims)
    if isinstance(a, Rows) and a.axis not in axes:
        place = a.axis - (0 if keepdims else sum(i < a.axis for i in axes))
        element = tuple(1 if i == place else n for i, n in enumerate(dims))
        return made(a, dims, np.dtype(bool), Box(np.zeros(element), np.ones(element)), axis=place)
    found = Box(np.zeros(dims), np.ones(dims))
    return Aggregate(tracer, dims, np.dtype(bool), found, Size(np.asarray(1.0)))
