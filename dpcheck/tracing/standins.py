"""Symbols for a dataset: from an example, of which only shapes and types are read, or from a description."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.data import Data
from dpcheck.core.errors import InvalidRecords
from dpcheck.core.records import Number, OneOf, Records
from dpcheck.tracing.facts import boxes
from dpcheck.tracing.facts.boxes import Box, DType
from dpcheck.tracing.facts.rowsets import RowSet
from dpcheck.tracing.facts.sizes import Size
from dpcheck.tracing.tables import Column, Table
from dpcheck.tracing.values import PRIVATE, Rows

if TYPE_CHECKING:
    from dpcheck.tracing.tracer import Tracer


def stand_in(tracer: Tracer, data: Data, form: str | None) -> Data:
    """A symbol for every dataset like `data`."""
    if isinstance(data, Records):
        return _described(tracer, data, form)
    count = _count(data)
    rows = RowSet(count if tracer.public_rows else None)
    return _like(tracer, data, rows, count)


def _count(data: Data) -> int:
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


def _like(tracer: Tracer, data: Data, rows: RowSet, count: int) -> Data:
    if isinstance(data, tuple):
        return tuple(_like(tracer, part, rows, count) for part in data)
    if isinstance(data, dict):
        return {name: _like(tracer, part, rows, count) for name, part in data.items()}
    if type(data).__name__ == "DataFrame" and hasattr(data, "dtypes"):
        kinds = {
            name: np.dtype(kind) if isinstance(kind, np.dtype) else np.dtype(object)
            for name, kind in data.dtypes.items()
        }
        columns = {
            name: column(tracer, rows, kind, _any_value(tracer, kind))
            for name, kind in kinds.items()
        }
        for name, kind in data.dtypes.items():
            if hasattr(kind, "categories"):
                columns[name].categories = list(kind.categories)
                columns[name].categorical = True
        return Table(tracer, rows, columns)
    if type(data).__name__ == "Series" and hasattr(data, "to_numpy"):
        kind = data.dtype if isinstance(data.dtype, np.dtype) else np.dtype(object)
        return column(tracer, rows, kind, _any_value(tracer, kind))
    found = np.asarray(data)
    return array(tracer, rows, found.shape[1:], found.dtype, _any_value(tracer, found.dtype))


def _any_value(tracer: Tracer, dtype: DType) -> Box:
    """Everything an example's type admits, the null record of zero-out included."""
    if dtype.kind == "f":
        return boxes.WHOLE
    if tracer.adjacency is Adjacency.ZERO_OUT:
        tracer.assumes["the null record of zero-out is a row of zeros"] = None
    return boxes.of_dtype(dtype)


def array(tracer: Tracer, rows: RowSet, rest: tuple[int, ...], dtype: DType, box: Box) -> Rows:
    """An array with one row per record."""
    count = PRIVATE if rows.count is None else rows.count
    element = (1, *rest)
    full = Box(
        np.broadcast_to(box.lo, element), np.broadcast_to(box.hi, element), box.nan, box.plain_zero
    )
    return Rows(tracer, (count, *rest), dtype, full, rows, 0, Size(np.asarray(np.inf)))


def column(tracer: Tracer, rows: RowSet, dtype: DType, box: Box, values: Data = None) -> Column:
    """A column of a table."""
    plain = array(tracer, rows, (), dtype, box)
    return Column.of(plain, values)


def _described(tracer: Tracer, description: Records, form: str | None) -> Data:
    """A symbol for the datasets that fit a description."""
    if description.rows is None and tracer.public_rows:
        raise InvalidRecords(
            f"under {tracer.adjacency} the number of rows is public: say it, "
            "dpcheck.records(..., rows=1000).",
        )
    rows = RowSet(description.rows if tracer.public_rows else None)
    numbers = [field for _, field in description.fields if isinstance(field, Number)]
    if form is None:
        form = "array" if len(numbers) == len(description.fields) else "pandas"
    tracer.assumes["every record fits the description of the data"] = None
    if form in ("array", "values"):
        if len(numbers) < len(description.fields):
            other = next(
                name for name, field in description.fields if not isinstance(field, Number)
            )
            raise InvalidRecords(
                f"in an array or a list a proof follows dpcheck.number only, and {other} is described "
                "otherwise; write the function for form='pandas' or 'columns'."
            )
        lows = np.array([_box(tracer, field).lo for field in numbers], dtype=float)
        highs = np.array([_box(tracer, field).hi for field in numbers], dtype=float)
        missing = any(field.missing for field in numbers)
        found = Box(lows[None], highs[None], missing)
        if len(numbers) == 1:
            kind = np.dtype(float)
            return array(tracer, rows, (), kind, Box(lows[:1], highs[:1], missing))
        return array(tracer, rows, (len(numbers),), np.dtype(float), found)
    if form not in ("pandas", "columns"):
        raise InvalidRecords(f"a proof needs form 'array', 'pandas' or 'columns', not {form!r}.")
    columns = {
        name: column(tracer, rows, *_typed(tracer, field)) for name, field in description.fields
    }
    if form == "columns":
        return {name: value.plain() for name, value in columns.items()}
    return Table(tracer, rows, columns)


def _box(tracer: Tracer, field: Number) -> Box:
    low, high = field.low, field.high
    if tracer.adjacency is Adjacency.ZERO_OUT:
        low, high = min(low, 0.0), max(high, 0.0)
    most = float(np.finfo(float).max)
    if math.isinf(low) and not field.missing:
        low = -most
    if math.isinf(high) and not field.missing:
        high = most
    return boxes.box(low, high, field.missing)


def _typed(tracer: Tracer, field: Data) -> tuple[DType, Box, Data]:
    if isinstance(field, Number):
        kind = np.dtype(np.int64 if field.integer else float)
        return kind, boxes.fitted(_box(tracer, field), kind), None
    values = field.values if isinstance(field, OneOf) else None
    if values is not None and all(isinstance(v, int) for v in values):
        found = boxes.point(np.asarray(values, dtype=float)).over((0,))
        return np.dtype(np.int64), found.mapped(lambda v: v.reshape(())), values
    return np.dtype(object), boxes.WHOLE, values
