"""Scores by counting: outputs fall into cells, a cell's score is the log ratio of its counts.

The cells are fixed on a few learning runs; the ratios are then counted on many more, in memory that
depends on the number of cells only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpcheck.auditing.learning.features import Feature, Kind, Layout, feature

Array = NDArray[np.float64]
Cells = NDArray[np.intp]


class Partition(Protocol):
    """Which cell an output, rounded by the layout, falls into."""

    @property
    def size(self) -> int:
        """How many cells."""

    def __call__(self, values: Array) -> Cells:
        """The cell of each output."""


@dataclass(frozen=True, slots=True)
class CellScore:
    """The log ratio of how often outputs of the same cell were seen."""

    name: str
    partition: Partition
    ratios: Array
    is_local: bool = False
    feature: Feature | None = None

    def __call__(self, values: Array) -> Array:
        """The log ratio of each output's cell."""
        return self.ratios[self.partition(values)]

    def counted(self, values: Array) -> Array:
        """How many outputs fall into each cell."""
        return np.bincount(self.partition(values), minlength=self.partition.size).astype(float)

    def recounted(self, hits: Array, other: Array) -> CellScore:
        """The same cells with ratios from other runs."""
        return replace(self, ratios=cautious_log_ratio(hits, other))


def cautious_log_ratio(hits: Array, other: Array) -> Array:
    """log hits/other, nearer to 0 by one standard error: a cell seen rarely must not lead."""
    ratio = np.log((hits + 1) / (other + 1))
    error = np.sqrt(1 / (hits + 1) + 1 / (other + 1))
    result: Array = np.sign(ratio) * np.maximum(np.abs(ratio) - error, 0.0)
    return result


# Irrational weights: two rows of a discrete output agree on this code only if they are equal.
_CODES = np.sqrt(np.arange(2, 66) + 0.5) * np.pi


def _code(values: Array) -> Array:
    # A plain sum in a fixed order: a matrix product may add in another order for another batch
    # size, and equal outputs must get equal codes.
    total = np.zeros(len(values))
    for column in range(values.shape[1]):
        total += values[:, column] * _CODES[column]
    return total


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Every distinct output is a cell; the last is for all others."""

    codes: Array

    @property
    def size(self) -> int:
        """How many cells."""
        return len(self.codes) + 1

    def __call__(self, values: Array) -> Cells:
        """Each output's place in the list."""
        return _place(self.codes, _code(values))


def _place(codes: Array, wanted: Array) -> Cells:
    at = np.minimum(np.searchsorted(codes, wanted), len(codes) - 1)
    return np.where(codes[at] == wanted, at, len(codes))


@dataclass(frozen=True, slots=True)
class Intervals:
    """Intervals of one feature: finds what lies in the middle, not only tails."""

    layout: Layout
    source: Feature
    edges: Array

    @property
    def size(self) -> int:
        """How many cells."""
        return len(self.edges) + 1

    def __call__(self, values: Array) -> Cells:
        """The interval of each output."""
        return np.searchsorted(self.edges, feature(self.source, values, self.layout), side="right")


@dataclass(frozen=True, slots=True)
class Transcripts:
    """Where an output's flags stand, and in which interval the sum of its other values lies.

    `edges` has one row of interval ends per arrangement of flags; unknown arrangements share the
    last cell.
    """

    atoms: Array
    arrangements: Array  # their codes
    edges: Array

    @property
    def size(self) -> int:
        """How many cells."""
        kinds, ends = self.edges.shape
        return int(kinds * (ends + 1) + 1)

    def __call__(self, values: Array) -> Cells:
        """Arrangement times interval."""
        codes, free = split_atoms(values, self.atoms)
        kind = _place(self.arrangements, codes)
        known = kind < len(self.edges)
        rows = self.edges[np.where(known, kind, 0)]
        place = np.count_nonzero(rows <= free[:, None], axis=1)
        return np.where(known, kind * (self.edges.shape[1] + 1) + place, self.size - 1)


def split_atoms(values: Array, atoms: Array) -> tuple[Array, Array]:
    """A code of which columns are which atom, and the sum of those that are none."""
    codes, free = np.zeros(len(values)), np.zeros(len(values))
    for column in range(values.shape[1]):
        flag = np.zeros(len(values))
        for number, atom in enumerate(atoms, start=1):
            flag += number * (values[:, column] == atom)
        codes += flag * _CODES[column]
        free += np.where(flag == 0, values[:, column], 0.0)
    return codes, free


def learn_outcomes(first: Array, second: Array) -> CellScore | None:
    """The table of all outputs, if they are few enough to have seen each of them often."""
    codes = np.unique(_code(np.vstack([first, second])))
    if len(codes) > max(64, len(first) // 16):
        return None
    return _score("table of outputs", Outcomes(codes), first, second)


@dataclass(frozen=True, slots=True)
class RepeatedValues:
    """Each value that one column takes again and again is a cell; the last is for all others."""

    column: int
    values: Array

    @property
    def size(self) -> int:
        """How many cells."""
        return len(self.values) + 1

    def __call__(self, values: Array) -> Cells:
        """Each output's place in the list."""
        return _place(self.values, values[:, self.column])


_REPEATED, _MOST_REPEATED = 4, 256  # times; values


def learn_repeats(first: Array, second: Array) -> list[CellScore]:
    """Values that return among continuous ones: an answer given now and then without noise."""
    scores = []
    for column in range(min(_REPEAT_COLUMNS, first.shape[1])):
        values, counts = np.unique(
            np.concatenate([first[:, column], second[:, column]]), return_counts=True
        )
        often = values[counts >= _REPEATED]
        if 0 < len(often) <= _MOST_REPEATED and len(often) < len(values) // 4:
            cells = RepeatedValues(column, often)
            scores.append(_score(f"repeated values of value {column}", cells, first, second))
    return scores


_REPEAT_COLUMNS = 8


def learn_intervals(first: Array, second: Array, layout: Layout) -> list[CellScore]:
    """Intervals of the features of a whole output."""
    scores = []
    whole = (Feature(Kind.SUM), Feature(Kind.LARGEST)) if layout.width > 1 else ()
    for which in (Feature(Kind.VALUE), *whole):
        pooled = np.concatenate([feature(which, side, layout) for side in (first, second)])
        edges = np.unique(np.quantile(pooled, np.linspace(0.01, 0.99, 50)))
        cells = Intervals(layout, which, edges)
        scores.append(_score(f"cells of {which.name}", cells, first, second))
    return scores


_INTERVALS = 16
_ARRANGEMENTS = 128


def learn_transcripts(first: Array, second: Array, atoms: Array) -> CellScore | None:
    """Arrangements of flags times intervals of what is left; None if there are too many."""
    codes, free = split_atoms(np.vstack([first, second]), atoms)
    arrangements = np.unique(codes)
    if len(arrangements) > _ARRANGEMENTS:
        return None
    inner = np.linspace(0, 1, _INTERVALS + 1)[1:-1]
    edges = np.stack([np.quantile(free[codes == code], inner) for code in arrangements])
    return _score("transcript cells", Transcripts(atoms, arrangements, edges), first, second)


def _score(name: str, cells: Partition, first: Array, second: Array) -> CellScore:
    blank = CellScore(name, cells, np.zeros(cells.size))
    return blank.recounted(blank.counted(first), blank.counted(second))
