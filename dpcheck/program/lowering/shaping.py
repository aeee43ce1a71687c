"""Shapes of arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.program.facts.kinds import Aggregate, Rows
from dpcheck.program.facts.rowsets import Dim, RowSet, number
from dpcheck.program.graph import Node
from dpcheck.program.lowering.registry import lower
from dpcheck.program.reading.public import public_call, released_call
from dpcheck.program.reading.values import Array, Opaque, Scalar, Series, Storage

if TYPE_CHECKING:
    from dpcheck.program.reading.reader import Reader

SHARED = "it may share its memory with another array"


def _array(reader: Reader, a: object) -> Array | None:
    """An array, of lists too; None for what is opaque."""
    if isinstance(a, Opaque):
        return None
    if isinstance(a, Series):
        return Array(Storage(a.array.node(reader.graph), "it shows a column of a table"))
    if isinstance(a, Array):
        return Array(Storage(a.node(reader.graph))) if a.form is list else a
    node = reader.node(a)
    return Array(Storage(node))


def maybe_view(reader: Reader, a: Array, node: Node) -> object:
    """A result that may share the memory of `a`: neither is written from now on."""
    if a.storage.locked is None:
        a.storage.locked = SHARED
    return Array(Storage(node, SHARED)) if node.ndim else Scalar(node)


@lower(np.transpose, methods=("transpose",))  # np.permute_dims is the same
def transpose(reader: Reader, a: object, *axes: object) -> object:
    """A view with the axes in another order."""
    found = _array(reader, a)
    if found is None:
        return released_call(reader, np.transpose, (a, *axes))
    node = found.node(reader.graph)
    given = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
    plain = reader.plain(given)
    if plain is None or plain == ():
        order = tuple(range(node.ndim))[::-1]
    else:
        order = tuple(int(i) % node.ndim for i in plain)  # type: ignore[attr-defined]
    if sorted(order) != list(range(node.ndim)):
        reader.refuse("failed", "axes do not match", "fix the code")
    if node.ndim < 2:
        return found
    reader.graph.add("transpose", node, order=order)
    return Array(found.storage, (*found.steps, ("transpose", {"order": order})))


@lower(np.swapaxes, methods=("swapaxes",))
def swapaxes(reader: Reader, a: object, axis1: object, axis2: object) -> object:
    """Two axes exchanged."""
    node = reader.node(a)
    order = list(range(node.ndim))
    one, two = (int(reader.plain(each)) % node.ndim for each in (axis1, axis2))  # type: ignore[call-overload]
    order[one], order[two] = order[two], order[one]
    return transpose(reader, a, tuple(order))


@lower(np.reshape, methods=("reshape",))
def reshape(reader: Reader, a: object, *shape: object, **named: object) -> object:
    """Another shape."""
    if "shape" in named:
        shape = (*shape, named.pop("shape"))
    if named:
        reader.unknown("reshape with order=")
    found = _array(reader, a)
    if found is None:
        return released_call(reader, np.reshape, (a, *shape))
    node = found.node(reader.graph)
    parts = shape[0] if len(shape) == 1 and type(shape[0]) in (tuple, list) else shape
    wanted = _wanted(reader, node, list(parts))  # type: ignore[call-overload]
    if tuple(wanted) == tuple(node.shape):
        return found
    return maybe_view(reader, found, reader.graph.add("reshape", node, shape=tuple(wanted)))


def _wanted(reader: Reader, node: Node, parts: list[object]) -> list[Dim]:
    """The new shape; the number of records may be spelled -1, len(x) or n."""
    rows = next((n for n in node.shape if isinstance(n, RowSet)), None)
    lengths: list[Dim] = []
    for part in parts:
        if isinstance(part, Scalar) and isinstance(part.node.fact, Aggregate):
            if part.node.fact.counts is not rows or rows is None:
                reader.unknown("a shape of private numbers")
            lengths.append(rows)
        else:
            lengths.append(int(reader.plain(part)))  # type: ignore[call-overload]
    free = [i for i, n in enumerate(lengths) if n == -1]
    rest = math.prod(n for n in lengths if isinstance(n, int) and n != -1)
    if rows is None:
        total = math.prod(number(n) or 0 for n in node.shape)
        if free:
            if rest == 0 or total % rest:
                reader.refuse("failed", "the shape does not fit", "fix the code")
            lengths[free[0]] = total // rest
        if math.prod(number(n) or 0 for n in lengths) != total:
            reader.refuse("failed", "the shape does not fit", "fix the code")
        return lengths
    entries = math.prod(n for n in node.shape if isinstance(n, int))
    if any(n is rows for n in lengths):
        if free:
            if rest == 0 or entries % rest:
                reader.refuse("failed", "the shape does not fit", "fix the code")
            lengths[free[0]] = entries // rest
        return lengths
    if free and rest == entries:
        lengths[free[0]] = rows
        return lengths
    if rows.count is not None:
        places = [i for i, n in enumerate(lengths) if n == rows.count]
        total = rows.count * entries
        if free and rest and total % rest == 0:
            lengths[free[0]] = total // rest
            places = [i for i, n in enumerate(lengths) if n == rows.count]
        known = math.prod(number(n) or 0 for n in lengths)
        if known == total and places:
            lengths[places[0]] = rows
            return lengths
    return reader.refuse(
        "mixed-records",
        "a new shape mixes entries of different records",
        "keep the records along an axis of their own",
    )


@lower(np.ravel, methods=("ravel",))
def ravel(reader: Reader, a: object, order: object = "C") -> object:
    """One axis."""
    if reader.plain(order) != "C":
        reader.unknown("ravel in another order than C")
    return reshape(reader, a, -1)


@lower(methods=("flatten",))
def flatten(reader: Reader, a: object, order: object = "C") -> object:
    """One axis, in new memory."""
    if reader.plain(order) != "C":
        reader.unknown("flatten in another order than C")
    if isinstance(a, Opaque):
        return released_call(reader, np.ravel, (a,))
    fresh = Array(Storage(reader.node(a)))
    found = reshape(reader, fresh, -1)
    return Array(Storage(reader.node(found)))


@lower(np.squeeze, methods=("squeeze",))
def squeeze(reader: Reader, a: object, axis: object = None) -> object:
    """Without axes of length 1."""
    found = _array(reader, a)
    if found is None:
        return released_call(reader, np.squeeze, (a, axis))
    node = found.node(reader.graph)
    plain = reader.plain(axis)
    if plain is None:
        drop = {i for i, n in enumerate(node.shape) if n == 1 and not isinstance(n, RowSet)}
        if any(isinstance(n, RowSet) and n.count in (None, 1) for n in node.shape):
            reader.unknown("squeeze of a private number of records")
    else:
        many = plain if isinstance(plain, tuple) else (plain,)
        drop = {int(i) % node.ndim for i in many}
        if any(node.shape[i] != 1 for i in drop):
            reader.refuse("failed", "squeeze of an axis that is longer than 1", "fix the code")
    key = tuple(0 if i in drop else slice(None) for i in range(node.ndim))
    from dpcheck.program.reading.arrays import get_item

    return get_item(reader, found, key)


@lower(np.expand_dims)
def expand_dims(reader: Reader, a: object, axis: object) -> object:
    """One more axis of length 1."""
    found = _array(reader, a)
    if found is None:
        return released_call(reader, np.expand_dims, (a, axis))
    node = found.node(reader.graph)
    place = int(reader.plain(axis)) % (node.ndim + 1)  # type: ignore[call-overload]
    from dpcheck.program.reading.arrays import get_item

    return get_item(reader, found, (*[slice(None)] * place, None))


@lower(np.broadcast_to)
def broadcast_to(reader: Reader, a: object, shape: object) -> object:
    """Repeated to a shape; what comes back cannot be written."""
    if reader.is_public([a, shape]):
        return public_call(reader, np.broadcast_to, (a, shape), {})
    node = reader.node(a)
    wanted = reader.plain(shape)
    lengths = (wanted,) if isinstance(wanted, int) else tuple(wanted)  # type: ignore[arg-type]
    found = reader.graph.add("broadcast", node, shape=lengths)
    if isinstance(a, Array):
        return maybe_view(reader, a, found)
    return Array(Storage(found, SHARED))


@lower(np.atleast_1d)
def atleast_1d(reader: Reader, a: object) -> object:
    """At least one axis."""
    node = reader.node(a)
    if not node.ndim:
        return reader.array(reader.graph.add("reshape", node, shape=(1,)))
    return _array(reader, a)


@lower(np.atleast_2d)
def atleast_2d(reader: Reader, a: object) -> object:
    """At least two axes."""
    node = reader.node(a)
    if node.ndim >= 2:
        return _array(reader, a)
    from dpcheck.program.reading.arrays import get_item

    return get_item(reader, atleast_1d(reader, a), (None, slice(None)))


@lower(np.flip)
def flip(reader: Reader, a: object, axis: object = None) -> object:
    """A view in reverse."""
    found = _array(reader, a)
    if found is None:
        return released_call(reader, np.flip, (a, axis))
    node = found.node(reader.graph)
    plain = reader.plain(axis)
    axes = range(node.ndim) if plain is None else [int(plain) % node.ndim]  # type: ignore[call-overload]
    key = tuple(slice(None, None, -1) if i in axes else slice(None) for i in range(node.ndim))
    from dpcheck.program.reading.arrays import get_item

    return get_item(reader, found, key)


@lower(np.flipud)
def flipud(reader: Reader, m: object) -> object:
    """The first axis in reverse."""
    return flip(reader, m, 0)


def _split(function: Callable[..., object]) -> Callable[..., object]:
    def handler(
        reader: Reader, ary: object, indices_or_sections: object, axis: object = 0
    ) -> object:
        from dpcheck.program.reading.arrays import get_item

        if reader.is_public([ary, indices_or_sections, axis]):
            return public_call(reader, function, (ary, indices_or_sections, axis), {})
        found = _array(reader, ary)
        if found is None or reader.plain(axis) != 0:
            reader.unknown(f"np.{function.__name__} of this")
        count = number(found.node(reader.graph).shape[0])
        if count is None:
            reader.refuse(
                "private-length",
                "how many records a part has is decided by their private number",
                "state the claim under replace-one, where the number of records is public",
            )
        # What numpy does with the places, it does with the entries.
        sections = reader.plain(indices_or_sections)
        places = reader.attempt(lambda: function(np.arange(count), sections))
        assert isinstance(places, list)
        ends = [(int(p[0]), int(p[-1]) + 1) if len(p) else (0, 0) for p in places]
        return [get_item(reader, found, slice(*each)) for each in ends]

    return handler


for _function in (np.split, np.array_split):
    lower(_function)(_split(_function))


@lower(np.diag, np.diagonal, methods=("diagonal",))
def diag(reader: Reader, v: object, k: object = 0) -> object:
    """The diagonal of a matrix."""
    if reader.is_public([v, k]):
        return public_call(reader, np.diag, (v, k), {})
    node = reader.node(v)
    if isinstance(node.fact, Rows) or node.ndim != 2 or reader.plain(k) != 0:
        reader.unknown("np.diag")
    many = min(number(n) or 0 for n in node.shape)
    places = np.arange(many)
    return reader.array(reader.graph.add("index", node, key=(places, places)))


@lower(np.trace, methods=("trace",))
def trace(reader: Reader, a: object) -> object:
    """The sum of the diagonal."""
    from dpcheck.program.lowering.reductions import total

    return total(reader, diag(reader, a))


@lower(np.ndim)
def ndim(reader: Reader, a: object) -> int:
    """How many axes."""
    return reader.node(a).ndim


@lower(np.shape)
def shape_of(reader: Reader, a: object) -> object:
    """Its shape."""
    from dpcheck.program.reading.attributes import get

    return get(
        reader, a if isinstance(a, Array | Scalar) else reader.array(reader.node(a)), "shape"
    )


@lower(np.repeat, methods=("repeat",))
def repeat(reader: Reader, a: object, repeats: object, axis: object = None) -> object:
    """Entries of rows or of an aggregate, each several times."""
    if reader.is_public([a, repeats, axis]):
        return public_call(reader, np.repeat, (a, repeats), {"axis": axis})
    node, times = reader.node(a), reader.plain(repeats)
    place = reader.plain(axis)
    if not isinstance(times, int) or (place is None and node.ndim != 1):
        reader.unknown("np.repeat with these arguments")
    at = 0 if place is None else int(place) % node.ndim  # type: ignore[call-overload]
    if isinstance(node.fact, Rows) and node.fact.axis == at:
        reader.refuse("mixed-records", "records are repeated", "aggregate over the records first")
    many = number(node.shape[at]) or 0
    places = np.repeat(np.arange(many), times)
    return reader.array(reader.graph.add("index", node, key=(*[slice(None)] * at, places)))


def _corner(name: str) -> Callable[..., object]:
    def handler(reader: Reader, m: object, k: object = 0) -> object:
        if reader.is_public([m, k]):
            return public_call(reader, getattr(np, name), (m, k), {})
        node = reader.node(m)
        if node.ndim != 2 or isinstance(node.fact, Rows):
            reader.unknown(f"np.{name} of this")
        mask = getattr(np, name)(
            np.ones([number(n) or 0 for n in node.shape], dtype=bool), reader.plain(k)
        )
        from dpcheck.program.lowering.functions import where

        zero = reader.graph.constant(np.zeros((), dtype=node.dtype)[()])
        return reader.array(where(reader, reader.graph.constant(mask), node, zero))

    return handler


for _name in ("triu", "tril"):
    lower(getattr(np, _name))(_corner(_name))
