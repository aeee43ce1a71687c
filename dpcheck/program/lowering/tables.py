"""DataFrames and Series, as pandas computes with copy-on-write: NaN is left out of sums and counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from dpcheck.program.facts.kinds import Public, Released, Rows
from dpcheck.program.lowering.columns import (
    SERIES,
    as_series,
    binary,
    chosen,
    clip_column,
    fillna,
    no_options,
    node_of,
    notna,
)
from dpcheck.program.reading.attributes import length
from dpcheck.program.reading.expressions import iterated
from dpcheck.program.reading.public import released_call
from dpcheck.program.reading.values import (
    Array,
    Counted,
    Grouped,
    LibraryCall,
    Locator,
    Opaque,
    Scalar,
    Series,
    Storage,
    Table,
    Value,
)

if TYPE_CHECKING:
    from dpcheck.program.reading.reader import Reader


# Items ------------------------------------------------------------------------------------------------


def get_item(reader: Reader, owner: object, key: object) -> object:
    """table[key], column[key], groups[key], table.loc[key]."""
    if isinstance(owner, Locator):
        return _located(reader, owner, key)
    if isinstance(owner, Grouped):
        return Grouped(owner.table, owner.key, _label(reader, owner.table, key), owner.every)
    if isinstance(owner, Counted):
        _not_yet(reader)
    if isinstance(owner, Table):
        return _of_table(reader, owner, key)
    assert isinstance(owner, Series)
    if isinstance(key, Series | Array) and not reader.is_public(key):
        return chosen(reader, owner, key)
    if owner.labels is not None and reader.is_public(key):
        plain = reader.plain(key)
        if plain in owner.labels:
            return reader.array(
                reader.graph.add("index", node_of(reader, owner), key=(owner.labels.index(plain),))
            )
    reader.unknown("this index into a column")


def _label(reader: Reader, table: Table, key: object) -> object:
    name = reader.plain(key)
    if isinstance(name, list) and len(name) == 1:
        name = name[0]
    if name not in table.columns:
        reader.refuse("failed", f"there is no column {name!r}", "fix the code")
    return name


def _of_table(reader: Reader, table: Table, key: object) -> object:
    if isinstance(key, Series | Array) and not reader.is_public(key):
        columns = {name: chosen(reader, each, key) for name, each in table.columns.items()}
        rows = next(iter(columns.values())).array.node(reader.graph).fact.rows  # type: ignore[attr-defined]
        return Table(columns, rows)
    plain = reader.plain(key)
    if isinstance(plain, list):
        if len(set(plain)) < len(plain):
            reader.unknown("a table with a column twice")
        return Table({name: _column(reader, table, name) for name in plain}, table.rows)
    return _column(reader, table, plain)


def _column(reader: Reader, table: Table, name: object) -> Series:
    """A column as an object of its own: with copy-on-write nobody sees it being written."""
    if name not in table.columns:
        reader.refuse("failed", f"there is no column {name!r}", "fix the code")
    found = table.columns[name]
    return Series(Array(Storage(node_of(reader, found))), name, found.labels, found.values)


def _located(reader: Reader, owner: Locator, key: object) -> object:
    """table.loc[mask, columns]."""
    rows, columns = key if type(key) is tuple and len(key) == 2 else (key, None)
    found: object = owner.table
    if isinstance(found, Series):
        return get_item(reader, found, key)
    if not (isinstance(rows, slice) and rows == slice(None)):
        if not isinstance(rows, Series | Array):
            reader.unknown("table.loc with labels of rows")
        found = get_item(reader, found, rows)
    return found if columns is None else get_item(reader, found, columns)


def check_copies(reader: Reader) -> None:
    """Who else sees a write is known only where pandas copies on write."""
    import pandas as pd

    if int(pd.__version__.split(".")[0]) < 3 and not pd.options.mode.copy_on_write:
        reader.refuse(
            "aliases",
            "a table is written, and this version of pandas may share its memory with others",
            "use pandas 3, or set pd.options.mode.copy_on_write = True",
        )


def set_item(reader: Reader, table: Table, key: object, value: object) -> None:
    """table[key] = value."""
    if table.locked:
        reader.refuse(
            "outlives",
            "the table that was handed in is changed, and stays changed after the call",
            "copy it first: df = df.copy()",
        )
    check_copies(reader)
    if reader.guarded:
        reader.unknown("a column that is written on one path only")
    name = reader.plain(key)
    node = node_of(reader, value)
    if isinstance(node.fact, Rows) and node.fact.rows is table.rows and node.ndim == 1:
        table.columns[name] = Series(Array(Storage(node)), name)
        return
    if isinstance(node.fact, Public | Released) and not node.ndim and node.dtype.kind in "biuf":
        first = node_of(reader, next(iter(table.columns.values())))
        ones = reader.graph.add("ones", first, axis=0)
        kind = node.dtype
        wide = reader.graph.add("multiply", reader.graph.add("convert", ones, dtype=kind), node)
        table.columns[name] = Series(Array(Storage(wide)), name)
        return
    reader.refuse(
        "mixed-records",
        "a column of other records is written into a table",
        "use columns of the same selection",
    )


# Attributes and methods ------------------------------------------------------------------------------------


def attribute(reader: Reader, owner: object, name: str) -> object:
    """owner.name."""
    if isinstance(owner, Counted):
        if name == "reindex":
            return LibraryCall(_reindex, owner)
        if name == "get":
            return LibraryCall(_get, owner)
        _not_yet(reader)
    if isinstance(owner, Grouped):
        if name in ("sum", "count", "size", "mean"):
            return LibraryCall(_grouped(name), owner)
        if name in owner.table.columns:
            return Grouped(owner.table, owner.key, name, owner.every)
        reader.unknown(f"groupby().{name}")
    if isinstance(owner, Table):
        return _of_frame(reader, owner, name)
    assert isinstance(owner, Series)
    return _of_series(reader, owner, name)


def _of_frame(reader: Reader, table: Table, name: str) -> object:
    if name in FRAME:
        return LibraryCall(FRAME[name], table)
    if name == "loc":
        return Locator(table)
    if name == "columns":
        return list(table.columns)
    first = node_of(reader, next(iter(table.columns.values())))
    if name == "shape":
        return (length(reader, first, 0), len(table.columns))
    if name == "values":
        return to_numpy(reader, table)
    if name == "index":
        reader.unknown("the labels of rows")
    if name in table.columns:
        return _column(reader, table, name)
    reader.unknown(f"DataFrame.{name}")


def _of_series(reader: Reader, series: Series, name: str) -> object:
    node = node_of(reader, series)
    if name in SERIES:
        return LibraryCall(SERIES[name], series)
    if name == "values":
        return Array(Storage(node, "it shows a column of a table"))
    if name == "loc":
        return Locator(series)
    if name == "dtype":
        return node.dtype
    if name in ("size", "shape"):
        found = length(reader, node, 0)
        return found if name == "size" else (found,)
    if name == "name":
        return series.name
    if name == "index" and series.labels is not None:
        return list(series.labels)
    if isinstance(node.fact, Released):
        from dpcheck.program.reading.values import Method

        return Method(
            Opaque(reader.node(released_call(reader, as_series(series), (series.array,)))), name
        )
    reader.unknown(f"Series.{name}")


def to_numpy(reader: Reader, table: object, *args: object, **named: object) -> object:
    """All columns, which must be numbers, as an array."""
    if args or named:
        reader.unknown("to_numpy with options")
    assert isinstance(table, Table)
    from dpcheck.program.lowering.joining import stacked

    nodes = [node_of(reader, each) for each in table.columns.values()]
    if any(node.dtype.kind not in "biuf" for node in nodes):
        reader.unknown("a table with text as an array")
    return reader.array(stacked(reader, nodes, 1))


# Tables ---------------------------------------------------------------------------------------------------


def _copy(reader: Reader, table: Table, *_: object, **__: object) -> Table:
    return Table({name: _column(reader, table, name) for name in table.columns}, table.rows)


def _assign(reader: Reader, table: Table, **columns: object) -> Table:
    from dpcheck.program.reading.calls import call

    found = _copy(reader, table)
    for name, value in columns.items():
        given = value
        if not isinstance(value, Series | Array | Scalar) and (
            callable(value) or isinstance(value, Value)
        ):
            given = call(reader, value, (found,), {})
        set_item(reader, found, name, given)
    return found


def _groupby(reader: Reader, table: Table, by: object, **named: object) -> Grouped:
    key = _label(reader, table, by)
    observed = reader.plain(named.pop("observed", True))
    if named.keys() - {"sort"}:
        reader.unknown("groupby with these options")
    return Grouped(table, key, None, not observed)


def _frame_clip(reader: Reader, table: Table, lower: object = None, upper: object = None) -> Table:
    found = {name: clip_column(reader, each, lower, upper) for name, each in table.columns.items()}
    return Table(found, table.rows)  # type: ignore[arg-type]


def _frame_fillna(reader: Reader, table: Table, value: object) -> Table:
    found = {name: fillna(reader, each, value) for name, each in table.columns.items()}
    return Table(found, table.rows)  # type: ignore[arg-type]


def _frame_dropna(reader: Reader, table: Table, subset: object = None) -> Table:
    plain = reader.plain(subset)
    names = (
        list(table.columns) if plain is None else (plain if isinstance(plain, list) else [plain])
    )
    mask: object = None
    for name in names:
        series = table.columns[name]
        node = node_of(reader, series)
        if node.dtype.kind == "O":
            reader.unknown("dropna of a column of text")
        if node.dtype.kind != "f" or not node.fact.box.nan:
            continue
        there = notna(reader, series)
        mask = there if mask is None else binary(reader, "bitwise_and", mask, there)
    return _copy(reader, table) if mask is None else _of_table(reader, table, mask)  # type: ignore[return-value]


def _drop(
    reader: Reader, table: Table, *labels: object, columns: object = None, **named: object
) -> Table:
    if labels or named or columns is None:
        reader.unknown("drop of rows")
    plain = reader.plain(columns)
    gone = plain if isinstance(plain, list) else [plain]
    return Table(
        {name: _column(reader, table, name) for name in table.columns if name not in gone},
        table.rows,
    )


def _frame_reduce(name: str) -> Callable[..., object]:
    def method(reader: Reader, table: Table, *args: object, **named: object) -> object:
        from dpcheck.program.lowering.joining import stacked

        no_options(reader, args, named)
        parts = [SERIES[name](reader, each) for each in table.columns.values()]
        found = stacked(reader, [reader.node(part) for part in parts], 0)
        return Series(Array(Storage(found)), None, tuple(table.columns))

    return method


FRAME: dict[str, Callable[..., object]] = {
    "copy": _copy,
    "assign": _assign,
    "groupby": _groupby,
    "to_numpy": to_numpy,
    "clip": _frame_clip,
    "fillna": _frame_fillna,
    "dropna": _frame_dropna,
    "drop": _drop,
    "sum": _frame_reduce("sum"),
    "mean": _frame_reduce("mean"),
}


# Groups -----------------------------------------------------------------------------------------------------


def _not_yet(reader: Reader) -> NoReturn:
    reader.refuse(
        "private-length",
        "which groups appear is decided by the data",
        "put the result on public categories first: .reindex(CATEGORIES, fill_value=0)",
    )


def _grouped(how: str) -> Callable[..., object]:
    def method(reader: Reader, groups: Grouped) -> object:
        if groups.column is None and how != "size":
            reader.unknown("an aggregate of all columns of a group; name the column")
        key = groups.table.columns[groups.key]
        value = (
            None if groups.column is None else node_of(reader, groups.table.columns[groups.column])
        )
        found = Counted((node_of(reader, key),), value, how)
        # A categorical column has its categories in its type: observed=False gives all of them.
        if groups.every and key.values is not None:
            return _placed(reader, found, key.values)
        return found

    return method


def _reindex(
    reader: Reader, counted: Counted, index: object = None, fill_value: object = None
) -> object:
    if index is None or not reader.is_public(index) or fill_value is None:
        reader.refuse(
            "private-length",
            "groups without records become NaN, and which those are is private",
            "use .reindex(PUBLIC_CATEGORIES, fill_value=0)",
        )
    if reader.plain(fill_value) != 0:
        reader.unknown("reindex with another fill_value than 0")
    labels = tuple(reader.plain(each) for each in iterated(reader, index))
    if len(set(labels)) < len(labels):
        reader.unknown("reindex with a category twice")
    return _placed(reader, counted, labels)


def _placed(reader: Reader, counted: Counted, labels: tuple[object, ...]) -> Series:
    """One entry for each public category."""
    from dpcheck.program.lowering.counting import binned
    from dpcheck.program.lowering.reductions import without_nan

    if counted.how == "mean":
        reader.refuse(
            "private-count",
            "a mean of a group divides by the private number of its records",
            "release noisy sums and noisy counts, and divide those",
        )
    weight = counted.weight
    places = reader.graph.add("place_of", counted.keys[0], categories=labels)
    if (
        counted.how == "count"
        and weight is not None
        and weight.fact.box.nan
        and weight.dtype.kind == "f"
    ):
        there = reader.graph.add("logical_not", reader.graph.add("isnan", weight))
        weight = reader.graph.add("convert", there, dtype=np.dtype(float))
        found = reader.graph.add(
            "convert", binned(reader, places, len(labels), weight), dtype=np.dtype(np.int64)
        )
    elif counted.how == "sum" and weight is not None:
        if weight.dtype.kind not in "biuf":
            reader.unknown("sums of text")
        found = binned(reader, places, len(labels), without_nan(reader, weight))
        if weight.dtype.kind != "f":
            reader.unknown("sums of groups of whole numbers")
    else:
        found = binned(reader, places, len(labels))
    return Series(Array(Storage(found)), None, labels)


def _get(reader: Reader, counted: Counted, label: object, other: object = None) -> object:
    """value_counts().get("A", 0): the number of records of one public category."""
    if (
        reader.plain(other) != 0
        or counted.how not in ("size", "count")
        or counted.weight is not None
    ):
        _not_yet(reader)
    node = counted.keys[0]
    public = reader.plain(label)
    found = (
        reader.graph.add("is_value", node, public=public)
        if node.dtype.kind == "O"
        else reader.graph.add("equal", node, reader.graph.constant(public))
    )
    return reader.array(reader.graph.add("sum", found, axes=(0,), dtype=np.dtype(np.int64)))
