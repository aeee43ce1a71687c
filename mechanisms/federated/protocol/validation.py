"""Transfer cross-validation and the self-learning safeguard ([Liu2018] Algorithm 3)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from sklearn.metrics import f1_score

from dpcheck.core.errors import InvalidParameter
from dpcheck.mechanisms.federated.protocol.autoencoder import Array
from dpcheck.mechanisms.federated.protocol.party import Program
from dpcheck.mechanisms.federated.protocol.party_a import PartyA, Task


@dataclass(frozen=True, slots=True)
class Validation:
    """Weighted F1 of every fold, for transfer (on A's held-out rows) and for self-learning."""

    transfer: tuple[float, ...]
    alone: tuple[float, ...]

    @property
    def transfer_score(self) -> float:
        """(11): the mean over the folds."""
        return float(np.mean(self.transfer))

    @property
    def alone_score(self) -> float:
        """The mean over the folds of D_c."""
        return float(np.mean(self.alone))

    @property
    def transfers(self) -> bool:
        """Whether to transfer at all: not if B's features alone do better (negative transfer)."""
        return self.transfer_score >= self.alone_score


def weighted_f1(truth: Array, predicted: Array) -> float:
    """F1 of both labels, weighted by how often each is true."""
    return float(f1_score(truth, predicted, average="weighted", zero_division=0))


def split_folds(rows: int, folds: int, rng: np.random.Generator) -> list[Array]:
    """Row numbers dealt into `folds` shares at random."""
    if not 2 <= folds <= rows:
        raise InvalidParameter(
            f"cross-validation needs at least 2 folds and a row for each, got {folds} for {rows} rows.",
            name="folds",
        )
    return [np.sort(part) for part in np.array_split(rng.permutation(rows), folds)]


def cross_validate(
    a: PartyA,
    common_of_b: Array,
    *,
    folds: int,
    rng: np.random.Generator,
    labelled: int | None = None,
) -> Program[Validation]:
    """A's side of Algorithm 3; B serves.

    Per fold: train without it, predict all rows of B, train again with the predicted labels where
    no true one is known, and let B predict the fold by (10). B's labels for (10) are the predicted
    ones, so no true label leaves A.
    """
    whole = a.whole_task("all", common_of_b, labelled)
    transfer = []
    for k, fold in enumerate(split_folds(len(a.X), folds, rng), start=1):
        first = without_rows(a, whole, fold, f"fold {k} of {folds}, source labels")
        yield from a.train(first, common_of_b)
        _, predicted = yield from a.predict(first.name)
        labels = predicted.astype(float)
        labels[first.labelled] = first.labels
        second = replace(
            first,
            name=f"fold {k} of {folds}, predicted labels",
            labelled=np.arange(a.rows_of_b),
            labels=labels,
        )
        yield from a.train(second, common_of_b)
        own = yield from a.predict_own(second.name, fold)
        transfer.append(weighted_f1(a.y[fold], own))
    alone = yield from validate_alone(a, common_of_b, whole, folds, rng)
    return Validation(tuple(transfer), alone)


def without_rows(a: PartyA, task: Task, fold: Array, name: str) -> Task:
    """The task without some rows of A: their pairs and labels go too."""
    kept = ~np.isin(a.common[task.pairs], fold)
    # The labelled rows of B are those of the first pairs, in order.
    known = kept[: len(task.labelled)]
    if not known.any():
        raise InvalidParameter(
            f"{name}: no labelled common row is left to train on; use fewer folds.", name="folds"
        )
    return Task(
        name,
        np.setdiff1d(task.rows, fold),
        task.pairs[kept],
        task.labelled[known],
        task.labels[known],
    )


def validate_alone(
    a: PartyA, common_of_b: Array, whole: Task, folds: int, rng: np.random.Generator
) -> Program[tuple[float, ...]]:
    """The safeguard: B's network alone on D_c, its labels encrypted, in as many folds."""
    none, scores = np.zeros(0, dtype=np.int64), []
    for k, fold in enumerate(split_folds(len(whole.labelled), folds, rng), start=1):
        kept = np.setdiff1d(np.arange(len(whole.labelled)), fold)
        task = Task(
            f"fold {k} of {folds}, self-learning",
            none,
            none,
            whole.labelled[kept],
            whole.labels[kept],
            "self",
        )
        yield from a.train(task, common_of_b)
        _, predicted = yield from a.predict(task.name, whole.labelled[fold])
        scores.append(weighted_f1(whole.labels[fold], predicted))
    return tuple(scores)
