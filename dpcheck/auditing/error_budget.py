"""How the error rate of a part was spent: one line per test, adding up to the part's share."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dpcheck.core.evidence import Spent
from dpcheck.core.method import Method

DIRECTIONS = ("D against D'", "D' against D")


def error_budget(alpha: float, spent: Sequence[Spent]) -> tuple[Spent, ...]:
    """The lines of one part, and what no test used as a line of its own.

    Guarantee: shares add up to alpha.

    >>> proof = Spent(Method.EXACT_WITNESS, 0.0)
    >>> [(str(line.test), line.share) for line in error_budget(1e-3, [proof])]
    [('exact witness', 0.0), ('not spent', 0.001)]
    """
    left = alpha - math.fsum(line.share for line in spent)
    if left <= 1e-12 * alpha:
        return tuple(spent)
    return (*spent, Spent(Method.NOT_SPENT, left, (), "kept: no test needed it"))
