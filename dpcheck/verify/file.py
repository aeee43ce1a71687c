"""Reads a certificate and hands it to the checker of its schema."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from dpcheck.verify.bound import SCHEMA as BOUND
from dpcheck.verify.bound import check_bound
from dpcheck.verify.events import Json
from dpcheck.verify.result import Accepted, Refused

CHECKERS: dict[str, Callable[[Json], Accepted]] = {BOUND: check_bound}


class Unreadable(Exception):
    """The file is no certificate at all."""


def check_file(path: Path) -> Accepted:
    """Check the certificate in a file: `Accepted`, or `Refused` with the step that failed."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise Unreadable(f"cannot read {path}: {why[:1].lower()}{why[1:]}") from None
    except (ValueError, RecursionError) as error:
        raise Unreadable(
            f"{path} is neither a certificate nor a report of dpcheck: it is not JSON ({error})"
        ) from None
    return check_data(data)


def check_data(data: object) -> Accepted:
    """Check a certificate that was read already."""
    schema = data.get("schema") if isinstance(data, Mapping) else None
    if not isinstance(data, Mapping) or not isinstance(schema, str):
        raise Unreadable('this is no certificate: it has no "schema"')
    if schema not in CHECKERS:
        raise Unreadable(f"schema {schema!r} is unknown; known are {', '.join(sorted(CHECKERS))}")
    try:
        return CHECKERS[schema](data)
    except (ArithmeticError, RecursionError) as error:
        # Out of range somewhere: nothing was proved.
        raise Refused(f"a step could not be computed: {type(error).__name__}: {error}") from None
