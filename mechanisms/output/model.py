"""What every output-perturbed model shares: the auditors' interface over its released vectors."""

from __future__ import annotations

from abc import abstractmethod
from functools import lru_cache
from typing import ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from dpcheck.core.errors import InvalidParameter
from dpcheck.core.events.event import Event
from dpcheck.core.spending import Spender
from dpcheck.core.validate import count
from dpcheck.mechanisms.common.data import LogDensity
from dpcheck.mechanisms.common.regularizers import Floats
from dpcheck.mechanisms.output import noise as _output
from dpcheck.mechanisms.output.noise import OutputBlock, Scale

D = TypeVar("D")  # the data a model is fitted to


class OutputModel(BaseEstimator, Generic[D]):  # type: ignore[misc]  # sklearn is untyped
    """A model whose release is a few minimisers, each plus spherical noise.

    A fitted model has `release_` (all vectors side by side) and `event_`, what was released.
    """

    parts: ClassVar[tuple[str, ...]] = ("data",)

    @abstractmethod
    def _blocks(self, data: D) -> list[OutputBlock]:
        """The released vectors on this data, with their minimisers."""

    @abstractmethod
    def _event(self, data: D) -> Event:
        """What is released, from public facts of the data (row counts and widths) only."""

    @abstractmethod
    def claimed_epsilon(self, part: str = "data") -> float:
        """The epsilon the algorithm says it spends."""

    def blocks(self, data: D) -> list[OutputBlock]:
        """The released vectors; the minimisers are found once per dataset and parameters."""
        return _cached_blocks(_Task(self, data))

    def sample_releases(self, data: D, size: int, rng: np.random.Generator | None = None) -> Floats:
        """`size` independent releases on the same data, flattened: shape (size, width)."""
        size = count("size", size, at_least=0)
        generator = np.random.default_rng() if rng is None else rng
        return _output.sample(self.blocks(data), size, generator)

    def log_density(self, data: D, releases: ArrayLike) -> LogDensity:
        """The exact normalised log density: a float for one release, an array for many."""
        array = np.asarray(releases, dtype=float)
        values = _output.log_density(self.blocks(data), np.atleast_2d(array))
        return float(values[0]) if array.ndim == 1 else values

    def noise_lengths(self, data: D, releases: Floats) -> Floats:
        """rate |noise| summed over the vectors: Gamma(width) when the noise is as stated."""
        blocks = self.blocks(data)
        found = _output.noises(blocks, releases)
        lengths = [
            b.scale.rate * np.linalg.norm(n, axis=1) for b, n in zip(blocks, found, strict=True)
        ]
        return np.asarray(np.sum(lengths, axis=0))

    def release_event(self, part: str = "data", data: D | None = None) -> Event:
        """What is released about a part: by the fitted model, or on data of this shape."""
        if part not in self.parts:
            raise InvalidParameter(
                f"part must be one of {', '.join(self.parts)}, got {part!r}.", name="part"
            )
        if data is not None:
            return self._event(data)
        check_is_fitted(self, "event_")
        event: Event = self.event_
        return event

    def _release(
        self, data: D, rng: np.random.Generator | None, ledger: Spender | None, dataset: object
    ) -> list[OutputBlock]:
        """Spend, then draw one release; the blocks say where each vector stands."""
        event = self._event(data)
        if ledger is not None:
            if dataset is None:
                raise InvalidParameter(
                    "a ledger needs to know which of its datasets this is; pass it.",
                    name="dataset",
                )
            # Spent before any noise is drawn: an overspending fit releases nothing.
            ledger.spend(dataset, event)
        blocks = self._blocks(data)
        generator = np.random.default_rng() if rng is None else rng
        self.release_ = _output.sample(blocks, 1, generator)[0]
        self.event_ = event
        return blocks


class _Task(Generic[D]):
    """A model with its parameters of now and a dataset, compared by both."""

    def __init__(self, model: OutputModel[D], data: D) -> None:
        self.model, self.data = model, data
        self._key = (type(model), repr(sorted(model.get_params().items())), id(data))

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Task) and self._key == other._key


@lru_cache(maxsize=16)
def _cached_blocks(task: _Task[D]) -> list[OutputBlock]:
    # The cache keeps the data alive, so an id in a key is never that of another object.
    return task.model._blocks(task.data)


__all__ = ["OutputBlock", "OutputModel", "Scale"]
