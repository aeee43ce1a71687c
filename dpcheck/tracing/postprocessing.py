"""Released values: everything computed from them alone is post-processing and costs nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.core.data import Data
from dpcheck.tracing.facts.boxes import WHOLE, Box, of_dtype
from dpcheck.tracing.values import Released, Traced

if TYPE_CHECKING:
    from dpcheck.tracing.tracer import Tracer

# Functions whose result has a shape, or which raise, by the values they are given.
_BY_VALUE = frozenset(
    {
        *("unique", "nonzero", "flatnonzero", "argwhere", "compress", "extract", "trim_zeros"),
        *("setdiff1d", "union1d", "intersect1d", "setxor1d", "unique_values", "unique_all"),
        *("delete", "insert", "repeat", "split", "array_split", "bincount", "histogram_bin_edges"),
        *("item", "tolist", "tobytes", "dump", "tofile", "array_equal", "allclose", "array_equiv"),
        *("save", "savetxt", "array2string", "array_repr", "array_str", "isscalar"),
    }
)


def flattened(values: Iterable[Data]) -> list[Data]:
    """Everything in nested lists, tuples and dicts."""
    found: list[Data] = []
    for value in values:
        if isinstance(value, list | tuple | set | frozenset):
            found += flattened(value)
        elif isinstance(value, dict):
            found += flattened(value.values())
        elif isinstance(value, slice):
            found += flattened((value.start, value.stop, value.step))
        else:
            found.append(value)
    return found


def only_released(values: Iterable[Data]) -> bool:
    """Whether every symbol among them is a released one."""
    return all(
        isinstance(value, Released) for value in flattened(values) if isinstance(value, Traced)
    )


def opened(value: Data) -> Data:
    """The example behind a released value, whose release is now seen number by number."""
    if isinstance(value, Released):
        if value.release is not None:
            value.release.opened = True
        return value.example
    if isinstance(value, list | tuple):
        items = [opened(each) for each in value]
        return tuple(items) if isinstance(value, tuple) else items
    if isinstance(value, dict):
        return {key: opened(each) for key, each in value.items()}
    if isinstance(value, slice):
        return slice(opened(value.start), opened(value.stop), opened(value.step))
    return value


def call_on_released(
    tracer: Tracer,
    function: Callable[..., Data],
    args: tuple[Data, ...],
    kwargs: dict[str, Data],
    known: Box | None,
) -> Data:
    """A function of released and public values: its result is released too."""
    name = getattr(function, "__name__", "")
    if name in ("argmax", "argmin") and len(args) == 1 and not kwargs:
        release = getattr(args[0], "release", None)
        if release is not None and release.selects(name):
            tracer.chosen(release)
            return Released(tracer, np.argmax(args[0].example), _places(args[0]))
    if name in _BY_VALUE or (name == "where" and len(args) == 1):
        tracer.refuse(
            "released-path",
            f"np.{name} of a released value decides a shape or a path",
            "decorate the function with @dpcheck.enforced",
        )
    if known is None:
        known = _known(name, args)
    with np.errstate(all="ignore"):
        found = function(*opened(args), **opened(kwargs))
    return wrapped(tracer, found, known)


# Functions whose every result is one of the entries they were given, or between them.
_BETWEEN = frozenset(
    {
        *("index", "reshape", "transpose", "squeeze", "ravel", "flatten", "broadcast_to", "copy"),
        *("concatenate", "stack", "vstack", "hstack", "column_stack", "where", "expand_dims"),
        *("mean", "median", "max", "min", "amax", "amin", "sort", "flip", "roll", "diag", "tile"),
    }
)


def _known(name: str, args: tuple[Data, ...]) -> Box | None:
    """The box of a result that lies between the entries of the arguments, or is their sum."""
    values = [v for v in flattened(args) if isinstance(v, Released)]
    if not values or name not in (*_BETWEEN, "sum"):
        return None
    others = [
        np.asarray(v)
        for v in flattened(args)
        if isinstance(v, np.ndarray | float) and not isinstance(v, Traced)
    ]
    ends = [(v.box.lo.min(), v.box.hi.max(), v.box.nan) for v in values if v.box.lo.size]
    ends += [(v.min(), v.max(), False) for v in others if v.size and v.dtype.kind in "biuf"]
    if not ends:
        return None
    many = values[0].example.size if name == "sum" else 1
    low, high = (float(f(each[i] for each in ends)) for f, i in ((min, 0), (max, 1)))
    if np.isnan(low) or np.isnan(high):
        return None
    return Box(
        np.asarray(min(low, low * many)),
        np.asarray(max(high, high * many)),
        any(e[2] for e in ends),
    )


def _places(value: Released) -> Box:
    return Box(np.asarray(0.0), np.asarray(float(max(1, value.example.size) - 1)), False, True)


def wrapped(tracer: Tracer, found: Data, known: Box | None = None) -> Data:
    """Every number of a result as released."""
    if isinstance(found, tuple | list):
        items = [wrapped(tracer, each) for each in found]
        return type(found)(*items) if hasattr(found, "_fields") else type(found)(items)
    if isinstance(found, np.ndarray | np.generic | float | int | bool):
        dtype = np.asarray(found).dtype
        if known is None:
            known = of_dtype(dtype) if dtype.kind in "biu" else WHOLE
        return Released(tracer, found, known)
    if found is None or isinstance(found, str):
        return found
    return tracer.unknown(f"a result of type {type(found).__name__} from released values")
