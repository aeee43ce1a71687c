"""A ledger in PostgreSQL: many machines, one budget.

A spend locks the rows of all datasets in its group (`FOR UPDATE`, in the order of their names), then
reads what they add up to, decides and writes; nobody else changes those rows in between. READ COMMITTED
without the locks would let two clients check the same balance and both insert.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from dpcheck.core.errors import LedgerMisuse, MissingExtra
from dpcheck.ledger.storage.interface import Retry
from dpcheck.ledger.storage.seals import Fields
from dpcheck.ledger.storage.sql.tables import DATASET, Row
from dpcheck.ledger.storage.sql.writing import SqlStorage, Statement

try:
    import psycopg
    from psycopg import errors
    from psycopg.conninfo import conninfo_to_dict
except ImportError:
    raise MissingExtra("psycopg is not installed; run: pip install 'dpcheck[postgresql]'") from None

WAIT_SECONDS = 60.0
OLDEST = 130_000
_SERIAL = "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"
_CREATING = 0x44504C33  # one at a time
_AGAIN = (errors.UniqueViolation, errors.SerializationFailure, errors.DeadlockDetected)
_SETTINGS = ("synchronous_commit", "fsync", "full_page_writes")


class PostgresqlStorage(SqlStorage):
    """A database that several machines may spend from.

    Guarantee: what a transaction wrote survives a crash of the server when it ends. A standby that is
    not synchronous may lack it, and undercounts if it takes over.
    """

    for_update = " FOR UPDATE"
    _db: psycopg.Connection[Row] | None = None

    _process = -1

    def __init__(self, address: str, terms: Fields | None) -> None:
        super().__init__()
        self._process = os.getpid()
        self._address, self.place = address, _without_password(address)
        self._closed, self._writing = False, False
        try:
            self._connect()
            self._check_settings()
            if not self._there():
                if terms is None:
                    raise LedgerMisuse(
                        f"there is no ledger in {self.place}. Ledger.open starts one with budget= and "
                        "adjacency=."
                    )
                self._create(terms)
            with self.transaction(writing=False):
                self.opened_on = self.terms()
        except BaseException:
            self.close()
            raise

    def _connect(self) -> None:
        try:
            self._db = psycopg.connect(
                self._address,
                autocommit=True,
                connect_timeout=10,
                application_name="dpcheck ledger",
            )
            self._db.execute(f"SET lock_timeout = '{WAIT_SECONDS:g}s'")
        except psycopg.Error as error:
            raise LedgerMisuse(f"cannot reach {self.place}: {_line(error)}.") from None

    def _check_settings(self) -> None:
        db = self._db
        assert db is not None
        if db.info.server_version < OLDEST:
            raise LedgerMisuse(f"{self.place} is older than PostgreSQL {OLDEST // 10_000}.")
        if self._show("server_encoding") != "UTF8":
            raise LedgerMisuse(f"{self.place} keeps text in another encoding than UTF8.")
        for setting in _SETTINGS:
            if self._show(setting) == "off":
                raise LedgerMisuse(
                    f"{self.place} runs with {setting}=off: a crash of the server could forget what "
                    f"was spent. Set it to on for this database: ALTER DATABASE ... SET {setting} = on "
                    "(fsync and full_page_writes: in postgresql.conf)."
                )

    def _show(self, setting: str) -> str:
        ((value,),) = self.execute(f"SHOW {setting}")
        return value.decode() if isinstance(value, bytes) else str(value)

    def _there(self) -> bool:
        return self.execute("SELECT to_regclass('ledger_terms') IS NOT NULL") == [(True,)]

    def _create(self, terms: Fields) -> None:
        with self.transaction(writing=True):
            self.execute(f"SELECT pg_advisory_xact_lock({_CREATING})")
            if not self._there():
                self.create_tables(_SERIAL, terms)

    def execute(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        """One statement."""
        if self._db is None:
            raise LedgerMisuse(f"the ledger {self.place} was closed; open it again.")
        try:
            cursor = self._db.execute(sql.replace("?", "%s").encode(), values)
            return cursor.fetchall() if cursor.description else []
        except psycopg.Error as error:
            raise self._explained(error) from None

    def execute_all(self, statements: list[Statement]) -> None:
        """Sent together."""
        db = self._db
        if db is None:
            raise LedgerMisuse(f"the ledger {self.place} was closed; open it again.")
        try:
            with db.pipeline():
                for sql, values in statements:
                    db.execute(sql.replace("?", "%s").encode(), values)
        except psycopg.Error as error:
            if isinstance(error.__context__, KeyboardInterrupt):
                raise error.__context__ from None  # while it waited for the answers
            raise self._explained(error) from None

    def _explained(self, error: psycopg.Error) -> Exception:
        if isinstance(error, _AGAIN):
            return Retry(_line(error))
        if isinstance(error, errors.LockNotAvailable):
            return LedgerMisuse(
                f"the ledger {self.place} was locked by another client for {WAIT_SECONDS:g} s. "
                "Nothing was spent; try again."
            )
        if isinstance(error, errors.InsufficientPrivilege):
            return LedgerMisuse(
                f"you may not do that in {self.place} ({_line(error)}). Its roles decide who may "
                "create, spend and read."
            )
        if isinstance(error, errors.ProgramLimitExceeded):
            return LedgerMisuse(
                f"{self.place} cannot keep that ({_line(error)}); use shorter names, or fewer splits of "
                "splits."
            )
        return LedgerMisuse(
            f"the ledger {self.place} did not answer ({_line(error)}). What you asked for may or "
            "may not have been counted: release nothing for it."
        )

    @contextmanager
    def transaction(self, *, writing: bool) -> Iterator[None]:
        """Rows that are read for writing are locked by `lock`; reading sees one moment."""
        try:
            self._ready()
            self.rows, self._writing = {}, writing
            begin = (
                "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
                if writing
                else "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
            )
            try:
                self.execute(begin)
            except LedgerMisuse:  # the connection was lost while nothing was under way
                self._ready()
                self.execute(begin)
            yield
            self._commit()
        except BaseException:
            self._rollback()
            raise

    def _commit(self) -> None:
        db = self._db
        assert db is not None
        try:
            done = db.execute("COMMIT").statusmessage
        except psycopg.Error as error:
            raise self._explained(error) from None
        if done != "COMMIT":  # what the server says of a transaction that had failed
            raise self.broken("a failed transaction was to be kept")

    def _ready(self) -> None:
        """Connected, with nothing left open by an interrupt."""
        if self._closed:
            raise LedgerMisuse(f"the ledger {self.place} was closed; open it again.")
        if self._db is not None:
            self._rollback()
        if self._db is None or self._db.closed or self._db.broken:
            self._connect()
            self._check_settings()

    def _rollback(self) -> None:
        """Back to nothing, or to no connection: then the server rolls back."""
        db = self._db
        if db is None or db.closed:
            return
        status = db.info.transaction_status
        if status == psycopg.pq.TransactionStatus.IDLE:
            return
        try:
            if status == psycopg.pq.TransactionStatus.ACTIVE:
                raise psycopg.OperationalError("interrupted")
            db.execute("ROLLBACK")
        except BaseException as error:
            with suppress(psycopg.Error):
                db.close()
            if not isinstance(error, psycopg.Error):
                raise

    def lock(self, names: tuple[str, ...] | None) -> list[Row]:
        """By name, so that no two clients wait for each other."""
        query = f"SELECT {DATASET}, seal FROM ledger_datasets"
        if names is None:
            order = " ORDER BY name FOR UPDATE" if self._writing else ""
            return self.execute(query + order)
        inside = (
            " WHERE together IN (SELECT together FROM ledger_datasets WHERE name = ANY(?)) "
            "ORDER BY name"
        )
        wanted = (list(names),)
        if not self._writing:
            return self.execute(query + inside, wanted)
        rows = self.execute(query + inside + " FOR UPDATE", wanted)
        # While this waited, another client may have declared overlaps: then the group is larger.
        now = self.execute(f"SELECT name FROM ledger_datasets{inside}", wanted)
        if [row[0] for row in rows] != [row[0] for row in now]:
            raise Retry("the group has changed")
        return rows

    def close(self) -> None:
        """Let go of the connection."""
        self._closed = True
        db, self._db = self._db, None
        if db is not None:
            with suppress(psycopg.Error):
                db.close()

    def __del__(self) -> None:
        if os.getpid() == self._process:
            self.close()

    def abandon(self) -> None:
        """Never closed here: that would end the parent's session."""
        if self._db is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._db))
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._db.pgconn))


def _without_password(address: str) -> str:
    try:
        known = conninfo_to_dict(address)
    except psycopg.Error:  # its text may have the password
        raise LedgerMisuse(
            "that is not an address of PostgreSQL. Write postgresql://user@host:port/database."
        ) from None
    host, name = known.get("host", "localhost"), known.get("dbname", "")
    return f"postgresql://{host}/{name}"


def _line(error: BaseException) -> str:
    """What went wrong, without the hints and details in the lines after it."""
    lines = str(error).strip().splitlines()
    return " ".join(lines[0].split()).rstrip(".") if lines else type(error).__name__
