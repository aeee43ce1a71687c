"""owner.name."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.program.facts.kinds import Rows
from dpcheck.program.facts.rowsets import RowSet, number
from dpcheck.program.graph import Node
from dpcheck.program.reading import branches, records, writes
from dpcheck.program.reading.named import fields_of
from dpcheck.program.reading.values import (
    Array,
    Bound,
    Counted,
    FrozenLaw,
    Generator,
    Grid,
    Grouped,
    Instance,
    KnownGenerator,
    Mechanism,
    Method,
    Opaque,
    Scalar,
    Series,
    Table,
    Tally,
    Undecided,
    Value,
)
from dpcheck.program.rules.common import unsure

if TYPE_CHECKING:
    from dpcheck.program.reading.reader import Reader

# Objects of which single attributes are public facts.
_OPEN = (types.ModuleType, type, np.dtype, np.finfo, np.iinfo)


def get(reader: Reader, owner: object, name: str) -> object:
    """An attribute."""
    if name.startswith("__") and name.endswith("__"):
        reader.unknown(f"the attribute {name}")
    if isinstance(owner, Table | Series | Grouped | Counted | Grid):
        from dpcheck.program.lowering import tables

        return tables.attribute(reader, owner, name)
    if isinstance(owner, Array | Scalar):
        not_text(reader, owner)
        return _of_array(reader, owner, name)
    if isinstance(owner, Instance):
        return _of_instance(reader, owner, name)
    if isinstance(owner, Tally) and name == "get":
        return Method(owner, name)
    if isinstance(owner, records.Line):
        return records.entry(reader, owner, name)
    if isinstance(owner, Opaque | Generator | KnownGenerator | Mechanism | FrozenLaw):
        return Method(owner, name)
    if isinstance(owner, Value):
        reader.unknown(f"the attribute {name} of {reader.describe(owner)}")
    if isinstance(owner, _OPEN):
        found = reader.attempt(lambda: getattr(owner, name))
        return reader.constant(found, f"{getattr(owner, '__name__', owner)}.{name}")
    return Method(owner, name)


def not_text(reader: Reader, value: Array | Scalar) -> None:
    """A record's text is compared with public texts, and no more."""
    if isinstance(value, Scalar) and value.node.dtype.kind == "O":
        reader.refuse(
            "unknown-operation",
            "a record's text is taken apart or changed",
            "compare the whole text with ==, or look it up in a public list with `in`",
        )


def length(reader: Reader, node: Node, axis: int = 0) -> object:
    """How many entries along an axis: a number, or the private number of records."""
    dim = node.shape[axis]
    found = number(dim)
    if found is not None:
        return found
    assert isinstance(dim, RowSet)
    if not isinstance(node.fact, Rows):
        reader.refuse(
            "private-length", "the number of random numbers is private", "use len() of the data"
        )
    ones = reader.graph.add("ones", node, axis=axis)
    count = reader.graph.add("sum", ones, axes=(0,), dtype=np.dtype(np.int64))
    unsure(count)
    return Scalar(count)


def _of_array(reader: Reader, owner: Array | Scalar, name: str) -> object:
    if isinstance(owner, Array) and owner.form is list:
        reader.unknown(f"the attribute {name} of a list of records")
    node = reader.node(owner)
    if name == "shape":
        return tuple(length(reader, node, i) for i in range(node.ndim))
    if name == "ndim":
        return node.ndim
    if name == "dtype":
        return node.dtype
    if name == "itemsize":
        return node.dtype.itemsize
    if name == "size":
        from dpcheck.program.reading.operators import binary

        found: object = 1
        for i in range(node.ndim):
            found = binary(reader, "multiply", found, length(reader, node, i))
        return found
    if name == "T":
        from dpcheck.program.lowering.shaping import transpose

        return transpose(reader, owner)
    if name == "real":
        return owner
    if hasattr(np.ndarray, name) and callable(getattr(np.ndarray, name)):
        return Method(owner, name)
    if hasattr(np.ndarray, name):  # flags, base, strides and the like are facts of memory
        reader.unknown(f"the attribute {name} of an array")
    reader.refuse("failed", f"an array has no attribute {name}", "fix the code")


def _of_instance(reader: Reader, owner: Instance, name: str) -> object:
    found = next((vars(kind)[name] for kind in owner.kind.__mro__ if name in vars(kind)), None)
    if fields_of(owner) is not None:
        if name in owner.attributes:
            return owner.attributes[name]
        if name.startswith("_") or name in vars(tuple):
            reader.unknown(f"the attribute {name} of a named tuple")
    if name in owner.attributes and not _is_data_descriptor(found):
        value = owner.attributes[name]
        if isinstance(value, Undecided):
            owner.attributes[name] = value = branches.decided(reader, value)
        return value
    if isinstance(found, types.FunctionType):
        return Bound(reader.function(found), (owner,))
    if isinstance(found, staticmethod):
        return reader.function(found.__func__)  # type: ignore[arg-type]
    if isinstance(found, property) and isinstance(found.fget, types.FunctionType):
        from dpcheck.program.reading.calls import call

        return call(reader, Bound(reader.function(found.fget), (owner,)), (), {})
    if found is not None and not hasattr(type(found), "__get__"):
        return reader.constant(found, f"{owner.kind.__name__}.{name}")
    reader.unknown(f"the attribute {name} of a {owner.kind.__name__}")


def set_attribute(reader: Reader, owner: Instance, name: str, value: object) -> None:
    """owner.name = value, where nothing but the object's own variables is written."""
    kinds = owner.kind.__mro__[:-1]
    if any(_is_data_descriptor(vars(k).get(name)) or "__setattr__" in vars(k) for k in kinds):
        reader.unknown(
            f"a write to {name} of a {owner.kind.__name__}, which runs code of its class"
        )
    writes.note(reader, owner)
    owner.attributes[name] = value


def _is_data_descriptor(found: object) -> bool:
    """Whether an entry of a class goes before the variables of its objects."""
    return hasattr(type(found), "__set__") or hasattr(type(found), "__delete__")
