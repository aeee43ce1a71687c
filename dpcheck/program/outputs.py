"""What a program returns: released or public values, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcheck.program.facts.kinds import RANDOM, Answers, Public, Released
from dpcheck.program.facts.rowsets import number
from dpcheck.program.reading.branches import decided
from dpcheck.program.reading.values import Array, Grid, Instance, Opaque, Scalar, Series, Value

if TYPE_CHECKING:
    from dpcheck.program.reading.reader import Reader

_PLAIN = (str, bytes, bool, int, float, complex, type(None), np.generic, np.dtype, range, slice)
_DEEPEST = 50


def check_output(reader: Reader, value: object, depth: int = 0) -> None:
    """Refuse an output that holds a private value, or something nobody can look into."""
    if depth > _DEEPEST:
        reader.unknown("an output of so many levels")
    value = decided(reader, value)
    reader.alive(value)
    if isinstance(value, Series | Grid):
        value = value.array
    if isinstance(value, Array | Scalar | Opaque):
        _check_node(reader, value)
    elif isinstance(value, Instance):
        for each in value.attributes.values():
            check_output(reader, each, depth + 1)
    elif isinstance(value, Value):
        reader.refuse(
            "private-output",
            f"the function returns {reader.describe(value)}",
            "return numbers or arrays that noise was added to",
        )
    elif type(value) is dict:
        for each in (*value, *value.values()):
            check_output(reader, each, depth + 1)
    elif type(value) in (list, tuple, set, frozenset):
        for each in value:  # type: ignore[attr-defined]
            check_output(reader, each, depth + 1)
    elif not isinstance(value, _PLAIN):
        reader.refuse(
            "unknown-output",
            f"the output holds a {type(value).__name__}, which cannot be looked into",
            "return numbers, arrays, lists or dicts",
        )


def _check_node(reader: Reader, value: Array | Scalar | Opaque) -> None:
    node = reader.node(value)
    if isinstance(node.fact, Answers):
        node = reader.graph.add("answer", node)
    if isinstance(node.fact, Public):
        return
    if isinstance(node.fact, Released):
        if node.fact.release is not None:
            node.fact.release.open()
        return
    if isinstance(node.fact, RANDOM):
        if any(number(n) is None for n in node.shape):
            reader.refuse(
                "private-length",
                "as many numbers are returned as there are records, which is private",
                "return a public number of them",
            )
        reader.graph.use(np.unique(node.fact.ids), "returned")
        return
    reader.refuse(
        "private-output",
        f"the function returns {reader.describe(value)} without noise",
        "add noise to it before it is returned",
    )
