"""A table and its columns, as pandas code uses them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.core.data import Data
from dpcheck.tracing.rowsets import RowSet
from dpcheck.tracing.values import Rows

if TYPE_CHECKING:
    from dpcheck.tracing.tracer import Tracer


class Column(Rows):
    """A column of a table; `values` are its public categories where it has some."""

    what = "a column of a private table"
    values_: Data = None

    @classmethod
    def of(cls, rows: Rows, values: Data = None) -> Column:
        """Rows as a column."""
        found: Column = object.__new__(cls)
        found.__dict__.update(rows.__dict__)
        found.values_ = values
        return found

    def plain(self) -> Rows:
        """The column as an array."""
        found: Rows = object.__new__(Rows)
        found.__dict__.update(self.__dict__)
        return found


class Table:
    """Columns of the same private records."""

    def __init__(self, tracer: Tracer, rows: RowSet, columns: dict[str, Column]) -> None:
        self.tracer = tracer
        self.rows = rows
        self.data = columns

    @property
    def columns(self) -> list[str]:
        """The names of the columns, which are public."""
        return list(self.data)

    def __iter__(self) -> Iterator[str]:
        return iter(self.data)

    def __getitem__(self, key: Data) -> Data:
        if isinstance(key, str):
            return self.data[key]
        if isinstance(key, list):
            return Table(self.tracer, self.rows, {name: self.data[name] for name in key})
        return self.tracer.unknown("this selection of a table")

    def __getattr__(self, name: str) -> Data:
        if not name.startswith("__") and name in self.__dict__.get("data", {}):
            return self.data[name]
        if name.startswith("__"):
            raise AttributeError(name)
        return self.tracer.unknown(f"DataFrame.{name}")

    def __array__(self, *_: Data, **__: Data) -> Data:
        self.tracer.unknown("a whole table as an array")

    def __len__(self) -> int:
        if self.rows.count is None:
            next(iter(self.data.values())).__len__()
        return int(self.rows.count or 0)


__all__ = ["Column", "Table", "np"]
