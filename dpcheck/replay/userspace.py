"""The user's own modules while a run lasts: float(), np.zeros() and the like keep following.

Only names in modules of the audited project are replaced, never numpy or builtins themselves, and
only for the time of a run.
"""

from __future__ import annotations

import builtins
import math
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from dpcheck.core.data import Value
from dpcheck.replay.draws import is_users
from dpcheck.replay.following import arithmetic as a
from dpcheck.replay.following import values as v
from dpcheck.replay.following.arrays import FollowedArray, each, has_followed, wrap
from dpcheck.replay.following.functions import pick
from dpcheck.replay.following.ufuncs import scalar_ufunc
from dpcheck.replay.marks import MarkKind
from dpcheck.replay.recorder import Recorder
from dpcheck.replay.sources.bystanders import REAL_CLOCKS, clock_hooks
from dpcheck.replay.sources.generators import FollowedGenerator

_SMALL = 4096
_MISSING = object()


class _Kind(type):
    """A stand-in for float or int that converts followed values without losing them."""

    real: type
    dtype: np.dtype[Value]

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, cls.real)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, cls.real)

    def __call__(cls, *args: Value, **kwargs: Value) -> Value:
        value = args[0] if len(args) == 1 else None
        if isinstance(value, FollowedArray) and value.size == 1:
            value = value.item()
        if isinstance(value, v.Followed):
            return a.cast(value, np.dtype(cls.real))
        return cls.real(*args, **kwargs)

    def __getattr__(cls, name: str) -> Value:
        return getattr(cls.real, name)

    def __eq__(cls, other: object) -> bool:
        return other is cls.real or other is cls

    def __hash__(cls) -> int:
        return hash(cls.real)

    def __or__(cls, other: Value) -> Value:
        return cls.real | other

    def __ror__(cls, other: Value) -> Value:
        return other | cls.real


class _Float(metaclass=_Kind):
    real = float
    dtype = np.dtype(np.float64)


class _Int(metaclass=_Kind):
    real = int
    dtype = np.dtype(np.int64)


def _extreme(
    builtin: Callable[..., Value], two: Callable[..., Value], sign: float
) -> Callable[..., Value]:
    def extreme(*args: Value, **kwargs: Value) -> Value:
        if len(args) == 2 and not kwargs and any(isinstance(x, v.Followed) for x in args):
            return two(*args)
        if len(args) == 1 and set(kwargs) <= {"key"}:
            found = list(args[0])
            key = kwargs.get("key", lambda x: x)
            scores = [key(x) for x in found]
            if len(found) > 1 and all(isinstance(x, v.Affine) for x in scores):
                if not kwargs:
                    best = np.max if sign > 0 else np.min
                    return v.lose(lambda *x: float(best(x)), *found)
                winner = pick(scores, sign)
                if isinstance(winner, v.Tabled):
                    return (
                        v.merge_tables(lambda i: found[i], winner)
                        if _scalar(found)
                        else (found[winner.decide()])
                    )
            return builtin(found, **kwargs)
        return builtin(*args, **kwargs)

    return extreme


def _scalar(values: list[Value]) -> bool:
    return all(isinstance(x, str | int | float | bool) for x in values)


def _container(maker: Callable[..., Value]) -> Callable[..., Value]:
    """np.zeros and the like: small arrays of numbers that can take followed entries."""

    def make(*args: Value, **kwargs: Value) -> Value:
        made = maker(*args, **kwargs)
        if isinstance(made, np.ndarray) and made.size <= _SMALL and made.dtype == np.float64:
            return wrap(made, made.dtype)
        return made

    return make


def _array(maker: Callable[..., Value]) -> Callable[..., Value]:
    def make(value: Value, dtype: Value = None, *args: Value, **kwargs: Value) -> Value:
        if not _holds_followed(value):
            return maker(value, dtype, *args, **kwargs)
        if isinstance(value, v.Followed):
            return a.cast(value, np.dtype(dtype)) if dtype is not None else value
        found = value if isinstance(value, FollowedArray) else wrap(np.array(value, dtype=object))
        copied = found.copy() if maker is np.array else found
        return copied.astype(dtype) if dtype is not None else copied

    return make


def _holds_followed(value: Value) -> bool:
    if isinstance(value, list | tuple):
        return any(_holds_followed(x) for x in value)
    return has_followed(value)


def _number(maker: Value) -> Value:
    """np.float64 and the like, called on a followed value."""

    class Number(metaclass=_Kind):
        real = maker
        dtype = np.dtype(maker)

    return Number


class _NumpyProxy(types.ModuleType):
    """numpy with a few functions that know followed values."""

    def __init__(self) -> None:
        super().__init__("numpy")
        self.__dict__.update(
            {name: _container(getattr(np, name)) for name in ("zeros", "empty", "ones", "full")}
        )
        for name in ("zeros_like", "empty_like", "ones_like", "full_like"):
            self.__dict__[name] = _container(getattr(np, name))
        for name in ("array", "asarray", "asanyarray", "ascontiguousarray"):
            self.__dict__[name] = _array(getattr(np, name))
        for name in ("float64", "int64"):
            self.__dict__[name] = _number(getattr(np, name))

    def __getattr__(self, name: str) -> Value:
        return getattr(np, name)


class _MathProxy(types.ModuleType):
    """math, whose functions take followed values; where they may raise, that is a branch."""

    def __init__(self) -> None:
        super().__init__("math")

    def __getattr__(self, name: str) -> Value:
        real = getattr(math, name)
        if not callable(real):
            return real

        def function(*args: Value, **kwargs: Value) -> Value:
            followed = [x for x in args if isinstance(x, v.Followed)]
            if not followed:
                return real(*args, **kwargs)
            if real in a.NON_DECREASING or name in ("isnan", "isfinite", "isinf", "tanh", "atan"):
                ufunc = {"atan": np.arctan}.get(name) or getattr(np, name)
                return scalar_ufunc(ufunc)(*args)
            if name == "fsum" or name not in ("fabs", "hypot", "sin", "cos", "copysign"):
                followed[0].recorder.mark(MarkKind.BRANCH, f"math.{name} may raise")
            return v.lose(real, *args)

        return function


def _print(*values: Value, **named: Value) -> None:
    """print(), but for followed values, which would have to become text."""
    if not any(_holds_followed(value) for value in values):
        builtins.print(*values, **named)


NUMPY = _NumpyProxy()
MATH = _MathProxy()
_BUILTINS: dict[str, Value] = {
    "float": _Float,
    "int": _Int,
    "max": _extreme(builtins.max, a.maximum, 1.0),
    "min": _extreme(builtins.min, a.minimum, -1.0),
    "print": _print,
}
_FUNCTIONS = {
    id(getattr(np, name)): value for name, value in NUMPY.__dict__.items() if callable(value)
}


def users_modules(function: Value) -> list[dict[str, Value]]:
    """The globals of the function and of every imported module of the project."""
    found: list[dict[str, Value]] = []
    inner: Value = getattr(function, "__func__", function)
    while hasattr(inner, "__wrapped__"):
        inner = inner.__wrapped__
    own = getattr(inner, "__globals__", None)
    if own is None and hasattr(type(inner), "__call__"):  # noqa: B004 - its globals are wanted
        own = getattr(type(inner).__call__, "__globals__", None)
    if own is not None:
        found.append(own)
    for module in list(sys.modules.values()):
        if not isinstance(module, types.ModuleType) or vars(module) is own:
            continue
        theirs = module.__name__.partition(".")[0] != "dpcheck"
        if theirs and is_users(getattr(module, "__file__", None)):
            found.append(vars(module))
    return found


def _replacement(value: Value, recorder: Recorder) -> Value:
    if type(value) is np.random.Generator:
        return FollowedGenerator(recorder, 7)
    if id(value) in REAL_CLOCKS:
        return clock_hooks(recorder)[REAL_CLOCKS[id(value)]]
    if recorder.plain:
        return None
    if value is np:
        return NUMPY
    if value is math:
        return MATH
    return _FUNCTIONS.get(id(value))


@contextmanager
def following(modules: list[dict[str, Value]], recorder: Recorder) -> Iterator[None]:
    """Replace names in the user's modules for the time of the block; for a plain run generators only."""
    undo: list[tuple[dict[str, Value], str, Value]] = []
    try:
        for names in modules:
            for name, value in list(names.items()):
                if name.startswith("__"):
                    continue
                new = _replacement(value, recorder)
                if new is not None:
                    undo.append((names, name, value))
                    names[name] = new
            for name, value in _BUILTINS.items():
                if name not in names and not recorder.plain:
                    undo.append((names, name, _MISSING))
                    names[name] = value
        yield
    finally:
        for names, name, before in reversed(undo):
            if before is _MISSING:
                names.pop(name, None)
            else:
                names[name] = before


__all__ = ["each", "following", "users_modules"]
