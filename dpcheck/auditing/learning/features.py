"""Physical features of outputs: sums, differences, order, counts above the centre, repeated values.

Everything is computed from outputs rounded to a grid that is coarse against floating-point
artefacts (2^-20 of the spread), so that what is found is the mechanism's and not the sampler's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpcheck.auditing.outputs.encode import plain_rows
from dpcheck.auditing.outputs.reader import Reader
from dpcheck.auditing.outputs.tables import Encoded
from dpcheck.core.errors import BadOutput

Array = NDArray[np.float64]
_MOST_COLUMNS = 64


class Kind(Enum):
    """What a feature reads; the values are what reports call it."""

    VALUE = "value"
    DIFFERENCE = "difference"
    FREE_VALUE = "free value"
    SUM = "sum"
    SMALLEST = "smallest"
    LARGEST = "largest"
    RANGE = "range"
    WHERE_LARGEST = "where largest"
    WHERE_SMALLEST = "where smallest"
    ABOVE_CENTRE = "above centre"
    DIFFERENCES_ABOVE_CENTRE = "differences above centre"
    REPEATS = "repeats"


_OF_ONE_PLACE = (Kind.VALUE, Kind.DIFFERENCE, Kind.FREE_VALUE)


@dataclass(frozen=True, slots=True)
class Feature:
    """One number of an output: of one place in it, or of all of it."""

    kind: Kind
    place: int = 0

    @property
    def is_local(self) -> bool:
        """Whether it reads one place only."""
        return self.kind in _OF_ONE_PLACE

    @property
    def name(self) -> str:
        """What reports call it where the place has no name of its own."""
        return f"{self.kind.value} {self.place}" if self.is_local else self.kind.value


@dataclass(frozen=True, slots=True)
class Layout:
    """What the learning runs said about outputs: width, grid, centres. Fixed before any test."""

    width: int
    grid: Array
    centre: Array
    centre_of_differences: Array
    reader: Reader | None = None  # how outputs become rows; None where they are rows

    def sampled(
        self, mechanism: Observable, data: Any, size: int, rng: np.random.Generator
    ) -> Array:
        """Rows of `size` fresh outputs, on the grid."""
        encoded = mechanism.observe(data, size, rng)
        rows = plain_rows(encoded) if self.reader is None else self.reader.rows(encoded)
        return self.rounded(rows)

    def title(self, which: Feature) -> str:
        """A feature's name, with a column's own where it has one."""
        names = () if self.reader is None else self.reader.names
        if not names or which.kind not in _TITLES:
            return which.name
        return _TITLES[which.kind].format(*names[which.place : which.place + 2])

    def label(self, which: Feature, threshold: float) -> str:
        """A threshold of a feature as somebody would type it."""
        if self.reader is None or which.kind is not Kind.VALUE:
            return f"{threshold:.6g}"
        return self.reader.label(which.place, threshold)

    def rounded(self, outputs: Array) -> Array:
        """Outputs on the grid, so floating-point artefacts are gone."""
        if outputs.shape[1] != self.width:
            raise BadOutput(
                f"the mechanism changes the shape of its output: {self.width} numbers in the first "
                f"runs, {outputs.shape[1]} later. Return a list where the length is part of the "
                "answer."
            )
        # Column by column in memory, since features are.
        kept = np.asfortranarray(outputs[:, :_MOST_COLUMNS]) / self.grid
        np.rint(kept, out=kept)
        kept *= self.grid
        return kept


_TITLES = {
    Kind.VALUE: "{0}",
    Kind.DIFFERENCE: "{1} - {0}",
    Kind.FREE_VALUE: "{0} where not an atom",
}


class Observable(Protocol):
    """What makes outputs."""

    def observe(self, data: Any, size: int, rng: np.random.Generator) -> Encoded:
        """`size` outputs, read."""


def learn_layout(outputs: Array, reader: Reader | None = None) -> Layout:
    """Grid and centres from pooled learning runs."""
    kept = outputs[:, :_MOST_COLUMNS]
    low, high = np.quantile(kept, [0.05, 0.95], axis=0)
    spread = np.where(high > low, high - low, np.maximum(kept.std(axis=0), np.abs(high)))
    spread = np.where(spread > 0, spread, 1.0)
    grid = np.exp2(np.floor(np.log2(spread)) - 20)
    whole = np.all(kept[:4096] == np.rint(kept[:4096]), axis=0)
    grid = np.where(whole, np.minimum(1.0, grid), grid)
    differences = np.diff(kept, axis=1)
    return Layout(
        outputs.shape[1],
        grid,
        np.median(kept, axis=0),
        np.median(differences, axis=0) if differences.size else np.zeros(0),
        reader,
    )


def _repeats(values: Array) -> Array:
    ordered = np.sort(values, axis=1)
    return np.asarray(np.count_nonzero(np.diff(ordered, axis=1) == 0, axis=1), dtype=float)


def local_features(layout: Layout) -> list[Feature]:
    """The features that read one value, or one difference of neighbouring ones."""
    columns = min(layout.width, _MOST_COLUMNS)
    values = [Feature(Kind.VALUE, place) for place in range(columns)]
    return values + [Feature(Kind.DIFFERENCE, place) for place in range(columns - 1)]


def global_features(layout: Layout) -> list[Feature]:
    """The features that read the whole output."""
    if min(layout.width, _MOST_COLUMNS) <= 1:
        return []
    return [Feature(kind) for kind in _OF_ALL]


def feature(which: Feature, values: Array, layout: Layout) -> Array:
    """One feature of rounded outputs."""
    if which.kind is Kind.VALUE:
        return values[:, which.place]
    if which.kind is Kind.DIFFERENCE:
        return values[:, which.place + 1] - values[:, which.place]
    return _OF_ALL[which.kind](values, layout)


def _differences_above_centre(values: Array, layout: Layout) -> Array:
    weights = np.repeat([0.0, 1.0], [values.shape[1], values.shape[1] - 1])
    return weighted_indicators(values, layout, weights)


_OF_ALL: dict[Kind, Callable[[Array, Layout], Array]] = {
    Kind.SUM: lambda values, _: values.sum(axis=1),
    Kind.SMALLEST: lambda values, _: values.min(axis=1),
    Kind.LARGEST: lambda values, _: values.max(axis=1),
    Kind.RANGE: lambda values, _: values.max(axis=1) - values.min(axis=1),
    Kind.WHERE_LARGEST: lambda values, _: values.argmax(axis=1).astype(float),
    Kind.WHERE_SMALLEST: lambda values, _: values.argmin(axis=1).astype(float),
    Kind.ABOVE_CENTRE: lambda values, layout: weighted_indicators(
        values, layout, np.ones(values.shape[1])
    ),
    Kind.DIFFERENCES_ABOVE_CENTRE: _differences_above_centre,
    Kind.REPEATS: lambda values, _: _repeats(values),
}


def as_steps(values: Array) -> Array:
    """The first value, then each value's difference to the one before."""
    return np.diff(values, axis=1, prepend=0.0)


def indicators(values: Array, layout: Layout) -> Array:
    """Which values, and which differences, lie above their centre: the matrix linear scores use."""
    above = values > layout.centre
    if values.shape[1] == 1:
        return above.astype(float)
    steps = np.diff(values, axis=1) > layout.centre_of_differences
    return np.hstack([above, steps]).astype(float)


def weighted_indicators(values: Array, layout: Layout, weights: Array) -> Array:
    """indicators(values, layout) @ weights, without the matrix."""
    total = np.zeros(len(values))
    columns = values.shape[1]
    for index in np.flatnonzero(weights):
        if index < columns:
            above = values[:, index] > layout.centre[index]
        else:
            step = values[:, index - columns + 1] - values[:, index - columns]
            above = step > layout.centre_of_differences[index - columns]
        total += weights[index] * above
    return total


def matrix(values: Array, layout: Layout) -> Array:
    """All features at once, for learned scores; trees find indicators by themselves."""
    columns = [feature(which, values, layout)[:, None] for which in global_features(layout)]
    return np.hstack([values, np.diff(values, axis=1), *columns])
