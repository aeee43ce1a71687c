"""Outputs of any kind as rows of finite numbers.

Numbers and arrays of one shape stay what they are. A list or tuple is a transcript and may vary in
length: its row is (length, code of the whole if it is longer than the row, first values). Anything
else is a category: its row is one code. Codes are digests of repr, so they agree between processes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.core.data import Data
from dpcheck.core.errors import BadOutput

_TRANSCRIPT = 32  # values of a transcript that become columns


def code(value: object) -> float:
    """A number for a category: 48 bits, exact in a float."""
    digest = hashlib.blake2b(repr(value).encode(), digest_size=6).digest()
    return float(int.from_bytes(digest, "big"))


def _finite(array: NDArray[np.float64]) -> NDArray[np.float64]:
    if not np.isfinite(array).all():
        kind = "NaN" if np.isnan(array).any() else "an infinite number"
        raise BadOutput(
            f"the mechanism returned {kind}; an output must be finite. Return a category such as "
            "None where there is no answer."
        )
    return array


def encode_array(value: Any, size: int) -> NDArray[np.float64]:
    """The outputs of a batched mechanism, one per entry of the first axis."""
    array = np.asarray(value)
    if array.ndim == 0 or array.shape[0] != size:
        raise BadOutput(
            f"a batched mechanism was asked for {size} outputs and returned shape {array.shape}; "
            "the first axis must count the outputs.",
            shape=array.shape,
        )
    if array.dtype.kind in "OUS":
        return encode_list(list(value))
    if array.dtype.kind == "c":
        array = np.stack([array.real, array.imag], axis=-1)
    if array.dtype.kind not in "biuf":
        raise BadOutput(f"outputs of type {array.dtype} cannot be audited; return numbers.")
    return _finite(array.reshape(size, -1).astype(float))


def encode_list(values: Sequence[Data]) -> NDArray[np.float64]:
    """The outputs of one call each."""
    if all(isinstance(value, Number | np.generic) for value in values) and not any(
        isinstance(value, np.str_ | np.bytes_) for value in values
    ):
        return encode_array(np.asarray(values), len(values))
    if all(isinstance(value, np.ndarray) for value in values):
        shapes = {value.shape for value in values}
        if len(shapes) > 1:
            raise BadOutput(
                f"the mechanism changes the shape of its output: {sorted(shapes)[:3]}. Return a "
                "list where the length is part of the answer.",
                shapes=shapes,
            )
        return encode_array(np.stack(values), len(values))
    if any(isinstance(value, np.ndarray) for value in values):
        raise BadOutput("the mechanism returns arrays in some runs and other things in others.")
    if all(isinstance(value, list | tuple) for value in values):
        return np.stack([_transcript(value) for value in values])
    return np.asarray([[code(value)] for value in values])


def _transcript(value: Sequence[Data]) -> NDArray[np.float64]:
    row = np.zeros(2 + _TRANSCRIPT)
    row[0], row[1] = len(value), code(value) if len(value) > _TRANSCRIPT else 0.0
    for index, item in enumerate(value[:_TRANSCRIPT]):
        row[2 + index] = float(item) if isinstance(item, Number | bool) else code(item)  # type: ignore[arg-type]
    result: NDArray[np.float64] = _finite(row[None, :])[0]
    return result
