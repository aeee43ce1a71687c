"""collections.Counter and defaultdict(int): the number of records of a public category."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING

from dpcheck.program.lowering.registry import lower
from dpcheck.program.reading.records import column_of
from dpcheck.program.reading.values import Counted, Tally

if TYPE_CHECKING:
    from dpcheck.program.reading.reader import Reader


@lower(collections.Counter)
def counter(reader: Reader, values: object = None) -> object:
    """How often each category appears; which do is decided by the data."""
    if values is None:
        return Tally()
    column = column_of(reader, values)
    if column is None or column.ndim != 1:
        reader.unknown("a Counter of something else than a column of records")
    return Tally(Counted((column,), None, "size"))


@lower(collections.defaultdict)
def default_dict(reader: Reader, kind: object = None) -> object:
    """defaultdict(int), counted up in a loop over records."""
    if kind is not int:
        reader.unknown("a defaultdict of something else than int")
    return Tally()


def counted(reader: Reader, owner: Tally, key: object, other: object = 0) -> object:
    """counter[category], 0 if it did not appear."""
    from dpcheck.program.lowering.tables import _get

    if not reader.is_public(key):
        reader.refuse(
            "private-control",
            "a private value decides which item is taken",
            "use a public category",
        )
    if owner.counted is None or reader.plain(other) != 0:
        reader.unknown("an item of a Counter that counts no records")
    return _get(reader, owner.counted, key, 0)
