"""DataFrames and Series, as pandas computes with copy-on-write: NaN is left out of sums and counts."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from dpcheck.program.facts.kinds import Public, Released, Rows
from dpcheck.program.graph import Node
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
    same_labels,
)
from dpcheck.program.reading.attributes import length
from dpcheck.program.reading.expressions import iterated
from dpcheck.program.reading.public import released_call
from dpcheck.program.reading.records import Lines, each_record, listed
from dpcheck.program.reading.values import (
    BY_PLACE,
    Array,
    Counted,
    Grid,
    Grouped,
    LibraryCall,
    Listed,
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
        return Grouped(owner.table, owner.keys, _label(reader, owner.table, key), owner.every)
    if isinstance(owner, Counted):
        not_yet(reader)
    if isinstance(owner, Grid):
        return get_of_grid(reader, owner, key)
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
        if isinstance(value, Series) and value.index != BY_PLACE:
            same_labels(reader, value, next(iter(table.columns.values())))
        values = value.values if isinstance(value, Series) else None
        table.columns[name] = Series(Array(Storage(node)), name, None, values)
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
        if name in COUNTED:
            return LibraryCall(COUNTED[name], owner)
        not_yet(reader)
    if isinstance(owner, Grid):
        return _of_grid(reader, owner, name)
    if isinstance(owner, Grouped):
        if name in ("sum", "count", "size", "mean"):
            return LibraryCall(_grouped(name), owner)
        if name in owner.table.columns:
            return Grouped(owner.table, owner.keys, name, owner.every)
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
    keys = _groups(reader, table, by)
    observed = reader.plain(named.pop("observed", True))
    if named.keys() - {"sort"}:
        reader.unknown("groupby with these options")
    return Grouped(table, keys, None, not observed)


def _groups(reader: Reader, table: Table, by: object) -> tuple[Series, ...]:
    """The columns that say which group a record is in."""
    parts = by if isinstance(by, list) else [by]
    found = []
    for each in parts:
        if isinstance(each, Series):
            node = node_of(reader, each)
            same_labels(reader, each, next(iter(table.columns.values())))
            if not isinstance(node.fact, Rows) or node.fact.rows is not table.rows:
                reader.unknown("groups by a column of other records")
            found.append(each)
        else:
            found.append(table.columns[_label(reader, table, each)])
    return tuple(found)


def _pivot(
    reader: Reader,
    table: Table,
    values: object = None,
    index: object = None,
    columns: object = None,
    aggfunc: object = "mean",
    fill_value: object = None,
) -> Counted:
    """table.pivot_table of counts or sums, not yet on public labels."""
    how = "size" if aggfunc is len else reader.plain(aggfunc)
    if (
        how not in ("size", "count", "sum")
        or values is None
        or reader.plain(fill_value) not in (0,)
    ):
        reader.unknown("pivot_table of anything but counts and sums with fill_value=0")
    keys = (*_groups(reader, table, index), *_groups(reader, table, columns))
    if len(keys) != 2:
        reader.unknown("pivot_table of more than two columns")
    weight = node_of(reader, table.columns[_label(reader, table, values)])
    nodes = tuple(node_of(reader, key) for key in keys)
    return Counted(nodes, None if how == "size" else weight, str(how), table=True)


def _to_dict(reader: Reader, table: Table, orient: object = "dict") -> Listed:
    """table.to_dict("records"): the rows one by one."""
    if reader.plain(orient) != "records":
        reader.unknown("to_dict of a table of records")
    nodes = {name: node_of(reader, each) for name, each in table.columns.items()}
    if any(node.dtype.kind not in "ifO" for node in nodes.values()):
        reader.unknown("rows of such a table, one by one,")
    return Listed({name: listed(reader, node) for name, node in nodes.items()}, dict)


def _query(reader: Reader, table: Table, text: object) -> object:
    from dpcheck.program.lowering.categories import query

    return query(reader, table, text)


def _frame_clip(
    reader: Reader,
    table: Table,
    lower: object = None,
    upper: object = None,
    axis: object = None,
) -> Table:
    ends = [_ends(reader, table, each, axis) for each in (lower, upper)]
    found = {
        name: clip_column(reader, each, low, high)
        for (name, each), low, high in zip(table.columns.items(), *ends, strict=True)
    }
    return Table(found, table.rows)  # type: ignore[arg-type]


def _ends(reader: Reader, table: Table, value: object, axis: object) -> list[object]:
    """One end for each column: one number, or with axis=1 one of each."""
    many = len(table.columns)
    if not isinstance(value, list | tuple):
        return [value] * many
    if reader.plain(axis) not in (1, "columns") or len(value) != many:
        reader.unknown("DataFrame.clip with such ends")
    return list(value)


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


def _lines(reader: Reader, table: Table, *, labelled: bool) -> Lines:
    """Rows as a Series each: of one type, unless there is text among them."""
    nodes = {name: node_of(reader, each) for name, each in table.columns.items()}
    kinds = {node.dtype.kind for node in nodes.values()}
    if not kinds <= set("ifO"):
        reader.unknown("rows of such a table, one by one,")
    if kinds == {"i", "f"}:
        wide = np.dtype(float)
        nodes = {name: reader.graph.add("convert", n, dtype=wide) for name, n in nodes.items()}
    return Lines(nodes, "O" in kinds, labelled)


def _iterrows(reader: Reader, table: Table) -> Lines:
    return _lines(reader, table, labelled=True)


def _itertuples(reader: Reader, table: Table, index: object = True, name: object = "") -> Lines:
    if not reader.is_public([index, name]) or reader.plain(name) is None:
        reader.unknown("itertuples without names")
    nodes = {each: node_of(reader, one) for each, one in table.columns.items()}
    words = all(isinstance(each, str) and each.isidentifier() for each in nodes)
    if not words or any(each in ("index", "count") for each in nodes):
        reader.unknown("itertuples of columns whose names are no attributes")
    if any(node.dtype.kind not in "ifO" for node in nodes.values()):
        reader.unknown("rows of such a table, one by one,")
    return Lines(nodes, weak=True, tuple=True)


def _frame_apply(reader: Reader, table: Table, function: object, axis: object = 0) -> object:
    """table.apply(function, axis=1): a column of what it gives for every row."""
    from dpcheck.program.reading.calls import call

    if reader.plain(axis) not in (1, "columns"):
        reader.unknown("DataFrame.apply of whole columns")
    over = _lines(reader, table, labelled=False)
    column = each_record(reader, over, lambda line: (call(reader, function, (line,), {}), []))
    found = reader.node(column)
    if found.ndim != 1:
        reader.unknown("DataFrame.apply of a function that gives several values")
    return Series(Array(Storage(found)))


FRAME: dict[str, Callable[..., object]] = {
    "iterrows": _iterrows,
    "itertuples": _itertuples,
    "apply": _frame_apply,
    "to_dict": _to_dict,
    "query": _query,
    "pivot_table": _pivot,
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


def not_yet(
    reader: Reader,
    remedy: str = "put the result on public categories first: .reindex(CATEGORIES, fill_value=0)",
) -> NoReturn:
    """Refuse what has one entry for each group that appears."""
    reader.refuse("private-length", "which groups appear is decided by the data", remedy)


def _grouped(how: str) -> Callable[..., object]:
    def method(reader: Reader, groups: Grouped) -> object:
        if groups.column is None and how != "size":
            reader.unknown("an aggregate of all columns of a group; name the column")
        keys = tuple(node_of(reader, key) for key in groups.keys)
        value = (
            None if groups.column is None else node_of(reader, groups.table.columns[groups.column])
        )
        found = Counted(keys, value, how)
        # A categorical column has its categories in its type: observed=False gives all of them.
        if groups.every and len(keys) == 1 and groups.keys[0].values is not None:
            return placed(reader, found, groups.keys[0].values)
        return found

    return method


def _reindex(
    reader: Reader,
    counted: Counted,
    index: object = None,
    columns: object = None,
    fill_value: object = None,
) -> object:
    given = [each for each in (index, columns) if each is not None]
    complete = fill_value is not None or counted.every is not None
    if not given or not reader.is_public(given) or not complete:
        reader.refuse(
            "private-length",
            "groups without records become NaN, and which those are is private",
            "use .reindex(PUBLIC_CATEGORIES, fill_value=0)",
        )
    if fill_value is not None and reader.plain(fill_value) != 0:
        reader.unknown("reindex with another fill_value than 0")
    if not counted.table and columns is not None:
        reader.unknown("reindex of columns that are not there")
    if counted.table and len(given) < 2:
        not_yet(reader, "pass index=[...] and columns=[...], both public, with fill_value=0")
    sides = [tuple(reader.plain(each) for each in iterated(reader, side)) for side in given]
    if any(len(set(labels)) < len(labels) for labels in sides):
        reader.unknown("reindex with a category twice")
    if counted.every is not None and not set(sides[0]) <= set(counted.every):
        reader.unknown("reindex with categories that the column does not have")
    if not counted.table:
        return placed(reader, counted, sides[0])
    pairs = tuple(itertools.product(*sides))
    flat = node_of(reader, placed(reader, counted, pairs))
    shape = (len(sides[0]), len(sides[1]))
    return Grid(Array(Storage(reader.graph.add("reshape", flat, shape=shape))), *sides)


def _unstack(reader: Reader, counted: Counted, fill_value: object = None) -> Counted:
    """groupby([a, b]).size().unstack(): a table, not yet on public labels."""
    if len(counted.keys) != 2 or counted.table or reader.plain(fill_value) != 0:
        reader.unknown("unstack without fill_value=0, or of other than two groups")
    return Counted(counted.keys, counted.weight, counted.how, table=True)


def _sort_index(reader: Reader, counted: Counted) -> object:
    """All categories of a column of categories, in their order."""
    if counted.every is None:
        not_yet(reader)
    return placed(reader, counted, counted.every)


def placed(reader: Reader, counted: Counted, labels: tuple[object, ...]) -> Series:
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
    places = _places(reader, counted, labels)
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


def _places(reader: Reader, counted: Counted, labels: tuple[object, ...]) -> Node:
    """The place of each record among the labels: single ones, or pairs, of which all are there."""
    graph = reader.graph
    if len(counted.keys) == 1:
        return graph.add("place_of", counted.keys[0], categories=labels)
    if len(counted.keys) != 2 or any(type(e) is not tuple or len(e) != 2 for e in labels):
        reader.unknown("groups by more than two columns, or labels that are no pairs")
    sides = [tuple(dict.fromkeys(each[i] for each in labels)) for i in range(2)]  # type: ignore[index]
    if labels != tuple(itertools.product(*sides)):
        reader.unknown("pairs that are not all pairs of some labels, in order")
    first, second = (
        graph.add("place_of", key, categories=side)
        for key, side in zip(counted.keys, sides, strict=True)
    )
    low = graph.constant(0)
    both = graph.add(
        "logical_and",
        graph.add("greater_equal", first, low),
        graph.add("greater_equal", second, low),
    )
    scaled = graph.add("multiply", first, graph.constant(len(sides[1])))
    return graph.add("select", both, graph.add("add", scaled, second), graph.constant(-1))


COUNTED: dict[str, Callable[..., object]] = {
    "reindex": _reindex,
    "get": lambda *args: _get(*args),
    "unstack": _unstack,
    "sort_index": _sort_index,
}


def _of_grid(reader: Reader, grid: Grid, name: str) -> object:
    node = grid.array.node(reader.graph)
    if name in ("values", "to_numpy"):
        found = Array(Storage(node))
        return found if name == "values" else LibraryCall(lambda *_: found, grid)
    if name == "shape":
        return (len(grid.rows), len(grid.columns))
    if name in ("index", "columns"):
        return list(grid.rows if name == "index" else grid.columns)
    if isinstance(node.fact, Released):
        from dpcheck.program.reading.values import Method

        return Method(released_grid(reader, grid), name)
    reader.unknown(f"DataFrame.{name} of a cross table without noise")


def get_of_grid(reader: Reader, grid: Grid, key: object) -> object:
    """A column of a cross table by its label."""
    label = reader.plain(key)
    if label not in grid.columns:
        reader.refuse("failed", f"there is no column {label!r}", "fix the code")
    place = (slice(None), grid.columns.index(label))
    found = reader.graph.add("index", grid.array.node(reader.graph), key=place)
    return Series(Array(Storage(found)), label, grid.rows)


def released_grid(reader: Reader, grid: Grid) -> object:
    """The table itself, once noise was added."""
    rows, columns = grid.rows, grid.columns

    def make(values: object) -> object:
        import pandas as pd

        return pd.DataFrame(values, index=list(rows), columns=list(columns))

    return released_call(reader, make, (grid.array,))


def grid_binary(reader: Reader, name: str, a: object, b: object) -> object:
    """A cross table with numbers, or with an array of its shape."""
    from dpcheck.program.reading.operators import binary as plain_binary

    grid = a if isinstance(a, Grid) else b
    assert isinstance(grid, Grid)
    other = b if grid is a else a
    if isinstance(other, Grid | Series | Table | Opaque):
        reader.unknown("two tables together")
    parts = [each.array if isinstance(each, Grid) else each for each in (a, b)]
    found = reader.node(plain_binary(reader, name, *parts))
    if tuple(found.shape) != (len(grid.rows), len(grid.columns)):
        reader.unknown("a cross table that becomes something else")
    return Grid(Array(Storage(found)), grid.rows, grid.columns)


def _get(reader: Reader, counted: Counted, label: object, other: object = None) -> object:
    """value_counts().get("A", 0): the number of records of one public category."""
    if (
        len(counted.keys) != 1
        or reader.plain(other) != 0
        or counted.how not in ("size", "count")
        or counted.weight is not None
    ):
        not_yet(reader)
    node = counted.keys[0]
    public = reader.plain(label)
    found = (
        reader.graph.add("is_value", node, public=public)
        if node.dtype.kind == "O"
        else reader.graph.add("equal", node, reader.graph.constant(public))
    )
    return reader.array(reader.graph.add("sum", found, axes=(0,), dtype=np.dtype(np.int64)))
