"""Finished batches on disk, so that a killed audit loses none of them.

One SQLite file per directory; a row is (audit key, batch name, arrays in numpy's own format). No
pickles: a store is data, and reading one runs no code.
"""

from __future__ import annotations

import hashlib
import io
import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpcheck.core.errors import StoreBroken

Arrays = dict[str, NDArray[np.float64]]
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS batches "
    "(audit TEXT, name TEXT, payload BLOB, PRIMARY KEY (audit, name)) WITHOUT ROWID"
)


def audit_key(identity: Mapping[str, object]) -> str:
    """A digest of everything that decides an audit's result."""
    text = json.dumps(identity, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _pack(arrays: Arrays) -> bytes:
    buffer = io.BytesIO()
    # Uncompressed: random numbers do not shrink.
    np.savez(buffer, **arrays)  # type: ignore[arg-type]  # numpy's stub lacks **kwargs
    return buffer.getvalue()


class MemoryStore:
    """Keeps nothing: every batch is run."""

    def get(self, name: str) -> Arrays | None:  # noqa: ARG002 - the store's interface
        """Never found."""
        return None

    def put(self, name: str, arrays: Arrays) -> None:
        """Dropped."""


class SqliteStore:
    """The finished batches of one audit in DIR/batches.sqlite."""

    def __init__(self, directory: str | Path, key: str, *, resume: bool) -> None:
        path = Path(directory)
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._file = path / "batches.sqlite"
            self._connection = sqlite3.connect(self._file, timeout=30)
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute(_SCHEMA)
            self._key = key
            if not resume:
                self._connection.execute("DELETE FROM batches WHERE audit = ?", (key,))
            self._connection.commit()
        except (sqlite3.Error, OSError) as error:
            raise StoreBroken(
                f"cannot use the store {path}: {error}; give --store another directory.",
                path=str(path),
            ) from None

    def get(self, name: str) -> Arrays | None:
        """The arrays of a finished batch, or None."""
        row = self._connection.execute(
            "SELECT payload FROM batches WHERE audit = ? AND name = ?", (self._key, name)
        ).fetchone()
        if row is None:
            return None
        try:
            with np.load(io.BytesIO(row[0]), allow_pickle=False) as archive:
                return {key: archive[key] for key in archive.files}
        except (ValueError, OSError) as error:
            raise StoreBroken(
                f"batch {name} in {self._file} is damaged ({error}); delete the file or run "
                "without --resume.",
                path=str(self._file),
            ) from None

    def put(self, name: str, arrays: Arrays) -> None:
        """Write one batch durably."""
        with self._connection:
            self._connection.execute(
                "INSERT OR REPLACE INTO batches VALUES (?, ?, ?)", (self._key, name, _pack(arrays))
            )

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


Store = MemoryStore | SqliteStore
