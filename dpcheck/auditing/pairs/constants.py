"""Numbers and words that stand in somebody's code: thresholds, limits and categories are among them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import CodeType, FunctionType

from dpcheck.core.data import Value

_MOST = 64  # of each sort
_FUNCTIONS = 64  # that are looked through


def constants_of(function: Value) -> tuple[tuple[float, ...], tuple[str, ...]]:
    """(numbers, texts) in the code of a function and of the functions beside it that it names or holds.

    >>> constants_of(lambda data: "many" if len(data) > 77 else "few")
    ((77.0,), ('many', 'few'))
    """
    numbers: dict[float, None] = {}
    texts: dict[str, None] = {}
    for value in _values(function):
        if isinstance(value, bool | complex):
            continue
        if isinstance(value, int | float) and abs(value) < 1e15:
            numbers[float(value)] = None
        elif isinstance(value, str) and value and len(value) <= 100:
            texts[value] = None
    return tuple(numbers)[:_MOST], tuple(texts)[:_MOST]


def _values(function: Value) -> Iterator[Value]:
    waiting = [_python(function)]
    seen: set[int] = set()
    while waiting and len(seen) < _FUNCTIONS:
        current = waiting.pop()
        if current is None or id(current.__code__) in seen:
            continue
        seen.add(id(current.__code__))
        yield from _in_code(current.__code__, current.__doc__)
        held = (
            *(current.__defaults__ or ()),
            *(current.__kwdefaults__ or {}).values(),
            *_cells(current),
        )
        yield from _plain(held)
        waiting += [_python(each) for each in held if callable(each) and _is_near(each, current)]
        for name in _names(current.__code__):
            found = current.__globals__.get(name)
            if isinstance(found, int | float | str | tuple | list):
                yield from _plain((found,))
            elif _is_near(found, current):
                waiting.append(_python(found))


def _is_near(found: Value, current: FunctionType) -> bool:
    """Whether something was written in the same file, so its numbers may be thresholds."""
    return getattr(found, "__module__", None) == current.__module__


def _python(value: Value) -> FunctionType | None:
    try:
        value = inspect.unwrap(value)
    except (TypeError, ValueError, AttributeError):
        return None
    value = getattr(value, "func", value)  # functools.partial
    value = getattr(value, "__func__", value)
    if not isinstance(value, FunctionType) and not isinstance(value, type):
        value = vars(type(value)).get("__call__")
    return value if isinstance(value, FunctionType) else None


def _cells(function: FunctionType) -> Iterator[Value]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not filled yet
            continue


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _names(each)


def _in_code(code: CodeType, about: str | None) -> Iterator[Value]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _in_code(each, None)
        elif each is not about:
            yield from _plain((each,))


def _plain(values: Value) -> Iterator[Value]:
    for each in values:
        if isinstance(each, tuple | list | frozenset) and len(each) <= _MOST:
            yield from _plain(each)
        else:
            yield each
