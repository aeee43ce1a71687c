"""Operators of Python on the reader's values."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.program.reading.public import released_call
from dpcheck.program.reading.values import (
    Array,
    Counted,
    Grid,
    Opaque,
    Scalar,
    Series,
    Table,
    Value,
)
from dpcheck.program.rules.common import is_mixed, is_weak

if TYPE_CHECKING:
    from dpcheck.program.reading.reader import Reader

BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.FloorDiv: "floor_divide",
    ast.Mod: "remainder",
    ast.Pow: "power",
    ast.MatMult: "matmul",
    ast.BitAnd: "bitwise_and",
    ast.BitOr: "bitwise_or",
    ast.BitXor: "bitwise_xor",
    ast.LShift: "left_shift",
    ast.RShift: "right_shift",
}
COMPARE: dict[type[ast.cmpop], str] = {
    ast.Lt: "less",
    ast.LtE: "less_equal",
    ast.Gt: "greater",
    ast.GtE: "greater_equal",
    ast.Eq: "equal",
    ast.NotEq: "not_equal",
}
PYTHON: dict[str, Callable[..., object]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "power": operator.pow,
    "matmul": operator.matmul,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "left_shift": operator.lshift,
    "right_shift": operator.rshift,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "negative": operator.neg,
    "positive": operator.pos,
    "invert": operator.invert,
}


def binary(reader: Reader, name: str, a: object, b: object) -> object:
    """a op b."""
    if not isinstance(a, Value) and not isinstance(b, Value):
        return _plain(reader, name, a, b)
    if isinstance(a, Grid) or isinstance(b, Grid):
        from dpcheck.program.lowering.tables import grid_binary

        return grid_binary(reader, name, a, b)
    if isinstance(a, Table | Series) or isinstance(b, Table | Series):
        from dpcheck.program.lowering.columns import binary as of_tables

        return of_tables(reader, name, a, b)
    if any(isinstance(each, Array) and each.form is list for each in (a, b)):
        reader.refuse(
            "unknown-operation",
            f"`{name}` of a list, which does not work entry by entry",
            "turn it into an array first: np.asarray(...)",
        )
    if isinstance(a, Counted) or isinstance(b, Counted):
        from dpcheck.program.lowering.tables import not_yet

        not_yet(reader)
    for each in (a, b):
        if isinstance(each, Value) and not isinstance(each, Scalar | Array | Opaque):
            reader.unknown(f"`{name}` of {reader.describe(each)}")
    if reader.is_public(a) and reader.is_public(b):
        values = (reader.plain(a), reader.plain(b))
        return reader.wrap(reader.attempt(lambda: PYTHON[name](*values)))
    if isinstance(a, Opaque) or isinstance(b, Opaque):
        return released_call(reader, PYTHON[name], (a, b))
    if _is_text(a) or _is_text(b):
        return _of_text(reader, name, a, b)
    if name == "matmul":
        from dpcheck.program.lowering.products import matmul

        return matmul(reader, a, b)
    if isinstance(a, list | tuple) and isinstance(b, Scalar) and name == "multiply":
        reader.unknown("a list times a private number")
    from dpcheck.program.lowering.functions import elementwise

    return elementwise(reader, name, *_counted(reader, name, a, b))


_LOGICAL = frozenset({"bitwise_and", "bitwise_or", "bitwise_xor", *COMPARE.values()})


def _counted(reader: Reader, name: str, *values: object) -> tuple[object, ...]:
    """Truth values of Python are the numbers 0 and 1: True + True is 2, and ~True is -2, unlike numpy's."""
    nodes = [reader.node(each) for each in values]
    if name in _LOGICAL or any(node.ndim or node.dtype.kind != "b" for node in nodes):
        return values
    if any(is_mixed(node) for node in nodes):
        reader.unknown(f"`{name}` of a truth value that is Python's or numpy's, as a test decides")
    if not all(is_weak(node) for node in nodes):
        return values
    return tuple(Scalar(reader.graph.add("number", node, kind=int)) for node in nodes)


def _of_text(reader: Reader, name: str, a: object, b: object) -> object:
    """A column of text, a record's text or a released value, and a text in the code."""
    from dpcheck.program.lowering.functions import elementwise
    from dpcheck.program.reading.records import text_among

    private, text = (a, b) if isinstance(a, Value) else (b, a)
    if name in ("equal", "not_equal") and reader.mapped:
        found = text_among(reader, private, [text], among=name == "equal")
        if found is not None:
            return found
    if reader.is_released(private):
        return released_call(reader, PYTHON[name], (a, b))
    if reader.node(private).dtype.kind != "O":
        reader.unknown(f"`{name}` of a number and a text")
    return elementwise(reader, name, a, b)


def _is_text(value: object) -> bool:
    return isinstance(value, str | bytes)


_MOST_DIGITS = 10_000_000  # binary ones: Python computes longer ones for minutes


def _digits(name: str, a: int, b: int) -> int:
    if name == "power":
        return a.bit_length() * b
    return a.bit_length() + b if name == "left_shift" else 0


def _plain(reader: Reader, name: str, a: object, b: object) -> object:
    """Of plain values; containers may hold symbols, which only joining and repeating leave alone."""
    if _held(reader, a) or _held(reader, b):
        joins = type(a) is type(b) and type(a) in (list, tuple) and name == "add"
        repeats = name == "multiply" and {type(a), type(b)} & {int} != set()
        if not (joins or repeats):
            reader.unknown(f"`{name}` of containers of private values")
    for each in (a, b):
        if not _exact(each):
            reader.unknown(f"`{name}` of a {type(each).__name__}")
    if type(a) is int and type(b) is int and _digits(name, a, b) > _MOST_DIGITS:
        reader.refuse("too-long", "a number of millions of digits is computed", "use floats")
    return reader.wrap(reader.attempt(lambda: PYTHON[name](a, b)))


_EXACT = (
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    list,
    tuple,
    dict,
    set,
    frozenset,
    type(None),
    range,
    slice,
)


def _exact(value: object) -> bool:
    return type(value) in _EXACT or isinstance(value, np.generic | np.dtype | type)


def _held(reader: Reader, value: object) -> bool:
    return isinstance(value, list | tuple | dict | set | frozenset) and not reader.is_public(value)


def unary(reader: Reader, name: str, a: object) -> object:
    """op a."""
    if not isinstance(a, Value):
        if not _exact(a):
            reader.unknown(f"`{name}` of a {type(a).__name__}")
        return reader.wrap(reader.attempt(lambda: PYTHON[name](a)))
    if isinstance(a, Series | Table):
        from dpcheck.program.lowering.columns import unary as of_tables

        return of_tables(reader, name, a)
    if not isinstance(a, Scalar | Array | Opaque):
        reader.unknown(f"`{name}` of {reader.describe(a)}")
    if reader.is_public(a):
        value = reader.plain(a)
        return reader.wrap(reader.attempt(lambda: PYTHON[name](value)))
    if isinstance(a, Opaque):
        return released_call(reader, PYTHON[name], (a,))
    from dpcheck.program.lowering.functions import elementwise

    return elementwise(reader, name, *_counted(reader, name, a))
