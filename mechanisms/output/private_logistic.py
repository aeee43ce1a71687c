"""Logistic regression by output perturbation: the source models of DPHTL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from dpcheck.core.errors import InvalidParameter
from dpcheck.core.events.event import Event
from dpcheck.core.spending import Spender
from dpcheck.core.validate import positive
from dpcheck.mechanisms.common.data import Labels, read_classes, refuse_data_scaling, to_signs
from dpcheck.mechanisms.common.regularizers import Floats
from dpcheck.mechanisms.output.logistic import minimise, ridge_problem
from dpcheck.mechanisms.output.model import OutputModel
from dpcheck.mechanisms.output.noise import OutputBlock, Scale, calibrated
from dpcheck.mechanisms.output.rows import Rows, clip_norm, read_rows


@dataclass(frozen=True, slots=True, eq=False)
class SignedRows:
    """Rows, dense or sparse, and labels in {-1, +1}."""

    X: Rows
    y: Floats

    def __post_init__(self) -> None:
        X, y = read_rows(self.X, "X"), np.asarray(self.y, dtype=float)
        if y.shape != (X.shape[0],):
            raise InvalidParameter(
                f"y must hold one label per row, got {y.shape} for {X.shape}.", name="y"
            )
        if not np.isin(y, (-1.0, 1.0)).all():
            raise InvalidParameter("y must hold -1 and +1 only; recode the labels.", name="y")
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "y", y)


def source_scale(epsilon: float, rows: int, lam: float) -> Scale:
    """The noise of a source model on rows of norm at most 1.

    One row changes the gradient of the mean loss by at most 2/n and the objective is lam-strongly
    convex, so the minimiser moves by at most 2/(n lam): rate n lam eps / 2.
    Reference: [Chaudhuri2011] Corollary 8.
    """
    return calibrated(positive("epsilon", epsilon), 2 / (rows * positive("regularization", lam)))


def source_block(
    name: str, data: SignedRows, scale: Scale, lam: float, bound: float
) -> OutputBlock:
    """The minimiser of the mean logistic loss plus lam |w|^2 / 2 on clipped rows."""
    X = clip_norm(data.X, bound) / bound
    rows = X.shape[0]
    problem = ridge_problem(X, np.full(rows, 1 / rows), (data.y + 1) / 2, lam)
    return OutputBlock(name, minimise(problem, scale.distance).point, scale)


class OutputLogistic(ClassifierMixin, OutputModel):  # type: ignore[misc]  # sklearn is untyped
    """Private logistic regression: the minimiser plus noise of density exp(-(n lam eps/2)|b|).

    Guarantee: replacing one record changes the log density of the release by at most `epsilon`.
    Rows are clipped to `norm_bound` and divided by it; sparse rows stay sparse.
    Reference: [Chaudhuri2011] Algorithm 1; [Wang2018] Algorithm 1 step 1.
    Assumes: public row count, classes and norm bound. The solver's error is in the sensitivity.

    >>> X = np.array([[1.0, 0.0], [0.0, 1.0]] * 50)
    >>> model = OutputLogistic(epsilon=1.0, regularization=0.1).fit(X, [0, 1] * 50)
    >>> round(model.release_event().rate, 6)
    5.0
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        regularization: float = 0.003,
        *,
        norm_bound: float = 1.0,
        classes: Sequence[object] | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.regularization = regularization
        self.norm_bound = norm_bound
        self.classes = classes

    def claimed_epsilon(self, part: str = "data") -> float:  # noqa: ARG002 - one part only
        """The whole budget."""
        return positive("epsilon", self.epsilon)

    def _event(self, data: SignedRows) -> Event:
        return source_scale(self.epsilon, data.X.shape[0], self.regularization).event

    def _blocks(self, data: SignedRows) -> list[OutputBlock]:
        refuse_data_scaling(self.norm_bound)
        bound = positive("norm_bound", self.norm_bound)
        scale = source_scale(self.epsilon, data.X.shape[0], self.regularization)
        return [source_block("weights", data, scale, self.regularization, bound)]

    def fit(
        self,
        X: Rows,
        y: ArrayLike,
        *,
        rng: np.random.Generator | None = None,
        ledger: Spender | None = None,
        dataset: object = None,
    ) -> OutputLogistic:
        """Train and release. Noise comes from OS entropy unless `rng` is given; no seed is kept."""
        rows, labels = read_rows(X, "X"), np.asarray(y)
        self.classes_ = read_classes(self.classes, labels)
        data = SignedRows(rows, to_signs(labels, self.classes_))
        self._release(data, rng, ledger, dataset)
        self.n_features_in_ = rows.shape[1]
        return self

    @property
    def coef_(self) -> Floats:
        """The released weights for rows divided by the norm bound; shape (1, features)."""
        return np.asarray(self.release_)[None, :]

    def decision_function(self, X: Rows) -> Floats:
        """Scores above 0 for the positive class."""
        check_is_fitted(self, "release_")
        rows = read_rows(X, "X", self.n_features_in_)
        return np.asarray(clip_norm(rows, self.norm_bound) @ self.release_ / self.norm_bound)

    def predict_proba(self, X: Rows) -> Floats:
        """Probabilities of the negative and the positive class."""
        share = expit(self.decision_function(X))
        return np.column_stack([1 - share, share])

    def predict(self, X: Rows) -> Labels:
        """The likelier class of each row."""
        return np.asarray(self.classes_[(self.decision_function(X) > 0).astype(int)])
