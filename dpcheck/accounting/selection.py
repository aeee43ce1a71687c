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
from dpcheck.numerics.binomial import BEYOND, likely_blocks
from dpcheck.numerics.enclose import enclose, enclose_product, enclose_quotient
from dpcheck.numerics.lattice import Lattice, spread_atoms
from dpcheck.numerics.rounding import FAINTEST, UNIT, Array


def _moves(event: selection.ReportNoisyMax | selection.AboveThreshold, adjacency: Adjacency) -> int:
    """By how many sensitivities the lead of one score over another may change.

    By one where all scores rise, or all fall, by two elsewhere. Monotone scores are so when one is added:
    a replacement is a removal and an addition, and what is known of a replacement alone is no help.
    """
    if event.monotone and event.adjacency is not Adjacency.REPLACE_ONE:
        return stated_steps(event.adjacency or Adjacency.ADD_REMOVE, adjacency)
    return 2 * stated_steps(event.adjacency, adjacency)


def _rare_answer(often: float, seldom: float) -> FiniteLoss:
    """An answer given with these probabilities on the two sides, moved together by more than rounding.

    Together is below: the test of power `often` and size `seldom` is among those of the pair. A probability
    that underflows is not 0: 0 would be an infinite loss.
    """
    often, seldom = often * (1 - 1e-12), max(seldom * (1 + 1e-12), FAINTEST)
    if seldom >= often:  # nothing is left, and beyond it they would be apart again
        return FiniteLoss((1.0,), (1.0,))
    return FiniteLoss((often, 1 - often), (seldom, 1 - seldom))


@worst_case.register
def _(event: selection.ReportNoisyMax, adjacency: Adjacency, group: int = 1) -> LossBounds:
    moves = _moves(event, adjacency) * group
    epsilon = enclose_quotient(moves, event.noise_multiplier)
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
    down, up = enclose_product(event.epsilon, steps)
    return LossBounds(ResponseLoss(up), _flipped(down))


def _flipped(epsilon: float) -> FiniteLoss:
    """Two candidates: the worse one is taken with probability e^{-epsilon d/2}/2, d sensitivities behind."""
    return _rare_answer(0.5, 0.5 * math.exp(-epsilon))


@worst_case.register
def _(event: selection.AboveThreshold, adjacency: Adjacency, group: int = 1) -> LossBounds:
    """[Lyu2017] Theorem 4: 1/threshold noise, and for each positive answer 2 (monotone: 1)/query noise."""
    monotone = Adjacency.ADD_REMOVE if event.monotone and event.adjacency is None else None
    steps = stated_steps(event.adjacency or monotone, adjacency) * group
    moves = _moves(event, adjacency) * group * event.positives
    total = steps / Fraction(event.threshold_noise) + moves / Fraction(event.query_noise)
    return LossBounds(ResponseLoss(enclose(total)[1]), None)


@worst_case.register
def _(event: selection.ShuffledReports, adjacency: Adjacency, group: int = 1) -> LossBounds:
    if adjacency is not Adjacency.REPLACE_ONE:
        raise UnsupportedAdjacency(
            f"everybody sends one report, so {adjacency} changes how many there are; account it under "
            "replace-one.",
            adjacency=adjacency,
        )
    local = ResponseLoss(event.epsilon)
    alone = event.people == 1 or event.epsilon < _LEAST
    upper: Loss = local if alone else _shuffled(event.epsilon, event.people)
    if group > 1:
        upper = GroupedLoss(upper, group)
    # One of them flips a coin of that epsilon, the others too: ones are counted.
    return LossBounds(upper, _counted(event.epsilon, event.people))


# Reports that tell more are, below, as if they told no more: masses stay floats.
_MOST_TOLD = 500.0
# Weaker reports are not worth mixing; their lattice would leave the range of floats.
_LEAST = 1e-100
_CELLS = 4000
_COUNTS = 400


@lru_cache(maxsize=64)
def _shuffled(epsilon: float, people: int) -> LatticeMassLoss:
    """The pair that dominates any shuffled epsilon-DP reports.

    The report of x is Q0 with probability h = e^eps/(1 + e^eps), else Q1, that of x' the other way round
    [Kairouz2017, Theorem 3.1]; every other report has a density of at least e^-eps times the mean of those
    of x and x', so with probability e^-eps it is Q0 or Q1 by a fair coin. So C ~ Binomial(people - 1, e^-eps)
    clones are among the reports, A of them Q0, and whoever knows which reports are clones or from x sees
    k = A + 1 with probability h, else k = A [FeldmanMcMillan2021]. Fewer clones hide less, and
    more of Q0 tell more: numbers of clones are rounded down to a coarser set, numbers of Q0 up.
    """
    q = math.exp(-epsilon) * (1 - 1e-14)
    clones = likely_blocks(people - 1, q)
    every = max(1, len(clones.first) // _COUNTS)
    groups = [
        (int(clones.first[i]), float(np.sum(clones.masses[i : i + every])))
        for i in range(0, len(clones.first), every)
    ]
    head, tail = 1 / (1 + math.exp(-epsilon)), math.exp(-epsilon) / (1 + math.exp(-epsilon))
    atoms: list[tuple[Array, Array]] = []
    for c, share in groups:
        zeros = likely_blocks(c, 0.5)
        for weight, more in ((head, 1), (tail, 0)):
            atoms.append((share * weight * zeros.masses, _told(epsilon, zeros.last + more, c)))
    top = max(float(loss.max()) for _, loss in atoms)
    lattice = Lattice(top * (1 + 8 * UNIT) / _CELLS)
    masses = np.zeros(2 * _CELLS + 1)
    for p, loss in atoms:
        index, left, right = spread_atoms(lattice, p, loss)
        for at, part in ((index, left), (index + 1, right)):
            # No loss is beyond the last point.
            kept = np.clip(at + _CELLS, 0, 2 * _CELLS)
            masses += np.bincount(kept, weights=part, minlength=len(masses))
    # 1e-9 is nine million units: the masses are products and sums of at most as many.
    scaled = tuple((masses * (1 + 1e-9)).tolist())
    # However rare, reports of epsilon-DP mechanisms tell no more than epsilon.
    return LatticeMassLoss(lattice.step, -_CELLS, scaled, 2 * BEYOND, most=epsilon)


def _told(epsilon: float, k: Array, clones: int) -> Array:
    """The loss log (h k + (1-h) r)/((1-h) k + h r), r = clones + 1 - k, rounded up and at most epsilon.

    It is log(1 + (2h - 1) |k - r| / (the smaller of the two)) with the sign of k - r. The counts are exact;
    the factors err by 20 units each, sums and quotient by 6, the logarithm by 8: 60 in all, 1e-13 is 900.
    """
    e = math.exp(-epsilon)
    ahead = 2 * k - (clones + 1)
    smaller = e * np.maximum(k, clones + 1 - k) + np.minimum(k, clones + 1 - k)
    with np.errstate(divide="ignore", over="ignore"):  # nobody to hide among: all of epsilon
        loss = np.log1p(-math.expm1(-epsilon) * np.abs(ahead) / smaller)
    loss = np.minimum(loss, epsilon)
    return np.minimum(np.where(ahead > 0, loss * (1 + 1e-13), -loss * (1 - 1e-13)), epsilon)


def _counted(epsilon: float, people: int) -> FiniteLoss | ResponseLoss | None:
    """Binary randomized response by everybody, all others answering 0: the number of ones.

    Unlikely numbers, and those next to them, whose ratio hangs on one, are one outcome with the likeliest.
    """
    if people == 1:
        return ResponseLoss(epsilon)
    # Shrunk by far more than the masses err, 3 units a count from the mode.
    tail = 1 / (1 + math.exp(min(epsilon, _MOST_TOLD) * (1 - 1e-8)))
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
    likeliest = int(np.argmax(p))
    merged = np.minimum(p, q) < FAINTEST
    merged[0] |= start > 0
    merged[-1] |= stop < others
    merged[likeliest] = False
    for table in (p, q):
        table[likeliest] += float(np.sum(table[merged]))
        table[merged] = 0.0
    return FiniteLoss(tuple(p.tolist()), tuple(q.tolist()))
