"""Tables of two parties for `dpcheck ftl`: CSV files with an id column, and the list of common ids."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpcheck.core.errors import UsageError

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Rows of one party; `labels` only for party A."""

    ids: list[str]
    X: Floats
    labels: Floats | None


def read_table(path: Path, *, labelled: bool) -> Table:
    """A CSV file with the columns id, label (party A only) and numbers."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    if len(rows) < 2:
        raise UsageError(f"{path} has no rows below its header.")
    header = [name.strip() for name in rows[0]]
    if "id" not in header or ("label" in header) != labelled or len(header) != len(set(header)):
        wanted = "id, label and features" if labelled else "id and features, no label"
        raise UsageError(
            f"{path} must have the columns {wanted}, each once. Its header is {header}."
        )
    at_id, at_label = header.index("id"), header.index("label") if labelled else -1
    chosen = [i for i in range(len(header)) if i not in (at_id, at_label)]
    if not chosen:
        raise UsageError(f"{path} has no features.")
    ids, values, labels = [], [], []
    for line, row in enumerate(rows[1:], start=2):
        if len(row) != len(header):
            raise UsageError(
                f"{path}, line {line}: {len(row)} cells instead of {len(header)} are due."
            )
        ids.append(row[at_id].strip())
        values.append([_number(path, line, row[i]) for i in chosen])
        if labelled:
            labels.append(_label(path, line, row[at_label]))
    if len(set(ids)) != len(ids):
        raise UsageError(f"{path} has an id twice.")
    return Table(ids, np.array(values), np.array(labels) if labelled else None)


def _number(path: Path, line: int, cell: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = float("nan")
    if not np.isfinite(value):
        raise UsageError(f"{path}, line {line}: {cell!r} is not a finite number.")
    return value


def _label(path: Path, line: int, cell: str) -> float:
    known = {"1": 1.0, "+1": 1.0, "0": -1.0, "-1": -1.0}
    if cell.strip() not in known:
        raise UsageError(f"{path}, line {line}: label {cell!r} is none of 1, 0, -1.")
    return known[cell.strip()]


def read_common(path: Path, table: Table) -> NDArray[np.int64]:
    """Row numbers of the common ids, in the order of the file both parties have."""
    names = [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    where = {name: row for row, name in enumerate(table.ids)}
    missing = [name for name in names if name not in where]
    if missing:
        raise UsageError(f"{path}: {len(missing)} ids are not in the data, first {missing[0]!r}.")
    if not names or len(set(names)) != len(names):
        raise UsageError(f"{path} must list every common id once, and at least one.")
    return np.array([where[name] for name in names], dtype=np.int64)


def scaling(X: Floats, wanted: bool = True) -> dict[str, Floats]:
    """`center` and `spread` that bring every feature to mean 0 and deviation 1; constant ones to 0."""
    if not wanted:
        return {"center": np.zeros(X.shape[1]), "spread": np.ones(X.shape[1])}
    center = X.mean(axis=0)
    spread = (X - center).std(axis=0)
    return {"center": center, "spread": np.where(spread > 0, spread, 1.0)}


def scaled(X: Floats, by: dict[str, Floats] | None = None) -> Floats:
    """Features by their own scaling, or by one that was saved."""
    found = scaling(X) if by is None else by
    return np.asarray((X - found["center"]) / found["spread"])


def write_example(directory: Path, rows: int, common: int, seed: int) -> list[Path]:
    """Made-up data of two parties: people with three hidden traits, of which one decides the label."""
    if not 2 <= common <= rows:
        raise UsageError("--common must be at least 2 and at most --rows.")
    rng = np.random.default_rng(seed)
    traits = rng.normal(size=(2 * rows - common, 3))
    directory.mkdir(parents=True, exist_ok=True)
    X_a = traits[:rows] @ rng.normal(size=(3, 6)) + 0.1 * rng.normal(size=(rows, 6))
    X_b = traits[-rows:] @ rng.normal(size=(3, 5)) + 0.1 * rng.normal(size=(rows, 5))
    ids = [f"p{number:05d}" for number in range(len(traits))]
    labels = np.where(traits[:rows, 0] > 0, 1, -1)
    paths = [directory / name for name in ("a.csv", "b.csv", "common.txt")]
    write_rows(
        paths[0],
        ["id", "label", *(f"a{i}" for i in range(6))],
        [[i, y, *np.round(x, 6)] for i, y, x in zip(ids[:rows], labels, X_a, strict=True)],
    )
    write_rows(
        paths[1],
        ["id", *(f"b{i}" for i in range(5))],
        [[i, *np.round(x, 6)] for i, x in zip(ids[-rows:], X_b, strict=True)],
    )
    paths[2].write_text("\n".join(ids[rows - common : rows]) + "\n", encoding="utf-8")
    return paths


def write_rows(path: Path, header: list[str], rows: Sequence[Sequence[object]]) -> None:
    """A CSV file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)
