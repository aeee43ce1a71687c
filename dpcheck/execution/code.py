"""What an audit's result depends on, as one digest: code, data, parameters, installed packages."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import platform
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from dpcheck.core.data import Plain
from dpcheck.core.errors import InvalidProject

_PACKAGE = Path(__file__).parents[1]  # dpcheck's own source
_MOST_FILES = 5000


def key(dependencies: Mapping[str, Plain]) -> str:
    """A digest of everything that decides a result."""
    text = json.dumps(dependencies, sort_keys=True, default=str, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


@lru_cache(maxsize=1)
def environment() -> str:
    """A digest of dpcheck's own source, the installed packages and the interpreter."""
    own = {
        str(path.relative_to(_PACKAGE)): digest(path)
        for folder in (
            _PACKAGE,
            _PACKAGE / "audits",
            _PACKAGE / "mechanisms",
        )  # ** follows no links
        for path in sorted(folder.glob("**/*.py"))
    }
    packages = sorted(
        {item.name for folder in sys.path for item in Path(folder or ".").glob("*.dist-info")}
    )
    return key(
        {"own": own, "packages": packages, "python": sys.version, "machine": platform.machine()}
    )


def sources(start: Path, root: Path) -> dict[str, str]:
    """Digests of a file and of every local module it imports, however deep, even lazily.

    Local is what was not installed: neither the standard library nor a package in site-packages;
    those are in `environment`. Names that only exist at run time (import_module of a variable) are
    not seen; list such files under `inputs`.
    """
    found: dict[Path, str] = {}
    waiting = [start.resolve()]
    beside = start.resolve().parent  # where the code of a target finds modules, too
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        if len(found) >= _MOST_FILES:
            raise InvalidProject(f"{start} imports more than {_MOST_FILES} files of its own.")
        content = path.read_bytes()
        found[path] = hashlib.sha256(content).hexdigest()
        try:
            tree = ast.parse(content)
        except (SyntaxError, ValueError, RecursionError):
            continue  # imported it was; whatever it is, its bytes are in the digest
        waiting += [p for name in _imports(tree, path) for p in _files(name, beside) if is_local(p)]
    # Relative, so that a cache serves another checkout of the same project.
    return {os.path.relpath(path, root.resolve()): content for path, content in found.items()}


def inputs(root: Path, paths: tuple[str, ...]) -> dict[str, str]:
    """Digests of the data files an audit names; a folder stands for all files in it."""
    found: dict[str, str] = {}
    for text in paths:
        path = root / text
        if not path.exists():
            raise InvalidProject(f"inputs: there is no {text}.")
        files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
        if len(files) > _MOST_FILES:
            raise InvalidProject(f"inputs: {text} holds more than {_MOST_FILES} files.")
        found |= {str(file.relative_to(root)): digest(file) for file in files}
    return found


def digest(path: Path) -> str:
    """SHA-256 of a file's content."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _imports(tree: ast.AST, path: Path) -> Iterator[str | Path]:
    """Every module a file names, with the packages above it; relative ones as paths."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _with_parents(alias.name)
        elif isinstance(node, ast.ImportFrom):
            names = [alias.name for alias in node.names]
            if node.level:
                base = path.parents[min(node.level, len(path.parents)) - 1]
                base = base.joinpath(*(node.module or "").split("."))
                yield base
                yield from (base / name for name in names)
            elif node.module:
                yield from _with_parents(node.module)
                yield from (f"{node.module}.{name}" for name in names)


def _with_parents(name: str) -> Iterator[str]:
    steps = name.split(".")
    return (".".join(steps[: i + 1]) for i in range(len(steps)))


def _files(name: str | Path, beside: Path) -> Iterator[Path]:
    """The files a module may be in: where it was loaded from, else where it would be found."""
    if isinstance(name, Path):
        yield from _as_module(name)
        return
    loaded = getattr(sys.modules.get(name), "__file__", None)
    if isinstance(loaded, str):
        yield Path(loaded).resolve()
        return
    for folder in (*sys.path, str(beside)):
        yield from _as_module(Path(folder or ".").joinpath(*name.split(".")))


def _as_module(path: Path) -> Iterator[Path]:
    for candidate in (path.with_name(path.name + ".py"), path / "__init__.py"):
        if candidate.is_file():
            yield candidate.resolve()


@lru_cache(maxsize=1)
def _installed() -> tuple[Path, ...]:
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    places = {Path(sysconfig.get_path(name)).resolve() for name in names}
    own = (_PACKAGE, _PACKAGE / "audits", _PACKAGE / "mechanisms")  # the last two may be links
    return (*places, *(folder.resolve() for folder in own))


def is_installed(path: Path) -> bool:
    """Whether a file belongs to the standard library, to a package or to dpcheck itself."""
    if {"site-packages", "dist-packages"} & set(path.parts):
        return True
    # A project may live anywhere, and a virtual environment inside a project.
    return any(path.is_relative_to(place) for place in _installed())


def is_local(path: Path) -> bool:
    """Whether a file is somebody's own Python code.

    >>> is_local(Path(json.__file__))
    False
    """
    return path.suffix == ".py" and not is_installed(path)
