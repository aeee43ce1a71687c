"""Calls of pure functions for real: on public values now, on released ones when the program runs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.program.facts.kinds import RANDOM
from dpcheck.program.graph import Node
from dpcheck.program.reading.values import Array, Opaque, Scalar, Value

if TYPE_CHECKING:
    from dpcheck.program.reading.reader import Reader


def public_call(
    reader: Reader,
    function: Callable[..., object],
    args: tuple[object, ...],
    named: dict[str, object],
) -> object:
    """The call itself; a result that shares memory with an argument must not be written."""
    plain = [_argument(reader, reader.plain(each)) for each in args]
    words = {key: _argument(reader, reader.plain(each)) for key, each in named.items()}
    if words.get("out") is not None:
        reader.unknown("out= of this function")
    handed = (*args, *named.values())
    given = (*plain, *words.values())
    arrays = [each for each in parts(given) if isinstance(each, np.ndarray)]
    for each in arrays:
        each.setflags(write=False)
    result = reader.attempt(lambda: function(*plain, **words))
    if (
        type(result) in (zip, enumerate, reversed, itertools.product, itertools.combinations)
        or type(result).__module__ == "itertools"
    ):
        result = list(result)  # type: ignore[call-overload]
    _check_parts(reader, result, given)
    found = reader.wrap(result)
    if any(
        isinstance(each, np.ndarray) and any(np.may_share_memory(each, one) for one in arrays)
        for each in parts(result)
    ):
        reason = "it may share its memory with another array"
        for value in (*parts(found), *parts(handed)):
            if isinstance(value, Array) and value.storage.locked is None:
                value.storage.locked = reason
    return found


def parts(value: object) -> Iterator[object]:
    """A value, and what its containers hold."""
    yield value
    if type(value) in (list, tuple, set, frozenset):
        for each in value:  # type: ignore[attr-defined]
            yield from parts(each)
    elif type(value) is dict:
        for key, each in value.items():
            yield from parts(key)
            yield from parts(each)


def _check_parts(reader: Reader, result: object, given: tuple[object, ...]) -> None:
    """A result must hold no list, dict or set of an argument: only a copy was handed in."""
    own = {id(each) for each in parts(given) if type(each) in (list, dict, set)}
    if any(id(each) in own for each in parts(result)):
        reader.unknown("a function whose result holds a list or dict that was handed in")


_ARGUMENTS = (
    *(bool, int, float, complex, str, bytes, type(None), type(...), slice, range),
    *(np.ndarray, np.dtype, np.random.Generator),
)


def _argument(reader: Reader, value: object, depth: int = 0) -> object:
    """Only exact types whose behaviour is known; objects of classes may do anything."""
    if depth > 20:
        reader.unknown("an argument of so many levels")
    if type(value) in (list, tuple, set, frozenset):
        for each in value:  # type: ignore[attr-defined]
            _argument(reader, each, depth + 1)
        return value
    if type(value) is dict:
        for key, each in value.items():
            _argument(reader, key, depth + 1)
            _argument(reader, each, depth + 1)
        return value
    if type(value) in _ARGUMENTS or isinstance(value, np.generic):
        return value
    if isinstance(value, type) and (
        value in (float, int, bool, str, complex) or value.__module__ == "numpy"
    ):
        return value
    reader.unknown(f"an argument of type {type(value).__name__}")


def released_call(
    reader: Reader, function: Callable[..., object], args: tuple[object, ...]
) -> object:
    """A pure function of released and public values: what comes out is released, whatever it is.

    Numbers that were drawn are public randomness from then on.
    """
    args = tuple(_used_up(reader, each) for each in args)
    if not all(reader.is_released(each) for each in args):
        private = next(each for each in args if not reader.is_released(each))
        reader.refuse(
            "private-control",
            f"{reader.describe(private)} is used in a way that is followed for released values only",
            "add noise to it first",
        )
    leaves: list[object] = []
    shape = _structure(reader, args, leaves)
    nodes = [reader.node(leaf) for leaf in leaves]

    def call(*values: object) -> object:
        return function(*_filled(shape, iter(values)))  # type: ignore[misc]

    return reader.opaque(reader.graph.add("apply", *nodes, function=call))


def _used_up(reader: Reader, value: object) -> object:
    """A draw that protects nothing from now on."""
    if type(value) in (list, tuple):
        return type(value)(_used_up(reader, each) for each in value)  # type: ignore[attr-defined, call-arg]
    if isinstance(value, Array | Scalar) and not reader.mapped:
        node = reader.node(value)
        if isinstance(node.fact, RANDOM):
            return reader.array(reader.graph.add("apply_draw", node))
    return value


def either(reader: Reader, test: Node, first: object, second: object) -> object:
    """One of two released values; the other one may never be computed."""
    sides = []
    for each, answer in ((first, True), (second, False)):
        reader.graph.guards.append((test, answer))
        sides.append(_side(reader, each))
        reader.graph.guards.pop()
    return reader.opaque(reader.graph.add("either", test, *sides))


def _side(reader: Reader, value: object) -> Node:
    """A released value of any type as one node."""
    if isinstance(value, Scalar | Opaque):
        return value.node
    found = released_call(reader, _itself, (value,))
    return reader.node(found)


def _itself(value: object) -> object:
    return value


def _structure(reader: Reader, value: object, leaves: list[object]) -> object:
    """A nested value with its released parts taken out."""
    if isinstance(value, Value):
        if reader.public_value(value) is not None:
            return ("is", reader.plain(value))
        leaves.append(value)
        return ("leaf",)
    if type(value) in (list, tuple):
        return (type(value).__name__, [_structure(reader, each, leaves) for each in value])  # type: ignore[attr-defined]
    if type(value) is dict:
        return ("dict", [(k, _structure(reader, v, leaves)) for k, v in value.items()])
    return ("is", value)


def _filled(shape: object, values: object) -> object:
    kind = shape[0]  # type: ignore[index]
    if kind == "leaf":
        return next(values)  # type: ignore[call-overload]
    if kind == "is":
        return shape[1]  # type: ignore[index]
    if kind == "dict":
        return {k: _filled(v, values) for k, v in shape[1]}  # type: ignore[index]
    parts = [_filled(each, values) for each in shape[1]]  # type: ignore[index]
    return tuple(parts) if kind == "tuple" else parts
