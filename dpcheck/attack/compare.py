"""Whether two outputs of one computation are the same, up to what floats may round."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.core.data import Data

NEAR = 1e-6  # also of numbers that were single precision on the way
_DEEPEST = 20


def same(one: Data, other: Data, depth: int = 0) -> bool:
    """Numbers within rounding, everything else equal; what cannot be looked into counts as the same.

    >>> same({"a": [1.0, 0.1 + 0.2]}, {"a": np.array([1.0, 0.3])}), same("0.1", "0.2")
    (True, False)
    """
    if depth > _DEEPEST:
        return True
    if isinstance(one, str | bytes | type(None)) or isinstance(other, str | bytes | type(None)):
        return type(one) is type(other) and bool(one == other)
    if isinstance(one, dict) and isinstance(other, dict):
        return list(map(str, one)) == list(map(str, other)) and all(
            same(a, b, depth + 1) for a, b in zip(one.values(), other.values(), strict=True)
        )
    left, right = _numbers(one), _numbers(other)
    if left is not None and right is not None:
        return left.shape == right.shape and _near(left, right)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(
            same(a, b, depth + 1) for a, b in zip(one, other, strict=True)
        )
    if dataclasses.is_dataclass(one) and type(one) is type(other):
        return all(
            same(getattr(one, field.name), getattr(other, field.name), depth + 1)
            for field in dataclasses.fields(one)
        )
    if hasattr(one, "__dict__") and type(one) is type(other):
        return same(vars(one), vars(other), depth + 1)
    return True


def _numbers(value: object) -> NDArray[Any] | None:
    if hasattr(value, "to_numpy") and not isinstance(value, np.ndarray):
        value = value.to_numpy()
    try:
        found = np.asarray(value)
    except Exception:
        return None
    return found if found.dtype.kind in "biufc" else None


def _near(one: NDArray[Any], other: NDArray[Any]) -> bool:
    if not one.size:
        return True
    kinds = one.dtype.kind, other.dtype.kind
    if all(kind in "biu" for kind in kinds):
        return bool((one == other).all())
    finite = np.abs(np.where(np.isfinite(one), one, 0.0)).max(initial=0.0)
    return bool(
        np.allclose(one, other, rtol=NEAR, atol=NEAR * min(1.0, float(finite)), equal_nan=True)
    )
