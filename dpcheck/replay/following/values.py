"""Scalars that know which draws they are made of, and the class they share.

- `Affine`: base + sum of coefficient * atom, for every value of the atoms.
- `Monotone`: a known non-decreasing function of an affine value (clipped, rounded, ...).
- `Tabled`: a function of finitely many outcomes (a coin, an argmax, a discrete draw).
- `Mixture`: a number or an affine value for every outcome: which noise there is, a coin decides.
- `Lost`: depends on known atoms in an unknown way; may be dropped from an output, never judged.

Whoever turns one into a plain number, a branch or an index goes through a method of this class, and
leaves a mark or a decision in the run's recorder.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Mapping

import numpy as np

from dpcheck.core.data import Value
from dpcheck.replay.following.operators import Operators
from dpcheck.replay.marks import MarkKind
from dpcheck.replay.recorder import Recorder

UNIT = 2.0**-53
MOST_OUTCOMES = 1024


def is_number(value: object) -> bool:
    """Whether it is a plain real number."""
    kind = type(value)  # followed values call themselves float
    if kind is np.ndarray:
        return value.ndim == 0 and value.dtype.kind in "biuf"  # type: ignore[attr-defined]
    return issubclass(kind, int | float | np.bool_ | np.integer | np.floating)


class Followed(Operators):
    """A scalar made of draws."""

    __slots__ = ("recorder",)
    __array_priority__ = 1000.0
    shape: tuple[int, ...] = ()
    ndim = 0
    size = 1
    dtype = np.dtype(np.float64)

    recorder: Recorder

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """What it stands for, so that isinstance(x, float) goes the way it goes without us."""
        return float

    @property
    def depends(self) -> frozenset[int]:
        """The atoms it may depend on."""
        raise NotImplementedError

    def concrete(self) -> Value:
        """Its value under the drawn numbers."""
        raise NotImplementedError

    def leave(self, how: str) -> Value:
        """Become a plain value; from here on nothing is known about it."""
        self.recorder.mark(MarkKind.LEFT, how)
        return self.concrete()

    # --- what turns it into something plain
    def __float__(self) -> float:
        return float(self.leave("float()"))

    def __int__(self) -> int:
        return int(self.leave("int()"))

    def __index__(self) -> int:
        return int(operator.index(self.leave("an index")))

    def __complex__(self) -> complex:
        return complex(self.leave("complex()"))

    def __bool__(self) -> bool:
        self.recorder.mark(MarkKind.BRANCH)
        return bool(self.concrete())

    def __hash__(self) -> int:
        return hash(self.leave("a key"))

    def __str__(self) -> str:
        return str(self.leave("text"))

    def __repr__(self) -> str:
        return repr(self.leave("text"))

    def __format__(self, spec: str) -> str:
        return format(self.leave("text"), spec)

    def __reduce_ex__(self, protocol: Value) -> Value:
        return (float, (float(self.leave("pickle")),))

    def __copy__(self) -> Followed:
        return self

    def __deepcopy__(self, memo: object) -> Followed:
        return self

    def item(self) -> Followed:
        """Itself: it is a scalar."""
        return self

    tolist = copy = sum = mean = squeeze = item

    @property
    def real(self) -> Followed:
        """Itself: it is real."""
        return self

    def is_integer(self) -> bool:
        """As float has it."""
        return bool(self.leave("is_integer()").is_integer())


class Affine(Followed):
    """base + sum of coefficient * atom; `error` bounds the rounding in base, for the real-number model."""

    __slots__ = ("base", "coefficients", "error")

    def __init__(
        self, recorder: Recorder, base: float, coefficients: Mapping[int, float], error: float = 0.0
    ) -> None:
        self.recorder = recorder
        self.base = base
        self.coefficients = coefficients
        self.error = error

    @property
    def depends(self) -> frozenset[int]:
        """The atoms in it."""
        return frozenset(self.coefficients)

    def concrete(self) -> float:
        """Its value under the drawn numbers."""
        values = self.recorder.values
        return float(self.base + math.fsum(c * values[a] for a, c in self.coefficients.items()))

    @property
    def continuous(self) -> bool:
        """Whether every atom of it has a density."""
        atoms = self.recorder.atoms
        return all(atoms[a].family.continuous for a in self.coefficients)


Step = Callable[[float], float]


class Monotone(Followed):
    """steps applied in turn to an affine value; each is non-decreasing, `flipped` negates the end."""

    __slots__ = ("flipped", "inner", "steps")

    def __init__(
        self, inner: Affine, steps: tuple[tuple[str, Step], ...], *, flipped: bool = False
    ) -> None:
        self.recorder = inner.recorder
        self.inner = inner
        self.steps = steps
        self.flipped = flipped

    @property
    def depends(self) -> frozenset[int]:
        """The atoms in it."""
        return self.inner.depends

    def at(self, value: float) -> float:
        """Its value where the affine one is `value`."""
        for _, step in self.steps:
            value = step(value)
        return -value if self.flipped else value

    def concrete(self) -> float:
        """Its value under the drawn numbers."""
        return self.at(self.inner.concrete())


class Tabled(Followed):
    """A value for every outcome of some selections, in C order."""

    __slots__ = ("selections", "table")

    def __init__(
        self, recorder: Recorder, selections: tuple[int, ...], table: tuple[Value, ...]
    ) -> None:
        self.recorder = recorder
        self.selections = selections
        self.table = table

    @property
    def depends(self) -> frozenset[int]:
        """The atoms its selections look at."""
        found: frozenset[int] = frozenset()
        for selection in self.selections:
            found |= self.recorder.selections[selection].atoms
        return found

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(self.table[0])

    def position(self, outcomes: Mapping[int, int]) -> Value:
        """The value where each selection has the given outcome."""
        return _entry(self, outcomes)

    def concrete(self) -> Value:
        """Its value under the drawn numbers."""
        return self.position(_outcomes(self))

    def decide(self) -> Value:
        """Its value on this path: a decision of the noise."""
        return self.position({s: self.recorder.decide(s) for s in self.selections})

    def __bool__(self) -> bool:
        return bool(self.decide())

    def __index__(self) -> int:
        return operator.index(self.decide())

    def __int__(self) -> int:
        return int(self.decide())

    def __float__(self) -> float:
        return float(self.decide())

    def __hash__(self) -> int:
        return hash(self.decide())


def _entry(value: Tabled | Mixture, outcomes: Mapping[int, int]) -> Value:
    index = 0
    for selection in value.selections:
        index = index * value.recorder.selections[selection].size + outcomes[selection]
    return value.table[index]


def _outcomes(value: Tabled | Mixture) -> dict[int, int]:
    """Of its selections: already decided on this path, or as the drawn numbers have them."""
    recorder = value.recorder
    taken = dict(recorder.decisions)
    return {s: taken[s] if s in taken else recorder.seen(s) for s in value.selections}


class Mixture(Followed):
    """A number or an affine value for every outcome of some selections, in C order."""

    __slots__ = ("selections", "table")

    def __init__(
        self, recorder: Recorder, selections: tuple[int, ...], table: tuple[Value, ...]
    ) -> None:
        self.recorder = recorder
        self.selections = selections
        self.table = table

    @property
    def depends(self) -> frozenset[int]:
        """The atoms its selections look at, and those of its entries."""
        deciding = (self.recorder.selections[selection].atoms for selection in self.selections)
        entries = (entry.depends for entry in self.table if isinstance(entry, Followed))
        return frozenset().union(*deciding, *entries)

    def position(self, outcomes: Mapping[int, int]) -> Value:
        """The entry where each selection has the given outcome."""
        return _entry(self, outcomes)

    def concrete(self) -> Value:
        """Its value under the drawn numbers."""
        found = self.position(_outcomes(self))
        return found.concrete() if isinstance(found, Followed) else found


class Lost(Followed):
    """A number that depends on `depends` in a way that is not followed."""

    __slots__ = ("_depends", "value")

    def __init__(self, recorder: Recorder, depends: frozenset[int], value: Value) -> None:
        self.recorder = recorder
        self._depends = depends
        self.value = value

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(self.value)

    @property
    def depends(self) -> frozenset[int]:
        """The atoms in it."""
        return self._depends

    def concrete(self) -> Value:
        """Its value under the drawn numbers."""
        return self.value


def merge_tables(op: Callable[..., Value], *values: Value) -> Value:
    """`op` at every joint outcome of tabled and plain values; Lost where there are too many."""
    found = _at_outcomes(op, values)
    if found is None:
        return lose(op, *values)
    recorder, selections, table = found
    if all(entry is table[0] or _same(entry, table[0]) for entry in table):
        return table[0]  # the same whatever the outcome: no longer random
    return Tabled(recorder, selections, table)


def mix(op: Callable[..., Value], *values: Value) -> Value:
    """`op` at every joint outcome, some of them with noise; Lost unless all are numbers or affine."""
    found = _at_outcomes(op, values)
    if found is None:
        return lose(op, *values)
    recorder, selections, table = found
    if all(is_number(entry) for entry in table):
        return merge_tables(lambda x: x, Tabled(recorder, selections, table))
    # By type: followed values call themselves float.
    if not all(type(entry) is Affine or is_number(entry) for entry in table):
        return lose(op, *values)
    return Mixture(recorder, selections, table)


def _at_outcomes(
    op: Callable[..., Value], values: tuple[Value, ...]
) -> tuple[Recorder, tuple[int, ...], tuple[Value, ...]] | None:
    """The recorder, the selections that decide, `op` at each joint outcome; None if these are too many."""
    deciding = [value for value in values if isinstance(value, Tabled | Mixture)]
    recorder = deciding[0].recorder
    selections = tuple(sorted({s for value in deciding for s in value.selections}))
    sizes = [recorder.selections[s].size for s in selections]
    if math.prod(sizes) > MOST_OUTCOMES:
        return None
    table = []
    for outcome in itertools.product(*(range(size) for size in sizes)):
        at = dict(zip(selections, outcome, strict=True))
        entries = (v.position(at) if isinstance(v, Tabled | Mixture) else v for v in values)
        table.append(op(*entries))
    return recorder, selections, tuple(table)


def _same(one: Value, other: Value) -> bool:
    return type(one) is type(other) and bool(one == other)


def lose(op: Callable[..., Value], *values: Value) -> Lost:
    """The value of `op`, no longer followed."""
    followed = [value for value in values if isinstance(value, Followed)]
    depends: frozenset[int] = frozenset().union(*(value.depends for value in followed))
    recorder = followed[0].recorder
    plain = [value.concrete() if isinstance(value, Followed) else value for value in values]
    try:
        result = op(*plain)
    except Exception:
        # Whether it raises depends on the noise: that is a branch.
        recorder.mark(MarkKind.BRANCH, "an error that depends on the noise")
        raise
    return Lost(recorder, depends, result)
