"""Shapes and types: entries move or are cast, and no norm changes that should not."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.core.data import Data
from dpcheck.tracing.facts import boxes
from dpcheck.tracing.facts.boxes import Array, Box
from dpcheck.tracing.facts.sizes import Size
from dpcheck.tracing.registry import Family, rule
from dpcheck.tracing.rules import aggregates, noise
from dpcheck.tracing.rules.indexing import index, picked
from dpcheck.tracing.rules.rowwise import as_aggregate, made
from dpcheck.tracing.values import (
    Aggregate,
    Coin,
    Noise,
    Rows,
)

if TYPE_CHECKING:
    from dpcheck.tracing.tracer import Tracer


def _reshaping(change: Callable[[Array], Array], tracer: Tracer, a: Data) -> Data:
    """A change of shape of anything but rows."""
    if isinstance(a, Rows):
        a = as_aggregate(a)
    return picked(tracer, a, change)


@rule(
    np.transpose,
    family=Family.INDEXING,
    lemma="entries move, no norm changes",
    methods=("transpose",),
)
def transpose(tracer: Tracer, a: Data, *axes: Data) -> Data:
    """np.transpose."""
    order = axes[0] if len(axes) == 1 and isinstance(axes[0], tuple | list) else axes
    if len(axes) == 1 and axes[0] is None:
        order = ()
    order = tuple(int(i) % a.ndim for i in order) or tuple(reversed(range(a.ndim)))
    if not isinstance(a, Rows):
        return picked(tracer, a, lambda v: np.transpose(v, order))

    def change(value: Array) -> Array:
        return np.transpose(np.broadcast_to(value, a.element), order)

    result = made(
        a,
        tuple(a.dims[i] for i in order),
        a.dtype,
        a.box.mapped(change),
        a.row.shaped(change(a.row.coordinates)),
        axis=order.index(a.axis),
        sampling=a.sampling,
    )
    result.tag = a.tag
    return result


@rule(
    np.reshape,
    np.ravel,
    family=Family.INDEXING,
    lemma="entries move, no norm changes; rows stay rows while the axis of the records is first and kept",
    methods=("reshape", "ravel", "flatten"),
)
def reshape(tracer: Tracer, a: Data, *shape: Data, **kwargs: Data) -> Data:
    """np.reshape with public lengths."""
    if kwargs and set(kwargs) - {"shape", "newshape"}:
        tracer.unknown("np.reshape with order= or copy=")
    given: tuple[Data, ...] = kwargs.get("shape", kwargs.get("newshape", shape)) or ()
    wanted = given[0] if len(given) == 1 and isinstance(given[0], tuple | list) else given
    wanted = tuple(wanted) or (-1,)
    if not isinstance(a, Rows):
        lengths = tuple(int(n) for n in wanted)
        return picked(tracer, a, lambda v: v.reshape(lengths))
    first = wanted[0]
    keeps = (isinstance(first, Aggregate) and first.length_of is a.rows) or (
        isinstance(first, int) and first == (a.rows.count if a.rows.count is not None else -1)
    )
    entries = int(np.prod(a.element))
    if isinstance(first, int) and first == -1 and -1 not in wanted[1:]:
        keeps = int(np.prod(wanted[1:])) == entries
    if a.axis != 0 or not keeps:
        return _reshaping(lambda v: v.reshape(wanted), tracer, a)
    lengths = np.empty(entries).reshape(tuple(int(n) for n in wanted[1:])).shape

    def change(value: Array) -> Array:
        return np.broadcast_to(value, a.element).reshape((1, *lengths))

    result = made(
        a,
        (a.dims[0], *lengths),
        a.dtype,
        a.box.mapped(change),
        a.row.shaped(change(a.row.coordinates)),
        sampling=a.sampling,
    )
    result.tag = a.tag
    return result


@rule(
    np.squeeze, family=Family.INDEXING, lemma="an axis of length 1 is dropped", methods=("squeeze",)
)
def squeeze(tracer: Tracer, a: Data, axis: Data = None) -> Data:
    """np.squeeze."""
    axes = [i for i, n in enumerate(a.dims) if n == 1] if axis is None else axis
    axes = [int(i) % a.ndim for i in (axes if isinstance(axes, tuple | list) else (axes,))]
    if isinstance(a, Rows):
        if a.axis in axes:
            a = as_aggregate(a)
        else:
            return index(tracer, a, tuple(0 if i in axes else slice(None) for i in range(a.ndim)))
    return picked(tracer, a, lambda v: np.squeeze(v, axis=tuple(axes)))


@rule(np.expand_dims, family=Family.INDEXING, lemma="an axis of length 1 is added")
def expand_dims(tracer: Tracer, a: Data, axis: Data) -> Data:
    """np.expand_dims along one axis."""
    place = int(axis) % (a.ndim + 1)
    return index(tracer, a, (*[slice(None)] * place, None))


@rule(
    np.broadcast_to,
    family=Family.INDEXING,
    lemma="entries repeated r times: L1 times r, L2 times sqrt(r)",
)
def broadcast_to(tracer: Tracer, a: Data, shape: Data) -> Data:
    """np.broadcast_to a public shape."""
    if isinstance(a, Rows):
        a = as_aggregate(a)
    return picked(tracer, a, lambda v: np.broadcast_to(v, shape))


@rule(np.copy, family=Family.INDEXING, lemma="the same value", methods=("copy",))
def copy(tracer: Tracer, a: Data, order: str = "K") -> Data:  # noqa: ARG001 - numpy's signature
    """A symbol of its own with the same facts."""
    kind = Aggregate if isinstance(a, Aggregate) else type(a)
    found = object.__new__(kind)
    found.__dict__.update(a.__dict__)
    found.views = found.is_view = False
    return found


@rule(
    np.astype,
    family=Family.ELEMENTWISE,
    lemma="whole numbers that do not fit wrap around to anything; truth values are != 0",
    methods=("astype",),
)
def astype(tracer: Tracer, a: Data, dtype: Data, **_: Data) -> Data:
    """A cast."""
    kind = np.dtype(dtype)
    if isinstance(a, Coin) and kind.kind in "biuf":
        return Coin(tracer, a.dims, a.rate, a.ids, kind)
    if isinstance(a, Noise):
        return a if kind == a.dtype else noise.spent(tracer, lambda v: v.astype(kind), (a,))
    if kind.kind not in "biuf":
        tracer.unknown(f"a cast to {kind}")
    truncated = a.box
    if a.dtype.kind not in "biuf":
        truncated = boxes.WHOLE
    if kind.kind in "iu" and a.dtype.kind == "f":
        truncated = Box(np.trunc(a.box.lo), np.trunc(a.box.hi), a.box.nan, True)
    if kind.kind == "b":
        found = a.box.mapped(lambda v: np.zeros_like(v))
        found = Box(found.lo, found.lo + 1.0)
    else:
        found = boxes.fitted(truncated, kind)
    if isinstance(a, Rows):
        widening = np.can_cast(a.dtype, kind) and a.dtype.kind in "biuf" and kind.kind != "b"
        result = made(a, a.dims, kind, found, a.row if widening else None, sampling=a.sampling)
        result.tag = a.tag if widening else None
        return result
    if kind.kind == "f" and found.lo.shape == a.box.lo.shape:
        return aggregates.linear(a, a.dims, found, lambda size: size, kind)
    step = Size(np.ceil(a.diff.coordinates - 1e-9), changed=a.diff.changed)
    wraps = bool((found.lo != truncated.lo).any() or (found.hi != truncated.hi).any())
    return Aggregate(
        tracer,
        a.dims,
        kind,
        found,
        aggregates.changed_only(step) if wraps else step,
        records=a.records,
    )
