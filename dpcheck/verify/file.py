"""Reads a certificate and hands it to the checker of its schema."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dpcheck.verify.bound import SCHEMA as BOUND
from dpcheck.verify.bound import check_bound
from dpcheck.verify.events import Json
from dpcheck.verify.program.check import SCHEMA as PROVED
from dpcheck.verify.program.check import check_proved
from dpcheck.verify.result import Accepted, Refused

CHECKERS: dict[str, Callable[[Json], Accepted]] = {BOUND: check_bound, PROVED: check_proved}


class Unreadable(Exception):
    """The file is no certificate at all."""


def check_file(path: Path) -> Accepted:
    """Check the certificate in a file: `Accepted`, or `Refused` with the step that failed."""
    return check_data(read_file(path))


def read_file(path: Path) -> Mapping[str, Any]:
    """What a file holds, without looking at it yet."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise Unreadable(f"cannot read {path}: {error}") from None
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"{path} is not JSON: {error}") from None
    if not isinstance(data, Mapping):
        raise Unreadable('a certificate is an object with a "schema"')
    return data


def check_data(data: object) -> Accepted:
    """Check a certificate that was read already."""
    schema = data.get("schema") if isinstance(data, Mapping) else None
    if not isinstance(data, Mapping) or not isinstance(schema, str):
        raise Unreadable('a certificate is an object with a "schema"')
    if schema not in CHECKERS:
        raise Unreadable(f"unknown schema {schema!r}; known are {', '.join(sorted(CHECKERS))}")
    try:
        return CHECKERS[schema](data)
    except (ArithmeticError, RecursionError, MemoryError) as error:
        # Out of range somewhere: nothing was proved.
        raise Refused(f"a step could not be computed: {type(error).__name__}: {error}") from None
