"""What a row of the corpus is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import dpcheck
from dpcheck.core.data import Output
from dpcheck.core.records import Records


@dataclass(frozen=True)
class Kinds:
    """A function that claims epsilon 1 and leaks only among people of several kinds, and one that keeps it.

    Neighbours are left to the audit: it is given the description alone.
    """

    name: str
    broken: Callable[..., Output]
    right: Callable[..., Output]
    records: Records
    adjacency: str = "replace-one"
    form: str = "array"


def unit(rows: int | None = None) -> Records:
    """One number between 0 and 1."""
    return dpcheck.records(x=dpcheck.number(0, 1), rows=rows)


def two(rows: int | None = None) -> Records:
    """Two of them."""
    return dpcheck.records(a=dpcheck.number(0, 1), b=dpcheck.number(0, 1), rows=rows)
