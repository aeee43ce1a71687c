"""numpy functions on followed arrays: moved, summed, compared, or lost."""

from __future__ import annotations

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
    to_plain,
    unwrap,
    wrap,
)
from dpcheck.replay.following.operators import RULES
from dpcheck.replay.following.ufuncs import choose
from dpcheck.replay.recorder import Constraint, Selection

# Functions that only move, copy or add entries: numpy's own code for object arrays is right.
MOVING = {
    np.concatenate,
    np.stack,
    np.hstack,
    np.vstack,
    np.column_stack,
    np.dstack,
    np.reshape,
    np.transpose,
    np.ravel,
    np.squeeze,
    np.expand_dims,
    np.broadcast_to,
    np.tile,
    np.repeat,
    np.flip,
    np.fliplr,
    np.flipud,
    np.roll,
    np.split,
    np.array_split,
    np.append,
    np.diag,
    np.diagonal,
    np.trace,
    np.atleast_1d,
    np.atleast_2d,
    np.moveaxis,
    np.swapaxes,
    np.take,
    np.copy,
    np.cumsum,
    np.sum,
    np.dot,
    np.inner,
    np.outer,
    np.vdot,
    np.tensordot,
    np.diff,
    np.kron,
    np.block,
    np.delete,
    np.insert,
    np.rot90,
    np.broadcast_arrays,
    np.einsum,
    np.convolve,
    np.copyto,
    np.put,
    np.place,
    np.putmask,
    np.fill_diagonal,
    np.put_along_axis,
}

# Functions of the values without an answer of their own here; they raise for no value of the noise.
TOTAL = {
    np.sort,
    np.argsort,
    np.median,
    np.max,
    np.min,
    np.std,
    np.var,
    np.prod,
    np.quantile,
    np.percentile,
    np.linalg.norm,
    np.cumprod,
    np.nanmean,
    np.nansum,
    np.nanmax,
    np.nanmin,
    np.count_nonzero,
    np.average,
    np.ptp,
    np.partition,
    np.argpartition,
    np.isclose,
    np.allclose,
    np.histogram,
    np.nan_to_num,
    np.interp,
    np.searchsorted,
    np.digitize,
    np.unique,
    np.array_equal,
    np.any,
    np.all,
    np.corrcoef,
    np.cov,
    np.linalg.det,
}


def on_function(function: Value, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    """A numpy function that met a followed array."""
    if function in HANDLED and set(kwargs) <= KNOWN_KEYWORDS and kwargs.get("out") is None:
        return HANDLED[function](*args, **kwargs)
    if function in MOVING:
        kwargs = {k: x for k, x in kwargs.items() if k != "dtype"}
        return _wrapped(function(*_inner(args), **{k: _inner(x) for k, x in kwargs.items()}))
    if not any(_deep_followed(x) for x in (*args, *kwargs.values())):
        return _wrapped(_written_back(function, args, kwargs, _constant))
    if function in TOTAL and "out" not in kwargs:
        return _lost(function, args, kwargs)
    name = getattr(function, "__name__", "a numpy function")
    return _written_back(function, args, kwargs, lambda x: _leaving(x, name))


def _written_back(
    function: Value,
    args: tuple[Value, ...],
    kwargs: dict[str, Value],
    convert: Callable[[Value], Value],
) -> Value:
    """Call on plain copies; what the function writes into a copy goes into the original too."""
    plain = [convert(x) for x in args]
    named = {k: convert(x) for k, x in kwargs.items()}
    pairs = [*zip(args, plain, strict=True), *((kwargs[k], named[k]) for k in kwargs)]
    copies = [(x, y, y.copy()) for x, y in pairs if isinstance(x, FollowedArray)]
    result = function(*plain, **named)
    for original, copied, before in copies:
        if not np.array_equal(copied, before, equal_nan=copied.dtype.kind == "f"):
            original[...] = copied
        if result is copied:
            result = original
    return result


def _inner(value: Value) -> Value:
    if isinstance(value, list | tuple):
        return type(value)(_inner(x) for x in value)
    return unwrap(value)


def _constant(value: Value) -> Value:
    if isinstance(value, list | tuple):
        return type(value)(_constant(x) for x in value)
    return concrete(value)


def _leaving(value: Value, how: str) -> Value:
    if isinstance(value, list | tuple):
        return type(value)(_leaving(x, how) for x in value)
    return to_plain(value, how)


def _deep_followed(value: Value) -> bool:
    if isinstance(value, list | tuple):
        return any(_deep_followed(x) for x in value)
    return has_followed(value)


def _wrapped(value: Value) -> Value:
    if isinstance(value, list | tuple):
        return type(value)(_wrapped(x) for x in value)
    return wrap(value)


def _scalars(value: Value) -> list[v.Followed]:
    if isinstance(value, v.Followed):
        return [value]
    if isinstance(value, list | tuple):
        return [found for x in value for found in _scalars(x)]
    if isinstance(value, FollowedArray):
        return [x for x in value.view(np.ndarray).ravel().tolist() if isinstance(x, v.Followed)]
    return []


def _lost(function: Value, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    followed = _scalars([*args, *kwargs.values()])
    depends: frozenset[int] = frozenset().union(*(x.depends for x in followed))
    recorder = followed[0].recorder
    result = function(*_constant(args), **{k: _constant(x) for k, x in kwargs.items()})

    def lose(x: Value) -> Value:
        return v.Lost(recorder, depends, x)

    def deep(found: Value) -> Value:
        if isinstance(found, tuple | list):
            return type(found)(deep(x) for x in found)
        return each(lose, found)

    return deep(result)


def _where(condition: Value, *choices: Value) -> Value:
    if not choices:
        return np.where(decided(condition))
    return each(choose, condition, *choices)


def _clip(array: Value, a_min: Value = None, a_max: Value = None, **keywords: Value) -> Value:
    low = a_min if a_min is not None else keywords.get("min")
    high = a_max if a_max is not None else keywords.get("max")
    return each(
        lambda x, lo, hi: a.clip(x, lo, hi) if _any(x, lo, hi) else np.clip(x, lo, hi),
        array,
        -np.inf if low is None else low,
        np.inf if high is None else high,
    )


def _any(*values: Value) -> bool:
    return any(isinstance(x, v.Followed) for x in values)


def _mean(array: Value, axis: Value = None, keepdims: Value = False, **_: Value) -> Value:
    total = np.sum(array, axis=axis, keepdims=keepdims)
    shape = np.shape(array)
    axes = range(len(shape)) if axis is None else (axis if isinstance(axis, tuple) else (axis,))
    return np.true_divide(total, float(np.prod([shape[i] for i in axes])))


def _round(array: Value, decimals: int = 0, **_: Value) -> Value:
    return each(
        lambda x: a.apply_rounding(x, decimals) if _any(x) else np.round(x, decimals), array
    )


def _argmax(array: Value, axis: int | None = None, out: None = None) -> Value:  # noqa: ARG001
    return _pick(array, axis, 1.0)


def _argmin(array: Value, axis: int | None = None, out: None = None) -> Value:  # noqa: ARG001
    return _pick(array, axis, -1.0)


def _pick(array: Value, axis: int | None, sign: float) -> Value:
    entries = np.asarray(unwrap(array)).astype(object)
    if axis is None:
        return pick(entries.ravel().tolist(), sign)
    moved = np.moveaxis(entries, axis, -1)
    flat = moved.reshape(-1, moved.shape[-1])
    found = np.empty(len(flat), dtype=object)
    for index, row in enumerate(flat):
        found[index] = pick(row.tolist(), sign)
    return wrap(found.reshape(moved.shape[:-1]))


def pick(entries: list[Value], sign: float = 1.0) -> Value:
    """The position of the largest entry (smallest for sign -1): one outcome per entry."""
    followed = [x for x in entries if isinstance(x, v.Followed)]
    if not followed:
        return int(np.argmax(np.asarray(entries) * sign))
    smooth = all(isinstance(x, v.Affine) and x.continuous for x in followed)
    if not smooth or any(not isinstance(x, v.Followed) and x != x for x in entries):
        return _lost_pick(entries, sign)
    recorder = followed[0].recorder
    outcomes = []
    for winner in entries:
        constraints = []
        for other in entries:
            if other is not winner:
                constraint = _above(winner, other, sign)
                if constraint is None:
                    return _lost_pick(entries, sign)
                constraints.append(constraint)
        outcomes.append(tuple(constraints))
    selection = recorder.select(Selection(tuple(outcomes)))
    return v.Tabled(recorder, (selection,), tuple(range(len(entries))))


def _lost_pick(entries: list[Value], sign: float) -> Value:
    best = np.argmax if sign > 0 else np.argmin
    return v.lose(lambda *x: int(best(x)), *entries)


def _above(winner: Value, other: Value, sign: float) -> Constraint | None:
    """winner >= other as a half-space; None where no noise is between them."""
    difference = (winner - other) * sign
    if not isinstance(difference, v.Affine):
        return None
    return Constraint(tuple(sorted(difference.coefficients.items())), difference.base)


def _like(maker: Callable[..., Value]) -> Callable[..., Value]:
    def make(array: Value, *args: Value, **kwargs: Value) -> Value:
        blank = np.empty(np.shape(array), dtype=getattr(array, "native", np.float64))
        return wrap(maker(blank, *args, **{k: x for k, x in kwargs.items() if k != "subok"}))

    return make


def _average(array: Value, axis: Value = None, weights: Value = None, **_: Value) -> Value:
    if weights is None:
        return _mean(array, axis)
    if has_followed(weights) or axis is not None:
        return _lost(np.average, (array,), {"axis": axis, "weights": weights})
    return np.sum(array * weights) / float(np.sum(weights))


# Others (where=, out=, order=) change what a function does and are left to the general case.
KNOWN_KEYWORDS = frozenset(
    {
        "axis",
        "keepdims",
        "weights",
        "decimals",
        "a_min",
        "a_max",
        "min",
        "max",
        "dtype",
        "shape",
        "fill_value",
        "out",
    }
)

HANDLED: dict[Value, Callable[..., Value]] = {
    np.where: _where,
    np.clip: _clip,
    np.mean: _mean,
    np.average: _average,
    np.round: _round,
    np.around: _round,
    np.argmax: _argmax,
    np.argmin: _argmin,
    np.zeros_like: _like(np.zeros_like),
    np.ones_like: _like(np.ones_like),
    np.empty_like: _like(np.empty_like),
    np.full_like: _like(np.full_like),
    np.shape: lambda array: array.shape,
    np.ndim: lambda array: array.ndim,
    np.size: lambda array, axis=None: array.size if axis is None else array.shape[axis],
    np.iscomplexobj: lambda array: False,  # noqa: ARG005
    np.isrealobj: lambda array: True,  # noqa: ARG005
}

RULES.on_function = on_function
