"""A violating pair as a file, and back: plain JSON, no code in it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from dpcheck.auditing.mechanism import Pair
from dpcheck.core.data import Data, Plain
from dpcheck.core.errors import CannotReplay, reason
from dpcheck.core.witness import Witness, WitnessKind


def encode(data: Data) -> Plain:
    """Data as JSON that remembers arrays and tuples; TypeError for anything else.

    >>> decode(encode((np.array([1.5, 2.0]), [1, "a"])))
    (array([1.5, 2. ]), [1, 'a'])
    """
    if isinstance(data, np.ndarray) and data.dtype.kind in "biuf":
        return {"array": data.tolist(), "dtype": str(data.dtype), "shape": list(data.shape)}
    if isinstance(data, np.generic):
        return data.item()
    if isinstance(data, tuple):
        return {"tuple": [encode(item) for item in data]}
    if isinstance(data, list):
        return [encode(item) for item in data]
    if data is None or isinstance(data, bool | int | float | str):
        return data
    raise TypeError(f"{type(data).__name__} cannot be saved")


def decode(data: Plain) -> Data:
    """What `encode` was given."""
    if isinstance(data, dict):
        if "array" in data:
            return np.asarray(data["array"], dtype=data["dtype"]).reshape(data["shape"])
        return tuple(decode(item) for item in data["tuple"])
    return [decode(item) for item in data] if isinstance(data, list) else data


def save(folder: Path, name: str, pair: Pair, found: dict[str, Plain]) -> Path | None:
    """Write the pair and what was found; None where the data cannot be written."""
    try:
        first, second = encode(pair.first), encode(pair.second)
    except TypeError:
        return None
    plain = "".join(c if c.isalnum() else "-" for c in name).strip("-")[-100:]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{plain}.json"
    figures = {"first": first, "second": second, "label": pair.label, "test": name, **found}
    witness = Witness(WitnessKind.SAVED_PAIR, figures)
    path.write_text(json.dumps(witness.to_json(), indent=1), encoding="utf-8")
    return path


def load(path: Path) -> Pair:
    """The pair of a saved file."""
    try:
        witness = Witness.from_json(json.loads(path.read_text(encoding="utf-8")))
        if witness.kind is not WitnessKind.SAVED_PAIR:
            raise CannotReplay("it was not written by the pytest plugin.")
        return Pair(decode(witness["first"]), decode(witness["second"]), str(witness["label"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise CannotReplay(f"{path} is not a saved pair ({reason(error)}).") from None
