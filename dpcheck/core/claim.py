"""What somebody says an algorithm spends."""

from __future__ import annotations

from dataclasses import dataclass

from dpcheck.core.adjacency import Adjacency, as_neighbours
from dpcheck.core.budget import Budget
from dpcheck.core.events.event import Event
from dpcheck.core.relation import Relation


@dataclass(frozen=True, slots=True)
class Claim:
    """A budget under an adjacency, and where it was stated.

    With `event` the claim is the event's whole trade-off curve, of which `budget` is one point.
    """

    budget: Budget
    adjacency: Adjacency | Relation
    source: str
    part: str = "data"
    event: Event | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "adjacency", as_neighbours(self.adjacency))

    @property
    def recorded(self) -> Adjacency | None:
        """The adjacency of records; None where neighbours are told by a relation."""
        return None if isinstance(self.adjacency, Relation) else self.adjacency
