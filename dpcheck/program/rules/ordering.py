"""Extrema, quantiles, ranks, running sums: of bounded values they move by at most the width of the bounds."""

from __future__ import annotations

import math

import numpy as np

from dpcheck.program.facts import boxes
from dpcheck.program.facts.boxes import Box
from dpcheck.program.facts.kinds import RANDOM, Aggregate, Public, Released, Rows
from dpcheck.program.facts.sizes import Size
from dpcheck.program.graph import Graph, Made, Node, primitive
from dpcheck.program.rules.common import (
    UNBOUNDED,
    aggregate,
    element,
    fixed,
    opened,
    plain,
    records_of,
    released,
    rowwise,
)
from dpcheck.program.rules.random_numbers import use_up
from dpcheck.program.rules.reductions import Axes, dropped, left
from dpcheck.program.rules.shapes import known_aggregate, public


def between(
    graph: Graph,
    a: Node,
    axes: Axes,
    kind: np.dtype[np.generic],
    compute: object,
    name: str,
    known: bool = True,
) -> Made:
    """A statistic that lies between the least and the largest entry, and moves by at most Linf.

    Not `known`: it may be anything, because it is computed in a type in which it may overflow.
    """
    fact, shape = a.fact, left(a.shape, axes)
    if isinstance(fact, Public):
        return public(compute(fact.value))  # type: ignore[operator]
    if isinstance(fact, RANDOM):
        use_up(graph, (a,))
        return released(shape, kind, boxes.WHOLE)
    opened((a,))
    if isinstance(fact, Rows):
        if fact.axis in axes and (fact.rows.count is None or fact.rows.optional):
            graph.refuse(
                "private-length",
                f"{name} of a private number of records, of which there may be none",
                "state the proof under replace-one, where the number is public",
            )
        full = fact.box.broadcast(element(a))
    else:
        full = fact.box.broadcast(plain(a.shape))
    found = dropped(full.over(axes), axes)
    if not known:
        found = boxes.WHOLE.broadcast(found.lo.shape)
    if isinstance(fact, Released):
        return released(shape, kind, found)
    if isinstance(fact, Rows) and fact.axis not in axes:
        place = fact.axis - sum(i < fact.axis for i in axes)
        return rowwise(
            graph,
            shape,
            kind,
            found,
            fact.rows,
            place,
            sampling=fact.sampling,
            zero_null=fact.zero_null,
            predicate=fact.predicate,
            coins=fact.coins,
        )
    bounded = known and isinstance(fact, Aggregate)
    moves = Size(np.asarray(fact.diff.linf)) if bounded else UNBOUNDED  # type: ignore[attr-defined]
    wide = found.mapped(lambda v: np.broadcast_to(v, plain(shape)))
    return aggregate(shape, kind, wide, moves, records=records_of(fact), coins=fact.coins)


def _extreme(value: object, axes: Axes, largest: bool) -> object:
    return (np.max if largest else np.min)(np.asarray(value), axis=axes)


@primitive(
    "extreme",
    "between the bounds of its entries; of an aggregate it moves by at most Linf",
    _extreme,
)
def extreme(graph: Graph, a: Node, axes: Axes, largest: bool) -> Made:
    """np.max and np.min."""
    return between(graph, a, axes, a.dtype, lambda v: _extreme(v, axes, largest), "an extreme")


def _quantile(value: object, axes: Axes, level: float) -> object:
    found = np.asarray(value)
    return np.median(found, axis=axes) if level == 0.5 else np.quantile(found, level, axis=axes)


@primitive(
    "quantile",
    "between the bounds of its entries; of an aggregate it moves by at most Linf",
    _quantile,
)
def quantile(graph: Graph, a: Node, axes: Axes, level: float) -> Made:
    """np.quantile at one public level."""
    if not 0 <= level <= 1:
        graph.refuse("failed", "a quantile at a level outside [0, 1]", "use a level between")
    kind = a.dtype if a.dtype.kind == "f" else np.dtype(float)
    # Entries are added or subtracted in their own type: of int8, 127 - (-128) is -1.
    twice = boxes.multiply(a.fact.box, boxes.box(-2.0, 2.0))
    own = a.dtype if a.dtype.kind in "iu" and level != 0.5 else kind
    known = boxes.fitted(twice, own).finite_ends and not boxes.overflows(twice, own)
    return between(graph, a, axes, kind, lambda v: _quantile(v, axes, level), "a quantile", known)


def _argmax(value: object, axis: int, largest: bool) -> object:
    return (np.argmax if largest else np.argmin)(np.asarray(value), axis=axis)


@primitive("argmax", "some place; with noise on every entry it is report noisy max", _argmax)
def argmax(graph: Graph, a: Node, axis: int, largest: bool) -> Made:
    """np.argmax and np.argmin along one axis."""
    fact = a.fact
    shape, kind = left(a.shape, (axis,)), np.dtype(np.int64)
    if isinstance(fact, Public):
        return public(_argmax(fact.value, axis, largest))
    if isinstance(fact, Rows) and fact.axis == axis:
        graph.refuse(
            "private-control",
            "the place of the largest record says which record it is",
            "add noise to an aggregate for each candidate, and take the argmax of that",
        )
    box = Box(np.asarray(0.0), np.asarray(float(fixed(a.shape[axis]) - 1)), False, True)
    if isinstance(fact, RANDOM):
        use_up(graph, (a,))
        return released(shape, kind, box)
    if isinstance(fact, Released):
        how = "argmax" if largest else "argmin"
        if a.ndim != 1 or fact.release is None or not fact.release.selects(how):
            opened((a,))
        return released(shape, kind, box)
    if isinstance(fact, Rows):
        place = fact.axis - (axis < fact.axis)
        inner = tuple(1 if i == place else fixed(n) for i, n in enumerate(shape))
        return rowwise(graph, shape, kind, box.broadcast(inner), fact.rows, place, coins=fact.coins)
    return aggregate(shape, kind, box.broadcast(plain(shape)), UNBOUNDED, coins=fact.coins)


def _sort(value: object, axis: int) -> object:
    return np.sort(np.asarray(value), axis=axis)


@primitive("sort", "sorting brings two vectors no further apart, in any norm", _sort)
def sort(graph: Graph, a: Node, axis: int) -> Made:
    """np.sort of a vector, or of the entries of each row."""
    fact = a.fact
    if isinstance(fact, Public):
        return public(_sort(fact.value, axis))
    if isinstance(fact, RANDOM):
        use_up(graph, (a,))
        return released(a.shape, a.dtype, boxes.WHOLE)
    opened((a,))
    if isinstance(fact, Released):
        return released(a.shape, a.dtype, fact.box.broadcast(plain(a.shape)).over((axis,)))
    if isinstance(fact, Rows):
        if fact.axis == axis:
            once = graph.add("whole", a)
            return sort(graph, once, axis)
        found = fact.box.broadcast(element(a)).over((axis,))
        size = Size(np.asarray(np.inf), fact.row.l1, fact.row.l2, fact.row.linf, fact.row.changed)
        return rowwise(
            graph,
            a.shape,
            a.dtype,
            found,
            fact.rows,
            fact.axis,
            size,
            zero_null=fact.zero_null,
            sampling=fact.sampling,
            predicate=fact.predicate,
            coins=fact.coins,
        )
    if a.ndim != 1:
        graph.refuse("unknown-operation", "a table of aggregates is sorted", "sort one vector")
    assert isinstance(fact, Aggregate)
    found = fact.box.broadcast(plain(a.shape)).over((0,))
    # Every order statistic may move, each by at most Linf; in sum by at most L1 [Vallender 1974].
    diff = Size(np.asarray(fact.diff.linf), fact.diff.l1, fact.diff.l2, fact.diff.linf)
    return aggregate(
        a.shape,
        a.dtype,
        found.broadcast(plain(a.shape)),
        diff,
        records=fact.records,
        coins=fact.coins,
    )


def _cumulative(value: object, axis: int) -> object:
    return np.cumsum(np.asarray(value), axis=axis)


@primitive("cumulative", "running sums along an axis that is not the records: linear", _cumulative)
def cumulative(graph: Graph, a: Node, axis: int) -> Made:
    """np.cumsum."""
    fact = a.fact
    kind = np.asarray(np.cumsum(np.empty(0, dtype=a.dtype))).dtype
    if isinstance(fact, Public):
        return public(_cumulative(fact.value, axis))
    if isinstance(fact, RANDOM):
        use_up(graph, (a,))
        return released(a.shape, kind, boxes.WHOLE)
    opened((a,))
    if isinstance(fact, Rows) and fact.axis == axis:
        graph.refuse(
            "mixed-records", "running sums over records mix all of them", "add them up to one sum"
        )
    full = element(a) if isinstance(fact, Rows) else plain(a.shape)
    with np.errstate(all="ignore"):
        ends = [
            np.cumsum(np.broadcast_to(end, full), axis=axis) for end in (fact.box.lo, fact.box.hi)
        ]
    mixed = bool(((fact.box.lo == -np.inf) & (fact.box.hi == np.inf)).any())
    exact = Box(
        np.where(np.isnan(ends[0]), -np.inf, ends[0]),
        np.where(np.isnan(ends[1]), np.inf, ends[1]),
        fact.box.nan or mixed,
    )
    box = boxes.fitted(exact, kind)
    if isinstance(fact, Released):
        return released(a.shape, kind, box)
    if isinstance(fact, Rows):
        return rowwise(
            graph,
            a.shape,
            kind,
            box,
            fact.rows,
            fact.axis,
            zero_null=fact.zero_null,
            sampling=fact.sampling,
            coins=fact.coins,
        )
    assert isinstance(fact, Aggregate)
    many = fixed(a.shape[axis])
    wraps = boxes.overflows(exact, kind, fact.box)

    def change(size: Size) -> Size:
        moves = np.cumsum(np.broadcast_to(size.coordinates, full), axis=axis)
        l1 = size.l1 * many if size.l1 else 0.0
        return Size(moves, l1, math.sqrt(many) * size.l1 if size.l1 else 0.0, size.l1)

    known = known_aggregate(fact, change)
    if wraps:
        return aggregate(a.shape, kind, box, UNBOUNDED, coins=fact.coins)
    return aggregate(a.shape, kind, box, change(fact.diff), **known)
