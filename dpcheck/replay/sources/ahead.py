"""Modules that a function imports when it is called: imported before anybody watches it.

An import runs the code of a whole package. Watched, it would be taken for what the function does, and an
import that is broken off leaves compiled packages half loaded: they cannot be imported a second time.
"""

from __future__ import annotations

import dis
import importlib
import inspect
import sys
from collections.abc import Iterator
from types import CodeType, FunctionType

from dpcheck.core.data import Value
from dpcheck.replay.draws import is_users


def import_ahead(function: Value) -> None:
    """Import what `function`, and the user's functions it names, import; what fails is left to them."""
    for name in dict.fromkeys(_imported(function)):
        if name not in sys.modules:
            try:
                importlib.import_module(name)
            except Exception:  # the call itself will say so, or never gets there
                continue


def _imported(function: Value) -> Iterator[str]:
    waiting: list[FunctionType] = [f for f in (_python(function),) if f is not None]
    seen = set(map(id, waiting))
    while waiting:
        current = waiting.pop()
        package = str(current.__globals__.get("__package__") or "")
        for code in _codes(current.__code__):
            yield from _statements(code, package)
            for name in code.co_names:
                found = _python(current.__globals__.get(name))
                if found is not None and id(found) not in seen and _is_theirs(found):
                    seen.add(id(found))
                    waiting.append(found)


def _python(value: Value) -> FunctionType | None:
    """The Python function behind a callable."""
    try:
        value = inspect.unwrap(value)
    except (TypeError, ValueError, AttributeError):
        return None
    value = getattr(value, "func", value)  # functools.partial
    value = getattr(value, "__func__", value)
    if not isinstance(value, FunctionType) and not isinstance(value, type):
        value = vars(type(value)).get("__call__")
    return value if isinstance(value, FunctionType) else None


def _is_theirs(function: FunctionType) -> bool:
    return is_users(function.__code__.co_filename)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _codes(each)


def _statements(code: CodeType, package: str) -> Iterator[str]:
    """Names of the modules that import statements of `code` ask for."""
    before: list[Value] = []
    for step in dis.get_instructions(code):
        if step.opname == "IMPORT_NAME":
            # The two constants before it are the level of a relative import and what is taken.
            level = before[-2] if len(before) >= 2 and isinstance(before[-2], int) else 0
            name = str(step.argval)
            if level == 0:
                yield name
            elif package:
                base = package.rsplit(".", level - 1)[0]
                yield f"{base}.{name}" if name else base
        elif step.opname == "LOAD_CONST":
            before.append(step.argval)
        elif step.opname == "LOAD_SMALL_INT":  # Python 3.14
            before.append(step.arg)
