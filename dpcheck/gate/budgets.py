"""What all releases from a dataset spend together: the claims that were audited, and listed events."""

from __future__ import annotations

from collections.abc import Sequence

from dpcheck.accounting.api import epsilon
from dpcheck.core.adjacency import Adjacency, as_adjacency
from dpcheck.core.audit_result import AuditEntry, BudgetEntry, Voucher
from dpcheck.core.bound import Bound
from dpcheck.core.claim import Claim
from dpcheck.core.errors import DpcheckError, InvalidProject
from dpcheck.core.events.event import Event, Sequential, Under
from dpcheck.core.events.guarantee import ApproxDP, PureDP
from dpcheck.core.verdict import Verdict
from dpcheck.gate.project import AuditSpec, BudgetSpec


def claimed_event(claim: Claim, adjacency: Adjacency) -> Event:
    """A claim as an event to account under `adjacency`.

    The curve of a claimed event is used where the relation is the claim's own; under another one
    only the guarantee is, which the accountant turns into the other relation or refuses.
    """
    stated = as_adjacency(claim.adjacency)
    if claim.event is not None and stated is adjacency:
        return claim.event
    if claim.budget.delta == 0:
        return PureDP(claim.budget.epsilon, stated)
    return ApproxDP(claim.budget.epsilon, claim.budget.delta, stated)


def _proved(spec: BudgetSpec, entry: AuditEntry) -> Event:
    """What a proof of the code found, stated under the claim's relation."""
    assert entry.event is not None
    try:
        return Under(as_adjacency(entry.claim.adjacency), entry.event)
    except DpcheckError as error:
        raise InvalidProject(f"budgets.{spec.dataset}: {entry.part}: {error.message}") from None


def _named(event: Event) -> str:
    """An event as one writes it."""
    return str(event).replace(", adjacency=None", "")


def check_budget(spec: BudgetSpec, audited: Sequence[tuple[AuditSpec, AuditEntry]]) -> BudgetEntry:
    """What one dataset spends.

    Guarantee: `upper` is never below what the listed releases spend, if the audited claims are true
    and nothing else is released; where an audit says they are not, the budget is violated.
    """
    events: list[Event] = list(spec.events)
    kinds: dict[str, list[Event]] = {"proved": [], "claimed": [], "stated": list(events)}
    listed = [_named(event) for event in spec.events]
    vouchers: list[Voucher] = []
    for audit, entry in audited:
        times = f" x {audit.releases}" if audit.releases > 1 else ""
        if entry.event is not None:
            events.append(_proved(spec, entry) * audit.releases)
            listed.append(f"{audit.name}/{entry.part}: proved {_named(entry.event)}{times}")
        else:
            events.append(claimed_event(entry.claim, spec.adjacency) * audit.releases)
            listed.append(f"{audit.name}/{entry.part}: claims {entry.claim.budget}{times}")
        kinds["proved" if entry.verdict is Verdict.HOLDS else "claimed"].append(events[-1])
        vouchers.append(
            Voucher(f"{audit.name}/{entry.part}", entry.verdict, entry.observed.epsilon)
        )
    if not events:
        raise InvalidProject(
            f"budgets.{spec.dataset}: nothing is released from it. Give it events, or an audit "
            f'with dataset = "{spec.dataset}".'
        )
    try:
        bound = _together(events, spec)
        kinds = {word: own for word, own in kinds.items() if own}
        apart = {word: _together(own, spec).upper for word, own in kinds.items() if len(kinds) > 1}
    except DpcheckError as error:
        raise InvalidProject(f"budgets.{spec.dataset}: {error.message}") from None
    except (MemoryError, OverflowError):
        raise InvalidProject(
            f"budgets.{spec.dataset}: there are too many releases to account for."
        ) from None
    return BudgetEntry(
        spec.dataset,
        spec.budget,
        spec.adjacency,
        bound.lower,
        bound.upper,
        bound.method,
        tuple(listed),
        vouchers=tuple(vouchers),
        stated=tuple(map(_named, spec.events)),
        apart=tuple(apart.items()),
    )


def _together(events: Sequence[Event], spec: BudgetSpec) -> Bound:
    return epsilon(Sequential(tuple(events)), delta=spec.budget.delta, adjacency=spec.adjacency)


def spenders(
    spec: BudgetSpec, audits: Sequence[tuple[AuditSpec, Sequence[AuditEntry]]]
) -> list[tuple[AuditSpec, AuditEntry]]:
    """The audited parts that spend from a dataset."""
    found = []
    for audit, entries in audits:
        parts = {entry.part for entry in entries if not entry.floating_point}
        unknown = sorted(set(audit.datasets) - {""} - parts)
        if unknown:
            raise InvalidProject(
                f"{audit.name} has no part {unknown[0]!r}; its parts are {', '.join(sorted(parts))}."
            )
        for entry in entries:
            if (
                entry.part in parts
                and audit.datasets.get(entry.part, audit.datasets.get("")) == spec.dataset
            ):
                found.append((audit, entry))
    return found
