"""Arrays put together: of the same records side by side, or of aggregates into one vector."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpcheck.core.adjacency import Adjacency
from dpcheck.program.facts import boxes
from dpcheck.program.facts.boxes import Array, Box
from dpcheck.program.facts.kinds import RANDOM, Aggregate, Answers, Cell, Drawn, Public, Rows
from dpcheck.program.facts.rowsets import disjoint
from dpcheck.program.facts.sizes import NOTHING, Size
from dpcheck.program.graph import BLOCK, Graph, Made, Node, primitive
from dpcheck.program.rules.common import (
    aggregate,
    coins_of,
    element,
    fixed,
    only_released,
    opened,
    padded,
    plain,
    released,
    result_dtype,
    rowwise,
)
from dpcheck.program.rules.random_numbers import use_up
from dpcheck.program.rules.shapes import public


def _concatenate(*values: object, axis: int) -> object:
    return np.concatenate([np.asarray(value) for value in values], axis)


@primitive(
    "concatenate",
    "L1 adds, L2 adds in squares, Linf is the larger; aggregates of disjoint records do not add",
    _concatenate,
)
def concatenate(graph: Graph, *args: Node, axis: int) -> Made:
    """np.concatenate along a public axis."""
    if all(isinstance(arg.fact, Public) for arg in args):
        return public(_concatenate(*(arg.fact.value for arg in args), axis=axis))  # type: ignore[attr-defined]
    kind = result_dtype(graph, lambda *v: np.concatenate([np.atleast_1d(x) for x in v]), args)
    if all(isinstance(arg.fact, Answers) for arg in args):
        length = sum(fixed(arg.shape[axis]) for arg in args)
        wide = tuple(length if i == axis else n for i, n in enumerate(args[0].shape))
        coins = frozenset().union(*(arg.fact.coins for arg in args))
        return Made(wide, kind, replace(args[0].fact, coins=coins))
    if any(isinstance(arg.fact, RANDOM) for arg in args):
        return _of_random(graph, args, axis, kind)
    opened(args)
    if any(isinstance(arg.fact, Rows) for arg in args):
        return _side_by_side(graph, args, axis, kind)
    shapes = [plain(arg.shape) for arg in args]
    shape = np.concatenate([np.empty(s, dtype=bool) for s in shapes], axis).shape
    ends = [
        np.concatenate(
            [
                np.broadcast_to(getattr(a.fact.box, side), s)
                for a, s in zip(args, shapes, strict=True)
            ],
            axis,
        )
        for side in ("lo", "hi")
    ]
    box = boxes.fitted(Box(ends[0], ends[1], any(arg.fact.box.nan for arg in args)), kind)
    if only_released(args):
        return released(shape, kind, box)
    sizes = [arg.fact.diff if isinstance(arg.fact, Aggregate) else NOTHING for arg in args]
    entries = np.concatenate(
        [np.broadcast_to(size.coordinates, s) for size, s in zip(sizes, shapes, strict=True)], axis
    )
    found = sizes[0].shaped(entries)
    for size in sizes[1:]:
        found = found.stacked(size, entries)
    facts = [arg.fact for arg in args if isinstance(arg.fact, Aggregate)]
    once = disjoint_parts(graph, facts, entries)
    if once is not None:
        found = found.both(once)
    known = [fact.records for fact in facts if fact.records is not None]
    same = all(fact.predicate == facts[0].predicate for fact in facts)
    return aggregate(
        shape,
        kind,
        box,
        found,
        records=frozenset().union(*known) if len(known) == len(facts) else None,
        rising=all(fact.rising for fact in facts),
        predicate=facts[0].predicate if same else {},
        cells=all_cells(facts),
        coins=coins_of(*args),
        **_sampled_together(facts, args, entries, shapes, axis),
    )


def _sampled_together(
    facts: Sequence[Aggregate],
    args: Sequence[Node],
    entries: Array,
    shapes: Sequence[tuple[int, ...]],
    axis: int,
) -> dict[str, object]:
    """What one record adds to all parts together."""
    if any(fact.contribution is None or fact.sampling != facts[0].sampling for fact in facts):
        return {}
    sizes = [arg.fact.contribution if isinstance(arg.fact, Aggregate) else NOTHING for arg in args]
    places = np.concatenate(
        [np.broadcast_to(s.coordinates, shape) for s, shape in zip(sizes, shapes, strict=True)],  # type: ignore[union-attr]
        axis,
    )
    found = sizes[0].shaped(places)  # type: ignore[union-attr]
    for size in sizes[1:]:
        found = found.stacked(size, places)  # type: ignore[arg-type]
    return {"contribution": found, "sampling": facts[0].sampling}


def cells_of(fact: Aggregate) -> tuple[Cell, ...]:
    """The parts of an aggregate that no record shares; itself, where it has a predicate."""
    if fact.cells:
        return fact.cells
    if not fact.predicate or fact.contribution is None:
        return ()
    return (Cell(fact.predicate, fact.diff, fact.contribution),)


def all_cells(facts: Sequence[Aggregate]) -> tuple[Cell, ...]:
    """The cells of all of them, if no record is behind two; else none."""
    each = [cells_of(fact) for fact in facts]
    if not all(each):
        return ()
    for mine, other in itertools.combinations(each, 2):
        if not all(disjoint(a.predicate, b.predicate) for a in mine for b in other):
            return ()
    return tuple(itertools.chain.from_iterable(each))


def disjoint_parts(graph: Graph, facts: Sequence[Aggregate], entries: Array) -> Size | None:
    """Parts of which one record is in at most one: how far all of them move together.

    Lemma. By public places (`records`) a record stays where it is: the largest difference. By predicates,
    under add-remove: the record is in one part on one side and in none on the other: the largest difference.
    Otherwise either one part changes by its difference, or one loses what the record added and another
    gains what its replacement (or the null record) adds.
    """
    if len(facts) < 2:
        return None
    places = [fact.records for fact in facts]
    if all(each is not None for each in places):
        known = [each for each in places if each is not None]
        if sum(map(len, known)) == len(frozenset().union(*known)):
            return _largest([fact.diff for fact in facts], entries)
    cells = all_cells(facts)
    if not cells:
        return None
    largest = _largest([cell.diff for cell in cells], entries)
    if graph.adjacency is Adjacency.ADD_REMOVE:
        return largest
    added = [cell.contribution for cell in cells]

    def two(name: str) -> list[float]:
        return sorted((getattr(size, name) for size in added), reverse=True)[:2]

    return Size(
        entries,
        max(largest.l1, sum(two("l1"))),
        max(largest.l2, math.hypot(*two("l2"))),
        max(largest.linf, *two("linf")),
        max(largest.changed, sum(two("changed"))),
    )


def _largest(sizes: Sequence[Size], entries: Array) -> Size:
    return Size(
        entries,
        max(size.l1 for size in sizes),
        max(size.l2 for size in sizes),
        max(size.linf for size in sizes),
        max(size.changed for size in sizes),
    )


def _side_by_side(
    graph: Graph, args: Sequence[Node], axis: int, kind: np.dtype[np.generic]
) -> Made:
    """Columns of the same records."""
    facts = [arg.fact for arg in args if isinstance(arg.fact, Rows)]
    first = facts[0]
    if axis == first.axis:
        graph.refuse(
            "mixed-records",
            "rows are put below each other, so that a record may be there twice",
            "aggregate each of them, and add the results",
        )
    if len(facts) < len(args) or any(
        f.rows is not first.rows or f.axis != first.axis for f in facts
    ):
        graph.refuse(
            "mixed-records", "columns of different records are put side by side", "aggregate first"
        )
    inner = [element(arg) for arg in args]
    ends = [
        np.concatenate(
            [
                np.broadcast_to(getattr(padded(fact.box, arg.ndim), side), shape)
                for arg, fact, shape in zip(args, facts, inner, strict=True)
            ],
            axis,
        )
        for side in ("lo", "hi")
    ]
    box = boxes.fitted(Box(ends[0], ends[1], any(f.box.nan for f in facts)), kind)
    entries = np.concatenate(
        [np.broadcast_to(f.row.coordinates, s) for f, s in zip(facts, inner, strict=True)], axis
    )
    found = facts[0].row.shaped(entries)
    for fact in facts[1:]:
        found = found.stacked(fact.row, entries)
    length = sum(fixed(arg.shape[axis]) for arg in args)
    shape = tuple(length if i == axis else n for i, n in enumerate(args[0].shape))
    sampling = facts[0].sampling
    same = all(f.sampling == sampling for f in facts)
    return rowwise(
        graph,
        shape,
        kind,
        box,
        first.rows,
        first.axis,
        found,
        sampling=sampling if same else None,
        zero_null=all(f.zero_null for f in facts),
        predicate=first.predicate if all(f.predicate == first.predicate for f in facts) else {},
        coins=coins_of(*args),
    )


def _of_random(graph: Graph, args: Sequence[Node], axis: int, kind: np.dtype[np.generic]) -> Made:
    """Draws of one family side by side are draws; beside anything else they are spent."""
    facts = [arg.fact for arg in args if isinstance(arg.fact, Drawn)]
    private = [arg for arg in args if isinstance(arg.fact, Rows | Aggregate)]
    if private:
        graph.refuse("unknown-operation", "noise is put beside private values", "add it to them")
    shapes = [plain(arg.shape) for arg in args]
    small = all(math.prod(s) <= BLOCK for s in shapes)
    shape = np.concatenate([np.empty(s, dtype=bool) for s in shapes], axis).shape
    if len(facts) == len(args) and len({f.family for f in facts}) == 1 and small:
        width = {f.ids.reshape(f.ids.shape[0], -1).shape[1] for f in facts}
        full = math.prod(shape) <= BLOCK
        if len(width) == 1 and full:
            columns = [
                np.concatenate(
                    [
                        f.ids.reshape(math.prod(s), -1)[:, j].reshape(s)
                        for f, s in zip(facts, shapes, strict=True)
                    ],
                    axis,
                ).ravel()
                for j in range(width.pop())
            ]
            laws = [
                np.concatenate(
                    [
                        np.broadcast_to(getattr(f, name), s)
                        for f, s in zip(facts, shapes, strict=True)
                    ],
                    axis,
                )
                for name in ("scale", "location", "sign")
            ]
            ends = [
                np.concatenate(
                    [
                        np.broadcast_to(getattr(f.box, side), s)
                        for f, s in zip(facts, shapes, strict=True)
                    ],
                    axis,
                )
                for side in ("lo", "hi")
            ]
            fact = Drawn(
                box=Box(ends[0], ends[1]),
                family=facts[0].family,
                scale=laws[0],
                location=laws[1],
                sign=laws[2],
                ids=np.stack(columns, axis=1),
            )
            return Made(shape, kind, fact)
    use_up(graph, args)
    return released(shape, kind, boxes.WHOLE)
