"""What may be known of a value, and of the records that rows belong to.

A certificate states numbers: boxes and norms. What relates values to each other (a factor of a norm, a
condition, whose coins) the kernel derives from the graph itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from dpcheck.verify.program.boxes import Box, Entries
from dpcheck.verify.program.numbers import INF, Number, root_down, root_up, times
from dpcheck.verify.program.sizes import Size


@dataclass(frozen=True, slots=True)
class Sampling:
    """How rows were chosen, by coins that depend on no data: each on its own, or `batch` of `count`."""

    ids: frozenset[int]
    rate: Number
    batch: int | None = None
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Region:
    """Values between two ends, or (`members`) some of a list; `but` if all values except those."""

    low: Number = -INF
    high: Number = INF
    low_in: bool = True
    high_in: bool = True
    members: frozenset[object] | None = None
    but: bool = False

    def disjoint(self, other: Region) -> bool:
        """Whether no value is in both."""
        if self.members is None and other.members is None:
            return self._below(other) or other._below(self)
        if self.members is None or other.members is None:
            some, between = (self, other) if self.members is not None else (other, self)
            return not some.but and not any(between._may_hold(each) for each in some.members or ())
        mine, theirs = self.members, other.members
        if self.but or other.but:
            return not (self.but and other.but) and (
                mine <= theirs if other.but else theirs <= mine
            )
        return mine.isdisjoint(theirs)

    def _below(self, other: Region) -> bool:
        return self.high < other.low or (
            self.high == other.low and not (self.high_in and other.low_in)
        )

    def _may_hold(self, value: object) -> bool:
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


Predicate = Mapping[int, Region]  # node -> where its value lies; all of them hold


def exclude(a: Predicate, b: Predicate) -> bool:
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

    `count` is their number where it is public; `first` the node that made it. `optional` if a record's own
    values decide whether it is in. `places` are their public places, where they have some.
    """

    first: int
    count: int | None
    optional: bool = False
    sampling: Sampling | None = None
    predicate: Predicate = field(default_factory=dict)
    places: frozenset[int] | None = None

    @property
    def all_in(self) -> bool:
        """Whether every record is in, for all data and all coins."""
        return not self.optional and self.sampling is None and self.places is None


Dim = int | RowSet
Shape = tuple[Dim, ...]


def same(a: Dim, b: Dim) -> bool:
    """Whether two lengths are the same for all data."""
    if isinstance(a, RowSet):
        return a is b if isinstance(b, RowSet) else a.count is not None and a.count == b
    return same(b, a) if isinstance(b, RowSet) else a == b


Monomials = tuple[tuple[Number, int | float], ...]  # (a, p) for a r^p


@dataclass(frozen=True, slots=True)
class Factor:
    """A factor s(r) >= 0 made of the norm r, of order `order`, of the rows of node `source`.

    `above`: monomials that are all at least s; `below`: monomials that are all at most s. `bound` is a
    bound of r s(r) that was found otherwise.
    """

    source: int
    order: str
    above: Monomials
    below: Monomials
    bound: Number = INF

    def scaled(self, times_over: Number) -> Factor:
        """A positive multiple."""
        above, below = (
            tuple((times(a, times_over), p) for a, p in side) for side in (self.above, self.below)
        )
        return Factor(self.source, self.order, above, below, times(self.bound, times_over))

    def raised(self, exponent: float) -> Factor | None:
        """s to the power 1/2, 2 or -1."""
        above = [(a, p) for a, p in self.above if a > 0]
        below = [(a, p) for a, p in self.below if a > 0]
        if exponent == 2:
            up, down = [(a * a, 2 * p) for a, p in above], [(a * a, 2 * p) for a, p in below]
        elif exponent == 0.5:
            up, down = (
                [(root_up(a), p / 2) for a, p in above],
                [(root_down(a), p / 2) for a, p in below],
            )
        elif exponent == -1:
            up, down = [(1 / a, -p) for a, p in below], [(1 / a, -p) for a, p in above]
        else:
            return None
        return Factor(self.source, self.order, tuple(up), tuple(down))

    def at_most(self, limit: Number) -> Factor:
        """min(s, limit)."""
        return Factor(self.source, self.order, (*self.above, (limit, 0)), (), self.bound)

    def at_least(self, limit: Number) -> Factor:
        """max(s, limit), or s plus it."""
        return Factor(self.source, self.order, (), (*self.below, (limit, 0)))

    def constant(self, value: Number) -> Factor:
        """A constant beside this factor."""
        return Factor(self.source, self.order, ((value, 0),), ((value, 0),))

    def itself(self) -> bool:
        """Whether it is the norm."""
        return self.above == self.below == ((1, 1),)

    def product(self, low: Number = 0.0, high: Number = INF) -> Number:
        """A bound of r s(r) for low <= r <= high."""
        return min([self.bound, *(_highest(a, p + 1, low, high) for a, p in self.above)])


def _highest(a: Number, p: float, low: Number, high: Number) -> Number:
    """A bound of a r^p on an interval of r >= 0, for p = 1, 0 and -1."""
    if p == 0:
        return a
    if p == 1:
        return times(a, high)
    return a / low if p == -1 and low > 0 else INF


@dataclass(frozen=True, slots=True)
class Threshold:
    """Truth values of r > limit (or r < limit) for a norm r."""

    norm: Factor
    limit: Number
    greater: bool


@dataclass(frozen=True, slots=True)
class Missing:
    """Truth values of isnan(x) or isfinite(x), or their opposites, for the x of a node."""

    source: int
    finite: bool
    negated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """True for all data and all draws. `coins`: draws that chose rows, and that the value may tell of."""

    box: Box
    coins: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Public(Fact):
    """The same for all data; `value` is it, where it is one number or text."""

    value: object = None


@dataclass(frozen=True, slots=True)
class Held:
    """What was made of noisy numbers that nobody has seen: an answer of a sparse vector, the gap it tells,
    whether a number beats all before it, the best so far, or its place; `base` is the threshold."""

    kind: str
    members: tuple[int, ...]  # releases
    up: bool
    base: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Released(Fact):
    """Computed from releases and public values alone; `release` if it is the very output of one."""

    release: int | None = None
    held: Held | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows(Fact):
    """Row i depends on record i alone, and on what is public or released; `size` bounds one row.

    `zero_null` if the row of the null record is 0, `sampling` if a row is 0 unless its coin fell on heads,
    `predicate` holds wherever the row is not 0.
    """

    rows: RowSet
    axis: int
    size: Size
    zero_null: bool = False
    sampling: Sampling | None = None
    predicate: Predicate = field(default_factory=dict)
    factor: Factor | None = None
    powers: Factor | None = None  # of entries: their sum over a row is this factor
    threshold: Threshold | None = None
    missing: Missing | None = None
    truth: Predicate | None = None  # of truth values: what holds where they are true
    falsehood: Predicate | None = None  # and where they are false
    complement: int | None = None  # 1 - x or ~x of the truth values of that node
    multiple: tuple[int, Number] | None = None  # a positive multiple of another node
    whole: bool = False  # floats that are whole numbers


@dataclass(frozen=True, slots=True)
class Cell:
    """A part of an aggregate that a record is behind only if it fulfils `predicate`."""

    predicate: Predicate
    size: Size
    added: Size


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate(Fact):
    """A private value of public shape; `size` bounds how it differs between neighbours.

    `added` bounds what one record adds, where it is a sum over records (if its coin, of `sampling`, falls on
    heads). `places` are those of the records it depends on. `rising` if one more record moves no entry down.
    """

    size: Size
    added: Size | None = None
    sampling: Sampling | None = None
    predicate: Predicate = field(default_factory=dict)
    places: frozenset[int] | None = None
    rising: bool = False
    cells: tuple[Cell, ...] = ()


Ids = tuple[tuple[int, ...], ...]  # the draws behind each entry, or behind a block of all


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn(Fact):
    """Independent numbers of one family with public scales, each with an id of its own."""

    family: str
    scale: Entries
    location: Number
    ids: Ids
    block: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OfUniform(Fact):
    """Functions of uniform numbers u in [-1/2, 1/2]: b + c |u|, or a log(b + c |u|); `signed` if times the
    sign of u."""

    ids: Ids
    b: Fraction
    c: Fraction
    a: Fraction = Fraction(0)
    signed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Coins(Fact):
    """Independent coins that fall on heads with a public probability."""

    rate: Number
    ids: Ids
    block: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Places(Fact):
    """Distinct places out of `count`, chosen uniformly: a batch."""

    batch: int
    count: int
    ids: Ids


PRIVATE = (Rows, Aggregate)
RANDOM = (Drawn, OfUniform, Coins, Places)
