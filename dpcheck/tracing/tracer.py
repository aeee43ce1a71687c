"""One traced run: where a symbol's operation goes, what was released, and why it was refused."""

from __future__ import annotations

import operator
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import NoReturn

import numpy as np

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.data import Data
from dpcheck.core.errors import NotProvable
from dpcheck.replay.draws import UNKNOWN, Line, is_users
from dpcheck.tracing import registry, rules
from dpcheck.tracing.containers import Container, plain
from dpcheck.tracing.facts.boxes import Box, point
from dpcheck.tracing.facts.sizes import NOTHING, Size
from dpcheck.tracing.memory import coins_of, remembered, with_coins
from dpcheck.tracing.postprocessing import call_on_released, flattened, only_released
from dpcheck.tracing.releases import Release
from dpcheck.tracing.values import BLOCK, Aggregate, Ids, Released, Rows, Traced

Operation = Callable[[], Data]
Compute = Callable[[Callable[[Data], Data]], Data]
Applied = tuple[Data, tuple[Data, ...]] | None
MOST_ROWS = float(2**40)  # no dataset has more records, where their number is private
_OWN = str(Path(__file__).parent)


class Tracer:
    """State of one run. The first refusal stays, whatever the code does with the exception."""

    def __init__(self, adjacency: Adjacency) -> None:
        rules.load()
        self.adjacency = adjacency
        self.refusal: NotProvable | None = None
        self.releases: list[Release] = []
        self.assumes: dict[str, None] = {}
        self.examples = np.random.default_rng(20261117)
        self.left_at: Line | None = None  # where the function was left, or stands, once it was
        self._next_id = 0
        self._used: set[int] = set()
        self._held, self._filters = warnings.filters, list(warnings.filters)

    @property
    def public_rows(self) -> bool:
        """Whether the number of rows is the same for all neighbours."""
        return self.adjacency is not Adjacency.ADD_REMOVE

    def line(self) -> Line:
        """The innermost line of the user's code on the stack; after the call, where it was left."""
        if self.left_at is not None:
            return self.left_at
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            path = frame.f_code.co_filename
            if is_users(path) and not path.startswith(_OWN):
                return Line(path, frame.f_lineno)
            frame = frame.f_back
        return UNKNOWN

    def refuse(self, kind: str, message: str, remedy: str) -> NoReturn:
        """Not provable; remembered even if the code catches the exception."""
        where = self.line()
        error = NotProvable(
            f"not provable: {where}: {message}; {remedy}.",
            line=str(where),
            remedy=remedy,
            kind=kind,
        )
        if self.refusal is None:
            self.refusal = error
        raise error

    # Draws ---------------------------------------------------------------------------------------

    def new_ids(self, count: int) -> Ids:
        """Ids of numbers that are drawn now, or one id for many of them."""
        many = 1 if count > BLOCK else count
        first = self._next_id
        self._next_id += many
        return np.arange(first, first + many, dtype=np.int64)

    def use(self, ids: Ids, what: str) -> None:
        """Each drawn number protects one number of one release."""
        found = ids.ravel().tolist()
        if len(set(found)) < len(found):
            self.refuse(
                "shared-noise",
                f"one drawn number is added to several numbers ({what})",
                "draw one for each: pass size=...",
            )
        if not self._used.isdisjoint(found):
            self.refuse(
                "reused-noise",
                f"a drawn number is used a second time ({what})",
                "draw fresh noise for every release",
            )
        self._used.update(found)

    @property
    def spent_ids(self) -> set[int]:
        """Draws that were used for themselves, or protect a release."""
        return self._used

    # Where operations go -------------------------------------------------------------------------

    def ufunc(
        self, ufunc: np.ufunc, method: str, inputs: tuple[Data, ...], kwargs: dict[str, Data]
    ) -> Data:
        """A universal function, or one of its methods."""
        plain = method == "__call__" and not _without_out(kwargs)
        return self.run(
            lambda: self._ufunc(ufunc, method, inputs, dict(kwargs)),
            lambda real: getattr(ufunc, method)(*real(inputs), **_without_out(real(kwargs))),
            (ufunc, inputs) if plain else None,
        )

    def run(self, trace: Operation, compute: Compute, applied: Applied = None) -> Data:  # noqa: ARG002
        """One operation on symbols; `compute` does the same on real values, where there are some.

        `applied` is the function and its operands, where it is no more than that.
        """
        return trace()

    def spend(self, release: Release) -> None:
        """Called for each release before its value exists."""

    def chosen(self, release: Release) -> None:
        """Called when a release becomes a choice among its entries."""

    def _ufunc(
        self, ufunc: np.ufunc, method: str, inputs: tuple[Data, ...], kwargs: dict[str, Data]
    ) -> Data:
        from dpcheck.tracing.rules import elementwise

        inputs = tuple(plain(value) for value in inputs)
        if not any(isinstance(value, Traced) for value in inputs):
            return self._public(ufunc, method, inputs, kwargs)
        if method == "reduce" and ufunc in _REDUCED:
            along = {"axis": 0, **kwargs} if len(inputs) == 1 else kwargs  # np.sum takes all axes
            return self.function(_REDUCED[ufunc], inputs, along)
        if method != "__call__":
            self.unknown(f"np.{ufunc.__name__}.{method}")
        out = kwargs.pop("out", None)
        if only_released(inputs):
            found = call_on_released(self, ufunc, inputs, kwargs, elementwise.boxed(ufunc, inputs))
        else:
            self._guard_errors()
            if ufunc is np.matmul:
                found = registry.FUNCTIONS[np.matmul].apply(self, *inputs)
            else:
                found = elementwise.apply(self, ufunc, inputs, kwargs)
            found = with_coins(found, inputs)
        return found if out is None else self.put(out, found)

    def put(self, out: Data, found: Data) -> Data:
        """An operation in place."""
        from dpcheck.tracing.inplace import put

        return put(self, out, found)

    def function(self, function: Data, args: tuple[Data, ...], kwargs: dict[str, Data]) -> Data:
        """A function of numpy."""
        return self.run(
            lambda: self._function(function, args, dict(kwargs)),
            lambda real: function(*real(args), **real(kwargs)),
            None if kwargs else (function, args),
        )

    def _function(self, function: Data, args: tuple[Data, ...], kwargs: dict[str, Data]) -> Data:
        args = tuple(plain(value) for value in args)
        kwargs = {name: plain(value) for name, value in kwargs.items()}
        if not any(isinstance(value, Traced) for value in flattened((*args, *kwargs.values()))):
            return function(*args, **kwargs)
        name = str(getattr(function, "__name__", function))
        if only_released((*args, *kwargs.values())):
            found = call_on_released(self, function, args, kwargs, None)
            return remembered(name, args, kwargs, found)
        known = registry.FUNCTIONS.get(function)
        if known is None:
            self.unknown(f"np.{name}")
        self._guard_errors()
        try:
            found = remembered(name, args, kwargs, known.apply(self, *args, **kwargs))
            return with_coins(found, (*args, *kwargs.values()))
        except TypeError as error:
            if "argument" not in str(error):
                raise
            self.refuse(
                "unknown-operation",
                f"{known.name} is not known with these arguments ({error})",
                "leave them out",
            )

    def method(self, owner: Traced, name: str) -> Data:
        """A method of an array; refused when it is called, not when it is looked up."""

        def outer(*args: Data, **kwargs: Data) -> Data:
            return self.run(
                lambda: call(*args, **kwargs),
                lambda real: getattr(real(owner), name)(*real(args), **real(kwargs)),
                None if args or kwargs else (getattr(np, name, None), (owner,)),
            )

        def call(*args: Data, **kwargs: Data) -> Data:
            args = tuple(plain(value) for value in args)
            kwargs = {name: plain(value) for name, value in kwargs.items()}
            if isinstance(owner, Container):
                return self._container_method(owner, name, args, kwargs)
            if isinstance(owner, Released):

                def apply(x: Data, *rest: Data, **options: Data) -> Data:
                    return getattr(x, name)(*rest, **options)

                apply.__name__ = name
                found = call_on_released(self, apply, (owner, *args), kwargs, None)
                return remembered(name, (owner, *args), kwargs, found)
            known = registry.METHODS.get(name)
            if known is None:
                self.unknown(f".{name}()")
            self._guard_errors()
            found = known.apply(self, owner, *args, **kwargs)
            found = remembered(name, (owner, *args), kwargs, found)
            return with_coins(found, (owner, *args, *kwargs.values()))

        if name in registry.METHODS or callable(getattr(np.ndarray, name, None)):
            return outer
        if hasattr(np.ndarray, name):  # flags, base, strides and the like are facts of memory
            self.unknown(f".{name}")
        raise AttributeError(f"'numpy.ndarray' object has no attribute {name!r}")

    def index(self, owner: Traced, key: Data) -> Data:
        """owner[key]."""
        return self.run(
            lambda: self._index(owner, key),
            lambda real: real(owner)[real(key)],
            (operator.getitem, (owner, key)),
        )

    def _index(self, owner: Traced, key: Data) -> Data:
        from dpcheck.tracing.rules import indexing

        if isinstance(owner, Container):
            if any(isinstance(each, Traced) for each in flattened([plain(key)])):
                return self._public_by_symbol(owner, key)
            return owner.array[plain(key)].copy()
        key = tuple(plain(k) for k in key) if isinstance(key, tuple) else plain(key)
        if isinstance(owner, Released) and only_released((owner, *indexing.flat(key))):
            if any(isinstance(k, Released) and k.dtype.kind == "b" for k in indexing.flat(key)):
                self.refuse(
                    "released-path",
                    "a mask of released values decides a shape",
                    "use np.where, or decorate the function with @dpcheck.enforced",
                )
            return remembered(
                "view", (owner,), {}, call_on_released(self, _indexed, (owner, key), {}, None)
            )
        return with_coins(indexing.index(self, owner, key), (owner, key))

    def assign(self, owner: Traced, key: Data, value: Data) -> None:
        """owner[key] = value."""
        before = owner.value
        self.run(
            lambda: self._assign(owner, key, value),
            lambda real: _changed(before, real(key), real(value)),
        )

    def _assign(self, owner: Traced, key: Data, value: Data) -> Data:
        key = tuple(plain(k) for k in key) if isinstance(key, tuple) else plain(key)
        value = plain(value)
        from dpcheck.tracing.inplace import assign

        seen = coins_of((owner, key, value))
        assign(self, owner, key, value)
        owner.coins = seen
        return owner

    def _public(
        self, ufunc: np.ufunc, method: str, inputs: tuple[Data, ...], kwargs: dict[str, Data]
    ) -> Data:
        """A function of public arrays only."""
        out = kwargs.pop("out", None)
        found = getattr(ufunc, method)(*inputs, **kwargs)
        target = out[0] if isinstance(out, tuple) else out
        if target is None:
            return found
        if isinstance(target, Container):
            target.array[...] = found
            target.box = point(target.array)
            return target
        target[...] = found
        return target

    def _container_method(
        self, owner: Container, name: str, args: tuple[Data, ...], kwargs: dict[str, Data]
    ) -> Data:
        found = getattr(owner.array if name == "fill" else owner.array.copy(), name)(
            *args, **kwargs
        )
        owner.box = point(owner.array)
        return found

    def _public_by_symbol(self, owner: Container, key: Data) -> Data:
        """A public array looked up at released places."""
        if isinstance(key, Released) and key.dtype.kind in "iu":
            found = Released(self, owner.array, owner.box)
            return call_on_released(self, _indexed, (found, key), {}, None)
        return self.unknown("a public array looked up by a private value")

    def length(self, owner: Traced) -> Data:
        """The number of rows of something whose length is private."""
        if not isinstance(owner, Rows):
            self.unknown("a length of this value")
        found = Aggregate(
            self,
            (),
            np.dtype(np.int64),
            Box(np.asarray(0.0), np.asarray(MOST_ROWS), False, True),
            NOTHING if owner.rows.sampling and self.public_rows else Size(np.asarray(1.0)),
        )
        found.value = None if owner.value is None else len(owner.value)
        found.length_of = owner.rows
        found.coins = coins_of((owner,))  # how many coins fell on heads tells of each of them
        return found

    def unknown(self, name: str) -> NoReturn:
        """An operation nobody proved anything about."""
        self.refuse(
            "unknown-operation",
            f"{name} on a private value is not an operation whose effect is known",
            "see docs/reference/operations for what is, or add noise first",
        )

    def _guard_errors(self) -> None:
        """With np.errstate(...='raise') a private value would decide whether an error is raised."""
        if "raise" in np.geterr().values() or "call" in np.geterr().values():
            self.refuse(
                "private-control",
                "np.errstate or np.seterr turns floating-point errors of private values into exceptions",
                "leave it at warn or ignore",
            )
        now = warnings.filters
        fresh = [each for each in now if each not in self._filters]
        changed = now is not self._held or list(now) != self._filters
        # A filter that is gone may have stood before one that raises.
        gone = any(each not in now for each in self._filters)
        if changed and any(each[0] == "error" for each in (now if gone else (*fresh, *now[:1]))):
            self.refuse(
                "private-control",
                "warnings about private values are turned into exceptions",
                "leave the filters of warnings alone",
            )


def _without_out(kwargs: dict[str, Data]) -> dict[str, Data]:
    return {name: value for name, value in kwargs.items() if name != "out"}


def _changed(before: Data, key: Data, value: Data) -> Data:
    found = np.array(before)
    found[key] = value
    return found


def _indexed(value: Data, key: Data) -> Data:
    return value[key]


_indexed.__name__ = "index"

_REDUCED = {
    np.add: np.sum,
    np.maximum: np.max,
    np.minimum: np.min,
    np.logical_or: np.any,
    np.logical_and: np.all,
}
