"""The closed world of libraries: what is lowered, and what may be called on public or released values.

Keyed by the very object, never by a name. All else is refused.
"""

from __future__ import annotations

import inspect
import sys
from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.program.lowering import pure
from dpcheck.program.lowering.pure import PLAIN_METHODS, is_pure
from dpcheck.program.lowering.registry import METHODS, lowered
from dpcheck.program.reading.calls import lowered_call
from dpcheck.program.reading.public import public_call, released_call
from dpcheck.program.reading.values import (
    Array,
    Generator,
    Growing,
    KnownGenerator,
    Mechanism,
    Opaque,
    Scalar,
    Tally,
    Value,
)

if TYPE_CHECKING:
    from dpcheck.program.reading.reader import Reader

FILES = (
    "functions",
    "making",
    "reductions",
    "shaping",
    "products",
    "counting",
    "ordering",
    "joining",
    "python",
    "drawing",
    "tables",
    "clipping",
    "sources",
    "tallies",
)


def load() -> None:
    """Import every file of lowerings, which registers them."""
    for name in FILES:
        import_module(f"dpcheck.program.lowering.{name}")
    pure.load()
    from dpcheck.program.lowering import mechanisms

    mechanisms.load()
    if "scipy.special" in sys.modules:
        import_module("dpcheck.program.lowering.special")
    if "pandas" in sys.modules:
        import_module("dpcheck.program.lowering.frames")
        import_module("dpcheck.program.lowering.categories")


def call(
    reader: Reader, function: object, args: tuple[object, ...], named: dict[str, object]
) -> object:
    """A function of a library that has no lowering: on public or released values alone."""
    from dpcheck.program.lowering.sources import frozen

    name = getattr(function, "__name__", type(function).__name__)
    law = frozen(function)
    if law is not None:
        return lowered_call(reader, law, args, named)
    if not is_pure(function):
        reader.refuse(
            "unknown-call",
            f"{_qualified(function)} is not a function that can be read, nor one that is known to depend on "
            "its arguments alone",
            "write it with numpy operations, or compute it before and hand it in",
        )
    if _writes(function, args, named):
        reader.unknown(f"{name} that writes into an argument")
    if reader.is_public(list(args)) and reader.is_public(named):
        return public_call(reader, function, args, named)  # type: ignore[arg-type]
    if reader.is_released(list(args)) and reader.is_released(named):
        keys = list(named)

        def on(*values: object) -> object:
            many = len(values) - len(keys)
            return function(*values[:many], **dict(zip(keys, values[many:], strict=True)))  # type: ignore[operator]

        return released_call(reader, on, (*args, *named.values()))
    reader.unknown(f"{name} of {_first_private(reader, (*args, *named.values()))}")


def _writes(function: object, args: tuple[object, ...], named: dict[str, object]) -> bool:
    """Whether an array is handed in for the result."""
    if named.get("out") is not None:
        return True
    if isinstance(function, np.ufunc):
        return len(args) > function.nin
    try:
        given = inspect.signature(function).bind_partial(*args)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    return given.arguments.get("out") is not None


def _qualified(function: object) -> str:
    module = getattr(function, "__module__", "") or ""
    name = getattr(function, "__qualname__", None) or type(function).__name__
    return f"{module}.{name}".strip(".")


def _first_private(reader: Reader, values: tuple[object, ...]) -> str:
    for value in values:
        if not reader.is_released(value):
            if isinstance(value, Value):
                return reader.describe(value)
            return f"a {type(value).__name__} of private values"
    return "these values"


def method(
    reader: Reader, owner: object, name: str, args: tuple[object, ...], named: dict[str, object]
) -> object:
    """owner.name(...)."""
    if isinstance(owner, Generator):
        from dpcheck.program.lowering.drawing import draw

        return draw(reader, owner, name, args, named)
    if isinstance(owner, KnownGenerator):
        real = owner.real
        if name.startswith("_") or name in ("bit_generator", "spawn") or reader.guarded:
            reader.unknown(f"{name} of a generator")
        return public_call(reader, getattr(real, name), args, named)
    if isinstance(owner, Growing):
        from dpcheck.program.lowering import growing

        handler = growing.METHODS.get((owner.kind, name))
        if handler is not None:
            return lowered_call(reader, handler, (owner, *args), named)
    if isinstance(owner, Opaque):
        if name.startswith("_") or name in _CHANGING:
            reader.unknown(f"{name} of a released value")
        keys = list(named)

        def on(it: object, *values: object) -> object:
            many = len(values) - len(keys)
            return getattr(it, name)(*values[:many], **dict(zip(keys, values[many:], strict=True)))

        return released_call(reader, on, (owner, *args, *named.values()))
    if isinstance(owner, Mechanism) and (owner.library, name) == ("diffprivlib", "randomise"):
        from dpcheck.program.lowering.mechanisms import noisy

        return lowered_call(reader, noisy, (owner, *args), named)
    if isinstance(owner, Tally) and name == "get" and not named:
        from dpcheck.program.lowering.tallies import counted

        return lowered_call(reader, counted, (owner, *args), named)
    if isinstance(owner, Array | Scalar):
        handler = METHODS.get(name)
        if handler is not None:
            return lowered_call(reader, handler, (owner, *args), named)
        if reader.is_public(owner) and reader.is_public(list(args)) and name not in _CHANGING:
            return _public_method(reader, owner, name, args, named)
        reader.unknown(f".{name}() of {reader.describe(owner)}")
    if isinstance(owner, np.ufunc):
        return _ufunc_method(reader, owner, name, args, named)
    return _plain_method(reader, owner, name, args, named)


def _ufunc_method(
    reader: Reader, owner: np.ufunc, name: str, args: tuple[object, ...], named: dict[str, object]
) -> object:
    """np.add.reduce and its kin: along the first axis, unless they are told."""
    reduced: dict[object, object] = {
        np.add: np.sum,
        np.maximum: np.max,
        np.minimum: np.min,
        np.multiply: np.prod,
    }
    handler = lowered(reduced.get(owner))
    if name in ("accumulate", "outer", "reduce") and reader.is_released(list(args)):
        if reader.is_public(list(args)) and reader.is_public(named):
            return public_call(reader, getattr(owner, name), args, named)
        if not named:
            return released_call(reader, getattr(owner, name), args)
    if name != "reduce" or handler is None:
        reader.unknown(f"np.{owner.__name__}.{name}")
    return lowered_call(reader, handler, args, {"axis": 0, **named} if len(args) == 1 else named)


_CHANGING = frozenset(
    [
        "append",
        "extend",
        "insert",
        "remove",
        "pop",
        "clear",
        "sort",
        "reverse",
        "fill",
        "itemset",
        "put",
        "partition",
        "resize",
        "setfield",
        "setflags",
        "tofile",
        "dump",
        "dumps",
        "byteswap",
        "add",
        "discard",
        "update",
        "setdefault",
        "popitem",
        "to_csv",
        "to_pickle",
        "eval",
        "query",
        "apply",
        "pipe",
        "tobytes",
        "view",
        "getfield",
        "ctypes",
        "data",
    ]
)


def _public_method(
    reader: Reader,
    owner: Array | Scalar,
    name: str,
    args: tuple[object, ...],
    named: dict[str, object],
) -> object:
    value = np.asarray(reader.plain(owner))
    return (
        public_call(
            reader,
            lambda it, *rest, **words: getattr(it, name)(*rest, **words),
            (owner, *args),
            named,
        )
        if hasattr(value, name)
        else reader.refuse("failed", f"no method {name}", "fix the code")
    )


def _plain_method(
    reader: Reader, owner: object, name: str, args: tuple[object, ...], named: dict[str, object]
) -> object:
    """Methods of lists, dicts, text: those that only arrange what they hold may hold symbols."""
    from dpcheck.program.lowering.python import CONTAINERS
    from dpcheck.program.lowering.sources import law_of

    law = law_of(owner, name)
    if law is not None:
        return lowered_call(reader, law, args, named)

    reader.alive(owner)
    handler = CONTAINERS.get((type(owner), name))
    if handler is not None:
        return lowered_call(reader, handler, (owner, *args), named)
    if name in PLAIN_METHODS.get(type(owner), ()):
        if reader.is_public(owner) and reader.is_public(list(args)):
            plain = reader.plain(owner)
            return reader.wrap(
                reader.attempt(
                    lambda: getattr(plain, name)(*[reader.plain(a) for a in args], **named)
                )
            )
        if reader.is_released(owner) and reader.is_released(list(args)):
            return released_call(reader, lambda it, *rest: getattr(it, name)(*rest), (owner, *args))
        reader.unknown(f".{name}() of private values")
    if isinstance(owner, np.generic) and not name.startswith("_"):
        return reader.wrap(reader.attempt(lambda: getattr(owner, name)(*args, **named)))
    reader.unknown(f".{name}() of a {type(owner).__name__}")
