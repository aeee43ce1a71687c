"""Results of earlier checks in DIR/gate.sqlite, by a digest of what they depend on."""

from __future__ import annotations

import json
import sqlite3
import time
from dataclasses import dataclass, field
from pathlib import Path

from dpcheck.core.audit_result import AuditEntry
from dpcheck.core.data import Plain
from dpcheck.core.errors import StoreBroken
from dpcheck.gate.codec import decode, encode

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS results (name TEXT PRIMARY KEY, payload TEXT, saved REAL) "
    "WITHOUT ROWID"
)
_LAST = "last report"
_FORGET = (
    "DELETE FROM results WHERE name NOT IN (SELECT name FROM results ORDER BY saved DESC LIMIT ?)"
)
MOST_KEPT = 5000
_KEY = 64  # letters of a digest


@dataclass(frozen=True, slots=True)
class Kept:
    """The result of one audit, and the error rate its parts together were allowed."""

    entries: tuple[AuditEntry, ...]
    alpha: float
    nights: int = 0
    pictures: bool = False
    files: dict[str, str] = field(default_factory=dict)  # read while it ran, with their digests


class Results:
    """A small table of finished audits. It is data: reading it runs no code."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "gate.sqlite"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            ignore = folder / ".gitignore"
            if not ignore.exists():
                ignore.write_text("# made by dpcheck\n*\n", encoding="utf-8")
            self._connection = sqlite3.connect(self._file, timeout=30)
        except (sqlite3.Error, OSError) as error:
            raise self._broken(error) from None
        try:
            self._connection.execute(_SCHEMA)
            self._connection.commit()
        except sqlite3.Error as error:
            self.close()
            raise self._broken(error) from None

    def _broken(self, error: object) -> StoreBroken:
        return StoreBroken(
            f"cannot use {self._file} ({error}); delete it, or give --store another directory.",
            path=str(self._file),
        )

    def _read(self, name: str) -> Plain:
        try:
            row = self._connection.execute(
                "SELECT payload FROM results WHERE name = ?", (name,)
            ).fetchone()
            return None if row is None else json.loads(row[0])
        except (sqlite3.Error, ValueError, RecursionError) as error:
            raise self._broken(error) from None

    def _write(self, name: str, payload: object) -> None:
        text = json.dumps(payload, allow_nan=False)
        try:
            with self._connection:
                self._connection.execute(
                    "INSERT OR REPLACE INTO results VALUES (?, ?, ?)", (name, text, time.time())
                )
                self._connection.execute(_FORGET, (MOST_KEPT,))
        except sqlite3.Error as error:
            raise self._broken(error) from None

    def get(self, key: str) -> Kept | None:
        """The result kept under a key."""
        data = self._read(key)
        if data is None:
            return None
        try:
            kept = decode(Kept, data)
        except Exception as error:  # whatever a damaged row makes of itself
            raise self._broken(error) from None
        assert isinstance(kept, Kept)
        return kept

    def put(self, key: str, kept: Kept) -> None:
        """Keep a result."""
        self._write(key, encode(kept))

    def take(self, other: Path) -> int:
        """Take over the results that a shard kept in its folder; how many there are."""
        file = other / "gate.sqlite"
        if not file.is_file():
            raise StoreBroken(
                f"{other} holds no results of a shard; give the folder that its --store named.",
                path=str(other),
            )
        theirs = Results(other)
        try:
            rows = theirs._connection.execute(
                "SELECT name, payload FROM results WHERE length(name) = ?", (_KEY,)
            ).fetchall()
            found = [(name, decode(Kept, json.loads(payload))) for name, payload in rows]
        except Exception as error:  # whatever a damaged file makes of itself
            raise theirs._broken(error) from None
        finally:
            theirs.close()
        for name, kept in found:
            assert isinstance(kept, Kept)
            self.put(name, kept)
        return len(found)

    def last(self) -> list[dict[str, Plain]] | None:
        """The findings of the last check, for `dpcheck baseline`."""
        found = self._read(_LAST)
        if found is not None and not isinstance(found, list):
            raise self._broken("no list of findings")
        return found

    def put_last(self, findings: list[dict[str, Plain]]) -> None:
        """Remember the findings of this check."""
        self._write(_LAST, findings)

    def swap_night(self, audit: str, key: str) -> str | None:
        """Remember which e-process an audit is in; the one it was in before, if it is another."""
        name = f"night of {audit}"
        before = self._read(name)
        if before != key:
            self._write(name, key)
        return before if isinstance(before, str) and before != key else None

    def close(self) -> None:
        """Close the file."""
        self._connection.close()
