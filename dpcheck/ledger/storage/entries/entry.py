"""An entry of a ledger: how it is written and read back; its kinds are in `declared` and `released`."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache
from typing import ClassVar, Protocol, TypeVar, cast

from dpcheck.core.errors import DpcheckError, LedgerBroken
from dpcheck.core.events.event import Event
from dpcheck.core.events.serialize import to_dict
from dpcheck.ledger.state import State
from dpcheck.ledger.storage.seals import Fields

# What an entry that was not written by us may raise when it is read or applied.
SENSELESS = (
    KeyError,
    IndexError,
    ValueError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    DpcheckError,
)


class Entry(Protocol):
    """One entry."""

    kind: ClassVar[str]

    @property
    def time(self) -> float:
        """When it was made, in seconds since 1970."""

    def apply(self, state: State) -> None:
        """Change the state accordingly."""

    def datasets(self, state: State) -> tuple[str, ...]:
        """The datasets it is an entry of."""

    def write(self) -> Fields:
        """The entry as plain data, without its kind and time."""


Made = TypeVar("Made", bound=Entry)
READERS: dict[str, Callable[[Fields, float], Entry]] = {}


def readable(read: Callable[[Fields, float], Made]) -> Callable[[type[Made]], type[Made]]:
    """Register how entries of a class are read back."""

    def register(cls: type[Made]) -> type[Made]:
        READERS[cls.kind] = read
        return cls

    return register


def to_fields(entry: Entry) -> Fields:
    """The whole entry as plain data."""
    return {"kind": entry.kind, "time": round(entry.time, 3), **entry.write()}


def from_fields(fields: Fields) -> Entry:
    """The entry that `to_fields` wrote, or LedgerBroken."""
    kind = fields.get("kind")
    try:
        return READERS[str(kind)](fields, float(cast(float, fields["time"])))
    except SENSELESS as error:
        raise senseless(str(kind), error) from None


def senseless(what: str, error: BaseException) -> LedgerBroken:
    """The error for an entry that cannot be read or applied."""
    why = " ".join(f"{type(error).__name__}: {error}".split())[:160]
    return LedgerBroken(
        f"the ledger holds an entry ({what[:40]}) that makes no sense ({why}); restore it from a "
        "backup, or read it with the dpcheck that wrote it."
    )


@lru_cache(maxsize=1024)
def event_fields(event: Event) -> Fields:
    """An event as plain data."""
    return to_dict(event)


def now() -> float:
    """Seconds since 1970."""
    return time.time()


def dataset_of(path: str) -> str:
    """The dataset a part belongs to: names hold no slash."""
    return path.split("/", 1)[0]
