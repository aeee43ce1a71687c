"""PLR with Gaussian noise: less of it, for a delta above 0."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from dpcheck.accounting.calibrate import calibrate_noise
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.budget import Budget
from dpcheck.core.events.training import GaussianObjectivePerturbation
from dpcheck.core.validate import positive, rate
from dpcheck.mechanisms.common.given import RandomState
from dpcheck.mechanisms.common.regularizers import Floats, Ridge, read_center
from dpcheck.mechanisms.objective.budget import read_bounds
from dpcheck.mechanisms.objective.design import Block, ReleaseDesign
from dpcheck.mechanisms.objective.estimator import PrivateClassifier


class GaussianPLR(PrivateClassifier):
    """Private logistic regression: the minimiser of the regularised loss plus a Gaussian linear term.

    Guarantee: the released weights are (`epsilon`, `delta`)-DP when one record is replaced. Rows are
    clipped to `norm_bound` and divided by it. There is no intercept: append a constant column. With few
    rows `regularization` is raised to 1/(4 rows (e^(epsilon/2) - 1)); the event says what was used.
    Reference: [Kifer2012] for the mechanism; the noise is the least that the certified bound of
    `GaussianObjectivePerturbation` allows.
    Assumes: the exact minimiser (the solver stops within `tolerance` noise scales); row count, classes
    and norm bound are public.

    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0]] * 500)
    >>> model = GaussianPLR(epsilon=1.0, delta=1e-5, regularization=0.1).fit(X, [0, 1] * 500)
    >>> round(model.release_event().noise_multiplier, 2)
    7.46
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        regularization: float = 0.01,
        *,
        norm_bound: float = 1.0,
        center: ArrayLike | None = None,
        classes: Sequence[object] | None = None,
        tolerance: float = 1e-9,
        snap: float | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.regularization = regularization
        self.norm_bound = norm_bound
        self.center = center
        self.classes = classes
        self.tolerance = tolerance
        self.snap = snap
        self.random_state = random_state

    def claimed_epsilon(self, part: str = "data") -> float:  # noqa: ARG002 - one part only
        """The epsilon of the budget, at its delta."""
        return positive("epsilon", self.epsilon)

    def _design(self, rows: Mapping[str, int], features: int) -> ReleaseDesign:
        (clip,) = read_bounds(self.norm_bound, 1)
        budget = Budget(positive("epsilon", self.epsilon), rate("delta", self.delta))
        event = _calibrated(budget, rows["data"], positive("regularization", self.regularization))
        center = read_center(self.center, features)
        block = Block(
            "weights",
            "data",
            "all",
            np.arange(rows["data"]),
            event,
            np.arange(features),
            clip,
            regularizer=Ridge() if center is None else Ridge(center),
        )
        return ReleaseDesign((block,))

    @property
    def coef_(self) -> Floats:
        """The released weights, for rows already divided by the norm bound; shape (1, features)."""
        return np.asarray(self.release_)[None, :]

    def _scores(self, X: Floats) -> Floats:
        return np.asarray(self.design_.blocks[0].low_features(X) @ self.release_)


@lru_cache(maxsize=64)
def _calibrated(budget: Budget, rows: int, lam: float) -> GaussianObjectivePerturbation:
    """The least noise within the budget; regularisation is raised until determinants cost at most half of it.

    They cost at most log(1 + 1/(4 m)), m = rows * lam.
    """
    lam = max(lam, 1 / (4 * rows * math.expm1(budget.epsilon / 2)))

    def event(noise: float) -> GaussianObjectivePerturbation:
        return GaussianObjectivePerturbation(noise, rows, lam)

    return event(calibrate_noise(event, budget, adjacency=Adjacency.REPLACE_ONE).value)
