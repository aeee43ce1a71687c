"""Claims from what a user wrote: an event, a budget, or a number."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from dpcheck.core.adjacency import Adjacency, as_adjacency, as_neighbours
from dpcheck.core.audit_result import AuditEntry
from dpcheck.core.budget import Budget
from dpcheck.core.claim import Claim
from dpcheck.core.errors import InvalidParameter, NothingToAudit
from dpcheck.core.events.event import Event
from dpcheck.core.events.guarantee import ApproxDP, PureDP
from dpcheck.core.evidence import Points
from dpcheck.core.relation import Relation


def read_claim(value: Any, adjacency: Adjacency | Relation | str, source: str) -> Claim:
    """The claim a user wrote down."""
    relation = as_neighbours(adjacency)
    if isinstance(value, Claim):
        return value
    if isinstance(value, Budget):
        return Claim(value, relation, source)
    if isinstance(value, PureDP):
        return Claim(Budget(value.epsilon), relation, source)
    if isinstance(value, ApproxDP):
        return Claim(Budget(value.epsilon, value.delta), relation, source)
    if isinstance(value, Event):
        return Claim(_one_point(value, as_adjacency(relation)), relation, source, event=value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Claim(Budget(float(value)), relation, source)
    if value is None:
        raise NothingToAudit("no claim was given; pass epsilon (and delta), or claim=an event.")
    raise InvalidParameter(
        "a claim is a number (epsilon), dpcheck.Budget(epsilon, delta) or an event such as "
        f"dpcheck.Gaussian(noise_multiplier=2), not {value!r}.",
        name="claim",
    )


def _one_point(event: Event, adjacency: Adjacency) -> Budget:
    """A point of the curve to print: epsilon at delta 1e-5, or pure epsilon where it is finite."""
    from dpcheck.accounting.api import epsilon

    pure = epsilon(event, delta=0.0, adjacency=adjacency).upper
    if math.isfinite(pure):
        return Budget(pure)
    upper = epsilon(event, delta=1e-5, adjacency=adjacency).upper
    if not math.isfinite(upper):
        raise NothingToAudit("this event guarantees nothing, so it makes no claim to test.")
    return Budget(upper, 1e-5)


_RATES = (
    0.0,
    1e-4,
    1e-3,
    3e-3,
    0.01,
    0.02,
    0.03,
    *(i / 20 for i in range(1, 20)),
    0.97,
    0.99,
    0.999,
)


def claimed_curve(claim: Claim) -> tuple[Points, str]:
    """The trade-off function a claim promises, as points, and where it comes from.

    Guarantee: never above the claimed function, so nothing drawn below it is allowed by the claim.
    Reference: [Dong2022] Proposition 2.5 for a bare (epsilon, delta), whose two lines meet in one
    point; the accountant's certified lower side for an event.
    """
    if claim.event is not None:
        from dpcheck.accounting.api import tradeoff

        found = [
            tradeoff(claim.event, rate, adjacency=as_adjacency(claim.adjacency)) for rate in _RATES
        ]
        points = tuple(zip(_RATES, (bound.lower for bound in found), strict=True))
        return (*points, (1.0, 0.0)), f"trade-off function of {claim.event} ({found[0].method})"
    epsilon, kept = claim.budget.epsilon, 1 - claim.budget.delta
    corner = kept / (1 + math.exp(epsilon))
    return ((0.0, kept), (corner, corner), (kept, 0.0), (1.0, 0.0)), "f of (epsilon, delta)"


def with_claimed_curve(entry: AuditEntry) -> AuditEntry:
    """The entry with the claimed trade-off function beside what was seen, where that was sampled."""
    if entry.evidence is None:
        return entry
    points, method = claimed_curve(entry.claim)
    return replace(entry, evidence=replace(entry.evidence, claimed=points, claimed_method=method))
