"""DPIW: differentially private importance weights over a public dataset."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted

from dpcheck.core.errors import InvalidParameter
from dpcheck.core.events.event import Event
from dpcheck.core.events.training import OutputPerturbation
from dpcheck.core.spending import Spender
from dpcheck.core.validate import positive
from dpcheck.mechanisms.common.regularizers import Floats
from dpcheck.mechanisms.output.logistic import Minimum, minimise, ridge_problem
from dpcheck.mechanisms.output.model import OutputModel
from dpcheck.mechanisms.output.noise import SOLVER_SHARE, OutputBlock, Scale, calibrated
from dpcheck.mechanisms.output.rows import (
    Rows,
    RowShape,
    clip_box,
    clip_norm,
    clip_positive_norm,
    read_rows,
    stack,
)

VARIANTS = ("corrected", "printed", "signed")


@dataclass(frozen=True, slots=True, eq=False)
class TwoSamples:
    """Private rows X and public rows of the same width."""

    X: Rows
    public: Rows

    def __post_init__(self) -> None:
        X = read_rows(self.X, "X")
        if self.public is None or np.shape(self.public)[0] == 0:
            raise InvalidParameter(
                "there is no public data; importance weights are weights of public rows.",
                name="public",
            )
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "public", read_rows(self.public, "public", X.shape[1]))


BOUNDS = (RowShape.BOX, RowShape.BALL, RowShape.POSITIVE_BALL)
_CLIP: dict[RowShape, Callable[[Rows, float], Rows]] = {
    RowShape.BOX: lambda X, _: clip_box(X),
    RowShape.BALL: clip_norm,
    RowShape.POSITIVE_BALL: clip_positive_norm,
    RowShape.NONE: lambda X, _: X,
}


@dataclass(frozen=True, slots=True)
class RowBound:
    """What is done to every row, and how far one replaced row then moves the gradient, times n."""

    kind: RowShape
    radius: float
    reach: float

    def apply(self, X: Rows) -> Rows:
        """The clipped rows."""
        return _CLIP[self.kind](X, self.radius)


def row_bound(kind: str, width: int, radius: float | None = None) -> RowBound:
    """The bound and its reach, the largest |s x - s' x'| over slopes s, s' in [0, 1].

    box: entries in [0, 1] differ by at most 1 each, so sqrt(d). ball of radius R: 2R. positive
    ball: the two rows have no negative inner product, so sqrt(2) R. The default R is sqrt(d).
    """
    root = math.sqrt(width)
    if kind not in list(RowShape):
        raise InvalidParameter(f"bound must be one of {', '.join(BOUNDS)}, got {kind!r}.")
    shape = RowShape(kind)
    if shape is RowShape.BOX and radius is not None:
        raise InvalidParameter("norm_bound belongs to a ball; the box is [0, 1].")
    size = root if radius is None else positive("norm_bound", radius)
    reach = {
        RowShape.BOX: size,
        RowShape.BALL: 2 * size,
        RowShape.POSITIVE_BALL: math.sqrt(2) * size,
        RowShape.NONE: math.inf,
    }
    return RowBound(shape, size, reach[shape])


def weight_scale(
    epsilon: float, shape: tuple[int, int], lam: float, bound: RowBound, *, printed_rate: bool
) -> Scale:
    """The noise of the weight model: calibrated to the bound, or the printed rate.

    The printed rate eps N lam / sqrt(d) is right for the box and pays half for signed rows of norm
    up to sqrt(d). Without a bound on rows only the value at 0 limits the minimiser: lam |b|^2 / 2 <=
    J(0) = 2 log 2, so two of them are up to 4 sqrt(log 2 / lam) apart, which the printed rate turns
    into 4 N sqrt(lam log 2 / d) epsilon: finite for every number N of rows, without end as N grows.
    """
    rows, width = shape
    budget, modulus = positive("epsilon", epsilon), rows * positive("regularization", lam)
    if not printed_rate:
        return calibrated(budget, bound.reach / modulus, width)
    paper = calibrated(budget, math.sqrt(width) / modulus, width)
    apart = min(bound.reach / modulus, 4 * math.sqrt(math.log(2) / lam))
    sensitivity = apart * (1 + SOLVER_SHARE)
    event = OutputPerturbation(paper.rate, sensitivity, dimension=width)
    return Scale(paper.rate, event, paper.distance)


def weight_model(data: TwoSamples, lam: float, bound: RowBound, distance: float) -> Minimum:
    """The minimiser of [Wang2018] (4): private rows against public ones, each side averaged."""
    X, public = bound.apply(data.X), bound.apply(data.public)
    n, m = X.shape[0], public.shape[0]
    weights = np.concatenate([np.full(n, 1 / n), np.full(m, 1 / m)])
    targets = np.concatenate([np.ones(n), np.zeros(m)])
    return minimise(ridge_problem(stack(X, public), weights, targets, lam), distance)


def log_importance_weights(beta: Floats, public: Rows) -> Floats:
    """log w(x) of every public row; the weights are positive and add up to the number of rows."""
    scores = np.asarray(public @ beta)
    return np.asarray(scores - logsumexp(scores) + math.log(len(scores)))


class DPIW(OutputModel[TwoSamples]):
    """Private importance weights: how much each public row looks like the private data.

    Guarantee: replacing one private row changes the log density of the released vector by at most
    `epsilon` (variant "corrected"); the weights are computed from it and cost nothing more. Rows
    are clipped to `bound`: "box" is [0, 1]^d, "ball" a norm of at most `norm_bound` (sqrt(d) unless
    given) at half the rate, "positive-ball" the same for rows without negative entries.
    Reference: [Wang2018] Algorithm 2; [Ji2013].
    Assumes: public row count and public rows that nobody private is in.

    variant="printed" puts no bound on rows: its loss grows with them, and with N. variant="signed"
    clips to norm sqrt(d) at the printed rate: its loss reaches 2 epsilon.

    >>> model = DPIW(epsilon=1.0, regularization=0.01)
    >>> round(model.release_event("data", TwoSamples(np.zeros((1000, 4)), np.eye(4))).rate, 6)
    5.0
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        regularization: float = 0.001,
        *,
        bound: str = "box",
        norm_bound: float | None = None,
        variant: str = "corrected",
    ) -> None:
        self.epsilon = epsilon
        self.regularization = regularization
        self.bound = bound
        self.norm_bound = norm_bound
        self.variant = variant

    def claimed_epsilon(self, part: str = "data") -> float:  # noqa: ARG002 - one part only
        """The whole budget."""
        return positive("epsilon", self.epsilon)

    def row_bound(self, width: int) -> RowBound:
        """What this variant does to rows of so many features."""
        return variant_bound(self.variant, self.bound, self.norm_bound, width)

    def _scale(self, data: TwoSamples) -> Scale:
        bound = self.row_bound(data.X.shape[1])
        printed = self.variant != "corrected"
        return weight_scale(
            self.epsilon, data.X.shape, self.regularization, bound, printed_rate=printed
        )

    def _event(self, data: TwoSamples) -> Event:
        return self._scale(data).event

    def _blocks(self, data: TwoSamples) -> list[OutputBlock]:
        scale, bound = self._scale(data), self.row_bound(data.X.shape[1])
        found = weight_model(data, self.regularization, bound, scale.distance)
        return [OutputBlock("beta", found.point, scale)]

    def fit(
        self,
        X: Rows,
        public: Rows,
        *,
        rng: np.random.Generator | None = None,
        ledger: Spender | None = None,
        dataset: object = None,
    ) -> DPIW:
        """Compare X with the public rows and release; `weights_` are those of the public rows."""
        data = TwoSamples(X, public)
        self._release(data, rng, ledger, dataset)
        self.n_features_in_ = data.X.shape[1]
        self.log_weights_ = self._log_weights(data.public)
        self.weights_ = np.exp(self.log_weights_)
        return self

    @property
    def coef_(self) -> Floats:
        """The released vector; shape (1, features)."""
        return np.asarray(self.release_)[None, :]

    def _log_weights(self, public: Rows) -> Floats:
        check_is_fitted(self, "release_")
        rows = self.row_bound(self.n_features_in_).apply(public)
        return log_importance_weights(self.release_, rows)


def variant_bound(variant: str, bound: str, norm_bound: float | None, width: int) -> RowBound:
    """The row bound a variant works with."""
    if variant not in VARIANTS:
        raise InvalidParameter(
            f"variant must be one of {', '.join(VARIANTS)}, got {variant!r}.", name="variant"
        )
    if variant == "corrected":
        return row_bound(bound, width, norm_bound)
    return row_bound(RowShape.BALL if variant == "signed" else RowShape.NONE, width)
