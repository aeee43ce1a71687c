"""Which storage a place means: a file, or an address of PostgreSQL."""

from __future__ import annotations

import getpass
import os
import re
import socket

from dpcheck.ledger.storage.seals import Fields
from dpcheck.ledger.storage.sql.sqlite import SqliteStorage, as_path
from dpcheck.ledger.storage.sql.writing import SqlStorage


def is_address(place: object) -> bool:
    """Whether a place is a database rather than a file."""
    return isinstance(place, str) and re.match(r"postgres(ql)?://", place) is not None


def open_storage(
    place: str | os.PathLike[str], terms: Fields | None, by: str | None = None
) -> SqlStorage:
    """The ledger at a place, made on `terms` if there is none; `by` is who writes to it."""
    found: SqlStorage
    if is_address(place):
        from dpcheck.ledger.storage.sql.postgresql import PostgresqlStorage

        found = PostgresqlStorage(str(place), terms)
    else:
        found = SqliteStorage(as_path(place), terms)
    found.by = _whoever() if by is None else by
    return found


def _whoever() -> str:
    """The user and the machine."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):
        user = str(os.getuid()) if hasattr(os, "getuid") else "unknown"
    return f"{user}@{socket.gethostname()}"
