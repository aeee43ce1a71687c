"""The papers' learning bounds beside measured errors: how many rows they ask for, how many it takes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dpcheck.execution.progress import counted
from dpcheck.mechanisms import PLR, PLRFS
from dpcheck.reproduce.stacking.figures import begin
from dpcheck.reproduce.stacking.table import SEED, Echo
from dpcheck.reproduce.stacking.trials import Floats

MARGIN, DELTA, EXCESS = 5.0, 0.1, 0.02  # |v|, the chance to err more, and what may be erred: eps_g
REPETITIONS, GROUPS = 20, 5
FEATURES, EPSILONS = (5, 20), (0.1, 1.0, 10.0)
STEP, MOST = math.sqrt(2), 2_000_000


@dataclass(frozen=True, slots=True, eq=False)
class World:
    """Rows of norm at most 1 whose label depends on the first feature only.

    x_1 is uniform in [-0.8, 0.8], the rest uniform on a sphere of radius 0.6, and
    P(y = 1 | x) = sigma(|v| x_1): so v = (|v|, 0, ...) is the best predictor of all.
    """

    features: int

    def draw(self, rows: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Rows and labels in {0, 1}."""
        X = np.empty((rows, self.features))
        X[:, 0] = rng.uniform(-0.8, 0.8, rows)
        around = rng.standard_normal((rows, self.features - 1))
        X[:, 1:] = 0.6 * around / np.linalg.norm(around, axis=1, keepdims=True)
        y = rng.random(rows) < 1 / (1 + np.exp(-MARGIN * X[:, 0]))
        return X, y.astype(float)

    def excess(self, weights: Floats, seed: int) -> float:
        """L(w) - L(v), by 40,000 rows that are the same for both."""
        rng = np.random.default_rng(seed)
        X, _ = self.draw(40_000, rng)
        chance = 1 / (1 + np.exp(-MARGIN * X[:, 0]))
        margins = X @ weights
        best = MARGIN * X[:, 0]
        # The label is integrated out: E[log(1 + e^(-y m))] = log(1 + e^m) - chance m.
        gaps = np.logaddexp(0, margins) - np.logaddexp(0, best) - chance * (margins - best)
        return float(gaps.mean())


def bound_plr(features: int, epsilon: float) -> float:
    """The maximum of [Guo2018] Proposition 2 and [Yao2019] Proposition 2, without C_1."""
    return max(
        MARGIN**2 * math.log(1 / DELTA) / EXCESS**2,
        features * math.log(features / DELTA) * MARGIN / (EXCESS * epsilon),
        MARGIN**2 / (EXCESS * epsilon),
    )


def bound_groups(features: int, epsilon: float) -> float:
    """That of [Guo2018] Proposition 4 and [Yao2019] Theorem 5 for q_k = 1/K: here q_k K = 1."""
    return max(
        MARGIN**2 * math.log(1 / DELTA) / EXCESS**2,
        features * math.log(features / (GROUPS * DELTA)) * MARGIN / (EXCESS * epsilon),
        MARGIN**2 / (EXCESS * epsilon),
    )


Trained = Callable[[Floats, Floats, np.random.Generator], Floats]


def plain(epsilon: float) -> Trained:
    """PLR with the regularisation that the bound's proof takes: eps_g / |v|^2."""

    def train(X: Floats, y: Floats, rng: np.random.Generator) -> Floats:
        return np.asarray(PLR(epsilon, EXCESS / MARGIN**2).fit(X, y, rng=rng).release_)

    return train


def of_group(epsilon: float, features: int) -> Trained:
    """The block of PLR-FS that has the first feature, its weights in the scale of the raw rows."""
    groups = [piece.tolist() for piece in np.array_split(np.arange(features), GROUPS)]
    # |v_k| = K |v|, as the block's rows are K times shorter.
    regularization = EXCESS / (GROUPS * MARGIN) ** 2

    def train(X: Floats, y: Floats, rng: np.random.Generator) -> Floats:
        model = PLRFS(epsilon, regularization, groups=groups).fit(X, y, rng=rng)
        weights = np.zeros(features)
        weights[: len(groups[0])] = model.release_[: len(groups[0])] / GROUPS
        return weights

    return train


def needed(train: Trained, features: int, seed: list[int]) -> float:
    """The fewest rows, on a grid, with which a share 1 - DELTA of the runs errs at most EXCESS."""
    world, rows = World(features), 100.0
    while rows <= MOST:
        worse = 0
        for repetition in range(REPETITIONS):
            rng = np.random.default_rng([*seed, int(rows), repetition])
            found = world.excess(train(*world.draw(int(rows), rng), rng), SEED)
            worse += found > EXCESS
            if worse > DELTA * REPETITIONS:
                break
        if worse <= DELTA * REPETITIONS:
            return rows
        rows *= STEP
    return math.inf


def learning_bounds(data_dir: Path | None, echo: Echo) -> None:  # noqa: ARG001 - made up here
    """[Guo2018] Propositions 2 and 4, [Yao2019] Proposition 2 and Theorem 5."""
    done = begin(
        "Learning bounds: rows for an excess loss of "
        f"{EXCESS:g} with probability {1 - DELTA:g}, |v| = {MARGIN:g}, K = {GROUPS}",
        echo,
        "the papers' noise",
    )
    echo(
        "| d | epsilon | PLR: the bound / C_1 | rows it takes | so C_1 is | PLR-FS: the bound / C_2 "
        "| rows it takes | so C_2 is |"
    )
    echo("|" + "---|" * 8)
    cases = [(d, epsilon) for d in FEATURES for epsilon in EPSILONS]
    for features, epsilon in counted("cases", cases, len(cases)):
        cells = [f"{features}", f"{epsilon:g}"]
        for number, (bound, train) in enumerate(
            (
                (bound_plr(features, epsilon), plain(epsilon)),
                (bound_groups(features, epsilon), of_group(epsilon, features)),
            )
        ):
            rows = needed(train, features, [SEED, features, int(10 * epsilon), number])
            cells += [f"{bound:,.0f}", f"{rows:,.0f}", f"{rows / bound:.2g}"]
        echo("| " + " | ".join(cells) + " |")
    done()
