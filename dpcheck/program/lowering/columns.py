"""Columns of tables: arithmetic, and the methods of a Series."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.program.facts.kinds import Public, Rows
from dpcheck.program.graph import Node
from dpcheck.program.lowering.functions import apply
from dpcheck.program.reading.attributes import length
from dpcheck.program.reading.expressions import iterated
from dpcheck.program.reading.public import released_call
from dpcheck.program.reading.values import (
    Array,
    Bound,
    Counted,
    Function,
    Opaque,
    Partial,
    Series,
    Storage,
    Table,
)

if TYPE_CHECKING:
    from dpcheck.program.reading.reader import Reader


def like(reader: Reader, series: Series, found: object) -> object:
    """A column computed entry by entry from another one: fresh, with its labels."""
    node = reader.node(found)
    if node.ndim != 1:
        reader.unknown("a column that becomes something else")
    return Series(Array(Storage(node)), series.name, series.labels, None, series.index)


def node_of(reader: Reader, value: object) -> Node:
    """The values of a column, or any other value, as a node."""
    return value.array.node(reader.graph) if isinstance(value, Series) else reader.node(value)


def same_labels(reader: Reader, *values: object) -> None:
    """Refuse columns that pandas would put side by side by labels of which nothing is known."""
    if len({each.index for each in values if isinstance(each, Series)}) > 1:
        reader.refuse(
            "mixed-records",
            "columns whose rows have other labels are combined, and pandas matches rows by label",
            "take both from one table, or use .to_numpy()",
        )


def binary(reader: Reader, name: str, a: object, b: object) -> object:
    """Of columns: pandas aligns their labels, which are the same for columns of the same records."""
    if isinstance(a, Table) or isinstance(b, Table):
        reader.unknown("arithmetic of whole tables")
    if isinstance(a, Opaque) or isinstance(b, Opaque):
        reader.unknown("a column and a released value of unknown shape")
    nodes = [node_of(reader, each) for each in (a, b)]
    same_labels(reader, a, b)
    labels = [each.labels for each in (a, b) if isinstance(each, Series)]
    if len(labels) == 2 and labels[0] != labels[1]:
        reader.unknown("columns with different labels")
    if len(labels) == 2 and labels[0] is None and nodes[0].shape != nodes[1].shape:
        reader.refuse(
            "mixed-records",
            "columns of different records are combined",
            "combine columns of the same selection",
        )
    if name in ("floor_divide", "remainder", "power", "matmul"):
        divisor = nodes[1].fact
        whole = name in ("floor_divide", "remainder") and nodes[0].dtype.kind in "if"
        known = isinstance(divisor, Public) and not nodes[1].ndim
        if not known or (name == "matmul") or (whole and not np.asarray(divisor.value) > 0):  # type: ignore[attr-defined]
            reader.unknown(f"`{name}` of columns of a table")
    first = a if isinstance(a, Series) else b
    assert isinstance(first, Series)
    for each in (a, b):
        if (
            not isinstance(each, Series)
            and node_of(reader, each).ndim
            and isinstance(node_of(reader, each).fact, Rows)
        ):
            pass
    return like(reader, first, reader.array(apply(reader, name, *nodes)))


def unary(reader: Reader, name: str, a: object) -> object:
    """-column, ~column."""
    if not isinstance(a, Series):
        reader.unknown("an operation on a whole table")
    node = node_of(reader, a)
    return like(reader, a, reader.array(apply(reader, name, node)))


def ufunc(reader: Reader, name: str, args: tuple[object, ...]) -> object:
    """np.function(column): a column."""
    if len(args) == 1:
        return unary(reader, name, args[0])
    if len(args) == 2:
        return binary(reader, name, args[0], args[1])
    reader.unknown(f"np.{name} of columns")


def chosen(reader: Reader, series: Series, mask: object) -> Series:
    """The records that a mask keeps."""
    same_labels(reader, series, mask)
    node, by = node_of(reader, series), node_of(reader, mask)
    if by.dtype.kind != "b" or by.ndim != 1 or not isinstance(node.fact, Rows):
        reader.unknown("a selection by something that is no mask")
    found = reader.graph.add("filter", node, by, axis=0)
    return Series(Array(Storage(found)), series.name, None, series.values, series.index)


def as_series(series: Series) -> Callable[..., object]:
    """What makes a real Series of released values."""
    labels, name = series.labels, series.name

    def make(values: object) -> object:
        import pandas as pd

        return pd.Series(values, index=labels, name=name)

    return make


def _numbers(reader: Reader, series: Series) -> Node:
    node = node_of(reader, series)
    if node.dtype.kind not in "biuf":
        reader.unknown("a sum or mean of text")
    return node


def no_options(reader: Reader, args: tuple[object, ...], named: dict[str, object]) -> None:
    """Refuse a method that was called with options."""
    if args or named:
        reader.unknown("this method of a column with these options")


def _may_be_nan(reader: Reader, node: Node) -> None:
    if node.fact.box.nan:
        reader.refuse(
            "private-count",
            "pandas leaves NaN out, and how many there are is private",
            "use fillna(...) first, or release a noisy sum and a noisy count",
        )


def _sum(reader: Reader, series: Series, *args: object, **named: object) -> object:
    no_options(reader, args, named)
    from dpcheck.program.lowering.reductions import total, without_nan

    node = _numbers(reader, series)
    if isinstance(node.fact, Rows):
        node = without_nan(reader, node)
    return total(reader, reader.array(node), 0)


def _over(name: str, **fixed: object) -> Callable[..., object]:
    """A method of arrays, of a column without NaN."""

    def method(reader: Reader, series: Series, *args: object, **named: object) -> object:
        from dpcheck.program.lowering import ordering, reductions

        functions = {
            "mean": reductions.mean,
            "var": reductions.variance,
            "std": reductions.deviation,
            "median": ordering.median,
        }
        node = _numbers(reader, series)
        _may_be_nan(reader, node)
        given = {**fixed, **named}
        if args or given.keys() - {"ddof"}:
            reader.unknown(f"Series.{name} with these options")
        return functions[name](reader, reader.array(node), 0, **given)

    return method


def _extreme(name: str) -> Callable[..., object]:
    def method(reader: Reader, series: Series, *args: object, **named: object) -> object:
        from dpcheck.program.lowering.ordering import _extreme as of_arrays

        no_options(reader, args, named)
        node = _numbers(reader, series)
        _may_be_nan(reader, node)
        return of_arrays(name)(reader, reader.array(node), 0)

    return method


def _quantile(reader: Reader, series: Series, q: object = 0.5) -> object:
    node = _numbers(reader, series)
    _may_be_nan(reader, node)
    level = reader.plain(q)
    if not isinstance(level, int | float):
        reader.unknown("Series.quantile at several levels")
    return reader.array(reader.graph.add("quantile", node, axes=(0,), level=float(level)))


def _count(reader: Reader, series: Series) -> object:
    node = node_of(reader, series)
    if node.dtype.kind == "O" or (node.fact.box.nan and isinstance(node.fact, Rows)):
        return _sum(reader, notna(reader, series))  # type: ignore[arg-type]
    return length(reader, node, 0)


def notna(reader: Reader, series: Series) -> object:
    """Series.notna."""
    node = node_of(reader, series)
    if node.dtype.kind == "O":
        reader.unknown("notna of a column of text")
    if node.dtype.kind != "f":
        ones = reader.graph.add("equal", node, node)
        return like(reader, series, reader.array(ones))
    missing = reader.graph.add("isnan", node)
    return like(reader, series, reader.array(reader.graph.add("logical_not", missing)))


def _isna(reader: Reader, series: Series) -> object:
    return unary(reader, "invert", notna(reader, series))


def _dropna(reader: Reader, series: Series) -> object:
    node = node_of(reader, series)
    if node.dtype.kind != "f" or not node.fact.box.nan:
        return _column_copy(reader, series)
    return chosen(reader, series, notna(reader, series))


def _column_copy(reader: Reader, series: Series, *_: object, **__: object) -> Series:
    return Series(
        Array(Storage(node_of(reader, series))),
        series.name,
        series.labels,
        series.values,
        series.index,
    )


def clip_column(
    reader: Reader, series: Series, lower: object = None, upper: object = None, **named: object
) -> object:
    """Series.clip: of two numbers the smaller one is the lower end, however they are given."""
    from dpcheck.program.lowering.functions import clip, elementwise

    if named:
        reader.unknown("Series.clip with options")
    if lower is not None and upper is not None:
        if reader.is_public([lower, upper]):
            ends = [reader.plain(each) for each in (lower, upper)]
            if all(isinstance(each, int | float | np.number) for each in ends):
                lower, upper = min(ends), max(ends)  # type: ignore[type-var]
        elif not any(node_of(reader, each).ndim for each in (lower, upper)):
            first = lower
            lower = elementwise(reader, "minimum", first, upper)
            upper = elementwise(reader, "maximum", first, upper)
    same_labels(reader, series, lower, upper)
    return like(reader, series, clip(reader, series.array, lower, upper))


def fillna(reader: Reader, series: Series, value: object) -> object:
    """Series.fillna with a public or released number."""
    if not reader.is_released(value):
        reader.unknown("fillna with a private value")
    node = _numbers(reader, series)
    from dpcheck.program.lowering.functions import where

    if node.dtype.kind != "f":
        return _column_copy(reader, series)
    missing = reader.graph.add("isnan", node)
    return like(reader, series, reader.array(where(reader, missing, reader.node(value), node)))


def _isin(reader: Reader, series: Series, values: object) -> object:
    listed = tuple(iterated(reader, values))
    if not reader.is_public(list(listed)):
        reader.unknown("isin with a private list")
    node = node_of(reader, series)
    plain = tuple(reader.plain(each) for each in listed)
    if node.dtype.kind == "O":
        place = reader.graph.add("place_of", node, categories=plain)
        found = reader.graph.add("greater_equal", place, reader.graph.constant(0))
    else:
        found = reader.graph.add("isin", node, values=plain)
    return like(reader, series, reader.array(found))


def _between(
    reader: Reader, series: Series, left: object, right: object, inclusive: object = "both"
) -> object:
    how = reader.plain(inclusive)
    low = "greater_equal" if how in ("both", "left") else "greater"
    high = "less_equal" if how in ("both", "right") else "less"
    first, second = binary(reader, low, series, left), binary(reader, high, series, right)
    return binary(reader, "bitwise_and", first, second)


def _astype(reader: Reader, series: Series, dtype: object) -> object:
    from dpcheck.program.lowering.functions import as_dtype

    kind, node = as_dtype(reader, dtype), _numbers(reader, series)
    if kind.kind in "iu" and node.dtype.kind == "f":
        box = node.fact.box
        if box.nan or not np.isfinite(box.magnitude).all():
            reader.refuse(
                "private-control",
                "pandas raises an error when NaN becomes a whole number, and the error would reveal it",
                "use fillna(...) first",
            )
    return like(reader, series, reader.array(reader.graph.add("convert", node, dtype=kind)))


def _to_numpy(reader: Reader, series: Series, *args: object, **named: object) -> object:
    no_options(reader, args, named)
    node = node_of(reader, series)
    return Array(Storage(node, "it shows a column of a table"))


def _abs(reader: Reader, series: Series) -> object:
    return unary(reader, "absolute", series)


def _round(reader: Reader, series: Series, decimals: object = 0) -> object:
    from dpcheck.program.lowering.functions import rounded

    return like(reader, series, rounded(reader, series.array, decimals))


def _truth(some: bool) -> Callable[..., object]:
    def method(reader: Reader, series: Series) -> object:
        node = node_of(reader, series)
        if node.dtype.kind != "b":
            reader.unknown("any or all of numbers")
        return reader.array(reader.graph.add("any", node, axes=(0,), some=some))

    return method


def _value_counts(reader: Reader, series: Series, **named: object) -> object:
    if reader.plain(named.pop("normalize", False)) or named.keys() - {"sort", "dropna"}:
        reader.refuse(
            "private-count",
            "value_counts(normalize=True) divides by a private number",
            "divide noisy counts",
        )
    found = Counted((node_of(reader, series),), None, "size")
    if not reader.plain(named.get("dropna", True)):
        return found
    if series.values is not None and reader.plain(named.get("sort", True)) is False:
        from dpcheck.program.lowering.tables import placed

        return placed(reader, found, series.values)  # all categories, in their order
    found.every = series.values
    return found


def _map(reader: Reader, series: Series, table: object) -> object:
    """A public dict of categories to numbers; of values that are all in it."""
    node = node_of(reader, series)
    fact = node.fact
    if isinstance(table, Function | Bound | Partial | FunctionType | type):
        return _applied(reader, series, table)
    if type(table) is not dict or not reader.is_public(table) or not isinstance(fact, Rows):
        reader.unknown("Series.map or apply")
    plain = reader.plain(table)
    assert isinstance(plain, dict)
    if fact.values is None or not all(value in plain for value in fact.values):
        reader.refuse(
            "nan",
            "Series.map gives NaN for values that are not in the dict",
            "describe the column by dpcheck.one_of(...), with all its values in the dict",
        )
    numbers = tuple(plain[value] for value in fact.values)
    if np.asarray(numbers).dtype.kind not in "biuf":
        reader.unknown("Series.map to something else than numbers")
    places = reader.graph.add("place_of", node, categories=tuple(fact.values))
    inside = reader.graph.add("maximum", places, reader.graph.constant(0))
    return like(
        reader, series, reader.array(reader.graph.add("lookup", inside, table=numbers, first=0))
    )


def _applied(reader: Reader, series: Series, function: object) -> object:
    """Series.apply: the function of each value, as Python has it."""
    from dpcheck.program.reading.calls import call
    from dpcheck.program.reading.records import each_record, listed

    node = node_of(reader, series)
    if not isinstance(node.fact, Rows):
        items = [call(reader, function, (each,), {}) for each in iterated(reader, series)]
        return like(reader, series, reader.array(reader.node(items)))
    if node.dtype.kind not in "ifO":
        reader.unknown("Series.apply of such a column")
    found = each_record(
        reader, listed(reader, node), lambda one: (call(reader, function, (one,), {}), [])
    )
    return like(reader, series, reader.array(reader.node(found)))


def _where(reader: Reader, series: Series, condition: object, other: object = None) -> object:
    if other is None:
        reader.unknown("Series.where without another value")
    from dpcheck.program.lowering.functions import where

    same_labels(reader, series, condition, other)
    found = where(
        reader, node_of(reader, condition), _numbers(reader, series), node_of(reader, other)
    )
    return like(reader, series, reader.array(found))


def _refused(name: str) -> Callable[..., object]:
    def method(reader: Reader, series: Series, *_: object, **__: object) -> object:
        if reader.is_released(series):
            function = as_series(series)
            return released_call(reader, lambda v: getattr(function(v), name)(), (series.array,))
        reader.refuse(
            "private-length",
            f"Series.{name} lists what the data hold",
            "count over public categories: value_counts().reindex(CATEGORIES, fill_value=0)",
        )

    return method


def _tolist(reader: Reader, series: Series) -> object:
    from dpcheck.program.lowering.ordering import as_list

    return as_list(reader, series.array)


SERIES: dict[str, Callable[..., object]] = {
    "sum": _sum,
    "mean": _over("mean"),
    "var": _over("var", ddof=1),
    "std": _over("std", ddof=1),
    "median": _over("median"),
    "max": _extreme("max"),
    "min": _extreme("min"),
    "quantile": _quantile,
    "count": _count,
    "notna": notna,
    "notnull": notna,
    "isna": _isna,
    "isnull": _isna,
    "dropna": _dropna,
    "copy": _column_copy,
    "clip": clip_column,
    "fillna": fillna,
    "isin": _isin,
    "between": _between,
    "astype": _astype,
    "to_numpy": _to_numpy,
    "abs": _abs,
    "round": _round,
    "any": _truth(True),
    "all": _truth(False),
    "value_counts": _value_counts,
    "map": _map,
    "apply": _applied,
    "where": _where,
    "unique": _refused("unique"),
    "nunique": _refused("nunique"),
    "tolist": _tolist,
    "to_list": _tolist,
    "to_dict": _refused("to_dict"),
}
