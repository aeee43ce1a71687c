"""The two layers the stacking algorithms are built from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcheck.accounting.calibrate_objective import ObjectiveFamily
from dpcheck.core.errors import InvalidParameter
from dpcheck.core.validate import positive
from dpcheck.mechanisms.common.regularizers import Floats, Ridge
from dpcheck.mechanisms.objective.budget import (
    Noised,
    PerGroup,
    noised,
    read_bounds,
    read_regularizations,
)
from dpcheck.mechanisms.objective.design import Block, ReleaseDesign
from dpcheck.mechanisms.objective.groups import Groups

Indices = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Where:
    """The people a layer is trained on: some rows of a part, under a name."""

    part: str
    people: str
    rows: Indices


@dataclass(frozen=True, slots=True, eq=False)
class FeatureBlocks:
    """One block per group with q_k > 0: rows clipped to its public bound and scaled to q_k."""

    groups: Groups
    clips: tuple[float, ...]
    regularizations: tuple[float, ...]

    @classmethod
    def read(
        cls,
        groups: Groups,
        norm_bound: PerGroup,
        regularization: PerGroup,
        name: str = "regularization",
    ) -> FeatureBlocks:
        """Blocks with one number for all groups, or one for each."""
        number = len(groups.columns)
        return cls(
            groups,
            read_bounds(norm_bound, number),
            read_regularizations(name, regularization, number),
        )

    def family(self, rows: int) -> ObjectiveFamily:
        """The blocks as a family to calibrate."""
        active = self.groups.active
        return ObjectiveFamily(
            rows,
            tuple(self.regularizations[k] for k in active),
            tuple(self.groups.importances[k] for k in active),
        )

    def blocks(
        self,
        prefix: str,
        where: Where,
        noise: Sequence[Noised],
        centers: Sequence[tuple[str, float]] | None = None,
        center: Floats | None = None,
    ) -> tuple[Block, ...]:
        """The blocks named `prefix` and the group's number.

        `centers` are earlier blocks and factors, `center` is a fixed public one over all features.
        """
        centers = centers or [("", 1.0)] * len(noise)
        return tuple(
            Block(
                f"{prefix}{k}",
                where.part,
                where.people,
                where.rows,
                event,
                self.groups.columns[k],
                self.clips[k],
                regularizer=None if center is None else Ridge(center[self.groups.columns[k]]),
                center=earlier or None,
                center_scale=scale,
                cover=cover,
            )
            for k, (event, cover), (earlier, scale) in zip(
                self.groups.active, noise, centers, strict=True
            )
        )


def stacking_layer(
    where: Where,
    low: Sequence[Block],
    epsilon: float,
    regularization: float,
    *,
    calibration: str,
    approximate_minima: float,
    centred: bool,
) -> Block:
    """PLR on the low blocks' predictions, divided by sqrt(K) so that a row has norm at most 1.

    Dividing by a constant in place of the papers' "scale the data" keeps the layer free of a bound
    learnt from the data.
    """
    lam = positive("high_regularization", regularization)
    family = ObjectiveFamily(len(where.rows), (lam,), (1.0,))
    (noise,) = noised(epsilon, family, calibration, approximate_minima)
    return stacking_block(where, low, noise, centred=centred)


def stacking_block(where: Where, low: Sequence[Block], noise: Noised, *, centred: bool) -> Block:
    """The layer on the low blocks' predictions, with this noise."""
    event, cover = noise
    return Block(
        "high",
        where.part,
        where.people,
        where.rows,
        event,
        stacks=tuple(block.name for block in low),
        centred=centred,
        cover=cover,
    )


def read_meta(meta_features: object, variant: str) -> bool:
    """Whether the stacking layer sees 2p - 1 ("centred") or p ("probability"), p the prediction.

    The layer has no intercept, so with p its own scores are not around 0; both have the same norm
    bound, hence the same privacy. The papers print p.
    """
    if meta_features not in ("centred", "probability"):
        raise InvalidParameter(
            f"meta_features must be 'centred' or 'probability', got {meta_features!r}.",
            name="meta_features",
        )
    return meta_features == "centred" and variant == "corrected"


def stacked_scores(design: ReleaseDesign, release: Floats, X: Floats) -> Floats:
    """The stacking layer's scores on rows X."""
    weights = {name: release[None, place] for name, place in design.slices().items()}
    high = design.block("high")
    return np.asarray(design.features(high, X, weights)[0] @ weights["high"][0])


def block_margins(design: ReleaseDesign, release: Floats, X: Floats, prefix: str) -> Floats:
    """The margin of each row under each block of that prefix, shape (n, blocks)."""
    slices = design.slices()
    return np.column_stack(
        [
            block.low_features(X) @ release[slices[block.name]]
            for block in design.blocks
            if block.columns is not None and block.name.startswith(prefix)
        ]
    )
