"""Randomness that nobody can replay: the system's entropy, clocks, files, threads, compiled code.

While a run lasts, a profile function sees every call of a builtin function and every Python function
that is entered. A builtin of a module that is not known to be deterministic leaves a mark, and so
does Python code that refers to a compiled package by name: calls into it may not be visible.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import CodeType, FrameType, ModuleType

from dpcheck.core.data import Value
from dpcheck.replay.draws import is_users
from dpcheck.replay.marks import MarkKind
from dpcheck.replay.sources.base import Source
from dpcheck.replay.sources.known_modules import (
    ADAPTED,
    CLOCKS,
    COMPILED,
    DENIED,
    DETERMINISTIC,
    IDENTITIES,
    TODAY,
)
from dpcheck.replay.sources.profiling import give_back

_OWN = str(Path(__file__).parent.parent)


class Outside(Source):
    """Sees calls by sys.setprofile, in the thread of the run."""

    name = "outside"
    needs = "sys"

    def install(self) -> None:
        """Start watching, and keep whoever watched before for later."""
        self._before = sys.getprofile()
        # By identity, and kept alive: the hash of a code object is one of all that is in it.
        self._codes: dict[int, CodeType] = {}
        self._ours: dict[int, CodeType] = {}
        self._installed = self._watch
        sys.setprofile(self._installed)

    def remove(self) -> None:
        """Stop watching."""
        with self.recorder.quietly():
            replaced = sys.getprofile() is not self._installed
            give_back(self._before)
        if replaced:
            self.recorder.mark(MarkKind.NATIVE, "the profile function was replaced")
        super().remove()

    def _watch(self, frame: FrameType, event: str, function: Value) -> None:
        if event not in ("call", "c_call") or self.recorder.quiet:
            return
        code = frame.f_code
        if id(code) in self._ours:
            return
        if event == "c_call":
            self._called(frame, function)
        elif id(code) not in self._codes:
            self._codes[id(code)] = code
            if code.co_filename.startswith(_OWN):
                self._ours[id(code)] = code  # what following itself calls is known
            self._entered(frame)

    def _entered(self, frame: FrameType) -> None:
        """Python code is looked through once for names of compiled packages."""
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package in ADAPTED:
            self._ours[id(frame.f_code)] = frame.f_code
            return
        users = is_users(frame.f_code.co_filename)
        if not users and (package in DETERMINISTIC or package in sys.stdlib_module_names):
            return
        for name in frame.f_code.co_names:
            found = frame.f_globals.get(name)
            if name in COMPILED or (found is not None and _package(found) in COMPILED):
                self.recorder.mark(MarkKind.NATIVE, f"{frame.f_code.co_name} uses {name}")
                return

    def _called(self, frame: FrameType, function: Value) -> None:
        module, name = _module(function), getattr(function, "__name__", "?")
        top = module.partition(".")[0]
        called = f"{module}.{name}"
        if called == "_thread.start_new_thread":
            self.recorder.mark(MarkKind.THREAD, called)
        elif called in DENIED or top in CLOCKS or _is_clock(function, top, name):
            self.recorder.mark(MarkKind.ENTROPY, called)
        elif top not in DETERMINISTIC:
            self.recorder.mark(MarkKind.NATIVE, called)
        elif name in IDENTITIES and top == "builtins" and is_users(frame.f_code.co_filename):
            self.recorder.mark(MarkKind.ENTROPY, f"{name}()")


def _is_clock(function: Value, top: str, name: str) -> bool:
    owner = getattr(function, "__self__", None)
    return top in ("datetime", "_datetime", "builtins") and (
        name in TODAY and isinstance(owner, type)
    )


def _module(function: Value) -> str:
    module = getattr(function, "__module__", None)
    if not isinstance(module, str):
        owner = getattr(function, "__self__", None)
        kind = owner if isinstance(owner, type) else type(owner)
        module = owner.__name__ if isinstance(owner, ModuleType) else kind.__module__
    return str(module)


def _package(value: Value) -> str:
    """The package an object comes from."""
    if isinstance(value, ModuleType):
        return value.__name__.partition(".")[0]
    module = getattr(value, "__module__", None)
    if not isinstance(module, str):
        module = type(value).__module__
    return module.partition(".")[0]
