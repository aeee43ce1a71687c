"""Which function reads which type: by class, by the name of a class elsewhere, or by structure.

Classes of other packages are known by name (package, class), so none of them is ever imported here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from dpcheck.core.data import Output

if TYPE_CHECKING:
    from dpcheck.auditing.outputs.flat import Flat

Reads = Callable[[Any, str, "Flat"], None]  # each function of the registry names its own type
F = TypeVar("F", bound=Reads)

_BY_CLASS: dict[type, Reads] = {}
_BY_NAME: dict[tuple[str, str], Reads] = {}
_BY_STRUCTURE: list[tuple[Callable[[Output], bool], Reads]] = []
_BUILT_IN = frozenset((float, int, bool, str, bytes, list, dict, set, type(None)))
_FALLBACK: list[tuple[Callable[[Output], bool], Reads]] = []


def reads(*classes: type) -> Callable[[F], F]:
    """Register a reader of these classes and their subclasses."""

    def mark(function: F) -> F:
        _BY_CLASS.update(dict.fromkeys(classes, function))
        return function

    return mark


def reads_named(package: str, *names: str) -> Callable[[F], F]:
    """Register a reader of classes of a package that may not be installed."""

    def mark(function: F) -> F:
        _BY_NAME.update({(package, name): function for name in names})
        return function

    return mark


def reads_where(condition: Callable[[Output], bool], *, last: bool = False) -> Callable[[F], F]:
    """Register a reader by structure; tried before the classes, or after them."""

    def mark(function: F) -> F:
        (_FALLBACK if last else _BY_STRUCTURE).append((condition, function))
        return function

    return mark


def reader_of(value: Output) -> Reads | None:
    """The function that reads `value`; None where nothing can."""
    if type(value) in _BUILT_IN:  # nearly all there is: no questions of structure
        return _BY_CLASS.get(type(value))
    for condition, function in _BY_STRUCTURE:
        if condition(value):
            return function
    for base in type(value).__mro__:
        if base in _BY_CLASS:
            return _BY_CLASS[base]
        package = str(getattr(base, "__module__", "")).partition(".")[0]
        if (package, base.__name__) in _BY_NAME:
            return _BY_NAME[package, base.__name__]
    for condition, function in _FALLBACK:
        if condition(value):
            return function
    return None
