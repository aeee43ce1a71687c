"""A ledger in one file: a line per entry, each with a digest of itself and of all before it.

The first line says how many entries there are, how many bytes, and the last digest. An append
writes the new lines, then that first line, each followed by fsync. So a line is lost, cut or
changed nowhere without a digest that does not match; a write that was interrupted before the first
line leaves lines that nobody was told of, which count if they are whole.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, cast

from dpcheck.core.errors import InvalidParameter, LedgerBroken, LedgerMisuse, LedgerOutdated
from dpcheck.ledger.storage.entries import Entry, Fields, from_fields, to_fields

WAIT_SECONDS = 60.0
SYNCHRONISE: Callable[[int], None] = os.fsync  # survives the loss of power, not only of the process
FORMAT = "dpcheck ledger 2"
_FIRST_LINE = 256  # bytes, within one sector: it is written whole or not at all
_CLOSED = -1
_OLD_FORMAT = b"SQLite format 3\x00"
_START = hashlib.sha256(FORMAT.encode()).hexdigest()


class Position(NamedTuple):
    """Up to where a file was read: entries (the terms included), bytes, and the last digest."""

    entries: int
    size: int
    digest: str


def _plain(fields: Fields) -> bytes:
    return json.dumps(fields, sort_keys=True, separators=(",", ":")).encode("ascii")


def _digest(before: str, body: bytes) -> str:
    return hashlib.sha256(before.encode("ascii") + body).hexdigest()


def _first_line(position: Position) -> bytes:
    """Its own digest is over everything before it, so that no byte of the line is unguarded."""
    found = {"digest": position.digest, "entries": position.entries, "size": position.size}
    body = _plain({"format": FORMAT, **found})
    line = body + b" " + _digest(_START, body)[:16].encode("ascii")
    return line.ljust(_FIRST_LINE - 1) + b"\n"


def _lines(bodies: list[bytes], position: Position) -> tuple[bytes, Position]:
    """The bytes to append, and where the file ends then."""
    digest, out = position.digest, b""
    for body in bodies:
        digest = _digest(digest, body)
        out += body + b" " + digest.encode("ascii") + b"\n"
    return out, Position(position.entries + len(bodies), position.size + len(out), digest)


class FileJournal:
    """Entries in a file that several processes may append to.

    Guarantee: entries are on disk when `append` returns. A file that was cut, overwritten or edited
    is refused; what was written by other processes is seen by `read`. A journal that nobody holds
    any more, an interrupted one say, holds no lock.
    """

    _file = _CLOSED
    _turn: object = None

    def __init__(self, path: Path, terms: Fields | None) -> None:
        self.path = path
        if not _exists(path):
            if terms is None:
                raise LedgerMisuse(
                    f"there is no ledger at {path}; pass budget= and adjacency= to start one.",
                    path=str(path),
                )
            create(path, terms, [])
        self._open()
        try:
            with self.exclusive():
                self.terms = self._read_all()[0]
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            raise self._broken(str(error)) from None
        self._position: Position | None = None

    def reopen(self) -> None:
        """In a forked process: a file description of its own, whose lock is not the parent's."""
        inherited = self._file
        self._open()
        os.close(inherited)

    def close(self) -> None:
        """Let go of the file."""
        file, self._file = self._file, _CLOSED
        with suppress(OSError):
            os.close(file)

    __del__ = close

    def _broken(self, why: str) -> LedgerBroken:
        return LedgerBroken(
            f"the ledger {self.path} cannot be trusted ({' '.join(why.split())}); restore it from a "
            "backup. It is not repaired, because that would forget what was spent.",
            path=str(self.path),
        )

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Alone with the file, which must still be the one that was opened."""
        if self._file == _CLOSED:
            raise LedgerMisuse(f"the ledger {self.path} was closed; open it again.")
        file, turn = self._file, object()
        self._turn = turn
        try:
            # Inside: an interrupt may come when the lock was taken and before it is known here.
            self._wait_for_lock(file)
            yield
        finally:
            # After an interrupt this may run late, when somebody keeps the traceback. If the file
            # was closed by then, its number is another file's and closing has unlocked it; if it
            # is locked again, by a later turn, that one unlocks it.
            if turn is self._turn and file == self._file:
                fcntl.flock(file, fcntl.LOCK_UN)

    def _wait_for_lock(self, file: int) -> None:
        deadline = time.monotonic() + WAIT_SECONDS
        pause = 0.0005
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except OSError as error:
                if error.errno not in (errno.EWOULDBLOCK, errno.EAGAIN, errno.EINTR):
                    raise self._broken(str(error)) from None
            if time.monotonic() > deadline:
                raise LedgerMisuse(
                    f"the ledger {self.path} was locked by another process for {WAIT_SECONDS:g} s; "
                    "nothing was spent, try again.",
                    path=str(self.path),
                )
            time.sleep(pause)
            pause = min(2 * pause, 0.02)

    def read(self, start: int) -> list[Entry]:
        """The entries from number `start` on; entry 0 is the first after the terms."""
        known = self._position
        self._check_identity()
        if known is not None and known.entries == start + 1:
            lines, position = self._read_from(known)
        else:
            lines, position = self._read_from(Position(0, _FIRST_LINE, _START))
            lines = lines[start + 1 :]
        entries = [from_fields(fields) for fields in lines]
        if position.entries > self._committed().entries:  # finish what was interrupted
            with self._nothing_spent_if_it_fails():
                _write(self._file, _first_line(position), 0)
                SYNCHRONISE(self._file)
        self._position = position
        return entries

    def _read_all(self) -> list[Fields]:
        lines, _ = self._read_from(Position(0, _FIRST_LINE, _START))
        if not lines:
            raise self._broken("it has no terms")
        return lines

    def _check_identity(self) -> None:
        try:
            now, ours = os.stat(self.path), os.fstat(self._file)
        except OSError as error:
            raise self._broken(str(error)) from None
        if (now.st_dev, now.st_ino) != (ours.st_dev, ours.st_ino):
            raise self._broken("the file was replaced while it was open")

    def _read_from(self, known: Position) -> tuple[list[Fields], Position]:
        """The lines beyond `known`, every one of them checked."""
        committed = self._committed()
        if committed.entries < known.entries or committed.size < known.size:
            raise self._broken("it holds less than before")
        try:
            length = os.fstat(self._file).st_size
            data = os.pread(self._file, max(0, length - known.size), known.size)
        except OSError as error:
            raise self._broken(str(error)) from None
        found: list[Fields] = []
        position = known
        for line in data.splitlines(keepends=True):
            body, digest = line[:-66], _digest(position.digest, line[:-66])
            if line[-66:] != b" " + digest.encode("ascii") + b"\n":
                break
            found.append(json.loads(body))
            position = Position(position.entries + 1, position.size + len(line), digest)
            if position.entries == committed.entries and position != committed:
                raise self._broken("its first line does not match its entries")
        if position.entries < committed.entries:
            raise self._broken(f"entry {position.entries + 1} is cut, changed or missing")
        return found, position

    def _committed(self) -> Position:
        """What the first line says."""
        try:
            line = os.pread(self._file, _FIRST_LINE, 0)
        except OSError as error:
            raise self._broken(str(error)) from None
        if line.startswith(_OLD_FORMAT):
            raise LedgerOutdated(
                f"the ledger {self.path} was written by an earlier dpcheck (format 1); nothing in it "
                "is lost: convert it with 'dpcheck ledger convert OLD NEW'.",
                path=str(self.path),
            )
        if not line:
            raise self._broken("it is empty")
        try:
            fields = json.loads(line[: line.rindex(b"}") + 1])
            position = Position(
                cast(int, fields["entries"]), cast(int, fields["size"]), cast(str, fields["digest"])
            )
            whole = _first_line(position)
        except (ValueError, KeyError, TypeError, RecursionError):
            raise self._broken("its first line is not that of a ledger") from None
        if line != whole:
            raise self._broken("its first line was changed")
        return position

    def append(self, entries: list[Entry]) -> None:
        """Add all of them or none."""
        known = self._position
        assert known is not None  # what others wrote was read first
        data, after = _lines([_plain(to_fields(entry)) for entry in entries], known)
        with self._nothing_spent_if_it_fails():
            try:
                os.ftruncate(self._file, known.size)  # what an interrupted write left half done
                _write(self._file, data, known.size)
                SYNCHRONISE(self._file)
                _write(self._file, _first_line(after), 0)
                SYNCHRONISE(self._file)
            except OSError:
                with suppress(OSError):
                    _write(self._file, _first_line(known), 0)
                    os.ftruncate(self._file, known.size)
                raise
        self._position = after

    @contextmanager
    def _nothing_spent_if_it_fails(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise LedgerMisuse(
                f"cannot write to the ledger {self.path} ({error}); nothing was spent.",
                path=str(self.path),
            ) from None


def as_path(path: object) -> Path:
    """The path of a file, or InvalidParameter."""
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
        raise InvalidParameter(f"expected the path of a file, got {path!r}.", name="path")
    return Path(path)


def _exists(path: Path) -> bool:
    """Whether there is a file; LedgerMisuse where there can be none."""
    try:
        os.stat(path)
    except FileNotFoundError:
        return False
    except (OSError, ValueError) as error:  # a name too long, a folder that is a file, a zero byte
        why = error.strerror if isinstance(error, OSError) else error
        raise LedgerMisuse(f"there can be no ledger at {str(path)[:80]!r}: {why}.") from None
    return True


def _write(file: int, data: bytes, offset: int) -> None:
    while data:
        written = os.pwrite(file, data, offset)
        data, offset = data[written:], offset + written


def create(path: Path, terms: Fields, entries: list[Entry]) -> None:
    """Make the file elsewhere and link it into place whole, so that nobody ever sees half of it."""
    bodies = [_plain(terms), *(_plain(to_fields(entry)) for entry in entries)]
    data, position = _lines(bodies, Position(0, _FIRST_LINE, _START))
    draft = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        with draft.open("xb") as file:
            file.write(_first_line(position) + data)
            file.flush()
            SYNCHRONISE(file.fileno())
        # If another process was faster, its terms are compared with ours by the caller.
        with suppress(FileExistsError):
            os.link(draft, path)
    except OSError as error:
        raise LedgerMisuse(f"cannot create the ledger {path}: {error}.", path=str(path)) from None
    finally:
        draft.unlink(missing_ok=True)
