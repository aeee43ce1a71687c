"""A guess at a description, from data at hand; written as code, so that it can be corrected."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpcheck.core.data import Data
from dpcheck.core.errors import InvalidRecords
from dpcheck.core.records import Field, Number, OneOf, Records, Text

_FEW = 20  # different values up to which a column is a choice among them


def infer_records(data: Data) -> Records:
    """The description of a table of pandas or polars, or of a list of dicts.

    Numbers get the ends seen in the data, widened to round ones; texts with few different values
    become a choice. A guess: what the data may hold is for whoever collects them to say.
    """
    columns = _columns(data)
    if not columns or not any(len(values) for values in columns.values()):
        raise InvalidRecords("there is nothing to guess from. Give a table with rows.")
    return Records(tuple((str(name), _field(values)) for name, values in columns.items()))


def _columns(data: Any) -> dict[Any, list[Any]]:
    if isinstance(data, list) and data and all(isinstance(row, dict) for row in data):
        return {name: [row.get(name) for row in data] for name in data[0]}
    names = getattr(data, "columns", None)
    if names is None:
        raise InvalidRecords(
            "a description is guessed from a DataFrame or a list of dicts; write dpcheck.records("
            "column=dpcheck.number(low, high), ...) for other data."
        )
    return {name: list(data[name].to_list()) for name in names}


def _field(values: list[Any]) -> Field:
    present = [v for v in values if v is not None and v == v]
    if present and all(_is_number(v) for v in present):
        whole = all(float(v).is_integer() for v in present) and len(present) == len(values)
        low, high = min(map(float, present)), max(map(float, present))
        return Number(_outwards(low, -1), _outwards(high, 1), whole, len(present) < len(values))
    different = sorted({str(v) for v in present})
    if len(different) <= min(_FEW, max(2, len(values) // 2)):
        return OneOf(tuple(sorted(set(present), key=str)))
    return Text(max(1000, *(len(text) for text in different)))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool | np.bool_)


def _outwards(value: float, sign: int) -> float:
    """The next round number outwards: one digit, and 0 stays 0.

    >>> _outwards(61_300.0, 1), _outwards(27_000.0, -1)
    (70000.0, 20000.0)
    """
    if value == 0 or not math.isfinite(value):
        return value
    unit = 10.0 ** math.floor(math.log10(abs(value)))
    step = math.ceil if sign > 0 else math.floor
    return step(value / unit) * unit
