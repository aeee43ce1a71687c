"""The inputs of a program: symbols for every dataset like an example, or that fits a description."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.errors import InvalidRecords
from dpcheck.core.records import Field, Number, OneOf, Records
from dpcheck.program.facts import boxes
from dpcheck.program.facts.boxes import Box, DType
from dpcheck.program.facts.rowsets import RowSet
from dpcheck.program.listed import columns_of
from dpcheck.program.reading.values import Array, Listed, Series, Storage, Table
from dpcheck.program.rules.common import rowwise

if TYPE_CHECKING:
    from dpcheck.program.graph import Node
    from dpcheck.program.reading.reader import Reader

NULL = "the null record of zero-out is a row of zeros"
DATA = "the data outlive the call"


def described(reader: Reader, data: object, form: str | None) -> object:
    """A symbol for every dataset like `data`."""
    if isinstance(data, Records):
        return _fitting(reader, data, form)
    _check_example(data)
    count = _count(data)
    if count == 0:
        raise InvalidRecords("an example needs at least one row.")
    if reader.graph.adjacency is Adjacency.ZERO_OUT:
        reader.graph.assumes[NULL] = None
    rows = RowSet(count if reader.graph.public_rows else None)
    return _like(reader, data, rows, "data")


def alike(first: object, second: object, adjacency: Adjacency) -> bool:
    """Whether a proof for all data like the first example speaks about the second."""
    _check_example(first)
    _check_example(second)
    public_rows = adjacency is not Adjacency.ADD_REMOVE
    return _form(first, public_rows) == _form(second, public_rows)


def _form(data: object, public_rows: bool) -> object:
    """All that `described` uses of an example; an empty one has a form, too."""
    kind = type(data)
    if isinstance(data, tuple | dict):
        parts = data.items() if isinstance(data, dict) else enumerate(data)
        return kind, [(key, _form(part, public_rows)) for key, part in parts]
    count = _count(data) if public_rows else None
    if kind.__name__ == "DataFrame" and hasattr(data, "dtypes"):
        return kind, [(key, _column_type(each)) for key, each in data.dtypes.items()], count
    if kind.__name__ == "Series" and hasattr(data, "dtype"):
        return kind, _column_type(data.dtype), count
    items = columns_of(data)
    if items is not None and isinstance(data, list):
        types = [(key, _listed_type(part)) for key, part in items.items()]
        return kind, type(data[0]), types, count
    found = np.asarray(data)
    return kind, found.dtype, found.shape[1:], count


def _column_type(dtype: object) -> object:
    return str(dtype), tuple(getattr(dtype, "categories", ()))


def _check_example(data: object) -> None:
    """Only exact types: subclasses of arrays and tables may compute otherwise."""
    if type(data) in (tuple, dict):
        for part in data.values() if isinstance(data, dict) else data:  # type: ignore[attr-defined]
            _check_example(part)
        return
    kind = type(data)
    name = f"{kind.__module__}.{kind.__qualname__}"
    table = kind.__module__.startswith("pandas") and kind.__name__ in ("DataFrame", "Series")
    if kind not in (np.ndarray, list) and not table:
        raise InvalidRecords(
            f"an example is a plain array with one row per record, a list, a DataFrame, a tuple or a dict of "
            f"arrays, or dpcheck.records(...); not a {name.removeprefix('builtins.')}."
        )
    if kind is list and columns_of(data) is None:
        try:
            np.asarray(data)
        except ValueError:
            raise InvalidRecords("the rows of the example have different lengths.") from None
    if kind.__name__ == "DataFrame" and not data.columns.is_unique:  # type: ignore[attr-defined]
        raise InvalidRecords("the example has two columns of the same name.")


def _count(data: object) -> int:
    """How many records an example has."""
    if isinstance(data, tuple | dict):
        parts = list(data.values()) if isinstance(data, dict) else list(data)
        counts = {_count(part) for part in parts}
        if len(counts) == 1:
            return counts.pop()
        raise InvalidRecords("the arrays of the example have different numbers of rows.")
    if isinstance(data, list):
        return len(data)
    shape: tuple[int, ...] = getattr(data, "shape", ())
    if len(shape) == 0:
        raise InvalidRecords(
            "an example is an array with one row per record, a DataFrame, a tuple or a dict of arrays, or "
            "dpcheck.records(...)."
        )
    return int(shape[0])


def _like(reader: Reader, data: object, rows: RowSet, name: str) -> object:
    if isinstance(data, tuple):
        return tuple(_like(reader, part, rows, f"{name}[{i}]") for i, part in enumerate(data))
    if isinstance(data, dict):
        return {key: _like(reader, part, rows, f"{name}[{key!r}]") for key, part in data.items()}
    if type(data).__name__ == "DataFrame" and hasattr(data, "dtypes"):
        columns = {}
        for key, kind in data.dtypes.items():
            listed = tuple(kind.categories) if hasattr(kind, "categories") else None
            plain = kind if isinstance(kind, np.dtype) else np.dtype(object)
            array = _column(reader, rows, plain, _any_value(plain), f"{name}[{key!r}]", listed)
            columns[key] = Series(array, key, values=listed)
        return Table(columns, rows, locked=True)
    if type(data).__name__ == "Series" and hasattr(data, "to_numpy"):
        given = getattr(data, "dtype", None)
        kind = given if isinstance(given, np.dtype) else np.dtype(object)
        return Series(_column(reader, rows, kind, _any_value(kind), name, None))
    items = columns_of(data)
    if items is not None and isinstance(data, list):
        parts = {
            key: _listed_column(reader, part, rows, f"{name}[{key!r}]")
            for key, part in items.items()
        }
        return Listed(parts, type(data[0]))
    found = np.asarray(data)
    if found.dtype.kind not in "biuf":
        raise InvalidRecords("an example of numbers is needed, or dpcheck.records(...).")
    node = _rows(reader, rows, found.shape[1:], found.dtype, _any_value(found.dtype), name)
    return Array(Storage(node, DATA), form=list if isinstance(data, list) else None)


def _listed_column(reader: Reader, values: list[object], rows: RowSet, name: str) -> Array:
    """One item of every record of a list: numbers or text."""
    dtype = _listed_type(values)
    if dtype is None:
        raise InvalidRecords(f"{name} of the example holds something else than numbers, or text.")
    return _plain(_column(reader, rows, dtype, _any_value(dtype), name, None))


def _listed_type(values: list[object]) -> DType | None:
    """Numbers as numpy holds them, text as an object; None of anything else."""
    dtype = np.asarray(values).dtype
    if dtype.kind == "U" and all(type(each) is str for each in values):
        return np.dtype(object)
    return dtype if dtype.kind in "biuf" else None


def _any_value(dtype: DType) -> Box:
    """Everything an example's type admits; 0, the null record, is among it."""
    return boxes.WHOLE if dtype.kind not in "biu" else boxes.of_dtype(dtype)


def _rows(
    reader: Reader,
    rows: RowSet,
    rest: tuple[int, ...],
    dtype: DType,
    box: Box,
    name: str,
    values: tuple[object, ...] | None = None,
) -> Node:
    made = rowwise(
        reader.graph,
        (rows, *rest),
        dtype,
        box.broadcast((1, *rest)),
        rows,
        0,
        zero_null=dtype.kind in "biuf",
        values=values,
    )
    return reader.graph.given("data", made.shape, made.dtype, made.fact, source=name)


def _plain(column: Array) -> Array:
    """The values of a column as Python has them, in a list."""
    return Array(column.storage, form=list)


def _column(
    reader: Reader,
    rows: RowSet,
    dtype: DType,
    box: Box,
    name: str,
    values: tuple[object, ...] | None,
) -> Array:
    return Array(Storage(_rows(reader, rows, (), dtype, box, name, values), DATA))


def _fitting(reader: Reader, description: Records, form: str | None) -> object:
    """A symbol for the datasets that fit a description."""
    graph = reader.graph
    if description.rows is None and graph.public_rows:
        raise InvalidRecords(
            f"under {graph.adjacency} the number of rows is public: add it, "
            "dpcheck.records(..., rows=1000).",
        )
    rows = RowSet(description.rows if graph.public_rows else None)
    numbers = [field for _, field in description.fields if isinstance(field, Number)]
    if form is None:
        form = "array" if len(numbers) == len(description.fields) else "pandas"
    graph.assumes["every record fits the description of the data"] = None
    if graph.adjacency is Adjacency.ZERO_OUT:
        graph.assumes[NULL] = None
    if form in ("array", "values"):
        return _table_of_numbers(reader, description, rows, form)
    if form not in ("pandas", "columns", "dicts"):
        raise InvalidRecords(
            f"a proof takes form 'array', 'values', 'pandas', 'columns' or 'dicts', not {form!r}."
        )
    columns: dict[object, Array] = {}
    for name, field in description.fields:
        kind, box, listed = _typed(reader, field)
        columns[name] = _column(reader, rows, kind, box, f"data[{name!r}]", listed)
    if form == "columns":
        return dict(columns)
    if form == "dicts":
        return Listed({name: _plain(array) for name, array in columns.items()}, dict)
    return Table({name: Series(array, name) for name, array in columns.items()}, rows, locked=True)


def _table_of_numbers(reader: Reader, description: Records, rows: RowSet, form: str) -> object:
    numbers = [field for _, field in description.fields if isinstance(field, Number)]
    if len(numbers) < len(description.fields):
        other = next(name for name, field in description.fields if not isinstance(field, Number))
        raise InvalidRecords(
            f"in an array or a list a proof follows dpcheck.number only, and {other} is described "
            "otherwise; write the function for form='pandas' or 'columns'."
        )
    found = [_box(reader, field) for field in numbers]
    box = Box(
        np.array([float(each.lo) for each in found])[None],
        np.array([float(each.hi) for each in found])[None],
        any(field.missing for field in numbers),
    )
    rest: tuple[int, ...] = (len(numbers),) if len(numbers) > 1 else ()
    if not rest:
        box = box.mapped(lambda end: end.reshape(1))
    values = _few(reader, numbers[0]) if not rest else None
    node = _rows(reader, rows, rest, np.dtype(float), box, "data", values)
    return Array(Storage(node, DATA), form=list if form == "values" else None)


def _few(reader: Reader, field: Number) -> tuple[object, ...] | None:
    """The values of a column of few whole numbers; 0 is one of them where a record may become null."""
    low, high = field.low, field.high
    if not field.integer or field.missing or not 0 <= high - low < 64:
        return None
    listed = {float(v) for v in range(math.ceil(low), math.floor(high) + 1)}
    null = {0.0} if reader.graph.adjacency is Adjacency.ZERO_OUT else set()
    return tuple(sorted(listed | null))


def _box(reader: Reader, field: Number) -> Box:
    low, high = field.low, field.high
    if reader.graph.adjacency is Adjacency.ZERO_OUT:
        low, high = min(low, 0.0), max(high, 0.0)
    most = float(np.finfo(float).max)
    if math.isinf(low) and not field.missing:
        low = -most
    if math.isinf(high) and not field.missing:
        high = most
    return boxes.box(low, high, field.missing)


def _typed(reader: Reader, field: Field) -> tuple[DType, Box, tuple[object, ...] | None]:
    if isinstance(field, Number):
        kind: DType = np.dtype(np.int64 if field.integer else float)
        return kind, boxes.fitted(_box(reader, field), kind), None
    values = field.values if isinstance(field, OneOf) else None
    zero_out = reader.graph.adjacency is Adjacency.ZERO_OUT
    if values is not None and all(type(v) is int for v in values):
        if zero_out and 0 not in values:
            values = (*values, 0)  # the null record
        ends = [float(v) for v in values if isinstance(v, int)]
        return np.dtype(np.int64), boxes.box(min(ends), max(ends)), values
    if zero_out:
        reader.graph.refuse(
            "zero-out",
            "a record of text has no null record of zeros",
            "state the claim under replace-one or add-remove",
        )
    return np.dtype(object), boxes.WHOLE, values


def form_of(data: object) -> str:
    """How a dataset is handed over."""
    if columns_of(data) is not None:
        return "dicts"
    if isinstance(data, dict):
        return "columns"
    if hasattr(data, "columns"):
        return "pandas"
    return "values" if isinstance(data, list) else "array"
