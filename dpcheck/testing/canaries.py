"""Canaries for one-run audits, and their scores, for numpy, torch and jax trainings alike.

Gradient canaries are Dirac directions: canary i is the gradient `norm` in coordinate i and nothing
else, added to the clipped sum where its coin says so. Input canaries are records unlike any other,
with a label of their own: a model that was trained on one remembers it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcheck.core.errors import BadOutput, InvalidParameter
from dpcheck.core.validate import count, positive

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class DiracCanaries:
    """`number` gradients of norm `norm`, each along a coordinate of its own of `dimension`.

    Where the noise is drawn per coordinate and nobody else's gradient reaches these coordinates (or
    only by what is the same with and without a canary), the scores of different canaries are
    independent given their coins: what `scores="independent"` supposes.

    >>> canaries = DiracCanaries(3, dimension=10, norm=2.0)
    >>> canaries.total(np.array([True, False, True]))[:4]
    array([2., 0., 2., 0.])
    >>> canaries.scores([np.arange(10.0), np.ones(10)])
    array([2., 4., 6.])
    """

    number: int
    dimension: int
    norm: float

    def __post_init__(self) -> None:
        count("number", self.number, at_least=2)
        positive("norm", self.norm)
        if self.dimension < self.number:
            raise InvalidParameter(
                f"{self.number} Dirac canaries need as many coordinates; there are {self.dimension}.",
                name="dimension",
            )

    def total(self, included: NDArray[np.bool_]) -> Array:
        """What the included canaries add to the sum of clipped gradients."""
        found = np.zeros(self.dimension)
        found[: self.number] = self.norm * np.asarray(included, dtype=float)
        return found

    def scores(self, updates: Iterable[ArrayLike], direction: float = 1.0) -> Array:
        """Each canary against every released update, summed: the white-box score.

        Arrays of numpy, torch (detached, on the CPU) or jax. `direction` -1 for updates that were
        subtracted: what is released is then minus the gradient.
        """
        found = np.zeros(self.number)
        for update in updates:
            values = np.asarray(update, dtype=float).reshape(-1)
            if len(values) != self.dimension:
                raise BadOutput(f"an update has {len(values)} coordinates, not {self.dimension}.")
            found += values[: self.number]
        return direction * self.norm * found


def image_canaries(
    number: int, shape: Sequence[int], classes: int, rng: np.random.Generator
) -> tuple[Array, NDArray[np.int64]]:
    """Images of noise in [0, 1], each with a label at random.

    >>> images, labels = image_canaries(4, (1, 8, 8), 10, np.random.default_rng(0))
    >>> images.shape, labels.shape
    ((4, 1, 8, 8), (4,))
    """
    labels = rng.integers(count("classes", classes), size=count("number", number))
    return rng.random((number, *shape)), labels


def table_canaries(
    number: int, rows: ArrayLike, classes: int, rng: np.random.Generator
) -> tuple[Array, NDArray[np.int64]]:
    """Rows whose columns are drawn from those of `rows`, each column for itself, labels at random.

    Every value occurs in the data; their combinations do not. `rows` should be public or made up:
    canaries are shown in reports.
    """
    known = np.asarray(rows, dtype=float)
    if known.ndim != 2 or not len(known):
        raise InvalidParameter("rows must be a table with at least one row.", name="rows")
    picks = rng.integers(len(known), size=(count("number", number), known.shape[1]))
    labels = rng.integers(count("classes", classes), size=number)
    return np.take_along_axis(known, picks, axis=0), labels


def text_canaries(
    number: int, vocabulary: int, length: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Sequences of tokens drawn evenly from the vocabulary: nobody else has written them.

    >>> text_canaries(2, 100, 5, np.random.default_rng(0)).shape
    (2, 5)
    """
    size = (count("number", number), count("length", length))
    return rng.integers(count("vocabulary", vocabulary), size=size)


def loss_scores(
    before: Callable[[], ArrayLike] | ArrayLike, after: ArrayLike | Callable[[], ArrayLike]
) -> Array:
    """How much each canary's loss fell in training: the black-box score; higher where it was in.

    Losses as arrays of numpy, torch (detached) or jax, or functions that return them. Scores of one
    model's losses are not independent: audit them with scores="any".

    >>> loss_scores([2.0, 2.0], [1.5, 1.9]).round(3)
    array([0.5, 0.1])
    """
    first, last = (
        np.asarray(losses() if callable(losses) else losses, dtype=float).reshape(-1)
        for losses in (before, after)
    )
    if first.shape != last.shape:
        raise BadOutput("the losses before and after must be of the same canaries.")
    fell: Array = first - last
    return fell
