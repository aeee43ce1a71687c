"""Audit a row as `dpcheck audit` does, at its default settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpcheck.auditing.mechanism import as_mechanism, as_pairs
from dpcheck.auditing.plan import PartPlan
from dpcheck.core.audit_result import AuditEntry
from dpcheck.core.verdict import Verdict
from dpcheck.execution.parallel import Workers
from dpcheck.session.run import AuditRequest, run_plans, run_request

from .base import Planted, Registered


def audit_row(
    row: Planted, which: str, seed: int, jobs: int = 1, runs: int | None = None
) -> tuple[AuditEntry, ...]:
    """All parts of the `broken` or `corrected` mechanism; the worst verdict is the row's."""
    target: Callable[..., Any] | Registered = getattr(row, which)
    workers = Workers(jobs=jobs)
    if isinstance(target, Registered):
        request = AuditRequest(
            target.audit,
            epsilon=target.epsilon,
            delta=target.delta,
            variant=target.variant,
            settings=target.settings,
            seed=seed,
            workers=workers,
            max_runs=runs,
        )
        return run_request(request).entries
    assert row.claim is not None
    plan = PartPlan(
        row.name,
        which,
        row.claim,
        as_mechanism(target),
        as_pairs(row.pairs),
    )
    # A name without a colon: a row is no file or module that its witness could be loaded from.
    request = AuditRequest(
        "corpus", seed=seed, floating_point=row.floating_point, workers=workers, max_runs=runs
    )
    return run_plans([plan], request, {}).entries


def worst(entries: tuple[AuditEntry, ...]) -> AuditEntry:
    """The entry that decides the exit code."""
    order = [Verdict.VIOLATED, Verdict.UNDECIDED, Verdict.CONSISTENT, Verdict.HOLDS]
    return min(entries, key=lambda entry: order.index(entry.verdict))
