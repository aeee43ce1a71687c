"""Functions of entries: rows stay rows whatever the function is; aggregates move by its slope.

Lemmas. Rows: entry (i, j) of the result depends on record i alone if entry (i, j) of every operand does.
Aggregates: |f(a) - f(a')| is at most sup|f'| |a - a'| over the box, and at most
the width of the result's box.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.core.data import Data
from dpcheck.tracing.facts import boxes
from dpcheck.tracing.facts.boxes import Array, Box, DType
from dpcheck.tracing.registry import Family, rule
from dpcheck.tracing.rules import aggregates, noise, rowwise
from dpcheck.tracing.values import SECRET, Aggregate, Coin, Draw, Noise, Released, Rows, Traced

if TYPE_CHECKING:
    from dpcheck.tracing.tracer import Tracer

_rise = boxes.increasing
_all = (-np.inf, np.inf)
_TRUTHS = (
    *(np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal),
    *(np.logical_and, np.logical_or, np.logical_not, np.logical_xor),
    *(np.isnan, np.isfinite, np.isinf, np.signbit),
)
BOXES: dict[np.ufunc, Callable[..., Box]] = {
    np.add: boxes.add,
    np.subtract: boxes.subtract,
    np.multiply: boxes.multiply,
    np.divide: boxes.divide,
    np.negative: boxes.negative,
    np.positive: lambda a: a,
    np.conjugate: lambda a: a,
    np.absolute: boxes.absolute,
    np.fabs: boxes.absolute,
    np.square: boxes.square,
    np.power: boxes.power,
    np.float_power: boxes.power,
    np.minimum: boxes.minimum,
    np.maximum: boxes.maximum,
    np.reciprocal: boxes.reciprocal,
    np.hypot: boxes.hypot,
    np.floor_divide: boxes.floor_divide,
    np.remainder: boxes.remainder,
    np.sqrt: _rise(np.sqrt, (0.0, np.inf)),
    np.cbrt: _rise(np.cbrt, _all),
    np.exp: _rise(np.exp, _all),
    np.exp2: _rise(np.exp2, _all),
    np.expm1: _rise(np.expm1, _all),
    np.log: _rise(np.log, (0.0, np.inf)),
    np.log2: _rise(np.log2, (0.0, np.inf)),
    np.log10: _rise(np.log10, (0.0, np.inf)),
    np.log1p: _rise(np.log1p, (-1.0, np.inf)),
    np.tanh: _rise(np.tanh, _all),
    np.arctan: _rise(np.arctan, _all),
    np.sign: _rise(np.sign, _all),
    np.floor: _rise(np.floor, _all),
    np.ceil: _rise(np.ceil, _all),
    np.rint: _rise(np.rint, _all),
    np.trunc: _rise(np.trunc, _all),
    np.sin: boxes.bounded(-1.0, 1.0),
    np.cos: boxes.bounded(-1.0, 1.0),
    **dict.fromkeys(_TRUTHS, boxes.truth),
}
_BITWISE = (np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert)
_FMIN = (np.fmin, np.fmax)


def box_of(value: Data) -> Box:
    """The box of an operand, public ones included."""
    return value.box if isinstance(value, Traced) else boxes.point(value)


def stand_in(value: Data) -> Data:
    """Something of the operand's type with no entries, to ask numpy for the type of a result."""
    if isinstance(value, Released):
        return value.example if value.dims == () else value.example.ravel()[:0]
    if isinstance(value, Traced):
        return np.empty(0, dtype=value.dtype)
    if isinstance(value, np.ndarray) and value.ndim:
        return np.empty(0, dtype=value.dtype)
    if isinstance(value, list | tuple):
        return np.empty(0, dtype=np.asarray(value).dtype)
    return value


def result_dtype(tracer: Tracer, function: Callable[..., Data], inputs: Sequence[Data]) -> DType:
    """The type numpy gives the result."""
    try:
        with np.errstate(all="ignore"):
            return np.asarray(function(*(stand_in(value) for value in inputs))).dtype
    except (TypeError, ValueError) as error:
        tracer.refuse("unknown-operation", f"numpy refuses these types ({error})", "mend the code")


def result_box(ufunc: np.ufunc, found: Sequence[Box], dtype: DType) -> Box:
    """The box of a universal function's result."""
    if ufunc in _FMIN:  # ignores NaN where one operand is a number
        without = [Box(b.lo, b.hi) for b in found]
        plain = (boxes.minimum if ufunc is np.fmin else boxes.maximum)(*without)
        if any(not b.nan for b in found):
            spare = [b for b in found if not b.nan]
            return plain.hull(Box(spare[0].lo, spare[0].hi))
        return boxes.WHOLE
    if ufunc in _BITWISE and dtype.kind == "b":
        return boxes.box(0.0, 1.0)
    if ufunc in BOXES:
        return boxes.fitted(BOXES[ufunc](*found), dtype)
    return boxes.of_dtype(dtype)


def boxed(ufunc: np.ufunc, inputs: Sequence[Data]) -> Box | None:
    """The box of a function of released and public values."""
    if ufunc not in BOXES:
        return None
    with np.errstate(all="ignore"):
        return BOXES[ufunc](*(box_of(value) for value in inputs))


def apply(tracer: Tracer, ufunc: np.ufunc, inputs: Sequence[Data], kwargs: dict[str, Data]) -> Data:
    """A universal function with a symbol among its operands."""
    wanted = kwargs.pop("dtype", None)
    kwargs.pop("casting", None)
    if kwargs.pop("where", True) is not True or kwargs:
        tracer.unknown(f"np.{ufunc.__name__} with where= or other options")
    if any(isinstance(value, Noise | Coin | Draw) for value in inputs):
        return noise.apply(tracer, ufunc, inputs)
    if ufunc.nout != 1:
        tracer.unknown(f"np.{ufunc.__name__}")
    if ufunc is np.multiply and inputs[0] is inputs[1]:
        ufunc, inputs = np.square, inputs[:1]
    dtype = result_dtype(tracer, ufunc, inputs) if wanted is None else np.dtype(wanted)
    inputs = [np.asarray(v) if isinstance(v, list | tuple) else v for v in inputs]
    if ufunc is np.power and dtype.kind in "iu" and not (box_of(inputs[1]).lo >= 0).all():
        tracer.refuse(
            "private-control",
            "whole numbers raised to a negative power are an error, but not where there are no rows",
            "turn them into floats first",
        )
    if any(isinstance(value, Aggregate) for value in inputs):
        whole = [rowwise.as_aggregate(v) if isinstance(v, Rows) else v for v in inputs]
        return aggregates.elementwise(tracer, ufunc, whole, dtype)
    return rowwise.elementwise(tracer, ufunc, inputs, dtype)


@rule(
    np.clip,
    family=Family.ELEMENTWISE,
    lemma="clip = minimum after maximum; NaN stays NaN",
    methods=("clip",),
)
def clip(tracer: Tracer, a: Data, a_min: Data = None, a_max: Data = None, **kwargs: Data) -> Data:
    """np.clip with public ends."""
    low, high = kwargs.pop("min", a_min), kwargs.pop("max", a_max)
    out = kwargs.pop("out", None)
    if kwargs:
        tracer.unknown(f"np.clip with {', '.join(kwargs)}")
    for end in (low, high):
        if isinstance(end, Released):
            tracer.refuse(
                "released-path",
                "a released value decides where private values are clipped",
                "clip at a public number, or decorate the function with @dpcheck.enforced",
            )
        if isinstance(end, SECRET):
            tracer.refuse(
                "private-control",
                "private values are clipped at a private value",
                "clip at a public number",
            )
        if end is not None and np.isnan(np.asarray(end, dtype=float)).any():
            tracer.refuse(
                "unbounded", "values are clipped at NaN, which does nothing", "use a number"
            )
    found = a
    if low is not None:
        found = tracer.ufunc(np.maximum, "__call__", (found, low), {})
    if high is not None:
        found = tracer.ufunc(np.minimum, "__call__", (found, high), {})
    if isinstance(a, Rows) and isinstance(found, Rows):
        low_end = -np.inf if low is None else np.max(low)
        high_end = np.inf if high is None else np.min(high)
        if low_end <= 0 <= high_end:  # towards 0: no norm grows, and zeros stay
            found.row = found.row.both(a.row)
            found.sampling = a.sampling
    return found if out is None else tracer.put(out, found)


@rule(
    np.nan_to_num,
    family=Family.ELEMENTWISE,
    lemma="NaN becomes a public number, infinities the public ends",
)
def nan_to_num(
    tracer: Tracer,
    x: Data,
    copy: bool = True,
    nan: float = 0.0,
    posinf: Data = None,
    neginf: Data = None,
) -> Data:
    """np.nan_to_num on rows or aggregates."""
    if not isinstance(x, Rows | Aggregate) or not copy:
        tracer.unknown("np.nan_to_num with these arguments")
    if x.dtype.kind != "f":
        return x
    most = float(np.finfo(x.dtype.name).max)
    high = most if posinf is None else float(posinf)
    low = -most if neginf is None else float(neginf)

    def ends(value: Array) -> Array:
        return np.where(value == np.inf, high, np.where(value == -np.inf, low, value))

    found = Box(ends(x.box.lo), ends(x.box.hi))
    if np.isinf(x.box.hi).any() or np.isinf(x.box.lo).any():
        found = found.hull(boxes.point([low, high]).over((0,)).mapped(lambda v: v.reshape(())))
        found = Box(np.minimum(found.lo, -most), np.maximum(found.hi, most))
    if x.box.nan:
        found = found.hull(boxes.point(nan))
    if isinstance(x, Rows):
        return rowwise.made(x, x.dims, x.dtype, found)
    return Aggregate(tracer, x.dims, x.dtype, found, aggregates.changed_only(x.diff))


@rule(
    np.round,
    np.fix,
    family=Family.ELEMENTWISE,
    lemma="rows stay rows; an aggregate moves by at most one unit more, 0 if its numbers are whole",
    methods=("round",),
)
def rounded(tracer: Tracer, a: Data, decimals: int = 0) -> Data:
    """np.round to a public number of digits."""
    if decimals == 0:
        return tracer.ufunc(np.rint, "__call__", (a,), {}) if a.dtype.kind == "f" else a
    factor = 10.0**decimals
    return tracer.ufunc(np.rint, "__call__", (a * factor,), {}) / factor
