"""Columns of text and categories: compared with public values, placed among public categories."""

from __future__ import annotations

import numpy as np

from dpcheck.program.facts import boxes
from dpcheck.program.facts.boxes import Box
from dpcheck.program.facts.kinds import Aggregate, Rows
from dpcheck.program.facts.rowsets import Region
from dpcheck.program.graph import Graph, Made, Node, primitive
from dpcheck.program.rules.common import UNBOUNDED, aggregate, element, rowwise


def _is_value(value: object, public: object) -> object:
    return np.array([each == public for each in np.asarray(value, dtype=object)], dtype=bool)


@primitive(
    "is_value",
    "a truth value for each record: whether a column of text is a public text",
    _is_value,
)
def is_value(graph: Graph, a: Node, public: object) -> Made:
    """column == "A", one answer a record."""
    fact = a.fact
    if isinstance(fact, Aggregate) and not a.ndim:  # a record's own text, in a loop over records
        return aggregate((), np.dtype(bool), boxes.box(0.0, 1.0), UNBOUNDED, coins=fact.coins)
    if not isinstance(fact, Rows) or a.ndim != 1:
        graph.refuse("unknown-operation", "a comparison of text that is no column", "use a column")
    region = Region(members=frozenset({public}))
    return rowwise(
        graph,
        a.shape,
        np.dtype(bool),
        boxes.box(0.0, 1.0).broadcast(element(a)),
        fact.rows,
        fact.axis,
        coins=fact.coins,
        truth={a.id: region},
        falsehood={a.id: Region(members=frozenset({public}), but=True)},
    )


def _place_of(value: object, categories: tuple[object, ...]) -> object:
    places = {category: i for i, category in enumerate(categories)}

    def place(each: object) -> int:
        try:
            return places.get(each, -1)
        except TypeError:
            return -1

    return np.array([place(each) for each in np.asarray(value, dtype=object)], dtype=np.int64)


@primitive("place_of", "the place of each record among public categories, -1 for none", _place_of)
def place_of(graph: Graph, a: Node, categories: tuple[object, ...]) -> Made:
    """One whole number a record."""
    fact = a.fact
    if not isinstance(fact, Rows) or a.ndim != 1:
        graph.refuse(
            "unknown-operation", "categories of something that is no column", "use a column"
        )
    box = Box(np.full(1, -1.0), np.full(1, float(len(categories) - 1)), False, True)
    return rowwise(graph, a.shape, np.dtype(np.int64), box, fact.rows, fact.axis, coins=fact.coins)


def _label(value: object, labels: tuple[object, ...]) -> object:
    named = np.array([*labels, None], dtype=object)
    places = np.asarray(value)
    return named[np.where((places >= 0) & (places < len(labels)), places, len(labels))]


@primitive("label", "the category at each record's place, nothing for a place without one", _label)
def label(graph: Graph, a: Node, labels: tuple[object, ...]) -> Made:
    """One category a record."""
    fact = a.fact
    if not isinstance(fact, Rows) or a.ndim != 1 or a.dtype.kind not in "iu":
        graph.refuse(
            "unknown-operation", "categories of something that is no column", "use a column"
        )
    return rowwise(
        graph,
        a.shape,
        np.dtype(object),
        boxes.WHOLE.broadcast(element(a)),
        fact.rows,
        fact.axis,
        coins=fact.coins,
    )
