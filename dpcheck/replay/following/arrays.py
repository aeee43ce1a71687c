"""Arrays of followed scalars: an ndarray subclass of dtype object that says float to its user.

Each entry is a plain number or a `Followed` scalar, so views, indexing and assignment are numpy's
own, and no compiled code can read a number out of it without calling a method of that scalar.
"""

from __future__ import annotations

import dis
import itertools
import sys
from collections.abc import Callable
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any

import numpy as np

from dpcheck.replay.following import arithmetic as a
from dpcheck.replay.following import values as v
from dpcheck.replay.marks import MarkKind
from dpcheck.replay.recorder import active

_INPLACE = "written into a plain array"


class FollowedArray(np.ndarray[Any, Any]):
    """An array whose entries may be followed; `native` is the dtype the user's code would see."""

    native: np.dtype[Any]

    def __array_finalize__(self, parent: Any) -> None:
        self.native = getattr(parent, "native", np.dtype(np.float64))

    def __array_ufunc__(  # type: ignore[override]
        self, ufunc: Any, method: str, *inputs: Any, **keywords: Any
    ) -> Any:
        return on_ufunc(ufunc, method, inputs, keywords)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        from dpcheck.replay.following.functions import on_function

        return on_function(function, args, kwargs)

    @property
    def dtype(self) -> Any:  # type: ignore[override]
        """The dtype the array would have without following."""
        return self.native

    def __setitem__(self, key: Any, value: Any) -> None:
        if self.native.kind in "iub":
            value = each(lambda x: _cast(x, self.native), value)
        super().__setitem__(plain_key(key), _objects(value))

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(plain_key(key))
        return found

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError("The truth value of an array with more than one element is ambiguous.")
        return bool(self.ravel()[0])

    def __reduce__(self) -> Any:
        return np.asarray(to_plain(self, "pickle")).__reduce__()

    def __deepcopy__(self, memo: object) -> FollowedArray:
        return self.copy()

    def __format__(self, spec: str) -> str:
        return format(to_plain(self, "text"), spec)

    def __repr__(self) -> str:
        return repr(to_plain(self, "text"))

    def __str__(self) -> str:
        return str(to_plain(self, "text"))

    # Methods whose compiled versions look at the dtype.
    def astype(self, dtype: Any, *_: Any, **__: Any) -> Any:  # type: ignore[override]
        """Another dtype; integers truncate."""
        kind = np.dtype(dtype)
        result = each(lambda x: _cast(x, kind), self)
        if isinstance(result, FollowedArray):
            result.native = kind
        return result

    def _through(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    def mean(self, *args: Any, **kwargs: Any) -> Any:
        """np.mean."""
        return self._through(np.mean, *args, **kwargs)

    def clip(self, *args: Any, **kwargs: Any) -> Any:
        """np.clip."""
        return self._through(np.clip, *args, **kwargs)

    def round(self, *args: Any, **kwargs: Any) -> Any:
        """np.round."""
        return self._through(np.round, *args, **kwargs)

    def argmax(self, *args: Any, **kwargs: Any) -> Any:
        """np.argmax."""
        return self._through(np.argmax, *args, **kwargs)

    def argmin(self, *args: Any, **kwargs: Any) -> Any:
        """np.argmin."""
        return self._through(np.argmin, *args, **kwargs)

    def max(self, *args: Any, **kwargs: Any) -> Any:
        """np.max."""
        return self._through(np.max, *args, **kwargs)

    def min(self, *args: Any, **kwargs: Any) -> Any:
        """np.min."""
        return self._through(np.min, *args, **kwargs)

    def std(self, *args: Any, **kwargs: Any) -> Any:
        """np.std."""
        return self._through(np.std, *args, **kwargs)

    def var(self, *args: Any, **kwargs: Any) -> Any:
        """np.var."""
        return self._through(np.var, *args, **kwargs)

    def argsort(self, *args: Any, **kwargs: Any) -> Any:
        """np.argsort."""
        return self._through(np.argsort, *args, **kwargs)

    def prod(self, *args: Any, **kwargs: Any) -> Any:
        """np.prod."""
        return self._through(np.prod, *args, **kwargs)

    def dot(self, other: Any) -> Any:  # type: ignore[override]
        """np.dot."""
        return np.dot(self, other)

    def item(self, *args: Any) -> Any:  # type: ignore[override]
        """One entry, still followed."""
        return self.view(np.ndarray).item(*args)

    def tobytes(self, *_: Any) -> bytes:
        """The bytes of the numbers: they leave."""
        return bytes(np.asarray(to_plain(self, "tobytes()")).tobytes())

    @property
    def data(self) -> Any:
        """The memory of the numbers: they leave."""
        return np.asarray(to_plain(self, "the buffer")).data

    @property
    def ctypes(self) -> Any:
        """The memory of the numbers: they leave."""
        return np.asarray(to_plain(self, "the buffer")).ctypes

    @property
    def __array_interface__(self) -> Any:
        return np.asarray(to_plain(self, "the buffer")).__array_interface__

    def tofile(self, *args: Any, **kwargs: Any) -> None:
        """Write the numbers: they leave."""
        np.asarray(to_plain(self, "tofile()")).tofile(*args, **kwargs)


def _cast(value: Any, kind: np.dtype[Any]) -> Any:
    if isinstance(value, v.Followed):
        return a.cast(value, kind)
    return np.asarray(value).astype(kind)[()]


def plain_key(key: Any) -> Any:
    """An index with followed entries decided: where it points is a decision of the noise."""
    if isinstance(key, tuple):
        return tuple(plain_key(part) for part in key)
    if isinstance(key, v.Tabled):
        return key.decide()
    if isinstance(key, FollowedArray):
        return decided(key)
    return key


def decided(array: Any) -> Any:
    """A plain array of a followed one that is used as an index or mask."""
    entries = [
        x.decide() if isinstance(x, v.Tabled) else x.leave("an index")
        if isinstance(x, v.Followed) else x
        for x in array.view(np.ndarray).ravel().tolist()
    ]  # fmt: skip
    return np.array(entries).reshape(array.shape)


def _objects(value: Any) -> Any:
    return value.view(np.ndarray) if isinstance(value, FollowedArray) else value


def to_plain(value: Any, how: str) -> Any:
    """Plain numbers; followed entries leave with a mark."""
    if isinstance(value, v.Followed):
        return value.leave(how)
    if isinstance(value, FollowedArray):
        listed = value.view(np.ndarray).ravel().tolist()
        numbers = [x.leave(how) if isinstance(x, v.Followed) else x for x in listed]
        return np.array(numbers, dtype=value.native if not listed else None).reshape(value.shape)
    return value


def concrete(value: Any) -> Any:
    """Plain numbers without a mark, for computing what a lost value is."""
    if isinstance(value, v.Followed):
        return value.concrete()
    if isinstance(value, FollowedArray):
        numbers = [
            x.concrete() if isinstance(x, v.Followed) else x
            for x in value.view(np.ndarray).ravel().tolist()
        ]
        if not numbers:
            return np.empty(value.shape, dtype=value.native)
        return np.array(numbers).reshape(value.shape)
    return value


def has_followed(value: Any) -> bool:
    """Whether any entry is followed."""
    if isinstance(value, v.Followed):
        return True
    if isinstance(value, np.ndarray) and np.ndarray.dtype.__get__(value) == object:  # type: ignore[attr-defined]
        return any(isinstance(x, v.Followed) for x in value.view(np.ndarray).ravel().tolist())
    return False


def wrap(value: Any, native: np.dtype[Any] | None = None) -> Any:
    """An object array as a FollowedArray; scalars as they are."""
    if isinstance(value, np.ndarray) and not isinstance(value, FollowedArray):
        if value.ndim == 0 and np.ndarray.dtype.__get__(value) == object:  # type: ignore[attr-defined]
            return value.item()
        real = value.dtype
        # A view where it can be one: whoever writes into it must be seen by others.
        result = (value if real == object else _numpy_scalars(value)).view(FollowedArray)
        if native is not None:
            result.native = native
        elif real != object:
            result.native = real
        return result
    return value


def _numpy_scalars(value: Any) -> Any:
    """An object array of numpy scalars, whose division by zero is numpy's and not Python's."""
    box = np.empty(value.shape, dtype=object)
    for at, entry in np.ndenumerate(value):
        box[at] = entry
    return box


def unwrap(value: Any) -> Any:
    """A plain object array for elementwise work."""
    if isinstance(value, FollowedArray):
        return value.view(np.ndarray)
    if isinstance(value, v.Followed):
        box = np.empty((), dtype=object)
        box[()] = value
        return box
    return value


def each(function: Callable[..., Any], *inputs: Any) -> Any:
    """`function` on every broadcast entry."""
    boxed = [unwrap(x) for x in inputs]
    result = np.frompyfunc(function, len(boxed), 1)(*boxed)
    return wrap(result)


_BINARY = {ufunc: op for op, ufunc in a.UFUNCS.items()}
_BINARY |= {np.logical_and: _BINARY[np.bitwise_and], np.logical_or: _BINARY[np.bitwise_or]}
_BINARY |= {np.logical_xor: _BINARY[np.bitwise_xor]}
_BOOLS = {np.logical_and, np.logical_or, np.logical_xor}


def scalar_ufunc(ufunc: Any) -> Callable[..., Any]:
    """The ufunc on plain or followed scalars."""

    def run(*args: Any) -> Any:
        if not any(isinstance(x, v.Followed) for x in args):
            return ufunc(*args)
        if ufunc is np.maximum or ufunc is np.fmax:
            return a.maximum(*args)
        if ufunc is np.minimum or ufunc is np.fmin:
            return a.minimum(*args)
        if ufunc is np.square:
            return a.combine(_BINARY[np.multiply], args[0], args[0])
        if ufunc is np.positive or ufunc is np.conjugate:
            return args[0]
        if ufunc is np.logical_not and isinstance(args[0], v.Tabled):
            return v.merge_tables(lambda x: not x, args[0])
        if ufunc is np.invert and isinstance(args[0], v.Tabled):
            return v.merge_tables(lambda x: (not x) if isinstance(x, bool) else ~x, args[0])
        if len(args) == 1:
            return a.apply(ufunc, args[0])
        if ufunc in _BOOLS:
            args = tuple(_truth(x) for x in args)
        if ufunc in _BINARY:
            result = a.combine(_BINARY[ufunc], *args)
            return v.lose(ufunc, *args) if result is NotImplemented else result
        if all(isinstance(x, v.Tabled) or not isinstance(x, v.Followed) for x in args):
            return v.merge_tables(lambda *x: ufunc(*x).item(), *args)
        return v.lose(ufunc, *args)

    return run


def _truth(value: Any) -> Any:
    if isinstance(value, v.Tabled):
        return v.merge_tables(bool, value)
    return value if isinstance(value, v.Followed) else bool(value)


def on_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """A numpy ufunc that met a followed value."""
    out = keywords.pop("out", None)
    count = sys.maxsize if out is None else sys.getrefcount(out[0])
    owned = out is not None and inputs[0] is out[0] and _sole_owner(out[0], count, sys._getframe(2))
    where = keywords.pop("where", True)
    keywords.pop("dtype", None)
    keywords.pop("casting", None)
    if method == "__call__" and ufunc.nout == 1 and ufunc.signature is None:
        result = _elementwise(ufunc, inputs, where, out)
    elif ufunc is np.matmul or (method in ("reduce", "accumulate") and where is True):
        result = _composed(ufunc, method, inputs, keywords)
    elif method == "at":
        return _at(ufunc, inputs)
    elif method == "outer" and ufunc.nout == 1:
        left, right = (np.asarray(unwrap(x)) for x in inputs)
        result = _elementwise(
            ufunc, (left.reshape(left.shape + (1,) * right.ndim), right), True, None
        )
    else:
        plain = [to_plain(x, ufunc.__name__) for x in inputs]
        result = getattr(ufunc, method)(*plain, **keywords)
        if out is not None and isinstance(result, tuple):
            return tuple(
                x if target is None else _store(x, target, owned=False)
                for x, target in zip(result, out, strict=True)
            )
    return result if out is None else _store(result, out[0], owned=owned)


def _at(ufunc: Any, inputs: tuple[Any, ...]) -> None:
    """ufunc.at: entry by entry where the target can hold followed values."""
    target, index, *values = inputs
    if isinstance(target, FollowedArray):
        positions = np.arange(target.size).reshape(target.shape)[plain_key(index)].ravel()
        flat = target.reshape(-1)
        if not np.shares_memory(flat, target):
            flat = None
        rows = [np.broadcast_to(unwrap(x), np.shape(positions)).ravel() for x in values]
        if flat is not None:
            run = scalar_ufunc(ufunc)
            for order, position in enumerate(positions.tolist()):
                flat[position] = run(flat[position], *(row[order] for row in rows))
            return
    plain = np.asarray(to_plain(target, ufunc.__name__))
    ufunc.at(plain, index, *(to_plain(x, ufunc.__name__) for x in values))
    if plain is not target:
        target[...] = plain


def _elementwise(ufunc: Any, inputs: tuple[Any, ...], where: Any, out: Any) -> Any:
    run = scalar_ufunc(ufunc)
    if where is True:
        return each(run, *inputs)
    previous = out[0] if out is not None else 0.0

    def chosen(flag: Any, old: Any, *args: Any) -> Any:
        if isinstance(flag, v.Followed):
            return choose(flag, run(*args), old)
        return run(*args) if flag else old

    return each(chosen, where, previous, *inputs)


def _composed(ufunc: Any, method: str, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Sums, running sums and products of matrices, entry by entry."""
    boxed = [np.asarray(unwrap(x)).astype(object) if i == 0 or ufunc is np.matmul else x
             for i, x in enumerate(inputs)]  # fmt: skip
    if ufunc is np.matmul:
        return wrap(np.matmul(*boxed))
    if ufunc is np.add:
        return wrap(getattr(ufunc, method)(*boxed, **keywords))
    # Products and extrema by pairs, so that entries meet as scalars.
    pairwise = np.frompyfunc(scalar_ufunc(ufunc), 2, 1)
    keywords.pop("initial", None)
    return wrap(getattr(pairwise, method)(*boxed, **keywords))


def choose(flag: Any, yes: Any, no: Any) -> Any:
    """where(flag, yes, no) for one entry."""
    if not isinstance(flag, v.Followed):
        return yes if flag else no
    if all(isinstance(x, v.Tabled) or not isinstance(x, v.Followed) for x in (flag, yes, no)):
        return v.merge_tables(lambda f, y, n: y if f else n, flag, yes, no)
    return v.lose(lambda f, y, n: y if f else n, flag, yes, no)


def _store(result: Any, target: Any, *, owned: bool) -> Any:
    if isinstance(target, FollowedArray):
        target[...] = result
        return target
    if owned:
        return np.broadcast_to(result, target.shape).copy() if np.ndim(result) == 0 else result
    if has_followed(result):
        recorder = active()
        if recorder is not None:
            recorder.mark(MarkKind.LEFT, _INPLACE)
    target[...] = concrete(result)
    return target


class _Probe:
    """Counts the references to an array in `array += probe` where only one variable holds it."""

    seen = 0

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        return _probe(ufunc, method, inputs, keywords)


def _probe(ufunc: Any, method: str, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> Any:  # noqa: ARG001
    out = keywords.pop("out", None)
    _Probe.seen = sys.maxsize if out is None else sys.getrefcount(out[0])
    return inputs[0]


def _calibrate() -> int:
    array = np.zeros(1)
    array += _Probe()  # type: ignore[misc]
    alone = _Probe.seen
    other = array
    array += _Probe()  # type: ignore[misc]
    return alone if _Probe.seen == alone + 1 and other is array else -1


_STORES = frozenset({"STORE_FAST", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF"})


@lru_cache(maxsize=256)
def _rebinding(code: CodeType) -> frozenset[int]:
    """Offsets of `name += value` whose result goes straight back into the name."""
    steps = list(dis.get_instructions(code))
    return frozenset(
        one.offset
        for one, following in itertools.pairwise(steps)
        if following.opname in _STORES
        and (one.opname.startswith("INPLACE_") or one.argrepr.endswith("="))
        and (one.opname != "COMPARE_OP")
    )


def _sole_owner(target: Any, count: int, frame: FrameType) -> bool:
    """Whether `array += noise` may rebind instead of write: nobody else can see the array.

    The reference count is compared with that of a local variable known to be alone; a view, a
    second name or a container would raise it. And the result must go straight back into the name.
    """
    if type(target) is not np.ndarray or target.base is not None or target.dtype != np.float64:
        return False
    return count <= _ALONE and frame.f_lasti in _rebinding(frame.f_code)


_ALONE = _calibrate()
