"""Lists of query answers a bounded norm apart: checked exactly, and searched.

The standard patterns come first: one answer above, one below, one above and the rest below, half and half,
all above, all below, crossed [Ding2018]. Then answers at the numbers of the code, ties, and far apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from dpcheck.auditing.pairs.candidates import Candidate
from dpcheck.core.errors import InvalidRecords
from dpcheck.core.records import Number, Records
from dpcheck.core.relation import Relation

_LENGTHS = (5, 10, 2, 1)  # where the number of answers is not said
_FAR = 20.0  # bounds that lie between answers without a tie


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers on both sides."""

    first: tuple[float, ...]
    second: tuple[float, ...]

    def candidate(self, _: Records) -> Candidate:
        """Every answer is a row."""
        shown = [f"({', '.join(f'{x:g}' for x in side)})" for side in (self.first, self.second)]
        rows = [tuple((x,) for x in side) for side in (self.first, self.second)]
        return Candidate((), rows[0], rows[1], " or ".join(shown))


def column_of(description: Records) -> Number:
    """What an answer may be."""
    (_, field), *others = description.fields
    if others or not isinstance(field, Number):
        raise InvalidRecords(
            "answers are described by one column of numbers and how many there are: "
            "dpcheck.records(answer=dpcheck.number(), rows=5)."
        )
    return field


def plain_answers(description: Records, relation: Relation, most: int) -> list[Candidate]:
    """At most so many pairs, the standard patterns first.

    >>> from dpcheck.core.records import number, records
    >>> from dpcheck.core.relation import relation
    >>> max_one = relation("answers", norm="inf", bound=1)
    >>> [one.label for one in plain_answers(records(a=number(), rows=3), max_one, 3)]
    ['(1, 1, 1) or (2, 1, 1)', '(1, 1, 1) or (0, 1, 1)', '(1, 1, 1) or (2, 0, 0)']
    """
    breeder = AnswerBreeder(description, relation, (), np.random.default_rng(0))
    found = (each.candidate(description) for each in breeder.patterns())
    return list(islice(_distinct(found), most))


def _distinct(found: Iterator[Candidate]) -> Iterator[Candidate]:
    seen: set[str] = set()
    for one in found:
        if one.first != one.second and one.label not in seen:
            seen.add(one.label)
            yield one


@dataclass(slots=True)
class AnswerBreeder:
    """Makes pairs of answers within a description and a relation.

    Guarantee: what it makes is never further apart than the bound, exactly.
    """

    description: Records
    relation: Relation
    numbers: Sequence[float]
    rng: np.random.Generator
    column: Number = field(init=False)
    values: list[float] = field(init=False)

    def __post_init__(self) -> None:
        self.column = column_of(self.description)
        bound = self.relation.bound
        near = [c + step * bound for c in self.numbers for step in (-1, 0, 1)]
        ends = [e for e in (self.column.low, self.column.high) if math.isfinite(e)]
        found = [0.0, bound, -bound, 2 * bound, _FAR * bound, -_FAR * bound, *ends, *near]
        self.values = list(dict.fromkeys(self._inside(v) for v in found))

    def patterns(self) -> Iterator[Answers]:
        """The standard ones, for every length."""
        for size in self._lengths():
            half, bound = size // 2, self.relation.bound
            signs = [
                [1] + [0] * (size - 1),
                [-1] + [0] * (size - 1),
                [1] + [-1] * (size - 1),
                [-1] + [1] * (size - 1),
                [-1] * half + [1] * (size - half),
                [1] * size,
                [-1] * size,
                [0] * (size - 1) + [1],
            ]
            crossed = [1.0 if i % 2 else 0.0 for i in range(size)]
            bases = [[bound] * size, [0.0] * size, [bound * x for x in crossed]]
            bases += [[_FAR * bound * i for i in range(size)], [_FAR * bound, *[0.0] * (size - 1)]]
            for base in bases:
                for direction in signs:
                    yield self._moved(base, direction)
            back = [-1 if x else 1 for x in crossed]
            yield self._moved([bound * x for x in crossed], back)

    def random(self) -> Answers:
        """Answers of a few values, moved up, down or not at all."""
        size = self._pick(self._lengths())
        few = [self._pick(self.values) for _ in range(int(self.rng.integers(1, 4)))]
        base = [few[int(self.rng.integers(len(few)))] for _ in range(size)]
        return self._moved(base, self._direction(size))

    def near(self, one: Answers) -> Answers:
        """One answer is another, or all are moved in other directions."""
        base = list(one.first)
        place = int(self.rng.integers(len(base)))
        moved = [int(np.sign(b - a)) for a, b in zip(one.first, one.second, strict=True)]
        step = int(self.rng.integers(3))
        if step == 0:
            base[place] = self._pick(self.values)
        elif step == 1:
            moved[place] = int(self.rng.integers(-1, 2))
        else:
            moved = self._direction(len(base))
        return self._moved(base, moved)

    def crossed(self, one: Answers, two: Answers) -> Answers:
        """The answers of one, moved as those of the other are."""
        moved = [int(np.sign(b - a)) for a, b in zip(two.first, two.second, strict=True)]
        size = len(one.first)
        return self._moved(list(one.first), (moved * size)[:size])

    def _lengths(self) -> Sequence[int]:
        return _LENGTHS if self.description.rows is None else (self.description.rows,)

    def _direction(self, size: int) -> list[int]:
        if self.rng.random() < 0.3:
            chosen = int(self.rng.integers(size))
            return [int(self._pick((-1, 1))) if i == chosen else 0 for i in range(size)]
        return [int(x) for x in self.rng.integers(-1, 2, size)]

    def _moved(self, base: Sequence[float], signs: Sequence[int]) -> Answers:
        """Every answer moved as its sign says, as far as the norm allows."""
        count = max(1, sum(map(abs, signs)))
        step = self.relation.bound / count ** (1 / self.relation.norm)
        if self.column.integer and step < 1:  # one answer takes all there is
            first = next((i for i, sign in enumerate(signs) if sign), 0)
            signs = [sign if i == first else 0 for i, sign in enumerate(signs)]
            step = self.relation.bound
        if self.column.integer:
            step = math.floor(step)
        left = [self._inside(v) for v in base]
        for part in (step, step * (1 - 1e-12)):
            right = [self._inside(v + part * sign) for v, sign in zip(left, signs, strict=True)]
            if not self.relation.exceeded(left, right):
                return Answers(tuple(left), tuple(right))
        return Answers(tuple(left), tuple(left))

    def _inside(self, value: float) -> float:
        held = min(max(value, self.column.low), self.column.high)
        return float(math.floor(held)) if self.column.integer else held

    def _pick(self, listed: Sequence[Any]) -> Any:
        return listed[int(self.rng.integers(len(listed)))]
