"""Pairs worth trying, out of a description of a record: ends, gaps, strangers, crowds.

Everything here fits the description, so that a leak that is found is one the claim rules out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from dpcheck.auditing.mechanism import Pair
from dpcheck.auditing.pairs.forms import Form, Row, build
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.errors import InvalidRecords
from dpcheck.core.records import Field, Number, OneOf, Records, Text

_ROWS = 8  # of a background where the number of rows is not public
_LARGE = (1e3, 1e6, 1e12, 1e300)


@dataclass(frozen=True, slots=True)
class Candidate:
    """Rows all share, the rows of the one person in D, and those in D' (none: removed).

    `before` of the shared rows stand before the person's; all of them where it is None.
    """

    shared: tuple[Row, ...]
    first: tuple[Row, ...]
    second: tuple[Row, ...]
    label: str
    before: int | None = None

    def pair(self, description: Records, form: Form) -> Pair:
        """The two datasets; what changes stands in one place."""
        ahead, behind = self.shared[: self.before], self.shared[len(self.shared[: self.before]) :]
        return Pair(
            build([*ahead, *self.first, *behind], description, form),
            build([*ahead, *self.second, *behind], description, form),
            self.label,
            description.rows_per_person,
        )


def ordinary(field: Field, place: int = 0) -> Any:
    """A value as most have it; `place` tells rows apart a little."""
    if isinstance(field, Number):
        low, high = max(field.low, -1e3), min(field.high, 1e3)
        low, high = (low, high) if low <= high else (field.low, field.high)
        value = low + (high - low) * (0.5 + 0.02 * (place % 5 - 2))
        return int(min(max(round(value), field.low), field.high)) if field.integer else value
    if isinstance(field, OneOf):
        return field.values[0]
    return f"text {place % 3}"[: field.longest]


def extremes(field: Field) -> list[tuple[str, Any]]:
    """Values at the edge of what a column may hold, by name."""
    if isinstance(field, Number):
        return _extreme_numbers(field)
    if isinstance(field, OneOf):
        return [(f"{value!r}", value) for value in field.values]
    strange = "zzz a value nobody else has"
    texts = [("a stranger", strange), ("empty text", ""), ("long text", "x" * 1000)]
    return [(name, text[: field.longest]) for name, text in texts]


def _extreme_numbers(field: Number) -> list[tuple[str, Any]]:
    found: list[tuple[str, float]] = []
    for name, end, sign in (("lowest", field.low, -1.0), ("highest", field.high, 1.0)):
        if math.isfinite(end):
            found.append((name, end))
            continue
        found += [(f"{sign * size:g}", sign * size) for size in _LARGE if field.low <= sign * size]
        if not field.integer:
            found.append((f"{sign * math.inf}", sign * math.inf))
    inside = [(n, v) for n, v in found if field.low <= v <= field.high]
    if field.integer:
        inside = [(name, int(value)) for name, value in inside if abs(value) < 2**62]
    if field.missing:
        inside.append(("NaN", math.nan))
    if field.low < 0 < field.high:
        inside.append(("zero", 0 if field.integer else 0.0))
    return inside


def candidates(description: Records, adjacency: Adjacency, most: int = 64) -> list[Candidate]:
    """At most so many candidates, the plain ones first.

    >>> from dpcheck.core.records import number, records
    >>> [c.label for c in candidates(records(age=number(0, 120)), Adjacency.ADD_REMOVE, 2)]
    ['lowest age, among ordinary records', 'highest age, among ordinary records']
    """
    found = list(islice(_distinct(_all(description, adjacency)), most))
    if not found:
        raise InvalidRecords("the description allows only one record, so no two can differ.")
    return found


def _distinct(found: Iterator[Candidate]) -> Iterator[Candidate]:
    seen = set()
    for one in found:
        key = repr((one.shared, one.first, one.second))
        if repr(one.first) != repr(one.second) and key not in seen:
            seen.add(key)
            yield one


def _all(description: Records, adjacency: Adjacency) -> Iterator[Candidate]:
    changes = list(_changes(description, adjacency))
    # Round by round: every change on the plainest background before any on a stranger one.
    for number in range(_BACKGROUNDS):
        for label, first, second in changes:
            for name, shared in islice(_backgrounds(description, first), number, number + 1):
                yield Candidate(shared, first, second, f"{label}, {name}")


def _changes(
    description: Records, adjacency: Adjacency
) -> Iterator[tuple[str, tuple[Row, ...], tuple[Row, ...]]]:
    """The rows of the one person on both sides."""
    usual = _row(description, {})
    corners = [
        (_told(name, word), {name: value})
        for name, field in description.fields
        if name != description.person
        for word, value in extremes(field)
    ]
    corners += _whole_rows(description)
    people = {label: _person(description, changed) for label, changed in corners}
    if adjacency is Adjacency.ADD_REMOVE:
        for label, rows in people.items():
            yield label, rows, ()
        return
    if adjacency is Adjacency.ZERO_OUT:
        for label, rows in people.items():
            yield f"{label}, blanked out", rows, tuple(blank_row(description, row) for row in rows)
        return
    for name, field in description.fields:
        own = (
            [_told(name, word) for word, _ in extremes(field)] if name != description.person else []
        )
        for i, one in enumerate(own):
            for two in own[i + 1 :]:
                yield f"{one} versus {two}", people[one], people[two]
    whole = [label for label, _ in _whole_rows(description)]
    if len(whole) == 2:
        yield f"{whole[0]} versus {whole[1]}", people[whole[0]], people[whole[1]]
    for label, rows in people.items():
        yield (
            f"{label} versus an ordinary record",
            rows,
            _person(description, dict(zip(description.names, usual, strict=True))),
        )


def _told(name: str, word: str) -> str:
    """A value of a column, as one would say it.

    >>> _told("income", "highest"), _told("city", "'Rome'"), _told("city", "a stranger")
    ('highest income', "city = 'Rome'", 'a city nobody else has')
    """
    said = {
        "lowest": f"lowest {name}",
        "highest": f"highest {name}",
        "usual": f"an ordinary {name}",
        "a stranger": f"a {name} nobody else has",
        "empty text": f"an empty {name}",
        "long text": f"a very long {name}",
    }
    return said.get(word, f"{name} = {word}")


def _whole_rows(description: Records) -> list[tuple[str, dict[str, Any]]]:
    """All columns at their lowest, and all at their highest: correlated extremes."""
    ends = {n: extremes(f) for n, f in description.fields if n != description.person}
    return [
        ("everything lowest", {name: values[0][1] for name, values in ends.items() if values}),
        ("everything highest", {name: values[-1][1] for name, values in ends.items() if values}),
    ]


def blank_row(description: Records, row: Row) -> Row:
    """A row whose values are blank; whose it is stays."""
    return tuple(
        value if name == description.person else blank(field)
        for (name, field), value in zip(description.fields, row, strict=True)
    )


def blank(field: Field) -> Any:
    """The value of the null record."""
    if isinstance(field, Number):
        return 0 if field.integer else 0.0
    if isinstance(field, OneOf):  # a row of zeros has a 0 there, on the list or not
        return 0 if all(isinstance(value, int | float) for value in field.values) else None
    return ""


def _row(description: Records, changed: dict[str, Any], place: int = 0) -> Row:
    return tuple(
        changed.get(name, _owner(place) if name == description.person else ordinary(field, place))
        for name, field in description.fields
    )


def _owner(place: int) -> Any:
    return place


def _person(description: Records, changed: dict[str, Any]) -> tuple[Row, ...]:
    """All rows of the one person, alike: several rows that say the same weigh most."""
    owned = dict(changed)
    if description.person is not None:
        owned[description.person] = _owner(-1)
    return (_row(description, owned),) * description.rows_per_person


def person_of(description: Records, row: Row) -> tuple[Row, ...]:
    """All rows of the one person, like this one."""
    return _person(description, dict(zip(description.names, row, strict=True)))


_BACKGROUNDS = 5


def _backgrounds(
    description: Records, person: tuple[Row, ...]
) -> Iterator[tuple[str, tuple[Row, ...]]]:
    """What all others are: ordinary, nobody, copies of the record, at the lowest, at the highest."""
    size = _ROWS if description.rows is None else description.rows - len(person)
    others = tuple(_row(description, {}, place) for place in range(max(0, size)))
    yield "among ordinary records", others
    if description.rows is None:
        yield "alone", ()
    yield (
        "among copies of it",
        tuple(as_other(description, person[0], i) for i in range(max(0, size))),
    )
    for label, changed in _whole_rows(description):
        yield (
            f"among records with {label}",
            tuple(_row(description, changed, i) for i in range(max(0, size))),
        )


def as_other(description: Records, row: Row, place: int) -> Row:
    """The row as that of somebody else."""
    if description.person is None:
        return row
    at = description.names.index(description.person)
    return (*row[:at], _owner(place), *row[at + 1 :])


def fits(field: Field, value: Any) -> bool:
    """Whether a column may hold a value."""
    if isinstance(field, OneOf):
        return value in field.values
    if isinstance(field, Text):
        return isinstance(value, str) and len(value) <= field.longest
    if not isinstance(value, int | float):
        return False
    if math.isnan(value):
        return field.missing
    whole = not field.integer or float(value).is_integer()
    return field.low <= value <= field.high and whole
