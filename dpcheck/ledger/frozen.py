"""Events as a ledger keeps them: exactly of a known kind, and a copy that nobody else can change."""

from __future__ import annotations

import dataclasses
import numbers
from enum import Enum

from dpcheck.core.errors import InvalidEvent, InvalidParameter
from dpcheck.core.events.event import Event
from dpcheck.core.events.serialize import event_kind

Key = tuple[object, ...]
_PLAIN = frozenset({float, int, str, bool, type(None)})
_FIELDS: dict[type, tuple[str, ...]] = {}


def _fields(kind: type) -> tuple[str, ...]:
    """The fields of a kind of event; InvalidParameter for a subclass, which may compare as it likes."""
    found = _FIELDS.get(kind)
    if found is None:
        try:
            known = event_kind(kind.__name__)
        except InvalidEvent:
            known = None
        if known is not kind:
            raise InvalidParameter(
                f"{kind.__name__} is not one of dpcheck's own kinds of event; a ledger takes no "
                "subclasses, which may compare and price as they like.",
                value=kind,
            )
        found = tuple(f.name for f in dataclasses.fields(kind))  # type: ignore[arg-type]  # all are
        _FIELDS[kind] = found
    return found


def key_of(event: Event) -> Key:
    """What the event says, in values that compare as Python's own do."""
    kind = type(event)
    values = [getattr(event, name) for name in _fields(kind)]
    for number, value in enumerate(values):
        if type(value) not in _PLAIN:
            values[number] = _key_of_value(value)
    return (kind, *values)


def _key_of_value(value: object) -> object:
    if type(value) in _PLAIN:
        return value
    if type(value) is tuple:
        return tuple(map(_key_of_value, value))
    if isinstance(value, Event):
        return key_of(value)
    return _copy(value)


def frozen(event: Event) -> Event:
    """A copy, made and checked anew."""
    kind = type(event)
    made: Event = kind(**{name: _copy(getattr(event, name)) for name in _fields(kind)})
    return made


def _copy(value: object) -> object:
    if type(value) in _PLAIN:
        return value
    if isinstance(value, Event):
        return frozen(value)
    if isinstance(value, (tuple, list)):
        return tuple(map(_copy, value))
    if isinstance(value, Enum):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    raise InvalidParameter(f"an event cannot hold a {type(value).__name__}.", value=value)
