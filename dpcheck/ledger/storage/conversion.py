"""`dpcheck ledger convert`: a ledger of an earlier format written anew, nothing lost."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from dpcheck.core.errors import LedgerMisuse, reason
from dpcheck.ledger.spending import Spending, Transaction
from dpcheck.ledger.storage.entries import SENSELESS, Entry, senseless
from dpcheck.ledger.storage.old.facts import read_facts
from dpcheck.ledger.storage.old.journal import FORMAT, read_journal
from dpcheck.ledger.storage.opening import is_address, open_storage
from dpcheck.ledger.storage.seals import Fields
from dpcheck.ledger.storage.sql.sqlite import APPLICATION, as_path, exists
from dpcheck.ledger.storage.terms import read_terms

_SQLITE = b"SQLite format 3\x00"


def convert(old: Path, new: str) -> int:
    """Write the ledger `old` anew as `new`, a file or an address; the number of entries.

    Guarantee: `old` is only read. The new ledger has the same entries, filter, order and division of
    delta, so what was proved of the old one holds on. It appears whole or not at all.
    """
    try:
        with old.open("rb") as file:
            start = file.read(256)
    except (OSError, ValueError) as error:
        raise LedgerMisuse(f"cannot read the ledger {str(old)[:80]!r}: {reason(error)}.") from None
    if start.startswith(_SQLITE):
        if int.from_bytes(start[68:72], "big") == APPLICATION:
            raise LedgerMisuse(f"{old} has the present format already.", path=str(old))
        terms, entries = read_facts(old)
    elif FORMAT.encode() in start:
        terms, entries = read_journal(old)
    else:
        raise LedgerMisuse(f"{old} is not a ledger of an earlier dpcheck.", path=str(old))
    if is_address(new):
        _write(new, terms, entries)
        return len(entries)
    path = as_path(new)
    if exists(path):
        raise LedgerMisuse(f"{path} exists already; name a file that does not.", path=str(path))
    draft = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        _write(str(draft), terms, entries)
        os.link(draft, path)
    except OSError as error:
        raise LedgerMisuse(
            f"cannot create the ledger {path}: {reason(error)}.", path=str(path)
        ) from None
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
    return len(entries)


def _write(place: str, terms: Fields, entries: list[Entry]) -> None:
    storage = open_storage(place, terms)
    try:
        if storage.opened_on != terms:
            raise LedgerMisuse(f"there is another ledger in {place} already.")
        spending = Spending(read_terms(terms), 1, storage)

        def body(transaction: Transaction) -> None:
            if transaction.state.specs:
                raise LedgerMisuse(f"there is a ledger in {place} already.")
            transaction.write(*entries)

        try:
            spending.run(None, body)
        except SENSELESS as error:
            if getattr(error, "code", None):
                raise
            raise senseless("of the old ledger", error) from None
    finally:
        storage.close()
