"""SourceD and Direct: the two ends a transfer algorithm is compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from dpcheck.accounting.calibrate_objective import ObjectiveFamily
from dpcheck.core.validate import positive
from dpcheck.mechanisms.common.given import RandomState
from dpcheck.mechanisms.common.regularizers import Floats
from dpcheck.mechanisms.objective.budget import noised, read_bounds, read_choices
from dpcheck.mechanisms.objective.design import Block, ReleaseDesign
from dpcheck.mechanisms.objective.estimator import TransferClassifier


class _OnePart(TransferClassifier):
    """PLR on one of the two parts; the other is not looked at."""

    def __init__(
        self,
        epsilon: float = 1.0,
        regularization: float = 0.01,
        *,
        norm_bound: float = 1.0,
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
        self.calibration = calibration
        self.variant = variant
        self.classes = classes
        self.approximate_minima = approximate_minima
        self.tolerance = tolerance
        self.snap = snap
        self.random_state = random_state

    def claimed_epsilon(self, part: str = "") -> float:  # noqa: ARG002 - one part only
        """The whole budget."""
        return positive("epsilon", self.epsilon)

    def _design(self, rows: Mapping[str, int], features: int) -> ReleaseDesign:
        read_choices(self.variant, self.calibration)
        (part,) = self.parts
        (clip,) = read_bounds(self.norm_bound, 1)
        lam = positive("regularization", self.regularization)
        ((event, cover),) = noised(
            self.epsilon,
            ObjectiveFamily(rows[part], (lam,), (1.0,)),
            self.calibration,
            self.approximate_minima,
        )
        block = Block(
            part, part, "all", np.arange(rows[part]), event, np.arange(features), clip, cover=cover
        )
        return ReleaseDesign((block,))

    def _scores(self, X: Floats) -> Floats:
        return np.asarray(self.design_.blocks[0].low_features(X) @ self.release_)


class SourceD(_OnePart):
    """The private source model used on the target as it is.

    Guarantee: epsilon-DP for the source; nothing of the target is released.
    Reference: [Guo2018] section 4.2.
    """

    parts: ClassVar[tuple[str, ...]] = ("source",)


class Direct(_OnePart):
    """A private model of the target alone.

    Guarantee: epsilon-DP for the target; nothing of the source is released.
    Reference: [Guo2018] section 4.2.
    """

    parts: ClassVar[tuple[str, ...]] = ("target",)
