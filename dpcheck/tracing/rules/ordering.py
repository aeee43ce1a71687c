"""Extrema, quantiles, ranks: of bounded values they move by at most the width of the bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcheck.core.data import Data
from dpcheck.tracing.facts.boxes import Box
from dpcheck.tracing.facts.sizes import Size
from dpcheck.tracing.registry import Family, rule
from dpcheck.tracing.rules import noise
from dpcheck.tracing.rules.reductions import axes_of, reduced
from dpcheck.tracing.rules.rowwise import made
from dpcheck.tracing.values import Aggregate, Noise, Rows, Traced

if TYPE_CHECKING:
    from dpcheck.tracing.tracer import Tracer


def _within(
    tracer: Tracer, a: Data, axis: Data, keepdims: bool, name: str, shift: bool = True
) -> Data:
    """A statistic that lies between the least and the largest entry."""
    if isinstance(a, Noise):
        return noise.spent(tracer, getattr(np, name), (a,), axis=axis)
    if not isinstance(a, Rows | Aggregate):
        tracer.unknown(f"np.{name}")
    axes = axes_of(a, axis)
    dims = reduced(a.dims, axes, keepdims)
    kind = a.dtype if name in ("max", "min") else np.dtype(float)
    if isinstance(a, Rows):
        if a.axis in axes and (a.rows.count is None or a.rows.optional):
            tracer.refuse(
                "private-length",
                f"np.{name} of a private number of records, of which there may be none",
                "state the proof under replace-one, where the number is public",
            )
        full = a.box.broadcast(a.element)
    else:
        full = a.box.broadcast(a.dims)
    found = full.over(axes)
    if not keepdims:
        found = found.mapped(lambda v: np.squeeze(v, axis=axes))
    if isinstance(a, Rows) and a.axis not in axes:
        place = a.axis - (0 if keepdims else sum(i < a.axis for i in axes))
        return made(a, dims, kind, found, axis=place, sampling=a.sampling)
    found = found.mapped(lambda v: np.broadcast_to(v, dims))
    moved = np.inf
    if isinstance(a, Aggregate) and shift:
        moved = a.diff.linf
    return Aggregate(tracer, dims, kind, found, Size(np.asarray(moved)))


@rule(
    np.max,
    np.amax,
    np.min,
    np.amin,
    family=Family.ORDER,
    lemma="between the bounds of its entries; of an aggregate it moves by at most Linf",
    methods=("max", "min"),
)
def extreme(tracer: Tracer, a: Data, axis: Data = None, keepdims: bool = False) -> Data:
    """np.max and np.min."""
    return _within(tracer, a, axis, keepdims, "max")


@rule(
    np.median,
    family=Family.ORDER,
    lemma="between the bounds of its entries; of an aggregate it moves by at most Linf",
)
def median(tracer: Tracer, a: Data, axis: Data = None, keepdims: bool = False) -> Data:
    """np.median."""
    return _within(tracer, a, axis, keepdims, "median")


@rule(
    np.quantile,
    np.percentile,
    family=Family.ORDER,
    lemma="between the bounds of its entries",
)
def quantile(tracer: Tracer, a: Data, q: Data, axis: Data = None) -> Data:
    """np.quantile at public levels."""
    if isinstance(q, Traced):
        tracer.unknown("quantiles at private levels")
    if np.ndim(q) == 0:
        return _within(tracer, a, axis, False, "quantile")
    found = [_within(tracer, a, axis, False, "quantile") for _ in np.ravel(q)]
    return tracer.function(np.stack, (found,), {})


@rule(
    np.argmax,
    np.argmin,
    family=Family.ORDER,
    lemma="some place; with noise on every entry it is report noisy max",
    methods=("argmax", "argmin"),
)
def argmax(tracer: Tracer, a: Data, axis: Data = None) -> Data:
    """np.argmax: a private place, which nothing can release."""
    if isinstance(a, Noise):
        return noise.spent(tracer, np.argmax, (a,), axis=axis)
    if not isinstance(a, Rows | Aggregate):
        tracer.unknown("np.argmax")
    axes = axes_of(a, axis)
    if isinstance(a, Rows) and (a.axis in axes or len(axes) > 1):
        tracer.refuse(
            "private-control",
            "np.argmax over records says which record it is",
            "add noise to an aggregate for each candidate, and take the argmax of that",
        )
    dims = reduced(a.dims, axes, False)
    many = float(np.prod([a.dims[i] for i in axes]) - 1)
    if isinstance(a, Rows):
        place = a.axis - sum(i < a.axis for i in axes)
        element = tuple(1 if i == place else n for i, n in enumerate(dims))
        found = Box(np.zeros(element), np.full(element, many), False, True)
        return made(a, dims, np.dtype(np.int64), found, axis=place)
    found = Box(np.zeros(dims), np.full(dims, many), False, True)
    return Aggregate(tracer, dims, np.dtype(np.int64), found, Size(np.asarray(np.inf)))


@rule(
    np.sort,
    family=Family.ORDER,
    lemma="sorting moves no two vectors further apart, in any norm",
)
def sort(tracer: Tracer, a: Data, axis: int = -1) -> Data:
    """np.sort of an aggregate vector; of records it is an aggregate of a public number of them."""
    from dpcheck.tracing.rules.rowwise import as_aggregate

    if isinstance(a, Rows):
        a = as_aggregate(a)
    if not isinstance(a, Aggregate) or a.ndim != 1 or axis not in (0, -1):
        tracer.unknown("np.sort")
    found = (
        a.box.over((0,)).mapped(lambda v: np.broadcast_to(v.reshape(-1)[:1], a.dims))
        if a.box.lo.ndim
        else a.box
    )
    # Every order statistic may move, each by at most Linf; in sum by at most L1 [Vallender 1974].
    diff = Size(np.asarray(a.diff.linf), a.diff.l1, a.diff.l2, a.diff.linf)
    return Aggregate(tracer, a.dims, a.dtype, found, diff, records=a.records)
