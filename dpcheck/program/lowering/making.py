"""New arrays: from lists of values, zeros like others."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.program.facts import boxes
from dpcheck.program.facts.kinds import Aggregate, Rows
from dpcheck.program.graph import Node
from dpcheck.program.lowering.registry import lower
from dpcheck.program.reading.public import public_call, released_call
from dpcheck.program.reading.values import Array, Opaque, Scalar, Series, Storage, Table
from dpcheck.program.rules.common import plain as plain_shape

if TYPE_CHECKING:
    from dpcheck.program.reading.reader import Reader


def array_of(reader: Reader, value: object) -> Node:
    """A list of values as one array."""
    graph = reader.graph
    if reader.is_public(value):
        found = reader.attempt(lambda: np.array(reader.plain(value)))
        assert isinstance(found, np.ndarray)
        if found.dtype.kind not in "biufU":
            reader.unknown(f"an array of {found.dtype}")
        return graph.constant(found)
    if not isinstance(value, list | tuple):
        return reader.node(value)
    parts = [array_of(reader, each) for each in value]
    if any(part.dtype.kind not in "biuf" for part in parts):
        reader.unknown("an array of text and private values")
    shapes = {tuple(part.shape) for part in parts}
    if len(shapes) != 1:
        reader.refuse("failed", "an array of parts of different shapes", "fix the code")
    from dpcheck.program.lowering.joining import stacked

    return stacked(reader, parts, 0)


@lower(np.array)
def array(reader: Reader, value: object, dtype: object = None, **named: object) -> object:
    """np.array: a copy."""
    if reader.plain(named.pop("copy", True)) is not True or named:
        reader.unknown("np.array with options")
    found = asarray(reader, value, dtype)
    if isinstance(found, Array) and found is value:
        return reader.array(found.node(reader.graph))
    return found


@lower(np.asarray, np.asanyarray)
def asarray(reader: Reader, value: object, dtype: object = None, **named: object) -> object:
    """np.asarray: an array is itself."""
    if named:
        reader.unknown("np.asarray with options")
    if isinstance(value, Table):
        from dpcheck.program.lowering.tables import to_numpy

        return to_numpy(reader, value)
    if isinstance(value, Series):
        value = Array(Storage(value.array.node(reader.graph), "it shows a column of a table"))
    if isinstance(value, Opaque):
        return released_call(reader, np.asarray, (value,))
    if reader.is_public(value) and not isinstance(value, Array):
        return public_call(reader, np.array, (value,), {} if dtype is None else {"dtype": dtype})
    node = reader.node(value)
    if dtype is not None:
        from dpcheck.program.lowering.functions import as_dtype

        kind = as_dtype(reader, dtype)
        if isinstance(value, list | tuple) or (isinstance(value, Array) and value.form is list):
            one_by_one(reader, node, kind)
        if kind != node.dtype:
            return reader.array(reader.graph.add("convert", node, dtype=kind))
    if isinstance(value, Array):
        return Array(Storage(node)) if value.form is list else value
    if not node.ndim:
        return Array(Storage(node, "it is an array without axes"))
    return reader.array(node)


def one_by_one(reader: Reader, node: Node, kind: np.dtype[np.generic]) -> None:
    """Numbers that are turned into whole ones each by itself: what does not fit raises an error."""
    box, limits = node.fact.box, boxes.of_dtype(kind)
    fits = not box.nan and bool((box.lo >= limits.lo).all() and (box.hi <= limits.hi).all())
    if kind.kind in "iu" and not fits and isinstance(node.fact, Rows | Aggregate):
        reader.refuse(
            "private-control",
            f"a private number becomes one of {kind}, which raises an error for what does not fit",
            "clip it first: np.clip(x, low, high)",
        )


def _maker(name: str) -> Callable[..., object]:
    def handler(reader: Reader, shape: object, *args: object, **named: object) -> object:
        if reader.is_public([shape, *args, *named.values()]):
            return public_call(reader, getattr(np, name), (shape, *args), named)
        return _like_records(reader, name, shape, args, named)

    return handler


def _like_records(
    reader: Reader, name: str, shape: object, args: tuple[object, ...], named: dict[str, object]
) -> object:
    """np.zeros(len(x)) where the number of records is private: a number for every record."""

    parts = shape if type(shape) is tuple else (shape,)
    first = parts[0]
    if (
        (
            isinstance(first, Scalar)
            and isinstance(first.node.fact, Aggregate)
            and first.node.fact.counts
        )
        and len(parts) == 1
        and first.node.primitive == "sum"
    ):
        filled = name == "full"
        if named or len(args) != int(filled):
            reader.unknown(f"np.{name} with a type, one number for every record")
        value = float(reader.plain(args[0])) if filled else float(name == "ones")  # type: ignore[arg-type]
        number = reader.graph.add("convert", first.node.args[0], dtype=np.dtype(float))
        return reader.array(reader.graph.add("multiply", number, reader.graph.constant(value)))
    return reader.refuse(
        "private-length",
        f"np.{name} makes as many numbers as a private value says",
        "use a public number",
    )


for _name in ("zeros", "ones", "full"):
    lower(getattr(np, _name))(_maker(_name))


def _like(name: str) -> Callable[..., object]:
    def handler(reader: Reader, a: object, *args: object, **named: object) -> object:
        if reader.is_public([a, *args, *named.values()]) and not isinstance(a, Array):
            return public_call(reader, getattr(np, name), (a, *args), named)
        if isinstance(a, Opaque):
            return released_call(reader, getattr(np, name), (a, *args))
        if named.keys() - {"dtype"}:
            reader.unknown(f"np.{name} with options")
        if isinstance(a, Series):
            a = a.array
        node = reader.node(a)
        value = 0 if name == "zeros_like" else (1 if name == "ones_like" else reader.plain(args[0]))
        from dpcheck.program.lowering.functions import as_dtype

        kind = as_dtype(reader, named["dtype"]) if "dtype" in named else node.dtype
        if isinstance(node.fact, Rows):
            return reader.array(_for_every_record(reader, node, value, kind))
        shape = plain_shape(node.shape)
        return Array(Storage(reader.graph.constant(np.full(shape, value, dtype=kind))))

    return handler


def _for_every_record(
    reader: Reader, node: Node, value: object, kind: np.dtype[np.generic]
) -> Node:
    """The same number for every entry of rows."""
    fact = node.fact
    assert isinstance(fact, Rows)
    graph = reader.graph
    ones = graph.add("convert", graph.add("ones", node, axis=fact.axis), dtype=kind)
    shape = tuple(fact.rows if i == fact.axis else 1 for i in range(node.ndim))
    column = graph.add("reshape", ones, shape=shape)
    wide = graph.add("broadcast", column, shape=node.shape)
    times = graph.constant(np.asarray(value, dtype=kind)[()])
    return graph.add("multiply", wide, times)


for _name in ("zeros_like", "ones_like", "full_like"):
    lower(getattr(np, _name))(_like(_name))
