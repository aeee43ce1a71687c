"""One error rate for a whole pytest run, shared by the tests that audit.

With m auditing tests and an error rate A, each test may raise a false alarm with probability A/m; its
k-th audit gets 2^-k of that. So a run in which every mechanism keeps its claim is green with
probability at least 1 - A, however many audits there are.
"""

from __future__ import annotations

import zlib
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path

CONFIDENCE = 0.999


@dataclass(slots=True)
class TestBudget:
    """What one test may spend, and where it leaves what it found."""

    __test__ = False  # pytest: not a test class

    name: str = ""
    alpha: float = 1 - CONFIDENCE
    seed: int = 0
    max_runs: int | None = None
    folder: Path | None = None
    replay: Path | None = None
    audits: int = field(default=0)

    def next_alpha(self) -> float:
        """The error rate of the next audit.

        >>> budget = TestBudget(alpha=0.5)
        >>> [budget.next_alpha(), budget.next_alpha()]
        [0.25, 0.125]
        """
        self.audits += 1
        return self.alpha * 0.5**self.audits

    def next_seed(self) -> int:
        """Another seed for every test and every audit in it; the same in every run."""
        path = f"{self.name}/{self.audits}"
        return (self.seed + zlib.crc32(path.encode())) % (1 << 31)


_current: ContextVar[TestBudget | None] = ContextVar("dpcheck_test_budget", default=None)


def current() -> TestBudget:
    """The budget of the running test; outside of pytest a fresh one for one call."""
    return _current.get() or TestBudget()


def use(budget: TestBudget | None) -> None:
    """Make it the running test's."""
    _current.set(budget)


def share(confidence: float, tests: int) -> float:
    """The error rate of one of `tests` auditing tests.

    >>> share(0.99, 10) == (1 - 0.99) / 10
    True
    """
    return (1 - confidence) / max(1, tests)
