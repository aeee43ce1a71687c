"""A structured output as its shape and its scalars, each with the way to it."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping

import numpy as np

from dpcheck.core.data import Value
from dpcheck.replay.following.arrays import FollowedArray
from dpcheck.replay.following.values import Followed

Shape = tuple[Value, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Flat:
    """`shape` is everything but the scalars; `ways` and `scalars` go together."""

    shape: Shape
    ways: tuple[str, ...]
    scalars: tuple[Value, ...]


def flatten(output: Value) -> Flat:
    """Take an output apart.

    >>> flatten({"mean": 1.0, "bins": [2, 3]}).ways
    ("['mean']", "['bins'][0]", "['bins'][1]")
    """
    ways: list[str] = []
    scalars: list[Value] = []
    shape = _take(output, "", ways, scalars, 0)
    return Flat(shape, tuple(ways), tuple(scalars))


def _take(value: Value, way: str, ways: list[str], scalars: list[Value], depth: int) -> Shape:
    if isinstance(value, Followed | str | bytes | int | float | complex | np.generic | None):
        ways.append(way)
        scalars.append(value.item() if isinstance(value, np.generic) else value)
        return ("scalar",)
    if depth > 20:
        return ("opaque", type(value).__name__)

    def inner(items: Value) -> Shape:
        return tuple(_take(x, f"{way}{name}", ways, scalars, depth + 1) for name, x in items)

    if isinstance(value, np.ndarray):
        entries = value.view(np.ndarray) if isinstance(value, FollowedArray) else value
        items = [(str(list(at)), x) for at, x in np.ndenumerate(entries)]
        return ("array", value.shape, *inner(items))
    if isinstance(value, Mapping):
        keys = tuple(repr(key) for key in value)
        return ("mapping", keys, *inner([(f"[{key!r}]", x) for key, x in value.items()]))
    if isinstance(value, list | tuple):
        # A tuple and a list of the same numbers tell the same.
        return ("sequence", len(value), *inner([(f"[{i}]", x) for i, x in enumerate(value)]))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [(f".{f.name}", getattr(value, f.name)) for f in dataclasses.fields(value)]
        return ("record", type(value).__name__, *inner(fields))
    for test, parts in _KINDS:
        if test(value):
            return ("table", *inner(parts(value)))
    return ("opaque", type(value).__name__)


def _is_pandas(value: Value) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, pandas.Series | pandas.DataFrame | pandas.Index)


def _of_pandas(value: Value) -> list[tuple[str, Value]]:
    pandas = sys.modules["pandas"]
    if isinstance(value, pandas.DataFrame):
        columns = [(f"[{name!r}]", list(value[name])) for name in value.columns]
        return [(".index", list(value.index)), *columns]
    if isinstance(value, pandas.Series):
        return [(".index", list(value.index)), (".values", list(value))]
    return [(".values", list(value))]


def _is_tensor(value: Value) -> bool:
    return hasattr(value, "detach") and hasattr(value, "numpy")


def _of_tensor(value: Value) -> list[tuple[str, Value]]:
    return [("", value.detach().cpu().numpy())]


def _is_set(value: Value) -> bool:
    return isinstance(value, set | frozenset)


def _of_set(value: Value) -> list[tuple[str, Value]]:
    return [("", sorted(value, key=repr))]


def _is_jax(value: Value) -> bool:
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(value, jax.Array)


def _of_jax(value: Value) -> list[tuple[str, Value]]:
    return [("", np.asarray(value))]


_KINDS: tuple[tuple[Callable[[Value], bool], Callable[[Value], list[tuple[str, Value]]]], ...] = (
    (_is_pandas, _of_pandas),
    (_is_tensor, _of_tensor),
    (_is_set, _of_set),
    (_is_jax, _of_jax),
)
