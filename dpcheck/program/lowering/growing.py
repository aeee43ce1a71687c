"""Lists and dicts whose length a released value decides: every change makes a new value of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dpcheck.program.reading import writes
from dpcheck.program.reading.branches import REMEMBERED
from dpcheck.program.reading.public import released_call
from dpcheck.program.reading.values import Growing, Opaque

if TYPE_CHECKING:
    from dpcheck.program.reading.reader import Reader


def _change(reader: Reader, owner: Growing, change: Callable[..., object], *values: object) -> None:
    if reader.mapped and reader.guarded:
        reader.refuse(
            "released-path", "a list is changed in a loop over records", "change it after the loop"
        )
    if id(owner) in reader.frozen:
        reader.refuse("aliases", "a list is changed that something else remembers", "copy it first")
    if not reader.is_released(list(values)):
        reader.refuse(
            "released-path",
            "a private value is put into a list or dict whose length a released value decides",
            "add noise to it first",
        )
    for each in values:
        writes.frozen(reader, each, REMEMBERED)
    found = released_call(reader, change, (Opaque(owner.node), *values))
    writes.note(reader, owner)
    owner.node = reader.node(found)


def _with(owner: Any, key: object, value: object) -> object:
    made = owner.copy()
    made[key] = value
    return made


def set_item(reader: Reader, owner: Growing, key: object, value: object) -> None:
    """owner[key] = value."""
    _change(reader, owner, _with, key, value)


def extend(reader: Reader, owner: Growing, values: object) -> Growing:
    """owner += values."""
    if owner.kind is not list:
        reader.unknown("`+=` of a dict")
    _change(reader, owner, lambda o, v: [*o, *v], values)
    return owner


def _append(reader: Reader, owner: Growing, value: object) -> None:
    _change(reader, owner, lambda o, v: [*o, v], value)


def _extend(reader: Reader, owner: Growing, values: object) -> None:
    extend(reader, owner, values)


def _update(reader: Reader, owner: Growing, other: object = (), **named: object) -> None:
    _change(reader, owner, lambda o, v, w: {**o, **dict(v), **w}, other, named)


METHODS: dict[tuple[type, str], Callable[..., object]] = {
    (list, "append"): _append,
    (list, "extend"): _extend,
    (dict, "update"): _update,
}
