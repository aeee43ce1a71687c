"""A dataset as Python source, with the records that differ marked."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpcheck.auditing.pairs.forms import rows_of

_LONGEST = 20_000  # characters; what is longer is taken from where the pair was declared


def pair_source(first: object, second: object) -> tuple[str, str] | None:
    """Both datasets as expressions; None where one cannot be written down exactly and briefly."""
    one, two = _source(first, second), _source(second, first)
    if one is None or two is None or len(one) + len(two) > _LONGEST:
        return None
    return one, two


def _source(data: object, other: object) -> str | None:
    if isinstance(data, np.ndarray):
        inner = _lines(data, other)
        return None if inner is None else f"np.array({inner}, dtype={str(data.dtype)!r})"
    if isinstance(data, tuple) and data and all(isinstance(c, np.ndarray) for c in data):
        parts = [f"np.array({c.tolist()!r}, dtype={str(c.dtype)!r})" for c in data]
        return f"({', '.join(parts)},)" if _exact(data) else None
    if isinstance(data, list):
        return _lines(data, other)
    if "pandas" in sys.modules and isinstance(data, sys.modules["pandas"].DataFrame):
        return _frame(data, other)
    return repr(data) if _exact(data) else None


def _frame(data: Any, other: object) -> str | None:
    """A DataFrame, one record a line; None where it would not come back as it was."""
    pandas = sys.modules["pandas"]
    if not isinstance(other, pandas.DataFrame) or not all(type(c) is str for c in data.columns):
        return None
    one, two = ([*map(tuple, frame.astype(object).values.tolist())] for frame in (data, other))
    inner = _lines(one, two)
    if inner is None:
        return None
    kinds = {name: str(kind) for name, kind in data.dtypes.items()}
    index = "" if data.index.equals(pandas.RangeIndex(len(data))) else data.index.tolist()
    if not _exact(index):
        return None
    named = f", index={index!r}" if index else ""
    text = f"pd.DataFrame({inner}, columns={list(data.columns)!r}{named}).astype({kinds!r})"
    try:
        again = eval(text, {"pd": pandas})
    except (TypeError, ValueError):
        return None
    same = again.equals(data) and (again.dtypes == data.dtypes).all()
    return text if same and again.index.equals(data.index) else None


def _lines(data: np.ndarray | Sequence[object], other: object) -> str | None:
    """One record a line."""
    mine, theirs = rows_of(data), rows_of(other)
    if mine is None or theirs is None or not _exact(mine):
        return None
    lines = []
    for index, record in enumerate(mine):
        same = index < len(theirs) and repr(theirs[index]) == repr(record)
        if len(mine) != len(theirs):
            same = sum(repr(r) == repr(record) for r in theirs) >= sum(
                repr(r) == repr(record) for r in mine
            )
        lines.append(f"    {record!r},{'' if same else '  # <- the record that differs'}\n")
    return "[\n" + "".join(lines) + "]"


def _exact(value: object) -> bool:
    """Whether repr says all there is to say."""
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "biuf" and bool(np.isfinite(value).all())
    if isinstance(value, list | tuple):
        return all(_exact(item) for item in value)
    if isinstance(value, dict):
        return all(_exact(k) and _exact(v) for k, v in value.items())
    if isinstance(value, float):
        return bool(np.isfinite(value))
    return value is None or type(value) in (bool, int, str, bytes)
