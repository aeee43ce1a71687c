"""[Liu2018] Figures 1 and 2: Taylor against logistic loss, and how many rows both parties have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from dpcheck.execution.progress import counted
from dpcheck.reproduce.ftl.data import Split, load_nuswide, split
from dpcheck.reproduce.ftl.table import SEED, TAGS, Echo, begin
from dpcheck.reproduce.ftl.training import Loss, Recipe, alone_f1, pretrained, transfer_f1

COMMON = (20, 60, 120, 238)
ITERATIONS = (5, 20, 60)
LABELLED = 100
DEEP = replace(TAGS, hidden=(128, 64))


def nuswide_common(
    data_dir: Path | None,
    echo: Echo,
    *,
    common: Sequence[int] = COMMON,
    iterations: Sequence[int] = ITERATIONS,
    labelled: int = LABELLED,
    partitions: int = 3,
    recipes: Sequence[Recipe] = (TAGS, DEEP),
) -> None:
    """Weighted F1 by common rows (Figure 2), and by iterations with either loss (Figure 1)."""
    table = load_nuswide(data_dir)
    done = begin("FTL [Liu2018] Figures 1 and 2: weighted F1 on B's test rows", echo)
    rarer = int(min((table.y > 0).sum(), (table.y < 0).sum()))

    def rows(partition: int, both: int) -> Split:
        return split(
            table,
            np.random.default_rng([SEED, partition]),
            train=5 * rarer // 4,
            common=both,
            labelled=min(labelled, both),
            test=3 * rarer // 4,
            balanced=True,
        )

    echo(
        f"the same sample and settings as ftl-nuswide; {labelled} labels (all common rows where there are "
        f"fewer), {partitions} partitions\n\n  common rows   TLT             LR of B's labelled rows"
    )
    for both in counted("numbers of common rows", common, len(common)):
        found = []
        for partition in range(partitions):
            one = rows(partition, both)
            start = pretrained(one, recipes[0], np.random.default_rng([SEED, partition, 1]))
            found.append(
                (transfer_f1(one, recipes[0], start, "taylor"), alone_f1(one, start[1], 0)["LR"])
            )
        cells = [f"{np.mean(each):.3f}+-{np.std(each):.3f}" for each in zip(*found, strict=True)]
        echo(f"  {both:>11}   {cells[0]:<15} {cells[1]}")
    echo(
        "\n  layers    loss      " + "".join(f"{count:>8}" for count in iterations) + "  iterations"
    )
    losses: tuple[Loss, ...] = ("taylor", "logistic")
    for recipe in recipes:
        for loss in losses:
            cells = []
            for count in iterations:
                scores = []
                for partition in range(partitions):
                    one = rows(partition, common[-1])
                    start = pretrained(one, recipe, np.random.default_rng([SEED, partition, 1]))
                    scores.append(transfer_f1(one, replace(recipe, iterations=count), start, loss))
                cells.append(f"{np.mean(scores):>8.3f}")
            name = "-".join(str(width) for width in recipe.hidden)
            echo(f"  {name:<9} {loss:<10}" + "".join(cells))
    done()
