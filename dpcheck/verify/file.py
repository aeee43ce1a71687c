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

REPORT = "dpcheck.report/1"
CHECKERS: dict[str, Callable[[Json], Accepted]] = {BOUND: check_bound, PROVED: check_proved}


class Unreadable(Exception):
    """The file is no certificate at all."""


def check_file(path: Path) -> Accepted:
    """Check the certificate in a file: `Accepted`, or `Refused` with the step that failed."""
    return check_data(read_file(path))


def read_file(path: Path) -> Mapping[str, Any]:
    """What a file holds, without looking at it yet."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_once)
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise Unreadable(f"cannot read {path}: {why[:1].lower()}{why[1:]}") from None
    except (ValueError, RecursionError) as error:
        raise Unreadable(
            f"{path} is neither a certificate nor a report of dpcheck: it is not JSON as it must be ({error})"
        ) from None
    if not isinstance(data, Mapping):
        raise Unreadable('this is no certificate: it has no "schema"')
    return data


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys are all different: of a key that stands there twice readers take either value."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object has a key twice")
    return found


def check_data(data: object) -> Accepted:
    """Check a certificate that was read already."""
    schema = data.get("schema") if isinstance(data, Mapping) else None
    if not isinstance(data, Mapping) or not isinstance(schema, str):
        raise Unreadable('this is no certificate: it has no "schema"')
    if schema == REPORT:
        return _check_report(data)
    if schema not in CHECKERS:
        raise Unreadable(f"schema {schema!r} is unknown; known are {', '.join(sorted(CHECKERS))}")
    try:
        return CHECKERS[schema](data)
    except (ArithmeticError, RecursionError, MemoryError) as error:
        # Out of range somewhere: nothing was proved.
        raise Refused(f"a step could not be computed: {type(error).__name__}: {error}") from None
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise Refused(f"it is not written as a certificate is: {error!r}") from None


def _check_report(data: Mapping[str, Any]) -> Accepted:
    """Every certificate that a report keeps: all must hold."""
    found = []
    for audit in data.get("audits") or []:
        proved = audit.get("proved") if isinstance(audit, Mapping) else None
        kept = proved.get("certificate") if isinstance(proved, Mapping) else None
        if kept is not None:
            found.append((str(audit.get("name")), check_data(kept)))
    if not found:
        raise Unreadable("the report keeps no certificate")
    words = tuple(f"{name}: {each.statement}" for name, each in found)
    words += tuple(dict.fromkeys(word for _, each in found for word in each.words))
    many = f"{len(found)} certificate{'' if len(found) == 1 else 's'} of the report hold"
    return Accepted(
        many + ("s" if len(found) == 1 else ""), {}, sum(each.steps for _, each in found), words
    )
