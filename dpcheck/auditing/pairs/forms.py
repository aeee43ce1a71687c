"""Datasets in the form a function takes them, made of rows and taken apart into rows."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from enum import StrEnum
from importlib import import_module
from typing import Any

import numpy as np

from dpcheck.core.data import Data
from dpcheck.core.errors import InvalidRecords, MissingExtra, UnknownName
from dpcheck.core.records import Number, Records

Row = tuple[Any, ...]


class Form(StrEnum):
    """How a dataset looks to the function that gets it."""

    PANDAS = "pandas"
    POLARS = "polars"
    DICTS = "dicts"
    COLUMNS = "columns"
    ARRAY = "array"
    VALUES = "values"


FORMS = {
    Form.PANDAS: "a DataFrame of pandas",
    Form.POLARS: "a DataFrame of polars",
    Form.DICTS: "a list with one dict for each record",
    Form.COLUMNS: "a dict with one array for each column",
    Form.ARRAY: "a numpy table, or a vector if there is one column",
    Form.VALUES: "a list of rows, or of values if there is one column",
}


def as_form(name: str) -> Form:
    """A form by its name."""
    try:
        return Form(name)
    except ValueError:
        raise UnknownName(
            f"unknown form {name!r}; use one of {', '.join(Form)}.", value=name
        ) from None


def default_form() -> Form:
    """pandas where the audited code uses it, else a list of dicts."""
    return Form.PANDAS if "pandas" in sys.modules else Form.DICTS


def build(rows: Sequence[Row], description: Records, form: Form) -> Data:
    """The dataset of these rows."""
    return _BUILDERS[form](rows, description)


def _columns(rows: Sequence[Row], description: Records) -> dict[str, list[Any]]:
    return {name: [row[i] for row in rows] for i, name in enumerate(description.names)}


def _kind(description: Records, name: str) -> str:
    field = description.column(name)
    if isinstance(field, Number):
        return "int64" if field.integer else "float64"
    return "object"


def _frame(rows: Sequence[Row], description: Records) -> Data:
    pandas = _package("pandas")
    found = pandas.DataFrame(_columns(rows, description), columns=list(description.names))
    for name in description.names:  # an empty column has the type of a full one
        if isinstance(description.column(name), Number):
            found[name] = found[name].astype(_kind(description, name))
    return found


def _polars(rows: Sequence[Row], description: Records) -> Data:
    return _package("polars").DataFrame(_columns(rows, description))


def _arrays(rows: Sequence[Row], description: Records) -> Data:
    return {
        name: np.array(column, dtype=_kind(description, name))
        for name, column in _columns(rows, description).items()
    }


def _array(rows: Sequence[Row], description: Records) -> Data:
    if not all(isinstance(field, Number) for _, field in description.fields):
        raise InvalidRecords("a numpy table has numbers only; choose form='dicts' or 'pandas'.")
    table = np.array([list(row) for row in rows], dtype=float)
    table = table.reshape(len(rows), len(description.names))
    return table[:, 0] if len(description.names) == 1 else table


def _values(rows: Sequence[Row], description: Records) -> Data:
    return [row[0] if len(description.names) == 1 else list(row) for row in rows]


def _dicts(rows: Sequence[Row], description: Records) -> Data:
    return [dict(zip(description.names, row, strict=True)) for row in rows]


_BUILDERS: dict[Form, Callable[[Sequence[Row], Records], Data]] = {
    Form.PANDAS: _frame,
    Form.POLARS: _polars,
    Form.DICTS: _dicts,
    Form.COLUMNS: _arrays,
    Form.ARRAY: _array,
    Form.VALUES: _values,
}


def _package(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise MissingExtra(f"form={name!r} needs {name}: pip install {name}.") from None


def rows_of(data: Any) -> list[Any] | None:
    """The rows of a dataset as values that can be compared; None where it has none one can see.

    >>> rows_of((np.eye(2), np.array([1, 2])))
    [[[1.0, 0.0], 1], [[0.0, 1.0], 2]]
    """
    kind = type(data)
    package = kind.__module__.partition(".")[0]
    if package == "pandas" and kind.__name__ in ("DataFrame", "Series"):
        return (
            [list(row) for row in data.to_records(index=False).tolist()]
            if (kind.__name__ == "DataFrame")
            else list(data.tolist())
        )
    if package == "polars" and kind.__name__ == "DataFrame":
        return [list(row) for row in data.rows()]
    if package == "polars" and kind.__name__ == "Series":
        return list(data.to_list())
    if isinstance(data, np.ndarray) and data.ndim:
        return list(data.tolist())
    if isinstance(data, list):
        return data
    if isinstance(data, tuple | dict) and data:
        parts = list(data.values()) if isinstance(data, dict) else list(data)
        return _zipped(parts)
    return None


def _zipped(parts: Sequence[Any]) -> list[Any] | None:
    """Rows of tables and columns of one length, such as (X, y)."""
    if not all(isinstance(part, np.ndarray) or hasattr(part, "iloc") for part in parts):
        return None
    columns = [rows_of(part) for part in parts]
    found = [column for column in columns if column is not None]
    if len(found) < len(parts) or len({len(column) for column in found}) != 1:
        return None
    return [list(row) for row in zip(*found, strict=True)]
