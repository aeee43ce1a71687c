"""The two federations of [Liu2018]: tags and images, a bank and a shop."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpcheck.core.errors import UsageError

Floats = NDArray[np.float64]
NUSWIDE = "nus_wide_fate_sample/nus_wide_fate_sample.npz"
CREDIT = "credit_default/credit_default.csv.gz"
# What the shop (B) knows: the profile, and of the bank's history the latest month. 18 features once
# SEX, EDUCATION and MARRIAGE are one-hot, as the paper's d_B; the bank (A) has the other 15.
SHOP = ("LIMIT_BAL", "AGE", "PAY_0", "BILL_AMT1", "PAY_AMT1")
ONE_HOT = {"SEX": (1, 2), "EDUCATION": tuple(range(7)), "MARRIAGE": tuple(range(4))}
LABEL = "default_payment_next_month"


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Aligned rows of both parties and their labels, +1 and -1."""

    X_a: Floats
    X_b: Floats
    y: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Rows to train on and rows of B to test on.

    A has all training rows. The first `common` of them B has too, and knows as such; A's labels of
    the first `labelled` train B.
    """

    X_a: Floats
    y: Floats
    X_b: Floats
    common: int
    labelled: int
    X_test: Floats
    y_test: Floats


def _file(data_dir: Path | None, name: str) -> Path:
    if data_dir is None:
        raise UsageError("the data of this table is bundled with no package; give --data-dir.")
    path = data_dir / name
    if not path.is_file():
        raise UsageError(f"{path} is missing; --data-dir must hold {name}.")
    return path


def load_nuswide(data_dir: Path | None) -> Table:
    """Tags (A) and scaled image features (B) of the images that have both, joined on id."""
    with np.load(_file(data_dir, NUSWIDE), allow_pickle=False) as z:
        tags = {int(i): row for row, i in enumerate(z["ids_tags"])}
        rows = [tags[int(i)] for i in z["ids_image"]]
        # Six standard deviations: single pixels of the scaled features go up to 16.
        images = np.clip(z["x_image"].astype(float), -6, 6)
        return Table(z["x_tags"][rows].astype(float), images, np.where(z["y"] == 1, 1.0, -1.0))


def load_credit(data_dir: Path | None) -> Table:
    """33 standardised features of 30,000 clients: 15 of the bank (A), 18 of the shop (B)."""
    with gzip.open(_file(data_dir, CREDIT), "rt", encoding="utf-8") as file:
        names = file.readline().strip().split(",")
        values = np.loadtxt(file, delimiter=",", ndmin=2)
    columns = dict(zip(names, values.T, strict=True))
    missing = ({*SHOP, *ONE_HOT, LABEL}) - columns.keys()
    if missing:
        raise UsageError(f"the clients' table has no column {', '.join(sorted(missing))}.")
    y = np.where(columns.pop(LABEL) == 1, 1.0, -1.0)
    hot = [columns.pop(name)[:, None] == np.array(kinds) for name, kinds in ONE_HOT.items()]
    shop = [columns.pop(name)[:, None] for name in SHOP]
    columns.pop("ID", None)
    return Table(
        standardised(np.column_stack(list(columns.values()))),
        standardised(np.hstack([*shop, *hot]).astype(float)),
        y,
    )


def standardised(X: Floats) -> Floats:
    """Columns of mean 0 and deviation 1; constant ones are 0."""
    spread = X.std(axis=0)
    scaled: Floats = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return scaled


def split(
    table: Table,
    rng: np.random.Generator,
    *,
    train: int,
    common: int,
    labelled: int,
    test: int,
    balanced: bool,
) -> Split:
    """Random rows; `balanced` takes as many of each label as the rarer one has."""
    rows = np.arange(len(table.y))
    if balanced:
        kinds = [np.flatnonzero(table.y == label) for label in (1.0, -1.0)]
        size = min(len(kind) for kind in kinds)
        rows = np.concatenate([rng.choice(kind, size, replace=False) for kind in kinds])
    rows = rng.permutation(rows)
    if train + test > len(rows) or not labelled <= common <= train:
        raise UsageError(
            f"{len(rows)} rows are too few for {train} to train on and {test} to test on, or there "
            f"are more labels ({labelled}) than common rows ({common})."
        )
    kept, tested = rows[:train], rows[train : train + test]
    return Split(
        table.X_a[kept],
        table.y[kept],
        table.X_b[kept[:common]],
        common,
        labelled,
        table.X_b[tested],
        table.y[tested],
    )
