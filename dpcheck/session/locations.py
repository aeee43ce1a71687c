"""Where audited code stands, for services that show findings beside it."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from pathlib import Path

from dpcheck.core.audit_result import Location
from dpcheck.core.errors import DpcheckError
from dpcheck.execution.references import parse
from dpcheck.session import registry


def locate(target: str, root: Path) -> Location | None:
    """The file and the line that define a target, relative to the checkout or else to `root`.

    The code is where the function is written, which need not be where its claim is. None for code
    outside the checkout; registered audits are named by their place in this package.
    """
    if ":" not in target:
        return _registered(target, root)
    try:
        found = _written(parse(target).load())
    except DpcheckError:  # a mechanism of the catalogue, which lives in another interpreter
        return None
    try:
        path = Path(inspect.getfile(found))
        code = getattr(found, "__code__", None)
        line = inspect.getsourcelines(found)[1] if code is None else code.co_firstlineno
    except (TypeError, OSError):
        return None
    shown = from_checkout(path, root)
    return None if shown is None else Location(shown, max(1, line))


def _registered(name: str, root: Path) -> Location | None:
    try:
        registry.get(name)
    except DpcheckError:  # a library of the catalogue
        return None
    module = registry.module_of(name)
    shown = from_checkout(Path(str(module.__file__)), root)
    return Location(shown or f"{module.__name__.replace('.', '/')}.py")


def _written(found: object) -> Callable[..., object]:
    """The function or class that somebody wrote, under wrappers, partials and methods."""
    while True:
        if isinstance(found, functools.partial):
            found = found.func
        elif hasattr(found, "__wrapped__"):
            found = found.__wrapped__
        elif inspect.ismethod(found):
            found = found.__func__
        else:
            break
    return found if inspect.isfunction(found) or inspect.isclass(found) else type(found)


def from_checkout(path: Path, root: Path) -> str | None:
    """A path as services that show a checkout want it; None for what lies outside."""
    checkout = os.environ.get("GITHUB_WORKSPACE")
    for base in ([Path(checkout)] if checkout else []) + [root]:
        if path.resolve().is_relative_to(base.resolve()):
            return path.resolve().relative_to(base.resolve()).as_posix()
    return None
