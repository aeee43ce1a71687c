"""What a traced function returns: released or public values, and nothing else."""

from __future__ import annotations

import dataclasses
import sys
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.core.data import Data
from dpcheck.replay.draws import is_users
from dpcheck.tracing.containers import Container
from dpcheck.tracing.values import PRIVATE, SECRET, Coin, Draw, Noise, Released

if TYPE_CHECKING:
    from dpcheck.tracing.tracer import Tracer

_PLAIN = (str, bytes, bool, int, float, complex, type(None), np.generic, range, slice)
_DEEPEST = 50


def check_output(tracer: Tracer, value: Data, depth: int = 0) -> None:
    """Refuse an output that holds a private value, or something nobody can look into."""
    if depth > _DEEPEST:
        tracer.unknown("an output of so many levels")
    if isinstance(value, Released):
        if value.release is not None:
            value.release.opened = True
    elif isinstance(value, Container):
        return
    elif isinstance(value, Noise | Coin | Draw):
        if PRIVATE in value.dims:
            tracer.refuse(
                "private-length",
                "as many numbers are returned as there are records, which is private",
                "return a public number of them",
            )
        tracer.use(np.unique(value.ids), "returned")
    elif isinstance(value, SECRET):
        tracer.refuse(
            "private-output",
            f"the function returns {value.what} without noise",
            "add noise to it before it is returned",
        )
    elif not isinstance(value, _PLAIN):
        for each in _parts(tracer, value):
            check_output(tracer, each, depth + 1)


def _parts(tracer: Tracer, value: Data) -> list[Data]:
    """What a container holds."""
    if isinstance(value, np.ndarray):
        return list(value.ravel().tolist()) if value.dtype.hasobject else []
    if isinstance(value, dict):
        return [*value, *value.values()]
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, field.name) for field in dataclasses.fields(value)]
    kind = type(value)
    users = is_users(getattr(sys.modules.get(kind.__module__), "__file__", None))
    if (
        users
        and hasattr(value, "__dict__")
        and not hasattr(kind, "__slots__")
        and not callable(value)
    ):
        return list(vars(value).values())
    return tracer.refuse(
        "unknown-output",
        f"the output holds a {kind.__name__}, which cannot be looked into",
        "return numbers, arrays, lists or dicts",
    )
