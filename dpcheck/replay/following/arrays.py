"""Arrays of followed scalars: an ndarray subclass of dtype object that says float to its user.

Each entry is a plain number or a `Followed` scalar, so views, indexing and assignment are numpy's
own, and no compiled code can read a number out of it without calling a method of that scalar.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dpcheck.core.data import Value
from dpcheck.replay.following import arithmetic as a
from dpcheck.replay.following import values as v
from dpcheck.replay.following.operators import RULES

_OBJECT = np.dtype(object)


class FollowedArray(np.ndarray[Value, Value]):
    """An array whose entries may be followed; `native` is the dtype the user's code would see."""

    native: np.dtype[Value]

    def __array_finalize__(self, parent: Value) -> None:
        self.native = getattr(parent, "native", np.dtype(np.float64))

    def __array_ufunc__(
        self, ufunc: Value, method: str, *inputs: Value, **keywords: Value
    ) -> Value:
        return RULES.on_ufunc(ufunc, method, inputs, keywords)

    def __array_function__(
        self, function: Value, types: Value, args: Value, kwargs: Value
    ) -> Value:
        return RULES.on_function(function, args, kwargs)

    @property
    def dtype(self) -> Value:
        """The dtype the array would have without following."""
        return self.native

    def __setitem__(self, key: Value, value: Value) -> None:
        if self.native.kind in "iub":
            value = each(lambda x: _cast(x, self.native), value)
        super().__setitem__(plain_key(key), _objects(value))

    def __getitem__(self, key: Value) -> Value:
        return super().__getitem__(plain_key(key))

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError("The truth value of an array with more than one element is ambiguous.")
        return bool(self.ravel()[0])

    def __reduce__(self) -> Value:
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
    def astype(self, dtype: Value, *_: Value, **__: Value) -> Value:
        """Another dtype; integers truncate."""
        kind = np.dtype(dtype)
        result = each(lambda x: _cast(x, kind), self)
        if isinstance(result, FollowedArray):
            result.native = kind
        return result

    def _through(self, function: Value, *args: Value, **kwargs: Value) -> Value:
        return function(self, *args, **kwargs)

    def mean(self, *args: Value, **kwargs: Value) -> Value:
        """np.mean."""
        return self._through(np.mean, *args, **kwargs)

    def clip(self, *args: Value, **kwargs: Value) -> Value:
        """np.clip."""
        return self._through(np.clip, *args, **kwargs)

    def round(self, *args: Value, **kwargs: Value) -> Value:
        """np.round."""
        return self._through(np.round, *args, **kwargs)

    def argmax(self, *args: Value, **kwargs: Value) -> Value:
        """np.argmax."""
        return self._through(np.argmax, *args, **kwargs)

    def argmin(self, *args: Value, **kwargs: Value) -> Value:
        """np.argmin."""
        return self._through(np.argmin, *args, **kwargs)

    def max(self, *args: Value, **kwargs: Value) -> Value:
        """np.max."""
        return self._through(np.max, *args, **kwargs)

    def min(self, *args: Value, **kwargs: Value) -> Value:
        """np.min."""
        return self._through(np.min, *args, **kwargs)

    def std(self, *args: Value, **kwargs: Value) -> Value:
        """np.std."""
        return self._through(np.std, *args, **kwargs)

    def var(self, *args: Value, **kwargs: Value) -> Value:
        """np.var."""
        return self._through(np.var, *args, **kwargs)

    def argsort(self, *args: Value, **kwargs: Value) -> Value:
        """np.argsort."""
        return self._through(np.argsort, *args, **kwargs)

    def prod(self, *args: Value, **kwargs: Value) -> Value:
        """np.prod."""
        return self._through(np.prod, *args, **kwargs)

    def dot(self, other: Value) -> Value:  # type: ignore[override]
        """np.dot."""
        return np.dot(self, other)

    def item(self, *args: Value) -> Value:
        """One entry, still followed."""
        return self.view(np.ndarray).item(*args)

    def tobytes(self, *_: Value) -> bytes:
        """The bytes of the numbers: they leave."""
        return bytes(np.asarray(to_plain(self, "tobytes()")).tobytes())

    @property
    def data(self) -> Value:
        """The memory of the numbers: they leave."""
        return np.asarray(to_plain(self, "the buffer")).data

    @property
    def ctypes(self) -> Value:
        """The memory of the numbers: they leave."""
        return np.asarray(to_plain(self, "the buffer")).ctypes

    @property
    def __array_interface__(self) -> Value:
        return np.asarray(to_plain(self, "the buffer")).__array_interface__

    def tofile(self, *args: Value, **kwargs: Value) -> None:
        """Write the numbers: they leave."""
        np.asarray(to_plain(self, "tofile()")).tofile(*args, **kwargs)


def _cast(value: Value, kind: np.dtype[Value]) -> Value:
    if isinstance(value, v.Followed):
        return a.cast(value, kind)
    return np.asarray(value).astype(kind)[()]


def plain_key(key: Value) -> Value:
    """An index with followed entries decided: where it points is a decision of the noise."""
    if isinstance(key, tuple):
        return tuple(plain_key(part) for part in key)
    if isinstance(key, v.Tabled):
        return key.decide()
    if isinstance(key, FollowedArray):
        return decided(key)
    return key


def decided(array: Value) -> Value:
    """A plain array of a followed one that is used as an index or mask."""
    entries = [
        x.decide()
        if isinstance(x, v.Tabled)
        else x.leave("an index")
        if isinstance(x, v.Followed)
        else x
        for x in array.view(np.ndarray).ravel().tolist()
    ]
    return np.array(entries).reshape(array.shape)


def _objects(value: Value) -> Value:
    return value.view(np.ndarray) if isinstance(value, FollowedArray) else value


def to_plain(value: Value, how: str) -> Value:
    """Plain numbers; followed entries leave with a mark."""
    if isinstance(value, v.Followed):
        return value.leave(how)
    if isinstance(value, FollowedArray):
        listed = value.view(np.ndarray).ravel().tolist()
        numbers = [x.leave(how) if isinstance(x, v.Followed) else x for x in listed]
        kind = value.native if value.native.kind == "f" or not listed else None
        return np.array(numbers, dtype=kind).reshape(value.shape)
    return value


def concrete(value: Value) -> Value:
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


def holds_objects(array: Value) -> bool:
    """Whether an array really is one of objects, whatever dtype it says it has."""
    return bool(np.ndarray.dtype.__get__(array) == _OBJECT)


def has_followed(value: Value) -> bool:
    """Whether any entry is followed."""
    if isinstance(value, v.Followed):
        return True
    if isinstance(value, np.ndarray) and holds_objects(value):
        return any(isinstance(x, v.Followed) for x in value.view(np.ndarray).ravel().tolist())
    return False


def wrap(value: Value, native: np.dtype[Value] | None = None) -> Value:
    """An object array as a FollowedArray; scalars as they are."""
    if isinstance(value, np.ndarray) and not isinstance(value, FollowedArray):
        if value.ndim == 0 and holds_objects(value):
            return value.item()
        objects = holds_objects(value)
        # A view where it can be one: whoever writes into it must be seen by others.
        result = (value if objects else _numpy_scalars(value)).view(FollowedArray)
        if native is not None:
            result.native = native
        elif not objects:
            result.native = value.dtype
        return result
    return value


def _numpy_scalars(value: Value) -> Value:
    """An object array of numpy scalars, whose division by zero is numpy's and not Python's."""
    box = np.empty(value.shape, dtype=object)
    for at, entry in np.ndenumerate(value):
        box[at] = entry
    return box


def unwrap(value: Value) -> Value:
    """A plain object array for elementwise work."""
    if isinstance(value, FollowedArray):
        return value.view(np.ndarray)
    if isinstance(value, v.Followed):
        box = np.empty((), dtype=object)
        box[()] = value
        return box
    return value


def each(function: Callable[..., Value], *inputs: Value) -> Value:
    """`function` on every broadcast entry."""
    boxed = [unwrap(x) for x in inputs]
    result = np.frompyfunc(function, len(boxed), 1)(*boxed)
    return wrap(result)
