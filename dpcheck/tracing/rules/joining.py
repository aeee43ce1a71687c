"""Arrays put together: of the same records side by side, or of aggregates into one vector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.core.data import Data
from dpcheck.tracing.facts.boxes import Array, Box
from dpcheck.tracing.facts.sizes import NOTHING, Size
from dpcheck.tracing.postprocessing import call_on_released, only_released
from dpcheck.tracing.registry import Family, rule
from dpcheck.tracing.rules import noise
from dpcheck.tracing.rules.aggregates import disjoint
from dpcheck.tracing.rules.elementwise import box_of, result_dtype
from dpcheck.tracing.rules.rowwise import as_aggregate, made
from dpcheck.tracing.values import Aggregate, Coin, Draw, Noise, Released, Rows, Traced

if TYPE_CHECKING:
    from dpcheck.tracing.tracer import Tracer


@rule(
    np.concatenate,
    family=Family.JOINING,
    lemma="L1 adds, L2 adds in squares, Linf is the larger; aggregates of disjoint records do not add",
)
def concatenate(tracer: Tracer, arrays: Sequence[Data], axis: Data = 0) -> Data:
    """np.concatenate along a public axis."""
    parts = [v if isinstance(v, Traced) else np.asarray(v) for v in arrays]
    if only_released(parts):
        return call_on_released(tracer, lambda *a: np.concatenate(a, axis), tuple(parts), {}, None)
    if any(isinstance(v, Noise | Coin | Draw) for v in parts):
        return _of_noise(tracer, parts, axis)
    rows = [v for v in parts if isinstance(v, Rows)]
    if rows and not any(isinstance(v, Aggregate) for v in parts):
        place = None if axis is None else int(axis) % rows[0].ndim
        if place is not None and place != rows[0].axis:
            return _side_by_side(tracer, parts, place)
    whole = [as_aggregate(v) if isinstance(v, Rows) else v for v in parts]
    return _joined(tracer, whole, axis)


def _of_noise(tracer: Tracer, parts: Sequence[Data], axis: Data) -> Data:
    """Draws of one family side by side are draws; beside anything else they are spent."""
    draws = [v for v in parts if isinstance(v, Noise)]
    if len(draws) == len(parts) and len({v.family for v in draws}) == 1:
        ids = [v.ids for v in draws]
        if all(i.shape[0] == int(np.prod(v.dims)) for i, v in zip(ids, draws, strict=True)) and all(
            v.ndim == 1 for v in draws
        ):
            scales, places = (
                np.concatenate([np.broadcast_to(getattr(v, n), v.dims) for v in draws])
                for n in ("scale", "location")
            )
            low = np.concatenate([np.broadcast_to(v.box.lo, v.dims) for v in draws])
            high = np.concatenate([np.broadcast_to(v.box.hi, v.dims) for v in draws])
            return Noise(
                tracer,
                scales.shape,
                draws[0].family,
                scales,
                places,
                np.concatenate(ids),
                Box(low, high),
            )
    if any(isinstance(v, Rows | Aggregate) for v in parts):
        tracer.unknown("np.concatenate of private values and noise")
    return noise.spent(tracer, lambda *a: np.concatenate(a, axis), parts)


def _side_by_side(tracer: Tracer, parts: Sequence[Data], place: int) -> Rows:
    """Columns of the same records, public ones among them."""
    rows = [v for v in parts if isinstance(v, Rows)]
    first = rows[0]
    if any(v.rows is not first.rows or v.axis != first.axis for v in rows):
        tracer.refuse("mixed-records", "columns of different records are joined", "join the same")
    boxes_, sizes, lengths = [], [], 0
    for value in parts:
        box = box_of(value)
        if isinstance(value, Rows):
            element = value.element
            sizes.append(value.row)
        else:
            if np.shape(value)[first.axis] != first.dims[first.axis]:
                raise ValueError("all the input array dimensions must match")
            box = box.over((first.axis,))
            element = tuple(1 if i == first.axis else n for i, n in enumerate(np.shape(value)))
            sizes.append(Size(np.asarray(np.inf)))
        boxes_.append((np.broadcast_to(box.lo, element), np.broadcast_to(box.hi, element), box.nan))
        lengths += element[place]
    found = Box(
        np.concatenate([b[0] for b in boxes_], axis=place),
        np.concatenate([b[1] for b in boxes_], axis=place),
        any(b[2] for b in boxes_),
    )
    row = sizes[0].shaped(np.asarray(np.inf))
    for size in sizes[1:]:
        row = row.stacked(size, np.asarray(np.inf))
    dims = tuple(lengths if i == place else n for i, n in enumerate(first.dims))
    kind = result_dtype(tracer, lambda *a: np.concatenate([np.ravel(v) for v in a]), parts)
    return made(first, dims, kind, found, row)


def _joined(tracer: Tracer, parts: Sequence[Data], axis: Data) -> Data:
    """Aggregates, public and released values in one array."""
    kinds = result_dtype(tracer, lambda *a: np.concatenate([np.ravel(v) for v in a]), parts)
    full = [_filled(value) for value in parts]

    def joined(arrays: Sequence[Array]) -> Array:
        return np.concatenate(arrays, axis=axis)

    lo, hi = joined([f[0] for f in full]), joined([f[1] for f in full])
    entries = joined([f[2] for f in full])
    private = [v for v in parts if isinstance(v, Aggregate)]
    size, separate = private[0].diff.shaped(entries), private[0]
    for value in private[1:]:
        if disjoint(separate, value):
            size = size.either(value.diff.shaped(entries))
            separate = _together(separate, value)
        else:
            size = size.stacked(value.diff, entries)
            separate = _together(separate, value, known=False)
    contribution = None
    sampled = all(v.contribution is not None and v.sampling == private[0].sampling for v in private)
    if sampled and len(private) == len(parts):
        contribution = NOTHING
        for value in private:
            assert value.contribution is not None
            contribution = contribution.stacked(value.contribution, np.asarray(np.inf))
    nan = any(box_of(v).nan for v in parts)
    result = Aggregate(
        tracer,
        lo.shape,
        kinds,
        Box(lo, hi, nan),
        size,
        sampling=private[0].sampling,
        contribution=contribution,
        records=_all_records(private),
    )
    if all(v.direction == "up" for v in private) and len(private) == len(parts):
        result.direction = "up"
    return result


def _all_records(private: Sequence[Aggregate]) -> frozenset[int] | None:
    known = [v.records for v in private if v.records is not None]
    return frozenset().union(*known) if len(known) == len(private) else None


def _together(a: Aggregate, b: Aggregate, known: bool = True) -> Aggregate:
    """A stand-in that knows which records two aggregates depend on."""
    records = a.records | b.records if known and a.records and b.records else None
    return Aggregate(
        a.tracer, (), a.dtype, Box(np.asarray(0.0), np.asarray(0.0)), NOTHING, records=records
    )


def _filled(value: Data) -> tuple[Array, Array, Array]:
    box = box_of(value)
    dims = value.dims if isinstance(value, Traced) else np.shape(value)
    moved = value.diff.coordinates if isinstance(value, Aggregate) else np.asarray(0.0)
    lo, hi, size = (np.broadcast_to(v, dims) for v in (box.lo, box.hi, moved))
    return lo, hi, size


def stacked(tracer: Tracer, parts: Sequence[Data]) -> Data:
    """np.array of symbols and numbers."""
    return stack(tracer, parts)


@rule(np.stack, family=Family.JOINING, lemma="as np.concatenate, along a new axis")
def stack(tracer: Tracer, arrays: Sequence[Data], axis: int = 0) -> Data:
    """np.stack."""
    parts = [v if isinstance(v, Traced) else np.asarray(v) for v in arrays]
    if only_released(parts):
        return call_on_released(tracer, lambda *a: np.stack(a, axis), tuple(parts), {}, None)
    ndim = max(v.ndim for v in parts)
    place = int(axis) % (ndim + 1)
    opened = [v[(*[slice(None)] * place, None)] for v in parts]
    return concatenate(tracer, opened, place)


@rule(np.column_stack, family=Family.JOINING, lemma="as np.concatenate, columns side by side")
def column_stack(tracer: Tracer, tup: Sequence[Data]) -> Data:
    """np.column_stack."""
    parts = [v if isinstance(v, Traced) else np.asarray(v) for v in tup]
    return concatenate(tracer, [v[:, None] if v.ndim == 1 else v for v in parts], 1)


@rule(np.hstack, family=Family.JOINING, lemma="as np.concatenate")
def hstack(tracer: Tracer, tup: Sequence[Data]) -> Data:
    """np.hstack."""
    parts = [v if isinstance(v, Traced) else np.asarray(v) for v in tup]
    parts = [v[None] if v.ndim == 0 else v for v in parts]
    return concatenate(tracer, parts, 0 if parts[0].ndim == 1 else 1)


@rule(np.vstack, family=Family.JOINING, lemma="as np.concatenate")
def vstack(tracer: Tracer, tup: Sequence[Data]) -> Data:
    """np.vstack."""
    parts = [v if isinstance(v, Traced) else np.asarray(v) for v in tup]
    return concatenate(tracer, [v[None] if v.ndim < 2 else v for v in parts], 0)


def array_of(tracer: Tracer, value: Data) -> Data:
    """np.array of nested lists that hold symbols."""
    if isinstance(value, Traced) or not isinstance(value, list | tuple):
        return value
    parts = [array_of(tracer, each) for each in value]
    if any(isinstance(v, Released | Traced) for v in parts):
        return stack(tracer, parts)
    return np.asarray(parts)
