"""numpy: every dtype, masks, and arrays of objects."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.auditing.outputs.flat import Flat
from dpcheck.auditing.outputs.kinds.numbers import EXACT, read_int
from dpcheck.auditing.outputs.registry import reads

_PER_DAY = {
    "D": 1,
    "h": 24,
    "m": 1440,
    "s": 86_400,
    "ms": 86_400_000,
    "us": 86_400_000_000,
    "ns": 86_400_000_000_000,
}


@reads(np.ndarray)
def read_array(value: NDArray[np.generic], path: str, flat: Flat) -> None:
    """The entries, the shape and the dtype."""
    if isinstance(value, np.ma.MaskedArray):
        _read_masked(value, path, flat)
        return
    array = np.asarray(value)
    flat.token(f"{path}.dtype", str(array.dtype))
    read_shape(array.shape, path, flat)
    read_entries(array, path, flat)


def read_shape(shape: tuple[int, ...], path: str, flat: Flat) -> None:
    """The length of every axis."""
    flat.block(f"np.shape({path})", np.array(shape, dtype=float))


def read_entries(array: NDArray[Any], path: str, flat: Flat) -> None:
    """The entries of an array of any dtype."""
    kind = array.dtype.kind
    if array.dtype.names is not None:
        for name in array.dtype.names:
            read_entries(array[name], f'{path}["{name}"]', flat)
    elif kind in "bfc" or kind in "iu":
        _read_numbers(array, path, flat)
    elif kind in "mM":
        _read_times(array, path, flat)
    elif kind == "V":
        flat.child(array.tobytes(), f"{path}.tobytes()")
    else:  # objects and texts
        flat.child(array.tolist(), f"{path}.tolist()")


def _read_numbers(array: NDArray[np.generic], path: str, flat: Flat) -> None:
    if array.dtype.kind == "c":
        _put(flat, f"{path}.real", array.real)
        _put(flat, f"{path}.imag", array.imag)
        return
    near = array.astype(float)
    _put(flat, path, near)
    if array.dtype.kind in "iu" and array.size and bool((np.abs(near) > EXACT).any()):
        low = (array & np.array(0xFFFFFFFF, array.dtype)).astype(float)
        high = (array >> np.array(32, array.dtype)).astype(float)
        _put(flat, f"({path} & 0xffffffff)", low)
        _put(flat, f"({path} >> 32)", high)
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        with np.errstate(invalid="ignore"):
            _put(flat, f"({path} - {path}.astype(float))", (array - near).astype(float))


def _put(flat: Flat, path: str, values: NDArray[np.generic]) -> None:
    """An array, or a single number where it has no axis."""
    if values.ndim:
        flat.block(path, values)
    else:
        flat.number(path, float(values))


def _read_times(array: NDArray[Any], path: str, flat: Flat) -> None:
    """Days and what is left of the day, each exact in a float; NaT is NaN."""
    unit = np.datetime_data(array.dtype)[0]
    whole = array.view("i8")
    missing = np.isnat(array)
    if unit not in _PER_DAY:  # years and months, or finer than any clock
        days, rest = whole >> 32, whole & 0xFFFFFFFF
    else:
        days, rest = np.divmod(whole, _PER_DAY[unit])
    _put(flat, f"days of {path}", np.where(missing, np.nan, days.astype(float)))
    _put(flat, f"time of day of {path}", np.where(missing, np.nan, rest.astype(float)))


def _read_masked(
    value: np.ma.MaskedArray[tuple[int, ...], np.dtype[np.generic]], path: str, flat: Flat
) -> None:
    mask = np.ma.getmaskarray(value)
    flat.token(f"{path}.dtype", str(value.dtype))
    read_shape(value.shape, path, flat)
    blank = np.zeros((), dtype=value.dtype)
    read_entries(np.where(mask, blank, np.ma.getdata(value)), path, flat)
    _put(flat, f"{path}.mask", mask.astype(float))


@reads(np.generic)
def read_scalar(value: np.generic, path: str, flat: Flat) -> None:
    """One entry of an array."""
    array = np.asarray(value)
    if array.dtype.kind in "iu":
        read_int(int(array), path, flat)
    elif array.dtype.kind in "US":
        flat.child(value.item(), path)
    else:
        read_entries(array, path, flat)
