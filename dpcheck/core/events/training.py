"""Events of private training: sampled batches, DP-FTRL, objective and output perturbation.

`noise_multiplier` means what it means in `noise_events`: noise over the per-record norm bound C.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from dpcheck.core.adjacency import Adjacency, as_adjacency
from dpcheck.core.errors import InvalidParameter
from dpcheck.core.events.event import Event
from dpcheck.core.validate import (
    MODERATE,
    count,
    each,
    finite,
    moderate_or_zero,
    non_negative,
    positive,
    rate,
    truth,
)


def _check_noise(event: Event) -> None:
    value = moderate_or_zero("noise_multiplier", getattr(event, "noise_multiplier"))  # noqa: B009 - mixed types
    object.__setattr__(event, "noise_multiplier", value)


def _check_dimension(event: ObjectivePerturbation | OutputPerturbation) -> None:
    if event.dimension is not None:
        object.__setattr__(event, "dimension", count("dimension", event.dimension))


@dataclass(frozen=True, slots=True)
class SampledGaussian(Event):
    """One DP-SGD step: every record joins with probability `sampling_rate`, on its own (Poisson)."""

    noise_multiplier: float
    sampling_rate: float

    def __post_init__(self) -> None:
        _check_noise(self)
        object.__setattr__(self, "sampling_rate", rate("sampling_rate", self.sampling_rate))


@dataclass(frozen=True, slots=True)
class SampledLaplace(Event):
    """A Poisson-sampled scalar sum of contributions in [-C, C], plus Laplace noise."""

    noise_multiplier: float
    sampling_rate: float

    def __post_init__(self) -> None:
        _check_noise(self)
        object.__setattr__(self, "sampling_rate", rate("sampling_rate", self.sampling_rate))


@dataclass(frozen=True, slots=True)
class FixedBatchGaussian(Event):
    """One step on `batch` of `rows` records drawn without replacement."""

    noise_multiplier: float
    rows: int
    batch: int
    natural: ClassVar[Adjacency | None] = Adjacency.REPLACE_ONE

    def __post_init__(self) -> None:
        _check_noise(self)
        object.__setattr__(self, "rows", count("rows", self.rows))
        object.__setattr__(self, "batch", count("batch", self.batch))
        if self.batch > self.rows:
            raise InvalidParameter(
                f"batch must not exceed rows, got {self.batch} of {self.rows}.", name="batch"
            )


@dataclass(frozen=True, slots=True)
class WithReplacementGaussian(Event):
    """One step on `batch` draws with replacement from `rows` records; a record may be drawn repeatedly."""

    noise_multiplier: float
    rows: int
    batch: int
    natural: ClassVar[Adjacency | None] = Adjacency.REPLACE_ONE

    def __post_init__(self) -> None:
        _check_noise(self)
        object.__setattr__(self, "rows", count("rows", self.rows))
        object.__setattr__(self, "batch", count("batch", self.batch))


@dataclass(frozen=True, slots=True)
class MixtureGaussian(Event):
    """One step a person joins by chance: with norm `contributions[i]` C, with `probabilities[i]`.

    User-level sampling, where it is random how many of a person's records are in the batch. Probabilities
    may add up to less than 1: the rest of the time nothing is contributed.
    """

    noise_multiplier: float
    contributions: tuple[float, ...]
    probabilities: tuple[float, ...]

    def __post_init__(self) -> None:
        _check_noise(self)
        for name, check in (("contributions", non_negative), ("probabilities", non_negative)):
            object.__setattr__(self, name, each(name, getattr(self, name), check))
        if not self.contributions or len(self.contributions) != len(self.probabilities):
            raise InvalidParameter(
                f"every contribution needs one probability, got {len(self.contributions)} and "
                f"{len(self.probabilities)}.",
                name="probabilities",
            )
        if max(self.contributions) > MODERATE * min(self.noise_multiplier or 1.0, 1.0):
            raise InvalidParameter(
                f"contributions must be at most {MODERATE:g}, and that many times the noise.",
                name="contributions",
            )
        if math.fsum(self.probabilities) > 1 + 1e-9:
            raise InvalidParameter(
                f"probabilities add up to {math.fsum(self.probabilities):g}, more than 1.",
                name="probabilities",
            )


@dataclass(frozen=True, slots=True)
class TruncatedPoissonGaussian(Event):
    """A Poisson-sampled step over `rows` records whose batch is cut down to `max_batch` at random."""

    noise_multiplier: float
    sampling_rate: float
    rows: int
    max_batch: int

    def __post_init__(self) -> None:
        _check_noise(self)
        object.__setattr__(self, "sampling_rate", rate("sampling_rate", self.sampling_rate))
        object.__setattr__(self, "rows", count("rows", self.rows))
        object.__setattr__(self, "max_batch", count("max_batch", self.max_batch))


@dataclass(frozen=True, slots=True)
class RealisedBatchGaussian(Event):
    """A Poisson-sampled step over `rows` records, its noisy sum divided by the batch's realised size.

    Divided by the *expected* size it is a SampledGaussian. By the realised one, the scale of the noise that
    everybody sees tells the size of the batch, so that counts as released too.
    """

    noise_multiplier: float
    sampling_rate: float
    rows: int

    def __post_init__(self) -> None:
        _check_noise(self)
        object.__setattr__(self, "sampling_rate", rate("sampling_rate", self.sampling_rate))
        object.__setattr__(self, "rows", count("rows", self.rows))


@dataclass(frozen=True, slots=True)
class RandomAllocationGaussian(Event):
    """One epoch of `batches` steps: every record joins exactly one of them, each on its own and uniformly.

    Batches then have random sizes ("balls and bins"). A shuffled pass over fixed-size batches is
    not this: there the place of a record depends on the others', and the bound does not hold.
    """

    noise_multiplier: float
    batches: int

    def __post_init__(self) -> None:
        _check_noise(self)
        object.__setattr__(self, "batches", count("batches", self.batches))


@dataclass(frozen=True, slots=True)
class TreeAggregation(Event):
    """DP-FTRL: every node of a complete binary tree over `steps` noisy sums is released.

    A record takes part at most `participations` times, at least `min_separation` steps apart. With
    `completed_only` a node is released once all of its steps are done, and those that never are, at the end
    of a tree over a number of steps that is no power of 2, are not.
    """

    noise_multiplier: float
    steps: int
    participations: int = 1
    min_separation: int = 1
    completed_only: bool = False

    def __post_init__(self) -> None:
        _check_noise(self)
        for name in ("steps", "participations", "min_separation"):
            object.__setattr__(self, name, count(name, getattr(self, name)))
        object.__setattr__(self, "completed_only", truth("completed_only", self.completed_only))


@dataclass(frozen=True, slots=True)
class BandedMatrix(Event):
    """DP-FTRL with a banded strategy matrix whose columns have norm at most 1.

    Without `sampling_rate`: a record takes part at most `participations` times, at least `bands`
    steps apart. With it: records are split by index into `bands` cyclic groups and Poisson-sampled
    at that rate when their group's turn comes.
    """

    noise_multiplier: float
    steps: int
    bands: int
    participations: int = 1
    sampling_rate: float | None = None

    def __post_init__(self) -> None:
        _check_noise(self)
        for name in ("steps", "bands", "participations"):
            object.__setattr__(self, name, count(name, getattr(self, name)))
        if self.sampling_rate is not None:
            object.__setattr__(self, "sampling_rate", rate("sampling_rate", self.sampling_rate))


@dataclass(frozen=True, slots=True)
class ObjectivePerturbation(Event):
    """The exact minimiser of a regularised logistic loss with a random linear term.

    minimises sum_i log(1 + exp(-y_i w.x_i)) + rows * regularization * g(w)
    + rows * extra_regularization * |w|^2 / 2 + b.w, with |x_i| <= norm_bound, g twice continuously
    differentiable with Hessian >= I, and b of density proportional to exp(-noise_epsilon |b| / 2).
    A negative extra_regularization is meant: what counts is the sum of the two. With `dimension`, the
    number of weights, deltas above 0 are known too.
    """

    noise_epsilon: float
    rows: int
    regularization: float
    extra_regularization: float = 0.0
    norm_bound: float = 1.0
    dimension: int | None = None
    natural: ClassVar[Adjacency | None] = Adjacency.REPLACE_ONE

    def __post_init__(self) -> None:
        _check_dimension(self)
        object.__setattr__(self, "noise_epsilon", positive("noise_epsilon", self.noise_epsilon))
        object.__setattr__(self, "rows", count("rows", self.rows))
        for name in ("regularization", "extra_regularization"):
            object.__setattr__(self, name, finite(name, getattr(self, name)))
        object.__setattr__(self, "norm_bound", positive("norm_bound", self.norm_bound))
        if self.regularization + self.extra_regularization <= 0:
            raise InvalidParameter(
                "regularization + extra_regularization must be above 0: without strong convexity "
                "objective perturbation has no guarantee.",
                name="regularization",
            )


@dataclass(frozen=True, slots=True)
class GaussianObjectivePerturbation(Event):
    """The exact minimiser of a regularised logistic loss with a random linear term of Gaussian noise.

    minimises sum_i log(1 + exp(-y_i w.x_i)) + rows * regularization * g(w) + b.w, with |x_i| <= norm_bound,
    g twice continuously differentiable with Hessian >= I, and b from N(0, (noise_multiplier norm_bound)^2 I).
    """

    noise_multiplier: float
    rows: int
    regularization: float
    norm_bound: float = 1.0
    extra_regularization: ClassVar[float] = 0.0  # none is needed
    natural: ClassVar[Adjacency | None] = Adjacency.REPLACE_ONE

    def __post_init__(self) -> None:
        _check_noise(self)
        object.__setattr__(self, "rows", count("rows", self.rows))
        for name in ("regularization", "norm_bound"):
            object.__setattr__(self, name, positive(name, getattr(self, name)))


@dataclass(frozen=True, slots=True)
class OutputPerturbation(Event):
    """A vector of L2 sensitivity `sensitivity` plus noise of density proportional to exp(-rate |b|).

    `adjacency` is the relation the sensitivity was computed under. With `dimension`, the number of entries
    of the vector, deltas above 0 are known too.
    """

    rate: float
    sensitivity: float
    adjacency: Adjacency = Adjacency.REPLACE_ONE
    dimension: int | None = None
    natural: ClassVar[Adjacency | None] = Adjacency.REPLACE_ONE

    def __post_init__(self) -> None:
        _check_dimension(self)
        object.__setattr__(self, "rate", positive("rate", self.rate))
        object.__setattr__(self, "sensitivity", positive("sensitivity", self.sensitivity))
        object.__setattr__(self, "adjacency", as_adjacency(self.adjacency))


# Strategies of more steps than this are described by TreeAggregation or BandedMatrix.
MOST_STEPS = 2048


# Sums of squares of so many numbers are floats up to this one.
LARGEST_ENTRY = 1e140


def _entry(name: str, value: object) -> float:
    number = finite(name, value)
    if abs(number) > LARGEST_ENTRY:
        raise InvalidParameter(
            f"{name} must have numbers of at most {LARGEST_ENTRY:g}, got {number:g}.", name=name
        )
    return number


@dataclass(frozen=True, slots=True)
class MatrixMechanism(Event):
    """DP-FTRL with any lower-triangular strategy: the rows of strategy @ contributions, plus noise.

    Row t of `strategy` weighs what was contributed up to step t (a banded matrix, the inverse of one, prefix
    sums, ...); the noise on every row is N(0, (noise_multiplier C)^2 I). A record contributes at most
    `participations` times, at least `min_separation` steps apart. With `sampling_rate`: records are split by
    index into `min_separation` cyclic groups and Poisson-sampled at that rate when their group's turn comes.
    """

    noise_multiplier: float
    strategy: tuple[tuple[float, ...], ...]
    participations: int = 1
    min_separation: int = 1
    sampling_rate: float | None = None

    def __post_init__(self) -> None:
        _check_noise(self)
        for name in ("participations", "min_separation"):
            object.__setattr__(self, name, count(name, getattr(self, name)))
        if self.sampling_rate is not None:
            object.__setattr__(self, "sampling_rate", rate("sampling_rate", self.sampling_rate))
        if not isinstance(self.strategy, Iterable):
            raise InvalidParameter("a strategy is a matrix, row by row.", name="strategy")
        rows = tuple(each("strategy", row, _entry) for row in self.strategy)
        object.__setattr__(self, "strategy", rows)
        if not 1 <= len(rows) <= MOST_STEPS or any(len(row) != len(rows) for row in rows):
            raise InvalidParameter(
                f"a strategy is a square matrix of 1 to {MOST_STEPS} steps.", name="strategy"
            )
        if any(value != 0 for t, row in enumerate(rows) for value in row[t + 1 :]):
            raise InvalidParameter(
                "a strategy is lower triangular: no row weighs what comes after its step.",
                name="strategy",
            )
