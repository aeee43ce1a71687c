"""Events to JSON and back.

`{"kind": "SampledGaussian", "noise_multiplier": 1.1, "sampling_rate": 0.004}`; combinations nest.
An event never changes meaning: a new meaning gets a new name.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.data import Plain
from dpcheck.core.errors import InvalidEvent
from dpcheck.core.events import event as combinations
from dpcheck.core.events import guarantee as guarantee_events
from dpcheck.core.events import noise as noise_events
from dpcheck.core.events import selection as selection_events
from dpcheck.core.events import training as training_events
from dpcheck.core.events.event import Event

_KINDS: dict[str, type[Event]] = {
    name: kind
    for module in (
        combinations,
        guarantee_events,
        noise_events,
        selection_events,
        training_events,
    )
    for name, kind in vars(module).items()
    if isinstance(kind, type) and issubclass(kind, Event) and kind is not Event
}
_MAX_DEPTH = 200


def event_names() -> tuple[str, ...]:
    """The names of all kinds of event, sorted."""
    return tuple(sorted(_KINDS))


def event_kind(name: str) -> type[Event]:
    """The kind of event with that name."""
    if name not in _KINDS:
        raise InvalidEvent(
            f"unknown event {name!r}; known are {', '.join(event_names())}.", name=name
        )
    return _KINDS[name]


def to_dict(event: Event) -> dict[str, Plain]:
    """The event as plain data.

    >>> to_dict(guarantee_events.PureDP(0.5) * 3)
    {'kind': 'Repeated', 'event': {'kind': 'PureDP', 'epsilon': 0.5, 'adjacency': None}, 'times': 3}
    """
    data: dict[str, Plain] = {"kind": type(event).__name__}
    for name in _fields(type(event)):
        data[name] = _plain(getattr(event, name))
    return data


def _fields(kind: type[Event]) -> tuple[str, ...]:
    return tuple(f.name for f in dataclasses.fields(kind))  # type: ignore[arg-type]  # all are


def _plain(value: object) -> object:
    if isinstance(value, Event):
        return to_dict(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value.value if isinstance(value, Adjacency) else value


def from_dict(data: object, *, depth: int = 0) -> Event:
    """The event that `to_dict` wrote; InvalidEvent if it is anything else."""
    if depth > _MAX_DEPTH:
        raise InvalidEvent(f"this event is nested more than {_MAX_DEPTH} deep.")
    if not isinstance(data, Mapping) or not isinstance(data.get("kind"), str):
        raise InvalidEvent('an event is an object with a string "kind" that names it.')
    kind = _KINDS.get(data["kind"])
    if kind is None:
        raise InvalidEvent(
            f"unknown event {data['kind']!r}; known are {', '.join(event_names())}.",
            name=data["kind"],
        )
    unknown = set(data) - {"kind", *_fields(kind)}
    if unknown:
        raise InvalidEvent(f"{kind.__name__} has no field {sorted(map(str, unknown))[0]!r}.")
    values = {name: _rich(value, depth) for name, value in data.items() if name != "kind"}
    try:
        return kind(**values)
    except TypeError as error:
        raise InvalidEvent(f"{kind.__name__}: {error}.") from None


def _rich(value: object, depth: int) -> object:
    if isinstance(value, Mapping):
        return from_dict(value, depth=depth + 1)
    if isinstance(value, list):
        return tuple(_rich(item, depth) for item in value)
    return value


def to_json(event: Event) -> str:
    """The event as one line of JSON."""
    return json.dumps(to_dict(event), allow_nan=False)


def from_json(text: str) -> Event:
    """The event a line of JSON describes."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidEvent(f"not JSON: {error}.") from None
    return from_dict(data)
