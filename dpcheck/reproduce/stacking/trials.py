"""One cell of a stacking paper's table: tune, fit ten times, score."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from dpcheck.mechanisms.objective.estimator import ObjectiveModel
from dpcheck.reproduce.parameters import Parameters

Floats = NDArray[np.float64]
GROUPS = 5
DRAWS = 3  # fits per dataset and choice of hyper-parameters, shared among its tuning splits


@dataclass(frozen=True, slots=True, eq=False)
class Space:
    """What is taken for public about the features: bounds, groups at random and by importance."""

    bound: float
    random_groups: list[list[int]]
    random_bounds: list[float]
    sorted_groups: list[list[int]]
    sorted_bounds: list[float]
    importances: list[float]
    variances: Floats

    @classmethod
    def of(
        cls, X: Floats, variances: Floats, rng: np.random.Generator, groups: int = GROUPS
    ) -> Space:
        """Bounds from the rows X and importances q_k from feature variances, [Yao2019] (6).

        From private rows this is the papers' own protocol, and leaks; from public rows it does not.
        """
        chance = np.array_split(rng.permutation(X.shape[1]), groups)
        ranked = np.array_split(np.argsort(-variances, kind="stable"), groups)
        shares = np.array([variances[group].sum() for group in ranked])
        return cls(
            _largest(X),
            [group.tolist() for group in chance],
            [_largest(X[:, group]) for group in chance],
            [group.tolist() for group in ranked],
            [_largest(X[:, group]) for group in ranked],
            (shares / shares.sum()).tolist(),
            variances,
        )

    def random(self) -> Parameters:
        """Keywords of the uniform variant."""
        return {"groups": self.random_groups, "norm_bound": self.random_bounds}

    def weighted(self) -> Parameters:
        """Keywords of the importance-weighted variant."""
        return {
            "groups": self.sorted_groups,
            "norm_bound": self.sorted_bounds,
            "importances": self.importances,
        }


def _largest(X: Floats) -> float:
    return float(np.linalg.norm(X, axis=1).max())


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """One random split: what a model is fitted on, what it is scored on, and its feature space."""

    train: tuple[Floats, ...]
    test: tuple[Floats, Floats]
    space: Space
    folds: int

    def tuning(self, rng: np.random.Generator) -> Iterator[Trial]:
        """Splits of the last dataset of `train` (the target, if there are two)."""
        *rest, X, y = self.train
        pieces = np.array_split(rng.permutation(len(X)), 3)
        for held in pieces[: self.folds]:
            kept = np.setdiff1d(np.arange(len(X)), held)
            yield Trial((*rest, X[kept], y[kept]), (X[held], y[held]), self.space, self.folds)


Maker = Callable[..., ObjectiveModel]


@dataclass(frozen=True, slots=True, eq=False)
class TrainedMethod:
    """A row's algorithm: how to build it, and the hyper-parameters to choose from."""

    name: str
    make: Maker
    grid: Mapping[str, Sequence[float]]
    slips: bool = False  # whether the printed variant differs from the corrected one


def keywords_of(variant: str) -> dict[str, str]:
    """The estimator's choices behind a row's label."""
    return {
        "printed": {"variant": "printed"},
        "corrected": {"variant": "corrected"},
        "tight": {"variant": "corrected", "calibration": "tight"},
    }[variant]


def auc(model: ObjectiveModel, trial: Trial, rng: np.random.Generator) -> float:
    """Fit with fresh noise and score."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(*trial.train, rng=rng)
    X, y = trial.test
    return float(roc_auc_score(y, model.decision_function(X)))


def tune(
    method: TrainedMethod,
    epsilon: float,
    variant: str,
    trials: Sequence[Trial],
    rng: np.random.Generator,
) -> dict[str, float]:
    """The hyper-parameters with the best mean AUC over the tuning splits of `trials`."""
    splits = [split for trial in trials for split in trial.tuning(rng)]
    best: tuple[float, dict[str, float]] = (-1.0, {})
    for values in product(*method.grid.values()):
        chosen = dict(zip(method.grid, values, strict=True))
        score = float(
            np.mean(
                [
                    auc(
                        method.make(epsilon, split.space, **chosen, **keywords_of(variant)),
                        split,
                        rng,
                    )
                    for split in splits
                    for _ in range(DRAWS // split.folds)
                ]
            )
        )
        best = max(best, (score, chosen), key=lambda pair: pair[0])
    return best[1]


def cell(
    method: TrainedMethod,
    epsilon: float,
    variant: str,
    tuning: Sequence[Trial],
    trials: Sequence[Trial],
    seed: Sequence[int],
) -> tuple[float, float]:
    """Mean and deviation of the AUC over `trials`, tuned on `tuning`."""
    rng = np.random.default_rng([*seed, int(epsilon * 1000), len(variant)])
    chosen = tune(method, epsilon, variant, tuning, rng)
    scores = [
        auc(method.make(epsilon, trial.space, **chosen, **keywords_of(variant)), trial, rng)
        for trial in trials
    ]
    return float(np.mean(scores)), float(np.std(scores, ddof=1))
