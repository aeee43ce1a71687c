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
            square = math.sqrt(float(np.square(self.coordinates).sum()) * repeats)
        top = float(self.coordinates.max()) if entries else 0.0
        changed = min(self.changed, float(entries))
        linf = min(self.linf, top, self.l1, self.l2)
        l1 = min(self.l1, total, _times(changed, linf), _times(math.sqrt(changed), self.l2))
        l2 = min(self.l2, square, l1, math.sqrt(_times(l1, linf)), _times(math.sqrt(changed), linf))
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
        return Size(
            entries,
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


def _times(bound: float, factor: float) -> float:
    return 0.0 if factor == 0 or bound == 0 else bound * factor


def entries(coordinates: Array, shape: Shape) -> Size:
    """A vector of which only the entries are bounded."""
    return Size(np.asarray(coordinates, dtype=float)).tightened(shape)


NOTHING = Size(np.asarray(0.0), 0.0, 0.0, 0.0, 0.0)
