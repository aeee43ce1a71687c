"""A value other than the record's own, out of a public list: the lie of randomized response over k answers.

Lemma. Let the list hold different values, and the record's own be among them. Without it k - 1 are left; the
one at place j of these is at place j of the list if that comes before the record's own, else at j + 1.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.program.batching import batched
from dpcheck.program.facts.kinds import Aggregate, Public, Rows
from dpcheck.program.graph import Node
from dpcheck.program.lowering.words import place_in
from dpcheck.program.reading.operators import binary
from dpcheck.program.reading.values import Others, Scalar, Word
from dpcheck.program.rules.answers import domain

if TYPE_CHECKING:
    from dpcheck.program.reading.reader import Reader


def others(reader: Reader, values: Sequence[object], own: Node) -> Others | None:
    """The list without the record's own value; None if it may not be in it, or the list says more."""
    if not reader.mapped or own.ndim or not isinstance(own.fact, Aggregate) or len(values) < 2:
        return None
    if all(type(each) is str for each in values) and len(set(values)) == len(values):
        return Others(tuple(values), own) if place_in(reader, values, Scalar(own)) else None
    numbers = all(
        isinstance(each, bool | int | float | np.integer | np.floating) for each in values
    )
    if not numbers or len({float(v) for v in values}) < len(values):  # type: ignore[arg-type]
        return None
    now = reader.mapped[-1]
    column = batched(reader, own, now.known, now.rows)  # type: ignore[attr-defined]
    if not isinstance(column.fact, Rows) or column.dtype.kind not in "biuf":
        return None
    known = domain(column)
    if known is None or not {float(v) for v in known} <= {float(v) for v in values}:  # type: ignore[arg-type]
        return None
    return Others(tuple(values), own)


def by_mask(reader: Reader, table: Node, mask: Node) -> Others | None:
    """values[values != own]."""
    if mask.primitive != "not_equal" or not isinstance(table.fact, Public) or table.ndim != 1:
        return None
    for own, held in (mask.args, mask.args[::-1]):
        if not isinstance(held.fact, Public) or held.shape != table.shape:
            continue
        if np.array_equal(np.asarray(held.fact.value), np.asarray(table.fact.value)):
            return others(reader, np.asarray(table.fact.value).tolist(), own)
    return None


def by_tests(reader: Reader, items: Sequence[object], tests: Sequence[object]) -> Others | None:
    """[each for each in values if each != own]."""
    found: Node | None = None
    for item, test in zip(items, tests, strict=True):
        if isinstance(test, Scalar) and type(item) is str:
            own = _compared_with(reader, test, item)
            if own is None or (found is not None and own is not found):
                return None
            found = own
            continue
        if not isinstance(test, Scalar) or test.node.primitive != "not_equal":
            return None
        sides = test.node.args
        own = next((side for side in sides if not isinstance(side.fact, Public)), None)
        held = next((side for side in sides if isinstance(side.fact, Public)), None)
        if own is None or held is None or (found is not None and own is not found):
            return None
        assert isinstance(held.fact, Public)
        if not isinstance(item, bool | int | float | np.number) or held.fact.value != item:
            return None
        found = own
    return None if found is None else others(reader, items, found)


def _compared_with(reader: Reader, test: Scalar, text: str) -> Node | None:
    """The record's text that is held against one of the list, for being another."""
    known = reader.mapped[-1].known  # type: ignore[attr-defined]
    mask = known.get(test.node.id)
    if mask is None or mask.primitive != "logical_not" or mask.args[0].primitive != "is_value":
        return None
    asked = mask.args[0]
    if asked.params["public"] != text:
        return None
    column = asked.args[0]
    return next(
        (reader.graph.nodes[i] for i, each in known.items() if each is column and i != column.id),
        None,
    )


def one_of(reader: Reader, found: Others, place: object) -> object:
    """The value at a place of those that are left."""
    if isinstance(found.values[0], str):
        own_place = place_in(reader, found.values, Scalar(found.own))
        after = binary(reader, "greater_equal", place, own_place)
        moved = binary(reader, "add", place, binary(reader, "multiply", after, 1))
        assert isinstance(moved, Scalar)
        return Word(tuple(map(str, found.values)), moved)
    listed = [float(v) for v in found.values]  # type: ignore[arg-type]
    own = Scalar(found.own)
    if listed == list(range(len(listed))):
        after = binary(reader, "greater_equal", place, own)
        return binary(reader, "add", place, binary(reader, "multiply", after, 1))
    at = _summed(reader, own, found.values, range(len(listed)))
    after = binary(reader, "greater_equal", place, at)
    moved = binary(reader, "add", place, binary(reader, "multiply", after, 1))
    return entry(reader, found.values, moved)


def entry(reader: Reader, values: Sequence[object], place: object) -> object:
    """values[place], for numbers."""
    return _summed(reader, place, range(len(values)), values)


def _summed(
    reader: Reader, value: object, keys: Sequence[object], values: Sequence[object]
) -> object:
    """The number that goes with a key, of which exactly one is the value."""
    parts = [
        binary(reader, "multiply", binary(reader, "equal", value, key), number)
        for key, number in zip(keys, values, strict=True)
    ]
    return functools.reduce(lambda a, b: binary(reader, "add", a, b), parts)
