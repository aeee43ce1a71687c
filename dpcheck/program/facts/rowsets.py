"""Which records the rows of an array belong to, and when one of them is in."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Sampling:
    """How rows were chosen by coins that depend on no data.

    Poisson: each with probability `rate`, on its own coin. Otherwise `batch` of `count` at once.
    `ids` are the draws: an amplified release is the only one that may have seen them.
    """

    ids: frozenset[int]
    rate: float = 1.0
    batch: int | None = None
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Region:
    """Values between two ends, or (`members`) some of a list; `but` if all values except those."""

    low: float = -math.inf
    high: float = math.inf
    low_in: bool = True
    high_in: bool = True
    members: frozenset[object] | None = None
    but: bool = False

    def disjoint(self, other: Region) -> bool:
        """Whether no value is in both."""
        if self.members is not None and other.members is not None:
            if self.but and other.but:
                return False
            if self.but or other.but:
                some, rest = (other, self) if self.but else (self, other)
                return (some.members or frozenset()) <= (rest.members or frozenset())
            return self.members.isdisjoint(other.members)
        if self.members is not None or other.members is not None:
            some, between = (self, other) if self.members is not None else (other, self)
            assert some.members is not None
            return not some.but and not any(between.holds(value) for value in some.members)
        return self._below(other) or other._below(self)

    def _below(self, other: Region) -> bool:
        touching = self.high == other.low and self.high_in and other.low_in
        return self.high < other.low or (self.high == other.low and not touching)

    def holds(self, value: object) -> bool:
        """Whether a value lies between the ends; what is no number may."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            return True
        above = self.low < value or (self.low == value and self.low_in)
        return above and (value < self.high or (value == self.high and self.high_in))

    def both(self, other: Region) -> Region:
        """A region that holds what is in both: the intersection, or one of the two."""
        if self.members is not None or other.members is not None:
            return self if self.members is not None and not self.but else other
        low, low_out = max((self.low, not self.low_in), (other.low, not other.low_in))
        high, high_in = min((self.high, self.high_in), (other.high, other.high_in))
        return Region(low, high, not low_out, high_in)

    def opposite(self) -> Region | None:
        """Everything else, where that is a region: NaN belongs to neither side of a comparison."""
        return None if self.members is None else Region(members=self.members, but=not self.but)


Predicate = Mapping[int, Region]  # node -> where its value lies; all of them hold


def disjoint(a: Predicate, b: Predicate) -> bool:
    """Whether no record fulfils both."""
    return any(place in b and region.disjoint(b[place]) for place, region in a.items())


def together(a: Predicate, b: Predicate) -> Predicate:
    """Both hold."""
    found = dict(a)
    for place, region in b.items():
        found[place] = region if place not in found else found[place].both(region)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class RowSet:
    """A list of records, in an order that is the same for every array that has this set.

    `count` is their number, None where it is not public. `optional` if a record's own values decide
    whether it is in, then `predicate` holds for those that are. `records` are their places where those
    are public
    """

    count: int | None
    optional: bool = False
    sampling: Sampling | None = None
    predicate: Predicate = field(default_factory=dict)
    records: tuple[int, ...] | None = None
    parts: dict[object, RowSet] = field(default_factory=dict)

    def part(self, key: object, **changes: object) -> RowSet:
        """The same selection is the same set, however often it is made."""
        if key not in self.parts:
            known = {
                "count": self.count,
                "optional": self.optional,
                "sampling": self.sampling,
                "predicate": self.predicate,
                "records": self.records,
            }
            self.parts[key] = RowSet(**{**known, **changes})  # type: ignore[arg-type]
        return self.parts[key]


Dim = int | RowSet
Shape = tuple[Dim, ...]


def same(a: Dim, b: Dim) -> bool:
    """Whether two lengths are the same for all data."""
    if isinstance(a, RowSet) and isinstance(b, RowSet):
        return a is b
    if isinstance(a, RowSet):
        return a.count is not None and a.count == b
    return same(b, a) if isinstance(b, RowSet) else a == b


def number(dim: Dim) -> int | None:
    """A length as a number, None where it is private."""
    return dim.count if isinstance(dim, RowSet) else dim
