"""A function as source that needs nothing of the project it is from, for a counterexample that travels.

The names that it uses are looked up in the files of the project and written out before it: functions,
classes, constants, imports of libraries. What cannot be found that way is not guessed: there is no source.
"""

from __future__ import annotations

import ast
import builtins
import dis
import inspect
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

from dpcheck.core.data import Value
from dpcheck.replay.draws import is_users

_MOST = 200  # definitions
_SECONDS = 60.0  # in which the source must be read without the project
_OURS = ("dpcheck", "audited", "batched")
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Scope = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class _Unknown(Exception):
    """A name whose source is not found."""


@dataclass(frozen=True)
class _File:
    """A file of the project: what its top level binds."""

    name: str
    package: str
    text: str
    tree: ast.Module

    @classmethod
    def of(cls, module: ModuleType | None, path: str | None) -> _File:
        if module is None or not path or not is_users(path):
            raise _Unknown
        try:
            text = Path(path).read_text(encoding="utf-8")
            tree = ast.parse(text)
        except (OSError, ValueError, SyntaxError) as error:
            raise _Unknown from error
        return cls(path, str(module.__package__ or ""), text, tree)

    def binding(self, name: str) -> ast.stmt:
        """The last statement of the top level, or inside its `if` and `try`, that binds a name."""
        found = [each for each in _statements(self.tree.body) if name in _bound(each)]
        if not found:
            raise _Unknown
        return found[-1]

    def source(self, node: ast.stmt) -> str:
        """A statement as it stands there."""
        return ast.get_source_segment(self.text, node) or ast.unparse(node)


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for each in body:
        if isinstance(each, ast.If | ast.Try):
            for part in ("body", "orelse", "finalbody"):
                yield from _statements(getattr(each, part, []))
        else:
            yield each


def _bound(node: ast.stmt) -> set[str]:
    if isinstance(node, _Scope):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(each.asname or each.name).partition(".")[0] for each in node.names}
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        stored = (each for each in ast.walk(node) if isinstance(each, ast.Name))
        return {each.id for each in stored if isinstance(each.ctx, ast.Store)}
    return set()


@dataclass
class _Bundle:
    """Definitions so far, those that others need first."""

    written: dict[str, str] = field(default_factory=dict)  # by the name they bind
    homes: dict[str, tuple[str, str]] = field(default_factory=dict)  # file and name there
    busy: list[str] = field(default_factory=list)
    spaces: dict[str, str] = field(default_factory=dict)  # modules of the project, by name

    def need(self, name: str, home: _File, alias: str | None = None) -> None:
        """Write what `name` is in a file, and all that this needs."""
        wanted = alias or name
        if name in vars(builtins) and not _binds(home, name):
            return
        node = home.binding(name)
        # The same import of a library in two files is one thing.
        identity = _library_import(node, wanted) or (home.name, name)
        if self.homes.setdefault(wanted, identity) != identity:
            raise _Unknown  # two things of one name
        if wanted in self.spaces:
            self.busy.append(wanted)
            raise _Space(self.spaces[wanted])
        if wanted in self.written or wanted in self.busy:
            return
        self.busy.append(wanted)
        self._write(wanted, node, name, home)
        self.busy.remove(wanted)
        if len(self.written) > _MOST:
            raise _Unknown

    def _write(self, wanted: str, node: ast.stmt, name: str, home: _File) -> None:
        if isinstance(node, ast.Import):
            self._import(wanted, node)
        elif isinstance(node, ast.ImportFrom):
            self._import_from(wanted, node, home)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            if len(_bound(node)) != 1:
                raise _Unknown
            self.used_by(node, home)
            self._put(wanted, name, home.source(node), home)
        elif isinstance(node, _Scope):
            self.define(node, home)
            if wanted != name:
                self.written[wanted] = f"{wanted} = {name}"
        else:
            raise _Unknown

    def define(self, node: ast.stmt, home: _File) -> None:
        """A function or a class, without what dpcheck decorates it with."""
        assert isinstance(node, _Scope)
        node.decorator_list = [each for each in node.decorator_list if _root(each) not in _OURS]
        self.used_by(node, home)
        # A segment of source begins after the decorators.
        text = ast.unparse(node) if node.decorator_list else home.source(node)
        self._put(node.name, node.name, text, home)

    def _put(self, wanted: str, name: str, text: str, home: _File) -> None:
        if self.homes.setdefault(name, (home.name, name)) != (home.name, name):
            raise _Unknown  # two things of one name
        self.written[wanted] = text if wanted == name else f"{text}\n{wanted} = {name}"

    def _import(self, wanted: str, node: ast.Import) -> None:
        (found,) = (e for e in node.names if (e.asname or e.name).partition(".")[0] == wanted)
        module = sys.modules.get(found.name)
        if _is_of_project(module):
            raise _Unknown if found.asname is None and "." in found.name else _Space(found.name)
        self.written[wanted] = f"import {found.name}" + (
            f" as {found.asname}" if found.asname else ""
        )

    def _import_from(self, wanted: str, node: ast.ImportFrom, home: _File) -> None:
        (found,) = (e for e in node.names if (e.asname or e.name) == wanted)
        package = home.package.rsplit(".", node.level - 1)[0] if node.level else ""
        origin = ".".join(part for part in (package, node.module) if part)
        module = sys.modules.get(origin)
        if not _is_of_project(module):
            if node.level:
                raise _Unknown
            text = f"from {origin} import {found.name}"
            self.written[wanted] = text + (f" as {found.asname}" if found.asname else "")
            return
        if _is_of_project(sys.modules.get(f"{origin}.{found.name}")):
            raise _Space(f"{origin}.{found.name}")
        assert module is not None
        other = _File.of(module, getattr(module, "__file__", None))
        self.homes.pop(wanted)
        self.busy.remove(wanted)
        self.need(found.name, other, None if wanted == found.name else wanted)
        self.busy.append(wanted)

    def used_by(self, node: ast.AST, home: _File) -> None:
        """Everything that a piece of source names and does not bind itself."""
        own = _own_names(node)
        for name in _named(node):
            if name in own:
                continue
            try:
                self.need(name, home)
            except _Space as space:
                self._space(name, space.module, node)

    def _space(self, name: str, module_name: str, node: ast.AST) -> None:
        """A module of the project that is used by its attributes only."""
        uses = [each for each in ast.walk(node) if isinstance(each, ast.Name) and each.id == name]
        dotted = [
            each
            for each in ast.walk(node)
            if isinstance(each, ast.Attribute)
            and isinstance(each.value, ast.Name)
            and each.value.id == name
        ]
        self.busy.remove(name)
        self.spaces[name] = module_name
        if len(uses) != len(dotted):
            raise _Unknown
        module = sys.modules[module_name]
        home = _File.of(module, getattr(module, "__file__", None))
        held = dict.fromkeys(each.attr for each in dotted)
        before = self.written.pop(name, "")
        for attribute in held:
            self.need(attribute, home)
        lines = [f"{name}.{attribute} = {attribute}" for attribute in held]
        start = before or f"import types\n\n{name} = types.SimpleNamespace()"
        self.written[name] = "\n".join([start, *(x for x in lines if x not in start)])


class _Space(_Unknown):
    """A name that stands for a module of the project."""

    def __init__(self, module: str) -> None:
        super().__init__(module)
        self.module = module


def _library_import(node: ast.stmt, name: str) -> tuple[str, str] | None:
    if not isinstance(node, ast.Import | ast.ImportFrom):
        return None
    if isinstance(node, ast.ImportFrom) and (
        node.level or _is_of_project(sys.modules.get(node.module or ""))
    ):
        return None
    found = next(e for e in node.names if (e.asname or e.name).partition(".")[0] == name)
    if isinstance(node, ast.Import) and _is_of_project(sys.modules.get(found.name)):
        return None
    return str(getattr(node, "module", "")), found.name


def _binds(home: _File, name: str) -> bool:
    return any(name in _bound(each) for each in _statements(home.tree.body))


def _is_of_project(module: Value) -> bool:
    path = getattr(module, "__file__", None)
    return isinstance(module, ModuleType) and bool(path) and is_users(path)


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Call | ast.Attribute):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _named(node: ast.AST) -> list[str]:
    """Names that are read; those of annotations are never looked up."""
    skipped: set[int] = set()
    for each in ast.walk(node):
        for part in ("annotation", "returns"):
            inner = getattr(each, part, None)
            if isinstance(inner, ast.AST):
                skipped |= {id(one) for one in ast.walk(inner)}
    names = (
        each for each in ast.walk(node) if isinstance(each, ast.Name) and id(each) not in skipped
    )
    return list(dict.fromkeys(each.id for each in names if isinstance(each.ctx, ast.Load)))


def _own_names(node: ast.AST) -> set[str]:
    """What it binds inside: parameters, local variables, inner functions, itself."""
    if isinstance(node, ast.Assign | ast.AnnAssign):
        inner = [each for each in ast.walk(node) if isinstance(each, ast.comprehension | ast.arg)]
        return _stored(inner)
    declared = (each for each in ast.walk(node) if isinstance(each, ast.Global))
    shared = {name for each in declared for name in each.names}
    inside = _stored([node]) | {e.name for e in ast.walk(node) if isinstance(e, _Scope)}
    return inside - shared


def _stored(nodes: Sequence[ast.AST]) -> set[str]:
    found: set[str] = set()
    for node in nodes:
        for each in ast.walk(node):
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
                found.add(each.id)
            elif isinstance(each, ast.arg):
                found.add(each.arg)
            elif isinstance(each, ast.ExceptHandler) and each.name:
                found.add(each.name)
            elif isinstance(each, ast.Import | ast.ImportFrom):
                found |= _bound(each)
    return found


def standalone(function: Callable[..., Value]) -> str | None:
    """Source that ends in `function = ...` and runs anywhere its libraries are; None where there is none."""
    inner = inspect.unwrap(function)
    if not isinstance(inner, FunctionType) or inner.__code__.co_freevars:
        return None
    try:
        home = _File.of(sys.modules.get(inner.__module__), inner.__code__.co_filename)
        node = _definition(home, inner)
        bundle = _Bundle()
        bundle.homes[node.name] = (home.name, node.name)
        bundle.busy.append(node.name)
        bundle.define(node, home)
    except _Unknown:
        return None
    parts = "\n\n\n".join(bundle.written.values())
    text = f"{parts}\n\n\nfunction = {node.name}"
    return text if _is_whole(text) and _is_read_elsewhere(text) else None


def _is_whole(text: str) -> bool:
    """Whether every global name that its functions read is bound."""
    code = compile(text, "standalone", "exec")
    bound = {step.argval for step in dis.get_instructions(code) if step.opname == "STORE_NAME"}
    return all(
        step.argval in bound or hasattr(builtins, step.argval)
        for inner in _codes(code)
        for step in dis.get_instructions(inner)
        if step.opname == "LOAD_GLOBAL"
    )


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _codes(each)


def _definition(home: _File, function: FunctionType) -> _Function:
    """The `def` of a function; decorators stand before it."""
    first = function.__code__.co_firstlineno
    for each in home.tree.body:
        if isinstance(each, _Function) and each.name == function.__name__:
            start = min([each.lineno, *(d.lineno for d in each.decorator_list)])
            if start <= first <= each.lineno:
                return each
    raise _Unknown


def _is_read_elsewhere(text: str) -> bool:
    """Whether Python takes it in an empty directory, without the project on its path."""
    with tempfile.TemporaryDirectory() as empty:
        try:
            done = subprocess.run(
                [sys.executable, "-I", "-c", f"from __future__ import annotations\n{text}"],
                cwd=empty,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except (OSError, subprocess.SubprocessError):
            return False
    return done.returncode == 0
