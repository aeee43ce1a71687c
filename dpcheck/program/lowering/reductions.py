"""Sums, means, variances, truth over axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.program.facts.kinds import Aggregate, Rows
from dpcheck.program.facts.rowsets import RowSet, number
from dpcheck.program.graph import Node
from dpcheck.program.lowering.functions import apply, as_dtype, where
from dpcheck.program.lowering.registry import lower
from dpcheck.program.reading.public import public_call, released_call
from dpcheck.program.reading.values import Opaque, Series, Table
from dpcheck.program.rules.common import unsure
from dpcheck.program.rules.reductions import sum_dtype

if TYPE_CHECKING:
    from dpcheck.program.reading.reader import Reader

NO = np._NoValue


def operand(reader: Reader, a: object) -> Node:
    """The array that is reduced."""
    if isinstance(a, Series):
        a = a.array
    if isinstance(a, Table):
        reader.unknown("a reduction of a whole table")
    return reader.node(a)


def axes_of(reader: Reader, node: Node, axis: object) -> tuple[int, ...]:
    """The axes that are reduced."""
    plain = reader.plain(axis)
    if plain is None:
        return tuple(range(node.ndim))
    many = plain if isinstance(plain, tuple) else (plain,)
    found = []
    for each in many:
        place = int(each)
        if not -node.ndim <= place < node.ndim:
            reader.refuse("failed", f"there is no axis {place}", "fix the code")
        found.append(place % node.ndim)
    return tuple(sorted(found))


def kept(
    reader: Reader, before: Node, found: Node, axes: tuple[int, ...], keepdims: object
) -> object:
    """The result, with axes of length 1 where they are kept."""
    if keepdims is NO or not reader.plain(keepdims):
        return reader.array(found)
    shape = tuple(1 if i in axes else n for i, n in enumerate(before.shape))
    return reader.array(reader.graph.add("reshape", found, shape=shape))


def _special(reader: Reader, function: object, a: object, named: dict[str, object]) -> object:
    """Public or opaque operands; None for all others."""
    given = {key: each for key, each in named.items() if each is not NO}
    if given.pop("out", None) is not None:
        reader.unknown("out= of a reduction")
    if reader.is_public(a) and reader.is_public(given):
        return public_call(reader, function, (a,), given)  # type: ignore[arg-type]
    if isinstance(a, Opaque) or (
        isinstance(a, list | tuple) and reader.is_released(a) and _opaque(a)
    ):
        return released_call(reader, lambda it, words: function(it, **words), (a, given))  # type: ignore[operator]
    return None


def _opaque(values: object) -> bool:
    if isinstance(values, list | tuple):
        return any(_opaque(each) for each in values)
    return isinstance(values, Opaque)


@lower(np.sum, np.add.reduce, methods=("sum",))
def total(
    reader: Reader,
    a: object,
    axis: object = None,
    dtype: object = None,
    out: object = None,
    keepdims: object = NO,
    initial: object = NO,
    where: object = NO,
    **named: object,
) -> object:
    """np.sum."""
    options = {
        "axis": axis,
        "dtype": dtype,
        "out": out,
        "keepdims": keepdims,
        "initial": initial,
        "where": where,
    }
    found = _special(reader, np.sum, a, options | named)
    if found is not None:
        return found
    if named:
        reader.refuse(
            "unknown-operation",
            f"np.sum is not followed with {', '.join(named)}",
            "leave it out, or write it with other operations",
        )
    node = _masked(reader, operand(reader, a), where)
    if node.dtype.kind not in "biuf":
        reader.unknown("a sum of text")
    kind = sum_dtype(node) if dtype is None else as_dtype(reader, dtype)
    axes = axes_of(reader, node, axis)
    result = kept(reader, node, summed(reader, node, axes, kind), axes, keepdims)
    if initial is NO:
        return result
    from dpcheck.program.reading.operators import binary

    return binary(reader, "add", result, initial)


def _masked(reader: Reader, node: Node, mask: object) -> Node:
    if mask is NO:
        return node
    zero = reader.graph.constant(np.zeros((), dtype=node.dtype)[()])
    return where(reader, reader.node(mask), node, zero)


def summed(reader: Reader, node: Node, axes: tuple[int, ...], kind: np.dtype[np.generic]) -> Node:
    """The sum over axes."""
    if not axes:
        return reader.graph.add("convert", node, dtype=kind)
    if kind.kind in "iu" and kind != sum_dtype(node) and node.dtype.kind in "biu":
        # Numbers are cast before they are added.
        node = reader.graph.add("convert", node, dtype=kind)
    return reader.graph.add("sum", node, axes=axes, dtype=kind)


@lower(np.mean, methods=("mean",))
def mean(
    reader: Reader,
    a: object,
    axis: object = None,
    dtype: object = None,
    out: object = None,
    keepdims: object = NO,
    where: object = NO,
) -> object:
    """np.mean: a sum over a number."""
    options = {"axis": axis, "dtype": dtype, "out": out, "keepdims": keepdims, "where": where}
    found = _special(reader, np.mean, a, options)
    if found is not None:
        return found
    if where is not NO:
        reader.unknown("np.mean with where=")
    node = operand(reader, a)
    if dtype is not None and as_dtype(reader, dtype).kind != "f":
        reader.refuse(
            "unknown-operation", "a mean in whole numbers cuts fractions off", "leave dtype out"
        )
    axes = axes_of(reader, node, axis)
    many = count(reader, node, axes)
    kind = node.dtype if node.dtype.kind == "f" else np.dtype(float)
    if dtype is not None:
        kind = as_dtype(reader, dtype)
    total_node = summed(reader, node, axes, kind)
    result = apply(reader, "divide", total_node, reader.graph.constant(many))
    return kept(reader, node, result, axes, keepdims)


def count(reader: Reader, node: Node, axes: tuple[int, ...]) -> int:
    """How many numbers are averaged."""
    many = 1
    for i in axes:
        dim = node.shape[i]
        found = number(dim)
        optional = isinstance(dim, RowSet) and (dim.optional or dim.sampling is not None)
        if found is None or (optional and isinstance(dim, RowSet) and dim.count is None):
            reader.refuse(
                "private-count",
                "a mean over a private number of records divides by that number",
                "release the sum and the number of records, each with noise, and divide those",
            )
        many *= found
    if many == 0:
        reader.refuse("failed", "a mean of nothing", "fix the code")
    return many


@lower(np.var, methods=("var",))
def variance(
    reader: Reader,
    a: object,
    axis: object = None,
    dtype: object = None,
    out: object = None,
    ddof: object = 0,
    keepdims: object = NO,
) -> object:
    """np.var."""
    options = {"axis": axis, "dtype": dtype, "out": out, "ddof": ddof, "keepdims": keepdims}
    found = _special(reader, np.var, a, options)
    if found is not None:
        return found
    if dtype is not None:
        reader.unknown("np.var with options")
    node = operand(reader, a)
    axes = axes_of(reader, node, axis)
    minus = reader.plain(ddof)
    if not isinstance(minus, int | np.integer):
        reader.unknown("np.var with a ddof that is no whole number")
    minus = int(minus)
    result = reader.graph.add("variance", node, axes=axes, ddof=minus)
    return kept(reader, node, result, axes, keepdims)


@lower(np.std, methods=("std",))
def deviation(
    reader: Reader, a: object, axis: object = None, ddof: object = 0, keepdims: object = NO
) -> object:
    """np.std: the root of the variance."""
    found = _special(reader, np.std, a, {"axis": axis, "ddof": ddof, "keepdims": keepdims})
    if found is not None:
        return found
    from dpcheck.program.lowering.functions import elementwise

    return elementwise(reader, "sqrt", variance(reader, a, axis, ddof=ddof, keepdims=keepdims))


def _truth(some: bool) -> Callable[..., object]:
    function = np.any if some else np.all

    def handler(
        reader: Reader, a: object, axis: object = None, out: object = None, keepdims: object = NO
    ) -> object:
        found = _special(reader, function, a, {"axis": axis, "out": out, "keepdims": keepdims})
        if found is not None:
            return found
        node = operand(reader, a)
        axes = axes_of(reader, node, axis)
        return kept(
            reader, node, reader.graph.add("any", node, axes=axes, some=some), axes, keepdims
        )

    return handler


lower(np.any, methods=("any",))(_truth(True))
lower(np.all, methods=("all",))(_truth(False))


@lower(np.count_nonzero)
def count_nonzero(
    reader: Reader, a: object, axis: object = None, *, keepdims: object = False
) -> object:
    """The sum of truth values."""
    found = _special(reader, np.count_nonzero, a, {"axis": axis, "keepdims": keepdims})
    if found is not None:
        return found
    node = operand(reader, a)
    if node.dtype.kind != "b":
        node = apply(reader, "not_equal", node, reader.graph.constant(0))
    axes = axes_of(reader, node, axis)
    found = summed(reader, node, axes, np.dtype(np.int64))
    unsure(found)
    return kept(reader, node, found, axes, keepdims)


@lower(np.nansum)
def nansum(reader: Reader, a: object, axis: object = None, keepdims: object = NO) -> object:
    """The sum of what is not NaN."""
    found = _special(reader, np.nansum, a, {"axis": axis, "keepdims": keepdims})
    if found is not None:
        return found
    node = operand(reader, a)
    clean = without_nan(reader, node)
    return total(reader, reader.array(clean), axis, keepdims=keepdims)


def without_nan(reader: Reader, node: Node) -> Node:
    """0 in place of NaN."""
    if node.dtype.kind != "f" or not isinstance(node.fact, Rows | Aggregate):
        return node
    missing = reader.graph.add("isnan", node)
    return where(reader, missing, reader.graph.constant(0.0), node)


@lower(np.average)
def average(reader: Reader, a: object, axis: object = None, weights: object = None) -> object:
    """A mean, or with public weights a weighted one."""
    if reader.is_public([a, axis, weights]):
        return public_call(reader, np.average, (a,), {"axis": axis, "weights": weights})
    if weights is None:
        return mean(reader, a, axis)
    reader.unknown("np.average with weights")


@lower(np.prod, methods=("prod",))
def product_of(reader: Reader, a: object, axis: object = None, **named: object) -> object:
    """A product over the entries of each row: one factor after the other."""
    found = _special(reader, np.prod, a, {"axis": axis, **named})
    if found is not None:
        return found
    node = operand(reader, a)
    axes = axes_of(reader, node, axis)
    rows = node.fact
    if named or len(axes) != 1 or (isinstance(rows, Rows) and rows.axis in axes):
        reader.unknown("a product over records")
    many = number(node.shape[axes[0]]) or 0
    if many > 64:
        reader.unknown("a product of so many numbers")
    kind = np.prod(np.empty(0, dtype=node.dtype)).dtype
    if node.dtype != kind:
        node = reader.graph.add("convert", node, dtype=kind)
    result = None
    for i in range(many):
        key = (*[slice(None)] * axes[0], i)
        part = reader.graph.add("index", node, key=key)
        result = part if result is None else apply(reader, "multiply", result, part)
    if result is None:
        reader.unknown("an empty product")
    return reader.array(result)
