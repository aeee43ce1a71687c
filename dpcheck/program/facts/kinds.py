"""What may be known of a value: it is public, rows, an aggregate, drawn, or released.

Every fact is true for all datasets of the described shape and all draws. `box` holds every value it may have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.program.facts.boxes import Array, Box, Missing
from dpcheck.program.facts.norms import NormTag, Threshold
from dpcheck.program.facts.rowsets import Predicate, RowSet, Sampling
from dpcheck.program.facts.sizes import Size

Ids = NDArray[np.int64]
NO_COINS: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """What all facts share. `coins`: draws that chose rows and that the value may tell of."""

    box: Box
    coins: frozenset[int] = NO_COINS


@dataclass(frozen=True, slots=True, kw_only=True)
class Public(Fact):
    """The same for all data: `value` is it."""

    value: object


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows(Fact):
    """Row i depends on record i alone, and on what is public or released.

    `rows` says which records, `axis` where they are; boxes have length 1 there. `row` bounds one row as a
    vector. `zero_null` if the row of the null record of zero-out is 0. `sampling` if a row is 0 unless its
    own coin fell on heads; `predicate` if it is 0 unless the record fulfils it.
    `tag`, `missing`, `threshold`, `truth` relate it to other nodes: see where they are made.
    """

    rows: RowSet
    axis: int
    row: Size
    zero_null: bool = False
    sampling: Sampling | None = None
    predicate: Predicate = field(default_factory=dict)
    tag: NormTag | None = None
    powers: NormTag | None = None  # of entries: their sum over a row is this factor
    missing: Missing | None = None
    threshold: Threshold | None = None
    truth: Predicate | None = None  # of truth values: what is known where they are true
    falsehood: Predicate | None = None  # and where they are false
    complement_of: int | None = None
    multiple_of: tuple[int, float] | None = None  # a positive multiple of another node
    values: tuple[object, ...] | None = None  # the public list its entries are from


@dataclass(frozen=True, slots=True)
class Cell:
    """A part of an aggregate that a record is behind only if it fulfils `predicate`."""

    predicate: Predicate
    diff: Size
    contribution: Size


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate(Fact):
    """A private value of public shape; `diff` bounds how it differs between neighbours.

    `contribution` bounds what one record adds to it, where it is a sum over records (when its coin, of
    `sampling`, falls on heads). `records` are the places it depends on, where not all of them. `rising` if
    one more record moves no entry down. `counts` is the set of records whose number it is. `cells` are
    parts of it of which every record is behind one at most.
    """

    diff: Size
    sampling: Sampling | None = None
    contribution: Size | None = None
    predicate: Predicate = field(default_factory=dict)
    records: frozenset[int] | None = None
    rising: bool = False
    counts: RowSet | None = None
    cells: tuple[Cell, ...] = ()
    exponent: tuple[int, float] | None = None  # exp(factor * node), up to a common factor
    normalised: tuple[int, float] | None = None  # that, divided by its sum: a softmax
    symmetric: bool = False
    known: NDArray[np.bool_] | None = None  # entries that are released, where some are


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn(Fact):
    """Independent numbers: location + scale * standard, of one family, each with an id of its own.

    `sign` tells one drawn number from its opposite; NaN where nobody knows which it is.
    """

    family: str
    scale: Array
    location: Array
    ids: Ids
    sign: Array = field(default_factory=lambda: np.asarray(1.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class OfUniform(Fact):
    """A function of one uniform number u in [-1/2, 1/2]: (a log(b + c |u|) + d), times the sign of u if
    `signed`; without the logarithm if a is 0: (b + c |u|) + d. If `whole` it has u + 1/2 for |u|."""

    ids: Ids
    a: float
    b: float
    c: float
    d: float = 0.0
    signed: bool = False
    whole: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Coins(Fact):
    """Independent coins that fall on heads with a public probability.

    `below` if each asks whether a uniform number in [0, 1] is below `rate`; False if above 1 - `rate`.
    """

    rate: float
    ids: Ids
    below: bool | None = None

    def opposite(self) -> Coins:
        """Tails for heads."""
        turned = None if self.below is None else not self.below
        return replace(self, rate=1 - self.rate, below=turned)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mirrored(Fact):
    """Noise around 0, of which one number may be at several places: its id at each, -1 where it is 0."""

    family: str
    scale: Array
    places: Ids
    ids: Ids


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaledNoise(Fact):
    """Noise of scale 1 times a released number above 0."""

    ids: Ids


@dataclass(frozen=True, slots=True, kw_only=True)
class Places(Fact):
    """Distinct places out of `count`, chosen uniformly: a batch."""

    batch: int
    count: int
    ids: Ids


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers(Fact):
    """Entry by entry a function of one record and of drawn numbers of its own; records are in front.

    Nobody has seen it: see rules/answers.py for what it costs to see it.
    """

    rows: RowSet


@dataclass(frozen=True, slots=True, kw_only=True)
class Released(Fact):
    """Computed from releases and public values alone.

    `release` while it is the very output of one, so that an argmax may still be told apart from a release
    of all its numbers.
    """

    release: Any = None  # a Release; or a comparison of some, see `joints`


SECRET = (Rows, Aggregate, Answers, Drawn, OfUniform, Mirrored, ScaledNoise, Coins, Places)
RANDOM = (Drawn, OfUniform, Mirrored, ScaledNoise, Coins, Places)
Facts = Mapping[int, Fact]
