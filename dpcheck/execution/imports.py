"""Loading somebody's modules here, and the same ones again in a worker.

A file is loaded under a name of its own, or under its dotted name where it lies in a package. What
is sent to a worker refers to classes and functions by those names, so a worker loads the same files
before it looks at anything it was sent.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType

from dpcheck.core.errors import DpcheckError, NothingToAudit
from dpcheck.execution.code import digest
from dpcheck.execution.facts import watched
from dpcheck.execution.interrupts import Interrupted, interruptible, time_limited
from dpcheck.execution.randomness import seeded
from dpcheck.execution.seeds import generator, stream
from dpcheck.execution.siblings import PREFIX, SIBLINGS, FromSource, dotted_name, is_relative


@dataclass(frozen=True, slots=True)
class _Loaded:
    module: ModuleType
    digest: str  # of the file as it was loaded; empty for what was imported by its name


_LOADED: dict[str, _Loaded] = {}  # by location


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a worker needs before it can read what it is sent: paths, a folder, loaded files."""

    path: tuple[str, ...]
    folder: str | None
    files: tuple[tuple[str, str], ...]  # location and digest

    def restore(self) -> None:
        """Make this process like the one that sent them."""
        add_to_path(*self.path)
        if self.folder is not None and os.getcwd() != self.folder:
            os.chdir(self.folder)
        for location, content in self.files:
            known = _LOADED.get(location)
            if known is not None and known.digest != content:
                forget(location)  # the file was changed since this worker loaded it
            load(location)


def surroundings(content: bytes, *, folder: bool) -> Surroundings:
    """What `content`, a pickle, needs; the working folder only for workers on the same machine."""
    needed = (
        (location, each.digest)
        for location, each in _LOADED.items()
        if each.digest
        and (location.encode() in content or each.module.__name__.encode() in content)
    )
    path = tuple(os.path.abspath(place) for place in sys.path if place)
    return Surroundings(path, os.getcwd() if folder else None, tuple(needed))


def add_to_path(*folders: str) -> None:
    """Last, so that no file of a project stands in for an installed package."""
    sys.path.extend(folder for folder in folders if folder not in sys.path)


def forget(location: str) -> None:
    """Load a location again the next time it is asked for."""
    known = _LOADED.pop(location, None)
    if known is not None and known.digest:
        sys.modules.pop(known.module.__name__, None)


def forget_all() -> None:
    """As in a new process."""
    for location in list(_LOADED):
        forget(location)
    SIBLINGS.forget()


def load(location: str, timeout: float | None = None) -> ModuleType:
    """The module at `path/file.py` or `package.module`."""
    if location.endswith(".py"):
        SIBLINGS.turn_to(location)
    if location not in _LOADED:
        with _contained(location, timeout):
            is_file = location.endswith(".py")
            content = digest(_existing(location)) if is_file else ""
            module = _from_file(Path(location)) if is_file else import_module(location)
        _LOADED[location] = _Loaded(module, content)
    return _LOADED[location].module


def _existing(location: str) -> Path:
    path = Path(location)
    if not path.is_file():
        raise NothingToAudit(f"there is no file {location}.")
    return path


@contextmanager
def _contained(location: str, timeout: float | None) -> Iterator[None]:
    """Import under a fixed seed, and let nothing the code raises pass for an end of the audit."""
    rng = generator(
        stream(0, "import", Path(location).name)
    )  # what it draws is the same in every worker
    try:
        with (
            seeded(None, rng),
            watched(entropy=False),
            interruptible(),
            time_limited(timeout, f"importing {location}"),
        ):
            yield
    except (DpcheckError, Interrupted):
        raise
    except BaseException as error:
        word = (
            f"{location} cannot be loaded"
            if location.endswith(".py")
            else (f"cannot import {location}")
        )
        raise NothingToAudit(f"{word}: {type(error).__name__}: {error}.{_hint(error)}") from error


def _hint(error: BaseException) -> str:
    if not isinstance(error, ModuleNotFoundError):
        return ""
    return (
        ' If it is yours: install it, or name its folder in the project file, pythonpath = ["."].'
    )


def _from_file(path: Path) -> ModuleType:
    name = dotted_name(path) if is_relative(path) else None
    if name is not None:
        spec = importlib.util.find_spec(name.partition(".")[0])
        # Unless an installed package of the same name is found instead.
        if spec is not None and spec.origin and path.is_relative_to(Path(spec.origin).parent):
            sys.modules.pop(name, None)
            return import_module(name)
    name = PREFIX + hashlib.blake2b(str(path).encode(), digest_size=6).hexdigest()
    spec = importlib.util.spec_from_file_location(name, path, loader=FromSource(name, str(path)))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
