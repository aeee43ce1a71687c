"""A claim as an auditor tests it: half-planes P(S) - e^eps P'(S) <= delta."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from dpcheck.core.adjacency import Adjacency, as_adjacency
from dpcheck.core.claim import Claim
from dpcheck.core.events.event import Event
from dpcheck.core.relation import Relation
from dpcheck.core.validate import non_negative, probability


@dataclass(frozen=True, slots=True)
class AuditedClaim:
    """(epsilon, delta) under an adjacency; with `lines` a whole curve.

    A trade-off function is the envelope of its supporting lines, one per (eps, delta(eps)): a
    mechanism stays above the curve iff it satisfies all of them. The line is chosen on learning
    runs. A bare (eps, delta) has one line; no noise family is ever inferred from it.
    """

    epsilon: float
    delta: float
    adjacency: Adjacency | Relation
    source: str = ""
    lines: tuple[tuple[float, float], ...] | None = None

    def __post_init__(self) -> None:
        non_negative("epsilon", self.epsilon)
        probability("delta", self.delta)

    @property
    def typical_delta(self) -> float:
        """The delta to compare pairs at: the claim's own, or of a curve one in its middle."""
        return self.delta if self.lines is None else self.lines[len(self.lines) // 2][1]

    def at(self, delta: float) -> float:
        """The epsilon that is claimed at the delta of an observation."""
        for epsilon, line in self.lines or ():
            if line == delta:
                return epsilon
        return self.epsilon


def audited_claim(claim: Claim) -> AuditedClaim:
    """The claim as half-planes; an event's whole curve through the accountant's certified delta."""
    lines = None if claim.event is None else _lines(claim.event, as_adjacency(claim.adjacency))
    budget = claim.budget
    return AuditedClaim(budget.epsilon, budget.delta, claim.adjacency, claim.source, lines)


@lru_cache(maxsize=64)
def _lines(event: Event, adjacency: Adjacency) -> tuple[tuple[float, float], ...]:
    from dpcheck.accounting.api import delta

    return curve_lines(lambda e: delta(event, epsilon=e, adjacency=adjacency).upper)


def curve_lines(
    delta_at: Callable[[float], float], *, smallest: float = 1e-9, points: int = 24
) -> tuple[tuple[float, float], ...]:
    """Supporting lines of a curve, from epsilon 0 to where delta is `smallest`.

    `delta_at` must never be below the true delta(eps) of the claim: a line above the curve would
    raise false alarms.
    """
    high = 0.25
    while delta_at(high) > smallest and high < 64:
        high *= 1.5
    lines = []
    for index in range(points):
        epsilon = high * (index / (points - 1)) ** 1.5
        lines.append((epsilon, min(delta_at(epsilon), 1.0)))
    return tuple(line for line in lines if line[1] < 1.0)
