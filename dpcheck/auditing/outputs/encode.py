"""From what a mechanism returned to rows of numbers, or to a table of places."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpcheck.auditing.outputs import kinds
from dpcheck.auditing.outputs.flat import Flat
from dpcheck.auditing.outputs.kinds.numbers import EXACT
from dpcheck.auditing.outputs.kinds.objects import RAISED, Raised
from dpcheck.auditing.outputs.slots import OUT, type_name
from dpcheck.auditing.outputs.tables import Encoded, Plain, Runs
from dpcheck.core.data import Output
from dpcheck.core.errors import BadOutput, MechanismFailed, UnreadableOutput

TRY_IT = "Call it once by hand on the audited data and fix that first."

__all__ = [
    "TRY_IT",
    "encode_batch",
    "encode_list",
    "encode_runs",
    "flatten",
    "kinds",
    "plain_rows",
    "take",
]
_NUMBERS = (bool, int, float, complex)


def flatten(value: Output) -> Flat:
    """The places of an output.

    >>> [slot.path for slot in flatten({"mean": 2.5, "n": 3}).numbers]
    ['len(out)', 'out["mean"]', 'out["n"]']
    """
    flat = Flat()
    flat.child(value, OUT)
    if OUT in flat.unread and not flat.numbers and not flat.flags:
        raise UnreadableOutput(
            f"the mechanism returned an object of type {type_name(value)}: {flat.unread[OUT]}. "
            "Return numbers, text, lists, dicts, dataclasses, arrays, tables, or an object with "
            "attributes of these kinds.",
            type=type_name(value),
        )
    return flat


def take(value: Output) -> Output:
    """An output as it is now, before the next run can change it: a number, an array, or a Flat."""
    if _plain_kind(value) is None:
        return flatten(value)
    return np.array(value) if isinstance(value, np.ndarray) else value


def take_error(error: BaseException) -> Flat:
    """A run that raised: the error's type and message are its output."""
    return flatten(Raised(error))


def encode_runs(taken: Sequence[Output]) -> Encoded:
    """The outputs of one run each, as `take` gave them."""
    found = {None if isinstance(one, Flat) else _plain_kind(one) for one in taken}
    if len(found) == 1:
        kind = found.pop()
        plain = None if kind is None else _plain(np.asarray(taken), len(taken), *kind)
        if plain is not None:
            return plain
    flats = [one if isinstance(one, Flat) else flatten(one) for one in taken]
    raised = sum(any(slot.path == RAISED for slot in flat.tokens) for flat in flats)
    return Runs(tuple(flats), raised)


def _plain_kind(value: Output) -> tuple[str, tuple[int, ...]] | None:
    """Type and shape of an output that is a number or an array of numbers."""
    if type(value) in _NUMBERS:
        return type_name(value), ()
    if isinstance(value, np.generic) and value.dtype.kind in "biuf" and value.dtype.itemsize <= 8:
        return type_name(value), ()
    if type(value) is np.ndarray and value.dtype.kind in "biufc" and value.dtype.itemsize <= 16:
        return f"ndarray of {value.dtype}", value.shape
    return None


def _plain(
    array: NDArray[np.generic], size: int, kind: str, shape: tuple[int, ...]
) -> Plain | None:
    """The outputs as rows, unless some is not finite or too large to be a float."""
    if array.dtype.kind == "c":
        array, shape = np.stack([array.real, array.imag], axis=-1), (*shape, 2)
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        return None
    rows = array.reshape(size, -1).astype(float)
    if not np.isfinite(rows).all():
        return None
    if array.dtype.kind in "iu" and rows.size and np.abs(rows).max() > EXACT:
        return None
    return Plain(rows, kind, shape)


def encode_list(values: Sequence[Output]) -> Encoded:
    """The outputs of one call each.

    >>> encode_list([1, 2, 5]).rows.tolist()
    [[1.0], [2.0], [5.0]]
    """
    return encode_runs([take(value) for value in values])


def encode_batch(value: Output, size: int) -> Encoded:
    """The outputs of a batched mechanism, one per entry of the first axis, or of a list."""
    if isinstance(value, list | tuple):
        array = _as_array(value)
        if array is None or array.dtype.kind not in "biufc":
            _check_count(len(value), size, (len(value),))
            return encode_list(list(value))
    else:
        array = _as_array(value)
        if array is None:
            raise BadOutput(
                f"a batched mechanism returned an object of type {type_name(value)}; return an "
                "array or a list with one entry per output."
            )
    _check_count(array.shape[0] if array.ndim else 0, size, array.shape)
    plain = _plain(array, size, f"ndarray of {array.dtype}", array.shape[1:])
    if plain is not None:
        return plain
    return encode_list(list(array))


def _as_array(value: Output) -> NDArray[np.generic] | None:
    if hasattr(value, "detach"):  # torch: part of a graph, perhaps not on the CPU
        value = value.detach().cpu()
    try:
        return np.asarray(value)
    except (ValueError, TypeError, OverflowError):
        return None


def _check_count(found: int, size: int, shape: tuple[int, ...]) -> None:
    if found != size:
        raise BadOutput(
            f"a batched mechanism was asked for {size} outputs and returned shape {shape}; "
            "the first axis must count the outputs.",
            shape=shape,
        )


def plain_rows(encoded: Encoded) -> NDArray[np.float64]:
    """Rows of numbers, where nothing else will do: for a density, a pivot, or scores of canaries."""
    if isinstance(encoded, Plain):
        return encoded.rows
    table = encoded.as_table()
    if table.raised:
        errors = next(t for slot, t in table.tokens.items() if slot.path == RAISED)
        text = next(t for slot, t in table.tokens.items() if slot.path == "str(error)")
        first = next(i for i, kind in enumerate(errors) if kind is not None)
        raise MechanismFailed(
            f"the mechanism raised {errors[first]}: {text[first]}. {TRY_IT}",
            kind=errors[first],
        )
    arrays = [
        (values, counts) for slot, (values, counts) in table.numbers.items() if slot.path == OUT
    ]
    if len(arrays) != 1 or (arrays[0][1] != arrays[0][0].shape[1]).any():
        raise BadOutput(
            "these outputs must be numbers or arrays of one shape, since a density, a noise-scale "
            "test or scores of canaries are computed from them."
        )
    values = arrays[0][0]
    if not np.isfinite(values).all():
        kind = "NaN" if np.isnan(values).any() else "an infinite number"
        raise BadOutput(f"the mechanism returned {kind}, where a density needs a finite output.")
    return values
