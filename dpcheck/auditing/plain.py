"""Data as a report can carry it: plain values, and no more of them than a witness needs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Protocol, TypeGuard

import numpy as np

from dpcheck.core.data import Output

_MOST_NUMBERS = 24  # a dataset up to this size is shown whole
_MOST_ROWS = 4  # rows in which two datasets differ, of a larger one
_MOST_DEPTH = 8
_MOST_TEXT = 200


def plain(value: object, limit: int = _MOST_NUMBERS) -> Output:
    """A value as JSON can carry it; what is larger than `limit` as a short description.

    >>> plain([Decimal("0.5"), float("nan"), np.float64(2)])
    ['0.5', 'nan', 2.0]
    """
    return _plain(value, limit, _MOST_DEPTH)


def _plain(value: Output, limit: int, depth: int) -> Output:
    if isinstance(value, bool | np.bool_ | str | None):
        return value if isinstance(value, str | None) else bool(value)
    if isinstance(value, np.generic):
        return _plain(value.item(), limit, depth - 1) if depth else repr(value)[:_MOST_TEXT]
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Decimal | Fraction):
        return str(value)
    if depth == 0 or _size(value) > limit:
        return _described(value)
    if isinstance(value, np.ndarray):
        return _plain(value.tolist(), limit, depth - 1)
    if isinstance(value, tuple | list):
        return [_plain(item, limit, depth - 1) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(item, limit, depth - 1) for key, item in value.items()}
    if _is_frame(value):
        columns = {str(name): list(value[name]) for name in value.columns}
        return _plain(columns, limit, depth - 1)
    return repr(value)[:_MOST_TEXT]


class Frame(Protocol):
    """A table of pandas or polars."""

    columns: Iterable[object]
    shape: tuple[int, int]

    def __getitem__(self, name: object) -> Iterable[object]: ...


def _is_frame(value: object) -> TypeGuard[Frame]:
    return type(value).__name__ == "DataFrame" and hasattr(value, "columns")


def _size(value: Output) -> int:
    """How many values a container holds, at most a little more than anybody shows."""
    if isinstance(value, np.ndarray) or hasattr(value, "size"):
        return int(value.size) if isinstance(value.size, int | np.integer) else 1
    if _is_frame(value):
        return math.prod(value.shape)
    if isinstance(value, Mapping):
        return sum(map(_size, list(value.values())[:1000]))
    if isinstance(value, tuple | list):
        return sum(map(_size, value[:1000]))
    return 1


def _described(value: Output) -> str:
    kind = type(value).__name__
    if hasattr(value, "shape"):
        return f"{kind} of shape {value.shape}"
    return f"{kind} of {len(value)}" if hasattr(value, "__len__") else repr(value)[:_MOST_TEXT]


def plain_pair(first: object, second: object) -> tuple[Output, Output]:
    """Two neighbouring datasets as far as they matter: small ones whole, else where they differ.

    >>> one = np.zeros((1000, 2))
    >>> other = one.copy()
    >>> other[7, 1] = 5.0
    >>> plain_pair(one, other)[1]
    {'of': 'ndarray of shape (1000, 2)', 'rows': {'7': [0.0, 5.0]}}
    """
    if max(_size(first), _size(second)) <= _MOST_NUMBERS:
        return plain(first), plain(second)
    ours, theirs = _rows(first), _rows(second)
    if ours is None or theirs is None:
        return plain(first), plain(second)
    start = _common(ours, theirs)
    end = _common(ours[start:][::-1], theirs[start:][::-1])
    return _part(first, ours, start, end), _part(second, theirs, start, end)


def _rows(value: Output) -> list[Output] | None:
    """The rows of a dataset, one record each."""
    if isinstance(value, np.ndarray) and value.ndim:
        return list(value)
    if _is_frame(value):
        columns = [list(value[name]) for name in value.columns]
        names = [str(name) for name in value.columns]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    return list(value) if isinstance(value, tuple | list) else None


def _common(first: Sequence[Output], second: Sequence[Output]) -> int:
    """How many rows at the beginning are equal."""
    same = 0
    for ours, theirs in zip(first, second, strict=False):
        if not _equal(ours, theirs):
            break
        same += 1
    return same


def _equal(first: Output, second: Output) -> bool:
    try:
        if isinstance(first, np.ndarray | np.generic) and first.dtype.kind == "f":
            return bool(np.array_equal(first, np.asarray(second), equal_nan=True))
        if isinstance(first, np.ndarray):
            return bool(np.array_equal(first, np.asarray(second)))
        return bool(first == second)
    except Exception:  # objects of somebody else, which may compare as they like
        return first is second


def _part(value: Output, rows: Sequence[Output], start: int, end: int) -> dict[str, Output]:
    """The rows that differ: from `start` on, the last `end` left out."""
    changed = range(start, len(rows) - end)
    found: dict[str, Output] = {"of": _described(value)}
    found["rows"] = {str(i): plain(rows[i]) for i in changed[:_MOST_ROWS]}
    if len(changed) > _MOST_ROWS:
        found["more"] = len(changed) - _MOST_ROWS
    return found
