"""Generators nobody hands over: set from the seed of a batch, so that runs are independent.

A seed at the top of somebody's file (np.random.seed(0), RNG = default_rng(0)) would make every
worker replay the same noise. So numpy's, Python's and torch's global generators, and generators kept
in the code's own modules, closures and objects, are set from the seed of what is run. A seed that
the function sets while it runs is its own affair and stays.
"""

from __future__ import annotations

import functools
import random
import sys
import types
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.execution.code import is_installed

Words = NDArray[np.uint32]
_WORDS = 4  # 128 bits for every generator
_MOST_OBJECTS = 2000
_MOST_ITEMS = 64
_TAG = zlib.crc32(b"global generators")


@dataclass(frozen=True, slots=True)
class _Kind:
    """How the state of one kind of generator is kept, given back and set from a seed."""

    save: Callable[[Any], Any]
    restore: Callable[[Any, Any], object]
    seed: Callable[[Any, Words], object]


def _whole(words: Words) -> int:
    return int.from_bytes(words.tobytes(), "little")


def _reseed_legacy(generator: Any, words: Words) -> None:
    try:
        generator.seed(words)
    except TypeError:  # numpy re-seeds no other bit generator than its oldest
        state = generator.get_state(legacy=False)
        kind: Any = getattr(np.random, state["bit_generator"])
        generator.set_state(kind(np.random.SeedSequence(_whole(words))).state)


def _reseed_numpy(generator: Any, words: Words) -> None:
    inner = generator.bit_generator
    inner.state = type(inner)(np.random.SeedSequence(_whole(words))).state


def _set_numpy(generator: Any, state: Any) -> None:
    generator.bit_generator.state = state


_LEGACY = _Kind(lambda g: g.get_state(legacy=False), lambda g, s: g.set_state(s), _reseed_legacy)
_NUMPY = _Kind(lambda g: g.bit_generator.state, _set_numpy, _reseed_numpy)
_PYTHON = _Kind(lambda g: g.getstate(), lambda g, s: g.setstate(s), lambda g, w: g.seed(_whole(w)))
_TORCH_GLOBAL = _Kind(
    lambda g: g.get_rng_state(),
    lambda g, s: g.set_rng_state(s),
    lambda g, w: g.manual_seed(_whole(w[:2]) >> 1),
)
_TORCH = _Kind(
    lambda g: g.get_state(),
    lambda g, s: g.set_state(s),
    lambda g, w: g.manual_seed(_whole(w[:2]) >> 1),
)

_GLOBAL = {"numpy.random": _LEGACY, "random": _PYTHON, "torch": _TORCH_GLOBAL}
Found = dict[str, tuple[Any, _Kind]]


def _kind_of(value: object) -> _Kind | None:
    if isinstance(value, np.random.Generator):
        return _NUMPY
    if isinstance(value, np.random.RandomState):
        return _LEGACY
    if isinstance(value, random.Random) and not isinstance(value, random.SystemRandom):
        return _PYTHON
    torch: Any = sys.modules.get("torch")
    if torch is not None and isinstance(value, getattr(torch, "Generator", ())):
        return _TORCH
    return None


def generators(function: object) -> Found:
    """Every generator `function` can draw from without being handed it, by a name for its place."""
    found: Found = {}
    for name, kind in _GLOBAL.items():
        module = sys.modules.get(name)
        if hasattr(module, "seed") or hasattr(module, "manual_seed"):  # imported, and to the end
            found[name] = (module, kind)
    seen: set[int] = set()
    waiting: list[tuple[str, object]] = [("", function)]
    while waiting and len(seen) < _MOST_OBJECTS:
        name, value = waiting.pop()
        if id(value) in seen or isinstance(value, str | bytes | int | float | np.ndarray):
            continue
        seen.add(id(value))
        own_kind = _kind_of(value)
        if own_kind is not None:
            found[name] = (value, own_kind)
        else:
            waiting.extend((f"{name}.{step}", child) for step, child in _children(value))
    return found


@functools.lru_cache(maxsize=4096)
def _is_foreign(file: str) -> bool:
    return is_installed(Path(file).resolve())


def _is_own(module: object) -> bool:
    """Whether code of this module is somebody's own: not a package's, not the standard library's."""
    if module is None or getattr(module, "__name__", "") == "builtins":
        return False
    file = getattr(module, "__file__", None)
    # Without a file: a script's or notebook's main module, or one that is part of the interpreter.
    return not _is_foreign(file) if file else getattr(module, "__name__", "") == "__main__"


def _children(value: Any) -> Iterator[tuple[str, object]]:
    """What can be reached from a value in one step, as far as it is somebody's own."""
    inner = getattr(type(value), "__wrapped__", None)
    if isinstance(inner, property):  # a wrapper of ours, which loads what it stands for
        yield "wrapped", value.__wrapped__
    elif isinstance(value, functools.partial):
        yield "func", value.func
        yield from ((str(i), item) for i, item in enumerate(value.args))
        yield from value.keywords.items()
    elif isinstance(value, types.MethodType):
        yield "self", value.__self__
        yield "func", value.__func__
    elif isinstance(value, types.FunctionType):
        yield from _of_function(value)
    elif isinstance(value, types.ModuleType):
        if _is_own(value):
            yield from list(vars(value).items())
    elif isinstance(value, dict):
        if len(value) <= _MOST_ITEMS:
            yield from ((str(key), item) for key, item in value.items())
    elif isinstance(value, list | tuple):
        if len(value) <= _MOST_ITEMS:
            yield from ((str(i), item) for i, item in enumerate(value))
    else:
        cls = value if isinstance(value, type) else type(value)
        if _is_own(sys.modules.get(cls.__module__)):
            yield from list(getattr(value, "__dict__", {}).items())
            if cls is not value:
                yield "class", cls


def _of_function(function: types.FunctionType) -> Iterator[tuple[str, object]]:
    for index, cell in enumerate(function.__closure__ or ()):
        try:
            yield f"cell{index}", cell.cell_contents
        except ValueError:  # not filled yet
            continue
    yield from ((f"default{i}", item) for i, item in enumerate(function.__defaults__ or ()))
    yield from (function.__kwdefaults__ or {}).items()
    if hasattr(function, "__wrapped__"):
        yield "wrapped", function.__wrapped__
    file = function.__globals__.get("__file__")
    if file and _is_foreign(file):
        return
    for name in _names(function.__code__):
        if name in function.__globals__:
            yield name, function.__globals__[name]


@functools.lru_cache(maxsize=1024)
def _names(code: types.CodeType) -> tuple[str, ...]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names.update(_names(constant))
    return tuple(sorted(names))


class Seeded:
    """The generators around a function, to be set from the seed of a batch."""

    def __init__(self, function: object, base: np.random.SeedSequence) -> None:
        self._function, self._base = function, base
        self.found = generators(function)

    def set(self, part: int = 0) -> None:
        """Every generator as the seed has it; parts of a batch have seeds of their own."""
        for name, (generator, kind) in self.found.items():
            key = (*self._base.spawn_key, _TAG, zlib.crc32(name.encode()), part)
            sequence = np.random.SeedSequence(self._base.entropy, spawn_key=key)
            words: Words = sequence.generate_state(_WORDS).astype(np.uint32)
            kind.seed(generator, words)

    def look_again(self) -> bool:
        """Whether a run brought new generators into being."""
        before = {name: id(g) for name, (g, _) in self.found.items()}
        self.found = generators(self._function)
        return {name: id(g) for name, (g, _) in self.found.items()} != before


_PRESERVED = False  # whether the global generators are given back further out, or need not be


@contextmanager
def preserved(*, give_back: bool = True) -> Iterator[None]:
    """Give the global generators back as they were; a worker, which has no other user, need not."""
    global _PRESERVED
    if _PRESERVED:
        yield
        return
    kept = [(g, kind, kind.save(g)) for g, kind in generators(None).values()] if give_back else []
    _PRESERVED = True
    try:
        yield
    finally:
        _PRESERVED = False
        for generator, kind, state in kept:
            kind.restore(generator, state)


def seed_of(rng: np.random.Generator) -> np.random.SeedSequence:
    """The seed a generator was made from."""
    base = rng.bit_generator.seed_seq
    return base if isinstance(base, np.random.SeedSequence) else np.random.SeedSequence(0)


@contextmanager
def seeded(function: object, rng: np.random.Generator) -> Iterator[Seeded]:
    """Generators around `function` set from the seed of `rng`; all as they were, afterwards.

    Guarantee: what is drawn from them depends on the seed alone, and is independent of what is
    drawn from `rng` and in other batches.
    """
    around = Seeded(function, seed_of(rng))
    own = [(g, kind, kind.save(g)) for n, (g, kind) in around.found.items() if n not in _GLOBAL]
    with preserved():
        around.set()
        try:
            yield around
        finally:
            for generator, kind, state in own:
                kind.restore(generator, state)
