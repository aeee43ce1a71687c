"""Scores of outputs whose upper or lower tail is an event. Learned once, then fixed."""

from __future__ import annotations

import sys
import warnings
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from dpcheck.auditing.learning.cells import (
    learn_intervals,
    learn_outcomes,
    learn_repeats,
    learn_transcripts,
)
from dpcheck.auditing.learning.features import (
    Feature,
    Kind,
    Layout,
    as_steps,
    feature,
    global_features,
    indicators,
    local_features,
    matrix,
    weighted_indicators,
)

Array = NDArray[np.float64]


class Score(Protocol):
    """A number per output; large means more likely under P."""

    @property
    def name(self) -> str:
        """What the score is, for reports."""

    @property
    def is_local(self) -> bool:
        """Whether it reads one place of the output only."""

    @property
    def feature(self) -> Feature | None:
        """The feature it is a threshold on; None for learned combinations."""

    def __call__(self, values: Array) -> Array:
        """The scores of outputs that were rounded by the layout."""


@dataclass(frozen=True, slots=True)
class FeatureScore:
    """One physical feature."""

    feature: Feature
    layout: Layout

    @property
    def name(self) -> str:
        """The feature's own."""
        return self.feature.name

    @property
    def is_local(self) -> bool:
        """Whether the feature is."""
        return self.feature.is_local

    def __call__(self, values: Array) -> Array:
        """The feature."""
        return feature(self.feature, values, self.layout)


@dataclass(frozen=True, slots=True)
class LinearScore:
    """A weighted sum of values, or of indicators of being above the centre."""

    name: str
    layout: Layout
    weights: Array
    on_indicators: bool
    is_local: bool = False
    feature: Feature | None = None

    def __call__(self, values: Array) -> Array:
        """The sum."""
        if self.on_indicators:
            return weighted_indicators(values, self.layout, self.weights)
        result: Array = values @ self.weights
        return result


@dataclass(frozen=True, slots=True)
class ClippedScore:
    """How far values (or steps) have gone from one side's medians to the other's, cut at both.

    Between two Laplace laws this is the loss itself; elsewhere it is a count that outliers cannot
    sway.
    """

    name: str
    signs: Array  # 0 where the sides do not clearly differ
    first: Array
    second: Array
    on_steps: bool
    is_local: bool = False
    feature: Feature | None = None

    def __call__(self, values: Array) -> Array:
        """The sum over columns."""
        columns = np.asfortranarray(as_steps(values)) if self.on_steps else values
        total = np.zeros(len(values))
        for index in np.flatnonzero((self.signs != 0) & (self.first != self.second)):
            span = self.first[index] - self.second[index]
            total += np.clip((columns[:, index] - self.second[index]) / span, 0.0, 1.0)
        return total


@dataclass(frozen=True, slots=True)
class AtomScore:
    """A linear score that tells atoms (flags such as -1 for "aborted") from continuous values."""

    name: str
    atoms: Array
    centre: Array
    weights: Array
    is_local: bool = False
    feature: Feature | None = None

    def __call__(self, values: Array) -> Array:
        """The weighted sum."""
        result: Array = atom_columns(values, self.atoms, self.centre) @ self.weights
        return result


def atom_columns(values: Array, atoms: Array, centre: Array) -> Array:
    """Per column: is it each of the atoms, and is it a continuous value above its centre."""
    flags = [values == atom for atom in atoms]
    free = ~np.logical_or.reduce(flags)
    return np.hstack([*flags, free & (values > centre)]).astype(float)


@dataclass(frozen=True, slots=True)
class FreeScore:
    """One column where it is not an atom; atoms come last, so a lower tail has none of them."""

    column: int
    atoms: Array
    is_local: bool = True

    @property
    def feature(self) -> Feature:
        """The column."""
        return Feature(Kind.FREE_VALUE, self.column)

    @property
    def name(self) -> str:
        """The feature's own."""
        return self.feature.name

    def __call__(self, values: Array) -> Array:
        """The value, or a number above all values."""
        column = values[:, self.column]
        return np.where(np.isin(column, self.atoms), _ABOVE_ALL, column)


_ABOVE_ALL = 1e300


def find_atoms(values: Array) -> Array:
    """Values that repeat among continuous ones; none if all repeat, or nothing does."""
    found, counts = np.unique(values[:20_000], return_counts=True)
    atoms = found[counts > 0.005 * counts.sum()]
    mixed = 0 < len(atoms) <= 6 and counts[~np.isin(found, atoms)].sum() > 0.001 * counts.sum()
    return atoms if mixed else np.zeros(0)


@dataclass(frozen=True, slots=True)
class TreeScore:
    """Gradient boosting over all features."""

    name: str
    layout: Layout
    model: Any
    is_local: bool = False
    feature: Feature | None = None

    def __call__(self, values: Array) -> Array:
        """The log odds."""
        with _one_thread():  # on busy cores OpenMP threads mostly wait for each other
            result: Array = self.model.decision_function(matrix(values, self.layout))
        return result


def _one_thread() -> AbstractContextManager[object]:
    """As `threadpool_limits(1)`, which looks through every library of the process each time."""
    limited: AbstractContextManager[object] = _libraries(len(sys.modules)).limit(limits=1)
    return limited


@lru_cache(maxsize=1)
def _libraries(modules: int) -> ThreadpoolController:  # noqa: ARG001 - more may be loaded with more modules
    return ThreadpoolController()


def learn_scores(first: Array, second: Array, layout: Layout, *, trees: bool = True) -> list[Score]:
    """Scores that tell rounded outputs of P (`first`) from those of P' (`second`)."""
    # One thread: sums in a fixed order, so the same runs give the same scores everywhere.
    with _one_thread():
        return _learn_scores(first, second, layout, trees)


def _learn_scores(first: Array, second: Array, layout: Layout, trees: bool) -> list[Score]:
    scores: list[Score] = [FeatureScore(which, layout) for which in local_features(layout)]
    scores += [FeatureScore(which, layout) for which in global_features(layout)]
    table = learn_outcomes(first, second)
    if table is not None:
        scores.append(table)
    else:
        scores += learn_repeats(first, second)
    scores += learn_intervals(first, second, layout)
    if layout.width > 1:
        scores += _linear(first, second, layout)
    # A table of all outcomes is the likelihood ratio itself; trees are for outputs without one.
    if trees and table is None:
        tree = _tree(first, second, layout)
        if tree is not None:
            scores.append(tree)
    return scores


def _linear(first: Array, second: Array, layout: Layout) -> list[Score]:
    scores: list[Score] = []
    a, b = indicators(first, layout), indicators(second, layout)
    gap = a.mean(axis=0) - b.mean(axis=0)
    error = np.sqrt((a.var(axis=0) + b.var(axis=0)) / len(a)) + 1e-12
    signs = np.sign(gap) * (np.abs(gap) > 2 * error)
    columns = first.shape[1]
    for name, block in (("values", range(columns)), ("steps", [0, *range(columns, len(gap))])):
        weights = np.zeros(len(gap))
        weights[block] = signs[block]
        if np.any(weights):
            scores.append(LinearScore(f"signed count of {name}", layout, weights, True))
            parts = (as_steps(first), as_steps(second)) if name == "steps" else (first, second)
            one, two = (np.median(part, axis=0) for part in parts)
            title = f"clipped sum of {name}"
            scores.append(ClippedScore(title, signs[block], one, two, name == "steps"))
    first, second, a, b = (part[:_LINEAR_RUNS] for part in (first, second, a, b))
    labels = np.repeat([1, 0], [len(first), len(second)])
    fitted = _logistic(np.vstack([a, b]), labels)
    scores.append(LinearScore("logistic on indicators", layout, fitted, True))
    plain = np.vstack([first, second])
    atoms = find_atoms(plain)
    if len(atoms):
        scores += [FreeScore(i, atoms) for i in range(plain.shape[1])]
        cells = learn_transcripts(first, second, atoms)
        if cells is not None:
            scores.append(cells)
        free = np.where(np.isin(plain, atoms), np.nan, plain)
        seen = ~np.isnan(free).all(axis=0)
        centre = np.zeros(plain.shape[1])
        centre[seen] = np.nanmedian(free[:, seen], axis=0)
        fitted = _logistic(atom_columns(plain, atoms, centre), labels)
        scores.append(AtomScore("logistic on atoms", atoms, centre, fitted))
    scale = plain.std(axis=0)
    scale[scale == 0] = 1.0
    fitted = _logistic(plain / scale, labels)
    scores.append(LinearScore("logistic on values", layout, fitted / scale, False))
    return scores


def _logistic(columns: Array, labels: NDArray[np.int_]) -> Array:
    """Weights of a logistic regression.

    Where one column tells the sides apart for certain the Newton solver meets a singular matrix, says so
    and goes on with another solver: any weights will do, since fresh runs judge the score.
    """
    from sklearn.linear_model import LogisticRegression

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = LogisticRegression(C=1.0, solver="newton-cholesky").fit(columns, labels)
    weights: Array = fitted.coef_[0]
    return weights


_LINEAR_RUNS = 200_000
_TREE_RUNS = 30_000


def _tree(first: Array, second: Array, layout: Layout) -> TreeScore | None:
    from sklearn.ensemble import HistGradientBoostingClassifier

    a, b = matrix(first[:_TREE_RUNS], layout), matrix(second[:_TREE_RUNS], layout)
    if len(a) < 500:
        return None
    labels = np.repeat([1, 0], [len(a), len(b)])
    model = HistGradientBoostingClassifier(
        max_iter=25,
        max_leaf_nodes=8,
        min_samples_leaf=max(20, len(a) // 500),
        early_stopping=False,
        random_state=0,
    )
    model.fit(np.vstack([a, b]), labels)
    return TreeScore("gradient boosting", layout, model)
