"""What audits need of a reference mechanism, whatever algorithm it is."""

from __future__ import annotations

from typing import Protocol

from dpcheck.core.data import Data, Output
from dpcheck.core.events.event import Event


class Describes(Protocol):
    """Says what it releases, as an event; it never says what that costs."""

    def release_event(self, part: str, data: Data = None, /) -> Event:
        """Everything released about one protected part of data of this shape."""


class ReferenceMechanism(Describes, Protocol):
    """An estimator that also samples its releases in batches and knows their density."""

    def sample_releases(self, data: Data, size: int, rng: Output, /) -> Output:
        """`size` releases on the same data, one per row."""

    def log_density(self, data: Data, releases: Output, /) -> Output:
        """The log density of every release, up to a constant that all data share."""
