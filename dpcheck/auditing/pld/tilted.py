"""Spherical noise drawn so that rare losses are frequent, with weights that are exact.

Code that draws a direction (`standard_normal`, normalised) and a length (`gamma`) is given a generator that
picks a cell of (length, cosine to the shift) with probability proportional to its mass times e^(t M), M the
largest loss of the cell, and draws inside the cell by the very law the code asked for. So the weight of a
draw is Z e^(-t M), Z the sum over cells; over several blocks weights multiply. The loss is at most the sum of
the M, hence W (1 - e^(eps-L))+ <= prod Z max_x e^(-t x) (1 - e^(eps-x)) = prod Z e^(-t eps) t^t/(1+t)^(1+t).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, gammaincinv

from dpcheck.auditing.plan import NoiseShift

Array = NDArray[np.float64]
# What the noise of wrong code may be shorter by without leaving the range a weight is bounded by.
_SHORTER = 0.9


class NotTilted(Exception):
    """The code draws its noise in another way than it describes; it is run as it is."""


@dataclass(frozen=True, slots=True)
class Cells:
    """Cells of (length, cosine) of one block, tilted by t."""

    lengths: Array  # shares of the length's law, ascending from 0 to 1
    cosines: Array  # probabilities that the cosine is beyond, ascending from 0 to 1
    worst: Array  # M
    chance: Array  # of the tilted draw
    log_total: float  # log Z

    def mean(self) -> float:
        """The mean of M under the tilted draw."""
        return float((self.chance * self.worst).sum())


def cells(width: int, ratio: float, tilt: float) -> Cells:
    """The cells of a block; in one dimension the cosine is a sign."""
    tail = np.geomspace(1e-14, 0.02, 24)
    lengths = np.unique(np.concatenate([[0.0], tail, np.linspace(0.02, 0.98, 33), 1 - tail, [1.0]]))
    r = _SHORTER * gammaincinv(width, lengths[:-1])
    if width == 1:
        cosines, c = np.array([0.0, 0.5, 1.0]), np.array([1.0, -1.0])
    else:
        cosines = np.unique(
            np.concatenate([[0.0], np.geomspace(1e-16, 0.02, 48), np.linspace(0.02, 1.0, 49)])
        )
        half = (width - 1) / 2
        c = 1 - 2 * np.asarray(betaincinv(half, half, cosines[:-1]))
    mass = np.diff(lengths)[:, None] * np.diff(cosines)
    square = r[:, None] ** 2 + 2 * r[:, None] * ratio * c + ratio**2
    worst = np.sqrt(np.maximum(square, 0.0)) - r[:, None] + 1e-9
    logs = np.log(mass) + tilt * worst
    top = float(logs.max())
    chance = np.exp(logs - top)
    total = float(chance.sum())
    return Cells(lengths, cosines, worst, chance / total, top + math.log(total))


@dataclass(slots=True)
class Tilt:
    """A tilt of all blocks of a pair at once."""

    shifts: Sequence[NoiseShift]
    amount: float
    blocks: list[Cells | None] = field(init=False)

    def __post_init__(self) -> None:
        known: dict[tuple[int, float], Cells] = {}
        self.blocks = [
            None
            if shift.direction is None
            else known.setdefault(
                (shift.width, shift.ratio), cells(shift.width, shift.ratio, self.amount)
            )
            for shift in self.shifts
        ]

    @property
    def log_total(self) -> float:
        """log of the product of the Z."""
        return math.fsum(block.log_total for block in self.blocks if block is not None)

    @property
    def center(self) -> float:
        """About the loss that is drawn most."""
        return math.fsum(block.mean() for block in self.blocks if block is not None)

    def largest(self, epsilon: float) -> float:
        """B: no weighted gain at this epsilon is larger."""
        t = self.amount
        if t == 0:
            return 1.0
        peak = t * math.log(t / (1 + t)) - math.log1p(t)
        return math.exp(min(700.0, self.log_total - t * epsilon + peak))


class TiltedGenerator(np.random.Generator):
    """Answers one `standard_normal` and one `gamma` a block, in order; anything else is refused.

    The runs may be made in pieces: all blocks of some runs, then all blocks of the next ones.
    """

    def __init__(self, tilt: Tilt, size: int, seed: np.random.SeedSequence) -> None:
        super().__init__(np.random.PCG64(seed))
        self._tilt, self._size, self._at = tilt, size, 0
        self._done, self._piece = 0, 0  # runs that have all their noise, runs of this piece
        self._radii: Array | None = None
        self.log_weights = np.zeros(size)

    @property
    def finished(self) -> bool:
        """Whether every block of every run was drawn."""
        return self._done == self._size

    def _begin(self, size: object, width: int) -> int:
        """How many runs the next block is drawn for."""
        if not isinstance(size, tuple) or len(size) != 2 or size[1] != width:
            raise NotTilted("the noise does not have the shape its event says.")
        if self._at == 0:
            self._piece = int(size[0])
        if size[0] != self._piece or not 0 < self._piece <= self._size - self._done:
            raise NotTilted("the noise does not have the shape its event says.")
        return self._piece

    def standard_normal(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        """Directions of the next block."""
        if self.finished or self._radii is not None or out is not None or dtype is not np.float64:
            raise NotTilted("the noise is not drawn block by block.")
        shift, block = self._tilt.shifts[self._at], self._tilt.blocks[self._at]
        many = self._begin(size, shift.width)
        around = super().standard_normal(size)
        if block is None or shift.direction is None:
            self._radii = super().gamma(shift.width, 1.0, many)
            return around
        cell = super().choice(block.chance.size, many, p=block.chance.ravel())
        row, column = np.unravel_index(cell, block.chance.shape)
        weights = block.log_total - self._tilt.amount * block.worst[row, column]
        self.log_weights[self._done : self._done + many] += weights
        share = _inside(block.lengths, row, super().random(many))
        self._radii = np.asarray(gammaincinv(shift.width, share))
        if shift.width == 1:
            return np.where(column == 0, 1.0, -1.0)[:, None] * shift.direction
        beyond = _inside(block.cosines, column, super().random(many))
        half = (shift.width - 1) / 2
        cosine = 1 - 2 * np.asarray(betaincinv(half, half, beyond))
        around -= (around @ shift.direction)[:, None] * shift.direction
        around /= np.linalg.norm(around, axis=1, keepdims=True)
        sine = np.sqrt(np.maximum(0.0, (1 - cosine) * (1 + cosine)))
        return cosine[:, None] * shift.direction + sine[:, None] * around

    def gamma(self, shape: Any, scale: Any = 1.0, size: Any = None) -> Any:
        """Lengths of the block whose directions were drawn, in the scale that is asked for."""
        if self._radii is None:
            raise NotTilted("the noise is not drawn block by block.")
        if shape != self._tilt.shifts[self._at].width or np.ndim(scale):
            raise NotTilted("the length of the noise does not follow its event.")
        if size not in (self._piece, (self._piece,), (self._piece, 1)):
            raise NotTilted("the noise does not have the shape its event says.")
        found, self._radii = self._radii * scale, None
        self._at += 1
        if self._at == len(self._tilt.shifts):
            self._at, self._done = 0, self._done + self._piece
        return found.reshape(size)


def _inside(edges: Array, index: NDArray[np.intp], uniform: Array) -> Array:
    return np.asarray(edges[index] + (edges[index + 1] - edges[index]) * uniform)


def saddle(shifts: Sequence[NoiseShift], delta: float) -> Tilt:
    """The tilt whose Chernoff bound at its own centre is about `delta`."""
    known = (None if s.direction is None else (s.width, s.ratio) for s in shifts)
    return Tilt(shifts, _amount(tuple(known), delta))


@lru_cache(maxsize=256)
def _amount(shapes: tuple[tuple[int, float] | None, ...], delta: float) -> float:
    """How strongly to tilt blocks of these widths and ratios; None stands for one that is not shifted."""
    shifted = [shape for shape in shapes if shape is not None]
    scale = max((ratio for _, ratio in shifted), default=1.0)

    def reach(amount: float) -> float:
        found = {shape: cells(*shape, amount) for shape in set(shifted)}
        total = math.fsum(found[shape].log_total for shape in shifted)
        return total - amount * math.fsum(found[shape].mean() for shape in shifted)

    low, high = 0.0, 1.0
    while reach(high / scale) > math.log(delta) and high < 1e5:
        low, high = high, 4 * high
    for _ in range(12):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if reach(middle / scale) > math.log(delta) else (low, middle)
    return high / scale
