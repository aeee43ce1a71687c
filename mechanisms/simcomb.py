"""SimComb: a private source model as the centre of a private target model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dpcheck.accounting.calibrate_objective import ObjectiveFamily
from dpcheck.core.validate import positive
from dpcheck.mechanisms.common.given import RandomState
from dpcheck.mechanisms.common.regularizers import Floats, share
from dpcheck.mechanisms.objective.budget import noised, read_bounds, read_choices
from dpcheck.mechanisms.objective.design import Block, ReleaseDesign
from dpcheck.mechanisms.objective.estimator import TransferClassifier


class SimComb(TransferClassifier):
    """PLR on the source, then PLR on the target with the released source model as centre.

    The target's regulariser is eta/2 |w|^2 + (1-eta)/2 |w - w_source|^2.
    Guarantee: epsilon_source-DP for the source and epsilon_target-DP for the target, under
    replacement: the target sees the source only through its release.
    Reference: [Guo2018] Algorithm 2. The printed variant is the same algorithm.
    Assumes: as PLR for each part.
    """

    def __init__(
        self,
        epsilon_source: float = 1.0,
        epsilon_target: float = 1.0,
        regularization_source: float = 0.01,
        regularization_target: float = 0.01,
        *,
        eta: float = 0.0,
        norm_bound: float = 1.0,
        calibration: str = "papers",
        variant: str = "corrected",
        classes: Sequence[object] | None = None,
        approximate_minima: float = 0.0,
        tolerance: float = 1e-9,
        snap: float | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.epsilon_source = epsilon_source
        self.epsilon_target = epsilon_target
        self.regularization_source = regularization_source
        self.regularization_target = regularization_target
        self.eta = eta
        self.norm_bound = norm_bound
        self.calibration = calibration
        self.variant = variant
        self.classes = classes
        self.approximate_minima = approximate_minima
        self.tolerance = tolerance
        self.snap = snap
        self.random_state = random_state

    def claimed_epsilon(self, part: str) -> float:
        """The part's budget."""
        name = f"epsilon_{part}"
        return positive(name, getattr(self, name))

    def _design(self, rows: Mapping[str, int], features: int) -> ReleaseDesign:
        read_choices(self.variant, self.calibration)
        own_share = share("eta", self.eta)
        (clip,) = read_bounds(self.norm_bound, 1)
        blocks = []
        for part in self.parts:
            name = f"regularization_{part}"
            family = ObjectiveFamily(rows[part], (positive(name, getattr(self, name)),), (1.0,))
            ((event, cover),) = noised(
                self.claimed_epsilon(part), family, self.calibration, self.approximate_minima
            )
            blocks.append(
                Block(
                    part,
                    part,
                    "all",
                    np.arange(rows[part]),
                    event,
                    np.arange(features),
                    clip,
                    center="source" if part == "target" else None,
                    center_scale=1 - own_share,
                    cover=cover,
                )
            )
        return ReleaseDesign(tuple(blocks))

    def _scores(self, X: Floats) -> Floats:
        return np.asarray(self.design_.block("target").low_features(X) @ self._weights("target"))
