"""Tables made of released values. Imported only where the audited code uses pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from dpcheck.program.facts.kinds import Rows
from dpcheck.program.lowering.registry import lower
from dpcheck.program.reading.public import released_call
from dpcheck.program.reading.values import BY_PLACE, ITS_OWN, Array, Series, Storage

if TYPE_CHECKING:
    from dpcheck.program.reading.reader import Reader


@lower(pd.Series)
def series(
    reader: Reader, data: object = None, index: object = None, name: object = None
) -> object:
    """A column with public labels."""
    if not reader.is_public([index, name]):
        reader.unknown("a Series with private labels")
    if reader.is_public(data) or (reader.is_released(data) and not isinstance(data, Array)):
        return released_call(
            reader, lambda v, i, n: pd.Series(v, index=i, name=n), (data, index, name)
        )
    if isinstance(data, Series):  # a column of categories, as pd.Categorical makes it
        if index is not None:
            reader.unknown("a Series of a column with other labels")
        own = ITS_OWN if data.index == BY_PLACE else data.index
        return Series(data.array, reader.plain(name), data.labels, data.values, own)
    node = reader.node(data)
    if isinstance(node.fact, Rows) and node.ndim == 1 and index is None:
        return Series(Array(Storage(node)), reader.plain(name), None, None, ITS_OWN)
    if node.ndim != 1 or not isinstance(node.shape[0], int):
        reader.unknown("a Series of records")
    plain = reader.plain(index)
    labels = tuple(range(node.shape[0])) if plain is None else tuple(plain)  # type: ignore[arg-type]
    if len(labels) != node.shape[0]:
        reader.refuse("failed", "a Series with another number of labels", "fix the code")
    return Series(Array(Storage(node)), reader.plain(name), labels)


@lower(pd.DataFrame)
def frame(reader: Reader, data: object = None, **named: object) -> object:
    """A table of released values."""
    if not reader.is_released(data) or not reader.is_public(named):
        reader.refuse(
            "private-output",
            "a DataFrame is made of private values",
            "add noise first, or use columns of the table that was handed in",
        )
    return released_call(reader, lambda v: pd.DataFrame(v, **named), (data,))
