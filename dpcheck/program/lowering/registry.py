"""Which function of a library is which part of the language: keyed by the very object."""

from __future__ import annotations

from collections.abc import Callable

Handler = Callable[..., object]
FUNCTIONS: dict[int, tuple[object, Handler]] = {}
METHODS: dict[str, Handler] = {}


def lower(*functions: object, methods: tuple[str, ...] = ()) -> Callable[[Handler], Handler]:
    """Register what a function of a library, or a method of arrays, is in the language."""

    def register(handler: Handler) -> Handler:
        for function in functions:
            FUNCTIONS[id(function)] = (function, handler)
        for name in methods:
            METHODS[name] = handler
        return handler

    return register


def lowered(function: object) -> Handler | None:
    """The lowering of that very object."""
    found = FUNCTIONS.get(id(function))
    return found[1] if found is not None and found[0] is function else None
