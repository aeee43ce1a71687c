"""Names in the user's modules while a trace lasts: len(), float(), np.array(), np.random and the like.

numpy's protocols do not reach what Python or numpy's constructors do themselves. Only names in modules of
the traced project are replaced, never numpy or builtins, and only for the time of a trace.
"""

from __future__ import annotations

import builtins
import math
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.core.data import Data
from dpcheck.replay.userspace import users_modules
from dpcheck.tracing.containers import Container
from dpcheck.tracing.generator import TracedGenerator
from dpcheck.tracing.rules.joining import array_of
from dpcheck.tracing.tables import Table
from dpcheck.tracing.values import PRIVATE, Rows, Traced

if TYPE_CHECKING:
    from dpcheck.tracing.tracer import Tracer

_MISSING = object()
_MAKERS = ("zeros", "empty", "ones", "full", "zeros_like", "empty_like", "ones_like", "full_like")
_LEGACY = {
    name: name
    for name in (
        *("laplace", "normal", "uniform", "exponential", "gumbel", "standard_normal", "binomial"),
        *("choice", "geometric", "random", "permutation", "standard_exponential"),
    )
} | {"random_sample": "random", "ranf": "random", "sample": "random"}


class _Kind(type):
    """A stand-in for float or int that casts symbols."""

    real: type

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, cls.real)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, cls.real)

    def __call__(cls, *args: Data, **kwargs: Data) -> Data:
        if len(args) == 1 and isinstance(args[0], Traced) and not isinstance(args[0], Container):
            return _number(args[0], np.dtype(cls.real))
        return cls.real(*args, **kwargs)

    def __getattr__(cls, name: str) -> Data:
        return getattr(cls.real, name)

    def __eq__(cls, other: object) -> bool:
        return other is cls.real or other is cls

    def __hash__(cls) -> int:
        return hash(cls.real)

    def __or__(cls, other: Data) -> Data:
        return cls.real | other

    def __ror__(cls, other: Data) -> Data:
        return other | cls.real


def _number(value: Traced, dtype: np.dtype[np.generic]) -> Data:
    if isinstance(value, Rows) or math.prod(value.dims) != 1:
        return value._leaves("is turned into a plain number", "use array operations")
    flat = value.reshape(()) if value.dims else value
    return flat.astype(dtype)


class _Float(metaclass=_Kind):
    real = float


class _Int(metaclass=_Kind):
    real = int


def _len(value: Data) -> Data:
    if isinstance(value, Table):
        value = next(iter(value.data.values()))
    if isinstance(value, Traced) and value.dims and value.dims[0] == PRIVATE:
        return value.tracer.length(value)
    return builtins.len(value)


def _extreme(builtin: Callable[..., Data], ufunc: np.ufunc) -> Callable[..., Data]:
    def extreme(*args: Data, **kwargs: Data) -> Data:
        values = (
            list(args[0]) if len(args) == 1 and isinstance(args[0], list | tuple) else list(args)
        )
        symbols = [v for v in values if isinstance(v, Traced) and not isinstance(v, Container)]
        if not symbols or kwargs or len(values) < 2:
            return builtin(*args, **kwargs)
        if any(v.dims for v in symbols):
            return symbols[0]._leaves("decides a branch in max() or min()", "use np.maximum")
        found = values[0]
        for value in values[1:]:
            found = ufunc(found, value)
        return found

    return extreme


def _sum(values: Data, start: Data = 0) -> Data:
    if isinstance(values, Traced) and not isinstance(values, Container):
        return np.sum(values, axis=0) + start
    return builtins.sum(values, start)


def _round(value: Data, digits: Data = None) -> Data:
    if isinstance(value, Traced) and not isinstance(value, Container):
        return np.round(value, digits or 0)
    return builtins.round(value) if digits is None else builtins.round(value, digits)


BUILTINS: dict[str, Data] = {
    "float": _Float,
    "int": _Int,
    "len": _len,
    "max": _extreme(builtins.max, np.maximum),
    "min": _extreme(builtins.min, np.minimum),
    "sum": _sum,
    "round": _round,
}


def _array(tracer: Tracer, maker: Callable[..., Data]) -> Callable[..., Data]:
    def make(value: Data, dtype: Data = None, *args: Data, **kwargs: Data) -> Data:
        symbol = array_of(tracer, value)
        if not isinstance(symbol, Traced) or isinstance(symbol, Container):
            return maker(value, dtype, *args, **kwargs)
        if args or set(kwargs) - {"copy"}:
            tracer.unknown("np.array with these options")
        copied = np.copy(symbol) if symbol is value and maker is np.array else symbol
        return copied if dtype is None else copied.astype(dtype)

    return make


def _container(tracer: Tracer, maker: Callable[..., Data]) -> Callable[..., Data]:
    def make(shape: Data, *args: Data, **kwargs: Data) -> Data:
        if isinstance(shape, Traced) and not isinstance(shape, Container):
            if PRIVATE in shape.dims or not shape.dims:
                tracer.refuse(
                    "private-length",
                    "an array as long as there are records is made, and their number is private",
                    "compute with the columns themselves",
                )
            shape, args = np.empty(shape.dims, dtype=shape.dtype), args
        made = maker(shape, *args, **kwargs)
        return Container(tracer, made) if made.dtype.kind in "fiu" else made

    return make


class _Numpy(types.ModuleType):
    """numpy, with constructors that take symbols."""

    def __init__(self, tracer: Tracer, random: types.ModuleType) -> None:
        super().__init__("numpy")
        names = self.__dict__
        names["random"] = random
        for name in ("array", "asarray", "asanyarray", "ascontiguousarray"):
            names[name] = _array(tracer, getattr(np, name))
        for name in _MAKERS:
            names[name] = _container(tracer, getattr(np, name))
        for name in ("float64", "float32", "int64", "int32", "float16", "int8", "int16", "uint8"):
            names[name] = _kind_of(getattr(np, name))

    def __getattr__(self, name: str) -> Data:
        return getattr(np, name)


def _kind_of(kind: Data) -> Data:
    class Number(metaclass=_Kind):
        real = kind
        dtype = np.dtype(kind)

    return Number


class _Random(types.ModuleType):
    """numpy.random: draws of the global generator, and generators made inside."""

    def __init__(self, tracer: Tracer) -> None:
        super().__init__("numpy.random")
        self._tracer = tracer
        self._global = TracedGenerator(tracer)

    def default_rng(self, seed: Data = None) -> Data:
        """A generator; one with a seed in the code draws the same noise every time."""
        if isinstance(seed, TracedGenerator):
            return seed
        if seed is not None:
            self._tracer.refuse(
                "fixed-seed",
                "the noise is drawn from a generator whose seed is known",
                "take the generator as an argument, or call np.random.default_rng()",
            )
        return TracedGenerator(self._tracer)

    def __getattr__(self, name: str) -> Data:
        if name in _LEGACY:
            return getattr(self._global, _LEGACY[name])
        if name == "Generator":
            return np.random.Generator
        if name == "rand":
            return lambda *shape: self._global.random(shape or None)
        if name == "randn":
            return lambda *shape: self._global.standard_normal(shape or None)
        if name == "randint":
            return lambda low, high=None, size=None: self._global.integers(low, high, size)
        if name.startswith("__"):
            raise AttributeError(name)
        return self._tracer.refuse(
            "unknown-noise",
            f"np.random.{name} is not followed",
            "draw from the generator that is handed in",
        )


class _Math(types.ModuleType):
    """math, whose functions of symbols are numpy's."""

    def __getattr__(self, name: str) -> Data:
        real = getattr(math, name)
        if not callable(real):
            return real

        def function(*args: Data) -> Data:
            symbols = [v for v in args if isinstance(v, Traced) and not isinstance(v, Container)]
            if not symbols:
                return real(*args)
            ufunc = {"atan": np.arctan, "fabs": np.fabs}.get(name) or getattr(np, name, None)
            if isinstance(ufunc, np.ufunc) and name in _MATHS:
                return ufunc(*args)
            return symbols[0].tracer.unknown(f"math.{name}, which may raise by the value it gets,")

        return function


_MATHS = (
    "exp",
    "tanh",
    "atan",
    "floor",
    "ceil",
    "fabs",
    "sin",
    "cos",
    "expm1",
    "isnan",
    "isfinite",
)


@contextmanager
def traced_names(tracer: Tracer, function: Data) -> Iterator[None]:
    """Replace names in the user's modules for the time of the block."""
    random = _Random(tracer)
    numpy = _Numpy(tracer, random)
    by_id: dict[int, Data] = {
        id(np): numpy,
        id(np.random): random,
        id(math): _Math("math"),
        id(np.random.default_rng): random.default_rng,
    }
    for name, value in numpy.__dict__.items():
        real = getattr(np, name, None)
        if callable(real) and not isinstance(real, type) and not name.startswith("__"):
            by_id[id(real)] = value
    undo: list[tuple[dict[str, Data], str, Data]] = []
    try:
        for names in users_modules(function):
            for name, value in list(names.items()):
                if name.startswith("__"):
                    continue
                new = (
                    TracedGenerator(tracer)
                    if type(value) is np.random.Generator
                    else by_id.get(id(value))
                )
                if new is not None:
                    undo.append((names, name, value))
                    names[name] = new
            for name, value in BUILTINS.items():
                if name not in names:
                    undo.append((names, name, _MISSING))
                    names[name] = value
        yield
    finally:
        for names, name, before in reversed(undo):
            if before is _MISSING:
                names.pop(name, None)
            else:
                names[name] = before
