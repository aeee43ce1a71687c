"""Several classes by private models of two: one class against the rest, on a share of the budget each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from dpcheck.core.errors import InvalidParameter
from dpcheck.core.events.event import Event
from dpcheck.core.spending import Spender
from dpcheck.core.validate import positive
from dpcheck.mechanisms.common.data import Labels
from dpcheck.mechanisms.common.given import RandomState, read_random_state, refuse
from dpcheck.mechanisms.common.regularizers import Floats
from dpcheck.mechanisms.objective.estimator import PrivateClassifier
from dpcheck.mechanisms.plr import PLR


class PrivateOneVsRest(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # sklearn is untyped
    """K private models, each of one class against all others, on epsilon/K.

    Guarantee: all K models together are `epsilon`-DP under replacement: every record trains all of
    them, so their costs add up.
    Reference: sequential composition, [Dwork2014] Theorem 3.16.
    Assumes: as the estimator; the classes are public: give them, or what occurs in y is taken for it.

    `estimator` (PLR by default) is a model of one dataset with `epsilon` and `classes`; its own
    epsilon is replaced. scikit-learn's OneVsRestClassifier would spend K times the budget.
    """

    def __init__(
        self,
        estimator: PrivateClassifier | None = None,
        epsilon: float = 1.0,
        *,
        classes: Sequence[object] | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.epsilon = epsilon
        self.classes = classes
        self.random_state = random_state

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        rng: np.random.Generator | None = None,
        ledger: Spender | None = None,
        dataset: object = None,
        **others: object,
    ) -> PrivateOneVsRest:
        """Train and release all models; with a `ledger` each is spent on its `dataset` first."""
        refuse(others)
        try:
            rows, labels = validate_data(self, X, y, dtype=np.float64, accept_sparse="csr")
            check_classification_targets(labels)
        except ValueError as error:
            raise InvalidParameter(str(error), name="X") from None
        known = np.unique(labels) if self.classes is None else np.asarray(self.classes)
        if len(known) < 2 or len(np.unique(known)) != len(known):
            raise InvalidParameter(
                "two different classes are needed at least; if y holds 1 class only, pass classes=(...), "
                "which must be public.",
                name="classes",
            )
        if not np.isin(labels, known).all():
            raise InvalidParameter("y holds a label that is not among classes.", name="y")
        noise = read_random_state(self.random_state) if rng is None else rng
        share = positive("epsilon", self.epsilon) / len(known) * (1 - 1e-12)
        base = PLR() if self.estimator is None else self.estimator
        self.classes_ = known
        self.models_ = [
            clone(base)
            .set_params(epsilon=share, classes=(0, 1), random_state=None)
            .fit(rows, (labels == one).astype(int), rng=noise, ledger=ledger, dataset=dataset)
            for one in known
        ]
        return self

    def release_event(self, part: str = "data") -> Event:
        """Everything that was released about the data."""
        check_is_fitted(self, "models_")
        events: list[Event] = [model.release_event(part) for model in self.models_]
        return reduce(add, events)

    def claimed_epsilon(self, part: str = "data") -> float:  # noqa: ARG002 - one part only
        """The whole budget."""
        return positive("epsilon", self.epsilon)

    def __getstate__(self) -> dict[str, object]:
        """What a pickle holds: of a fitted model no seed, which would undo its noise."""
        state: dict[str, object] = super().__getstate__()
        return {**state, "random_state": None} if "models_" in state else state

    def decision_function(self, X: ArrayLike) -> Floats:
        """Scores of every class, shape (n, classes); for two classes one, above 0 for the second."""
        check_is_fitted(self, "models_")
        scores = np.column_stack([model.decision_function(X) for model in self._checked(X)])
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def _checked(self, X: ArrayLike) -> list[PrivateClassifier]:
        try:
            validate_data(self, X, reset=False, dtype=np.float64, accept_sparse="csr")
        except ValueError as error:
            raise InvalidParameter(str(error), name="X") from None
        return list(self.models_)

    def predict(self, X: ArrayLike) -> Labels:
        """The class with the largest score."""
        scores = self.decision_function(X)
        best = scores > 0 if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[best.astype(int)])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        tags.non_deterministic = self.random_state is None
        tags.input_tags.sparse = True
        return tags
