"""All libraries of the catalogue, found by the files of this room's folders."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from types import ModuleType

from dpcheck.libraries.entry import Library

_FOLDERS = ("central", "learning", "local", "synthetic")


@cache
def modules() -> dict[str, ModuleType]:
    """The file of each library, by the name it has on PyPI."""
    found = {}
    for folder in _FOLDERS:
        package = importlib.import_module(f"dpcheck.libraries.{folder}")
        for each in pkgutil.iter_modules(package.__path__):
            module = importlib.import_module(f"{package.__name__}.{each.name}")
            if isinstance(getattr(module, "LIBRARY", None), Library):
                found[module.LIBRARY.name] = module
    return dict(sorted(found.items()))


def libraries() -> dict[str, Library]:
    """The libraries, by name."""
    return {name: module.LIBRARY for name, module in modules().items()}
