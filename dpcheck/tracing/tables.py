"""A table and its columns, as pandas code uses them: filters, groups over public categories.

pandas leaves NaN out of sums and counts; the rules here say so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from dpcheck.core.data import Data
from dpcheck.tracing.facts.boxes import Box
from dpcheck.tracing.facts.rowsets import RowSet
from dpcheck.tracing.registry import Family, named
from dpcheck.tracing.values import Aggregate, Rows, Traced

if TYPE_CHECKING:
    from dpcheck.tracing.tracer import Tracer


class Column(Rows):
    """A column of a table; `categories` are its public values where it has a list of them."""

    what = "a column of a private table"
    categories: Data = None
    categorical = False  # whether the categories are part of its type, as of a pandas.Categorical

    @classmethod
    def of(cls, rows: Rows, categories: Data = None) -> Column:
        """Rows as a column."""
        found: Column = object.__new__(cls)
        found.__dict__.update(rows.__dict__)
        found.categories = categories
        return found

    def plain(self) -> Rows:
        """The column as an array."""
        found: Rows = object.__new__(Rows)
        found.__dict__.update(self.__dict__)
        return found

    @property
    def values(self) -> Rows:
        """As pandas gives it."""
        return self.plain()

    def to_numpy(self) -> Rows:
        """As pandas gives it."""
        return self.plain()

    def without_nan(self) -> Column:
        """The column with 0 in place of NaN, as pandas sums it."""
        if not self.box.nan:
            return self
        found = self.plain()
        found.box = Box(self.box.lo, self.box.hi).with_zero()
        return Column.of(found)

    def sum(self, axis: int = 0) -> Data:
        """Series.sum, which leaves NaN out."""
        del axis
        return np.sum(self.without_nan().plain(), axis=0)

    def mean(self) -> Data:
        """Series.mean, which divides by the number of values that are not NaN."""
        if self.box.nan:
            self.tracer.refuse(
                "private-count",
                "Series.mean divides by the number of values that are not NaN, which is private",
                "use fillna(...) first, or release a noisy sum and a noisy count",
            )
        return np.mean(self.plain(), axis=0)

    def count(self) -> Data:
        """Series.count: values that are not NaN."""
        if not self.box.nan and self.dtype.kind != "O":
            return self.dims[0] if self.rows.count is not None else self.tracer.length(self)
        return np.sum(self.notna().plain(), axis=0)

    def clip(self, lower: Data = None, upper: Data = None) -> Data:
        """Series.clip."""
        return _column(np.clip(self.plain(), lower, upper))

    def fillna(self, value: Data) -> Data:
        """Series.fillna with a public number."""
        if isinstance(value, Traced):
            self.tracer.unknown("fillna with a private value")
        found: Data = np.where(np.isnan(self.plain()), value, self.plain())
        if self.box.nan:
            found.box = Box(found.box.lo, found.box.hi, False)
        return _column(found)

    def notna(self) -> Data:
        """Series.notna."""
        if self.dtype.kind == "O":
            return self == self
        return _column(~np.isnan(self.plain()))

    def isna(self) -> Data:
        """Series.isna."""
        return _column(np.isnan(self.plain()))

    def dropna(self) -> Data:
        """Series.dropna: a private number of rows if some may be NaN."""
        if not self.box.nan:
            return self
        found = self[self.notna()]
        found.box = Box(found.box.lo, found.box.hi)
        return found

    def isin(self, values: Data) -> Data:
        """Series.isin of a public list."""
        return _column(np.isin(self.plain(), values))

    def between(self, left: Data, right: Data) -> Data:
        """Series.between, both ends included."""
        return (self >= left) & (self <= right)

    def std(self, ddof: int = 1) -> Data:
        """Series.std."""
        return np.std(self.plain(), ddof=ddof)

    def var(self, ddof: int = 1) -> Data:
        """Series.var."""
        return np.var(self.plain(), ddof=ddof)

    def value_counts(self) -> GroupedTable:
        """Series.value_counts, to be reindexed by public categories."""
        return GroupedTable(self, None, "size")

    def map(self, *_: Data) -> NoReturn:
        """Series.map of any function."""
        self.tracer.unknown("Series.map or apply")

    def apply(self, *_: Data) -> NoReturn:
        """Series.apply of any function."""
        self.tracer.unknown("Series.map or apply")


def _column(rows: Data) -> Data:
    return Column.of(rows) if isinstance(rows, Rows) and not isinstance(rows, Column) else rows


class Groups(Aggregate):
    """One private number for each public category."""

    @classmethod
    def of(cls, found: Aggregate) -> Groups:
        """An aggregate as a series."""
        made: Groups = object.__new__(cls)
        made.__dict__.update(found.__dict__)
        return made

    @property
    def values(self) -> Data:
        """As pandas gives it."""
        return np.copy(self)

    def to_numpy(self) -> Data:
        """As pandas gives it."""
        return np.copy(self)


class GroupedTable:
    """A result with one entry for each group that appears, until it is put on public categories."""

    def __init__(self, key: Column, value: Column | None, how: str) -> None:
        self.key, self.value, self.how = key, value, how

    def reindex(self, index: Data, fill_value: Data = None) -> Groups:
        """One entry for each public category."""
        from dpcheck.tracing.rules.counting import one_hot
        from dpcheck.tracing.rules.reductions import total

        tracer = self.key.tracer
        if isinstance(index, Traced) or fill_value is None or isinstance(fill_value, Traced):
            tracer.refuse(
                "private-length",
                "groups without records become NaN, and which those are is private",
                "use .reindex(PUBLIC_CATEGORIES, fill_value=0)",
            )
        if fill_value != 0:
            tracer.unknown("reindex with another fill_value than 0")
        places = list(index)
        if len(set(places)) < len(places):
            tracer.unknown("reindex with a category twice")
        if self.how == "mean":
            tracer.refuse(
                "private-count",
                "a mean of a group divides by the private number of its records",
                "release noisy sums and noisy counts, and divide those",
            )
        weights = None if self.value is None or self.how == "size" else self.value.without_nan()
        if self.how == "count" and self.value is not None:
            weights = None
        rows = one_hot(
            tracer, self.key.plain(), len(places), None if weights is None else weights.plain()
        )
        found = total(tracer, rows, 0)
        return Groups.of(found)

    def __getattr__(self, name: str) -> Data:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.key.tracer.refuse(
            "private-length",
            "which groups appear is decided by the data",
            "put the result on public categories first: .reindex(CATEGORIES, fill_value=0)",
        )

    def _refuse(self, *_: Data) -> Data:
        return self.__getattr__("values")

    __add__ = __radd__ = __sub__ = __mul__ = __truediv__ = __getitem__ = __iter__ = __len__ = (
        _refuse
    )
    __array_ufunc__ = None


class GroupBy:
    """df.groupby(key), and a column of it."""

    def __init__(
        self, table: Table, key: str, value: str | None = None, everything: bool = False
    ) -> None:
        self.table, self.key, self.value, self.everything = table, key, value, everything

    def __getitem__(self, name: str) -> GroupBy:
        return GroupBy(self.table, self.key, name, self.everything)

    def _made(self, how: str) -> Data:
        if self.value is None and how != "size":
            self.table.tracer.unknown("an aggregate of all columns of a group; name the column")
        value = None if self.value is None else self.table.data[self.value]
        key = self.table.data[self.key]
        found = GroupedTable(key, value, how)
        # A categorical column has its categories in its type: observed=False gives all of them.
        if self.everything and key.categorical:
            return found.reindex(key.categories, fill_value=0)
        return found

    def sum(self) -> Data:
        """Sums of groups."""
        return self._made("sum")

    def count(self) -> Data:
        """Counts of groups."""
        return self._made("count")

    def size(self) -> Data:
        """Sizes of groups."""
        return self._made("size")

    def mean(self) -> Data:
        """Means of groups, which are refused when they are used."""
        return self._made("mean")

    def __getattr__(self, name: str) -> Data:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in self.table.data:
            return GroupBy(self.table, self.key, name, self.everything)
        return self.table.tracer.unknown(f"DataFrameGroupBy.{name}")


class _Loc:
    def __init__(self, table: Table) -> None:
        self.table = table

    def __getitem__(self, key: Data) -> Data:
        rows, columns = key if isinstance(key, tuple) and len(key) == 2 else (key, None)
        found = self.table if isinstance(rows, slice) and rows == slice(None) else self.table[rows]
        return found if columns is None else found[columns]


class Table:
    """Columns of the same private records."""

    __array_ufunc__ = None

    def __init__(self, tracer: Tracer, rows: RowSet, columns: dict[str, Column]) -> None:
        self.tracer = tracer
        self.rows = rows
        self.data = columns

    @property
    def columns(self) -> list[str]:
        """The names of the columns, which are public."""
        return list(self.data)

    @property
    def loc(self) -> _Loc:
        """df.loc[mask, columns]."""
        return _Loc(self)

    @property
    def shape(self) -> tuple[Data, int]:
        """Rows, which may be private, and columns."""
        first = next(iter(self.data.values()))
        return (first.shape[0], len(self.data))

    @property
    def values(self) -> Data:
        """As an array."""
        return self.to_numpy()

    def to_numpy(self, dtype: Data = None) -> Data:
        """All columns, which must be numbers, as an array."""
        found = np.column_stack([column.plain() for column in self.data.values()])
        return found if dtype is None else found.astype(dtype)

    def __iter__(self) -> Iterator[str]:
        return iter(self.data)

    def __contains__(self, name: object) -> bool:
        return name in self.data

    def __getitem__(self, key: Data) -> Data:
        if isinstance(key, str):
            return self.data[key]
        if isinstance(key, list) and all(isinstance(name, str) for name in key):
            return Table(self.tracer, self.rows, {name: self.data[name] for name in key})
        if isinstance(key, Traced):
            return self._selected(key)
        return self.tracer.unknown("this selection of a table")

    def _selected(self, mask: Data) -> Table:
        columns = {name: column[mask] for name, column in self.data.items()}
        return Table(self.tracer, next(iter(columns.values())).rows, columns)

    def __setitem__(self, key: str, value: Data) -> None:
        if not isinstance(value, Rows) or value.rows is not self.rows or value.ndim != 1:
            self.tracer.unknown("a new column that is not made of the same records")
        self.data[key] = value if isinstance(value, Column) else Column.of(value)

    def copy(self, deep: bool = True) -> Table:
        """A table of its own."""
        del deep
        return Table(self.tracer, self.rows, dict(self.data))

    def assign(self, **columns: Data) -> Table:
        """A copy with more columns."""
        found = self.copy()
        for name, value in columns.items():
            found[name] = value(found) if callable(value) else value
        return found

    def dropna(self, subset: Sequence[str] | None = None) -> Table:
        """Rows without NaN, a private number of them."""
        names = list(subset or self.data)
        masks = [self.data[name].notna() for name in names if self.data[name].box.nan]
        if not masks:
            return self
        every = masks[0]
        for mask in masks[1:]:
            every = every & mask
        found = self._selected(every)
        for name in names:
            column = found.data[name]
            column.box = Box(column.box.lo, column.box.hi)
        return found

    def groupby(self, by: Data, **options: Data) -> GroupBy:
        """df.groupby(column)."""
        if not isinstance(by, str) or set(options) - {"observed", "sort"}:
            self.tracer.unknown("groupby with anything but one column")
        all_of_them = options.get("observed") is False and options.get("sort", True) is True
        return GroupBy(self, by, everything=all_of_them)

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
            return len(next(iter(self.data.values())))
        return self.rows.count


for _name, _lemma in (
    ("df[column], df[mask], df.loc[mask, column]", "a filter makes the number of rows private"),
    ("Series.sum, count, mean", "NaN is left out; a mean needs values that are never NaN"),
    ("Series.clip, fillna, isin, between, notna, dropna", "a function of each row"),
    (
        "df.groupby(column)[value].sum(), count(), size(), then .reindex(CATEGORIES, fill_value=0)",
        "each record is in at most one public group",
    ),
    ("Series.value_counts().reindex(CATEGORIES, fill_value=0)", "as np.histogram"),
):
    named(_name, Family.TABLE, _lemma)(Table)
