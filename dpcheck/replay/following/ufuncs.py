"""numpy's ufuncs on followed values: entry by entry, in place where they may, plain where they must."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

from dpcheck.core.data import Value
from dpcheck.replay.following import arithmetic as a
from dpcheck.replay.following import values as v
from dpcheck.replay.following.arrays import (
    FollowedArray,
    concrete,
    decided,
    each,
    has_followed,
    plain_key,
    to_plain,
    unwrap,
    wrap,
)
from dpcheck.replay.following.operators import RULES
from dpcheck.replay.following.ownership import sole_owner
from dpcheck.replay.marks import MarkKind
from dpcheck.replay.recorder import active

_BINARY = {ufunc: op for op, ufunc in a.UFUNCS.items()}
_BINARY |= {np.logical_and: _BINARY[np.bitwise_and], np.logical_or: _BINARY[np.bitwise_or]}
_BINARY |= {np.logical_xor: _BINARY[np.bitwise_xor]}
_COMPARISONS = {np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal}
_BOOLS = {np.logical_and, np.logical_or, np.logical_xor}


def scalar_ufunc(ufunc: Value) -> Callable[..., Value]:
    """The ufunc on plain or followed scalars."""

    def run(*args: Value) -> Value:
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


def _truth(value: Value) -> Value:
    if isinstance(value, v.Tabled):
        return v.merge_tables(bool, value)
    return value if isinstance(value, v.Followed) else bool(value)


def on_ufunc(
    ufunc: Value, method: str, inputs: tuple[Value, ...], keywords: dict[str, Value]
) -> Value:
    """A numpy ufunc that met a followed value."""
    out = keywords.pop("out", None)
    count = sys.maxsize if out is None else sys.getrefcount(out[0])
    owned = out is not None and inputs[0] is out[0] and sole_owner(out[0], count, sys._getframe(2))
    if method != "at" and not any(has_followed(x) for x in (*inputs, keywords.get("where"))):
        return _constant(ufunc, method, inputs, keywords, out)
    where = keywords.pop("where", True)
    keywords.pop("dtype", None)
    keywords.pop("casting", None)
    if method == "__call__" and ufunc.nout == 1 and ufunc.signature is None:
        result = _elementwise(ufunc, inputs, where, out)
        if ufunc in _COMPARISONS and isinstance(result, FollowedArray):
            result = _mask(result)
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


def _constant(
    ufunc: Value, method: str, inputs: tuple[Value, ...], keywords: dict[str, Value], out: Value
) -> Value:
    """No noise in it: numpy's own answer, in an array that can take noise later if it is of floats."""
    plain = {name: concrete(value) for name, value in keywords.items()}
    result = getattr(ufunc, method)(*(concrete(x) for x in inputs), **plain)
    if out is not None and not isinstance(result, tuple):
        return _store(result, out[0], owned=False)
    if isinstance(result, np.ndarray) and result.dtype == np.float64:
        return wrap(result)
    return result


def _at(ufunc: Value, inputs: tuple[Value, ...]) -> None:
    """ufunc.at: entry by entry where the target can hold followed values."""
    target, index, *values = inputs
    if isinstance(target, FollowedArray):
        positions = np.arange(target.size).reshape(target.shape)[plain_key(index)].ravel()
        flat = target.reshape(-1)
        rows = [np.broadcast_to(unwrap(x), np.shape(positions)).ravel() for x in values]
        if np.shares_memory(flat, target):
            run = scalar_ufunc(ufunc)
            for order, position in enumerate(positions.tolist()):
                flat[position] = run(flat[position], *(row[order] for row in rows))
            return
    plain = np.asarray(to_plain(target, ufunc.__name__))
    ufunc.at(plain, index, *(to_plain(x, ufunc.__name__) for x in values))
    if plain is not target:
        target[...] = plain


def _elementwise(ufunc: Value, inputs: tuple[Value, ...], where: Value, out: Value) -> Value:
    run = scalar_ufunc(ufunc)
    if where is True:
        return each(run, *inputs)
    previous = out[0] if out is not None else 0.0

    def chosen(flag: Value, old: Value, *args: Value) -> Value:
        if isinstance(flag, v.Followed):
            return choose(flag, run(*args), old)
        return run(*args) if flag else old

    return each(chosen, where, previous, *inputs)


def _mask(found: FollowedArray) -> Value:
    """The truth of every entry: followed, or decided where plain arrays are picked by it."""
    recorder = active()
    if recorder is None:
        return found
    recorder.masks += 1
    return decided(found) if recorder.plain_masks else found


def _composed(
    ufunc: Value, method: str, inputs: tuple[Value, ...], keywords: dict[str, Value]
) -> Value:
    """Sums, running sums and products of matrices, entry by entry."""
    boxed = [
        np.asarray(unwrap(x)).astype(object) if i == 0 or ufunc is np.matmul else x
        for i, x in enumerate(inputs)
    ]
    if ufunc is np.matmul:
        return wrap(np.matmul(*boxed))
    if ufunc is np.add:
        return wrap(getattr(ufunc, method)(*boxed, **keywords))
    # Products and extrema by pairs, so that entries meet as scalars.
    pairwise = np.frompyfunc(scalar_ufunc(ufunc), 2, 1)
    keywords.pop("initial", None)
    return wrap(getattr(pairwise, method)(*boxed, **keywords))


def choose(flag: Value, yes: Value, no: Value) -> Value:
    """where(flag, yes, no) for one entry."""
    if not isinstance(flag, v.Followed):
        return yes if flag else no
    if all(isinstance(x, v.Tabled) or not isinstance(x, v.Followed) for x in (flag, yes, no)):
        return v.merge_tables(lambda f, y, n: y if f else n, flag, yes, no)
    if a.can_mix(flag, yes, no) and isinstance(flag, v.Tabled):
        return v.mix(lambda f, y, n: y if f else n, flag, yes, no)
    return v.lose(lambda f, y, n: y if f else n, flag, yes, no)


def _store(result: Value, target: Value, *, owned: bool) -> Value:
    if isinstance(target, FollowedArray):
        target[...] = result
        return target
    if owned:
        return np.broadcast_to(result, target.shape).copy() if np.ndim(result) == 0 else result
    if has_followed(result):
        recorder = active()
        if recorder is not None:
            recorder.mark(MarkKind.LEFT, "written into a plain array")
    target[...] = concrete(result)
    return target


RULES.on_ufunc = on_ufunc
