"""One run under observation: its draws, its marks, and the decisions that noise took."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from dpcheck.core.data import Value
from dpcheck.replay.draws import Atom, Draw, Family, users_line
from dpcheck.replay.marks import Mark, MarkKind

# Bound here, before any hook is in place.
_GENERATOR, _BITS = np.random.Generator, np.random.PCG64

MOST_ATOMS = 20_000
MOST_DECISIONS = 400


@dataclass(frozen=True, slots=True)
class Constraint:
    """A half-space of the noise: sum of coefficient * atom, plus constant, is at least 0."""

    coefficients: tuple[tuple[int, float], ...]
    constant: float


@dataclass(frozen=True, slots=True)
class Selection:
    """A finite random variable: each outcome is a set of half-spaces, or a value of a finite atom."""

    outcomes: tuple[tuple[Constraint, ...], ...]
    atom: int | None = None

    @property
    def atoms(self) -> frozenset[int]:
        """Every atom it looks at."""
        if self.atom is not None:
            return frozenset((self.atom,))
        return frozenset(a for out in self.outcomes for c in out for a, _ in c.coefficients)

    @property
    def size(self) -> int:
        """How many outcomes."""
        return len(self.outcomes)


@dataclass(slots=True)
class Recorder:
    """Collects what one run does; `forced` are outcomes for its first decisions.

    A `plain` run hands out ordinary numbers, the first of them as `given`: a check that following
    changed nothing.
    """

    seed: int
    forced: Sequence[int] = ()
    plain: bool = False
    given: Sequence[float] = ()
    atoms: list[Atom] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    draws: list[Draw] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    selections: list[Selection] = field(default_factory=list)
    decisions: list[tuple[int, int]] = field(default_factory=list)
    fixed_seeds: list[Mark] = field(default_factory=list)
    rng: np.random.Generator = field(init=False)
    thread: int = field(default_factory=threading.get_ident)
    generators: list[Value] = field(default_factory=list)
    plain_masks: bool = (
        False  # comparisons of arrays are decided at once, for arrays that nobody follows
    )
    masks: int = 0  # that were followed instead
    quiet: bool = False  # while a hook does what would leave a mark in the user's code
    clock: Value = None  # what tells the time, where it was asked for
    files: dict[str, str] = field(default_factory=dict)  # that were read, with a digest

    def __post_init__(self) -> None:
        self.rng = _GENERATOR(_BITS(self.seed))

    def mark(self, kind: MarkKind, detail: str = "") -> None:
        """Note that something left; kept short, the first few say enough."""
        if len(self.marks) < 64:
            self.marks.append(Mark(kind, users_line(), detail))

    @contextmanager
    def quietly(self) -> Iterator[None]:
        """A hook at work: what it calls is ours and leaves no mark."""
        before, self.quiet = self.quiet, True
        try:
            yield
        finally:
            self.quiet = before

    @property
    def clean(self) -> bool:
        """Whether the path and every plain value are the same for every value of the noise."""
        return not self.marks

    def draw(
        self,
        source: str,
        family: Family,
        shape: tuple[int, ...],
        parameters: Sequence[float | tuple[float, ...]] | None = None,
    ) -> range:
        """Fresh independent atoms, one per entry of `shape`."""
        if threading.get_ident() != self.thread:
            self.mark(MarkKind.THREAD, source)
        count = int(np.prod(shape)) if shape else 1
        first = len(self.atoms)
        number = len(self.draws)
        self.draws.append(Draw(source, family, shape, users_line(), first, count))
        for index in range(count):
            atom = (
                Atom(family, number)
                if parameters is None
                else Atom(family, number, parameters[index])
            )
            self.atoms.append(atom)
            drawn = sample(atom, self.rng)
            position = len(self.values)
            self.values.append(self.given[position] if position < len(self.given) else drawn)
        return range(first, first + count)

    def select(self, selection: Selection) -> int:
        """Register a finite random variable."""
        self.selections.append(selection)
        return len(self.selections) - 1

    def decide(self, selection: int) -> int:
        """The outcome on this path: already taken, forced, or as the drawn values have it."""
        for known, outcome in self.decisions:
            if known == selection:
                return outcome
        position = len(self.decisions)
        if position >= MOST_DECISIONS:
            self.mark(MarkKind.BRANCH, "too many decisions")
        outcome = self.forced[position] if position < len(self.forced) else self.seen(selection)
        self.decisions.append((selection, outcome))
        return outcome

    def seen(self, selection: int) -> int:
        """The outcome under the drawn values."""
        chosen = self.selections[selection]
        if chosen.atom is not None:
            return int(self.values[chosen.atom])
        for index, constraints in enumerate(chosen.outcomes):
            if all(self._holds(c) for c in constraints):
                return index
        return len(chosen.outcomes) - 1

    def _holds(self, constraint: Constraint) -> bool:
        total = sum(w * self.values[a] for a, w in constraint.coefficients)
        return total + constraint.constant >= 0


def sample(atom: Atom, rng: np.random.Generator) -> float:
    """One value of an atom."""
    family = atom.family
    if family is Family.FINITE:
        assert isinstance(atom.parameter, tuple)
        masses = np.cumsum(atom.parameter)
        position = int(np.searchsorted(masses, rng.random(), side="right"))
        return float(min(position, len(masses) - 1))
    if family is Family.DISCRETE_LAPLACE:
        assert isinstance(atom.parameter, float)
        stop = -np.expm1(-1 / atom.parameter)
        return float(rng.geometric(stop) - rng.geometric(stop))
    if family is Family.DISCRETE_GAUSSIAN:
        assert isinstance(atom.parameter, float)
        return float(np.rint(rng.normal(scale=atom.parameter)))
    return float(_STANDARD[family](rng))


_STANDARD = {
    Family.LAPLACE: lambda rng: rng.laplace(),
    Family.NORMAL: lambda rng: rng.standard_normal(),
    Family.UNIFORM: lambda rng: rng.random(),
    Family.EXPONENTIAL: lambda rng: rng.standard_exponential(),
    Family.GUMBEL: lambda rng: rng.gumbel(),
    Family.LOGISTIC: lambda rng: rng.logistic(),
    Family.CAUCHY: lambda rng: rng.standard_cauchy(),
}

_ACTIVE: list[Recorder] = []


def active() -> Recorder | None:
    """The recorder of the run under way, if there is one."""
    return _ACTIVE[-1] if _ACTIVE else None


@contextmanager
def recording(recorder: Recorder) -> Iterator[Recorder]:
    """Make `recorder` the active one inside the block."""
    _ACTIVE.append(recorder)
    try:
        yield recorder
    finally:
        _ACTIVE.remove(recorder)
