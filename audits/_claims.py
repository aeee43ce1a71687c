"""Claims from what a user wrote: an event, a budget, or a number."""

from __future__ import annotations

from typing import Any

from dpcheck.auditing.claims import AuditedClaim, curve_lines
from dpcheck.core.adjacency import Adjacency, as_adjacency
from dpcheck.core.budget import Budget
from dpcheck.core.claim import Claim
from dpcheck.core.errors import InvalidParameter, NothingToAudit
from dpcheck.core.event import Event
from dpcheck.core.guarantee_events import ApproxDP, PureDP


def read_claim(value: Any, adjacency: Adjacency | str, source: str) -> Claim:
    """The claim a user wrote down."""
    relation = as_adjacency(adjacency)
    if isinstance(value, Claim):
        return value
    if isinstance(value, Budget):
        return Claim(value, relation, source)
    if isinstance(value, PureDP):
        return Claim(Budget(value.epsilon), relation, source)
    if isinstance(value, ApproxDP):
        return Claim(Budget(value.epsilon, value.delta), relation, source)
    if isinstance(value, Event):
        return Claim(_one_point(value, relation), relation, source, event=value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Claim(Budget(float(value)), relation, source)
    if value is None:
        raise NothingToAudit("no claim was given; pass epsilon (and delta), or claim=an event.")
    raise InvalidParameter(
        f"a claim is an event, a Budget or a number, got {value!r}.", name="claim"
    )


def _one_point(event: Event, adjacency: Adjacency) -> Budget:
    """A point of the curve to print: epsilon at delta 1e-5, or pure epsilon where it is finite."""
    import math

    from dpcheck.accounting.api import epsilon

    pure = epsilon(event, delta=0.0, adjacency=adjacency).upper
    if math.isfinite(pure):
        return Budget(pure)
    upper = epsilon(event, delta=1e-5, adjacency=adjacency).upper
    if not math.isfinite(upper):
        raise NothingToAudit("this event guarantees nothing, so there is no claim to test.")
    return Budget(upper, 1e-5)


def audited_claim(claim: Claim) -> AuditedClaim:
    """The claim as half-planes; an event's whole curve through the accountant's certified delta."""
    lines = None
    if claim.event is not None:
        from dpcheck.accounting.api import delta

        event, relation = claim.event, claim.adjacency
        lines = curve_lines(lambda e: delta(event, epsilon=e, adjacency=relation).upper)
    return AuditedClaim(
        claim.budget.epsilon, claim.budget.delta, claim.adjacency, claim.source, lines
    )
