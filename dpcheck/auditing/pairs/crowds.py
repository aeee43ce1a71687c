"""Pairs among people of several kinds: the person who differs stands between crowds.

What an order statistic, a vote, a threshold on a count or a ratio hides shows only where others are
divided: half of them at one end, one against many, as many as a rule asks for. A crowd is a list of kinds,
each with the number of people of it; searching means trying other kinds, numbers, persons and places.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from dpcheck.auditing.pairs.candidates import (
    Candidate,
    as_other,
    blank_row,
    extremes,
    fits,
    ordinary,
    person_of,
)
from dpcheck.auditing.pairs.forms import Row
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.records import Field, Number, OneOf, Records

_SIZES = (0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 16, 20, 30)
_LARGEST = 120  # people that a number in the code may ask for
_KINDS = (0.15, 0.6, 0.25)  # chances of one, two and three kinds of people
_TINY = 1e-3  # of a column's width: beside a value
_LAST, _MIXED = 0.6, 0.2  # chances that the person comes last, that kinds take turns


@dataclass(frozen=True, slots=True)
class Crowd:
    """Kinds of people with their numbers, and what the one person is on both sides (None: not there).

    People come kind by kind, or the kinds take turns; a share `ahead` of them comes before the one.
    """

    groups: tuple[tuple[Row, int], ...]
    first: Row
    second: Row | None
    ahead: float = 1.0
    turns: bool = False

    @property
    def others(self) -> int:
        """How many people are not the one."""
        return sum(number for _, number in self.groups)

    def candidate(self, description: Records) -> Candidate:
        """The rows of both sides."""
        rows = [(turn, row) for row, n in self.groups for turn in range(n)]
        if self.turns:
            rows.sort(key=lambda one: one[0])
        shared = tuple(as_other(description, row, place) for place, (_, row) in enumerate(rows))
        second = () if self.second is None else person_of(description, self.second)
        return Candidate(
            shared,
            person_of(description, self.first),
            second,
            self._label(description),
            None if self.ahead == 1.0 else self._before,
        )

    @property
    def _before(self) -> int:
        return int(self.ahead * self.others)

    def _label(self, description: Records) -> str:
        crowd = " and ".join(f"{n} x {_shown(row, description)}" for row, n in self.groups if n)
        change = _shown(self.first, description)
        if self.second is not None:
            change = f"{change} or {_shown(self.second, description)}"
        order = " taking turns" if self.turns and len(self.groups) > 1 else ""
        place = f", after {self._before} of them" if self._before < self.others else ""
        return f"{change}, among {crowd or 'nobody'}{order}{place}"


def _shown(row: Row, description: Records) -> str:
    plain = [
        f"{value:.6g}" if isinstance(value, float) else f"{value!r:.24}"
        for name, value in zip(description.names, row, strict=True)
        if name != description.person
    ]
    return plain[0] if len(plain) == 1 else f"({', '.join(plain)})"


@dataclass(slots=True)
class Breeder:
    """Makes crowds within a description: at random, one step away from others, or out of two."""

    description: Records
    adjacency: Adjacency
    numbers: Sequence[float]
    texts: Sequence[str]
    rng: np.random.Generator
    values: list[list[Any]] = field(init=False)
    sizes: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.values = [
            _values(each, self.numbers, self.texts) for _, each in self.description.fields
        ]
        own = self.description.rows_per_person
        if self.description.rows is not None:
            self.sizes = [max(0, self.description.rows - own)]
            return
        asked = [int(c) for c in self.numbers if 1 < c <= _LARGEST and c == int(c)]
        near = [c + step for c in asked for step in (-2, -1, 0, 1)]
        self.sizes = sorted({*_SIZES, *(n for n in near if n >= 0)})

    def random(self) -> Crowd:
        """Kinds, numbers and persons at random, with a liking for what is critical."""
        number = int(self.rng.choice(3, p=_KINDS)) + 1
        kinds = [self._kind() for _ in range(number)]
        groups = tuple(zip(kinds, self._split(self._pick(self.sizes), number), strict=True))
        persons = self._person(kinds), self._person(kinds)
        turns = number > 1 and self.rng.random() < _MIXED
        return self._settled(Crowd(groups, *persons, self._place(), turns))

    def _place(self) -> float:
        """Where the person stands: mostly last, else first, in the middle or anywhere."""
        if self.rng.random() < _LAST:
            return 1.0
        return float(self._pick((0.0, 0.5, self.rng.random())))

    def near(self, crowd: Crowd) -> Crowd:
        """The crowd with one thing changed."""
        step = int(self.rng.integers(7))
        groups = list(crowd.groups)
        if step == 0 and groups:
            place = int(self.rng.integers(len(groups)))
            groups[place] = (self._touched(groups[place][0]), groups[place][1])
        elif step == 1 and groups:
            groups = self._counted(groups)
        elif step == 2:
            kinds = [row for row, _ in groups]
            return self._settled(replace(crowd, first=self._person(kinds)))
        elif step == 3:
            return self._settled(replace(crowd, first=self._touched(crowd.first)))
        elif step == 4 and crowd.second is not None:
            return self._settled(replace(crowd, second=self._touched(crowd.second)))
        elif step == 5:
            turns = crowd.turns if self.rng.random() < 0.5 else not crowd.turns
            return self._settled(replace(crowd, ahead=self._place(), turns=turns))
        else:
            number = max(1, len(groups))
            split = self._split(self._pick(self.sizes), number)
            groups = [(row, n) for (row, _), n in zip(groups, split, strict=False)]
        return self._settled(replace(crowd, groups=tuple(groups)))

    def crossed(self, one: Crowd, two: Crowd) -> Crowd:
        """The people of one and the person of the other."""
        return self._settled(replace(one, first=two.first, second=two.second))

    def _settled(self, crowd: Crowd) -> Crowd:
        """A crowd as the adjacency wants it, with a person who differs and the public number of rows."""
        if self.adjacency is Adjacency.ADD_REMOVE:
            crowd = replace(crowd, second=None)
        elif self.adjacency is Adjacency.ZERO_OUT:
            crowd = replace(crowd, second=blank_row(self.description, crowd.first))
        elif crowd.second is None:
            crowd = replace(crowd, second=self._kind())
        if self.description.rows is not None and crowd.groups:
            missing = self.sizes[0] - crowd.others
            row, n = crowd.groups[0]
            if n + missing >= 0:
                return replace(crowd, groups=((row, n + missing), *crowd.groups[1:]))
            split = self._split(self.sizes[0], len(crowd.groups))
            kinds = [row for row, _ in crowd.groups]
            return replace(crowd, groups=tuple(zip(kinds, split, strict=True)))
        return crowd

    def _pick(self, listed: Sequence[Any]) -> Any:
        return listed[int(self.rng.integers(len(listed)))]

    def _kind(self) -> Row:
        """A kind of person: all columns at one end, or each by itself."""
        whole = self.rng.random()
        if whole < 0.25:
            return tuple(column[0] for column in self.values)
        if whole < 0.5:
            return tuple(column[min(1, len(column) - 1)] for column in self.values)
        return tuple(self._pick(column) for column in self.values)

    def _person(self, kinds: Sequence[Row]) -> Row:
        """One of the kinds around, or another."""
        if kinds and self.rng.random() < 0.3:
            return kinds[int(self.rng.integers(len(kinds)))]
        return self._kind()

    def _touched(self, row: Row) -> Row:
        """A row with one value changed."""
        place = int(self.rng.integers(len(row)))
        return (*row[:place], self._pick(self.values[place]), *row[place + 1 :])

    def _split(self, size: int, number: int) -> tuple[int, ...]:
        """How many of each kind: half and half, one against many, by a number of the code, any."""
        if number == 1:
            return (size,)
        way = int(self.rng.integers(4))
        if way == 0:
            first = (size + int(self.rng.integers(2))) // 2
        elif way == 1:
            first = min(1, size)
        elif way == 2 and self.numbers:
            asked = int(min(1e6, abs(self._pick(self.numbers)))) + int(self.rng.integers(-2, 2))
            first = min(size, max(0, asked))
        else:
            first = int(self.rng.integers(size + 1))
        rest = self._split(size - first, number - 1)
        return (first, *rest) if self.rng.random() < 0.5 else (*rest, first)

    def _counted(self, groups: list[tuple[Row, int]]) -> list[tuple[Row, int]]:
        """One kind with one more or one fewer; where the number is public, the other way in another."""
        place = int(self.rng.integers(len(groups)))
        step = 1 if self.rng.random() < 0.5 else -1
        numbers = [n for _, n in groups]
        numbers[place] += step
        if self.description.rows is not None:
            numbers[(place + 1) % len(groups)] -= step
        return [(row, max(0, n)) for (row, _), n in zip(groups, numbers, strict=True)]


def _values(field: Field, numbers: Sequence[float], texts: Sequence[str]) -> list[Any]:
    """Values of a column worth trying; its two ends come first."""
    ends = [value for _, value in extremes(field)]
    if isinstance(field, OneOf):
        return ends
    found = [*ends[:2], ordinary(field), *ends[2:]]
    if isinstance(field, Number):
        low, high = max(field.low, -1e6), min(field.high, 1e6)
        width = high - low
        for value in numbers:
            beside = max(1.0, _TINY * width) if field.integer else _TINY * (width or 1.0)
            found += [value, value - beside, value + beside]
        inside = sorted(v for v in numbers if field.low <= v <= field.high)
        found += [(a + b) / 2 for a, b in pairwise(inside)]  # a narrow band is between two of them
        found += [low + width * part for part in (0.25, 0.5, 0.75)]
        if field.integer:
            found = [int(v) for v in found if math.isfinite(v)]
    else:
        found += list(texts)
    kept: dict[str, Any] = {repr(v): v for v in found if fits(field, v)}
    return list(kept.values()) or [ordinary(field)]
