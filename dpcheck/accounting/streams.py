"""Worst-case pairs of trees and matrix mechanisms: how far one record moves all rows together."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np

from dpcheck.accounting.losses import GaussianLoss, LossBounds
from dpcheck.accounting.worst_case import worst_case
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.errors import UnsupportedAdjacency
from dpcheck.core.events import training
from dpcheck.numerics.enclose import enclose_root, enclose_root_ratio
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
    refuse_groups(event, group)
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


def refuse_groups(event: training.BandedMatrix | training.MatrixMechanism, group: int) -> None:
    """Refuse a group of records under cyclic sampling.

    Records of one person may be in different cyclic groups. Their columns then overlap, the turns are not
    independent of each other, and no bound on the sampled steps is known. Where everybody is drawn there is
    one: norms add up.
    """
    rate = event.sampling_rate
    if group > 1 and rate is not None and rate < 1:
        raise UnsupportedAdjacency(
            f"{group} records of a person may be in different cyclic groups, whose steps overlap, and then "
            "no bound is proved; clip a person's contributions as one record, or drop the sampling rate.",
            group=group,
        )


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


@worst_case.register
def _(event: training.TreeAggregation, adjacency: Adjacency, group: int = 1) -> LossBounds:
    """The nodes are one Gaussian vector. A record that takes part in c of the steps below a node moves it by
    c C, so what counts is the largest sum of c^2 over all nodes. Above, level by level: of the 2^l steps
    below a node of level l a record takes part in at most ceil(2^l / apart), and of the m steps that all
    nodes of the level cover in at most 1 + (m - 1) // apart; squares of counts with that cap and that total
    add up to most where as many as can be are at the cap. Below, what some record does.
    """
    apart = event.min_separation
    takes = min(event.participations, 1 + (event.steps - 1) // apart)
    covered = _covered(event)
    noise_above, noise_below = event.noise_multiplier.as_integer_ratio()
    above, below = (adjacency.moves * group * noise_below) ** 2, noise_above**2
    most = sum(
        _most_squares(min(takes, 1 + (steps - 1) // apart), -(-(2**level) // apart))
        for level, steps in enumerate(covered)
    )
    some = 0
    for first in _first_steps(event.steps, apart, takes):
        moved = (_squares(first, apart, takes, level, n) for level, n in enumerate(covered))
        some = max(some, sum(moved))
        if some == most:  # no start moves more
            break
    down, up = enclose_root_ratio(most * above, below)
    if some < most:
        down = enclose_root_ratio(some * above, below)[0]
    return LossBounds(GaussianLoss(up), GaussianLoss(down))


def _covered(event: training.TreeAggregation) -> list[int]:
    """How many steps the released nodes of each level cover, from the leaves on."""
    steps = event.steps
    if event.completed_only:
        return [steps >> level << level for level in range(steps.bit_length())]
    return [steps] * ((steps - 1).bit_length() + 1)


def _most_squares(total: int, cap: int) -> int:
    """The largest sum of squares of counts of at most `cap` that add up to `total`."""
    cap = min(cap, total)
    return (total // cap) * cap**2 + (total % cap) ** 2


def _first_steps(steps: int, apart: int, takes: int) -> range:
    """Where a record may start to take part every `apart` steps; a few of them if there are many."""
    last = steps - 1 - (takes - 1) * apart
    return range(0, last + 1, 1 + last // 64)


def _squares(first: int, apart: int, takes: int, level: int, covered: int) -> int:
    """Sum of squared counts over the nodes of a level, for steps first, first + apart, ... that it covers."""
    inside = min(takes, max(0, -(-(covered - first) // apart)))
    if takes == 1 or takes > 4096:  # one participation a node at least
        return inside
    counts = Counter((first + i * apart) >> level for i in range(inside))
    return sum(count**2 for count in counts.values())
