"""PLR: logistic regression by objective perturbation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from dpcheck.accounting.calibrate_objective import ObjectiveFamily
from dpcheck.core.errors import InvalidParameter
from dpcheck.core.validate import positive
from dpcheck.mechanisms.common.given import RandomState
from dpcheck.mechanisms.common.regularizers import (
    Floats,
    Regularizer,
    mixture,
    read_center,
    read_regularizer,
)
from dpcheck.mechanisms.objective.budget import noised, read_bounds, read_choices
from dpcheck.mechanisms.objective.design import Block, ReleaseDesign
from dpcheck.mechanisms.objective.estimator import PrivateClassifier


class PLR(PrivateClassifier):
    """Private logistic regression: the minimiser of the regularised loss plus a random linear term.

    Guarantee: replacing one record changes the log density of the released weights by at most
    `epsilon`. Rows are clipped to `norm_bound` and divided by it. calibration="papers" spends the
    budget by the papers' formula, "tight" by the exact epsilon: the same guarantee, less noise.
    There is no intercept: append a constant column, which is then regularised like the rest.
    Reference: [Chaudhuri2011] Algorithm 2; [Guo2018] and [Yao2019] Algorithm 1.
    Assumes: the exact minimiser (the solver stops within `tolerance` noise scales); row count,
    classes and norm bound are public.

    variant="printed" is the same algorithm: the two slips of the print, the plus sign in the noise
    density and the scaling by the data's own largest norm, cannot be run or are refused.

    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0]] * 50)
    >>> model = PLR(epsilon=1.0, regularization=0.1).fit(X, [0, 1] * 50)
    >>> round(model.release_event().noise_epsilon, 6)
    0.950615
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        regularization: float = 0.01,
        *,
        norm_bound: float = 1.0,
        regularizer: object = None,
        center: ArrayLike | None = None,
        eta: float = 0.0,
        calibration: str = "papers",
        variant: str = "corrected",
        classes: Sequence[object] | None = None,
        approximate_minima: float = 0.0,
        tolerance: float = 1e-9,
        snap: float | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.epsilon = epsilon
        self.regularization = regularization
        self.norm_bound = norm_bound
        self.regularizer = regularizer
        self.center = center
        self.eta = eta
        self.calibration = calibration
        self.variant = variant
        self.classes = classes
        self.approximate_minima = approximate_minima
        self.tolerance = tolerance
        self.snap = snap
        self.random_state = random_state

    def claimed_epsilon(self, part: str = "data") -> float:  # noqa: ARG002 - one part only
        """The whole budget."""
        return positive("epsilon", self.epsilon)

    def _design(self, rows: Mapping[str, int], features: int) -> ReleaseDesign:
        read_choices(self.variant, self.calibration)
        (clip,) = read_bounds(self.norm_bound, 1)
        lam = positive("regularization", self.regularization)
        family = ObjectiveFamily(rows["data"], (lam,), (1.0,))
        ((event, cover),) = noised(self.epsilon, family, self.calibration, self.approximate_minima)
        block = Block(
            "weights",
            "data",
            "all",
            np.arange(rows["data"]),
            event,
            np.arange(features),
            clip,
            regularizer=self._read_regularizer(features),
            cover=cover,
        )
        return ReleaseDesign((block,))

    def _read_regularizer(self, features: int) -> Regularizer:
        center = read_center(self.center, features)
        if center is None:
            return read_regularizer(self.regularizer)
        if self.regularizer not in (None, "ridge"):
            raise InvalidParameter(
                "center belongs to the ridge; put it into your own regularizer.", name="center"
            )
        return mixture(self.eta, center)

    @property
    def coef_(self) -> Floats:
        """The released weights, for rows already divided by the norm bound; shape (1, features)."""
        return np.asarray(self.release_)[None, :]

    def _scores(self, X: Floats) -> Floats:
        return np.asarray(self.design_.blocks[0].low_features(X) @ self.release_)
