"""Elementwise functions of private rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.core.data import Data
from dpcheck.tracing.facts import boxes, norms
from dpcheck.tracing.facts.boxes import Box, DType, Missing
from dpcheck.tracing.facts.rowsets import Sampling
from dpcheck.tracing.facts.sizes import Shape, Size
from dpcheck.tracing.values import PRIVATE, Aggregate, Rows, Traced

if TYPE_CHECKING:
    from dpcheck.tracing.tracer import Tracer

# Functions with f(0) = 0: rows that were not sampled stay 0.
ZERO_TO_ZERO = frozenset(
    {
        *(np.negative, np.positive, np.absolute, np.fabs, np.square, np.sqrt, np.cbrt, np.sign),
        *(np.tanh, np.sin, np.arctan, np.expm1, np.log1p, np.floor, np.ceil, np.rint, np.trunc),
    }
)
_POWERS: dict[np.ufunc, float] = {np.sqrt: 0.5, np.square: 2.0, np.reciprocal: -1.0}
SAME_SIZE = (np.negative, np.positive, np.absolute, np.fabs, np.conjugate)


def made(
    source: Rows,
    dims: Shape,
    dtype: DType,
    box: Box,
    row: Size | None = None,
    *,
    axis: int | None = None,
    sampling: Sampling | None = None,
) -> Rows:
    """Rows of the same records as `source`."""
    return Rows(
        source.tracer,
        dims,
        dtype,
        box,
        source.rows,
        source.axis if axis is None else axis,
        row or Size(np.asarray(np.inf)),
        sampling=sampling,
    )


def as_aggregate(rows: Rows) -> Aggregate:
    """All rows as one private array: between neighbours one row of it changes."""
    tracer = rows.tracer
    if (
        rows.rows.count is None
        or rows.rows.optional
        or rows.rows.sampling
        or not tracer.public_rows
    ):
        tracer.refuse(
            "private-length",
            "an array with one entry per record is combined or released, and its length is private",
            "aggregate over the records first",
        )
    diff = differences(rows)
    shape = rows.dims
    return Aggregate(
        tracer,
        shape,
        rows.dtype,
        Box(np.broadcast_to(rows.box.lo, shape), np.broadcast_to(rows.box.hi, shape), rows.box.nan),
        diff.shaped(np.broadcast_to(diff.coordinates, shape)),
        records=rows.rows.records,
    )


def differences(rows: Rows) -> Size:
    """How one row may change between neighbours: its sum over the records moves by that.

    Lemma. Replace-one: a row moves inside its box, and by at most twice its norm. Add-remove: a row
    appears or disappears. A row whose own values decide whether it is in may be 0 on either side.
    """
    box = rows.box.with_zero() if rows.rows.optional else rows.box
    if not rows.tracer.public_rows:
        return rows.row
    twice = rows.row.scaled(2.0)
    width = np.asarray(box.width, dtype=float)
    return Size(width, twice.l1, twice.l2, twice.linf, 2 * twice.changed).tightened(rows.element)


def elementwise(tracer: Tracer, ufunc: np.ufunc, inputs: Sequence[Data], dtype: DType) -> Rows:
    """A function of entries of rows of the same records, and of public or released values."""
    several = [value for value in inputs if isinstance(value, Rows)]
    first = several[0]
    dims, axis = broadcast(tracer, inputs)
    for other in several:
        if other.rows is not first.rows:
            tracer.refuse(
                "mixed-records",
                "rows of different records are combined, so that a row depends on several records",
                "combine columns of the same selection, or aggregate first",
            )
    from dpcheck.tracing.rules.elementwise import result_box

    found = result_box(ufunc, [operand_box(value, dims, axis) for value in inputs], dtype)
    row = _row_size(ufunc, inputs, dims, axis)
    result = made(first, dims, dtype, _shaped(found, len(dims)), row, axis=axis)
    result.sampling = _sampling(ufunc, inputs)
    result.tag = _tag(ufunc, inputs)
    result.complement_of = _complement(ufunc, inputs)
    _threshold(result, ufunc, inputs)
    _missing(result, ufunc, inputs)
    _powers_of_entries(result, ufunc, inputs)
    _clipped(result, ufunc, inputs)
    return result


def _complement(ufunc: np.ufunc, inputs: Sequence[Data]) -> object:
    """1 - x and ~x of truth values: the other answer."""
    last = inputs[-1]
    if not isinstance(last, Rows):
        return None
    if ufunc in (np.logical_not, np.invert) and last.dtype.kind == "b":
        return last.identity
    one = len(inputs) == 2 and not isinstance(inputs[0], Traced) and np.ndim(inputs[0]) == 0
    return last.identity if ufunc is np.subtract and one and inputs[0] == 1 else None


def _shaped(found: Box, ndim: int) -> Box:
    """A box with as many axes as its array."""
    return found.mapped(lambda v: v.reshape((1,) * (ndim - v.ndim) + v.shape))


def broadcast(tracer: Tracer, inputs: Sequence[Data]) -> tuple[Shape, int]:
    """The shape of a result and where its records are."""
    several = [value for value in inputs if isinstance(value, Rows)]
    ndim = max(np.ndim(v) if not isinstance(v, Traced) else v.ndim for v in inputs)
    places = {ndim - value.ndim + value.axis for value in several}
    if len(places) > 1:
        tracer.refuse(
            "mixed-records",
            "every record is combined with every other",
            "aggregate over the records first",
        )
    axis = places.pop()
    count = several[0].dims[several[0].axis]
    shapes = []
    for value in inputs:
        shape = value.dims if isinstance(value, Traced) else np.shape(value)
        full = [1] * (ndim - len(shape)) + list(shape)
        if full[axis] not in (1, count) or (
            count == PRIVATE and full[axis] != 1 and not isinstance(value, Rows)
        ):
            tracer.refuse(
                "private-length",
                f"an array of {full[axis]} entries meets rows of another or private number",
                "use arrays of one entry, or of one per record",
            )
        full[axis] = 1
        shapes.append(tuple(full))
    try:
        found = list(np.broadcast_shapes(*shapes))
    except ValueError as error:
        raise ValueError(str(error)) from None
    found[axis] = count
    return tuple(found), axis


def operand_box(value: Data, dims: Shape, axis: int) -> Box:
    """The box of an operand with length 1 along the records."""
    found = value.box if isinstance(value, Traced) else boxes.point(value)
    if isinstance(value, Rows):
        return found
    full = _shaped(found, len(dims))
    return full if full.lo.shape[axis] == 1 and full.hi.shape[axis] == 1 else full.over((axis,))


def _row_size(ufunc: np.ufunc, inputs: Sequence[Data], dims: Shape, axis: int) -> Size | None:
    """A bound of the norm of a row of the result, beyond what its box says."""
    first = inputs[0]
    if ufunc in SAME_SIZE:
        return first.row if isinstance(first, Rows) else None
    if len(inputs) != 2 or ufunc not in (np.multiply, np.divide, np.add, np.subtract):
        return None
    sizes = [_widened(value, dims) if isinstance(value, Rows) else None for value in inputs]
    spans = [operand_box(value, dims, axis).magnitude for value in inputs]
    if ufunc in (np.add, np.subtract):
        return sizes[0].plus(sizes[1]) if sizes[0] and sizes[1] else None
    if ufunc is np.divide:
        inverse = boxes.reciprocal(operand_box(inputs[1], dims, axis)).magnitude
        return sizes[0].scaled(inverse) if sizes[0] else None
    options = [size.scaled(spans[1 - i]) for i, size in enumerate(sizes) if size]
    return options[0] if len(options) == 1 else options[0].both(options[1])


def _widened(rows: Rows, dims: Shape) -> Size:
    """The size of a row after its entries are repeated to another shape."""
    lengths = list(dims)
    lengths[len(dims) - rows.ndim + rows.axis] = 1
    times = math.prod(lengths) / max(1, math.prod(rows.element))
    return rows.row.repeated(times) if times > 1 else rows.row


def _sampling(ufunc: np.ufunc, inputs: Sequence[Data]) -> Sampling | None:
    """Whether rows that were not sampled are still 0."""
    found = [getattr(value, "sampling", None) for value in inputs]
    if ufunc in ZERO_TO_ZERO:
        return found[0]
    if ufunc is np.multiply:
        return next((each for each in found if each is not None), None)
    if ufunc is np.divide and found[1] is None:
        return found[0]
    same = len(found) == 2 and found[0] is not None and found[0] == found[1]
    return found[0] if ufunc in (np.add, np.subtract) and same else None


def _scalar(value: Data) -> float | None:
    """A public positive number."""
    if isinstance(value, Traced) or np.ndim(value) or isinstance(value, str):
        return None
    number = np.asarray(value)
    return float(number) if number.dtype.kind in "iuf" and float(number) > 0 else None


def _tag(ufunc: np.ufunc, inputs: Sequence[Data]) -> norms.NormTag | None:
    """The result as a factor made of the norm of other rows."""
    tags: list[norms.NormTag | None] = [getattr(value, "tag", None) for value in inputs]
    if not any(tags):
        return None
    if len(inputs) == 1:
        power = _POWERS.get(ufunc)
        return tags[0].raised(power) if power is not None and tags[0] is not None else None
    other = inputs[1] if tags[0] else inputs[0]
    tag, constant = tags[0] or tags[1], _scalar(other)
    if tag is None or constant is None or all(tags):
        return None
    if ufunc is np.multiply:
        return tag.scaled(constant)
    if ufunc is np.divide:
        return tag.scaled(1 / constant) if tags[0] else _inverse(tag, constant)
    if ufunc is np.power and tags[0]:
        return tag.raised(constant)
    if ufunc is np.minimum:
        return tag.at_most(constant)
    if ufunc in (np.maximum, np.add):
        return tag.at_least(constant)
    return None


def _inverse(tag: norms.NormTag, constant: float) -> norms.NormTag | None:
    inverse = tag.raised(-1.0)
    return None if inverse is None else inverse.scaled(constant)


def _threshold(result: Rows, ufunc: np.ufunc, inputs: Sequence[Data]) -> None:
    """norm > C, kept for np.where."""
    if ufunc not in (np.greater, np.greater_equal, np.less, np.less_equal):
        return
    left = isinstance(inputs[0], Rows)
    tag = getattr(inputs[0 if left else 1], "tag", None)
    limit = _scalar(inputs[1 if left else 0])
    if tag is None or limit is None or tag.above != ((1.0, 1.0),) or tag.below != ((1.0, 1.0),):
        return
    greater = (ufunc in (np.greater, np.greater_equal)) == left
    result.kind = norms.Threshold(tag, limit, greater)


def _missing(result: Rows, ufunc: np.ufunc, inputs: Sequence[Data]) -> None:
    """np.isnan(x), np.isfinite(x) and their opposites remember which x they were asked about."""
    first = inputs[0]
    if not isinstance(first, Rows):
        return
    if ufunc in (np.isnan, np.isfinite):
        result.kind = Missing(first.identity, finite=ufunc is np.isfinite)
    elif ufunc in (np.logical_not, np.invert) and isinstance(first.kind, Missing):
        result.kind = first.kind.opposite()


def _powers_of_entries(result: Rows, ufunc: np.ufunc, inputs: Sequence[Data]) -> None:
    """Squares or absolute values of the entries of rows, whose sum is a power of their norm."""
    first = inputs[0]
    if not isinstance(first, Rows) or first.dtype.kind != "f":
        return
    squared = (
        ufunc is np.square
        or (ufunc is np.power and _scalar(inputs[1]) == 2.0)
        or (ufunc is np.multiply and inputs[0] is inputs[1])
    )
    if squared:
        result.kind = norms.NormTag(first.identity, 2.0, ((1.0, 2.0),), ((1.0, 2.0),))
    elif ufunc is np.absolute:
        result.kind = norms.norm_of(first.identity, 1.0)


def _clipped(result: Rows, ufunc: np.ufunc, inputs: Sequence[Data]) -> None:
    """g times a factor of its own norm: the norm of the product is bounded."""
    if ufunc not in (np.multiply, np.divide) or len(inputs) != 2:
        return
    for g, factor in ((inputs[0], inputs[1]), (inputs[1], inputs[0])):
        tag = getattr(factor, "tag", None)
        if not isinstance(g, Rows) or tag is None or tag.source is not g.identity:
            continue
        if ufunc is np.divide:
            if g is not inputs[0]:
                continue
            tag = tag.raised(-1.0)
        if tag is None:
            continue
        bound = tag.product_bound()
        row = result.row
        l1, l2, linf = (
            min(old, bound) if tag.order == order else old
            for old, order in ((row.l1, 1.0), (row.l2, 2.0), (row.linf, np.inf))
        )
        result.row = Size(row.coordinates, l1, l2, linf, row.changed).tightened(result.element)
        result.box = _within(result)


def _within(rows: Rows) -> Box:
    """No entry is larger than the norm of its row."""
    most = rows.row.linf
    return Box(np.maximum(rows.box.lo, -most), np.minimum(rows.box.hi, most), rows.box.nan)
