"""How much was spent when: a journal replayed, entry by entry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from dpcheck.ledger.state import State, Terms
from dpcheck.ledger.storage.entries import Entry

_MOST_POINTS = 200


@dataclass(frozen=True, slots=True)
class Point:
    """What the odometer of one account read after an entry, at the budget's delta."""

    time: float
    account: str
    epsilon: float


def moment(seconds: float, layout: str) -> str:
    """A time as a date; as a number where no calendar has it, since clocks can be wrong.

    >>> moment(0.0, "%Y-%m-%d"), moment(1e12, "%Y-%m-%d")
    ('1970-01-01', '1e+12 s after 1970')
    """
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime(layout)
    except (ValueError, OverflowError, OSError):
        return f"{seconds:.6g} s after 1970"


def timeline(terms: Terms, entries: Sequence[Entry], most: int = _MOST_POINTS) -> list[Point]:
    """Readings after every entry, or after about `most` of them evenly spaced, the last included."""
    state, found = State(terms, {}), []
    every = max(1, len(entries) // most)
    for number, entry in enumerate(entries, 1):
        entry.apply(state)
        if number % every and number != len(entries):
            continue
        for account in state.accounts:
            reading, _ = account.odometer(account.total(), account.budget.delta)
            found.append(Point(entry.time, account.name, reading))
    return found
