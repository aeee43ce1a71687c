"""Logistic regression by output perturbation: the source models of DPHTL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from dpcheck.core.errors import InvalidParameter
from dpcheck.core.events.event import Event
from dpcheck.core.events.training import OutputPerturbation
from dpcheck.core.spending import Spender
from dpcheck.core.validate import positive
from dpcheck.mechanisms.common.data import Labels, read_classes, refuse_data_scaling, to_signs
from dpcheck.mechanisms.common.given import RandomState, read_random_state, refuse
from dpcheck.mechanisms.common.regularizers import Floats
from dpcheck.mechanisms.output.logistic import minimise, ridge_problem
from dpcheck.mechanisms.output.model import OutputModel
from dpcheck.mechanisms.output.noise import SOLVER_SHARE, OutputBlock, Scale, calibrated
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


def source_scale(
    epsilon: float,
    shape: tuple[int, int],
    lam: float,
    *,
    longest: float = 1.0,
    printed_rate: bool = False,
) -> Scale:
    """The noise of a source model on rows of norm at most `longest`.

    One row changes the gradient of the mean loss by at most 2 longest/n (a label may flip, so the
    two terms add up even for rows without negative entries) and the objective is lam-strongly
    convex: the minimiser moves by at most 2 longest/(n lam). The printed rate n lam eps / 2 is the
    one for rows of norm 1, whatever the rows are.
    Reference: [Chaudhuri2011] Corollary 8.
    """
    rows, width = shape
    budget, modulus = positive("epsilon", epsilon), rows * positive("regularization", lam)
    right = calibrated(budget, 2 * longest / modulus, width)
    if not printed_rate:
        return right
    paper = calibrated(budget, 2 / modulus, width)
    sensitivity = 2 * longest / modulus * (1 + SOLVER_SHARE)
    event = OutputPerturbation(paper.rate, sensitivity, dimension=width)
    return Scale(paper.rate, event, paper.distance)


def source_block(name: str, X: Rows, y: Floats, scale: Scale, lam: float) -> OutputBlock:
    """The minimiser of the mean logistic loss plus lam |w|^2 / 2 on rows that were clipped."""
    rows = X.shape[0]
    problem = ridge_problem(X, np.full(rows, 1 / rows), (y + 1) / 2, lam)
    return OutputBlock(name, minimise(problem, scale.distance).point, scale)


class OutputLogistic(ClassifierMixin, OutputModel[SignedRows]):  # type: ignore[misc]  # sklearn is untyped
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
        random_state: RandomState = None,
    ) -> None:
        self.epsilon = epsilon
        self.regularization = regularization
        self.norm_bound = norm_bound
        self.classes = classes
        self.random_state = random_state

    def claimed_epsilon(self, part: str = "data") -> float:  # noqa: ARG002 - one part only
        """The whole budget."""
        return positive("epsilon", self.epsilon)

    def _event(self, data: SignedRows) -> Event:
        return source_scale(self.epsilon, data.X.shape, self.regularization).event

    def _blocks(self, data: SignedRows) -> list[OutputBlock]:
        refuse_data_scaling(self.norm_bound)
        bound = positive("norm_bound", self.norm_bound)
        scale = source_scale(self.epsilon, data.X.shape, self.regularization)
        X = clip_norm(data.X, bound) / bound
        return [source_block("weights", X, data.y, scale, self.regularization)]

    def fit(
        self,
        X: Rows,
        y: ArrayLike,
        *,
        rng: np.random.Generator | None = None,
        ledger: Spender | None = None,
        dataset: object = None,
        **others: object,
    ) -> OutputLogistic:
        """Train and release. Noise comes from OS entropy unless `rng` or `random_state` is given."""
        refuse(others)
        try:
            rows, labels = validate_data(self, X, y, dtype=np.float64, accept_sparse="csr")
            check_classification_targets(labels)
        except ValueError as error:
            raise InvalidParameter(str(error), name="X") from None
        self.classes_ = read_classes(self.classes, labels)
        data = SignedRows(rows, to_signs(labels, self.classes_))
        noise = read_random_state(self.random_state) if rng is None else rng
        self._release(data, noise, ledger, dataset)
        return self

    def __getstate__(self) -> dict[str, object]:
        """What a pickle holds: of a fitted model no seed, which would undo its noise."""
        state: dict[str, object] = super().__getstate__()
        return {**state, "random_state": None} if "release_" in state else state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True
        tags.non_deterministic = self.random_state is None
        tags.input_tags.sparse = True
        return tags

    @property
    def coef_(self) -> Floats:
        """The released weights for rows divided by the norm bound; shape (1, features)."""
        return np.asarray(self.release_)[None, :]

    def decision_function(self, X: Rows) -> Floats:
        """Scores above 0 for the positive class."""
        check_is_fitted(self, "release_")
        try:
            rows = validate_data(self, X, reset=False, dtype=np.float64, accept_sparse="csr")
        except ValueError as error:
            raise InvalidParameter(str(error), name="X") from None
        return np.asarray(clip_norm(rows, self.norm_bound) @ self.release_ / self.norm_bound)

    def predict_proba(self, X: Rows) -> Floats:
        """Probabilities of the negative and the positive class."""
        share = expit(self.decision_function(X))
        return np.column_stack([1 - share, share])

    def predict(self, X: Rows) -> Labels:
        """The likelier class of each row."""
        positive_side = self.decision_function(X) > 0
        return np.asarray(self.classes_[positive_side.astype(int)])
