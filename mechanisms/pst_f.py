"""PST-F: private stacking of models of different features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from numpy.typing import ArrayLike

from dpcheck.core.validate import positive
from dpcheck.mechanisms.common.given import RandomState
from dpcheck.mechanisms.common.regularizers import Floats, read_center
from dpcheck.mechanisms.objective.budget import PRINTED, PerGroup, noised, printed_yao, read_choices
from dpcheck.mechanisms.objective.design import ReleaseDesign
from dpcheck.mechanisms.objective.estimator import PrivateClassifier
from dpcheck.mechanisms.objective.groups import GroupsSpec, read_groups, split_rows
from dpcheck.mechanisms.objective.stacking import (
    FeatureBlocks,
    Where,
    read_meta,
    stacked_scores,
    stacking_layer,
)


class PSTF(PrivateClassifier):
    """K logistic regressions on K groups of features of the low rows, stacked by one on the high
    rows.

    Guarantee (corrected): epsilon-DP under replacement: the blocks see the same low rows and sum
    to at most epsilon, the stacking layer sees other people. variant="printed" leaves Delta out of
    step 12, as its index was: above epsilon where the papers' branch 2 (eps' <= 0) needs it.
    Reference: [Yao2019] Algorithm 3, Theorem 4.
    Assumes: as PLR; groups, importances and the split by index are public. Importances computed
    from the same data, such as PCA variances, are not accounted ([Yao2019] footnote 4).

    groups=5, which None stands for where there are as many features, splits them at random
    (PST-F(U)); feature_importances= sorts them into groups with q_k the group's share (PST-F(W));
    groups=[[...], ...] with importances= says it outright.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((400, 10)) / 4
    >>> model = PSTF(2.0, 0.01, groups=2).fit(X, X[:, 0] > 0)
    >>> [block.name for block in model.design_.blocks]
    ['low0', 'low1', 'high']
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        regularization: PerGroup = 0.01,
        *,
        groups: GroupsSpec | None = None,
        importances: ArrayLike | None = None,
        feature_importances: ArrayLike | None = None,
        high_regularization: float | None = None,
        high_share: float = 0.5,
        meta_features: str = "centred",
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
        self.high_regularization = high_regularization
        self.high_share = high_share
        self.meta_features = meta_features
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
        centred = read_meta(self.meta_features, self.variant)
        groups = read_groups(
            features, self.groups, self.importances, self.feature_importances, self.split_seed
        )
        blocks = FeatureBlocks.read(groups, self.norm_bound, self.regularization)
        low, high = split_rows(rows["data"], self.high_share, self.split_seed)
        family = blocks.family(len(low))
        noise = (
            printed_yao(self.claimed_epsilon(), family)
            if self.variant == PRINTED
            else noised(self.epsilon, family, self.calibration, self.approximate_minima)
        )
        center = read_center(self.center, features)
        layer = blocks.blocks("low", Where("data", "low", low), noise, center=center)
        lam = self.high_regularization
        top = stacking_layer(
            Where("data", "high", high),
            layer,
            self.epsilon,
            blocks.regularizations[0] if lam is None else lam,
            calibration=self.calibration,
            approximate_minima=self.approximate_minima,
            centred=centred,
        )
        return ReleaseDesign((*layer, top))

    def _scores(self, X: Floats) -> Floats:
        return stacked_scores(self.design_, self.release_, X)
