"""Named tuples: objects that are no more than their fields, which nobody can write."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING

from dpcheck.program.reading.values import Instance

if TYPE_CHECKING:
    from dpcheck.program.reading.reader import Reader

# What `namedtuple` itself writes into a class; any other special method may do anything.
_ITS_OWN = frozenset(
    {
        *("__doc__", "__slots__", "__module__", "__new__", "__repr__", "__getnewargs__"),
        *("__match_args__", "__replace__", "__annotations__", "__orig_bases__", "__dict__"),
        *("__qualname__", "__firstlineno__", "__static_attributes__", "__annotate_func__"),
    }
)


def is_named(kind: type) -> bool:
    """Whether a class is what `namedtuple` or `NamedTuple` make, with no special method besides."""
    held = vars(kind)
    if kind.__bases__ != (tuple,) or type(kind) is not type or "_fields" not in held:
        return False
    special = {name for name in held if name.startswith("__")}
    maker = _maker(kind)
    made = isinstance(maker, types.FunctionType) and maker.__code__.co_names == ("_tuple_new",)
    if not made or not special <= _ITS_OWN:
        return False
    names = tuple(held["_fields"])
    probe: object = tuple.__new__(kind, range(len(names)))
    return all(
        type(held.get(name)).__name__ == "_tuplegetter" and held[name].__get__(probe) == i
        for i, name in enumerate(names)
    )


def _maker(kind: type) -> object:
    found = vars(kind).get("__new__")
    return found.__func__ if isinstance(found, staticmethod) else found


def made(
    reader: Reader, kind: type, args: tuple[object, ...], named: dict[str, object]
) -> Instance:
    """Kind(*args, **named)."""
    names = tuple(vars(kind)["_fields"])
    defaults = _maker(kind).__defaults__ or ()  # type: ignore[attr-defined]
    given = {
        name: reader.constant(value, f"{kind.__name__}.{name}")
        for name, value in zip(names[len(names) - len(defaults) :], defaults, strict=True)
    }
    twice = set(names[: len(args)]) & named.keys()
    if len(args) > len(names) or twice or not named.keys() <= set(names):
        reader.refuse("failed", f"{kind.__name__} does not have these fields", "fix the code")
    given |= dict(zip(names, args, strict=False)) | named
    if set(given) != set(names):
        reader.refuse("failed", f"{kind.__name__} without all of its fields", "fix the code")
    return Instance(kind, {name: given[name] for name in names}, locked=True)


def fields_of(value: object) -> tuple[object, ...] | None:
    """The items of a named tuple."""
    if not isinstance(value, Instance) or value.kind.__bases__ != (tuple,):
        return None
    return tuple(value.attributes.values())
