"""What is known of a value: its numbers, and how two runs on neighbouring batches can differ in it.

Both runs have the same params, the same released values and the same coins. Every statement is about all
params of these shapes, all batches of finite numbers and all keys.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from dpcheck.program.facts.norms import NormTag, Threshold
from dpcheck.replay.draws import Line
from dpcheck.training.graph import Array

Tokens = frozenset[Any]
Part = tuple[Any, int, int]  # of which array, from where, to where
BATCH = "batch"  # the order of the records as they are handed in


@dataclass(frozen=True, slots=True)
class Numbers:
    """Every entry that is finite lies in [lo, hi]; entries may be infinite or NaN only where said so.

    A bound that is infinite says "unbounded", not "infinite": real arithmetic does not overflow.

    >>> Numbers(0.0, 1.0).magnitude
    1.0
    """

    lo: float = -math.inf
    hi: float = math.inf
    nonzero: bool = False
    inf: bool = False
    nan: bool = False

    @property
    def magnitude(self) -> float:
        """The largest absolute value."""
        return math.inf if self.inf else max(abs(self.lo), abs(self.hi))

    @property
    def tame(self) -> bool:
        """Never infinite, never NaN."""
        return not (self.inf or self.nan)

    def joined(self, other: Numbers) -> Numbers:
        """What holds of both."""
        return Numbers(
            min(self.lo, other.lo),
            max(self.hi, other.hi),
            self.without_zero and other.without_zero,
            self.inf or other.inf,
            self.nan or other.nan,
        )

    @property
    def positive_inf(self) -> bool:
        """Whether an entry may be +inf."""
        return self.inf and self.hi == math.inf

    @property
    def negative_inf(self) -> bool:
        """Whether an entry may be -inf."""
        return self.inf and self.lo == -math.inf

    @property
    def exactly(self) -> float | None:
        """The one number that all entries are."""
        return self.lo if self.lo == self.hi and self.tame else None

    @property
    def without_zero(self) -> bool:
        """Whether no entry is zero."""
        return self.nonzero or self.lo > 0 or self.hi < 0


Powers = tuple[tuple[Any, int], ...]  # public numbers that the proof does not know, to a power each


@dataclass(frozen=True, slots=True)
class Multiple:
    """A number that is the same in both runs: `factor` times public numbers that the proof does not know.

    >>> threshold = Multiple(1.0, (("C", 1),))
    >>> Multiple(1.5).times(threshold).times(threshold.power(-1))
    Multiple(factor=1.5, powers=())
    """

    factor: float
    powers: Powers = ()

    def times(self, other: Multiple) -> Multiple:
        """Both multiplied."""
        return Multiple(self.factor * other.factor, united(self.powers, other.powers))

    def power(self, exponent: int) -> Multiple:
        """To a whole power."""
        return Multiple(self.factor**exponent, tuple((s, p * exponent) for s, p in self.powers))


def united(one: Powers, two: Powers) -> Powers:
    """The product of two products of powers."""
    found = dict(one)
    for symbol, power in two:
        found[symbol] = found.get(symbol, 0) + power
    return tuple(sorted((s, p) for s, p in found.items() if p))


@dataclass(frozen=True, slots=True)
class Factor(NormTag):
    """A factor s(r) of a norm whose bounds hold of |s| in units of `unit`."""

    unit: Powers = ()

    def raised(self, exponent: float) -> Factor | None:
        """s to a power."""
        if any((p * exponent) % 1 for _, p in self.unit):
            return None
        found = NormTag.raised(self, exponent)
        unit = tuple((s, int(p * exponent)) for s, p in self.unit)
        return replace(found, unit=unit) if isinstance(found, Factor) else None


@dataclass(frozen=True, slots=True)
class Limit(Threshold):
    """A comparison of a norm with `limit` times `unit`."""

    unit: Powers = ()


@dataclass(frozen=True, slots=True)
class Public:
    """The same in both runs. `value` where it is a known constant, `released` if a release is behind it.

    `multiple`: what all its entries are, where they are one number.
    """

    value: Array | None = None
    released: bool = False
    multiple: Multiple | None = None


@dataclass(frozen=True, slots=True)
class Region:
    """Records start <= i < stop of the batch; `stream` is the loop that hands them over, if one does.

    `within` is what it hands them over from.
    """

    start: int
    stop: int
    stream: int | None = None
    within: Region | None = None

    def streams(self) -> set[int]:
        """All loops it is handed over by."""
        own = set() if self.stream is None else {self.stream}
        return own | (self.within.streams() if self.within is not None else set())

    def disjoint(self, other: Region) -> bool:
        """No record lies in both."""
        return self.stop <= other.start or other.stop <= self.start


@dataclass(frozen=True, slots=True)
class Vector:
    """The L2 norm of one record's entries is `factor` times the joint norm of the arrays `tokens`.

    With `lower` it is only at least that.
    """

    tokens: Tokens
    factor: float = 1.0
    lower: bool = False


@dataclass(frozen=True, slots=True)
class Sums:
    """One record's entries, none negative, add up to (factor * joint norm of `tokens`) ** power or more."""

    tokens: Tokens
    power: int
    factor: float = 1.0


@dataclass(frozen=True, slots=True)
class Member:
    """A part of a clipped group: one record's entries are `scale` times a part of a vector of norm at most 1.

    That vector has one place for each of the arrays `source`; this part lies in the places `tokens`,
    and where `part` is given only in a slice of what these hold.
    """

    source: Any
    tokens: Tokens
    scale: float  # in units of `unit`
    part: Part | None = None
    unit: Powers = ()


@dataclass(frozen=True, slots=True)
class Rows:
    """The runs differ in at most one index along `axes`: that of the record that differs.

    `axes` are major first: records (k, m) split into k microbatches lie along two of them. Each index of the
    last one is `inner` neighbouring entries long. No axes: the whole value belongs to the records of
    `region` (a hand-written loop over examples, or the body of a scan). `order` names which record has which
    index, None where that does not matter. `grouped`: an index is a sum over several records, and `member`
    bounds what one of them changes. `zero`: the null record's entries are 0 (of a sum: it adds 0).
    """

    axes: tuple[int, ...]
    order: Any = BATCH
    region: Region | None = None
    inner: int = 1
    grouped: bool = False
    zero: bool = False
    vector: Vector | None = None
    sums: Sums | None = None
    tag: Factor | None = None
    test: Limit | None = None
    member: Member | None = None
    why: str = ""  # why nothing bounds it, in words of the user's program
    same: Multiple | None = None  # of public numbers: what all of them are

    def bare(self, **changes: Any) -> Rows:
        """The same records with nothing known of their entries."""
        return replace(
            Rows(self.axes, self.order, self.region, self.inner, self.grouped, why=self.why),
            **changes,
        )


@dataclass(frozen=True, slots=True)
class Term:
    """A sum over the records of `region` of members: see `groups.py`. `zero`: the null record adds 0."""

    source: Any
    tokens: Tokens
    scale: float
    part: Part | None = None
    region: Region | None = None
    zero: bool = False
    why: str = ""
    line: Line | None = None
    unit: Powers = ()


@dataclass(frozen=True, slots=True)
class Aggregate:
    """Public plus `terms`: the runs differ by at most what the terms say."""

    terms: tuple[Term, ...]
    released: bool = False


@dataclass(frozen=True, slots=True)
class Drawn:
    """`scale` times independent standard draws plus something public, each entry its own number.

    `draw` is which; `part` is where in it, if only some of it is here.
    """

    draw: int
    law: str
    scale: float
    part: Part | None = None
    shifted: bool = False
    unit: Powers = ()


@dataclass(frozen=True, slots=True)
class Keys:
    """Keys by how they were derived, a path for each; `raw`: the value has one more axis, of words."""

    paths: Array
    raw: bool = False


@dataclass(frozen=True, slots=True)
class Mixed:
    """Private in a way that no rule bounds; refused only where it reaches a release or an output."""

    kind: str
    line: Line
    reason: str
    remedy: str


Kind = Public | Rows | Aggregate | Drawn | Keys | Mixed


@dataclass(frozen=True, slots=True)
class Fact:
    """Numbers and kind of one value."""

    numbers: Numbers
    kind: Kind
