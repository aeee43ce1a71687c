"""Enums, dataclasses, exceptions, and objects with attributes."""

from __future__ import annotations

import dataclasses
import types
from enum import Enum
from pathlib import PurePath
from typing import TYPE_CHECKING
from uuid import UUID

import numpy as np

from dpcheck.auditing.outputs.flat import Flat
from dpcheck.auditing.outputs.registry import reads, reads_where
from dpcheck.core.data import Output

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

RAISED = "type(error)"


@dataclasses.dataclass(frozen=True, slots=True)
class Raised:
    """A run that raised: the error's type and message are what an observer sees."""

    error: BaseException


@reads(Raised)
def read_raised(value: Raised, path: str, flat: Flat) -> None:  # noqa: ARG001 - one signature
    """Type and message of the error."""
    flat.token(RAISED, type(value.error).__qualname__)
    flat.child(str(value.error), "str(error)")


@reads_where(lambda value: isinstance(value, Enum))
def read_enum(value: Enum, path: str, flat: Flat) -> None:
    """The member's name and value."""
    flat.token(f"{path}.name", str(value.name))
    flat.child(value.value, f"{path}.value")


@reads_where(lambda value: dataclasses.is_dataclass(value) and not isinstance(value, type | Raised))
def read_dataclass(value: DataclassInstance, path: str, flat: Flat) -> None:
    """Each field by its name."""
    for field in dataclasses.fields(value):
        flat.child(getattr(value, field.name), f"{path}.{field.name}")


@reads(BaseException)
def read_exception(value: BaseException, path: str, flat: Flat) -> None:
    """An error that was returned: its message."""
    flat.child(str(value), f"str({path})")


@reads(type)
def read_class(value: type, path: str, flat: Flat) -> None:
    """A class by its name."""
    flat.token(path, f"{value.__module__}.{value.__qualname__}")


@reads(PurePath, UUID)
def read_as_text(value: Output, path: str, flat: Flat) -> None:
    """What str makes of it."""
    flat.child(str(value), f"str({path})")


_CODE = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.ModuleType,
    types.CodeType,
    types.FrameType,
    types.TracebackType,
    types.AsyncGeneratorType,
)


@reads(*_CODE)
def read_code(value: Output, path: str, flat: Flat) -> None:  # noqa: ARG001 - one signature
    """Code is no answer; call it and return what it gives."""
    flat.skip(path, "it is code, not a value; call it and return what it gives")


@reads(np.random.Generator, np.random.RandomState, np.random.BitGenerator)
def read_generator(
    value: np.random.Generator | np.random.RandomState | np.random.BitGenerator,
    path: str,
    flat: Flat,
) -> None:
    """A generator's state, which gives away all noise to come."""
    inner = getattr(value, "bit_generator", getattr(value, "_bit_generator", value))
    flat.token(f"{path}.bit_generator.state", str(getattr(inner, "state", None)))


@reads_where(lambda value: bool(attributes(value)), last=True)
def read_object(value: Output, path: str, flat: Flat) -> None:
    """Its attributes, as vars() and __slots__ list them."""
    for name, item in attributes(value).items():
        flat.child(item, f"{path}.{name}")


def attributes(value: Output) -> dict[str, Output]:
    """The attributes an object carries itself."""
    try:
        found = dict(vars(value))
    except Exception:  # no __dict__, or one that raises
        found = {}
    for base in type(value).__mro__:
        slots = base.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else tuple(slots):
            if isinstance(name, str) and not name.startswith("__") and hasattr(value, name):
                found[name] = getattr(value, name)
    return found


def _has_state(value: Output) -> bool:
    kind, root = type(value), object
    return kind.__reduce_ex__ is root.__reduce_ex__ and kind.__reduce__ is not root.__reduce__


@reads_where(_has_state, last=True)
def read_state(value: Output, path: str, flat: Flat) -> None:
    """What pickle would keep of an object of another language."""
    kept = value.__reduce_ex__(2)
    for place in range(1, min(3, len(kept))):
        flat.child(kept[place], f"{path}.__reduce_ex__(2)[{place}]")
