"""Data sent to another process, and outputs that come back: JSON with the types of arrays and tables.

Nothing is ever unpickled or evaluated: an answer is data.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from dpcheck.core.errors import BadOutput, InvalidParameter
from dpcheck.session.external import client

MOST_ENTRIES = 1 << 26  # numbers of one array that another process may announce


class _Failed(Exception):
    """An error of another process, under the name it had there."""


def encode(value: object) -> Any:
    """A value as JSON can carry it, types included."""
    found = client.encode(value)
    if isinstance(found, dict) and found.get(client.TAG) == "unreadable":
        raise InvalidParameter(
            f"data of type {found['type']} cannot be sent to another process; use numbers, text, "
            "lists, dicts, numpy arrays or pandas tables.",
            name="neighbours",
        )
    return found


def decode(value: Any) -> Any:
    """A value that came back.

    Guarantee: builds numbers, text, lists, dicts, tuples, numpy arrays and pandas tables, and nothing
    else; anything that is not one of them raises BadOutput.
    """
    try:
        return _decode(value)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise BadOutput(f"another process sent a value that cannot be read: {error!r}.") from None


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return [_decode(each) for each in value]
    if not isinstance(value, dict):
        return value
    kind = value.get(client.TAG)
    if kind is None:
        return {str(key): _decode(each) for key, each in value.items()}
    if kind == "raised":
        return raised(str(value["type"]), str(value["message"]))
    if kind == "unreadable":
        raise BadOutput(
            f"the function returned an object of type {value['type']}, which cannot cross to another "
            "process; return numbers, text, lists, dicts, numpy arrays or pandas tables.",
        )
    if kind == "array":
        _check_array(value)
    return client.decode(value)


def _check_array(value: dict[str, Any]) -> None:
    if np.dtype(value["dtype"]).kind not in "biufU" or len(value["values"]) > MOST_ENTRIES:
        raise ValueError(f"an array of {value['dtype']}")


def raised(name: str, message: str) -> BaseException:
    """An error as an output: a type of that name, with that message."""
    kind = type(name if name.isidentifier() else "Error", (_Failed,), {})
    error: BaseException = kind(message)
    return error


def state_of(rng: np.random.Generator) -> dict[str, Any]:
    """The generator's state as JSON; what another Python needs to draw the same numbers."""
    return dict(json.loads(json.dumps(rng.bit_generator.state, default=int)))
