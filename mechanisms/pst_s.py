"""PST-S: private stacking of models of different people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from dpcheck.accounting.calibrate_objective import ObjectiveFamily
from dpcheck.core.errors import InvalidParameter
from dpcheck.core.validate import count, positive
from dpcheck.mechanisms.common.given import RandomState
from dpcheck.mechanisms.common.regularizers import Floats, Ridge, read_center
from dpcheck.mechanisms.objective.budget import (
    PRINTED,
    Noised,
    PerGroup,
    noised,
    read_bounds,
    read_choices,
    read_regularizations,
)
from dpcheck.mechanisms.objective.design import Block, ReleaseDesign
from dpcheck.mechanisms.objective.estimator import PrivateClassifier
from dpcheck.mechanisms.objective.groups import split_rows
from dpcheck.mechanisms.objective.stacking import Where, read_meta, stacked_scores, stacking_block


class PSTS(PrivateClassifier):
    """K logistic regressions on K shares of the low rows, stacked by one on the high rows.

    Guarantee: epsilon-DP under replacement. Rows are split by index, so each record is in one
    block, and every block is PLR at the full epsilon with n its own number of rows.
    The regulariser is modulus/2 |w - center|^2, with a public centre for the low blocks. The noise
    is set for the modulus it has; variant="printed" sets it for modulus 1 whatever it is, since
    Proposition 3 asks for strong convexity and names no modulus: too little noise below 1.
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
        modulus: float = 1.0,
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
        self.partitions = partitions
        self.high_regularization = high_regularization
        self.high_share = high_share
        self.meta_features = meta_features
        self.norm_bound = norm_bound
        self.modulus = modulus
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
        center = read_center(self.center, features)
        regularizer = None if center is None else Ridge(center)
        blocks = []
        for k, share in enumerate(np.array_split(order, number)):
            event, cover = self._noise(len(share), lams[k])
            blocks.append(
                Block(
                    f"low{k}",
                    "data",
                    f"low{k}",
                    np.sort(share),
                    event,
                    np.arange(features),
                    clip,
                    regularizer=regularizer,
                    cover=cover,
                )
            )
        lam = self.high_regularization
        lam = positive("high_regularization", lams[0] if lam is None else lam)
        where, noise = Where("data", "high", high), self._noise(len(high), lam)
        return ReleaseDesign((*blocks, stacking_block(where, blocks, noise, centred=centred)))

    def _noise(self, rows: int, lam: float) -> Noised:
        """The noise of one regression on so many rows; its event has the real modulus."""
        modulus = positive("modulus", self.modulus)
        known = 1.0 if self.variant == PRINTED else modulus
        family = ObjectiveFamily(rows, (lam * known,), (1.0,))
        ((event, cover),) = noised(self.epsilon, family, self.calibration, self.approximate_minima)
        return replace(event, regularization=lam * modulus), cover

    def _scores(self, X: Floats) -> Floats:
        return stacked_scores(self.design_, self.release_, X)
