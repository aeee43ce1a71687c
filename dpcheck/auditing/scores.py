"""Scores of outputs whose upper or lower tail is an event. Learned once, then fixed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpcheck.auditing.features import Layout, feature, feature_names, indicators, matrix

Array = NDArray[np.float64]


class Score(Protocol):
    """A number per output; large means more likely under P."""

    @property
    def name(self) -> str:
        """What the score is, for reports."""

    def __call__(self, values: Array) -> Array:
        """The scores of outputs that were rounded by the layout."""


@dataclass(frozen=True, slots=True)
class FeatureScore:
    """One physical feature."""

    name: str
    layout: Layout

    def __call__(self, values: Array) -> Array:
        """The feature."""
        return feature(self.name, values, self.layout)


@dataclass(frozen=True, slots=True)
class LinearScore:
    """A weighted sum of values, or of indicators of being above the centre."""

    name: str
    layout: Layout
    weights: Array
    on_indicators: bool

    def __call__(self, values: Array) -> Array:
        """The sum."""
        columns = indicators(values, self.layout) if self.on_indicators else values
        result: Array = columns @ self.weights
        return result


@dataclass(frozen=True, slots=True)
class AtomScore:
    """A linear score that tells atoms (flags such as -1 for "aborted") from continuous values."""

    name: str
    atoms: Array
    centre: Array
    weights: Array

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

    name: str
    column: int
    atoms: Array

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

    def __call__(self, values: Array) -> Array:
        """The log odds."""
        result: Array = self.model.decision_function(matrix(values, self.layout))
        return result


# Irrational weights: two rows of a discrete output agree on this code only if they are equal.
_CODES = np.sqrt(np.arange(2, 66) + 0.5) * np.pi


@dataclass(frozen=True, slots=True)
class TableScore:
    """The log ratio of how often each distinct output was seen; 0 for outputs never seen."""

    name: str
    codes: Array
    ratios: Array

    def __call__(self, values: Array) -> Array:
        """The log ratio of each output."""
        wanted = _code(values)
        at = np.minimum(np.searchsorted(self.codes, wanted), len(self.codes) - 1)
        return np.where(self.codes[at] == wanted, self.ratios[at], 0.0)


def _code(values: Array) -> Array:
    # A plain sum in a fixed order: a matrix product may add in another order for another batch
    # size, and equal outputs must get equal codes.
    total = np.zeros(len(values))
    for column in range(values.shape[1]):
        total += values[:, column] * _CODES[column]
    return total


@dataclass(frozen=True, slots=True)
class BinnedScore:
    """Log ratio of histogram cells of one feature: finds intervals and gaps, not only tails."""

    name: str
    layout: Layout
    source: str
    edges: Array
    ratios: Array

    def __call__(self, values: Array) -> Array:
        """The log ratio of each output's cell."""
        found = feature(self.source, values, self.layout)
        return self.ratios[np.searchsorted(self.edges, found, side="right")]


def learn_scores(first: Array, second: Array, layout: Layout, *, trees: bool = True) -> list[Score]:
    """Scores that tell rounded outputs of P (`first`) from those of P' (`second`)."""
    scores: list[Score] = [FeatureScore(name, layout) for name in feature_names(layout)]
    table = _table(first, second)
    if table is not None:
        scores.append(table)
    scores += _binned(first, second, layout)
    if layout.width > 1:
        scores += _linear(first, second, layout)
    # A table of all outcomes is the likelihood ratio itself; trees are for outputs without one.
    if trees and table is None:
        tree = _tree(first, second, layout)
        if tree is not None:
            scores.append(tree)
    return scores


def _table(first: Array, second: Array) -> TableScore | None:
    codes, inverse = np.unique(_code(np.vstack([first, second])), return_inverse=True)
    if len(codes) > max(64, len(first) // 16):
        return None  # continuous, or too many outcomes to have seen each of them often
    hits = np.bincount(inverse[: len(first)], minlength=len(codes))
    other = np.bincount(inverse[len(first) :], minlength=len(codes))
    return TableScore("table of outputs", codes, np.log((hits + 1) / (other + 1)))


def _binned(first: Array, second: Array, layout: Layout) -> list[Score]:
    names = [name for name in feature_names(layout) if name in ("value 0", "sum", "largest")]
    scores: list[Score] = []
    for name in names:
        a, b = feature(name, first, layout), feature(name, second, layout)
        edges = np.unique(np.quantile(np.concatenate([a, b]), np.linspace(0.01, 0.99, 50)))
        size = len(edges) + 1
        hits = np.bincount(np.searchsorted(edges, a, side="right"), minlength=size)
        other = np.bincount(np.searchsorted(edges, b, side="right"), minlength=size)
        ratios = np.log((hits + 1) / (other + 1))
        scores.append(BinnedScore(f"cells of {name}", layout, name, edges, ratios))
    return scores


def _linear(first: Array, second: Array, layout: Layout) -> list[Score]:
    from sklearn.linear_model import LogisticRegression

    scores: list[Score] = []
    a, b = indicators(first, layout), indicators(second, layout)
    gap = a.mean(axis=0) - b.mean(axis=0)
    error = np.sqrt((a.var(axis=0) + b.var(axis=0)) / len(a)) + 1e-12
    columns = first.shape[1]
    for name, block in (("values", slice(0, columns)), ("differences", slice(columns, None))):
        weights = np.zeros(len(gap))
        weights[block] = np.sign(gap[block]) * (np.abs(gap[block]) > 2 * error[block])
        if np.any(weights):
            scores.append(LinearScore(f"signed count of {name}", layout, weights, True))
    first, second, a, b = (part[:_LINEAR_RUNS] for part in (first, second, a, b))
    labels = np.repeat([1, 0], [len(first), len(second)])
    stacked = np.vstack([a, b])
    fitted = LogisticRegression(C=1.0, max_iter=200).fit(stacked, labels)
    scores.append(LinearScore("logistic on indicators", layout, fitted.coef_[0], True))
    plain = np.vstack([first, second])
    atoms = find_atoms(plain)
    if len(atoms):
        scores += [FreeScore(f"free value {i}", i, atoms) for i in range(plain.shape[1])]
        free = np.where(np.isin(plain, atoms), np.nan, plain)
        seen = ~np.isnan(free).all(axis=0)
        centre = np.zeros(plain.shape[1])
        centre[seen] = np.nanmedian(free[:, seen], axis=0)
        fitted = LogisticRegression(C=1.0, max_iter=200).fit(
            atom_columns(plain, atoms, centre), labels
        )
        scores.append(AtomScore("logistic on atoms", atoms, centre, fitted.coef_[0]))
    scale = plain.std(axis=0)
    scale[scale == 0] = 1.0
    fitted = LogisticRegression(C=1.0, max_iter=200).fit(plain / scale, labels)
    scores.append(LinearScore("logistic on values", layout, fitted.coef_[0] / scale, False))
    return scores


_LINEAR_RUNS = 200_000
_TREE_RUNS = 30_000


def _tree(first: Array, second: Array, layout: Layout) -> TreeScore | None:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    a, b = matrix(first[:_TREE_RUNS], layout), matrix(second[:_TREE_RUNS], layout)
    if len(a) < 500:
        return None
    labels = np.repeat([1, 0], [len(a), len(b)])
    model = HistGradientBoostingClassifier(
        max_iter=25, max_leaf_nodes=8, min_samples_leaf=max(20, len(a) // 500),
        early_stopping=False, random_state=0,
    )  # fmt: skip
    # One thread: sums in a fixed order, so the same runs give the same score everywhere.
    with threadpool_limits(1):
        model.fit(np.vstack([a, b]), labels)
    return TreeScore("gradient boosting", layout, model)
