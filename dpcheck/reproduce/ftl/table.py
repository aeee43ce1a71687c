"""[Liu2018] Table 1 and Figure 3 beside ours: weighted F1 of federated transfer learning."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from dpcheck.execution.progress import counted
from dpcheck.mechanisms import Federation, PrivateFederatedTransfer
from dpcheck.mechanisms.federated.protocol.autoencoder import Network, Pretraining
from dpcheck.reproduce.ftl.data import Split, Table, load_credit, load_nuswide, split
from dpcheck.reproduce.ftl.training import (
    Recipe,
    alone_f1,
    folds,
    plain_validation,
    pretrained,
    transfer_f1,
    transfer_validation,
    weighted_f1,
)

Echo = Callable[[str], None]
SEED = 2018
EPSILON, DELTA = 8.0, 1e-5
# [Liu2018] Table 1: TLT, TLL, LR, SVMs, SAEs, mean and spread of three partitions.
TABLE_1 = {
    ("water", 100): "0.692+-0.062 0.691+-0.060 0.685+-0.020 0.640+-0.016 0.677+-0.048",
    ("water", 200): "0.702+-0.010 0.701+-0.007 0.672+-0.023 0.643+-0.038 0.662+-0.010",
    ("person", 100): "0.697+-0.010 0.697+-0.020 0.694+-0.026 0.619+-0.050 0.657+-0.030",
    ("person", 200): "0.733+-0.009 0.735+-0.010 0.720+-0.004 0.706+-0.023 0.707+-0.008",
    ("sky", 100): "0.700+-0.022 0.713+-0.006 0.694+-0.016 0.679+-0.018 0.667+-0.009",
    ("sky", 200): "0.718+-0.033 0.718+-0.024 0.696+-0.026 0.680+-0.042 0.684+-0.056",
}
COLUMNS = ("TLT", "TLL", "LR", "SVM", "SAE", "private")
TAGS = Recipe((64,), 60, 10.0, 0.005, 0.005, Pretraining(10, 0.003))
CLIENTS = Recipe((32,), 50, 50.0, 0.0005, 0.005, Pretraining(3, 0.005))
GAMMAS = (0.0001, 0.0005, 0.005)


def private_f1(rows: Split, gamma: float, rng: np.random.Generator) -> float:
    """The private variant at (EPSILON, DELTA) for each party, 20 iterations, 8 hidden units."""
    model = PrivateFederatedTransfer(
        EPSILON,
        DELTA,
        hidden=(8,),
        iterations=20,
        alignment_weight=gamma,
        rate=100.0 / rows.labelled,
    )
    pairs = np.arange(rows.common)
    model.fit(Federation(rows.X_a, rows.y, rows.X_b, pairs, pairs, rows.labelled), rng=rng)
    return weighted_f1(rows.y_test, model.predict(rows.X_test))


def scores(rows: Split, recipe: Recipe, seed: int, gamma: float) -> dict[str, float]:
    """Every column on one partition; all transfers start from the same auto-encoders."""
    networks = pretrained(rows, recipe, np.random.default_rng([SEED, seed, 1]))
    found = {
        "TLT": transfer_f1(rows, recipe, networks, "taylor"),
        "TLL": transfer_f1(rows, recipe, networks, "logistic"),
        **alone_f1(rows, networks[1], seed),
    }
    found["private"] = private_f1(rows, gamma, np.random.default_rng([SEED, seed, 2]))
    return found


def _line(found: Sequence[Mapping[str, float]], names: Sequence[str]) -> str:
    cells = []
    for name in names:
        values = [one[name] for one in found]
        cells.append(f"{np.mean(values):.3f}+-{np.std(values):.3f}")
    return " ".join(cells)


def begin(title: str, echo: Echo) -> Callable[[], None]:
    """Say what follows; what is returned says how long it took."""
    echo(title)
    echo(f"seed {SEED}, {datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}")
    started = time.perf_counter()
    return lambda: echo(f"{time.perf_counter() - started:.0f} s")


def nuswide(
    data_dir: Path | None,
    echo: Echo,
    *,
    labels: Sequence[int] = (100, 200),
    partitions: int = 3,
    recipe: Recipe = TAGS,
) -> None:
    """Table 1 on the rows of NUS-WIDE that are at hand."""
    table = load_nuswide(data_dir)
    done = begin("FTL [Liu2018] Table 1: weighted F1 on B's test rows", echo)
    rarer = int(min((table.y > 0).sum(), (table.y < 0).sum()))
    train, common, test = 5 * rarer // 4, rarer, 3 * rarer // 4
    echo(
        f"data: a {len(table.y)}-row sample of NUS-WIDE with one unnamed task, NOT the whole "
        f"dataset and the three tasks of the paper.\nbalanced to {2 * rarer} rows: A trains on {train} "
        f"({table.X_a.shape[1]} tags), {common} of them common, B tests on {test} "
        f"({table.X_b.shape[1]} image features); {partitions} partitions.\n"
        f"one layer of {recipe.hidden[-1]}, gamma {recipe.gamma:g}, lambda {recipe.regularization:g}, "
        f"{recipe.iterations} steps; the paper tunes gamma and lambda by cross-validation, we do not.\n"
        f"private: both parties at epsilon {EPSILON:g}, delta {DELTA:g}."
    )
    echo(f"  {'task':<14}{'N_c':>5}  " + " ".join(f"{name:<12}" for name in COLUMNS))
    for (task, number), row in TABLE_1.items():
        echo(f"  {'paper: ' + task:<14}{number:>5}  {row}")
    for number in counted("numbers of labels", labels, len(labels)):
        found = [
            scores(
                split(
                    table,
                    np.random.default_rng([SEED, partition]),
                    train=train,
                    common=common,
                    labelled=number,
                    test=test,
                    balanced=True,
                ),
                recipe,
                partition,
                recipe.gamma,
            )
            for partition in range(partitions)
        ]
        echo(f"  {'ours: sample':<14}{number:>5}  {_line(found, COLUMNS)}")
    done()


def credit(
    data_dir: Path | None,
    echo: Echo,
    *,
    common: int = 6000,
    test: int = 3000,
    labelled: int = 200,
    partitions: int = 3,
    shares: Sequence[int] = (2, 5),
    recipe: Recipe = CLIENTS,
    gammas: Sequence[float] = GAMMAS,
) -> None:
    """Figure 3 on the credit-card clients: which gamma TrCV and CV choose, and what it gives."""
    table = load_credit(data_dir)
    done = begin("FTL [Liu2018] Figure 3 (default of credit-card clients): weighted F1", echo)
    echo(
        f"bank (A): {table.X_a.shape[1]} features, shop (B): {table.X_b.shape[1]}; {labelled} labels, "
        f"{common} common rows, {test} test rows, both labels alike often; one layer of "
        f"{recipe.hidden[-1]}, lambda {recipe.regularization:g}, {recipe.iterations} steps, "
        f"{partitions} partitions.\n"
        "Figure 3 has no numbers in print; the paper says that TrCV outperforms CV."
    )
    drawn = [_clients(table, partition, common, labelled, test) for partition in range(partitions)]
    starts = [
        pretrained(rows, recipe, np.random.default_rng([SEED, partition, 1]))
        for partition, rows in enumerate(drawn)
    ]
    recipes = [replace(recipe, gamma=gamma) for gamma in gammas]
    tested = [
        [transfer_f1(rows, one, start, "taylor") for one in recipes]
        for rows, start in zip(drawn, starts, strict=True)
    ]
    for place, gamma in enumerate(gammas):
        values = [row[place] for row in tested]
        echo(f"  TLT, gamma {gamma:<8g}{np.mean(values):.3f}+-{np.std(values):.3f}")
    others = [
        {"TLL": transfer_f1(rows, recipe, start, "logistic"), **alone_f1(rows, start[1], number)}
        for number, (rows, start) in enumerate(zip(drawn, starts, strict=True))
    ]
    echo(
        f"  TLL (gamma {recipe.gamma:g}) LR SVM SAE   {_line(others, ('TLL', 'LR', 'SVM', 'SAE'))}"
    )
    for k in counted("numbers of folds", shares, len(shares)):
        _validated(k, drawn, starts, recipes, tested, echo)
    _private_rows(table, drawn, recipe, common, test, echo)
    done()


def _clients(table: Table, partition: int, common: int, labelled: int, test: int) -> Split:
    return split(
        table,
        np.random.default_rng([SEED, partition]),
        train=common,
        common=common,
        labelled=labelled,
        test=test,
        balanced=True,
    )


def _validated(
    k: int,
    drawn: Sequence[Split],
    starts: Sequence[tuple[Network, Network]],
    recipes: Sequence[Recipe],
    tested: Sequence[Sequence[float]],
    echo: Echo,
) -> None:
    """Test F1 of the recipe each validation chooses, in k folds."""
    chosen: dict[str, list[float]] = {"TrCV": [], "CV": []}
    picks: dict[str, list[str]] = {"TrCV": [], "CV": []}
    for number, (rows, start) in enumerate(zip(drawn, starts, strict=True)):
        rng = np.random.default_rng([SEED, number, k])
        of_a, of_b = folds(len(rows.y), k, rng), folds(rows.labelled, k, rng)
        by = {
            "TrCV": [transfer_validation(rows, one, start, of_a) for one in recipes],
            "CV": [plain_validation(rows, one, start, of_b) for one in recipes],
        }
        for name, values in by.items():
            best = int(np.argmax(values))
            chosen[name].append(tested[number][best])
            picks[name].append(f"{recipes[best].gamma:g}")
    for name, values in chosen.items():
        echo(
            f"  k = {k:<3} {name:<5} {np.mean(values):.3f}+-{np.std(values):.3f}   "
            f"gamma chosen: {', '.join(picks[name])}"
        )


def _private_rows(
    table: Table, drawn: Sequence[Split], recipe: Recipe, common: int, test: int, echo: Echo
) -> None:
    """The price of the private variant, with the few labels and with all of them."""
    few = [
        private_f1(rows, recipe.gamma, np.random.default_rng([SEED, number, 2]))
        for number, rows in enumerate(drawn)
    ]
    many, open_ = [], []
    for number in range(len(drawn)):
        rows = _clients(table, number, common, common, test)
        many.append(private_f1(rows, recipe.gamma, np.random.default_rng([SEED, number, 2])))
        start = pretrained(rows, recipe, np.random.default_rng([SEED, number, 1]))
        open_.append(transfer_f1(rows, recipe, start, "taylor"))
    for text, values in (
        (f"private, {drawn[0].labelled} labels", few),
        (f"private, {common} labels", many),
        (f"TLT, {common} labels", open_),
    ):
        echo(f"  {text:<22}{np.mean(values):.3f}+-{np.std(values):.3f}")
    echo(f"  (private: both parties at epsilon {EPSILON:g}, delta {DELTA:g}; TLT: no budget)")
