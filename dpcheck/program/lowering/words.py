"""Answers in words, in loops over records: a public list of texts, and which of them it is."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.program.batching import batched
from dpcheck.program.facts.kinds import Answers, Rows
from dpcheck.program.graph import Node
from dpcheck.program.reading.operators import binary
from dpcheck.program.reading.records import element
from dpcheck.program.reading.values import Scalar, Word

if TYPE_CHECKING:
    from dpcheck.program.reading.branches import Test
    from dpcheck.program.reading.reader import Reader
    from dpcheck.program.reading.records import Loop


def place_in(reader: Reader, texts: Sequence[object], own: object) -> Scalar | None:
    """Where a record's text is in a public list, which must hold it."""
    now = reader.mapped[-1]
    column = now.known.get(own.node.id) if isinstance(own, Scalar) else None  # type: ignore[attr-defined]
    if column is None or column.dtype.kind != "O" or not isinstance(column.fact, Rows):
        return None
    if column.fact.values is None or not set(column.fact.values) <= set(texts):
        return None
    places = reader.graph.add("place_of", column, categories=tuple(texts))
    found = element(reader, now, places)  # type: ignore[arg-type]
    assert isinstance(found, Scalar)
    return found


def as_word(reader: Reader, value: object) -> Word | None:
    """A text of the code, of the record, or one that is drawn."""
    if isinstance(value, Word):
        return value
    if type(value) is str:
        return Word((value,), Scalar(reader.graph.constant(np.int64(0))))
    now = reader.mapped[-1]
    column = now.known.get(value.node.id) if isinstance(value, Scalar) else None  # type: ignore[attr-defined]
    if column is None or not isinstance(column.fact, Rows) or not column.fact.values:
        return None
    texts = column.fact.values
    place = place_in(reader, texts, value) if all(type(t) is str for t in texts) else None
    return None if place is None else Word(tuple(map(str, texts)), place)


def joined(reader: Reader, test: Test, first: object, second: object) -> Word | None:
    """One of two texts."""
    from dpcheck.program.reading import branches

    one, other = as_word(reader, first), as_word(reader, second)
    if one is None or other is None:
        return None
    texts = tuple(dict.fromkeys((*one.texts, *other.texts)))
    places = (_within(reader, each, texts) for each in (one, other))
    found = branches.joined(reader, test, *places)
    return Word(texts, found) if isinstance(found, Scalar) else None


def _within(reader: Reader, word: Word, texts: tuple[str, ...]) -> object:
    """Its place in a longer list."""
    if texts[: len(word.texts)] == word.texts:
        return word.place
    parts = [
        binary(reader, "multiply", binary(reader, "equal", word.place, i), texts.index(each))
        for i, each in enumerate(word.texts)
    ]
    return functools.reduce(lambda a, b: binary(reader, "add", a, b), parts)


def column(reader: Reader, now: Loop, word: Word) -> Node:
    """The texts that all records answer."""
    found = batched(reader, word.place.node, now.known, now.rows)
    if not isinstance(found.fact, Answers):
        reader.unknown("a text of a record, or one that depends on it alone,")
    seen, texts = reader.graph.add("answer", found), word.texts

    def told(places: np.ndarray) -> list[str]:
        return [texts[int(i)] for i in places]

    return reader.graph.add("apply", seen, function=told)
