"""Neighbours and outputs at which objective perturbation loses most: proofs that need no sampling.

All of them put the changed record into one set of people of a part (the low rows, say), shape it in
every block trained on them, and leave the other blocks alone, whose densities then cancel.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from dpcheck.core.errors import InvalidParameter
from dpcheck.mechanisms.common.data import Data, Labelled, Transfer, part_of
from dpcheck.mechanisms.common.regularizers import Floats
from dpcheck.mechanisms.objective.design import Block, ReleaseDesign
from dpcheck.mechanisms.objective.estimator import ObjectiveModel
from dpcheck.mechanisms.objective.loss import exact_loss


@dataclass(frozen=True, slots=True, eq=False)
class Witness:
    """A model (with its public centre set), two neighbours and an output."""

    model: ObjectiveModel
    data: Data
    neighbour: Data
    release: Floats

    @property
    def loss(self) -> float:
        """The exact privacy loss at the output."""
        return float(exact_loss(self.model, self.data, self.neighbour, self.release))


def flip(model: ObjectiveModel, blank: Data, part: str = "data", output: float = 10.0) -> Witness:
    """FLIP: all rows are the same unit row with label +1; the neighbour flips one label.

    At an output above the non-private minimiser every block loses eps' q / 2: label flips alone
    see half of the loss. `blank` gives the shape only.
    """
    design = model.design(blank)
    blocks = _together(design, part)
    X = np.zeros_like(part_of(blank, part).X)
    for block in blocks:
        X[:, _columns(block, 1)[0]] = block.clip
    release = np.zeros(design.width)
    for block in blocks:
        release[design.slices()[block.name].start] = output / block.event.norm_bound
    data = _with_part(blank, part, X, np.ones(len(X)))
    flipped = np.ones(len(X))
    flipped[blocks[0].rows[0]] = -1
    return Witness(model, data, _with_part(blank, part, X, flipped), release)


def fork(
    model: ObjectiveModel,
    blank: Data,
    part: str = "data",
    *,
    angle: float = 0.01,
    margin: float = -15.0,
    neighbour_margin: float = -15.0,
) -> Witness:
    """FORK: x = q(-sin t, cos t) is replaced by q(-sin t, -cos t) among zero rows.

    The output has w.x = `margin` and w.x' = `neighbour_margin` in every block, and the public
    centre is the one that makes the noise behind it vanish, so that |b'| - |b| is all of |b' - b|.
    Needs a free centre: the `center` parameter, or the source model of a transfer. Margins far
    below 0 give eps' q; margin near the maximiser of `objective_epsilon` gives F*, as t goes to 0.
    """
    rows = part_of(blank, part)
    X, other = np.zeros_like(rows.X), np.zeros_like(rows.X)
    design = model.design(blank)
    blocks = _together(design, part)
    record = blocks[0].rows[0]
    release = np.zeros(design.width)
    for block in blocks:
        first, second = _columns(block, 2)
        X[record, [first, second]] = block.clip * np.array([-np.sin(angle), np.cos(angle)])
        other[record, [first, second]] = block.clip * np.array([-np.sin(angle), -np.cos(angle)])
        q = block.event.norm_bound
        start = design.slices()[block.name].start
        release[start] = -(margin + neighbour_margin) / (2 * q * np.sin(angle))
        release[start + 1] = (margin - neighbour_margin) / (2 * q * np.cos(angle))
    data = _with_part(blank, part, X, np.ones(len(X)))
    neighbour = _with_part(blank, part, other, np.ones(len(X)))
    model, release = _centred(model, design, blocks, data, release)
    return Witness(model, data, neighbour, release)


def fork_zero(
    model: ObjectiveModel,
    blank: Data,
    part: str = "data",
    *,
    angle: float,
    along: float,
    across: float,
) -> Witness:
    """FORK0, for centre 0: n copies of x' against x and n-1 copies of x', output (along, across).

    The output is in units of 1/q in every block. Angle and output are to be searched.
    """
    rows = part_of(blank, part)
    design = model.design(blank)
    blocks = _together(design, part)
    X = np.zeros_like(rows.X)
    other = np.zeros_like(rows.X)
    release = np.zeros(design.width)
    record = blocks[0].rows[0]
    for block in blocks:
        both = list(_columns(block, 2))
        other[:, both] = block.clip * np.array([-np.sin(angle), -np.cos(angle)])
        X[:, both] = other[:, both]
        X[record, both] = block.clip * np.array([-np.sin(angle), np.cos(angle)])
        start = design.slices()[block.name].start
        release[start : start + 2] = np.array([along, across]) / block.event.norm_bound
    return Witness(
        model,
        _with_part(blank, part, X, np.ones(len(X))),
        _with_part(blank, part, other, np.ones(len(X))),
        release,
    )


def _together(design: ReleaseDesign, part: str) -> list[Block]:
    """The blocks of the first people of a part, all of which see the same record."""
    mine = [block for block in design.blocks if block.part == part and block.columns is not None]
    if not mine:
        raise InvalidParameter(f"nothing is released about {part!r}.", name="part")
    return [block for block in mine if block.people == mine[0].people]


def _columns(block: Block, number: int) -> NDArray[np.intp]:
    assert block.columns is not None
    if len(block.columns) < number:
        raise InvalidParameter(
            f"this witness needs {number} features in every group, {block.name} has "
            f"{len(block.columns)}; use flip, or larger groups.",
            name="groups",
        )
    return block.columns[:number]


def _with_part(blank: Data, part: str, X: Floats, y: Floats) -> Data:
    if isinstance(blank, Labelled):
        return Labelled(X, y)
    if part == "source":
        return Transfer(X, y, blank.X_target, blank.y_target)
    return Transfer(blank.X_source, blank.y_source, X, y)


def _centred(
    model: ObjectiveModel, design: ReleaseDesign, blocks: list[Block], data: Data, release: Floats
) -> tuple[ObjectiveModel, Floats]:
    """Set the public centre u = -b(w; u=0)/(n lam) of every block, in the model or the release."""
    centers = {}
    for block in blocks:
        place = design.slices()[block.name]
        bare = design.objective(replace(block, regularizer=None, center=None), data, {})
        weights = release[None, place]
        noise = bare.noise(weights, bare.pulls(weights))[0]
        centers[block.name] = -noise / (block.event.rows * block.event.regularization)
    release = release.copy()
    if all(block.center is not None for block in blocks):
        for block in blocks:
            place = design.slices()[str(block.center)]
            release[place] = centers[block.name] / block.center_scale
        return model, release
    if "center" not in model.get_params():
        raise InvalidParameter(
            f"{type(model).__name__} has no free centre for this part; use fork_zero or flip.",
            name="model",
        )
    whole = np.zeros(part_of(data, blocks[0].part).X.shape[1])
    for block in blocks:
        whole[block.columns] = centers[block.name]
    return clone(model).set_params(center=whole), release
