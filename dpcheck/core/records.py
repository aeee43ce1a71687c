"""What one record can contain: the description that proofs, pair searches and generators share.

A declared bound is an assumption about the data. Whoever uses it says so. `confirmed=True` says that
somebody who knows how the data are collected stands behind it. `confirmed=False` marks a guess, as
`dpcheck init` writes it: nothing holds because of a guess. Without either, a bound is as stated.

>>> people = records(age=number(0, 120, integer=True), city=one_of("A", "B"), rows=100)
>>> people.column("age").high, people.rows
(120.0, 100)
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from keyword import iskeyword
from typing import TypeAlias

from dpcheck.core.errors import InvalidParameter, UnknownName
from dpcheck.core.validate import count, truth


@dataclass(frozen=True, slots=True)
class Number:
    """A number between `low` and `high`, ends included; `missing` if it may be NaN."""

    low: float = -math.inf
    high: float = math.inf
    integer: bool = False
    missing: bool = False
    confirmed: bool | None = None

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
        _said("confirmed", self.confirmed)


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of a public list of values."""

    values: tuple[Hashable, ...]
    confirmed: bool | None = None

    def __post_init__(self) -> None:
        if not self.values or len(set(self.values)) != len(self.values):
            raise InvalidParameter("one_of needs different values, at least one.", name="values")
        _said("confirmed", self.confirmed)


@dataclass(frozen=True, slots=True)
class Text:
    """Any text of at most `longest` characters."""

    longest: int = 1000
    confirmed: bool | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "longest", count("longest", self.longest))
        _said("confirmed", self.confirmed)


def _said(name: str, value: bool | None) -> None:
    if value is not None:
        truth(name, value)


Field: TypeAlias = Number | OneOf | Text
_ELSEWHERE = (
    "adjacency",
    "claim",
    "form",
    "neighbours",
)  # said of the function, not of its records


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
                elsewhere = f" Give {name}= to @dpcheck.audited." if name in _ELSEWHERE else ""
                raise InvalidParameter(
                    f"column {name!r} must be number(...), one_of(...) or text(), got {field!r}.{elsewhere}",
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

    @property
    def guessed(self) -> tuple[str, ...]:
        """The columns whose description is a guess that nobody has confirmed.

        >>> records(age=number(0, 120), income=number(0, 1e6, confirmed=False)).guessed
        ('income',)
        """
        return tuple(name for name, field in self.fields if field.confirmed is False)

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
    low: float = -math.inf,
    high: float = math.inf,
    *,
    integer: bool = False,
    missing: bool = False,
    confirmed: bool | None = None,
) -> Number:
    """A column of numbers between `low` and `high`.

    `confirmed=True` if you know that none is outside, False for a guess, on which nothing holds.
    """
    return Number(low, high, integer, missing, confirmed)


def one_of(*values: Hashable, confirmed: bool | None = None) -> OneOf:
    """A column whose values are on a public list; `confirmed` as for a number."""
    return OneOf(tuple(values), confirmed)


def text(longest: int = 1000, *, confirmed: bool | None = None) -> Text:
    """A column of free text."""
    return Text(longest, confirmed)


def records(
    *,
    rows: int | None = None,
    person: str | None = None,
    rows_per_person: int = 1,
    **fields: Field,
) -> Records:
    """A description of the records of a dataset, column by column."""
    return Records(tuple(fields.items()), rows, person, rows_per_person)


def as_code(description: Records, notes: Mapping[str, str] | None = None) -> str:
    """A description as one would type it; `notes` are comments beside its columns.

    >>> described = Records((("age", Number(0, 120, integer=True)), ("zip code", Text())))
    >>> print(as_code(described, {"age": "a guess"}))
    dpcheck.records(
        age=dpcheck.number(0, 120, integer=True),  # a guess
        **{
            'zip code': dpcheck.text(),
        },
    )
    """
    said = {name: f"  # {note}" for name, note in (notes or {}).items() if note}
    lines = [f"{name}={_typed(field)},{said.get(name, '')}" for name, field in _plain(description)]
    if _quoted(description):
        lines += ["**{"]
        for name, field in _quoted(description):
            lines.append(f"    {name!r}: {_typed(field)},{said.get(name, '')}")
        lines += ["},"]
    lines += [f"{setting}," for setting in _settings(description)]
    return "\n".join(["dpcheck.records(", *(f"    {line}" for line in lines), ")"])


def in_one_line(description: Records) -> str:
    """The same in one line."""
    words = [f"{name}={_typed(field)}" for name, field in _plain(description)]
    if _quoted(description):
        inner = ", ".join(f"{name!r}: {_typed(field)}" for name, field in _quoted(description))
        words.append(f"**{{{inner}}}")
    return f"dpcheck.records({', '.join(words + _settings(description))})"


def _is_plain(name: str) -> bool:
    return name.isidentifier() and not iskeyword(name)


def _plain(description: Records) -> list[tuple[str, Field]]:
    return [(name, field) for name, field in description.fields if _is_plain(name)]


def _quoted(description: Records) -> list[tuple[str, Field]]:
    """Columns whose names are no Python names."""
    return [(name, field) for name, field in description.fields if not _is_plain(name)]


def _settings(description: Records) -> list[str]:
    found = []
    if description.rows is not None:
        found.append(f"rows={description.rows}")
    if description.person is not None:
        found.append(f"person={description.person!r}")
        found.append(f"rows_per_person={description.rows_per_person}")
    return found


def _typed(field: Field) -> str:
    confirmed = [] if field.confirmed is None else [f"confirmed={field.confirmed}"]
    if isinstance(field, OneOf):
        return f"dpcheck.one_of({', '.join([*map(repr, field.values), *confirmed])})"
    if isinstance(field, Text):
        longest = [] if field.longest == 1000 else [str(field.longest)]
        return f"dpcheck.text({', '.join(longest + confirmed)})"
    words = [_exact(end) for end in (field.low, field.high)]
    if not (math.isfinite(field.low) and math.isfinite(field.high)):
        words = [
            f"{n}={_exact(v)}"
            for n, v in (("low", field.low), ("high", field.high))
            if math.isfinite(v)
        ]
    words += [f"{name}=True" for name in ("integer", "missing") if getattr(field, name)]
    return f"dpcheck.number({', '.join(words + confirmed)})"


def _exact(value: float) -> str:
    """A bound that reads back as the same number.

    >>> _exact(120.0), _exact(0.1 + 0.2)
    ('120', '0.30000000000000004')
    """
    short = f"{value:.15g}"
    return short if float(short) == value else repr(value)
