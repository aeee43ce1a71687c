"""Operations in place: a symbol may change while nobody else looks at the same memory."""

from __future__ import annotations

import dis
import math
import sys
from types import FrameType
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.core.data import Data
from dpcheck.tracing.containers import Container
from dpcheck.tracing.facts.boxes import box, point
from dpcheck.tracing.postprocessing import flattened
from dpcheck.tracing.values import Aggregate, Coin, Draw, Noise, Released, Rows, Traced

if TYPE_CHECKING:
    from dpcheck.tracing.tracer import Tracer

_FIRST_IN_PLACE = 13  # of the arguments of BINARY_OP, those from here on are +=, &=, ...


def put(tracer: Tracer, out: Data, found: Data) -> Data:
    """`a += b`, and out=: the result takes the place of what `out` was."""
    target = out[0] if isinstance(out, tuple) else out
    if isinstance(target, np.ndarray) and not isinstance(target, Traced):
        if target.base is not None or sys.getrefcount(target) > _ALONE or not _rebinds():
            _shared(tracer)
        return found
    if not isinstance(target, Traced) or not isinstance(found, Traced):
        return tracer.unknown("this operation in place")
    if target.views or target.is_view:
        _shared(tracer)
    if found.dims != target.dims:
        raise ValueError("non-broadcastable output operand")
    if target.dtype != found.dtype:
        found = found.astype(target.dtype)
    target.become(found)
    return target


def _rebinds() -> bool:
    """Whether the code says `a += b`, which gives the name a new value, and not out=a."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith("dpcheck."):
        frame = frame.f_back
    if frame is None:
        return False
    code, at = frame.f_code.co_code, frame.f_lasti
    return code[at] == dis.opmap["BINARY_OP"] and code[at + 1] >= _FIRST_IN_PLACE


def _shared(tracer: Tracer) -> None:
    tracer.refuse(
        "shared-memory",
        "an array that other arrays share memory with is changed in place",
        "write x = x + y instead of x += y, or copy it first",
    )


class _Probe:
    """Counts the references numpy holds while `array += probe` runs, for one local variable."""

    __array_priority__ = 1000.0
    found = 0

    def __array_ufunc__(self, *_: Data, **kwargs: Data) -> Data:
        return _Probe._second(kwargs.pop("out"))

    @staticmethod
    def _second(out: Data) -> Data:
        target = out[0]
        _Probe.found = sys.getrefcount(target)
        return target


def _calibrate() -> int:
    array: Data = np.zeros(1)
    array += _Probe()
    # The tracer passes the tuple on once more than the probe does; names on the way add references.
    return _Probe.found + 1


_ALONE = _calibrate()


def assign(tracer: Tracer, owner: Traced, key: Data, value: Data) -> None:
    """owner[key] = value."""
    if isinstance(owner, Container):
        _write(tracer, owner, key, value)
        return
    if owner.views or owner.is_view:
        _shared(tracer)
    if isinstance(owner, Rows):
        _assign_rows(tracer, owner, key, value)
        return
    if isinstance(owner, Released) and (
        not isinstance(value, Traced) or isinstance(value, Released)
    ):
        holder = Container(tracer, owner.example.copy())
        holder.box = owner.box
        if owner.release is not None:
            owner.release.opened = True
        as_released = (
            value if isinstance(value, Released) else Released(tracer, value, point(value))
        )
        _write(tracer, holder, key, as_released)
        owner.become(holder)
        return
    if isinstance(owner, Aggregate | Released):
        found = assigned(tracer, owner, key, value)
        owner.become(found)
        return
    tracer.unknown("assignment to a part of this value")


def _write(tracer: Tracer, owner: Container, key: Data, value: Data) -> None:
    """A public array that gets a symbol becomes one."""
    if not isinstance(value, Traced):
        owner.array[key] = value
        owner.box = point(owner.array)
        return
    if any(isinstance(each, Traced) for each in flattened([key])):
        tracer.unknown("assignment at a private place")
    dtype = owner.dtype
    if isinstance(value, Noise | Coin | Draw):
        tracer.unknown("noise written into an array; add it to the finished array")
    if isinstance(value, Released):
        if value.release is not None:
            value.release.opened = True
        example = owner.array.copy()
        example[key] = value.example
        low = float(min(owner.box.lo.min(initial=np.inf), value.box.lo.min(initial=np.inf)))
        high = float(max(owner.box.hi.max(initial=-np.inf), value.box.hi.max(initial=-np.inf)))
        owner.become(Released(tracer, example, box(low, high, owner.box.nan or value.box.nan)))
        return
    owner.become(
        assigned(tracer, owner, key, value.astype(dtype) if value.dtype != dtype else value)
    )


def _assign_rows(tracer: Tracer, owner: Rows, key: Data, value: Data) -> None:
    """x[mask] = number, as np.where; x[:, j] = column is not followed."""
    public = not isinstance(value, Traced) and np.ndim(value) == 0
    masked = isinstance(key, Rows) and key.dtype.kind == "b" and key.rows is owner.rows
    if public and masked and key.dims == owner.dims:
        found = tracer.function(np.where, (key, value, owner), {})
        owner.become(found.astype(owner.dtype))
        return
    tracer.unknown("assignment to a part of the records")


def assigned(tracer: Tracer, owner: Traced, key: Data, value: Data) -> Data:
    """An aggregate some of whose entries are replaced, as a choice between two by a public mask."""
    full = np.zeros(owner.dims)[key].shape
    spread = (
        tracer.function(np.broadcast_to, (value, full), {}) if isinstance(value, Traced) else value
    )
    parts = [owner[i] for i in np.ndindex(owner.dims)]
    places = np.arange(math.prod(owner.dims)).reshape(owner.dims)[key]
    for at, place in enumerate(np.ravel(places)):
        one = spread[np.unravel_index(at, full)] if full else spread
        parts[int(place)] = one
    from dpcheck.tracing.rules.joining import stacked

    return stacked(tracer, parts).reshape(owner.dims)
