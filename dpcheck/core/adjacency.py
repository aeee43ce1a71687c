"""Which datasets are neighbours. A sensitivity means nothing without it.

With C the bound on the norm of one record's contribution:

- replace-one: one record is changed to any other, the number of rows is public; a sum moves by 2C.
- add-remove: one record is added or removed; a sum moves by C.
- zero-out: one record is replaced by a null record that contributes 0; a sum moves by C, the number
  of rows stays.
"""

from __future__ import annotations

from difflib import get_close_matches
from enum import StrEnum

from dpcheck.core.errors import UnknownName, UnsupportedAdjacency
from dpcheck.core.relation import Relation


class Adjacency(StrEnum):
    """The neighbouring relation a sensitivity, claim or bound is stated under."""

    REPLACE_ONE = "replace-one"
    ADD_REMOVE = "add-remove"
    ZERO_OUT = "zero-out"

    @property
    def moves(self) -> int:
        """How many norm bounds C a sum of contributions moves between neighbours."""
        return 2 if self is Adjacency.REPLACE_ONE else 1


def as_neighbours(value: Adjacency | Relation | str) -> Adjacency | Relation:
    """What an audit may be given: an adjacency, by name too, or a relation."""
    return value if isinstance(value, Relation) else as_adjacency(value)


def as_adjacency(value: Adjacency | Relation | str) -> Adjacency:
    """Read an adjacency by name.

    >>> as_adjacency("add-remove").moves
    1
    """
    if isinstance(value, Relation):
        raise UnsupportedAdjacency(
            f"neighbours by {value} can be audited and not priced: accountants, ledgers, budgets and proofs "
            f"need to know what one record changes. Use one of {', '.join(Adjacency)}."
        )
    try:
        return Adjacency(value)
    except ValueError:
        names = [a.value for a in Adjacency]
        close = get_close_matches(str(value), names, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"use one of {', '.join(names)}."
        raise UnknownName(f"unknown adjacency {value!r}; {hint}", value=value) from None
