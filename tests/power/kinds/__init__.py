"""Functions that leak only where people are of several kinds, each with one that does not leak."""

from . import counts, order, ratios, tables
from .base import Kinds

CORPUS: dict[str, Kinds] = {
    f"{room}: {row.name}": row
    for room, rows in (
        ("order", order.ROWS),
        ("counts", counts.ROWS),
        ("ratios", ratios.ROWS),
        ("tables", tables.ROWS),
    )
    for row in rows
}
