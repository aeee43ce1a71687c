"""The tables of a ledger in a database, and the sealed row of a dataset.

Everything that decides whether a release is accepted is in rows with a seal, and the number of such
rows is in the sealed row of their dataset: a row that was changed, lost or repeated is noticed when it
is read. Entries are chained. What they add up to is written in the same transaction, with the version
that priced it, so that nobody has to read a long history; another version prices the counts anew.
"""

from __future__ import annotations

from dataclasses import dataclass

from dpcheck.ledger.pricing.version import PRICED_BY
from dpcheck.ledger.storage.entries import COUNTED
from dpcheck.ledger.storage.interface import Head, Position

Row = tuple[object, ...]
NOT_STRUCTURE = ", ".join(f"'{kind}'" for kind in COUNTED)

TABLES = f"""
CREATE TABLE ledger_terms (
    one INTEGER PRIMARY KEY CHECK (one = 1), format TEXT NOT NULL, terms TEXT NOT NULL,
    datasets BIGINT NOT NULL, names TEXT NOT NULL, seal TEXT NOT NULL);
CREATE TABLE ledger_datasets (
    name TEXT PRIMARY KEY, number BIGINT NOT NULL UNIQUE, together TEXT NOT NULL,
    entries BIGINT NOT NULL, digest TEXT NOT NULL, structure BIGINT NOT NULL,
    places BIGINT NOT NULL, kinds BIGINT NOT NULL, first TEXT, priced_by TEXT NOT NULL,
    seal TEXT NOT NULL);
CREATE INDEX ledger_together ON ledger_datasets (together);
CREATE TABLE ledger_entries (
    seq {{serial}}, dataset TEXT NOT NULL, number BIGINT NOT NULL, kind TEXT NOT NULL,
    body TEXT NOT NULL, digest TEXT NOT NULL, UNIQUE (dataset, number));
CREATE INDEX ledger_structure ON ledger_entries (dataset) WHERE kind NOT IN ({NOT_STRUCTURE});
CREATE TABLE ledger_balances (
    dataset TEXT NOT NULL, place TEXT NOT NULL, body TEXT NOT NULL, seal TEXT NOT NULL,
    PRIMARY KEY (dataset, place));
CREATE TABLE ledger_counts (
    dataset TEXT NOT NULL, place TEXT NOT NULL, event TEXT NOT NULL, number BIGINT NOT NULL,
    what TEXT NOT NULL, times TEXT NOT NULL, seal TEXT NOT NULL,
    PRIMARY KEY (dataset, place, event));
CREATE TABLE ledger_names (drawn TEXT PRIMARY KEY, dataset TEXT NOT NULL);
CREATE TABLE ledger_plans (name TEXT PRIMARY KEY, dataset TEXT NOT NULL);
CREATE TABLE ledger_receipts (
    request TEXT PRIMARY KEY, path TEXT NOT NULL, event TEXT NOT NULL, times TEXT NOT NULL,
    released INTEGER NOT NULL, seal TEXT NOT NULL);
"""
DATASET = "name, number, together, entries, digest, structure, places, kinds, first, priced_by"


@dataclass(frozen=True, slots=True)
class DatasetRow:
    """The sealed row of a dataset; `places` and `kinds` are how many balances and counts it has."""

    name: str
    number: int
    together: str
    entries: int
    digest: str
    structure: int = 0
    places: int = 0
    kinds: int = 0
    first: str | None = None
    priced_by: str = PRICED_BY

    def values(self) -> Row:
        """In the order of the columns."""
        return (
            *(self.name, self.number, self.together, self.entries, self.digest),
            *(self.structure, self.places, self.kinds, self.first, self.priced_by),
        )

    @property
    def head(self) -> Head:
        """What others need to know of it."""
        return Head(self.name, self.number, self.together, Position(self.entries, self.digest))
