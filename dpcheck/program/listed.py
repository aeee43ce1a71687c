"""Lists of records, each of them a dict or a tuple: taken apart into columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpcheck.core.errors import InvalidRecords


def columns_of(rows: object) -> dict[object, list[object]] | None:
    """The columns of a list of dicts, or of tuples that hold more than numbers; None of anything else.

    >>> columns_of([{"age": 31.0, "city": "A"}, {"age": 25.0, "city": "B"}])
    {'age': [31.0, 25.0], 'city': ['A', 'B']}
    >>> columns_of([1.0, 2.0]) is None
    True
    """
    if not isinstance(rows, list) or not rows or type(rows[0]) not in (dict, tuple):
        return None
    kind = type(rows[0])
    if not all(type(row) is kind for row in rows):
        raise InvalidRecords("the records of the list are of different types.")
    if kind is dict:
        return _by_name(rows)
    if len({len(row) for row in rows}) != 1:
        raise InvalidRecords("the records of the list have different lengths.")
    columns: dict[object, list[object]] = dict(enumerate(map(list, zip(*rows, strict=True))))
    return None if all(map(_is_numbers, columns.values())) else columns


def _by_name(rows: Sequence[dict[object, object]]) -> dict[object, list[object]]:
    names = list(rows[0])
    if not names or any(list(row) != names for row in rows):
        raise InvalidRecords(
            "the dicts of the list have different keys; give every record the same, in the same order."
        )
    return {name: [row[name] for row in rows] for name in names}


def _is_numbers(column: list[object]) -> bool:
    return np.asarray(column).dtype.kind in "biuf"
