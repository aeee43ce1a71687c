"""Globals, closures and defaults: constants as of the proof. What they hold is looked at to the bottom."""

from __future__ import annotations

import functools
import random
import sys
import types
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.program.reading.values import Array, Instance, Partial, Storage, Value

if TYPE_CHECKING:
    from dpcheck.program.reading.reader import Reader

_CODE = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.ModuleType,
    types.MethodDescriptorType,
    types.MethodType,
    type,
    np.ufunc,
    np.dtype,
)


def constant(reader: Reader, value: object, name: str) -> object:
    """A value from outside of the call, as the reader holds it."""
    from dpcheck.program.reading.reader import PLAIN, SMALL

    kind = type(value)
    if kind in PLAIN or isinstance(value, (_CODE, np.generic)):
        return value
    if isinstance(value, Value):  # a variable of a call that is being read
        return value
    if isinstance(value, np.ndarray):
        if kind is not np.ndarray:
            reader.unknown(f"an array of the class {kind.__name__}")
        if value.size > SMALL:
            _declared(reader, name, f"{value.size} numbers")
        node = reader.graph.constant(value)
        return Array(Storage(node, f"{name} outlives the function"))
    if kind in (list, tuple, dict, set, frozenset):
        if _numbers(value) > SMALL:
            _declared(reader, name, f"{_numbers(value)} values")
        return _container(reader, value, name)
    if isinstance(value, np.random.Generator | np.random.RandomState | random.Random):
        reader.refuse(
            "known-noise",
            f"{name} is a generator that was made outside of the function: whoever knows its seed knows the "
            "noise",
            "draw from the generator that is handed in, or from np.random.default_rng()",
        )
    if isinstance(value, Enum):  # equal to itself alone, unless it is a number or a text as well
        return value.value if isinstance(value, int | float | str) else value
    if isinstance(value, functools.partial):
        if kind is not functools.partial or vars(value):
            reader.unknown(f"a {kind.__name__} with attributes")
        function = constant(reader, value.func, name)
        given = [constant(reader, each, name) for each in value.args]
        words = {key: constant(reader, each, name) for key, each in value.keywords.items()}
        return Partial(function, tuple(given), words)
    if _is_users(kind):
        held = {key: constant(reader, each, f"{name}.{key}") for key, each in vars(value).items()}
        return Instance(kind, held, locked=True)
    return value  # an object of a library: it can be handed on, and its use is refused where it matters


def _container(reader: Reader, value: object, name: str) -> object:
    if isinstance(value, dict):
        found: object = {
            key: constant(reader, each, f"{name}[{key!r}]") for key, each in value.items()
        }
    else:
        found = type(value)(constant(reader, each, name) for each in value)  # type: ignore[call-arg, attr-defined]
    reader.foreign[id(found)] = found
    return found


def _numbers(value: object, depth: int = 0) -> int:
    """How many values a container holds."""
    if depth > 20:
        return 1 << 30
    if isinstance(value, np.ndarray):
        return value.size
    if isinstance(value, dict):
        return sum(_numbers(each, depth + 1) for each in value.values())
    if isinstance(value, list | tuple | set | frozenset):
        return sum(_numbers(each, depth + 1) for each in value)
    return 1


def _declared(reader: Reader, name: str, many: str) -> None:
    if name not in reader.public:
        reader.refuse(
            "large-constant",
            f"{name} holds {many} that are no argument of the function; if they come from the data, the "
            "proof would be about something else",
            f"hand them in with the data, or declare them public: dpcheck.prove(..., public=[{name!r}])",
        )
    reader.constants[name] = None


def _is_users(kind: type) -> bool:
    """A class whose objects are no more than their attributes."""
    from dpcheck.replay.draws import is_users

    module = sys.modules.get(kind.__module__)
    return (
        is_users(getattr(module, "__file__", None))
        and "__getattribute__" not in {n for each in kind.__mro__[:-1] for n in vars(each)}
        and not hasattr(kind, "__getattr__")
        and not any("__slots__" in vars(each) for each in kind.__mro__)
        and kind.__bases__ == (object,)
    )
