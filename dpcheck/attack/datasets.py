"""Datasets that a proof speaks about, and neighbours of them: random, extreme, crowds of equal rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcheck.attack.values import Column, described, exemplified
from dpcheck.auditing.pairs.forms import Form, build
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.data import Data
from dpcheck.core.records import Number, Records

if TYPE_CHECKING:
    import pandas

Row = tuple[Any, ...]
_ROWS = 12  # where the number of rows is not public
_ALIKE = 200  # pairs of equal datasets, one after the other, that are tried
_DIFFERENT = 64  # rows of a background that are not copies of each other


@dataclass(frozen=True, slots=True)
class Space:
    """How to draw the rows of a dataset, and how to put rows together."""

    columns: tuple[Column, ...]
    rows: int | None
    build: Callable[[Sequence[Row]], Data]
    person: int | None = None
    rows_per_person: int = 1


def space_of(data: Data, form: str | None) -> Space | None:
    """Of a description or an example; None for an example of a kind nobody can make more of."""
    if isinstance(data, Records):
        return _described(data, form)
    return _exemplified(data)


def _described(data: Records, form: str | None) -> Space:
    if form is None:
        plain = all(isinstance(field, Number) for _, field in data.fields)
        form = Form.ARRAY if plain else Form.PANDAS
    kind = Form(form)
    person = None if data.person is None else data.names.index(data.person)
    return Space(
        tuple(described(field) for _, field in data.fields),
        data.rows,
        lambda rows: build(rows, data, kind),
        person,
        data.rows_per_person if person is not None else 1,
    )


def _exemplified(data: Any) -> Space | None:
    """Arrays, tuples and dicts of arrays, lists of numbers, DataFrames."""
    if isinstance(data, dict):
        return _together(list(data.values()), lambda parts: dict(zip(data, parts, strict=True)))
    if isinstance(data, tuple):
        return _together(list(data), tuple)
    if isinstance(data, list) and data and type(data[0]) in (dict, tuple):
        return _of_dicts(data) if type(data[0]) is dict else _of_tuples(data)
    if type(data).__name__ == "DataFrame" and hasattr(data, "dtypes"):
        names = list(data.columns)
        if not all(_is_known(data.dtypes.iloc[i]) for i in range(len(names))):
            return None
        spaces = tuple(_of_series(data.dtypes.iloc[i]) for i in range(len(names)))
        return Space(spaces, len(data), lambda rows: _framed(data, rows))
    if type(data).__name__ == "Series" and hasattr(data, "to_numpy"):
        if not _is_known(data.dtype):
            return None
        return Space(
            (_of_series(data.dtype),),
            len(data),
            lambda rows: type(data)([row[0] for row in rows], dtype=data.dtype, name=data.name),
        )
    array = np.asarray(data)
    if not array.ndim or array.dtype.kind not in "biufOU":
        return None
    width = int(np.prod(array.shape[1:], dtype=int))
    whole = isinstance(data, list)

    def made(rows: Sequence[Row]) -> Data:
        found = np.array(list(rows), dtype=array.dtype)
        shaped = found.reshape(len(rows), *array.shape[1:])
        return shaped.tolist() if whole else shaped

    return Space((exemplified(array.dtype),) * width, len(array), made)


def _of_dicts(data: list[dict[object, object]]) -> Space | None:
    names = list(data[0])
    columns = [[row[name] for row in data] for name in names]
    return _together(
        list(columns),
        lambda parts: [dict(zip(names, row, strict=True)) for row in zip(*parts, strict=True)],
    )


def _of_tuples(data: list[tuple[object, ...]]) -> Space | None:
    columns = [list(column) for column in zip(*data, strict=True)]
    return _together(list(columns), lambda parts: list(zip(*parts, strict=True)))


def _is_known(kind: Any) -> bool:
    """Numbers of numpy, text and categories; not dates or numbers that may be NA."""
    if isinstance(kind, np.dtype):
        return kind.kind in "biufOU"
    return getattr(kind, "categories", None) is not None or str(kind) in ("str", "string")


def _of_series(kind: Any) -> Column:
    categories = getattr(kind, "categories", None)
    if categories is not None:
        return exemplified(np.dtype(object), list(categories))
    return exemplified(kind if isinstance(kind, np.dtype) else np.dtype(object))


def _framed(example: pandas.DataFrame, rows: Sequence[Row]) -> Data:
    columns = {name: [row[i] for row in rows] for i, name in enumerate(example.columns)}
    return type(example)(columns).astype(dict(example.dtypes))


def _together(parts: list[Data], join: Callable[[list[Data]], Data]) -> Space | None:
    spaces = [_exemplified(part) for part in parts]
    if not spaces or any(each is None for each in spaces):
        return None
    known = [each for each in spaces if each is not None]
    ends = np.cumsum([0, *(len(each.columns) for each in known)])

    def made(rows: Sequence[Row]) -> Data:
        return join(
            [
                each.build([row[low:high] for row in rows])
                for each, low, high in zip(known, ends[:-1], ends[1:], strict=True)
            ]
        )

    columns = tuple(column for each in known for column in each.columns)
    return Space(columns, known[0].rows, made)


def pairs(space: Space, adjacency: Adjacency, seed: int = 0) -> Iterator[tuple[Data, Data]]:
    """Neighbours without end, the same for one seed; none where all records are alike.

    Backgrounds are random rows, copies of one row or rows at the edge; the record that changes stands
    anywhere, and is at the edge or not.
    """
    dice = np.random.default_rng([20261118, seed])
    alike = 0
    for number in _numbers():
        if alike > _ALIKE:
            return
        shared, place = _background(space, adjacency, dice, number)
        one = _person(space, dice, edge=number % 4 != 3)
        other: list[Row] = []
        if adjacency is Adjacency.REPLACE_ONE:
            other = _person(space, dice, edge=number % 2 == 0)
        elif adjacency is Adjacency.ZERO_OUT:
            other = [_null(space, row) for row in one]
        first, second = ([*shared[:place], *rows, *shared[place:]] for rows in (one, other))
        alike = alike + 1 if repr(one) == repr(other) else 0
        if not alike:
            yield space.build(first), space.build(second)


def _numbers() -> Iterator[int]:
    number = 0
    while True:
        yield number
        number += 1


def _background(
    space: Space, adjacency: Adjacency, dice: np.random.Generator, number: int
) -> tuple[list[Row], int]:
    size = _ROWS if space.rows is None else space.rows
    if adjacency is Adjacency.ADD_REMOVE and number % 3 == 2:
        size = int(dice.choice([1, 2, 3]))
    size = max(0, size - space.rows_per_person)
    kind = number % 3
    if kind == 1:
        few = [_row(space, dice, edge=True, person=0)]
    else:
        few = [_row(space, dice, edge=kind == 2, person=0) for _ in range(min(size, _DIFFERENT))]
    shared = [_owned(space, few[i % len(few)], i) for i in range(size)]
    # The middle is where a search by halves begins.
    place = int(dice.choice([0, size // 2, size, int(dice.integers(size + 1))]))
    return shared, place


def _row(space: Space, dice: np.random.Generator, *, edge: bool, person: int) -> Row:
    row = tuple((column.extreme if edge else column.usual)(dice) for column in space.columns)
    return _owned(space, row, person)


def _owned(space: Space, row: Row, person: int) -> Row:
    if space.person is None:
        return row
    return (*row[: space.person], person, *row[space.person + 1 :])


def _person(space: Space, dice: np.random.Generator, *, edge: bool) -> list[Row]:
    """All rows of one person, alike."""
    return [_row(space, dice, edge=edge, person=-1)] * space.rows_per_person


def _null(space: Space, row: Row) -> Row:
    found = tuple(column.null for column in space.columns)
    return found if space.person is None else _owned(space, found, row[space.person])
