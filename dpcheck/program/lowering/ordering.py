"""Extrema, quantiles, ranks, running sums."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.program.facts.kinds import RANDOM, Rows
from dpcheck.program.lowering.reductions import NO, _special, axes_of, kept, operand
from dpcheck.program.lowering.registry import lower
from dpcheck.program.reading.expressions import iterated
from dpcheck.program.reading.public import public_call, released_call
from dpcheck.program.reading.records import listed
from dpcheck.program.reading.values import Array, Opaque
from dpcheck.program.rules.common import plain, whole

if TYPE_CHECKING:
    from dpcheck.program.reading.reader import Reader

MOST_LISTED = 1000  # entries of a released array that are known one by one after .tolist()


def _extreme(name: str) -> Callable[..., object]:
    function = getattr(np, name)

    def handler(
        reader: Reader, a: object, axis: object = None, out: object = None, keepdims: object = NO
    ) -> object:
        found = _special(reader, function, a, {"axis": axis, "out": out, "keepdims": keepdims})
        if found is not None:
            return found
        node = operand(reader, a)
        axes = axes_of(reader, node, axis)
        found = reader.graph.add("extreme", node, axes=axes, largest=name == "max")
        return kept(reader, node, found, axes, keepdims)

    return handler


for _name in ("max", "min"):
    lower(getattr(np, _name), methods=(_name,))(_extreme(_name))
lower(np.amax)(_extreme("max"))
lower(np.amin)(_extreme("min"))


@lower(np.ptp)
def ptp(reader: Reader, a: object, axis: object = None) -> object:
    """The largest minus the least."""
    if reader.is_public([a, axis]):
        return public_call(reader, np.ptp, (a, axis), {})
    from dpcheck.program.reading.operators import binary

    top, low = (_extreme(name)(reader, a, axis) for name in ("max", "min"))
    return binary(reader, "subtract", top, low)


@lower(np.median)
def median(reader: Reader, a: object, axis: object = None, keepdims: object = False) -> object:
    """np.median."""
    if reader.is_public([a, axis]):
        return public_call(reader, np.median, (a,), {"axis": axis})
    if isinstance(a, Opaque):
        return released_call(reader, lambda it, at: np.median(it, axis=at), (a, axis))
    node = operand(reader, a)
    axes = axes_of(reader, node, axis)
    return kept(
        reader, node, reader.graph.add("quantile", node, axes=axes, level=0.5), axes, keepdims
    )


def _quantile(scale: float, name: str) -> Callable[..., object]:
    def handler(
        reader: Reader, a: object, q: object, axis: object = None, **named: object
    ) -> object:
        if reader.is_public([a, q, axis]):
            return public_call(reader, getattr(np, name), (a, q), {"axis": axis, **named})
        if isinstance(a, Opaque):
            return released_call(reader, getattr(np, name), (a, q, axis))
        if named:
            reader.unknown(f"np.{name} with options")
        node, levels = operand(reader, a), np.asarray(reader.plain(q), dtype=float) / scale
        axes = axes_of(reader, node, axis)
        if levels.ndim and node.dtype.kind == "f":  # an array of levels makes it float64
            node = reader.graph.add("convert", node, dtype=np.dtype(float))
        found = [
            reader.graph.add("quantile", node, axes=axes, level=float(level))
            for level in np.ravel(levels)
        ]
        if levels.ndim == 0:
            return reader.array(found[0])
        from dpcheck.program.lowering.joining import stacked

        return reader.array(stacked(reader, found, 0))

    return handler


lower(np.quantile)(_quantile(1.0, "quantile"))
lower(np.percentile)(_quantile(100.0, "percentile"))


def _arg(name: str) -> Callable[..., object]:
    def handler(reader: Reader, a: object, axis: object = None) -> object:
        if reader.is_public([a, axis]):
            return public_call(reader, getattr(np, name), (a, axis), {})
        if isinstance(a, Opaque):
            return released_call(reader, getattr(np, name), (a, axis))
        node, place = operand(reader, a), reader.plain(axis)
        if place is None:
            if node.ndim != 1:
                if isinstance(node.fact, Rows):
                    reader.unknown(f"np.{name} of a whole table")
                flat = math.prod(plain(node.shape))
                node = reader.graph.add("reshape", node, shape=(flat,))
            place = 0
        at = int(place) % node.ndim  # type: ignore[call-overload]
        return reader.array(reader.graph.add("argmax", node, axis=at, largest=name == "argmax"))

    return handler


for _name in ("argmax", "argmin"):
    lower(getattr(np, _name), methods=(_name,))(_arg(_name))


@lower(np.sort)
def sort(reader: Reader, a: object, axis: object = -1) -> object:
    """A sorted copy."""
    if reader.is_public([a, axis]):
        return public_call(reader, np.sort, (a, axis), {})
    if isinstance(a, Opaque):
        return released_call(reader, np.sort, (a, axis))
    node, place = operand(reader, a), reader.plain(axis)
    if place is None:
        reader.unknown("np.sort with axis=None")
    at = int(place) % node.ndim  # type: ignore[call-overload]
    if isinstance(node.fact, Rows) and node.fact.axis == at:
        node = whole(reader.graph, node)
    return reader.array(reader.graph.add("sort", node, axis=at))


@lower(np.argsort, methods=("argsort",))
def argsort(reader: Reader, a: object, *args: object) -> object:
    """The order of released values; of private ones it is refused."""
    if reader.is_released(a):
        return released_call(reader, np.argsort, (a, *args))
    reader.refuse(
        "private-control", "the order of private values is computed", "add noise to them first"
    )


@lower(np.cumsum, methods=("cumsum",))
def cumsum(reader: Reader, a: object, axis: object = None) -> object:
    """Running sums."""
    if reader.is_public([a, axis]):
        return public_call(reader, np.cumsum, (a, axis), {})
    if isinstance(a, Opaque):
        return released_call(reader, np.cumsum, (a, axis))
    node, place = operand(reader, a), reader.plain(axis)
    if place is None and node.ndim != 1:
        reader.unknown("np.cumsum without axis= of a table")
    at = 0 if place is None else int(place) % node.ndim  # type: ignore[call-overload]
    return reader.array(reader.graph.add("cumulative", node, axis=at))


@lower(np.diff)
def diff(reader: Reader, a: object, n: object = 1, axis: object = -1) -> object:
    """Differences of neighbouring entries."""
    if reader.is_public([a, n, axis]):
        return public_call(reader, np.diff, (a, n, axis), {})
    node, at = operand(reader, a), int(reader.plain(axis))  # type: ignore[call-overload]
    at %= node.ndim
    if reader.plain(n) != 1 or (isinstance(node.fact, Rows) and node.fact.axis == at):
        reader.unknown("np.diff over records")
    before = (*[slice(None)] * at, slice(None, -1))
    after = (*[slice(None)] * at, slice(1, None))
    from dpcheck.program.lowering.functions import apply

    parts = [reader.graph.add("index", node, key=key) for key in (after, before)]
    return reader.array(apply(reader, "subtract", *parts))


@lower(methods=("tolist",))
def tolist(reader: Reader, a: object) -> object:
    """A list of numbers of Python; of released values."""
    if reader.is_public(a):
        return public_call(reader, lambda it: np.asarray(it).tolist(), (a,), {})
    if not isinstance(a, Array):
        return item(reader, a)
    return as_list(reader, a)


def as_list(reader: Reader, a: Array) -> object:
    """The entries of an array as numbers of Python: one a record, or a public number of them."""
    node = a.node(reader.graph)
    if isinstance(node.fact, Rows) and node.fact.axis == 0 and node.ndim == 1:
        # Whole numbers of Python do not wrap around.
        if node.dtype.kind in "iu" and node.dtype != np.dtype(np.uint64):
            node = reader.graph.add("convert", node, dtype=np.dtype(np.int64))
        if node.dtype.kind in "iO" or node.dtype == np.dtype(float):
            return listed(reader, node)
    one_by_one = node.ndim == 1 and isinstance(node.shape[0], int) and node.shape[0] <= MOST_LISTED
    if one_by_one and not isinstance(node.fact, (Rows, *RANDOM)):
        return [item(reader, each) for each in iterated(reader, a)]
    if reader.is_released(a):
        return released_call(reader, lambda it: it.tolist(), (a,))
    reader.refuse(
        "private-control",
        f"{reader.describe(a)} is turned into a plain list",
        "keep it an array until noise is added",
    )


@lower(methods=("item",))
def item(reader: Reader, a: object) -> object:
    """One number of Python."""
    if reader.is_public(a):
        return public_call(reader, lambda it: np.asarray(it).item(), (a,), {})
    node = reader.node(a)
    kind = {"f": float, "b": bool}.get(node.dtype.kind, int)
    return reader.array(reader.graph.add("number", node, kind=kind))
