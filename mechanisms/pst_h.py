"""PST-H: private stacking with hypothesis transfer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from dpcheck.accounting.calibrate_objective import ObjectiveFamily
from dpcheck.core.errors import InvalidParameter
from dpcheck.core.validate import positive
from dpcheck.mechanisms.common.given import RandomState
from dpcheck.mechanisms.common.regularizers import Floats
from dpcheck.mechanisms.objective.budget import (
    PAPERS,
    PRINTED,
    PerGroup,
    noised,
    noised_apart,
    printed_yao,
    read_choices,
)
from dpcheck.mechanisms.objective.design import Block, ReleaseDesign
from dpcheck.mechanisms.objective.estimator import TransferClassifier
from dpcheck.mechanisms.objective.groups import GroupsSpec, read_groups, split_rows
from dpcheck.mechanisms.objective.stacking import (
    FeatureBlocks,
    Where,
    read_meta,
    stacked_scores,
    stacking_layer,
)


class PSTH(TransferClassifier):
    """PLR on each feature group of the source, then PST-F on the target around those models.

    Guarantee (corrected): epsilon_source-DP for the source, epsilon_target-DP for the target, under
    replacement. source_blocks="plr" gives each of the K source blocks epsilon_source/K, because
    every record is in all of them; "plr-fs" scales block k to q_k and shares one noise parameter.
    variant="printed" gives every source block the full epsilon_source, which spends up to K times
    that, and leaves Delta out of the target's step 12 (see PSTF).
    Reference: [Yao2019] Algorithm 4, Corollary 6.
    Assumes: as PSTF for the target and PLR for each source block.

    A source block trained on rows of norm 1 and a target block on rows of norm q_k differ in unit;
    the corrected variant divides the centre by q_k, which is post-processing. The print does not.
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
        source_blocks: str = "plr",
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
        self.source_blocks = source_blocks
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

    def _source(self, blocks: FeatureBlocks, rows: int) -> tuple[Block, ...]:
        where = Where("source", "all", np.arange(rows))
        epsilon = self.claimed_epsilon("source")
        if self.source_blocks not in ("plr", "plr-fs"):
            raise InvalidParameter(
                f"source_blocks must be 'plr' or 'plr-fs', got {self.source_blocks!r}.",
                name="source_blocks",
            )
        if self.source_blocks == "plr-fs" and self.variant != PRINTED:
            noise = noised(epsilon, blocks.family(rows), self.calibration, self.approximate_minima)
            return blocks.blocks("source", where, noise)
        families = [
            ObjectiveFamily(rows, (blocks.regularizations[k],), (1.0,))
            for k in blocks.groups.active
        ]
        if self.variant == PRINTED:
            noise = tuple(noised(epsilon, family, PAPERS)[0] for family in families)
        else:
            noise = noised_apart(epsilon, families, self.calibration, self.approximate_minima)
        return blocks.blocks("source", where, noise)

    def _design(self, rows: Mapping[str, int], features: int) -> ReleaseDesign:
        read_choices(self.variant, self.calibration)
        centred = read_meta(self.meta_features, self.variant)
        groups = read_groups(
            features, self.groups, self.importances, self.feature_importances, self.split_seed
        )
        blocks = {
            part: FeatureBlocks.read(
                groups, self.norm_bound, getattr(self, name := f"regularization_{part}"), name
            )
            for part in self.parts
        }
        source = self._source(blocks["source"], rows["source"])
        low, high = split_rows(rows["target"], self.high_share, self.split_seed)
        epsilon, family = self.claimed_epsilon("target"), blocks["target"].family(len(low))
        noise = (
            printed_yao(epsilon, family)
            if self.variant == PRINTED
            else noised(epsilon, family, self.calibration, self.approximate_minima)
        )
        centers = [
            (
                block.name,
                1.0 if self.variant == PRINTED else block.event.norm_bound / event.norm_bound,
            )
            for block, (event, _) in zip(source, noise, strict=True)
        ]
        target = blocks["target"].blocks("target", Where("target", "low", low), noise, centers)
        lam = self.high_regularization
        top = stacking_layer(
            Where("target", "high", high),
            target,
            epsilon,
            blocks["target"].regularizations[0] if lam is None else lam,
            calibration=self.calibration,
            approximate_minima=self.approximate_minima,
            centred=centred,
        )
        return ReleaseDesign((*source, *target, top))

    def _scores(self, X: Floats) -> Floats:
        return stacked_scores(self.design_, self.release_, X)
