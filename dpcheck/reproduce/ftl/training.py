"""Training and validating for the tables of [Liu2018], in the clear: the protocol's own numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.svm import SVC

from dpcheck.mechanisms.federated.protocol.autoencoder import (
    Network,
    Pretraining,
    add,
    forward,
    pretrained_network,
    scale,
)
from dpcheck.mechanisms.federated.protocol.model import (
    KnownToA,
    KnownToB,
    Objective,
    joint_gradients,
    translator,
)
from dpcheck.reproduce.ftl.data import Split

Floats = NDArray[np.float64]
Loss = Literal["taylor", "logistic"]


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a federation is trained; `rate` is per labelled row."""

    hidden: tuple[int, ...]
    iterations: int
    rate: float
    gamma: float
    regularization: float
    pretraining: Pretraining

    @property
    def objective(self) -> Objective:
        """With the corrected signs."""
        return Objective(self.gamma, self.regularization)


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """What one training uses: A's rows and labels, pairs, and labels of rows of B."""

    of_a: NDArray[np.int64]
    pairs: NDArray[np.int64]  # row i of A and row i of B are one person
    labelled: NDArray[np.int64]  # rows of B
    labels: Floats


def all_rows(split: Split) -> Rows:
    """Everything a split has."""
    known = np.arange(split.labelled)
    return Rows(np.arange(len(split.y)), np.arange(split.common), known, split.y[known])


def weighted_f1(truth: Floats, predicted: ArrayLike) -> float:
    """F1 of both labels, weighted by how often each is true."""
    return float(f1_score(truth, predicted, average="weighted", zero_division=0))


def signs(scores: Floats) -> Floats:
    """+1 where the score is at least 0."""
    return np.where(scores >= 0, 1.0, -1.0)


def pretrained(split: Split, recipe: Recipe, rng: np.random.Generator) -> tuple[Network, Network]:
    """Both parties' auto-encoders, each on its own rows."""
    rng_a, rng_b = rng.spawn(2)
    return (
        pretrained_network(split.X_a, recipe.hidden, rng_a, recipe.pretraining),
        pretrained_network(split.X_b, recipe.hidden, rng_b, recipe.pretraining),
    )


def train(
    split: Split,
    recipe: Recipe,
    networks: tuple[Network, Network],
    rows: Rows,
    loss: Loss = "taylor",
) -> tuple[Network, Network]:
    """Algorithm 1 without messages: the same steps as the protocol's, to rounding (tested)."""
    where = np.full(len(split.y), -1)
    where[rows.of_a] = np.arange(len(rows.of_a))
    known_a = KnownToA(split.y[rows.of_a], rows.labels, where[rows.pairs])
    known_b = KnownToB(rows.labelled, rows.pairs)
    X_a, a, b = split.X_a[rows.of_a], *networks
    step = -recipe.rate / len(rows.labels)
    for _ in range(recipe.iterations):
        found = joint_gradients(
            recipe.objective,
            (a, b),
            (forward(a, X_a), forward(b, split.X_b)),
            known_a,
            known_b,
            loss,
        )
        a, b = add(a, scale(found.of_a, step)), add(b, scale(found.of_b, step))
    return a, b


def transfer_f1(
    split: Split, recipe: Recipe, networks: tuple[Network, Network], loss: Loss
) -> float:
    """Weighted F1 on the test rows after training from these networks."""
    a, b = train(split, recipe, networks, all_rows(split), loss)
    phi = translator(forward(a, split.X_a).hidden, split.y)
    return weighted_f1(split.y_test, signs(forward(b, split.X_test).hidden @ phi))


def alone_f1(split: Split, encoder: Network, seed: int) -> dict[str, float]:
    """B's features alone on the labelled rows: logistic regression, SVM, and on top of the SAE."""
    X, y = split.X_b[: split.labelled], split.y[: split.labelled]
    logistic = LogisticRegression(max_iter=5000)
    found = {}
    for name, model, rows, test in (
        ("LR", logistic, X, split.X_test),
        ("SVM", SVC(random_state=seed), X, split.X_test),
        ("SAE", logistic, forward(encoder, X).hidden, forward(encoder, split.X_test).hidden),
    ):
        found[name] = weighted_f1(split.y_test, model.fit(rows, y).predict(test))
    return found


def folds(rows: int, number: int, rng: np.random.Generator) -> list[NDArray[np.int64]]:
    """Row numbers dealt into shares at random."""
    return [np.sort(part) for part in np.array_split(rng.permutation(rows), number)]


def transfer_validation(
    split: Split,
    recipe: Recipe,
    networks: tuple[Network, Network],
    shares: Sequence[NDArray[np.int64]],
) -> float:
    """Algorithm 3: train without a fold of A, label B, train again with those labels, and let B
    predict the fold by (10)."""
    whole, everyone, found = all_rows(split), np.arange(split.common), []
    for fold in shares:
        kept = np.setdiff1d(whole.of_a, fold)
        pairs = np.setdiff1d(whole.pairs, fold)
        known = ~np.isin(whole.labelled, fold)
        first = Rows(kept, pairs, whole.labelled[known], whole.labels[known])
        a, b = train(split, recipe, networks, first)
        phi = translator(forward(a, split.X_a[kept]).hidden, split.y[kept])
        labels = signs(forward(b, split.X_b).hidden @ phi)
        told = labels.copy()
        labels[first.labelled] = first.labels
        a, b = train(split, recipe, networks, Rows(kept, pairs, everyone, labels))
        back = translator(forward(b, split.X_b).hidden, told)
        found.append(weighted_f1(split.y[fold], signs(forward(a, split.X_a[fold]).hidden @ back)))
    return float(np.mean(found))


def plain_validation(
    split: Split,
    recipe: Recipe,
    networks: tuple[Network, Network],
    shares: Sequence[NDArray[np.int64]],
) -> float:
    """Cross-validation on the few labelled rows of B."""
    whole, found = all_rows(split), []
    for fold in shares:
        kept = np.setdiff1d(whole.labelled, fold)
        rows = Rows(whole.of_a, whole.pairs, kept, split.y[kept])
        a, b = train(split, recipe, networks, rows)
        phi = translator(forward(a, split.X_a).hidden, split.y)
        found.append(weighted_f1(split.y[fold], signs(forward(b, split.X_b[fold]).hidden @ phi)))
    return float(np.mean(found))
