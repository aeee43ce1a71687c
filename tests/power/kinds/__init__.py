"""Functions that leak only where people are of several kinds, each with one that does not leak."""

from . import arrival, counts, groups, hinges, moments, order, ratios, tables, thresholds
from .base import Kinds


def _named(**rooms: list[Kinds]) -> dict[str, Kinds]:
    return {f"{room}: {row.name}": row for room, rows in rooms.items() for row in rows}


CORPUS = _named(order=order.ROWS, counts=counts.ROWS, ratios=ratios.ROWS, tables=tables.ROWS)
# Written after the search and only then shown to it: 57 of 64 were caught. What was missed were people
# who do not stand last, and numbers of functions that a closure holds.
FURTHER = _named(
    arrival=arrival.ROWS,
    groups=groups.ROWS,
    moments=moments.ROWS,
    hinges=hinges.ROWS,
    thresholds=thresholds.ROWS,
)
