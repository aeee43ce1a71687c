"""Arrays put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.program.facts.kinds import Aggregate, Rows
from dpcheck.program.graph import Node
from dpcheck.program.lowering.registry import lower
from dpcheck.program.reading.expressions import iterated
from dpcheck.program.reading.public import public_call, released_call
from dpcheck.program.reading.values import Opaque
from dpcheck.program.rules.common import whole

if TYPE_CHECKING:
    from dpcheck.program.reading.reader import Reader


def joined(reader: Reader, nodes: Sequence[Node], axis: int) -> Node:
    """Nodes along an axis they have."""
    parts = list(nodes)
    if any(isinstance(node.fact, Aggregate) for node in parts):
        parts = [whole(reader.graph, node) for node in parts]
    if len(parts) == 1:
        return parts[0]
    _check(reader, parts, axis)
    return reader.graph.add("concatenate", *parts, axis=axis % parts[0].ndim)


def _check(reader: Reader, parts: Sequence[Node], axis: int) -> None:
    if len({node.ndim for node in parts}) != 1 or not -parts[0].ndim <= axis < parts[0].ndim:
        reader.refuse("failed", "arrays of different shapes are put together", "fix the code")
    place = axis % parts[0].ndim
    rest = {tuple(n for i, n in enumerate(node.shape) if i != place) for node in parts}
    if len(rest) != 1:
        rows = any(isinstance(node.fact, Rows) for node in parts)
        kind = "mixed-records" if rows else "failed"
        reader.refuse(kind, "arrays of different shapes are put together", "make them alike")


def stacked(reader: Reader, nodes: Sequence[Node], axis: int) -> Node:
    """Nodes of one shape along a new axis."""
    wide = []
    if any(isinstance(node.fact, Aggregate) for node in nodes):
        nodes = [whole(reader.graph, node) for node in nodes]
    for node in nodes:
        place = axis % (node.ndim + 1)
        shape = (*node.shape[:place], 1, *node.shape[place:])
        wide.append(reader.graph.add("reshape", node, shape=shape))
    return joined(reader, wide, axis)


def _parts(reader: Reader, arrays: object) -> list[object]:
    return iterated(reader, arrays)


def _all(reader: Reader, function: object, arrays: object, named: dict[str, object]) -> object:
    """Public or opaque parts; None for all others."""
    if reader.is_public([arrays, *named.values()]):
        return public_call(reader, function, (arrays,), named)  # type: ignore[arg-type]
    if isinstance(arrays, Opaque) or any(
        isinstance(each, Opaque) for each in _parts(reader, arrays)
    ):
        return released_call(reader, function, (arrays, *named.values()))  # type: ignore[arg-type]
    return None


@lower(np.concatenate)
def concatenate(reader: Reader, arrays: object, axis: object = 0) -> object:
    """np.concatenate."""
    found = _all(reader, np.concatenate, arrays, {"axis": axis})
    if found is not None:
        return found
    nodes = [reader.node(each) for each in _parts(reader, arrays)]
    place = reader.plain(axis)
    if place is None:
        nodes = [reader.graph.add("reshape", whole(reader.graph, n), shape=(-1,)) for n in nodes]
        reader.unknown("np.concatenate with axis=None")
    return reader.array(joined(reader, nodes, int(place)))  # type: ignore[call-overload]


@lower(np.stack)
def stack(reader: Reader, arrays: object, axis: object = 0) -> object:
    """np.stack."""
    found = _all(reader, np.stack, arrays, {"axis": axis})
    if found is not None:
        return found
    nodes = [reader.node(each) for each in _parts(reader, arrays)]
    return reader.array(stacked(reader, nodes, int(reader.plain(axis))))  # type: ignore[call-overload]


@lower(np.hstack)
def hstack(reader: Reader, arrays: object) -> object:
    """np.hstack."""
    found = _all(reader, np.hstack, arrays, {})
    if found is not None:
        return found
    nodes = [_at_least(reader, reader.node(each)) for each in _parts(reader, arrays)]
    return reader.array(joined(reader, nodes, 0 if nodes[0].ndim == 1 else 1))


def _at_least(reader: Reader, node: Node) -> Node:
    return node if node.ndim else reader.graph.add("reshape", node, shape=(1,))


@lower(np.vstack)
def vstack(reader: Reader, arrays: object) -> object:
    """np.vstack."""
    found = _all(reader, np.vstack, arrays, {})
    if found is not None:
        return found
    nodes = [_at_least(reader, reader.node(each)) for each in _parts(reader, arrays)]
    nodes = [
        reader.graph.add("reshape", n, shape=(1, *n.shape)) if n.ndim == 1 else n for n in nodes
    ]
    return reader.array(joined(reader, nodes, 0))


@lower(np.column_stack)
def column_stack(reader: Reader, arrays: object) -> object:
    """np.column_stack."""
    found = _all(reader, np.column_stack, arrays, {})
    if found is not None:
        return found
    nodes = [reader.node(each) for each in _parts(reader, arrays)]
    nodes = [
        reader.graph.add("reshape", n, shape=(*n.shape, 1)) if n.ndim == 1 else n for n in nodes
    ]
    return reader.array(joined(reader, nodes, 1))


@lower(np.append)
def append(reader: Reader, arr: object, values: object, axis: object = None) -> object:
    """np.append."""
    if reader.is_public([arr, values, axis]):
        return public_call(reader, np.append, (arr, values), {"axis": axis})
    nodes = [_at_least(reader, reader.node(each)) for each in (arr, values)]
    if reader.plain(axis) is None and any(node.ndim != 1 for node in nodes):
        reader.unknown("np.append of tables")
    return reader.array(joined(reader, nodes, int(reader.plain(axis) or 0)))  # type: ignore[call-overload]


@lower(np.tile)
def tile(reader: Reader, a: object, reps: object) -> object:
    """np.tile along the last axis."""
    if reader.is_public([a, reps]):
        return public_call(reader, np.tile, (a, reps), {})
    node, times = reader.node(a), reader.plain(reps)
    if not isinstance(times, int) or not node.ndim:
        reader.unknown("np.tile with these arguments")
    return reader.array(joined(reader, [node] * times, node.ndim - 1))
