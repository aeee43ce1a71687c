"""What one record may hold: the description that proofs, pair searches and generators share.

A declared bound is an assumption about the data. Whoever uses it says so.

>>> people = records(age=number(0, 120, integer=True), city=one_of("A", "B"), rows=100)
>>> people.column("age").high, people.rows
(120.0, 100)
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from keyword import iskeyword
from typing import TypeAlias

from dpcheck.core.errors import InvalidParameter, UnknownName
from dpcheck.core.validate import count


@dataclass(frozen=True, slots=True)
class Number:
    """A number between `low` and `high`, ends included; `missing` if it may be NaN."""

    low: float = -math.inf
    high: float = math.inf
    integer: bool = False
    missing: bool = False

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
                raise InvalidParameter(f"{name} must be a number, got {value!r}.", name=name)
            object.__setattr__(self, name, float(value))
        if not self.low <= self.high:
            raise InvalidParameter(f"low {self.low:g} is above high {self.high:g}.", name="low")
        if self.integer and self.missing:
            raise InvalidParameter("a whole number cannot be missing (NaN).", name="missing")


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of a public list of values."""

    values: tuple[Hashable, ...]

    def __post_init__(self) -> None:
        if not self.values or len(set(self.values)) != len(self.values):
            raise InvalidParameter("one_of needs different values, at least one.", name="values")


@dataclass(frozen=True, slots=True)
class Text:
    """Any text of at most `longest` characters."""

    longest: int = 1000

    def __post_init__(self) -> None:
        object.__setattr__(self, "longest", count("longest", self.longest))


Field: TypeAlias = Number | OneOf | Text


@dataclass(frozen=True, slots=True)
class Records:
    """The columns of a record, how many rows there are (None: not public), and who owns them.

    `person` names the column that says whose record it is; one person has at most
    `rows_per_person` of them. Without it every record is a person of its own.
    """

    fields: tuple[tuple[str, Field], ...]
    rows: int | None = None
    person: str | None = None
    rows_per_person: int = 1

    def __post_init__(self) -> None:
        if not self.fields:
            raise InvalidParameter("describe at least one column.", name="fields")
        for name, field in self.fields:
            if not isinstance(field, Number | OneOf | Text):
                raise InvalidParameter(
                    f"column {name!r} must be number(...), one_of(...) or text(), got {field!r}.",
                    name=name,
                )
        if self.rows is not None:
            object.__setattr__(self, "rows", count("rows", self.rows))
        object.__setattr__(self, "rows_per_person", count("rows_per_person", self.rows_per_person))
        if self.person is not None:
            self.column(self.person)

    def __str__(self) -> str:
        return as_code(self)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, in order."""
        return tuple(name for name, _ in self.fields)

    def column(self, name: str) -> Field:
        """What a column holds."""
        for known, field in self.fields:
            if known == name:
                return field
        raise UnknownName(
            f"there is no column {name!r}; the description has {', '.join(self.names)}.",
            value=name,
        )


def number(
    low: float = -math.inf, high: float = math.inf, *, integer: bool = False, missing: bool = False
) -> Number:
    """A column of numbers between `low` and `high`."""
    return Number(low, high, integer, missing)


def one_of(*values: Hashable) -> OneOf:
    """A column whose values are on a public list."""
    return OneOf(tuple(values))


def text(longest: int = 1000) -> Text:
    """A column of free text."""
    return Text(longest)


def records(
    *,
    rows: int | None = None,
    person: str | None = None,
    rows_per_person: int = 1,
    **fields: Field,
) -> Records:
    """A description of the records of a dataset, column by column."""
    return Records(tuple(fields.items()), rows, person, rows_per_person)


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
    words = [f"{end:.15g}" for end in (field.low, field.high)]
    if not (math.isfinite(field.low) and math.isfinite(field.high)):
        words = [
            f"{n}={v:.15g}"
            for n, v in (("low", field.low), ("high", field.high))
            if math.isfinite(v)
        ]
    words += [f"{name}=True" for name in ("integer", "missing") if getattr(field, name)]
    return f"dpcheck.number({', '.join(words)})"
