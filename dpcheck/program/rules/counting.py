"""Counts: the number of records, places among public edges, membership of a list, one bin a record."""

from __future__ import annotations

import numpy as np

from dpcheck.program.facts.boxes import Box
from dpcheck.program.facts.kinds import RANDOM, Aggregate, Public, Released, Rows
from dpcheck.program.facts.rowsets import RowSet
from dpcheck.program.facts.sizes import Size
from dpcheck.program.graph import Graph, Made, Node, primitive
from dpcheck.program.rules.common import aggregate, element, opened, released, rowwise
from dpcheck.program.rules.moved import changed_only
from dpcheck.program.rules.random_numbers import spent
from dpcheck.program.rules.shapes import kept, public


def _ones(value: object, axis: int) -> object:
    return np.ones(np.asarray(value).shape[axis], dtype=np.int64)


@primitive("ones", "a 1 for every record", _ones)
def ones(graph: Graph, a: Node, axis: int) -> Made:
    """One number a record; its sum is their number."""
    fact = a.fact
    assert isinstance(fact, Rows)
    assert fact.axis == axis
    one = Box(np.ones(1), np.ones(1), False, True)
    return rowwise(graph, (fact.rows,), np.dtype(np.int64), one, fact.rows, 0, coins=fact.coins)


def _digitize(value: object, edges: object, right: bool) -> object:
    return np.digitize(value, edges, right)  # type: ignore[call-overload]


@primitive("digitize", "the bin of each entry among public edges", _digitize)
def digitize(graph: Graph, a: Node, edges: object, right: bool) -> Made:
    """np.digitize with public edges."""
    many = float(len(np.asarray(edges)))
    return _function(graph, a, np.dtype(np.int64), 0.0, many, lambda v: _digitize(v, edges, right))


def _isin(value: object, values: tuple[object, ...]) -> object:
    return np.isin(np.asarray(value), np.asarray(values))


@primitive("isin", "a truth value for each entry", _isin)
def isin(graph: Graph, a: Node, values: tuple[object, ...]) -> Made:
    """np.isin with a public list."""
    return _function(graph, a, np.dtype(bool), 0.0, 1.0, lambda v: _isin(v, values))


def _lookup(value: object, table: tuple[object, ...], first: int) -> object:
    return np.asarray(table)[np.asarray(value) - first]


@primitive("lookup", "a public number for each whole number in a public range", _lookup)
def lookup(graph: Graph, a: Node, table: tuple[float, ...], first: int) -> Made:
    """A public table at private places that are always in it."""
    box = a.fact.box
    inside = bool((box.lo >= first).all() and (box.hi < first + len(table)).all()) and not box.nan
    if a.dtype.kind not in "biu" or not inside:
        graph.refuse(
            "private-control",
            "a table is looked up at places that may not exist, and the error would reveal it",
            "clip the places to those that exist",
        )
    values = np.asarray(table)
    return _function(
        graph,
        a,
        values.dtype,
        float(values.min()),
        float(values.max()),
        lambda v: _lookup(v, table, first),
    )


def _function(
    graph: Graph, a: Node, kind: np.dtype[np.generic], low: float, high: float, compute: object
) -> Made:
    """A function of entries of which only the range is known."""
    fact = a.fact
    if isinstance(fact, Public):
        return public(compute(np.asarray(fact.value)))  # type: ignore[operator]
    if isinstance(fact, RANDOM):
        return spent(graph, (a,), kind)
    opened((a,))
    box = Box(np.asarray(low), np.asarray(high), False, True)
    if isinstance(fact, Released):
        return released(a.shape, kind, box)
    if isinstance(fact, Aggregate):
        return aggregate(a.shape, kind, box, changed_only(fact.diff), coins=fact.coins)
    assert isinstance(fact, Rows)
    inner = element(a)
    return rowwise(
        graph, a.shape, kind, box.broadcast(inner), fact.rows, fact.axis, coins=fact.coins
    )


def _one_hot(value: object, bins: int) -> object:
    found = np.asarray(value)
    return (found[..., None] == np.arange(bins)).astype(np.int64)


@primitive(
    "one_hot",
    "each record is in at most one bin: a row that is 0 but for one entry, or none",
    _one_hot,
)
def one_hot(graph: Graph, a: Node, bins: int) -> Made:
    """Each whole number as a row with a 1 at its place; numbers beyond the bins are nowhere."""
    fact = a.fact
    if isinstance(fact, Public):
        return public(_one_hot(fact.value, bins))
    if not isinstance(fact, Rows) or a.ndim != 1 or a.dtype.kind not in "biu":
        graph.refuse(
            "unknown-operation", "a histogram of something else than one column", "use one"
        )
    box = Box(np.zeros((1, bins)), np.ones((1, bins)), False, True)
    size = Size(np.asarray(np.inf), 1.0, 1.0, 1.0, 1.0)
    shape: tuple[int | RowSet, ...] = (fact.rows, bins)
    known = {k: v for k, v in kept(fact).items() if k in ("coins",)}
    return rowwise(graph, shape, np.dtype(np.int64), box, fact.rows, 0, size, **known)
