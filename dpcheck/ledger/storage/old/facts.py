"""Ledgers of the first format: facts in SQLite, whose digests add up to a seal."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections import defaultdict
from decimal import Decimal
from pathlib import Path

from dpcheck.core.budget import Budget
from dpcheck.core.errors import LedgerBroken
from dpcheck.core.events.event import Event
from dpcheck.core.events.serialize import from_dict
from dpcheck.ledger.account import Batch
from dpcheck.ledger.pricing.allocation import Allocation
from dpcheck.ledger.pricing.certificate import Certificate
from dpcheck.ledger.pricing.costs import ZERO
from dpcheck.ledger.provenance import SplitKind
from dpcheck.ledger.state import DatasetSpec
from dpcheck.ledger.storage.entries import (
    SENSELESS,
    DatasetDeclared,
    DeltaDivided,
    Entry,
    OverlapDeclared,
    PlanDeclared,
    PlanStepped,
    Released,
    SplitDeclared,
)
from dpcheck.ledger.storage.seals import Fields
from dpcheck.ledger.storage.terms import read_terms, write_terms

_APPLICATION, _FORMAT, _SEAL = 0x44504C31, 1, 2**63
Facts = dict[str, dict[str, str]]  # by kind, in the order they were written


def read_facts(path: Path) -> tuple[Fields, list[Entry]]:
    """The terms and the entries that the facts amount to; LedgerBroken if they make no sense.

    The filter, order and division of delta stay, so what was proved of the ledger holds on.
    """
    facts = _read(path)
    try:
        header = json.loads(facts["header"][""])
        if header["filter"] in ("pure", "gdp"):
            header["order"] = None
        header["reserve"] = str(header["reserve"])
        return write_terms(read_terms(header)), _entries(facts, header, path.stat().st_mtime)
    except SENSELESS as error:
        raise _broken(path, f"it makes no sense: {error!r}") from None


def _broken(path: Path, why: str) -> LedgerBroken:
    return LedgerBroken(
        f"the ledger {path} cannot be trusted ({why}); restore it from a backup.", path=str(path)
    )


def _read(path: Path) -> Facts:
    """All facts, whose digests must add up to the seal."""
    try:
        db = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
        try:
            application = db.execute("PRAGMA application_id").fetchone()[0]
            version = db.execute("PRAGMA user_version").fetchone()[0]
            # By the table alone: an index may leave out what the table holds.
            rows = db.execute("SELECT kind, key, value, stamp FROM facts NOT INDEXED").fetchall()
            seal = db.execute("SELECT seal FROM state").fetchone()
        finally:
            db.close()
    except sqlite3.Error as error:
        raise _broken(path, str(error)) from None
    if (application, version) != (_APPLICATION, _FORMAT):
        raise _broken(path, "it is not a ledger of format 1")
    total = 0
    for row in rows:
        written = json.dumps(row[:3]).encode()
        total += int.from_bytes(hashlib.sha256(written).digest()[:8], "big") % _SEAL
    if seal is None or total % _SEAL != seal[0]:
        raise _broken(path, "its checksum does not match its contents")
    found: Facts = defaultdict(dict)
    for kind, key, value, _ in sorted(rows, key=lambda row: int(row[3])):
        found[kind][key] = value
    return found


def _entries(facts: Facts, header: dict[str, float], at: float) -> list[Entry]:
    found: list[Entry] = []
    for name, text in facts["dataset"].items():
        rows, budget, unit, most = json.loads(text)
        limits = None if budget is None else Budget(*budget)
        found.append(DatasetDeclared(DatasetSpec(name, rows, limits, unit, most), at))
    for key, text in facts["split"].items():
        (path, name), (how, labels, sizes) = json.loads(key), json.loads(text)
        found.append(SplitDeclared(path, name, SplitKind(how), tuple(labels), tuple(sizes), at))
    found += [OverlapDeclared(tuple(json.loads(key)), at) for key in facts["overlap"]]
    plans = _plans(facts, at)
    ordered: list[PlanDeclared] = sorted(plans, key=lambda plan: plan.batch)
    found += ordered
    counts = [(json.loads(key), int(text)) for key, text in facts["count"].items()]
    for name, share in facts["aside"].items():
        found.append(DeltaDivided(name, _division(name, Decimal(share), facts, header, counts), at))
    found += [
        Released(path, from_dict(event), times, None, at)
        for (path, event), times in counts
        if times
    ]
    for key, text in facts["steps"].items():
        name, event = json.loads(key)
        found.append(PlanStepped(name, from_dict(event), int(text), at))
    return found


def _plans(facts: Facts, at: float) -> list[PlanDeclared]:
    found = []
    for name, text in facts["plan"].items():
        path, event, index = json.loads(text)
        cost = json.loads(facts["batch"][json.dumps((path.split("/")[0], index))])
        batch = Batch(Decimal(cost[0]), Decimal(cost[1]), cost[2])
        found.append(PlanDeclared(name, path, from_dict(event), index, batch, at))
    return found


def _division(
    account: str,
    aside: Decimal,
    facts: Facts,
    header: dict[str, float],
    counts: list[tuple[list[object], int]],
) -> Allocation:
    """All that was not set aside was the filter's; nothing was kept for a loop or for reading."""
    roots = account.split(" + ")
    own = json.loads(facts["dataset"][roots[0]])[1] if len(roots) == 1 else None
    delta = Decimal(repr(header["delta"] if own is None else own[1]))
    first: Event = from_dict(
        next(event for (path, event), _ in counts if str(path).split("/")[0] in roots)
    )
    fixed = Certificate(float(header["order"] or 2.0))
    path = next(str(p).split("/")[0] for (p, _), _ in counts if str(p).split("/")[0] in roots)
    return Allocation(path, first, 0, fixed, ZERO, aside, ZERO, ZERO, max(ZERO, delta - aside))
