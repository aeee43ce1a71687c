"""The code behind the FTL tables on made-up files of the same layout."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpcheck.cli.reproduce import TABLES, load
from dpcheck.core.errors import UsageError
from dpcheck.mechanisms import FederatedTransfer, Federation
from dpcheck.mechanisms.federated.protocol.autoencoder import Pretraining, flatten, forward
from dpcheck.mechanisms.federated.protocol.model import translator
from dpcheck.reproduce.ftl.data import Split, Table, load_credit, load_nuswide, split
from dpcheck.reproduce.ftl.figures import nuswide_common
from dpcheck.reproduce.ftl.table import credit, nuswide
from dpcheck.reproduce.ftl.training import (
    Recipe,
    Rows,
    all_rows,
    alone_f1,
    folds,
    plain_validation,
    pretrained,
    train,
    transfer_f1,
    transfer_validation,
)

RECIPE = Recipe((3,), 6, 2.0, 0.01, 0.005, Pretraining(2))


def made_up(rows: int = 240, seed: int = 0) -> Table:
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], rows)
    X_a = rng.normal(size=(rows, 5)) + y[:, None]
    X_b = rng.normal(size=(rows, 4)) + 0.7 * y[:, None]
    return Table(X_a, X_b, y)


def one_split(**changes: Any) -> Split:
    sizes: dict[str, Any] = {"train": 60, "common": 40, "labelled": 20, "test": 30}
    return split(made_up(), np.random.default_rng(1), **(sizes | changes), balanced=True)


def write_nuswide(folder: Path, rows: int = 120) -> None:
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, rows)
    (folder / "nus_wide_fate_sample").mkdir()
    np.savez(
        folder / "nus_wide_fate_sample" / "nus_wide_fate_sample.npz",
        x_image=(rng.normal(size=(rows, 6)) + y[:, None]).astype(np.float32),
        y=y.astype(np.uint8),
        ids_image=np.arange(rows),
        # Tags come in another order, and some have no image.
        x_tags=np.vstack([np.zeros((5, 7)), np.repeat(y[::-1, None], 7, axis=1)]).astype(np.uint8),
        ids_tags=np.concatenate([np.arange(500, 505), np.arange(rows)[::-1]]),
    )


NUMBERED = [f"PAY_{i}" for i in (0, 2, 3, 4, 5, 6)]
NUMBERED += [f"{name}{i}" for name in ("BILL_AMT", "PAY_AMT") for i in range(1, 7)]
COLUMNS = ["ID", "LIMIT_BAL", "SEX", "EDUCATION", "MARRIAGE", "AGE", *NUMBERED]


def write_credit(folder: Path, rows: int = 200, header: str | None = None) -> None:
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, rows)
    values = rng.integers(0, 50, (rows, len(COLUMNS))) + 20 * y[:, None]
    for name, kinds in (("SEX", (1, 3)), ("EDUCATION", (0, 7)), ("MARRIAGE", (0, 4))):
        values[:, COLUMNS.index(name)] = rng.integers(*kinds, rows)
    (folder / "credit_default").mkdir()
    names = header or ",".join([*COLUMNS, "default_payment_next_month"])
    lines = [",".join(map(str, [*row, label])) for row, label in zip(values, y, strict=True)]
    with gzip.open(folder / "credit_default" / "credit_default.csv.gz", "wt") as file:
        file.write("\n".join([names, *lines]) + "\n")


def test_loaders_read_the_layout_and_name_what_is_missing(tmp_path: Path) -> None:
    for loader in (load_nuswide, load_credit):
        with pytest.raises(UsageError, match="--data-dir"):
            loader(None)
        with pytest.raises(UsageError, match="is missing"):
            loader(tmp_path)
    write_nuswide(tmp_path)
    table = load_nuswide(tmp_path)
    assert table.X_a.shape == (120, 7)
    assert table.X_b.shape == (120, 6)
    np.testing.assert_array_equal(table.X_a[:, 0], table.y > 0)  # joined on id
    write_credit(tmp_path)
    clients = load_credit(tmp_path)
    assert clients.X_a.shape == (200, 15)  # five months of three kinds
    assert clients.X_b.shape == (200, 18)  # the paper's d_B
    np.testing.assert_allclose(clients.X_a.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(clients.X_b.std(axis=0), 1, atol=1e-12)


def test_a_table_without_a_column_is_refused(tmp_path: Path) -> None:
    names = ",".join([*COLUMNS, "default_payment_next_month"]).replace("AGE", "YEARS")
    write_credit(tmp_path, header=names)
    with pytest.raises(UsageError, match="no column AGE"):
        load_credit(tmp_path)


def test_splits_are_disjoint_and_balanced() -> None:
    table = made_up()
    rows = Table(np.arange(240.0)[:, None], np.arange(240.0)[:, None], table.y)
    drawn = split(
        rows, np.random.default_rng(0), train=100, common=60, labelled=30, test=80, balanced=True
    )
    assert not set(drawn.X_a.ravel()) & set(drawn.X_test.ravel())
    np.testing.assert_array_equal(drawn.X_b, drawn.X_a[:60])
    assert abs(float(np.concatenate([drawn.y, drawn.y_test]).mean())) < 0.25
    with pytest.raises(UsageError, match="too few"):
        split(
            rows, np.random.default_rng(0), train=200, common=9, labelled=9, test=90, balanced=False
        )


def test_training_is_the_protocols() -> None:
    """Against the parties that exchange messages, from the same networks."""
    drawn = one_split()
    pairs = np.arange(drawn.common)
    data = Federation(drawn.X_a, drawn.y, drawn.X_b, pairs, pairs, drawn.labelled)
    protocol = FederatedTransfer(
        hidden=(3,), alignment_weight=0.01, regularization=0.005, rate=2.0 / 20, iterations=6
    ).fit(data, rng=np.random.default_rng(4))
    a, b = protocol.parties_
    mine = train(drawn, RECIPE, (a.initial, b.initial), all_rows(drawn))
    for network, party in zip(mine, (a, b), strict=True):
        np.testing.assert_allclose(
            flatten(network), flatten(party.networks["train"]), rtol=1e-10, atol=1e-12
        )


def test_transfer_validation_is_algorithm_3() -> None:
    """One fold, step by step, with the functions of the model."""
    drawn = one_split()
    start = pretrained(drawn, RECIPE, np.random.default_rng(0))
    shares = folds(len(drawn.y), 3, np.random.default_rng(1))
    assert sorted(np.concatenate(shares)) == list(range(60))
    value = transfer_validation(drawn, RECIPE, start, shares)
    expected = []
    for fold in shares:
        kept = np.array([i for i in range(60) if i not in fold])
        pairs = np.array([i for i in range(40) if i not in fold])
        known = np.array([i for i in range(20) if i not in fold])
        a, b = train(drawn, RECIPE, start, Rows(kept, pairs, known, drawn.y[known]))
        phi = translator(forward(a, drawn.X_a[kept]).hidden, drawn.y[kept])
        told = np.where(forward(b, drawn.X_b).hidden @ phi >= 0, 1.0, -1.0)
        mixed = told.copy()
        mixed[known] = drawn.y[known]
        a, b = train(drawn, RECIPE, start, Rows(kept, pairs, np.arange(40), mixed))
        back = np.mean(told[:, None] * forward(b, drawn.X_b).hidden, axis=0)
        guess = np.where(forward(a, drawn.X_a[fold]).hidden @ back >= 0, 1.0, -1.0)
        truth = drawn.y[fold]
        f1 = 0.0
        for label in (1.0, -1.0):
            hits = np.sum((guess == label) & (truth == label))
            total = np.sum(guess == label) + np.sum(truth == label)
            f1 += (2 * hits / total if total else 0.0) * np.mean(truth == label)
        expected.append(f1)
    assert value == pytest.approx(np.mean(expected), rel=1e-12)


def test_transfer_and_baselines_learn_what_is_easy() -> None:
    drawn = one_split(train=120, common=100, labelled=60, test=60)
    recipe = Recipe((4,), 150, 10.0, 0.0005, 0.001, Pretraining(5))
    start = pretrained(drawn, recipe, np.random.default_rng(0))
    for loss in ("taylor", "logistic"):
        assert transfer_f1(drawn, recipe, start, loss) > 0.8  # type: ignore[arg-type]
    assert min(alone_f1(drawn, start[1], 0).values()) > 0.75
    shares = folds(drawn.labelled, 3, np.random.default_rng(1))
    assert plain_validation(drawn, recipe, start, shares) > 0.75


def test_both_tables_are_printed(tmp_path: Path) -> None:
    write_nuswide(tmp_path)
    write_credit(tmp_path)
    lines: list[str] = []
    nuswide(tmp_path, lines.append, labels=(20,), partitions=1, recipe=RECIPE)
    text = "\n".join(lines)
    assert "a 120-row sample of NUS-WIDE" in text
    assert "paper: water" in text
    assert any(line.strip().startswith("ours: sample") for line in lines)
    lines.clear()
    credit(
        tmp_path,
        lines.append,
        common=60,
        test=20,
        labelled=20,
        partitions=1,
        shares=(2,),
        recipe=RECIPE,
        gammas=(0.001, 0.01),
    )
    text = "\n".join(lines)
    for wanted in ("TrCV", "CV", "gamma chosen", "private, 20 labels", "private, 60 labels"):
        assert wanted in text


def test_figures_1_and_2_are_printed(tmp_path: Path) -> None:
    write_nuswide(tmp_path)
    lines: list[str] = []
    nuswide_common(
        tmp_path,
        lines.append,
        common=(10, 30),
        iterations=(1, 8),
        labelled=20,
        partitions=1,
        recipes=(RECIPE,),
    )
    text = "\n".join(lines)
    few, many = (line.split() for line in text.splitlines() if line.split()[:1] in (["10"], ["30"]))
    table = load_nuswide(tmp_path)
    rarer = int(min((table.y > 0).sum(), (table.y < 0).sum()))
    for row, common in ((few, 10), (many, 30)):
        drawn = split(
            table,
            np.random.default_rng([2018, 0]),
            train=5 * rarer // 4,
            common=common,
            labelled=min(20, common),
            test=3 * rarer // 4,
            balanced=True,
        )
        start = pretrained(drawn, RECIPE, np.random.default_rng([2018, 0, 1]))
        assert row[1] == f"{transfer_f1(drawn, RECIPE, start, 'taylor'):.3f}+-0.000"
        assert row[2] == f"{alone_f1(drawn, start[1], 0)['LR']:.3f}+-0.000"
    rows = [line.split() for line in text.splitlines() if "taylor" in line or "logistic" in line]
    assert [row[:2] for row in rows] == [["3", "taylor"], ["3", "logistic"]]
    assert all(0 <= float(cell) <= 1 for row in rows for cell in row[2:])


def test_all_tables_are_registered() -> None:
    for name in ("ftl-nuswide", "ftl-credit", "ftl-common"):
        with pytest.raises(UsageError, match="--data-dir"):
            load(TABLES[name])(None, print)
