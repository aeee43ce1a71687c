"""What is known of a tensor while a step runs: its numbers, its owners, its key, what bounds it.

A step is run on batches of a few sizes, and every aten call is followed. All statements are about the
tensors of that run and of every run that makes the same calls:

- `owner`: for every entry the one record it may depend on, or PUBLIC, or MIXED. Params, released values and
  coins that nothing else is drawn from are public.
- `key`: the value is `coef` times a function named by `key`, of one record, of public values and of
  coins. Equal keys are equal functions: the key holds every operation and every number, but not which record.
- `exact`: likewise, and which record and which coins: equal means equal values.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field, replace
from typing import Any

from dpcheck.replay.draws import Line

PUBLIC, MIXED = -1, -2
Key = str
Leaf = tuple[Key, Key, float]  # exact, key, and the coefficient that the norm was taken with


def digest(*parts: object) -> Key:
    """A name for an operation applied to named values.

    >>> digest("mul", 2.0) == digest("mul", 2.0), digest("mul", 2.0) == digest("mul", 3.0)
    (True, False)
    """
    return hashlib.blake2b(repr(parts).encode(), digest_size=12).hexdigest()


def rounded(value: float) -> float:
    """A number up to the rounding of floats, to be compared by equality.

    >>> rounded(1 / 49 * 49) == rounded(1.0)
    True
    """
    return float(f"{value:.12g}") if math.isfinite(value) else value


@dataclass(frozen=True, slots=True)
class Numbers:
    """Entries lie in [lo, hi]; they are infinite or NaN only where said so. All inputs are finite."""

    lo: float = -math.inf
    hi: float = math.inf
    inf: bool = False
    nan: bool = False
    nonzero: bool = False

    @property
    def never_zero(self) -> bool:
        """No entry is zero."""
        return self.nonzero or self.lo > 0 or self.hi < 0

    @property
    def tame(self) -> bool:
        """Never infinite, never NaN."""
        return not (self.inf or self.nan)

    @property
    def magnitude(self) -> float:
        """The largest absolute value."""
        return math.inf if self.inf else max(abs(self.lo), abs(self.hi))

    def joined(self, other: Numbers) -> Numbers:
        """What holds of both."""
        return Numbers(
            min(self.lo, other.lo),
            max(self.hi, other.hi),
            self.inf or other.inf,
            self.nan or other.nan,
            self.never_zero and other.never_zero,
        )


ANY = Numbers()


@dataclass(frozen=True, slots=True)
class Below:
    """A norm from below. With `power` 1, the L2 norm of one record's entries is at least `factor` times the joint
    L2 norm of `leaves`; with `power` 2, its entries add up to at least `factor` times the square of that norm.
    """

    leaves: frozenset[Leaf]
    factor: float
    power: int = 1


@dataclass(frozen=True, slots=True)
class Shrinks:
    """Every entry s of a record is 0 <= s <= bound / (joint norm of the record's `leaves`)."""

    leaves: frozenset[Leaf]
    bound: float


@dataclass(frozen=True, slots=True)
class Bounded:
    """The record's entries have L2 norm at most `bound`, jointly with all others of `group` but other `leaves`."""

    group: object
    leaves: frozenset[object]
    bound: float
    part: tuple[Any, int, int] | None = None  # which array, first entry, end: if it is a slice


@dataclass(frozen=True, slots=True)
class Test:
    """Whether a norm is above a threshold: `above` says which answer means so."""

    below: Below
    threshold: float
    above: bool


@dataclass(frozen=True, slots=True)
class Why:
    """Why a private value is not usable."""

    kind: str
    line: Line
    reason: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Part:
    """Contributions to a sum over records, of one function: how often each record's is in it."""

    bound: Bounded
    times: tuple[tuple[int, float], ...]  # (record, coefficient)
    line: Line


@dataclass(frozen=True, slots=True)
class Sum:
    """Something public, plus sums over records, plus draws, each times a number.

    `noise`: draw -> how many standard draws of it.
    """

    parts: tuple[tuple[Key, Part], ...] = ()
    noise: tuple[tuple[Any, float], ...] = ()
    offset: Key = ""  # what public values were added


@dataclass(frozen=True, slots=True)
class Fact:
    """All that is known of one tensor.

    `owner` is None for public values, else an int16 tensor of the same shape. `sum` for a sum over records or
    something drawn. `why` for private values that no rule bounds. `value`: all entries are this number.
    """

    numbers: Numbers = ANY
    key: Key = ""
    exact: Key = ""
    coef: float = 1.0
    owner: Any = None
    sum: Sum | None = None
    why: Why | None = None
    below: Below | None = None
    shrinks: Shrinks | None = None
    bounded: Bounded | None = None
    test: Test | None = None
    leaf: tuple[Key, Key] | None = None
    made_of: frozenset[Leaf] | None = None  # leaves side by side, were the coefficient 1
    released: bool = False
    value: float | None = None
    extra: dict[str, Any] = field(default_factory=dict, compare=False)

    @property
    def public(self) -> bool:
        """The same for all batches, or released already."""
        return self.owner is None and self.sum is None and self.why is None

    @property
    def private(self) -> bool:
        """Not to be seen by anybody."""
        return not self.public

    @property
    def ukey(self) -> tuple[float, Key]:
        """The function, coefficient included."""
        return (rounded(self.coef), self.key)

    @property
    def ekey(self) -> tuple[float, Key]:
        """The value, coefficient included."""
        return (rounded(self.coef), self.exact)

    def name(self) -> tuple[Key, Key]:
        """What the leaf is called in groups: its value, whatever its shape and scale."""
        return self.leaf or (self.exact, self.key)

    def leaves(self) -> frozenset[Leaf]:
        """The leaf that it is, or those that lie in it side by side, as often as they are in it."""
        if self.made_of is None:
            return frozenset({(*self.name(), rounded(abs(self.coef)))})
        return frozenset((e, k, rounded(c * abs(self.coef))) for e, k, c in self.made_of)

    def norm(self) -> Below:
        """Its norm from below: that of what it was computed from, or its own."""
        return self.below or Below(self.leaves(), 1.0 if self.coef else 0.0)

    def bare(self, **changes: Any) -> Fact:
        """Numbers, owner and keys, without what bounds it."""
        return replace(
            self,
            below=None,
            shrinks=None,
            bounded=None,
            test=None,
            leaf=None,
            made_of=None,
            value=None,
            **changes,
        )


def constant(value: float) -> Fact:
    """A number.

    >>> constant(2.0).coef
    2.0
    """
    number = float(value)
    nan, inf = math.isnan(number), math.isinf(number)
    held = Numbers(-math.inf, math.inf, inf, nan) if nan or inf else Numbers(number, number)
    if nan or inf:
        held = Numbers(0, 0, inf, nan) if nan else Numbers(number, number, True, False)
        name = f"number {number}"
        return Fact(held, name, name, value=number, extra={"known": True})
    return Fact(held, "one", "one", number, value=number, extra={"known": True})
