"""Worst-case pairs of choices, thresholds and shuffled reports."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dpcheck.accounting.losses import (
    BoundedRangeLoss,
    FiniteLoss,
    GroupedLoss,
    LatticeMassLoss,
    Loss,
    LossBounds,
    ResponseLoss,
)
from dpcheck.accounting.worst_case import stated_steps, worst_case
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.errors import UnsupportedAdjacency
from dpcheck.core.events import selection
from dpcheck.numerics.enclose import enclose
from dpcheck.numerics.tails import binomial_masses


def _steps(event: selection.ReportNoisyMax | selection.AboveThreshold, adjacency: Adjacency) -> int:
    """Monotone scores are so when a record is added: a replacement is a removal and an addition."""
    stated = Adjacency.ADD_REMOVE if event.monotone and event.adjacency is None else event.adjacency
    return stated_steps(stated, adjacency)


def _rare_answer(often: float, seldom: float) -> FiniteLoss:
    """An answer given with these probabilities on the two sides, moved together by more than rounding."""
    often, seldom = often * (1 - 1e-12), seldom * (1 + 1e-12)
    return FiniteLoss((often, 1 - often), (seldom, 1 - seldom))


@worst_case.register
def _(event: selection.ReportNoisyMax, adjacency: Adjacency, group: int = 1) -> LossBounds:
    steps = _steps(event, adjacency) * group
    moves = (1 if event.monotone else 2) * steps
    epsilon = enclose(Fraction(moves) / Fraction(event.noise_multiplier))
    if event.noise == "gumbel":
        # Exactly the exponential mechanism: its loss has a range of epsilon [Dong2020].
        return LossBounds(BoundedRangeLoss(epsilon[1]), ResponseLoss(epsilon[0] / 2))
    if event.noise == "exponential":
        # Exactly permute-and-flip [Ding2021].
        return LossBounds(ResponseLoss(epsilon[1]), _flipped(epsilon[0]))
    # [Dwork2014] Claim 3.9 and, for scores that move either way, twice that. Below: of two equal scores one
    # falls behind by s; P(L1 - L2 > s) = e^-s (2 + s)/4 in units of the scale.
    s = epsilon[0]
    return LossBounds(ResponseLoss(epsilon[1]), _rare_answer(0.5, math.exp(-s) * (2 + s) / 4))


@worst_case.register
def _(event: selection.PermuteAndFlip, adjacency: Adjacency, group: int = 1) -> LossBounds:
    """[McKenna2020] Theorem 1: epsilon-DP."""
    steps = stated_steps(event.adjacency, adjacency) * group
    down, up = enclose(Fraction(event.epsilon) * steps)
    return LossBounds(ResponseLoss(up), _flipped(down))


def _flipped(epsilon: float) -> FiniteLoss:
    """Two candidates: the worse one is taken with probability e^{-epsilon d/2}/2, d sensitivities behind."""
    return _rare_answer(0.5, 0.5 * math.exp(-epsilon))


@worst_case.register
def _(event: selection.AboveThreshold, adjacency: Adjacency, group: int = 1) -> LossBounds:
    """[Lyu2017] Theorem 4: 1/threshold noise, and for each positive answer 2 (monotone: 1)/query noise."""
    steps = _steps(event, adjacency) * group
    answers = (1 if event.monotone else 2) * event.positives
    total = 1 / Fraction(event.threshold_noise) + answers / Fraction(event.query_noise)
    return LossBounds(ResponseLoss(enclose(total * steps)[1]), None)


@worst_case.register
def _(event: selection.ShuffledReports, adjacency: Adjacency, group: int = 1) -> LossBounds:
    if adjacency is not Adjacency.REPLACE_ONE:
        raise UnsupportedAdjacency(
            f"everybody sends one report, so {adjacency} changes how many there are; account it under "
            "replace-one.",
            adjacency=adjacency,
        )
    local = ResponseLoss(event.epsilon)
    upper: Loss = local if event.people == 1 else _shuffled(event.epsilon, event.people)
    if group > 1:
        upper = GroupedLoss(upper, group)
    # One of them flips a coin of that epsilon, the others too: ones are counted.
    return LossBounds(upper, _counted(event.epsilon, event.people))


# What lies beyond the windows below, an infinite loss. By Bernstein's inequality a binomial count is t from
# its mean with probability at most 2 exp(-t^2 / (2 (var + t/3))); at t = 11 sd + 60 the exponent is above
# 60. For fair coins (Hoeffding) it is 2 exp(-72) at t = 6 sqrt(c): together below 4e-26.
_RARE = 1e-25
_CELLS = 4000
_COUNTS = 400


@lru_cache(maxsize=64)
def _shuffled(epsilon: float, people: int) -> LatticeMassLoss:
    """The pair that dominates any shuffled epsilon-DP reports.

    The report of x is Q0 with probability h = e^eps/(1 + e^eps), else Q1, that of x' the other way round
    [Kairouz2017, Theorem 3.1]; every other report has a density of at least e^-eps times the mean of those
    of x and x', so with probability e^-eps it is Q0 or Q1 by a fair coin. So C ~ Binomial(people - 1, e^-eps)
    clones are among the reports, A of them Q0, and whoever knows which reports are clones or from x sees
    k = A + 1 with probability h, else k = A [FeldmanMcMillan2021]. Fewer clones hide less: their number is
    rounded down to a coarser set.
    """
    q = math.exp(-epsilon) * (1 - 1e-14)
    others = people - 1
    reach = 11.0 * math.sqrt(others * q * (1 - q)) + 60
    start, stop = max(0, math.floor(others * q - reach)), min(others, math.ceil(others * q + reach))
    clones = np.arange(start, stop + 1)
    weight = binomial_masses(clones.astype(np.float64), others, q)
    head, tail = 1 / (1 + math.exp(-epsilon)), math.exp(-epsilon) / (1 + math.exp(-epsilon))
    step = epsilon / _CELLS
    masses = np.zeros(2 * _CELLS + 1)
    stride = max(1, len(clones) // _COUNTS)
    for i in range(0, len(clones), stride):
        share, c = float(np.sum(weight[i : i + stride])), int(clones[i])
        if share <= 0.0:
            continue
        width = 6.0 * math.sqrt(c) + 60
        a = np.arange(max(0, math.floor(c / 2 - width)), min(c, math.ceil(c / 2 + width)) + 1)
        half = binomial_masses(a.astype(np.float64), c, 0.5)
        k = np.arange(int(a[0]), int(a[-1]) + 2)
        p = head * np.append(0.0, half) + tail * np.append(half, 0.0)
        # P(A = k-1)/P(A = k) = k/(c+1-k), so the ratio is in closed form.
        rest = c + 1 - k
        loss = np.log(head * k + tail * rest) - np.log(tail * k + head * rest)
        # Two logarithms of numbers up to 1e9 err by less than 400 units; no loss is above epsilon.
        loss = np.minimum(loss + 1e-13, epsilon)
        at = np.clip(np.ceil(loss / step + 1e-6).astype(np.int64) + _CELLS, 0, 2 * _CELLS)
        masses += np.bincount(at, weights=share * p, minlength=2 * _CELLS + 1)
    # 1e-9 is nine million units: the masses are products and sums of at most as many.
    return LatticeMassLoss(step, -_CELLS, tuple((masses * (1 + 1e-9)).tolist()), _RARE)


def _counted(epsilon: float, people: int) -> FiniteLoss | ResponseLoss | None:
    """Binary randomized response by everybody, all others answering 0: the number of ones."""
    if people == 1:
        return ResponseLoss(epsilon)
    # Shrunk by far more than the masses err, 3 units a count from the mode.
    tail = 1 / (1 + math.exp(epsilon * (1 - 1e-8)))
    others = people - 1
    mode, reach = math.floor(people * tail), math.ceil(8 * math.sqrt(others * tail) + 20)
    start, stop = max(0, mode - reach), min(others, mode + reach)
    if stop - start > 20_000:
        return None  # too many counts to list
    k = np.arange(start, stop, dtype=np.float64)
    logs = np.concatenate(([0.0], np.cumsum(np.log((others - k) / (k + 1) * (tail / (1 - tail))))))
    mass = np.exp(logs - logs.max())
    mass = mass / math.fsum(mass.tolist())
    up, down = np.append(0.0, mass), np.append(mass, 0.0)
    p, q = (1 - tail) * up + tail * down, tail * up + (1 - tail) * down
    return FiniteLoss(tuple(p.tolist()), tuple(q.tolist()))
