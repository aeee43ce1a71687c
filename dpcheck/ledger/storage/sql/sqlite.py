"""A ledger in one file: SQLite, one writer at a time, on the disk when a spend returns.

`BEGIN IMMEDIATE` has one process at a time read, decide and write. The rollback journal (not WAL) keeps
everything in one file, and `synchronous=EXTRA` adds to FULL that the folder is synchronised after a
commit: without it a loss of power could bring the journal back, and undo what was acknowledged.
"""

from __future__ import annotations

import ctypes
import os
import re
import sqlite3
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from dpcheck.core.errors import (
    InvalidParameter,
    LedgerBroken,
    LedgerMisuse,
    LedgerOutdated,
    reason,
)
from dpcheck.ledger.storage.seals import Fields
from dpcheck.ledger.storage.sql.places import network_file_system
from dpcheck.ledger.storage.sql.reading import slices
from dpcheck.ledger.storage.sql.tables import DATASET, Row
from dpcheck.ledger.storage.sql.writing import SqlStorage, Statement

WAIT_SECONDS = 60.0
SYNCHRONOUS = "EXTRA"
APPLICATION, _FIRST_APPLICATION = 0x44504C33, 0x44504C31
# What other libraries take for a database: ":memory:", "file:x?mode=memory", "sqlite:///x", "mysql://...".
_ELSEWHERE = re.compile(r":memory:|file:|[a-zA-Z][\w+.-]*://")
_MAGIC = b"SQLite format 3\x00"
_SERIAL = "INTEGER PRIMARY KEY AUTOINCREMENT"
_KEEP = """
CREATE TRIGGER ledger_entries_stay BEFORE UPDATE ON ledger_entries
BEGIN SELECT RAISE(ABORT, 'entries of a ledger are never changed'); END;
CREATE TRIGGER ledger_entries_last BEFORE DELETE ON ledger_entries
BEGIN SELECT RAISE(ABORT, 'entries of a ledger are never deleted'); END;
"""


class SqliteStorage(SqlStorage):
    """A file that several processes may spend from.

    Guarantee: what a transaction wrote is on the disk when it ends. A file that was cut, replaced or
    edited is refused, not mended.
    """

    _db: sqlite3.Connection | None = None
    _process = -1

    def __init__(self, path: Path, terms: Fields | None) -> None:
        super().__init__()
        self._process = os.getpid()
        self.path, self.place = path, str(path)
        if not exists(path):
            if terms is None:
                raise LedgerMisuse(
                    f"there is no ledger at {path}. Ledger.open starts one with budget= and adjacency=.",
                    path=str(path),
                )
            create(path, terms)
        _refuse_network(path)
        self._refuse_other_formats()
        self._db = _connect(path)
        self._identity = _identity(path)
        try:
            self.execute(f"PRAGMA synchronous = {SYNCHRONOUS}")
            with self.transaction(writing=False):
                self.opened_on = self.terms()
        except BaseException:
            self.close()
            raise

    def _refuse_other_formats(self) -> None:
        try:
            with self.path.open("rb") as file:
                start = file.read(256)
        except PermissionError:
            raise LedgerMisuse(
                f"you may not read the ledger {self.path}; ask its owner, or open it as another user.",
                path=self.place,
            ) from None
        except OSError as error:
            raise self.broken(reason(error)) from None
        application = int.from_bytes(start[68:72], "big")
        sqlite = start.startswith(_MAGIC)
        if b'"format":"dpcheck ledger 2"' in start or (
            sqlite and application == _FIRST_APPLICATION
        ):
            raise LedgerOutdated(
                f"the ledger {self.path} was written by an earlier dpcheck; nothing in it is lost: "
                "convert it with 'dpcheck ledger convert OLD NEW'.",
                path=self.place,
            )
        if not start:
            raise self.broken("it is empty")
        if not sqlite or application != APPLICATION:
            raise LedgerBroken(
                f"{self.path} is not a ledger. If it was one, restore it from a backup.",
                path=self.place,
            )

    def execute(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        """One statement."""
        if self._db is None:
            raise LedgerMisuse(f"the ledger {self.path} was closed; open it again.")
        try:
            return self._db.execute(sql, values).fetchall()
        except sqlite3.OperationalError as error:
            raise self._explained(error) from None
        except (sqlite3.DatabaseError, OverflowError, UnicodeError) as error:
            raise self.broken(str(error)) from None

    def execute_all(self, statements: list[Statement]) -> None:
        """One after the other."""
        for sql, values in statements:
            self.execute(sql, values)

    def _explained(self, error: sqlite3.OperationalError) -> Exception:
        name = getattr(error, "sqlite_errorname", "")
        if name.startswith("SQLITE_BUSY"):
            return LedgerMisuse(
                f"the ledger {self.path} was locked by another process for {WAIT_SECONDS:g} s. "
                "Nothing was spent; try again.",
                path=self.place,
            )
        if name.startswith(("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_CANTOPEN")):
            return LedgerMisuse(
                f"cannot write to the ledger {self.path} ({error}); nothing may be released for it. "
                "Make room, or see that you may write to the file and its folder, then try again.",
                path=self.place,
            )
        return self.broken(str(error))

    @contextmanager
    def transaction(self, *, writing: bool) -> Iterator[None]:
        """Alone with the file if `writing`; it must still be the one that was opened."""
        try:
            self._rollback()  # what an interrupt may have left open
            self.rows = {}
            self._check_identity()
            self.execute("BEGIN IMMEDIATE" if writing else "BEGIN")
            yield
            self.execute("COMMIT")
        except BaseException:
            self._rollback()
            raise

    def _rollback(self) -> None:
        if self._db is not None and self._db.in_transaction:
            with suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")

    def _check_identity(self) -> None:
        try:
            now = _identity(self.path)
        except OSError as error:
            raise self.broken(str(error)) from None
        if now != self._identity:
            raise self.broken("the file was replaced while it was open")

    def lock(self, names: tuple[str, ...] | None) -> list[Row]:
        """The transaction has locked the whole file."""
        query = f"SELECT {DATASET}, seal FROM ledger_datasets"
        if names is None:
            return self.execute(query)
        found: dict[object, Row] = {}
        for some in slices(list(names)):
            marks = ", ".join("?" * len(some))
            rows = self.execute(
                f"{query} WHERE together IN "
                f"(SELECT together FROM ledger_datasets WHERE name IN ({marks}))",
                some,
            )
            found.update({row[0]: row for row in rows})
        return list(found.values())

    def close(self) -> None:
        """Let go of the file."""
        db, self._db = self._db, None
        if db is not None:
            with suppress(sqlite3.Error):
                db.close()

    def __del__(self) -> None:
        if os.getpid() == self._process:
            self.close()

    def abandon(self) -> None:
        """Never closed here: closing would roll back what the parent is writing."""
        if self._db is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._db))


def create(path: Path, terms: Fields) -> None:
    """Make the file elsewhere and link it into place whole, so that nobody ever sees half of it."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        _refuse_network(path.parent)
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666))
        new = _Draft(draft)
        try:
            new.execute(f"PRAGMA application_id = {APPLICATION}")
            new.execute("BEGIN IMMEDIATE")
            new.create_tables(_SERIAL, terms)
            for trigger in _KEEP.strip().split("END;\n"):
                new.execute(trigger.removesuffix("END;").rstrip() + " END")
            new.execute("COMMIT")
        finally:
            new.close()
        # If another process was faster, its terms are compared with ours by the caller.
        with suppress(FileExistsError):
            os.link(draft, path)
        _synchronise_folder(path.parent)
    except (OSError, ValueError) as error:
        if isinstance(error, LedgerMisuse):
            raise
        why = reason(error) if path.parent.is_dir() else f"there is no folder {path.parent}"
        raise LedgerMisuse(f"cannot create the ledger {path}: {why}.", path=str(path)) from None
    finally:
        with suppress(OSError, ValueError):
            draft.unlink(missing_ok=True)


class _Draft(SqliteStorage):
    """A file that is not yet a ledger."""

    def __init__(self, path: Path) -> None:
        self.path, self.place, self.rows, self._process = path, str(path), {}, os.getpid()
        self._db = _connect(path)
        self.execute(f"PRAGMA synchronous = {SYNCHRONOUS}")


def _connect(path: Path) -> sqlite3.Connection:
    # Threads are checked by the ledger, with a message that helps.
    return sqlite3.connect(
        f"{path.resolve().as_uri()}?mode=rw",
        uri=True,
        timeout=WAIT_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )


def _identity(path: Path) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_dev, found.st_ino


def _synchronise_folder(folder: Path) -> None:
    """A name that is not on the disk is lost with the power."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _refuse_network(path: Path) -> None:
    kind = network_file_system(path)
    if kind is not None:
        raise LedgerMisuse(
            f"{path} is on a network file system ({kind}), where locks and writes of one machine may "
            "not be seen by another: two of them could spend the same budget. Keep the ledger on a "
            "local disk, or in PostgreSQL: Ledger.open('postgresql://...').",
            path=str(path),
        )


def as_path(path: object) -> Path:
    """The path of a file, or InvalidParameter."""
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
        raise InvalidParameter(
            f"expected the path of a file or a postgresql:// address, got {path!r}.", name="path"
        )
    place = os.fspath(path)
    if isinstance(place, str) and _ELSEWHERE.match(place):
        raise InvalidParameter(
            f"{place!r} is not the path of a file. Write postgresql://user@host/database for a database, "
            "or Ledger(budget, adjacency) for a ledger in memory.",
            name="path",
        )
    return Path(path)


def exists(path: Path) -> bool:
    """Whether there is a file; LedgerMisuse where there can be none."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        if path.is_symlink():
            raise _nowhere(
                path, f"it is a link to {path.readlink()}, which does not exist"
            ) from None
        return False
    except (OSError, ValueError) as error:  # a name too long, a folder that is a file, a zero byte
        raise _nowhere(path, reason(error)) from None
    if not stat.S_ISREG(found.st_mode):
        kind = "a folder" if stat.S_ISDIR(found.st_mode) else "a device or a pipe"
        raise _nowhere(path, f"it is {kind}, not a file")
    return True


def _nowhere(path: Path, why: str) -> LedgerMisuse:
    return LedgerMisuse(f"there can be no ledger at {str(path)[:80]!r}: {why}.")
