"""Typed access to a table of a project file: every key is known, or refused with a suggestion."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import TypeVar

from dpcheck.core.data import Plain
from dpcheck.core.errors import DpcheckError, InvalidProject

T = TypeVar("T")
Reader = Callable[[object], Plain]


class Unfit(Exception):
    """A value that is not what its key needs; the message says what it needs."""


def read_table(where: str, data: object, readers: Mapping[str, Reader]) -> dict[str, Plain]:
    """The table's values by their keys, checked; keys may be written with _ or -."""
    if not isinstance(data, dict):
        raise InvalidProject(f"{where} must be a table, got {short(data)}.")
    values: dict[str, Plain] = {}
    for key, value in data.items():
        name = key.replace("_", "-")
        if name not in readers:
            raise InvalidProject(f"{where} has an unknown key {key!r}. {suggest(name, readers)}")
        if name in values:
            raise InvalidProject(f"{where} gives {name!r} twice, once with _ and once with -.")
        try:
            values[name] = readers[name](value)
        except Unfit as error:
            raise InvalidProject(f"{where}: {name} must be {error}, got {short(value)}.") from None
        except InvalidProject:
            raise
        except DpcheckError as error:
            raise InvalidProject(f"{where}: {name}: {error.message}") from None
    return values


def suggest(name: str, known: Mapping[str, object]) -> str:
    """The nearest known key, or all of them."""
    close = get_close_matches(name, known, n=1)
    return f"Did you mean {close[0]!r}?" if close else f"It may have {', '.join(sorted(known))}."


def short(value: object) -> str:
    """A value for a message, never long."""
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return "a list"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def flag(value: object) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise Unfit("true or false")
    return value


def number(low: float = -math.inf, high: float = math.inf, *, open_ends: bool = False) -> Reader:
    """A finite number in a range."""
    words = "a number" if low == -math.inf else f"a number of at least {low:g}"
    if open_ends:
        words = f"a number above {low:g}"
    if high < math.inf:
        words += f" and below {high:g}" if open_ends else f" and at most {high:g}"

    def read(value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise Unfit(words)
        try:
            found = float(value)
        except OverflowError:
            raise Unfit(words) from None
        inside = low < found < high if open_ends else low <= found <= high
        if not (math.isfinite(found) and inside):
            raise Unfit(words)
        return found

    return read


def whole(low: int, high: int = 10**18) -> Reader:
    """A whole number in a range."""

    def read(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise Unfit(f"a whole number from {low} to {high:g}")
        return value

    return read


def text(value: object) -> str:
    """One line of printable text."""
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise Unfit("a line of text")
    if len(value) > 300:
        raise Unfit("a line of at most 300 characters")
    return value


def choice(*allowed: str) -> Reader:
    """One of some words."""

    def read(value: object) -> str:
        if not isinstance(value, str) or value not in allowed:
            raise Unfit(f"one of {', '.join(allowed)}")
        return value

    return read


def many(reader: Reader, most: int = 1000) -> Reader:
    """A list of values of one kind."""

    def read(value: object) -> tuple[Plain, ...]:
        if not isinstance(value, list):
            raise Unfit("a list")
        if len(value) > most:
            raise Unfit(f"a list of at most {most}")
        return tuple(reader(item) for item in value)

    return read
