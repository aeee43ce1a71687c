"""Results as JSON and back: frozen dataclasses by their type hints, events by their kind."""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from typing import Any

from dpcheck.core.data import Plain
from dpcheck.core.events.event import Event
from dpcheck.core.events.serialize import from_dict, to_dict


def encode(value: object) -> Plain:
    """Plain data; infinity is the string "inf", and what is no number "nan"."""
    if isinstance(value, Event):
        return to_dict(value)
    if dataclasses.is_dataclass(value):
        return {f.name: encode(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, tuple | list):
        return [encode(item) for item in value]
    if isinstance(value, Mapping):
        return {str(name): encode(item) for name, item in value.items()}
    return value


@lru_cache(maxsize=64)
def _hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def decode(hint: Any, data: Any) -> Any:
    """What `encode` wrote, as the type it was; TypeError, KeyError or ValueError if it is not."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        if data is None and type(None) in arguments:
            return None
        kinds = [a for a in arguments if a is not type(None)]
        if len(kinds) > 1:  # of two kinds the one with fields is an object
            kinds = [a for a in kinds if dataclasses.is_dataclass(a) == isinstance(data, Mapping)]
        (inner,) = kinds
        return decode(inner, data)
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return tuple(decode(arguments[0], item) for item in data)
        return tuple(decode(a, item) for a, item in zip(arguments, data, strict=True))
    if hint is float:
        return float(data)
    if isinstance(hint, type):
        if issubclass(hint, Event):
            return from_dict(data)
        if issubclass(hint, Enum):
            return hint(data)
        if dataclasses.is_dataclass(hint):
            hints = _hints(hint)
            return hint(**{name: decode(hints[name], item) for name, item in data.items()})
        if hint in (int, str, bool) and not isinstance(data, hint):
            raise TypeError(f"expected {hint.__name__}, got {data!r}")
    return data
