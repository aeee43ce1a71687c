"""Modules beside a target: importable by the target's own code, and by nobody else.

On sys.path, a file of the project would also stand in for whatever optional package some library
looks for. So a finder answers only what is asked from within the target's folder.
"""

from __future__ import annotations

import ast
import importlib
import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

PREFIX = "dpcheck_target_"  # names of files that were loaded as modules
_MACHINERY = ("<frozen importlib", os.path.dirname(importlib.__file__) + os.sep)
_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep  # loading a target, unpickling a task


class FromSource(SourceFileLoader):
    """Runs what a file says now, and keeps no compiled copy.

    Python takes a compiled copy for current that was made in the second of the last change, if the
    length is the same: the audit would be of other code than the one whose digest it reports.
    """

    def get_code(self, fullname: str) -> CodeType:
        """Compiled anew."""
        path = self.get_filename(fullname)
        code: CodeType = self.source_to_code(self.get_data(path), path)
        return code


class Siblings(MetaPathFinder):
    """Finds what lies beside the target whose turn it is.

    Two targets in two folders may each have a helpers.py: what was imported from the one folder is
    put away while the other is used.
    """

    def __init__(self) -> None:
        self._location: str | None = None
        self._folders: tuple[str, ...] = ()
        self._away: dict[tuple[str, ...], dict[str, ModuleType]] = {}

    def turn_to(self, location: str | None) -> None:
        """Make the modules beside a file importable, and those beside the one before not."""
        if location == self._location:
            return
        self._location = location
        folders = () if location is None else _folders(location)
        if folders == self._folders:
            return
        mine = {name: each for name, each in sys.modules.items() if self._is_below(each)}
        self._away[self._folders] = mine
        for name in mine:
            del sys.modules[name]
        self._folders = folders
        sys.modules.update(self._away.pop(folders, {}))
        if self not in sys.meta_path:
            sys.meta_path.append(self)  # last: installed packages come first
        importlib.invalidate_caches()

    def forget(self) -> None:
        """As in a new process."""
        self.turn_to(None)
        self._away.clear()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """A module of the folder, if its own code asks; inside packages Python finds its way."""
        if path is not None or not self._folders or not self._is_asked_from_inside():
            return None
        spec = PathFinder.find_spec(fullname, list(self._folders), target)
        if spec is not None and spec.origin and type(spec.loader) is SourceFileLoader:
            spec.loader = FromSource(fullname, spec.origin)
        return spec

    def _is_asked_from_inside(self) -> bool:
        frame = sys._getframe(2)
        while frame.f_back is not None and frame.f_code.co_filename.startswith(_MACHINERY):
            frame = frame.f_back
        file = os.path.abspath(frame.f_code.co_filename)
        return file.startswith((*(folder + os.sep for folder in self._folders), _OURS))

    def _is_below(self, module: object) -> bool:
        file = getattr(module, "__file__", None)
        name = str(getattr(module, "__name__", ""))
        if not isinstance(file, str) or name == "__main__" or name.startswith(PREFIX):
            return False
        spec = getattr(module, "__spec__", None)
        # What Python finds without us stays: it is the same module for every target.
        return file.startswith(tuple(folder + os.sep for folder in self._folders)) and not any(
            place and file.startswith(os.path.abspath(place) + os.sep)
            for place in (sys.path if spec is not None else ())
        )


SIBLINGS = Siblings()


def _folders(location: str) -> tuple[str, ...]:
    """The folder of a file, and the one above its package if it imports from that."""
    path = Path(location)
    folders = [str(path.parent)]
    name = dotted_name(path)
    if name is not None:
        folders.append(str(path.parents[name.count(".")]))
    return tuple(folders)


def is_relative(path: Path) -> bool:
    """Whether a file imports from the package it lies in."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return False  # loading it will say what is wrong
    return any(isinstance(node, ast.ImportFrom) and node.level > 0 for node in ast.walk(tree))


def dotted_name(path: Path) -> str | None:
    """The name of a file's module within the packages it lies in; None outside of any."""
    steps, folder = [path.stem], path.parent
    while (folder / "__init__.py").is_file() and folder.name.isidentifier():
        steps.insert(0, folder.name)
        folder = folder.parent
    return ".".join(steps) if len(steps) > 1 else None
