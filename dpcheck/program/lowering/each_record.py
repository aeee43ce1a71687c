"""Numbers drawn in a loop over records, afresh for each: a column of draws, of which the loop sees one.

Lemma. A draw that is made for some records only, and thrown away for the others, has the law of one that is
made for all: draws are independent of everything else, and nobody sees the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.program.facts.kinds import RANDOM, Aggregate
from dpcheck.program.reading.values import Scalar
from dpcheck.program.rules.common import UNBOUNDED

if TYPE_CHECKING:
    from dpcheck.program.reading.reader import Reader


PYTHONS = ("random", "a generator of Python")
OLD = ("np.random", "a RandomState")


def are_pythons(source: str, method: object) -> bool | None:
    """Whether single draws are numbers of Python; None where nobody knows."""
    if source in PYTHONS:
        return True
    if method == "choice":
        return False
    if method == "integers":
        return source in OLD
    return None if method is None else True


def drawn_for_each(
    reader: Reader,
    method: Callable[..., object],
    args: tuple[object, ...],
    named: Mapping[str, object],
) -> object:
    """One number for the record that the loop is at."""
    loop = reader.mapped[-1]
    count = loop.rows.count  # type: ignore[attr-defined]
    if not reader.graph.public_rows or count is None or loop.rows.optional:  # type: ignore[attr-defined]
        reader.refuse(
            "private-length",
            "something is drawn for every record, and their number is private",
            "draw for all records at once, before the loop: rng.random(len(x)); or state the claim under "
            "replace-one, where the number of records is public",
        )
    if named.get("size") is not None:
        reader.refuse(
            "private-length",
            "several numbers are drawn for every record",
            "draw them for all records at once, before the loop",
        )
    before = reader.graph._next_draw
    column = reader.node(method(reader, *args, **{**named, "size": count}))
    reader.own_draws += reader.graph._next_draw - before
    if not isinstance(column.fact, RANDOM):
        reader.unknown("this draw in a loop over records")
    loop.drawn += 1  # type: ignore[attr-defined]
    inside = Aggregate(box=column.fact.box.broadcast(()), diff=UNBOUNDED.tightened(()))
    weak = are_pythons(reader.source, column.params.get("method"))
    node = reader.graph.given("element", (), column.dtype, inside, of=column.id, weak=weak)
    loop.known[node.id] = column  # type: ignore[attr-defined]
    reader.graph.in_order[column.id] = loop
    if column.dtype == np.dtype(bool):
        reader.unknown("a draw of truth values in a loop over records")
    reader.drawn.add(node.id)
    return Scalar(node)
