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
from dpcheck.execution.facts import Facts, still_true

Arrays = dict[str, NDArray[np.float64]]
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS batches "
    "(audit TEXT, name TEXT, payload BLOB, PRIMARY KEY (audit, name)) WITHOUT ROWID"
)

_FILES = (
    "CREATE TABLE IF NOT EXISTS files "
    "(audit TEXT, path TEXT, digest TEXT, PRIMARY KEY (audit, path)) WITHOUT ROWID"
)
_ENTROPY = "operating system entropy"  # stands among the paths, which are absolute


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
    """Keeps no batch: every one is run. It does keep what was seen while they ran."""

    def __init__(self) -> None:
        self.facts = Facts()

    def get(self, name: str) -> Arrays | None:  # noqa: ARG002 - the store's interface
        """Never found."""
        return None

    def put(self, name: str, arrays: Arrays) -> None:
        """Dropped."""

    def observe(self, facts: Facts) -> None:
        """Add what was seen while a batch ran."""
        self.facts.add(facts)


def _unusable(path: Path, error: Exception) -> StoreBroken:
    return StoreBroken(
        f"cannot use the store {path}: {error}; give the store another directory.", path=str(path)
    )


class SqliteStore:
    """The finished batches of one audit in DIR/batches.sqlite.

    With them the files that were read while they were made: if one has changed since, none of the
    batches is used again.
    """

    def __init__(self, directory: str | Path, key: str, *, resume: bool) -> None:
        path = Path(directory)
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._file = path / "batches.sqlite"
            self._connection = sqlite3.connect(self._file, timeout=30)
        except (sqlite3.Error, OSError) as error:
            raise _unusable(path, error) from None
        try:
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute(_SCHEMA)
            self._connection.execute(_FILES)
            self._key = key
            self.facts = self._known_facts()
            if not resume or not still_true(self.facts.files):
                for table in ("batches", "files"):
                    self._connection.execute(f"DELETE FROM {table} WHERE audit = ?", (key,))
                self.facts = Facts()
            self._connection.commit()
        except (sqlite3.Error, OSError) as error:
            self.close()
            raise _unusable(path, error) from None

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
                "without resuming.",
                path=str(self._file),
            ) from None

    def put(self, name: str, arrays: Arrays) -> None:
        """Write one batch durably."""
        with self._connection:
            self._connection.execute(
                "INSERT OR REPLACE INTO batches VALUES (?, ?, ?)", (self._key, name, _pack(arrays))
            )

    def _known_facts(self) -> Facts:
        rows = self._connection.execute(
            "SELECT path, digest FROM files WHERE audit = ?", (self._key,)
        )
        files = dict(rows.fetchall())
        entropy = files.pop(_ENTROPY, None) is not None
        return Facts(files, entropy)

    def observe(self, facts: Facts) -> None:
        """Write down what was seen while a batch ran."""
        before = (dict(self.facts.files), self.facts.entropy)
        self.facts.add(facts)
        if before == (self.facts.files, self.facts.entropy):
            return
        rows = list(self.facts.files.items()) + [(_ENTROPY, "")] * self.facts.entropy
        with self._connection:
            self._connection.executemany(
                "INSERT OR REPLACE INTO files VALUES (?, ?, ?)",
                [(self._key, path, content) for path, content in rows],
            )

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


Store = MemoryStore | SqliteStore
