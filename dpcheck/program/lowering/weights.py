"""Probabilities that are written out one by one: as one vector, the softmax that rng.choice knows.

Lemma. If every entry is the same function of operands of its own and of operands that all share, the vector
of the entries is that function of the vectors of their operands. So [exp(s) / total for s in scores] is
exp(scores) / total; and where total is the sum of the same weights, it is their sum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.program.facts.kinds import Aggregate, Public
from dpcheck.program.graph import Node
from dpcheck.program.lowering.functions import apply, softmax
from dpcheck.program.lowering.joining import stacked
from dpcheck.program.rules.common import plain

if TYPE_CHECKING:
    from dpcheck.program.reading.reader import Reader

_SAME = frozenset({"exp", "negative", "add", "subtract", "multiply", "divide"})


def law_of(reader: Reader, found: Node) -> Node:
    """Probabilities as a softmax, where they are one; else as they are."""
    if _known(found):
        return found
    if found.primitive == "divide" and found.ndim == 1 and not found.args[1].ndim:
        weights, total = _entries(found.args[0]), found.args[1]
    else:
        parts = _entries(found)
        totals = {each.args[1].id: each.args[1] for each in parts if each.primitive == "divide"}
        if len(totals) != 1 or any(each.primitive != "divide" for each in parts):
            return found
        weights, total = [each.args[0] for each in parts], next(iter(totals.values()))
    if not weights or total.ndim or not _is_total(total, weights):
        return found
    return normalised(reader, as_vector(reader, weights))


def weights_of(reader: Reader, found: Node) -> Node:
    """The probabilities that go with weights."""
    parts = _entries(found)
    return normalised(reader, as_vector(reader, parts) if parts else found)


def normalised(reader: Reader, weights: Node) -> Node:
    """Weights divided by their sum."""
    total = reader.graph.add("sum", weights, axes=(0,), dtype=weights.dtype)
    return softmax(reader, (weights, total))


def _known(node: Node) -> bool:
    return isinstance(node.fact, Aggregate) and node.fact.normalised is not None


def _entries(node: Node) -> list[Node]:
    """The single values that a vector is made of; none where it is made otherwise."""
    if node.primitive == "concatenate":
        parts = [_entries(arg) for arg in node.args]
        return [each for part in parts for each in part] if all(parts) else []
    if node.primitive == "reshape" and plain(node.shape) == (1,) and not node.args[0].ndim:
        return [node.args[0]]
    if node.primitive == "convert" and node.dtype == node.args[0].dtype:
        return _entries(node.args[0])
    return []


def as_vector(reader: Reader, parts: Sequence[Node]) -> Node:
    """Single values as a vector: the same function of each of them is that function of a vector."""
    first = parts[0]
    alike = all(
        each.primitive == first.primitive and not any(arg.ndim for arg in each.args)
        for each in parts
    )
    if first.primitive == "number" and alike and first.dtype == np.float64:
        found = as_vector(reader, [each.args[0] for each in parts])
        if found.dtype == first.dtype:
            return found
        return reader.graph.add("convert", found, dtype=first.dtype)
    if first.primitive not in _SAME or not alike:
        return stacked(reader, parts, 0)
    operands = list(zip(*(each.args for each in parts), strict=True))
    own = [any(each is not column[0] for each in column) for column in operands]
    private = [any(isinstance(each.fact, Aggregate) for each in column) for column in operands]
    if not any(o and p for o, p in zip(own, private, strict=True)):
        return stacked(reader, parts, 0)
    args = [
        as_vector(reader, column) if mine else column[0]
        for column, mine in zip(operands, own, strict=True)
    ]
    return apply(reader, first.primitive, *args)


def _is_total(total: Node, weights: Sequence[Node]) -> bool:
    """Whether it is the sum of these weights, each of them once."""
    return Counter(each.id for each in _terms(total)) == Counter(each.id for each in weights)


def _terms(node: Node) -> list[Node]:
    """What a number is the sum of."""
    if node.primitive == "add":
        return [*_terms(node.args[0]), *_terms(node.args[1])]
    if isinstance(node.fact, Public) and not node.ndim and node.fact.value == 0:
        return []
    if node.primitive == "convert" and node.dtype == node.args[0].dtype:
        return _terms(node.args[0])
    if node.primitive == "sum" and node.args[0].ndim == 1:
        parts = node.args[0]
        inner = parts.args[0] if parts.primitive == "absolute" else None
        if inner is not None and not inner.fact.box.nan and (inner.fact.box.lo >= 0).all():
            parts = inner
        return _entries(parts) or [node]
    return [node]
