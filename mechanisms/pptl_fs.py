"""PPTL-FS: private transfer by feature groups and stacking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from dpcheck.core.validate import positive
from dpcheck.mechanisms.common.given import RandomState
from dpcheck.mechanisms.common.regularizers import Floats, share
from dpcheck.mechanisms.objective.budget import (
    PRINTED,
    Noised,
    PerGroup,
    noised,
    printed_guo,
    read_choices,
)
from dpcheck.mechanisms.objective.design import ReleaseDesign
from dpcheck.mechanisms.objective.estimator import TransferClassifier
from dpcheck.mechanisms.objective.groups import GroupsSpec, read_groups, split_rows
from dpcheck.mechanisms.objective.stacking import (
    FeatureBlocks,
    Where,
    read_meta,
    stacked_scores,
    stacking_layer,
)


class PPTLFS(TransferClassifier):
    """PLR-FS on the source; PLR-FS on half of the target around it; PLR on the other half to stack.

    Guarantee (corrected): epsilon_source-DP for the source, epsilon_target-DP for the target, under
    replacement: the target's halves are split by index, so a record is in one of them.
    variant="printed" sets eps^(k) = eps in PLR-FS, see PLRFS.
    Reference: [Guo2018] Algorithm 4, Theorem 5.
    Assumes: as PLRFS for each part. "Predicted labels" of step 4 are read as probabilities, as in
    [Yao2019] Algorithm 3 step 14.

    groups=5, or None, is PPTL-FS(R), feature_importances= PPTL-FS(W).
    """

    def __init__(
        self,
        epsilon_source: float = 1.0,
        epsilon_target: float = 1.0,
        regularization_source: PerGroup = 0.01,
        regularization_target: PerGroup = 0.01,
        *,
        groups: GroupsSpec | None = None,
        importances: ArrayLike | None = None,
        feature_importances: ArrayLike | None = None,
        eta: float = 0.0,
        high_regularization: float | None = None,
        high_share: float = 0.5,
        meta_features: str = "centred",
        norm_bound: PerGroup = 1.0,
        calibration: str = "papers",
        variant: str = "corrected",
        split_seed: int = 0,
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
        self.groups = groups
        self.importances = importances
        self.feature_importances = feature_importances
        self.eta = eta
        self.high_regularization = high_regularization
        self.high_share = high_share
        self.meta_features = meta_features
        self.norm_bound = norm_bound
        self.calibration = calibration
        self.variant = variant
        self.split_seed = split_seed
        self.classes = classes
        self.approximate_minima = approximate_minima
        self.tolerance = tolerance
        self.snap = snap
        self.random_state = random_state

    def claimed_epsilon(self, part: str) -> float:
        """The part's budget."""
        name = f"epsilon_{part}"
        return positive(name, getattr(self, name))

    def _noise(self, part: str, blocks: FeatureBlocks, rows: int) -> Sequence[Noised]:
        epsilon = self.claimed_epsilon(part)
        if self.variant == PRINTED:
            return printed_guo(epsilon, blocks.family(rows))
        return noised(epsilon, blocks.family(rows), self.calibration, self.approximate_minima)

    def _design(self, rows: Mapping[str, int], features: int) -> ReleaseDesign:
        read_choices(self.variant, self.calibration)
        centred = read_meta(self.meta_features, self.variant)
        own_share = share("eta", self.eta)
        groups = read_groups(
            features, self.groups, self.importances, self.feature_importances, self.split_seed
        )
        blocks = {
            part: FeatureBlocks.read(
                groups, self.norm_bound, getattr(self, name := f"regularization_{part}"), name
            )
            for part in self.parts
        }
        source = blocks["source"].blocks(
            "source",
            Where("source", "all", np.arange(rows["source"])),
            self._noise("source", blocks["source"], rows["source"]),
        )
        low, high = split_rows(rows["target"], self.high_share, self.split_seed)
        target = blocks["target"].blocks(
            "target",
            Where("target", "low", low),
            self._noise("target", blocks["target"], len(low)),
            [(block.name, 1 - own_share) for block in source],
        )
        lam = self.high_regularization
        top = stacking_layer(
            Where("target", "high", high),
            target,
            self.claimed_epsilon("target"),
            blocks["target"].regularizations[0] if lam is None else lam,
            calibration=self.calibration,
            approximate_minima=self.approximate_minima,
            centred=centred,
        )
        return ReleaseDesign((*source, *target, top))

    def _scores(self, X: Floats) -> Floats:
        return stacked_scores(self.design_, self.release_, X)
