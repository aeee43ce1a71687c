"""Neighbours that are not told by records: answers to queries, edges and nodes of a graph.

StatDP and DP-Sniper, and most papers on noisy maxima and sparse vectors, state claims about lists of query
answers that differ by a bounded norm. Which record moves answers how far is left open, so such a claim can
be audited and cannot be priced: accountants, ledgers and budgets refuse it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpcheck.core.errors import InvalidParameter, UnknownName

KINDS = ("answers", "edges", "nodes")
_NORMS = {"1": 1.0, "2": 2.0, "inf": math.inf}


@dataclass(frozen=True, slots=True)
class Relation:
    """Which data are neighbours; make one with `dpcheck.relation`.

    `answers`: lists of numbers whose difference has a norm of at most `bound`. `edges`: graphs with the same
    nodes of which one has one edge more. `nodes`: graphs of which one has one node more, with its edges.
    """

    kind: str
    norm: float = math.inf
    bound: float = 1.0

    def __str__(self) -> str:
        if self.kind != "answers":
            return self.kind
        return f"answers (norm {self.norm:g}, bound {self.bound:g})"

    def exceeded(self, first: Sequence[float], second: Sequence[float]) -> bool:
        """Whether two lists of answers are further apart than the bound, in exact arithmetic.

        >>> relation("answers", norm=2, bound=5).exceeded([0, 0], [3, 4])
        False
        """
        moved = [abs(Fraction(a) - Fraction(b)) for a, b in zip(first, second, strict=True)]
        if self.norm == 1:
            return sum(moved) > Fraction(self.bound)
        if self.norm == 2:
            return sum(each * each for each in moved) > Fraction(self.bound) ** 2
        return max(moved, default=Fraction(0)) > Fraction(self.bound)


def relation(kind: str, *, norm: float | str | None = None, bound: float | None = None) -> Relation:
    """A relation by its name, for the `adjacency` of an audit.

    >>> str(relation("answers", norm="inf", bound=1)), str(relation("edges"))
    ('answers (norm inf, bound 1)', 'edges')
    """
    if kind not in KINDS:
        raise UnknownName(f"unknown relation {kind!r}; use one of {', '.join(KINDS)}.", value=kind)
    if kind != "answers":
        if norm is not None or bound is not None:
            raise InvalidParameter(f"{kind} have no norm and no bound.", name="norm")
        return Relation(kind)
    if norm is None or bound is None:
        raise InvalidParameter(
            'say how far neighbours are apart: dpcheck.relation("answers", norm="inf", bound=1).',
            name="norm",
        )
    named = _NORMS.get(f"{norm:g}" if isinstance(norm, int | float) else str(norm))
    if named is None or isinstance(norm, bool):
        raise InvalidParameter(f'norm must be 1, 2 or "inf", got {norm!r}.', name="norm")
    if isinstance(bound, bool) or not isinstance(bound, int | float) or not 0 < bound < math.inf:
        raise InvalidParameter(f"bound must be a positive number, got {bound!r}.", name="bound")
    return Relation(kind, named, float(bound))
