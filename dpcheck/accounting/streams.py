"""Worst-case pairs of matrix mechanisms: how far one record's contributions move all rows together."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from dpcheck.accounting.losses import GaussianLoss, LossBounds
from dpcheck.accounting.worst_case import worst_case
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.events import training
from dpcheck.numerics.enclose import enclose_root
from dpcheck.numerics.rounding import UNIT, Array


@worst_case.register
def _(event: training.MatrixMechanism, adjacency: Adjacency, group: int = 1) -> LossBounds:
    """Contributions u_i of norm at most 1 at the steps i of a pattern move the rows by a matrix of squared
    norm sum_ij G_ij <u_i, u_j>, G = strategy^T strategy: at most sum_ij |G_ij| over the pattern, and
    sum_ij G_ij if all are alike. Above, each row's sum is maximised over patterns on its own, then the sum of
    those [ChoquetteChoo2023]; of decreasing Toeplitz strategies the first pattern is the worst
    [KalininLampert2024, Theorem 2].
    """
    most, some = squared_sensitivity(
        np.array(event.strategy), event.participations, event.min_separation
    )
    scale = (Fraction(adjacency.moves * group) / Fraction(event.noise_multiplier)) ** 2
    return LossBounds(
        GaussianLoss(enclose_root(Fraction(most) * scale)[1]),
        GaussianLoss(enclose_root(Fraction(some) * scale)[0]),
    )


def sampled_turns(
    event: training.MatrixMechanism, adjacency: Adjacency, group: int
) -> list[LossBounds]:
    """The steps a record may be sampled for, under cyclic Poisson sampling.

    With no more bands than steps between two turns the columns of a record's turns have disjoint rows: a
    Poisson-sampled Gaussian each, of the column's norm [ChoquetteChoo2023, Theorem 4], of any turn at
    most that of the largest column in it. With more bands the sampling is not counted: given who was drawn,
    it is the mechanism with that pattern, and divergences are convex. Below, one column alone.
    """
    assert event.sampling_rate is not None
    strategy, apart = np.array(event.strategy), event.min_separation
    starts = range(0, len(strategy), apart)
    norms = np.sqrt([math.fsum((column * column).tolist()) for column in strategy.T])
    if _bands(strategy) > apart:
        plain = replace(event, sampling_rate=None, participations=len(starts))
        largest = _sampled(event, float(norms.max()), adjacency, group)
        return [LossBounds(worst_case(plain, adjacency, group).upper, largest.lower)]
    squares = [float(np.sum(norms[first::apart] ** 2)) for first in range(min(apart, len(norms)))]
    best = int(np.argmax(squares))
    found = []
    for start in starts:
        turn = norms[start : start + apart]
        if turn.max() > 0:
            upper = _sampled(event, float(turn.max()), adjacency, group).upper
            own = float(turn[best]) if best < len(turn) else 0.0
            lower = _sampled(event, own, adjacency, group).lower if own > 0 else None
            found.append(LossBounds(upper, lower))
    return found


def _bands(strategy: Array) -> int:
    """Rows a column reaches over, its own included."""
    rows, columns = np.nonzero(strategy)
    return int(np.max(rows - columns, initial=0)) + 1


def _sampled(
    event: training.MatrixMechanism, norm: float, adjacency: Adjacency, group: int
) -> LossBounds:
    """One sampled Gaussian of a column's norm: squares, sum, root and quotient err by less than 8 units."""
    assert event.sampling_rate is not None
    noise = event.noise_multiplier / norm
    upper, lower = (
        worst_case(training.SampledGaussian(at, event.sampling_rate), adjacency, group)
        for at in (noise * (1 - 8 * UNIT), noise * (1 + 8 * UNIT))
    )
    return LossBounds(upper.upper, lower.lower, upper.failure, upper.assumes)


def squared_sensitivity(strategy: Array, takes: int, apart: int) -> tuple[float, float]:
    """(upper, lower) bounds on the largest squared movement by contributions of norm 1."""
    steps = len(strategy)
    gram = strategy.T @ strategy
    rounding = (steps + 4) * UNIT * (np.abs(strategy).T @ np.abs(strategy))
    above, below = np.abs(gram) + rounding, gram - rounding
    takes = min(takes, 1 + (steps - 1) // apart)
    # With step i in the pattern, nothing nearer than `apart` is.
    index = np.arange(steps)
    near = np.abs(index[:, None] - index) < apart
    others = _best_sums(np.where(near, 0.0, above), takes - 1, apart)
    most = float(_best_sums((np.diag(above) + others)[None, :], takes, apart)[0])
    some = float(np.max(np.diag(below)))
    for first in range(steps - (takes - 1) * apart):
        pattern = first + apart * np.arange(takes)
        some = max(some, float(below[np.ix_(pattern, pattern)].sum()))
    if _decreasing_toeplitz(strategy):
        earliest = apart * np.arange(takes)
        most = min(most, float(above[np.ix_(earliest, earliest)].sum()))
    return most * (1 + 1e-12), max(some * (1 - 1e-12), 0.0)


def _decreasing_toeplitz(strategy: Array) -> bool:
    """Whether all columns are the first one moved down, and that is non-negative and non-increasing."""
    first = strategy[:, 0]
    moved = all(
        np.array_equal(strategy[j:, j], first[: len(first) - j]) for j in range(1, len(first))
    )
    return moved and bool((first >= 0).all() and (np.diff(first) <= 0).all())


def _best_sums(weights: Array, takes: int, apart: int) -> Array:
    """The largest sum of up to `takes` entries of each row, at least `apart` places from each other."""
    rows, steps = weights.shape
    best = np.zeros((rows, steps + apart))  # best[:, apart + j]: among the first j + 1 places
    for _ in range(takes):
        taken = np.zeros((rows, steps + apart))
        for j in range(steps):
            with_it = weights[:, j] + best[:, j]
            taken[:, apart + j] = np.maximum(taken[:, apart + j - 1] if j else 0.0, with_it)
        best = taken
    return np.asarray(best[:, -1])
