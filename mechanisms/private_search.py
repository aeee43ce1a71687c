"""Hyper-parameters chosen on private data within the budget: random stopping."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.errors import InvalidParameter
from dpcheck.core.events.event import Event, RandomStopping
from dpcheck.core.events.guarantee import PureDP
from dpcheck.core.spending import Spender
from dpcheck.core.validate import positive
from dpcheck.mechanisms.common.data import Labels
from dpcheck.mechanisms.common.given import RandomState, read_random_state, refuse
from dpcheck.mechanisms.common.regularizers import Floats
from dpcheck.mechanisms.objective.estimator import PrivateClassifier
from dpcheck.mechanisms.plr import PLR

_SHAPE = 0.0  # the number of runs is logarithmic: the best run costs twice what one costs
_GRID = {"regularization": (1e-3, 1e-2, 1e-1, 1.0)}


class PrivateSearch(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # sklearn is untyped
    """Train with hyper-parameters drawn at random, a random number of times; release the best run.

    A run trains on one part of the rows with epsilon/2 and counts, with Laplace noise, how many rows of the
    other part it predicts right.

    Guarantee: parameters, model and score of the released run are together `epsilon`-DP under
    replacement. The parts share nobody, so a run is (epsilon/2)-DP; the number of runs follows the
    logarithmic law, so the best of them costs twice that.
    Reference: [Papernot2022] Corollary 3, and parallel composition for the two parts.
    Assumes: as the estimator; grid, classes and the mean number of runs are public; nobody sees how
    many runs there were, or how long they took.

    `estimator` (PLR by default) is a model of one dataset with `epsilon` and `classes`; its own
    epsilon is replaced. `grid` is as scikit-learn's, `runs` the mean number of runs, above 1.

    >>> import dpcheck
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, (600, 3))
    >>> search = PrivateSearch(epsilon=4.0, runs=5, random_state=0).fit(X, X[:, 0] > 0)
    >>> dpcheck.epsilon(search.release_event(), delta=0, adjacency="replace-one").upper <= 4.0
    True
    """

    def __init__(
        self,
        estimator: PrivateClassifier | None = None,
        grid: Mapping[str, Sequence[object]] | None = None,
        epsilon: float = 1.0,
        *,
        runs: float = 10.0,
        held_share: float = 0.25,
        split_seed: int = 0,
        classes: Sequence[object] | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.grid = grid
        self.epsilon = epsilon
        self.runs = runs
        self.held_share = held_share
        self.split_seed = split_seed
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
    ) -> PrivateSearch:
        """Release the best run; with a `ledger` all of it is spent on its `dataset` first."""
        refuse(others)
        try:
            rows, labels = validate_data(self, X, y, dtype=np.float64, accept_sparse="csr")
            check_classification_targets(labels)
        except ValueError as error:
            raise InvalidParameter(str(error), name="X") from None
        candidates = list(ParameterGrid(dict(_GRID if self.grid is None else self.grid)))
        stop, epsilon = self._stop(), self._epsilon_of_a_run()
        kept, held = self._split(len(labels))
        if ledger is not None:
            if dataset is None:
                raise InvalidParameter(
                    "a ledger needs to know which of its datasets is searched; pass dataset.",
                    name="dataset",
                )
            ledger.spend(dataset, self._event())
        noise = read_random_state(self.random_state) if rng is None else rng
        base = PLR() if self.estimator is None else self.estimator
        best = -math.inf
        for _ in range(_number_of_runs(stop, noise)):
            chosen = candidates[noise.integers(len(candidates))]
            model = clone(base).set_params(**chosen)
            model.set_params(epsilon=epsilon, classes=self.classes, random_state=None)
            model.fit(rows[kept], labels[kept], rng=noise)
            right = float((model.predict(rows[held]) == labels[held]).sum())
            score = right + float(noise.laplace(scale=1 / epsilon))
            if score > best:
                best, self.model_, self.best_params_ = score, model, chosen
        self.best_score_ = best / len(held)
        self.classes_ = self.model_.classes_
        self.event_ = self._event()
        return self

    def _epsilon_of_a_run(self) -> float:
        return positive("epsilon", self.epsilon) / (2 + _SHAPE) * (1 - 1e-12)

    def _event(self) -> Event:
        one = PureDP(self._epsilon_of_a_run(), Adjacency.REPLACE_ONE)
        return RandomStopping(one, _SHAPE, self._stop())

    def _stop(self) -> float:
        """The parameter of the logarithmic law whose mean is `runs`."""
        wanted = positive("runs", self.runs)
        if not 1 < wanted < 1e6:
            raise InvalidParameter(
                f"runs is the mean number of runs, above 1 and below a million, got {wanted:g}.",
                name="runs",
            )
        # With g = e^-x the mean is (e^x - 1)/x, which rises from 1.
        return math.exp(-float(brentq(lambda x: math.expm1(x) / x - wanted, 1e-12, 30.0)))

    def _split(self, number: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Rows to train on and rows to score on, by a public seed."""
        share = positive("held_share", self.held_share)
        held = max(1, round(share * number))
        if not share < 1 or held >= number:
            raise InvalidParameter(
                f"held_share must leave rows to train on, got {share:g} of {number} rows; if there is "
                "1 sample only, there is nothing to choose by.",
                name="held_share",
            )
        order = np.random.default_rng(self.split_seed).permutation(number)
        return order[held:], order[:held]

    def release_event(self, part: str = "data") -> Event:  # noqa: ARG002 - one part only
        """Everything that was released about the data."""
        check_is_fitted(self, "model_")
        return self.event_

    def claimed_epsilon(self, part: str = "data") -> float:  # noqa: ARG002 - one part only
        """The whole budget."""
        return positive("epsilon", self.epsilon)

    def __getstate__(self) -> dict[str, object]:
        """What a pickle holds: of a fitted model no seed, which would undo its noise."""
        state: dict[str, object] = super().__getstate__()
        return {**state, "random_state": None} if "model_" in state else state

    def decision_function(self, X: ArrayLike) -> Floats:
        """Scores of the released run, above 0 for the positive class."""
        return self._checked(X).decision_function(X)

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Probabilities of the released run."""
        return self._checked(X).predict_proba(X)

    def predict(self, X: ArrayLike) -> Labels:
        """Labels of the released run."""
        return self._checked(X).predict(X)

    def _checked(self, X: ArrayLike) -> PrivateClassifier:
        check_is_fitted(self, "model_")
        try:
            validate_data(self, X, reset=False, dtype=np.float64, accept_sparse="csr")
        except ValueError as error:
            raise InvalidParameter(str(error), name="X") from None
        model: PrivateClassifier = self.model_
        return model

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        tags.classifier_tags.multi_class = False
        tags.non_deterministic = self.random_state is None
        tags.input_tags.sparse = True
        return tags


def _number_of_runs(stop: float, rng: np.random.Generator) -> int:
    """P(k) = (1 - g)^k / (k log(1/g)), k from 1."""
    return int(rng.logseries(1 - stop))
