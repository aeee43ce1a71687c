"""Noise in arithmetic: affine functions of draws, coins, and the moment a private value is released."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.core.data import Data
from dpcheck.tracing import releases
from dpcheck.tracing.facts.boxes import Box, add, multiply, point
from dpcheck.tracing.facts.sizes import Shape
from dpcheck.tracing.postprocessing import call_on_released, flattened
from dpcheck.tracing.values import (
    PRIVATE,
    Aggregate,
    Coin,
    Draw,
    Ids,
    Noise,
    Released,
    Rows,
    Traced,
)

if TYPE_CHECKING:
    from dpcheck.tracing.tracer import Tracer

_SYMMETRIC = (
    releases.LAPLACE,
    releases.GAUSSIAN,
    releases.DISCRETE_LAPLACE,
    releases.DISCRETE_GAUSSIAN,
)
_COMPARED = {
    np.less: False,
    np.less_equal: False,
    np.greater: True,
    np.greater_equal: True,
}


def apply(tracer: Tracer, ufunc: np.ufunc, inputs: Sequence[Data]) -> Data:
    """A universal function with a draw among its operands."""
    if any(isinstance(value, Rows | Aggregate) for value in inputs):
        return _with_private(tracer, ufunc, inputs)
    draws = [value for value in inputs if isinstance(value, Noise | Coin | Draw)]
    if any(isinstance(value, Released) for value in inputs) or len(draws) != len(
        [v for v in inputs if isinstance(v, Traced)]
    ):
        return spent(tracer, ufunc, inputs)
    if len(inputs) == 1:
        if ufunc is np.negative and isinstance(inputs[0], Noise):
            return affine(inputs[0], -1.0, 0.0) or spent(tracer, ufunc, inputs)
        if ufunc in (np.logical_not, np.invert) and _is_coin(inputs[0]):
            return _coin(inputs[0], 1 - inputs[0].rate, inputs[0].dtype)
        return spent(tracer, ufunc, inputs)
    if len(inputs) == 2 and len(draws) == 1:
        found = _with_public(ufunc, inputs, draws[0])
    elif len(inputs) == 2:
        found = _two(tracer, ufunc, inputs)
    else:
        found = None
    return spent(tracer, ufunc, inputs) if found is None else found


def _is_coin(value: Data) -> bool:
    return isinstance(value, Coin) and value.dtype.kind == "b"


def _coin(source: Coin | Noise, rate: float, dtype: np.dtype[np.generic]) -> Coin:
    return Coin(source.tracer, source.dims, rate, source.ids, dtype)


def _with_public(ufunc: np.ufunc, inputs: Sequence[Data], draw: Data) -> Data:
    left = inputs[0] is draw
    other = inputs[1] if left else inputs[0]
    if isinstance(draw, Coin) and np.ndim(other) == 0 and not isinstance(other, str):
        if ufunc is np.equal and float(other) in (0.0, 1.0):
            return _coin(draw, draw.rate if float(other) else 1 - draw.rate, np.dtype(bool))
        return None
    if not isinstance(draw, Noise) or np.asarray(other).dtype.kind not in "biuf":
        return None
    number = np.asarray(other, dtype=float)
    if np.broadcast_shapes(number.shape, _one(draw.dims)) != _one(draw.dims):
        return None
    if ufunc is np.add:
        return affine(draw, 1.0, number)
    if ufunc is np.subtract:
        return affine(draw, 1.0, -number) if left else affine(draw, -1.0, number)
    if ufunc is np.multiply:
        return affine(draw, number, 0.0)
    if ufunc is np.divide and left:
        return affine(draw, 1 / number, 0.0)
    if ufunc in _COMPARED and draw.family == releases.UNIFORM and number.ndim == 0:
        if np.ndim(draw.scale) or np.ndim(draw.location):
            return None
        rate = float((number - draw.location) / draw.scale)  # P(draw < number)
        if not 0 <= rate <= 1 or float(draw.scale) <= 0:
            return None
        return _coin(draw, 1 - rate if _COMPARED[ufunc] == left else rate, np.dtype(bool))
    return None


def _one(dims: Shape) -> Shape:
    return tuple(1 if n == PRIVATE else n for n in dims)


def affine(noise: Noise, factor: Data, shift: Data) -> Noise | None:
    """factor * noise + shift with public numbers; None for 0, infinite or unknown factors."""
    factor, shift = np.asarray(factor, dtype=float), np.asarray(shift, dtype=float)
    if not np.isfinite(factor).all() or not np.isfinite(shift).all() or (factor == 0).any():
        return None
    if (factor < 0).any() and noise.family not in _SYMMETRIC:
        return None
    discrete = noise.family in (releases.DISCRETE_LAPLACE, releases.DISCRETE_GAUSSIAN)
    if (discrete or noise.family == releases.GEOMETRIC) and not (np.abs(factor) == 1).all():
        return None
    box = add(multiply(noise.box, point(factor)), point(shift))
    return Noise(
        noise.tracer,
        noise.dims,
        noise.family,
        noise.scale * np.abs(factor),
        noise.location * factor + shift,
        noise.ids,
        box,
        dtype=np.dtype(np.int64)
        if discrete and (shift == np.rint(shift)).all() and noise.dtype.kind == "i"
        else None,
    )


def _two(tracer: Tracer, ufunc: np.ufunc, inputs: Sequence[Data]) -> Data:
    """Two draws: sums of Gaussians, and the differences that make Laplace noise."""
    a, b = inputs
    if not (isinstance(a, Noise) and isinstance(b, Noise)) or ufunc not in (np.add, np.subtract):
        return None
    if a.dims != b.dims or np.intersect1d(a.ids, b.ids).size:
        return None
    ids = _joined(a.ids, b.ids)
    sign = 1.0 if ufunc is np.add else -1.0
    location = a.location + sign * b.location
    box = Box(np.asarray(-np.inf), np.asarray(np.inf))
    if a.family == b.family == releases.GAUSSIAN:
        family, scale = releases.GAUSSIAN, np.hypot(a.scale, b.scale)
    elif ufunc is np.subtract and a.family == b.family and np.array_equal(a.scale, b.scale):
        if a.family == releases.EXPONENTIAL:
            family, scale = releases.LAPLACE, a.scale
        elif a.family == releases.GEOMETRIC and np.array_equal(a.location, b.location):
            # P(k) ~ (1-p)^k on each side: the difference has mass ~ (1-p)^|k|.
            family, scale = releases.DISCRETE_LAPLACE, a.scale
            location = np.zeros_like(location)
        else:
            return None
    else:
        return None
    kind = np.dtype(np.int64) if family == releases.DISCRETE_LAPLACE else np.dtype(float)
    return Noise(tracer, a.dims, family, scale, location, ids, box, dtype=kind)


def _joined(a: Ids, b: Ids) -> Ids:
    """The ids behind sums of draws, one column for each."""
    return np.concatenate([a.reshape(a.shape[0], -1), b.reshape(b.shape[0], -1)], axis=1)


def ids_of(values: Sequence[Data]) -> list[Ids]:
    """The draws among nested operands."""
    return [v.ids for v in flattened(values) if isinstance(v, Noise | Coin | Draw)]


def spent(tracer: Tracer, function: Data, inputs: Sequence[Data], **kwargs: Data) -> Data:
    """Any other function of draws and released values: public randomness, which protects nothing."""
    for ids in ids_of([*inputs, kwargs]):
        tracer.use(np.unique(ids), "outside of a release")
    plain = [_example(tracer, value) for value in inputs]
    return call_on_released(tracer, function, tuple(plain), kwargs, None)


def _example(tracer: Tracer, value: Data) -> Data:
    if isinstance(value, list | tuple):
        return type(value)(_example(tracer, each) for each in value)
    if not isinstance(value, Noise | Coin | Draw):
        return value
    if PRIVATE in value.dims:
        tracer.refuse(
            "private-length",
            "as many numbers as there are records are drawn, and used for themselves",
            "draw a public number of them",
        )
    if isinstance(value, Draw):
        return Released(tracer, np.arange(value.dims[0]), value.box)
    drawn = tracer.examples.normal(size=value.dims)
    if isinstance(value, Coin):
        return Released(tracer, (drawn > 0).astype(value.dtype), value.box)
    return Released(tracer, drawn.astype(value.dtype), value.box)


def _with_private(tracer: Tracer, ufunc: np.ufunc, inputs: Sequence[Data]) -> Data:
    from dpcheck.tracing.rules import masking

    draws = [value for value in inputs if isinstance(value, Noise | Coin | Draw)]
    if isinstance(draws[0], Coin):
        return masking.times_coin(tracer, ufunc, inputs)
    if ufunc not in (np.add, np.subtract) or len(draws) != 1 or not isinstance(draws[0], Noise):
        tracer.refuse(
            "unknown-operation",
            f"np.{ufunc.__name__} of a private value and noise is no known mechanism",
            "add the noise to the finished aggregate",
        )
    noise, private = draws[0], inputs[0] if inputs[1] is draws[0] else inputs[1]
    if ufunc is np.subtract and inputs[1] is noise and noise.family not in _SYMMETRIC:
        tracer.unknown(f"subtracting {noise.family} noise")
    negated = ufunc is np.subtract and inputs[0] is noise
    return release(tracer, private, noise, negated)


def release(tracer: Tracer, private: Data, noise: Noise, negated: bool = False) -> Released:
    """private + noise, number by number: from here on the value is public."""
    from dpcheck.tracing.rules.rowwise import as_aggregate

    if isinstance(private, Rows):
        private = as_aggregate(private)
    assert isinstance(private, Aggregate)
    dims = np.broadcast_shapes(private.dims, _one(noise.dims))
    if dims != noise.dims:
        tracer.refuse(
            "shared-noise",
            f"{math.prod(noise.dims)} drawn number(s) are added to {math.prod(dims)} private numbers",
            "draw one for each: pass size=...",
        )
    check_family(tracer, private, noise)
    if private.dims != dims:
        private = tracer.function(np.broadcast_to, (private, dims), {})
    check_bounded(tracer, private, noise)
    tracer.use(noise.ids, "a release")
    made = releases.release(private, noise, tracer.line(), dims)
    tracer.releases.append(made)
    tracer.spend(made)
    base = private.box
    if negated:
        base = Box(-base.hi, -base.lo)
    spread = tracer.examples.normal(size=dims) + 1.0
    kind = np.result_type(private.dtype, noise.dtype)
    example = np.rint(spread * 3) if kind.kind in "iu" else spread
    return Released(tracer, example.astype(kind), add(base, noise.box), made)


def check_family(tracer: Tracer, private: Aggregate, noise: Noise) -> None:
    """Noise that can protect such numbers."""
    if noise.family not in (*releases.ADDITIVE, *releases.SELECTING):
        tracer.refuse(
            "unknown-noise",
            f"{noise.family} noise is added to a private value, which is no mechanism that is known",
            "add Laplace, Gaussian or discrete noise",
        )
    discrete = noise.family in (releases.DISCRETE_LAPLACE, releases.DISCRETE_GAUSSIAN)
    if discrete and private.dtype.kind not in "biu":
        tracer.refuse(
            "unknown-noise",
            "whole-number noise is added to numbers that are not whole",
            "round the private value to whole numbers first, or use continuous noise",
        )
    if not (np.asarray(noise.scale) > 0).all():
        tracer.refuse("no-noise", "the scale of the noise is 0", "use a positive scale")


def check_bounded(tracer: Tracer, private: Aggregate, noise: Noise) -> None:
    """Only what moves by a bounded amount can be protected."""
    if not (np.isfinite(private.box.lo).all() and np.isfinite(private.box.hi).all()):
        tracer.refuse(
            "unbounded",
            "values without bounds reach this release",
            "clip them first: np.clip(x, low, high)",
        )
    if private.box.nan:
        tracer.refuse(
            "nan",
            "the released value may be NaN for some data (np.clip lets NaN through), and noise cannot "
            "hide that",
            "replace NaN before with np.nan_to_num(x), or describe the data by dpcheck.records(...), "
            "in which dpcheck.number(low, high) is never missing",
        )
    needed = private.diff.l2 if noise.family == releases.GAUSSIAN else private.diff.l1
    if not np.isfinite(needed):
        tracer.refuse(
            "unbounded",
            "one record may move the released value by any amount",
            "clip the records before they are added up",
        )


def shifted(tracer: Tracer, location: Data, made: Noise) -> Data:
    """rng.normal(f(data), scale): the same as f(data) + noise."""
    return tracer.ufunc(np.add, "__call__", (location, made), {})
