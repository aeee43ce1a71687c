"""Lists, tuples, dicts, sets and everything one can iterate over; lengths and keys are outputs."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from dpcheck.auditing.outputs.flat import MOST_NUMBERS, Flat
from dpcheck.auditing.outputs.kinds.numbers import EXACT
from dpcheck.auditing.outputs.registry import reads, reads_where
from dpcheck.auditing.outputs.slots import type_name
from dpcheck.core.data import Output


@reads(type(None), type(Ellipsis), type(NotImplemented))
def read_nothing(value: None, path: str, flat: Flat) -> None:
    """Nothing but its type, which is read already."""


@reads_where(lambda value: isinstance(value, tuple) and hasattr(type(value), "_fields"))
def read_named_tuple(value: NamedTuple, path: str, flat: Flat) -> None:
    """Each field by its name."""
    for name in type(value)._fields:
        flat.child(getattr(value, name), f"{path}.{name}")


_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))


@reads(list, tuple, range, deque, array, *_VIEWS)
def read_sequence(value: Sequence[Output], path: str, flat: Flat) -> None:
    """Each item by its place, and how many there are."""
    items = list(value)
    flat.number(f"len({path})", float(len(items)))
    table = _as_numbers(items, path, flat)
    if table is not None:
        flat.block(path if table.ndim == 1 else f"np.array({path})", table)
        return
    for index, item in enumerate(items):
        flat.child(item, f"{path}[{index}]")


def _as_numbers(items: list[Output], path: str, flat: Flat) -> np.ndarray | None:
    """The items as one array, if they are numbers, or rows of as many numbers each."""
    if not items:
        return None
    rows: list[Sequence[Output]] = [items]
    width = None
    if isinstance(items[0], list | tuple) and not hasattr(items[0], "_fields"):
        width = len(items[0])
        if not all(type(item) is type(items[0]) and len(item) == width for item in items):
            return None
        rows = [row for row in items if isinstance(row, list | tuple)]
    kinds = {type(entry) for row in rows for entry in row}
    if not kinds or not kinds <= _PLAIN:
        return None
    table = np.array(items, dtype=float)
    if not kinds.isdisjoint(_WHOLE) and float(np.abs(table).max(initial=0.0)) > EXACT:
        return None
    if len({type_name(kind()) for kind in kinds}) > 1:
        names = "".join(type_name(entry)[0] for row in rows for entry in row)
        flat.token(f"list(map(type, {path}))", names)
    return table


_WHOLE = frozenset((int, np.int64))
_PLAIN = frozenset((float, bool, np.float64, np.bool_)) | _WHOLE


@reads(Mapping, dict, MappingProxyType)
def read_mapping(value: Mapping[Output, Output], path: str, flat: Flat) -> None:
    """Each value by its key; which keys there are, and their order."""
    keys = list(value)
    flat.number(f"len({path})", float(len(keys)))
    flat.token(f"list({path})", ", ".join(key_text(key) for key in keys))
    _read_keys(keys, f"sorted({path})", flat)
    for key in keys:
        flat.child(value[key], f"{path}[{key_text(key)}]")


def _read_keys(keys: list[Any], path: str, flat: Flat) -> None:
    """Keys that are numbers may be the answer themselves."""
    if keys and all(isinstance(key, int | float) for key in keys):
        flat.block(path, np.sort(np.array([float(key) for key in keys])))


def key_text(key: Output) -> str:
    """A key as it is typed; double quotes, as people write them.

    >>> key_text("mean"), key_text((1, "a"))
    ('"mean"', "(1, 'a')")
    """
    if isinstance(key, str):
        return '"' + key.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    return repr(key)


@reads(AbstractSet, set, frozenset)
def read_set(value: AbstractSet[Output], path: str, flat: Flat) -> None:
    """Which members it has, how many, and their order where they are numbers."""
    members = list(value)
    flat.number(f"len({path})", float(len(members)))
    _read_keys(members, f"sorted({path})", flat)
    texts = sorted(key_text(member) for member in members)
    flat.token(f"sorted({path}, key=repr)", ", ".join(texts))
    for text in sorted(key_text(member) for member in members if not isinstance(member, float)):
        flat.flag(f"{text} in {path}")


def settled(value: Output) -> Output:
    """What a generator gives, and what a coroutine returns; anything else as it is."""
    if isinstance(value, Coroutine):
        import asyncio  # slow to import, and there is no coroutine without it

        run: Callable[..., Output] = asyncio.run
        try:
            return run(value)
        finally:
            value.close()
    return list(islice(value, MOST_NUMBERS)) if isinstance(value, Generator) else value


@reads_where(lambda value: isinstance(value, Generator | Iterator), last=True)
def read_iterator(value: Iterator[Output], path: str, flat: Flat) -> None:
    """All it gives, up to a limit."""
    items = list(islice(value, MOST_NUMBERS + 1))
    if len(items) > MOST_NUMBERS:
        flat.skip(path, f"it gives more than {MOST_NUMBERS:,} values; return a finite list")
        del items[MOST_NUMBERS:]
    flat.child(items, f"list({path})")


@reads_where(lambda value: isinstance(value, Coroutine))
def read_coroutine(value: Coroutine[Output, Output, Output], path: str, flat: Flat) -> None:
    """What it returns once it is awaited."""
    flat.child(settled(value), f"asyncio.run({path})")
