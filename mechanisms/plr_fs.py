"""PLR-FS: one private logistic regression per group of features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from dpcheck.core.validate import positive
from dpcheck.mechanisms.common.given import RandomState
from dpcheck.mechanisms.common.regularizers import Floats, read_center
from dpcheck.mechanisms.objective.budget import PRINTED, PerGroup, noised, printed_guo, read_choices
from dpcheck.mechanisms.objective.design import ReleaseDesign
from dpcheck.mechanisms.objective.estimator import PrivateClassifier
from dpcheck.mechanisms.objective.groups import GroupsSpec, read_groups
from dpcheck.mechanisms.objective.stacking import FeatureBlocks, Where, block_margins


class PLRFS(PrivateClassifier):
    """Logistic regressions on K groups of features of the same people, rows of group k scaled to
    q_k.

    Guarantee (corrected): all K weight vectors together are epsilon-DP under replacement. Every
    record is in every block, so the blocks' costs add up; they sum to at most epsilon because sum
    q_k = 1. variant="printed" sets eps^(k) = eps at line 6, which spends sum_k F*(eps, q_k, n
    lam_k): above epsilon when eps' > 0 (line 6 is reached) and eps n lam_k < 2 q_k for some k.
    Reference: [Guo2018] Algorithm 3; corrected as [Yao2019] Algorithm 3 step 7.
    Assumes: as PLR; groups and importances are public.

    The paper leaves open how the K models vote; here the margin is the mean of the blocks' margins.
    MajorityVote and WeightedVote are the votes of [Yao2019] section 4.

    >>> import numpy as np
    >>> X, y = np.eye(4).repeat(25, axis=0), np.arange(100) % 2
    >>> event = PLRFS(1.0, 0.1, groups=2).fit(X, y).release_event()
    >>> [round(e.norm_bound, 2) for e in event.events]
    [0.5, 0.5]
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        regularization: PerGroup = 0.01,
        *,
        groups: GroupsSpec | None = None,
        importances: ArrayLike | None = None,
        feature_importances: ArrayLike | None = None,
        norm_bound: PerGroup = 1.0,
        center: ArrayLike | None = None,
        calibration: str = "papers",
        variant: str = "corrected",
        split_seed: int = 0,
        classes: Sequence[object] | None = None,
        approximate_minima: float = 0.0,
        tolerance: float = 1e-9,
        snap: float | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.epsilon = epsilon
        self.regularization = regularization
        self.groups = groups
        self.importances = importances
        self.feature_importances = feature_importances
        self.norm_bound = norm_bound
        self.center = center
        self.calibration = calibration
        self.variant = variant
        self.split_seed = split_seed
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
        groups = read_groups(
            features, self.groups, self.importances, self.feature_importances, self.split_seed
        )
        blocks = FeatureBlocks.read(groups, self.norm_bound, self.regularization)
        n = rows["data"]
        noise = (
            printed_guo(self.claimed_epsilon(), blocks.family(n))
            if self.variant == PRINTED
            else noised(self.epsilon, blocks.family(n), self.calibration, self.approximate_minima)
        )
        where = Where("data", "all", np.arange(n))
        center = read_center(self.center, features)
        return ReleaseDesign(blocks.blocks("block", where, noise, center=center))

    def block_margins(self, X: Floats) -> Floats:
        """The margin of each row under each block, shape (n, blocks)."""
        return block_margins(self.design_, self.release_, np.asarray(X, dtype=float), "block")

    def _scores(self, X: Floats) -> Floats:
        return np.asarray(self.block_margins(X).mean(axis=1))
