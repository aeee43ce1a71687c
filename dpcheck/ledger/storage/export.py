"""Ledgers for other readers: one registry of formats, by name."""

from __future__ import annotations

import json
import math
from collections.abc import Callable

from dpcheck.core.events.serialize import to_dict
from dpcheck.ledger.ledger import Ledger

SCHEMA = "dpcheck.ledger/1"

Format = Callable[[Ledger], str]


def as_text(ledger: Ledger) -> str:
    """The privacy statement."""
    return ledger.statement()


def as_json(ledger: Ledger) -> str:
    """The statement and everything it rests on."""
    report = ledger.report()
    return json.dumps(
        {
            "schema": SCHEMA,
            "adjacency": str(report.adjacency),
            "theorem": report.theorem,
            "accounts": [
                {
                    "name": account.name,
                    "unit": account.unit,
                    "budget": {"epsilon": account.budget.epsilon, "delta": account.budget.delta},
                    "spent": {
                        "epsilon": _number(account.spent.upper),
                        "delta": account.budget.delta,
                        "method": account.spent.method,
                    },
                }
                for account in report.accounts
            ],
            "releases": [
                {
                    "where": line.where,
                    "event": to_dict(line.event),
                    "times": line.times,
                    "how": line.how,
                }
                for line in report.lines
            ],
            "assumes": list(report.assumes),
            "statement": ledger.statement(),
        },
        indent=2,
    )


def _number(value: float) -> float | str:
    return value if math.isfinite(value) else "inf"


FORMATS: dict[str, Format] = {"text": as_text, "json": as_json}
