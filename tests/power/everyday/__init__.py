"""Functions as people write them for a job: broken, and right."""

from . import arrays, generators, models, plain, tables
from .base import Everyday
from .optional import ROWS as OPTIONAL

CORPUS: dict[str, Everyday] = {
    f"{room}: {row.name}": row
    for room, rows in (
        ("plain", plain.ROWS),
        ("arrays", arrays.ROWS),
        ("tables", tables.ROWS),
        ("models", models.ROWS),
        ("globals", generators.ROWS),
        ("optional", OPTIONAL),
    )
    for row in rows
}
