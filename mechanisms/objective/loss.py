"""The exact privacy loss of a release."""

from __future__ import annotations

from typing import Protocol

from numpy.typing import ArrayLike

from dpcheck.mechanisms.common.data import Data, LogDensity


class HasDensity(Protocol):
    """A mechanism with a closed-form density."""

    def log_density(self, data: Data, releases: ArrayLike) -> LogDensity:
        """The log density of releases."""


def exact_loss(
    mechanism: HasDensity, data: Data, neighbour: Data, release: ArrayLike
) -> LogDensity:
    """log p(release | data) - log p(release | neighbour), for one release or many.

    Guarantee: exact up to rounding (about 1e-12 times the log densities). For pure epsilon-DP one
    release whose loss is above the claim proves the claim wrong, whatever its probability.
    """
    return mechanism.log_density(data, release) - mechanism.log_density(neighbour, release)
