"""What a row of the corpus is: a mechanism somebody got wrong, and the same one got right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcheck.core.budget import Budget
from dpcheck.core.claim import Claim
from dpcheck.core.events.event import Event


@dataclass(frozen=True, slots=True)
class Registered:
    """An audit that `dpcheck list` knows, in one of its variants."""

    audit: str
    variant: str
    epsilon: float = 1.0
    delta: float = 0.0
    settings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Planted:
    """A planted bug.

    `exact` is the true epsilon of `broken` at the claim's delta on these very pairs, where a closed
    form gives it (its supremum over all data may be larger); None where nobody knows. With
    `floating_point` the bug is in the bits of the output and is looked for there.
    """

    name: str
    broken: Callable[..., Any] | Registered
    corrected: Callable[..., Any] | Registered
    claim: Claim | None
    pairs: Sequence[tuple[Any, Any]]
    exact: float | None
    provenance: str
    floating_point: bool = False


def pure(epsilon: float, adjacency: str) -> Claim:
    """The claim of pure epsilon."""
    return Claim(Budget(epsilon), adjacency, "the corpus")


def approximate(epsilon: float, delta: float, adjacency: str) -> Claim:
    """The claim of a bare (epsilon, delta)."""
    return Claim(Budget(epsilon, delta), adjacency, "the corpus")


def curve(event: Event, adjacency: str) -> Claim:
    """The claim of an event's whole curve."""
    from dpcheck.session.claims import read_claim

    return read_claim(event, adjacency, "the corpus")


def array(*values: float) -> np.ndarray:
    """A dataset of numbers."""
    return np.array(values, dtype=float)


def clip(values: np.ndarray, bound: float = 1.0) -> np.ndarray:
    """Numbers, or rows of a table, shortened to norm `bound`."""
    table = values if values.ndim > 1 else values[:, None]
    norms = np.linalg.norm(table, axis=1, keepdims=True)
    short = table * np.minimum(1.0, bound / np.maximum(norms, 1e-300))
    return short.reshape(values.shape)
