"""What is written on a path that may not be taken: noted, taken back, and joined with the other paths."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING

from dpcheck.program.reading.values import (
    Array,
    Bound,
    Function,
    Growing,
    Instance,
    LibraryCall,
    Method,
    Partial,
    Scope,
    Storage,
    Undecided,
)

if TYPE_CHECKING:
    from dpcheck.program.reading.branches import Exit, Side
    from dpcheck.program.reading.reader import Reader

Noted = dict[int, tuple[object, object]]  # by identity: what was written, and what it held


def content(thing: object) -> object:
    """What something that can be written holds now."""
    if isinstance(thing, Storage | Growing):
        return thing.node
    if isinstance(thing, Instance):
        return dict(thing.attributes)
    return list(thing) if type(thing) is list else dict(thing)  # type: ignore[call-overload]


def put_back(thing: object, held: object) -> None:
    """It holds this again."""
    if isinstance(thing, Storage | Growing):
        thing.node = held  # type: ignore[assignment]
    elif isinstance(thing, Instance):
        thing.attributes = dict(held)  # type: ignore[call-overload]
    elif type(thing) is list:
        thing[:] = held  # type: ignore[call-overload]
    else:
        thing.clear()  # type: ignore[attr-defined]
        thing.update(held)  # type: ignore[attr-defined]


def note(reader: Reader, thing: object) -> None:
    """It is about to be written."""
    if reader.noted and id(thing) not in reader.noted[-1]:
        reader.noted[-1][id(thing)] = (thing, content(thing))


def now(reader: Reader) -> Noted:
    """What everything holds now that was written on a path that is being read."""
    found: Noted = {}
    for written in reader.noted:
        found.update({key: (thing, content(thing)) for key, (thing, _) in written.items()})
    return found


def end(reader: Reader) -> Noted:
    """The path ends: what was written on it counts for the path around it."""
    written = reader.noted.pop()
    if reader.noted:
        for key, each in written.items():
            reader.noted[-1].setdefault(key, each)
    return written


def take_back(written: Noted) -> None:
    """As if nothing had been written."""
    for thing, held in written.values():
        put_back(thing, held)


def replaced(reader: Reader, old: object, new: object) -> None:
    """Every name and container that held `old` holds `new`."""
    seen: set[int] = set()

    def within(value: object) -> object:
        if value is old:
            return new
        if type(value) is tuple:
            parts = [within(each) for each in value]
            return (
                tuple(parts)
                if any(a is not b for a, b in zip(parts, value, strict=True))
                else value
            )
        if id(value) in seen:
            return value
        seen.add(id(value))
        if type(value) is list:
            value[:] = [within(each) for each in value]
        elif type(value) is dict:
            for key in list(value):
                value[key] = within(value[key])
        elif isinstance(value, Instance):
            value.attributes = {k: within(v) for k, v in value.attributes.items()}
        elif isinstance(value, Undecided):
            value.options = tuple((test, within(each)) for test, each in value.options)
        return value

    for scope in _scopes(reader.scopes):
        for name in list(scope.names):
            scope.names[name] = within(scope.names[name])


def _scopes(active: Iterable[Scope]) -> list[Scope]:
    found: dict[int, Scope] = {}
    for each in active:
        place: Scope | None = each
        while place is not None and id(place) not in found:
            found[id(place)] = place
            place = place.outer
    return list(found.values())


def shared(reader: Reader, array: Array) -> bool:
    """Whether some name or container holds this memory."""
    seen: set[int] = set()

    def within(value: object) -> bool:
        if isinstance(value, Array):
            return value.storage is array.storage
        if id(value) in seen:
            return False
        seen.add(id(value))
        if type(value) in (list, tuple, set, frozenset):
            return any(within(each) for each in value)  # type: ignore[attr-defined]
        if type(value) is dict:
            return any(within(each) for each in value.values())
        if isinstance(value, Instance):
            return any(within(each) for each in value.attributes.values())
        if isinstance(value, Undecided):
            return any(within(each) for _, each in value.options)
        if isinstance(value, Function):
            closure = [] if value.scope is None else [each.names for each in _scopes([value.scope])]
            return within([*closure, value.defaults, dict(value.keyword_defaults)])
        if isinstance(value, Bound):
            return within([value.function, value.first])
        if isinstance(value, Partial):
            return within([value.function, list(value.args), value.named])
        return isinstance(value, Method | LibraryCall) and within(value.owner)

    held: list[object] = [scope.names for scope in _scopes(reader.scopes)]
    kept: list[Exit | Side] = [*reader.exits, *chain.from_iterable(reader.waiting)]
    held += [[each.names, each.value, list(each.held.values())] for each in kept]
    held += [list(written.values()) for written in reader.noted]
    return any(within(each) for each in (*held, reader.temporaries, reader.frozen))


def frozen(reader: Reader, value: object, why: str) -> None:
    """Nobody may write it from now on: something else remembers what it holds."""
    if isinstance(value, Array):
        value.storage.locked = value.storage.locked or why
    elif isinstance(value, Growing):
        reader.frozen[id(value)] = value
    elif type(value) in (list, dict):
        reader.frozen[id(value)] = value
        for each in value.values() if isinstance(value, dict) else value:  # type: ignore[attr-defined]
            frozen(reader, each, why)
    elif type(value) is tuple:
        for each in value:
            frozen(reader, each, why)
    elif isinstance(value, Instance):
        value.locked = True
        for each in value.attributes.values():
            frozen(reader, each, why)
    elif isinstance(value, Undecided):
        for _, each in value.options:
            frozen(reader, each, why)
    elif isinstance(value, Partial):
        frozen(reader, (value.function, value.args, value.named), why)
