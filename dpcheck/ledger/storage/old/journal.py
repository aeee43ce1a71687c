"""Ledgers of the second format: a file of lines, each with a digest of itself and of all before it."""

from __future__ import annotations

import hashlib
from pathlib import Path

from dpcheck.core.errors import LedgerBroken
from dpcheck.ledger.storage.entries import Entry, from_fields
from dpcheck.ledger.storage.seals import Fields, read, written

FORMAT = "dpcheck ledger 2"
_FIRST_LINE = 256
_START = hashlib.sha256(FORMAT.encode()).hexdigest()


def read_journal(path: Path) -> tuple[Fields, list[Entry]]:
    """The terms and the entries; LedgerBroken if the file is not as it was left."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise _broken(path, str(error)) from None
    first = data[:_FIRST_LINE]
    head = read(first[: first.rfind(b"}") + 1].decode("ascii", "replace"), "the first line")
    if first != _first_line(head):
        raise _broken(path, "its first line was changed")
    lines: list[Fields] = []
    digest, at = _START, _FIRST_LINE
    for line in data[_FIRST_LINE:].splitlines(keepends=True):
        body = line[:-66]
        following = hashlib.sha256(digest.encode("ascii") + body).hexdigest()
        if line[-66:] != b" " + following.encode("ascii") + b"\n":
            break  # what an interrupted write left; checked against the first line below
        digest, at = following, at + len(line)
        lines.append(read(body.decode("ascii", "replace"), f"line {len(lines) + 2}"))
        if len(lines) == head["entries"] and (at, digest) != (head["size"], head["digest"]):
            raise _broken(path, "its first line does not match its entries")
    if not lines or not isinstance(head["entries"], int) or len(lines) < head["entries"]:
        raise _broken(path, f"entry {len(lines) + 1} is cut, changed or missing")
    return lines[0], [from_fields(fields) for fields in lines[1:]]


def _first_line(head: Fields) -> bytes:
    try:
        known = {name: head[name] for name in ("digest", "entries", "size")}
    except KeyError:
        return b""
    body = written({"format": FORMAT, **known}).encode("ascii")
    sealed = hashlib.sha256(_START.encode("ascii") + body).hexdigest()[:16]
    return (body + b" " + sealed.encode("ascii")).ljust(_FIRST_LINE - 1) + b"\n"


def _broken(path: Path, why: str) -> LedgerBroken:
    return LedgerBroken(
        f"the ledger {path} cannot be trusted ({why}); restore it from a backup.", path=str(path)
    )
