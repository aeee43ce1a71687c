"""A guess at a description, from data at hand; written as code, so that it can be corrected."""

from __future__ import annotations

import math
from keyword import iskeyword
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
        raise InvalidRecords("there is nothing to guess from: give a table with rows.")
    return Records(tuple((str(name), _field(values)) for name, values in columns.items()))


def _columns(data: Data) -> dict[Any, list[Any]]:
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


def as_code(description: Records) -> str:
    """A description as one would type it.

    >>> print(as_code(Records((("age", Number(0, 120, integer=True)), ("city", OneOf(("A",)))))))
    dpcheck.records(
        age=dpcheck.number(0, 120, integer=True),
        city=dpcheck.one_of('A'),
    )
    """
    return "\n".join(
        ["dpcheck.records(", *(f"    {each}," for each in _arguments(description)), ")"]
    )


def in_one_line(description: Records) -> str:
    """The same in one line."""
    return f"dpcheck.records({', '.join(_arguments(description))})"


def _arguments(description: Records) -> list[str]:
    plain = {n: f for n, f in description.fields if n.isidentifier() and not iskeyword(n)}
    others = {n: f for n, f in description.fields if n not in plain}
    found = [f"{name}={_typed(field)}" for name, field in plain.items()]
    if others:  # names that are no Python names
        inner = ", ".join(f"{name!r}: {_typed(field)}" for name, field in others.items())
        found.append(f"**{{{inner}}}")
    if description.rows is not None:
        found.append(f"rows={description.rows}")
    if description.person is not None:
        found.append(f"person={description.person!r}")
        found.append(f"rows_per_person={description.rows_per_person}")
    return found


def _typed(field: Field) -> str:
    if isinstance(field, OneOf):
        return f"dpcheck.one_of({', '.join(repr(value) for value in field.values)})"
    if isinstance(field, Text):
        return "dpcheck.text()" if field.longest == 1000 else f"dpcheck.text({field.longest})"
    words = [f"{end:g}" for end in (field.low, field.high)]
    if not (math.isfinite(field.low) and math.isfinite(field.high)):
        words = [
            f"{n}={v:g}" for n, v in (("low", field.low), ("high", field.high)) if math.isfinite(v)
        ]
    words += [f"{name}=True" for name in ("integer", "missing") if getattr(field, name)]
    return f"dpcheck.number({', '.join(words)})"
