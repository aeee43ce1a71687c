"""The error rate of a part: given out in shares, booked line by line, never more than there is."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from dpcheck.core.evidence import Spent
from dpcheck.core.method import Method

DIRECTIONS = ("D against D'", "D' against D")
_ROUNDING = 1e-12  # of the error rate, for the sum of its shares


@dataclass(slots=True)
class ErrorBudget:
    """What the tests of one part may spend together.

    Guarantee: shares that were given out add up to at most `alpha`, and no test books more than it was
    given; both are checked where it happens, and a breach ends the audit.

    >>> budget = ErrorBudget(1e-3)
    >>> budget.give(0.25)
    0.00025
    >>> budget.book(Spent(Method.EXACT_WITNESS, 0.0))
    >>> [(str(line.test), line.share) for line in budget.lines]
    [('exact witness', 0.0), ('not spent', 0.001)]
    """

    alpha: float
    _given: list[float] = field(default_factory=list)
    _booked: list[Spent] = field(default_factory=list)

    @property
    def left(self) -> float:
        """What nobody was given yet."""
        return max(0.0, self.alpha - math.fsum(self._given))

    def give(self, fraction: float) -> float:
        """A share for the next test, as a fraction of what is left."""
        share = self.left * fraction
        self._given.append(share)
        self._check(
            math.fsum(self._given), self.alpha, "more error rate was given out than there is"
        )
        return share

    def book(self, line: Spent) -> None:
        """Note what the test that was given the last share spent."""
        given = self._given[-1] if self._given else 0.0
        self._check(line.share, given, f"{line.test} spent more error rate than it was given")
        self._booked.append(line)
        total = math.fsum(each.share for each in self._booked)
        self._check(total, self.alpha, "tests spent more error rate together than there is")

    def _check(self, spent: float, most: float, words: str) -> None:
        # Not `assert`, which Python leaves out when asked to: the confidence of a report rests on it.
        if not 0 <= spent <= most + _ROUNDING * self.alpha:
            raise AssertionError(f"{words}: {spent!r} of {most!r}")

    @property
    def lines(self) -> tuple[Spent, ...]:
        """What was booked, and what no test used as a line of its own: they add up to alpha."""
        unspent = self.alpha - math.fsum(line.share for line in self._booked)
        if unspent <= _ROUNDING * self.alpha:
            return tuple(self._booked)
        return (
            *self._booked,
            Spent(Method.NOT_SPENT, unspent, (), "kept: no test needed it"),
        )
