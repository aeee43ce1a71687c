"""A primitive of one record's values, for all records at once: the same with one more axis in front."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.program.facts.kinds import Rows
from dpcheck.program.facts.rowsets import RowSet
from dpcheck.program.graph import Graph, Node
from dpcheck.program.rules.functions import FUNCTIONS

if TYPE_CHECKING:
    from dpcheck.program.reading.reader import Reader

_ENTRIES = frozenset({"select", "convert", "fill", "digitize", "isin", "lookup", "assume"})
_SAME = frozenset({"is_value", "place_of", "one_hot"})
_AXES = {
    "sum": "axes",
    "any": "axes",
    "extreme": "axes",
    "quantile": "axes",
    "variance": "axes",
    "argmax": "axis",
    "sort": "axis",
    "cumulative": "axis",
}


def batched(reader: Reader, node: Node, known: dict[int, Node], rows: RowSet) -> Node:
    """The node for all records; `known` holds the columns that single values stand for."""
    if node.id in known:
        return known[node.id]
    if not any(depends(arg, known) for arg in node.args):
        known[node.id] = node
        return node
    args = [batched(reader, arg, known, rows) for arg in node.args]
    known[node.id] = found = _one(reader, node, args, known, rows)
    if found.dtype != node.dtype:
        reader.unknown(f"{node.primitive} of numbers that take on the type of what they meet")
    return found


def depends(node: Node, known: Mapping[int, Node]) -> bool:
    """Whether a node is computed from single records."""
    if node.id in known:
        return known[node.id] is not node
    return any(depends(arg, known) for arg in node.args)


def _one(
    reader: Reader, node: Node, args: list[Node], known: Mapping[int, Node], rows: RowSet
) -> Node:
    graph, name = reader.graph, node.primitive
    inner = list(node.args)
    mapped = [known.get(arg.id) is not None and known[arg.id] is not arg for arg in inner]
    if name in FUNCTIONS or name in _ENTRIES:
        from dpcheck.program.lowering.functions import apply, where

        wide = _aligned(graph, inner, args, mapped, rows)
        if name == "select":
            return where(reader, *wide)
        return (
            apply(reader, name, *wide)
            if name in FUNCTIONS
            else graph.add(name, *wide, **node.params)
        )
    if name == "number":
        kind = np.dtype(float) if node.params["kind"] is float else np.dtype(np.int64)
        return args[0] if args[0].dtype == kind else graph.add("convert", args[0], dtype=kind)
    if name in _SAME:
        return graph.add(name, args[0], **node.params)
    if name in _AXES:
        key = _AXES[name]
        given = node.params[key]
        moved = tuple(i + 1 for i in given) if isinstance(given, tuple) else int(given) + 1  # type: ignore[call-overload]
        return graph.add(name, args[0], **{**node.params, key: moved})
    if name == "product":
        return _product(graph, node, args, mapped)
    rule: Callable[..., Node] | None = _RULES.get(name)
    if rule is None or not all(mapped):
        reader.unknown(f"{name} of single records in a loop")
    return rule(graph, node, args, rows)


def _aligned(
    graph: Graph, inner: list[Node], args: list[Node], mapped: list[bool], rows: RowSet
) -> list[Node]:
    """Operands whose records are in front, and whose other axes meet from the right."""
    most = max(arg.ndim for arg in inner)
    found = []
    for one, arg, is_mapped in zip(inner, args, mapped, strict=True):
        if is_mapped and one.ndim < most:
            shape = (rows, *[1] * (most - one.ndim), *one.shape)
            arg = graph.add("reshape", arg, shape=shape)
        found.append(arg)
    return found


def _product(graph: Graph, node: Node, args: list[Node], mapped: list[bool]) -> Node:
    terms = node.params["terms"]
    assert isinstance(terms, tuple)
    one, two, out = terms
    first, second = (
        "Z" + term if is_mapped else term
        for term, is_mapped in zip((one, two), mapped, strict=True)
    )
    return graph.add("product", *args, terms=(first, second, "Z" + out))


def _reshape(graph: Graph, node: Node, args: list[Node], rows: RowSet) -> Node:
    return graph.add(node.primitive, args[0], shape=(rows, *node.params["shape"]))  # type: ignore[misc]


def _transpose(graph: Graph, node: Node, args: list[Node], rows: RowSet) -> Node:
    del rows
    order = node.params["order"]
    assert isinstance(order, tuple)
    return graph.add("transpose", args[0], order=(0, *(i + 1 for i in order)))


def _index(graph: Graph, node: Node, args: list[Node], rows: RowSet) -> Node:
    del rows
    key = node.params["key"]
    assert isinstance(key, tuple)
    return graph.add("index", args[0], key=(slice(None), *key))


def _concatenate(graph: Graph, node: Node, args: list[Node], rows: RowSet) -> Node:
    del rows
    return graph.add("concatenate", *args, axis=int(node.params["axis"]) + 1)  # type: ignore[call-overload]


def _put(graph: Graph, node: Node, args: list[Node], rows: RowSet) -> Node:
    del rows
    key = node.params["key"]
    assert isinstance(key, tuple)
    return graph.add("put", *args, key=(slice(None), *key))


_RULES: dict[str, Callable[..., Node]] = {
    "reshape": _reshape,
    "broadcast": _reshape,
    "transpose": _transpose,
    "index": _index,
    "concatenate": _concatenate,
    "put": _put,
}


def for_every_record(reader: Reader, column: Node, value: Node) -> Node:
    """The same public or released number for every record of a column."""
    fact = column.fact
    assert isinstance(fact, Rows)
    ones = reader.graph.add("ones", column, axis=fact.axis)
    kind = value.dtype if value.dtype.kind != "b" else np.dtype(np.int64)
    number = reader.graph.add("convert", ones, dtype=kind)
    if value.ndim:
        shape = (fact.rows, *[1] * value.ndim)
        number = reader.graph.add("reshape", number, shape=shape)
    return reader.graph.add("multiply", number, value)
