"""Tables of pandas and polars: values by column, index, names, dtypes, length."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.auditing.outputs.flat import Flat
from dpcheck.auditing.outputs.kinds.arrays import read_entries
from dpcheck.auditing.outputs.kinds.containers import key_text
from dpcheck.auditing.outputs.registry import reads_named
from dpcheck.core.data import Output

if TYPE_CHECKING:
    import pandas
    import polars


@reads_named("pandas", "DataFrame")
def read_frame(value: pandas.DataFrame, path: str, flat: Flat) -> None:
    """Each column by its name, the index, the names and their order."""
    flat.number(f"len({path})", float(len(value)))
    names = [key_text(name) for name in value.columns]
    flat.token(f"list({path}.columns)", ", ".join(names))
    _read_index(value.index, f"{path}.index", flat)
    for place, name in enumerate(names):
        where = f"{path}[{name}]" if names.count(name) == 1 else f"{path}.iloc[:, {place}]"
        read_column(value.iloc[:, place], where, flat)
    if getattr(value, "attrs", None):
        flat.child(dict(value.attrs), f"{path}.attrs")


@reads_named("pandas", "Series")
def read_series(value: pandas.Series, path: str, flat: Flat) -> None:
    """Its values, index and name; by label where labels are texts."""
    flat.number(f"len({path})", float(len(value)))
    flat.token(f"{path}.name", str(value.name))
    _read_index(value.index, f"{path}.index", flat)
    read_column(value, path, flat)


def read_column(value: pandas.Series, path: str, flat: Flat) -> None:
    """A column by its labels where they are names, each of them once; else by position."""
    index = value.index
    names = index.nlevels == 1 and len(index) <= _MOST_LABELS and index.is_unique
    if names and all(isinstance(label, str) for label in index):
        flat.token(f"{path}.dtype", str(value.dtype))
        for label, item in zip(index, value.tolist(), strict=True):
            flat.child(item, f"{path}[{key_text(label)}]")
    else:
        _read_values(value, path, flat)


_MOST_LABELS = 1024


@reads_named("pandas", "Index")
def read_index(value: pandas.Index, path: str, flat: Flat) -> None:
    """Its labels."""
    flat.number(f"len({path})", float(len(value)))
    _read_index(value, path, flat)


@reads_named("pandas", "Categorical", "ExtensionArray")
def read_extension(value: pandas.api.extensions.ExtensionArray, path: str, flat: Flat) -> None:
    """As a column of a table."""
    loaded = sys.modules["pandas"]
    read_series(loaded.Series(value), path, flat)


@reads_named("pandas", "NAType", "NaTType")
def read_missing(value: Output, path: str, flat: Flat) -> None:
    """A missing value: nothing but its type."""


@reads_named("pandas", "Interval", "Period")
def read_interval(value: pandas.Interval | pandas.Period, path: str, flat: Flat) -> None:
    """As text, whose numbers are read."""
    flat.child(str(value), f"str({path})")


def _read_index(index: pandas.Index, path: str, flat: Flat) -> None:
    if type(index).__name__ == "RangeIndex":
        flat.block(path, np.array([index.start, index.stop, index.step], dtype=float))
        return
    flat.token(f"{path}.names", str(list(index.names)))
    for level in range(index.nlevels):
        values = index.get_level_values(level)
        where = path if index.nlevels == 1 else f"{path}.get_level_values({level})"
        _read_values(values, where, flat)


def _read_values(column: pandas.Series | pandas.Index, path: str, flat: Flat) -> None:
    """A column's values, whatever its dtype; missing ones are NaN beside their places."""
    dtype = column.dtype
    flat.token(f"{path}.dtype", str(dtype))
    if hasattr(dtype, "categories"):
        flat.child([str(each) for each in dtype.categories], f"{path}.dtype.categories")
    kind = getattr(dtype, "kind", "O")
    if isinstance(dtype, np.dtype) and kind in "biufcmM":
        read_entries(np.asarray(column), path, flat)
    elif kind in "biuf" and not hasattr(dtype, "categories"):
        missing = np.asarray(column.isna(), dtype=bool)
        filled = column.fillna(False if kind == "b" else 0)
        read_entries(np.asarray(filled.to_numpy(dtype=dtype.numpy_dtype)), path, flat)
        flat.block(f"{path}.isna()", missing.astype(float))
    elif kind in "mM":
        read_entries(np.asarray(column.to_numpy(dtype=f"{kind}8[ns]")), path, flat)
    else:
        flat.child(column.tolist(), f"{path}.tolist()")


@reads_named("polars", "DataFrame")
def read_polars_frame(value: polars.DataFrame, path: str, flat: Flat) -> None:
    """Each column by its name, and the names with their types."""
    flat.number(f"len({path})", float(value.height))
    flat.token(f"{path}.schema", str(dict(value.schema)))
    for name in value.columns:
        _read_polars(value[name], f"{path}[{key_text(name)}]", flat)


@reads_named("polars", "LazyFrame")
def read_polars_plan(value: polars.LazyFrame, path: str, flat: Flat) -> None:
    """What it gives when it is collected."""
    flat.child(value.collect(), f"{path}.collect()")


@reads_named("polars", "Series")
def read_polars_series(value: polars.Series, path: str, flat: Flat) -> None:
    """Its values, name and type."""
    flat.number(f"len({path})", float(len(value)))
    flat.token(f"{path}.name", str(value.name))
    _read_polars(value, path, flat)


def _read_polars(column: polars.Series, path: str, flat: Flat) -> None:
    flat.token(f"{path}.dtype", str(column.dtype))
    if column.dtype.is_numeric() and not column.null_count() and not column.dtype.is_decimal():
        read_entries(np.asarray(column.to_numpy()), path, flat)
    else:
        flat.child(column.to_list(), f"{path}.to_list()")
