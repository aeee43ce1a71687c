"""A ledger in one SQLite file: facts and counts, each change one serialised transaction."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from dpcheck.core.errors import LedgerBroken, LedgerMisuse

APPLICATION_ID = 0x44504C31  # "DPL1"
FORMAT = 1
WAIT_SECONDS = 60
SYNCHRONOUS = "FULL"  # survives the loss of power, not only of the process
_SEAL = 2**63

Fact = tuple[str, str, str]  # kind, key, value


def _digest(fact: Fact) -> int:
    data = json.dumps(fact).encode()
    return int.from_bytes(hashlib.sha256(data).digest()[:8], "big") % _SEAL


class Store:
    """Facts (kind, key, value) in the order they were last written.

    Guarantee: a fact is on disk when `put`'s transaction has ended; what other processes wrote
    before is seen by `news` inside the same transaction. A file that was cut, overwritten or
    edited is refused: the sum of the digests of all facts is stored with them.
    """

    def __init__(self, path: Path, header: dict[str, Any] | None) -> None:
        self.path = path
        self._seen = 0
        if not path.exists():
            if header is None:
                raise LedgerMisuse(
                    f"there is no ledger at {path}; pass budget= and adjacency= to start one.",
                    path=str(path),
                )
            _create(path, header)
        self._connect()
        with self._broken_if_unreadable():
            self.header: dict[str, Any] = self._check()

    def _connect(self) -> None:
        with self._broken_if_unreadable():
            self._db = sqlite3.connect(
                self.path, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False
            )
            # The default rollback journal, not WAL: between transactions the one file is the whole
            # ledger, so copying it or losing a side file after a crash cannot forget a release.
            self._db.execute(f"PRAGMA synchronous={SYNCHRONOUS}")
            self._inode = os.stat(self.path).st_ino

    def reconnect(self) -> None:
        """A connection of its own, in a forked process; the parent's is neither used nor closed."""
        self._inherited = self._db
        self._connect()

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    @contextmanager
    def _broken_if_unreadable(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            if "locked" in str(error) or "busy" in str(error):
                raise LedgerMisuse(
                    f"the ledger {self.path} was locked by another process for {WAIT_SECONDS} s; "
                    "nothing was spent, try again.",
                    path=str(self.path),
                ) from None
            if any(word in str(error) for word in ("full", "readonly")):
                raise LedgerMisuse(
                    f"cannot write to the ledger {self.path} ({error}); nothing was spent.",
                    path=str(self.path),
                ) from None
            raise self._broken(str(error)) from None
        except (sqlite3.DatabaseError, OSError, ValueError, KeyError, TypeError) as error:
            raise self._broken(str(error)) from None

    def _broken(self, why: str) -> LedgerBroken:
        why = " ".join(why.split())  # one line
        return LedgerBroken(
            f"the ledger {self.path} cannot be trusted ({why}); restore it from a backup. It is "
            "not reset, because that would forget what was spent.",
            path=str(self.path),
        )

    def _check(self) -> dict[str, Any]:
        """Whether the file is a whole ledger; its header."""
        if os.stat(self.path).st_size == 0:
            raise self._broken("it is empty")
        self._db.execute("BEGIN")
        try:
            if self._db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
                raise self._broken("it is not a dpcheck ledger")
            version = self._db.execute("PRAGMA user_version").fetchone()[0]
            if version != FORMAT:
                raise self._broken(f"it has format {version}, this dpcheck reads {FORMAT}")
            state = self._db.execute("PRAGMA quick_check(1)").fetchone()[0]
            if state != "ok":
                raise self._broken(str(state))
            facts = self._db.execute("SELECT kind, key, value FROM facts").fetchall()
            seal = self._db.execute("SELECT seal FROM state").fetchone()
            if seal is None or sum(map(_digest, facts)) % _SEAL != seal[0]:
                raise self._broken("its checksum does not match its contents")
            header = next(value for kind, _, value in facts if kind == "header")
            return dict(json.loads(header))
        except StopIteration:
            raise self._broken("it has no header") from None
        finally:
            self._db.execute("ROLLBACK")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Alone with the file; committed at the end, or nothing happened."""
        with self._broken_if_unreadable():
            if os.stat(self.path).st_ino != self._inode:
                raise self._broken("the file was replaced while it was open")
            self._db.execute("BEGIN IMMEDIATE")
        try:
            self._written = 0
            yield
            with self._broken_if_unreadable():
                self._db.execute("COMMIT")
            # Only now: stamps of a transaction that failed are given to somebody else's facts.
            self._seen = max(self._seen, self._written)
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    def news(self) -> list[Fact]:
        """Facts written since the last call, oldest first; inside a transaction."""
        with self._broken_if_unreadable():
            rows = self._db.execute(
                "SELECT kind, key, value, stamp FROM facts WHERE stamp > ? ORDER BY stamp",
                (self._seen,),
            ).fetchall()
        if rows:
            self._seen = rows[-1][3]
        return [(kind, key, value) for kind, key, value, _ in rows]

    def put(self, facts: list[Fact]) -> None:
        """Write or overwrite facts; inside a transaction whose `news` were read."""
        with self._broken_if_unreadable():
            _write(self._db, facts)
            self._written = self._db.execute("SELECT stamp FROM state").fetchone()[0]


def _write(db: sqlite3.Connection, facts: list[Fact]) -> None:
    seal, stamp = db.execute("SELECT seal, stamp FROM state").fetchone()
    for kind, key, value in facts:
        old = db.execute(
            "SELECT value FROM facts WHERE kind = ? AND key = ?", (kind, key)
        ).fetchone()
        stamp += 1
        seal += _digest((kind, key, value)) - (_digest((kind, key, old[0])) if old else 0)
        db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?, ?, ?)", (kind, key, value, stamp))
    db.execute("UPDATE state SET seal = ?, stamp = ?", (seal % _SEAL, stamp))


def _create(path: Path, header: dict[str, Any]) -> None:
    """Make the file elsewhere and link it into place whole, so that nobody ever sees half of it."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        db = sqlite3.connect(draft, isolation_level=None)
        try:
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            db.execute(f"PRAGMA user_version = {FORMAT}")
            db.execute("BEGIN")
            db.execute(
                "CREATE TABLE facts (kind TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, "
                "stamp INTEGER NOT NULL, PRIMARY KEY (kind, key)) WITHOUT ROWID"
            )
            db.execute("CREATE INDEX by_stamp ON facts (stamp)")
            db.execute("CREATE TABLE state (seal INTEGER NOT NULL, stamp INTEGER NOT NULL)")
            db.execute("INSERT INTO state VALUES (0, 0)")
            _write(db, [("header", "", json.dumps(header))])
            db.execute("COMMIT")
        finally:
            db.close()
        # If another process was faster, its header is compared with ours by the caller.
        with suppress(FileExistsError):
            os.link(draft, path)
    except (sqlite3.Error, OSError) as error:
        raise LedgerMisuse(f"cannot create the ledger {path}: {error}.", path=str(path)) from None
    finally:
        draft.unlink(missing_ok=True)
