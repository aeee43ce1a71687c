"""How a mechanism reports a release without knowing the ledger."""

from __future__ import annotations

from typing import Protocol

from dpcheck.core.event import Event


class Spender(Protocol):
    """Anything that accepts `spend(dataset, event)`; `dpcheck.Ledger` is one."""

    def spend(self, dataset: object, event: Event) -> None:
        """Record the release, or raise BudgetExceeded before it happens."""
