"""A release as a list of blocks: who is in each, what it sees, how it is noised.

Every algorithm of the family is such a list. One engine samples the whole release, gives its exact
density, and says as an event what it took from each dataset. A block holds the very event its
noise is drawn from, so what is described is what is run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from dpcheck.core.errors import CannotCertify, InvalidParameter
from dpcheck.core.events.event import Event
from dpcheck.core.events.training import ObjectivePerturbation, OutputPerturbation
from dpcheck.mechanisms.common.data import Data, clip_rows, part_of
from dpcheck.mechanisms.common.regularizers import Floats, Regularizer, Ridge
from dpcheck.mechanisms.objective import noise as noises
from dpcheck.mechanisms.objective.noise import ObjectiveEvent, draw_noise, modulus_of
from dpcheck.mechanisms.objective.perturbed import Objective, Rows
from dpcheck.mechanisms.objective.solver import batches, minimise

# Entries of the largest working array: releases at once times rows times features.
_CELLS = 8_000_000
# Different rows that are looked for among equal ones.
_REPEATED = 16
_ULP = float(np.finfo(float).eps)


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """One perturbed logistic regression on some rows of a part.

    `columns` are the features it sees, rows clipped to norm `clip` and scaled to event.norm_bound;
    or `stacks` names the earlier blocks whose predictions are its features. `center` names the
    earlier block whose weights, times `center_scale`, are the regulariser's centre. `cover` is
    output noise that hides how far the solver is from the minimiser.
    """

    name: str
    part: str
    people: str
    rows: NDArray[np.intp]
    event: ObjectiveEvent
    columns: NDArray[np.intp] | None = None
    clip: float = 1.0
    stacks: tuple[str, ...] = ()
    centred: bool = True
    regularizer: Regularizer | None = None
    center: str | None = None
    center_scale: float = 1.0
    cover: OutputPerturbation | None = None

    @property
    def width(self) -> int:
        """The number of weights."""
        return len(self.stacks) if self.columns is None else len(self.columns)

    @property
    def spherical(self) -> ObjectivePerturbation:
        """Its event, where the noise is the papers'."""
        if not isinstance(self.event, ObjectivePerturbation):
            raise CannotCertify("this is known of spherical noise only, and the noise is Gaussian.")
        return self.event

    @property
    def described(self) -> ObjectiveEvent:
        """Its event, which names the number of weights where the bound depends on it."""
        if isinstance(self.event, ObjectivePerturbation):
            return replace(self.event, dimension=self.width)
        return self.event

    def low_features(self, X: Floats) -> Floats:
        """The rows as a block on raw features sees them: norm at most event.norm_bound."""
        scale = self.event.norm_bound / self.clip
        return clip_rows(X[:, self.columns], self.clip) * scale


@dataclass(frozen=True, slots=True, eq=False)
class Distinct:
    """The rows of a block: each once and how often it occurs, where most of them are equal."""

    X: Floats
    y: Floats
    counts: Floats | None


def distinct(block: Block, data: Data) -> Distinct:
    """What a block sees. Bad data have few different rows: counting them saves all of the work.

    Rows that occur often are looked for one at a time, which is linear; sorting rows is not.
    """
    people = part_of(data, block.part)
    X, y = people.X[block.rows], people.y[block.rows]
    left = np.column_stack([X, y])
    found: list[Floats] = []
    counts: list[float] = []
    while len(found) < _REPEATED and len(left):
        same = (left == left[0]).all(axis=1)
        found.append(left[0])
        counts.append(float(same.sum()))
        left = left[~same]
    if 2 * (len(found) + len(left)) > len(X):
        return Distinct(X, y, None)
    rows = np.vstack([*found, left])
    return Distinct(rows[:, :-1], rows[:, -1], np.concatenate([counts, np.ones(len(left))]))


@dataclass(frozen=True, slots=True, eq=False)
class ReleaseDesign:
    """All blocks of a release, in the order they are trained and concatenated."""

    blocks: tuple[Block, ...]

    def without_rows(self) -> ReleaseDesign:
        """The design as a fitted model keeps it: which rows were where is left behind.

        The indices are public, and as long as the data; predicting needs none of them.
        """
        none = np.empty(0, dtype=np.intp)
        return ReleaseDesign(tuple(replace(block, rows=none) for block in self.blocks))

    def slices(self) -> dict[str, slice]:
        """Where each block stands in a flattened release."""
        ends = np.cumsum([block.width for block in self.blocks])
        return {
            block.name: slice(int(end) - block.width, int(end))
            for block, end in zip(self.blocks, ends, strict=True)
        }

    @property
    def width(self) -> int:
        """The length of a flattened release."""
        return sum(block.width for block in self.blocks)

    def block(self, name: str) -> Block:
        """The block of that name."""
        return next(block for block in self.blocks if block.name == name)

    def event(self, part: str) -> Event:
        """What was released about a part: blocks on the same people add up, other people do not."""
        people: dict[str, Event] = {}
        for block in self.blocks:
            if block.part == part:
                event: Event = block.described
                if block.cover is not None:
                    event = event + replace(block.cover, dimension=block.width)
                people[block.people] = (
                    people[block.people] + event if block.people in people else event
                )
        if not people:
            raise InvalidParameter(f"nothing is released about {part!r}.", name="part")
        return reduce(or_, people.values())

    def features(self, block: Block, X: Floats, released: Mapping[str, Floats]) -> Floats:
        """What the block sees of the rows X: (n, d), or (size, n, d) for a stacking layer.

        The K predictions lie in [-1, 1], so dividing by sqrt(K) makes the norm at most 1.
        """
        if block.columns is not None:
            return block.low_features(X)
        margins = [released[name] @ self.block(name).low_features(X).T for name in block.stacks]
        predictions = expit(np.stack(margins, axis=-1))
        if block.centred:
            predictions = 2 * predictions - 1
        # A few ulp are given away so that rounding cannot lift the norm above 1.
        return np.asarray(predictions * (1 - (len(margins) + 8) * _ULP) / np.sqrt(len(margins)))

    def objective(self, block: Block, data: Data, released: Mapping[str, Floats]) -> Objective:
        """The block's objective given the blocks before it."""
        return self._objective(block, distinct(block, data), released)

    def _objective(
        self, block: Block, people: Distinct, released: Mapping[str, Floats]
    ) -> Objective:
        seen = self.features(block, people.X, released)
        regularizer = block.regularizer or Ridge()
        if block.center is not None:
            regularizer = Ridge(block.center_scale * released[block.center])
        rows = Rows(seen * people.y[:, None], people.counts)
        return Objective(rows, block.event, regularizer)

    def sample(self, data: Data, size: int, rng: np.random.Generator, tolerance: float) -> Floats:
        """`size` releases, shape (size, width)."""
        releases = np.empty((size, self.width))
        slices = self.slices()
        people = {block.name: distinct(block, data) for block in self.blocks}
        for which in self._pieces(size, people):
            released: dict[str, Floats] = {}
            for block in self.blocks:
                objective = self._objective(block, people[block.name], released)
                weights = _draw(block, objective, which.stop - which.start, rng, tolerance)
                released[block.name] = releases[which, slices[block.name]] = weights
        return releases

    def log_density(self, data: Data, releases: Floats) -> Floats:
        """The exact log density of each whole release, given the split."""
        if any(block.cover is not None for block in self.blocks):
            raise CannotCertify(
                "a release covered by output noise has no closed-form density; use "
                "approximate_minima=0 to audit the density."
            )
        total = np.empty(len(releases))
        slices = self.slices()
        people = {block.name: distinct(block, data) for block in self.blocks}
        for which in self._pieces(len(releases), people):
            released = {name: releases[which, place] for name, place in slices.items()}
            total[which] = sum(
                _log_density(
                    self._objective(block, people[block.name], released), released[block.name]
                )
                for block in self.blocks
            )
        return total

    def _pieces(self, size: int, people: Mapping[str, Distinct]) -> list[slice]:
        stacked = [len(people[block.name].X) * block.width for block in self.blocks if block.stacks]
        step = max(1, _CELLS // max(stacked, default=1))
        return [slice(start, min(size, start + step)) for start in range(0, size, step)]


def _log_density(objective: Objective, weights: Floats) -> Floats:
    return np.concatenate(
        [
            objective.part(which).log_density(weights[which])
            for which in batches(objective, len(weights))
        ]
        or [np.empty(0)]
    )


def _draw(
    block: Block, objective: Objective, size: int, rng: np.random.Generator, tolerance: float
) -> Floats:
    noise = noises.draw(block.event, size, objective.features, rng)
    found = minimise(objective, noise, tolerance)
    if block.cover is None:
        return found.weights
    # Half of the bound is kept for rounding in the gradient itself.
    bound = block.cover.sensitivity * modulus_of(block.event) / 2
    if found.gradient_norms.max(initial=0.0) > bound / 2:
        raise CannotCertify(
            "the solver left a larger gradient than the output noise covers; lower tolerance."
        )
    extra = draw_noise(2 * block.cover.rate, size, objective.features, rng)
    return np.asarray(found.weights + extra)
