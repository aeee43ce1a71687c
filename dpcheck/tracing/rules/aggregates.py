"""Elementwise functions of private aggregates: how much the result moves between neighbours."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.core.data import Data
from dpcheck.tracing.facts import boxes
from dpcheck.tracing.facts.boxes import Array, Box, DType
from dpcheck.tracing.facts.sizes import Shape, Size
from dpcheck.tracing.values import Aggregate, Traced

if TYPE_CHECKING:
    from dpcheck.tracing.tracer import Tracer

_ONE = (np.negative, np.positive, np.absolute, np.fabs, np.conjugate)
_FLAT = (np.tanh, np.sin, np.cos, np.arctan, *_ONE)  # slope at most 1
_STEPS = (np.floor, np.ceil, np.rint, np.trunc)
_SLOPES: dict[np.ufunc, Callable[[Box], Array]] = {
    np.exp: lambda b: np.exp(b.hi),
    np.expm1: lambda b: np.exp(b.hi),
    np.square: lambda b: 2 * b.magnitude,
    np.log: lambda b: 1 / np.maximum(b.lo, 0.0),
    np.log1p: lambda b: 1 / np.maximum(1 + b.lo, 0.0),
    np.sqrt: lambda b: 0.5 / np.sqrt(np.maximum(b.lo, 0.0)),
}


def changed_only(size: Size) -> Size:
    """A vector that differs where another one does, nobody knows by how much."""
    return Size(np.asarray(np.inf), changed=size.changed)


def elementwise(tracer: Tracer, ufunc: np.ufunc, inputs: Sequence[Data], dtype: DType) -> Aggregate:
    """A function of entries of aggregates, and of public or released values."""
    from dpcheck.tracing.rules.elementwise import box_of, result_box

    found = [box_of(value) for value in inputs]
    shapes = [value.dims if isinstance(value, Traced) else np.shape(value) for value in inputs]
    dims = np.broadcast_shapes(*shapes)
    result = result_box(ufunc, found, dtype)
    private = [value for value in inputs if isinstance(value, Aggregate)]
    sizes = [_repeated(value, dims) if isinstance(value, Aggregate) else None for value in inputs]
    with np.errstate(all="ignore"):
        diff = _difference(ufunc, found, sizes, private)
    wraps = dtype.kind in "iu" and not _fits(result, ufunc, found)
    return Aggregate(
        tracer,
        dims,
        dtype,
        result,
        changed_only(diff) if wraps else diff,
        sampling=private[0].sampling,
        contribution=_contribution(ufunc, inputs, found, dims),
        records=_records(private),
    )


def _fits(result: Box, ufunc: np.ufunc, found: Sequence[Box]) -> bool:
    """Whether an integer result did not wrap around."""
    from dpcheck.tracing.rules.elementwise import BOXES

    if ufunc not in BOXES:
        return False
    exact = BOXES[ufunc](*found)
    return bool((exact.lo >= result.lo).all() and (exact.hi <= result.hi).all())


def _repeated(value: Aggregate, dims: Shape) -> Size:
    times = math.prod(dims) / max(1, math.prod(value.dims))
    return value.diff.repeated(times) if times > 1 else value.diff


def _records(private: Sequence[Aggregate]) -> frozenset[int] | None:
    known = [value.records for value in private if value.records is not None]
    return frozenset().union(*known) if len(known) == len(private) else None


def disjoint(a: Aggregate, b: Aggregate) -> bool:
    """Whether no record is behind both: then only one of them moves."""
    return a.records is not None and b.records is not None and a.records.isdisjoint(b.records)


def _difference(
    ufunc: np.ufunc,
    found: Sequence[Box],
    sizes: Sequence[Size | None],
    private: Sequence[Aggregate],
) -> Size:
    only = next(size for size in sizes if size is not None)
    if len(sizes) == 1:
        if ufunc in _FLAT:
            return only
        if ufunc in _SLOPES:
            return only.scaled(_slope(ufunc, found[0]))
        if ufunc in _STEPS:
            # A step more: sums of floats are rounded, and a step may lie in between.
            return Size(np.floor(only.coordinates + 1e-9) + 1, changed=only.changed)
        return changed_only(only)
    if len(sizes) != 2:
        return changed_only(Size(np.asarray(np.inf)))
    a, b = sizes
    if ufunc in (np.add, np.subtract, np.minimum, np.maximum):
        if a is None or b is None:
            return only
        return a.either(b) if disjoint(private[0], private[1]) else a.plus(b)
    if ufunc is np.multiply:
        parts = [s.scaled(found[1 - i].magnitude) for i, s in enumerate(sizes) if s is not None]
        return parts[0] if len(parts) == 1 else parts[0].plus(parts[1])
    if ufunc is np.divide:
        inverse = boxes.reciprocal(found[1]).magnitude
        parts = [] if a is None else [a.scaled(inverse)]
        if b is not None:
            parts.append(b.scaled(found[0].magnitude * inverse**2))
        return parts[0] if len(parts) == 1 else parts[0].plus(parts[1])
    if ufunc is np.power and b is None and found[1].lo.size == 1:
        exponent = float(found[1].lo.ravel()[0])
        base = found[0].magnitude
        if exponent >= 1 and a is not None:
            return a.scaled(exponent * base ** (exponent - 1))
    if b is None or a is None:
        return changed_only(only)
    return changed_only(a.plus(b))


def _slope(ufunc: np.ufunc, box: Box) -> Array:
    slope = np.asarray(_SLOPES[ufunc](box), dtype=float)
    return np.where(np.isnan(slope), np.inf, slope)


def _contribution(
    ufunc: np.ufunc, inputs: Sequence[Data], found: Sequence[Box], dims: Shape
) -> Size | None:
    """What one sampled record adds, where the function is linear."""
    private = [value for value in inputs if isinstance(value, Aggregate)]
    if any(value.contribution is None for value in private):
        return None
    if any(value.dims != dims for value in private):
        return None
    sizes = [value.contribution for value in private if value.contribution is not None]
    if len(private) == 2:
        same = private[0].sampling == private[1].sampling and ufunc in (np.add, np.subtract)
        return sizes[0].plus(sizes[1]) if same else None
    if ufunc in (np.add, np.subtract) or ufunc is np.negative:
        return sizes[0]
    if ufunc is np.multiply:
        return sizes[0].scaled(found[0 if inputs[1] is private[0] else 1].magnitude)
    if ufunc is np.divide and inputs[0] is private[0]:
        return sizes[0].scaled(boxes.reciprocal(found[1]).magnitude)
    return None


def linear(
    source: Aggregate,
    dims: Shape,
    box: Box,
    change: Callable[[Size], Size],
    dtype: DType | None = None,
) -> Aggregate:
    """A linear function of one aggregate; `change` says what it does to a size."""
    contribution = None if source.contribution is None else change(source.contribution)
    return Aggregate(
        source.tracer,
        dims,
        dtype or source.dtype,
        box,
        change(source.diff),
        sampling=source.sampling,
        contribution=contribution,
        records=source.records,
    )
