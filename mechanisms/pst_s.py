"""PST-S: private stacking of models of different people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dpcheck.accounting.calibrate_objective import ObjectiveFamily
from dpcheck.core.errors import InvalidParameter
from dpcheck.core.validate import count, positive
from dpcheck.mechanisms.common.regularizers import Floats
from dpcheck.mechanisms.objective.budget import (
    PerGroup,
    noised,
    read_bounds,
    read_choices,
    read_regularizations,
)
from dpcheck.mechanisms.objective.design import Block, ReleaseDesign
from dpcheck.mechanisms.objective.estimator import PrivateClassifier
from dpcheck.mechanisms.objective.groups import split_rows
from dpcheck.mechanisms.objective.stacking import Where, read_meta, stacked_scores, stacking_layer


class PSTS(PrivateClassifier):
    """K logistic regressions on K shares of the low rows, stacked by one on the high rows.

    Guarantee: epsilon-DP under replacement. Rows are split by index, so each record is in one
    block, and every block is PLR at the full epsilon with n its own number of rows.
    Reference: [Yao2019] Algorithm 2, Proposition 3.
    Assumes: as PLR; the split depends on `split_seed` and the number of rows only.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        regularization: PerGroup = 0.01,
        *,
        partitions: int = 5,
        high_regularization: float | None = None,
        high_share: float = 0.5,
        meta_features: str = "centred",
        norm_bound: float = 1.0,
        calibration: str = "papers",
        variant: str = "corrected",
        split_seed: int = 0,
        classes: Sequence[object] | None = None,
        approximate_minima: float = 0.0,
        tolerance: float = 1e-9,
        snap: float | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.regularization = regularization
        self.partitions = partitions
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

    def claimed_epsilon(self, part: str = "data") -> float:  # noqa: ARG002 - one part only
        """The whole budget."""
        return positive("epsilon", self.epsilon)

    def _design(self, rows: Mapping[str, int], features: int) -> ReleaseDesign:
        read_choices(self.variant, self.calibration)
        centred = read_meta(self.meta_features, self.variant)
        number = count("partitions", self.partitions)
        low, high = split_rows(rows["data"], self.high_share, self.split_seed)
        if len(low) < number:
            raise InvalidParameter(
                f"partitions must not exceed the rows of the low level, got {number} for "
                f"{len(low)}; use fewer partitions or more rows.",
                name="partitions",
            )
        # A second public permutation: `low` is sorted, and neighbours in a file may belong
        # together.
        order = np.random.default_rng([self.split_seed, 1]).permutation(low)
        lams = read_regularizations("regularization", self.regularization, number)
        (clip,) = read_bounds(self.norm_bound, 1)
        blocks = []
        for k, share in enumerate(np.array_split(order, number)):
            family = ObjectiveFamily(len(share), (lams[k],), (1.0,))
            ((event, cover),) = noised(
                self.epsilon, family, self.calibration, self.approximate_minima
            )
            blocks.append(
                Block(
                    f"low{k}",
                    "data",
                    f"low{k}",
                    np.sort(share),
                    event,
                    np.arange(features),
                    clip,
                    cover=cover,
                )
            )
        lam = self.high_regularization
        top = stacking_layer(
            Where("data", "high", high),
            blocks,
            self.epsilon,
            lams[0] if lam is None else lam,
            calibration=self.calibration,
            approximate_minima=self.approximate_minima,
            centred=centred,
        )
        return ReleaseDesign((*blocks, top))

    def _scores(self, X: Floats) -> Floats:
        return stacked_scores(self.design_, self.release_, X)
