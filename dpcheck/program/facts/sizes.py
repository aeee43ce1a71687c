"""How large a vector may be, in every norm at once: of one record's row, or of a difference.

`coordinates` bounds each entry, `l1`, `l2`, `linf` the norms of the whole array taken as one vector,
`changed` the number of entries that are not 0. Each rule below is the triangle inequality or a
comparison of norms; `tightened` uses all of them together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcheck.program.facts.boxes import Array

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Size:
    """Bounds of one vector; `coordinates` broadcasts to its shape."""

    coordinates: Array
    l1: float = math.inf
    l2: float = math.inf
    linf: float = math.inf
    changed: float = math.inf

    @property
    def zero(self) -> bool:
        """Whether the vector is 0."""
        return self.l1 == 0 or self.linf == 0 or self.changed == 0

    def tightened(self, shape: Shape) -> Size:
        """What the bounds say together of an array of that shape."""
        entries = math.prod(shape)
        repeats = entries / max(1, self.coordinates.size)
        with np.errstate(over="ignore"):
            total = float(self.coordinates.sum()) * repeats if entries else 0.0
            square = _root_of_squares(self.coordinates, repeats)
        top = float(self.coordinates.max()) if entries else 0.0
        changed = min(self.changed, float(entries))
        linf = min(self.linf, top, self.l1, self.l2)
        l1 = min(self.l1, total, _times(changed, linf), _times(math.sqrt(changed), self.l2))
        l2 = min(self.l2, square, l1, _mean(l1, linf), _times(math.sqrt(changed), linf))
        l1 = min(l1, _times(math.sqrt(changed), l2))
        return Size(np.minimum(self.coordinates, linf), l1, l2, linf, changed)

    def scaled(self, factor: Array | float) -> Size:
        """Each entry times at most `factor` in absolute value."""
        sizes = np.abs(np.asarray(factor, dtype=float))
        sizes = np.where(np.isnan(sizes), np.inf, sizes)
        most = float(sizes.max()) if sizes.size else 0.0
        with np.errstate(invalid="ignore", over="ignore"):
            entries = self.coordinates * sizes
        entries = np.where(np.isnan(entries), np.inf, entries)
        lost = (entries == 0) & (self.coordinates > 0) & (sizes > 0)
        return Size(
            np.where(lost, LEAST, entries),
            _times(self.l1, most),
            _times(self.l2, most),
            _times(self.linf, most),
            self.changed,
        )

    def plus(self, other: Size) -> Size:
        """The sum of two vectors."""
        return Size(
            self.coordinates + other.coordinates,
            self.l1 + other.l1,
            self.l2 + other.l2,
            self.linf + other.linf,
            self.changed + other.changed,
        )

    def either(self, other: Size) -> Size:
        """One of two vectors, it is not known which."""
        return Size(
            np.maximum(self.coordinates, other.coordinates),
            max(self.l1, other.l1),
            max(self.l2, other.l2),
            max(self.linf, other.linf),
            max(self.changed, other.changed),
        )

    def both(self, other: Size) -> Size:
        """A vector of which two bounds are known."""
        return Size(
            np.minimum(self.coordinates, other.coordinates),
            min(self.l1, other.l1),
            min(self.l2, other.l2),
            min(self.linf, other.linf),
            min(self.changed, other.changed),
        )

    def repeated(self, times: float) -> Size:
        """Every entry `times` times over."""
        return Size(
            self.coordinates,
            _times(self.l1, times),
            _times(self.l2, math.sqrt(times)),
            self.linf,
            _times(self.changed, times),
        )

    def shaped(self, coordinates: Array) -> Size:
        """The same norms with the entries in another order or shape, or some of them left out."""
        return Size(coordinates, self.l1, self.l2, self.linf, self.changed)

    def stacked(self, other: Size, coordinates: Array) -> Size:
        """Two vectors side by side as one."""
        return Size(
            coordinates,
            self.l1 + other.l1,
            math.hypot(self.l2, other.l2),
            max(self.linf, other.linf),
            self.changed + other.changed,
        )


LEAST = 5e-324  # what is no 0 stays none, however small it becomes


def _times(bound: float, factor: float) -> float:
    return 0.0 if factor == 0 or bound == 0 else max(bound * factor, LEAST)


def _root_of_squares(coordinates: Array, repeats: float) -> float:
    """The Euclidean norm, also of entries whose squares are no floats."""
    top = float(coordinates.max()) if coordinates.size else 0.0
    if 1e-140 < top < 1e140 or top in (0.0, math.inf):
        return math.sqrt(float(np.square(coordinates).sum()) * repeats)
    return top * math.sqrt(float(np.square(coordinates / top).sum()) * repeats)


def _mean(a: float, b: float) -> float:
    """The root of the product."""
    return math.sqrt(a * b) if a * b > 1e-280 else math.sqrt(a) * math.sqrt(b)


def entries(coordinates: Array, shape: Shape) -> Size:
    """A vector of which only the entries are bounded."""
    return Size(np.asarray(coordinates, dtype=float)).tightened(shape)


NOTHING = Size(np.asarray(0.0), 0.0, 0.0, 0.0, 0.0)
