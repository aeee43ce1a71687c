"""How a mechanism reports a release without knowing the ledger."""

from __future__ import annotations

from typing import Protocol

from dpcheck.core.events.event import Event


class Spender(Protocol):
    """Anything that accepts `spend(dataset, event)`; `dpcheck.Ledger` is one."""

    def spend(self, dataset: object, event: Event) -> object:
        """Record the release, or raise BudgetExceeded before it happens."""


class Schedule(Protocol):
    """A schedule that is paid for; `step` before every release of it."""

    def step(self, times: int = 1, event: Event | None = None) -> None:
        """Take the next releases of the schedule, or raise BudgetExceeded."""


class Planner(Protocol):
    """Anything that accepts `plan(dataset, event)`; `dpcheck.Ledger` is one.

    For releases whose kinds and numbers are fixed before the first: all are paid for at once, by
    the tightest accountant.
    """

    def plan(self, dataset: object, event: Event) -> Schedule:
        """Pay for the whole schedule, or raise BudgetExceeded before any of it is released."""
