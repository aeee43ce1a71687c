"""Noise of density exp(-|b|) in d dimensions: the law of its loss, and tables that enclose it.

b has length r ~ Gamma(d) and an independent direction; let c be the cosine of its angle to the shift,
whose length is a. The loss of b against b + shift is L = |b + shift| - |b|, so L <= a, and

    P(L > l) = P(r < (a-l)/2) + E[ 1{r > (a-l)/2} P(c > l/a + (l^2 - a^2)/(2 a r)) ]:

for r + l < 0 the event is certain, else it is |b + shift|^2 > (r + l)^2, solved for c. The cosine's
threshold rises with r, so the expectation is that of a function falling in r, enclosed by its values at
the ends of cells. P(c > t) = I_{(1-t)/2}((d-1)/2, (d-1)/2). Reflection b -> -b - shift exchanges the two
sides and the sign of L, hence Q(L > l) = P(L < -l) and delta(l) = P(L > l) - e^l P(L < -l).

A longer shift dominates a shorter one. What is orthogonal to the shift is the same on both sides, and
given it the density along the shift is log-concave: there the best tests are thresholds, {x < t} has
F(t) - e^l F(t - a), and F(t - a) falls with a.

Objective perturbation. Replacing a record by another is removing it (replacing it by 0) and adding the
other. Removal moves the noise by s x, s in (0, 1) a function of the output, and its determinants by
at most 1 + s(1-s)|x|^2/m (`accounting.objective`); in units of the noise, with t = s a,

    L <= max over 0 <= t <= a of |b + t u| - |b| + log(1 + k t (a-t)/a^2),  k = q^2/m,  u = x/|x|,

which grows with |x| <= q, rises with c and falls with r: its law is enclosed from above on cells of
(r, c). Addition moves the noise by s x' and its determinants in its favour, and |b + t u| is convex in
t: L <= max(0, |b + a u| - |b|), the loss above. Of two steps, delta(e1 + e2) <= delta1(e1) + e^e1
delta2(e2). Flipping a label moves the noise by s x + (1-s) x = x and the determinants not at all: the
pair above, which is what is known from below.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise

import numpy as np
from scipy.special import betainc, betaincinv, gammainc, gammaincc, gammainccinv, gammaincinv

from dpcheck.accounting.losses import FiniteLoss, ObjectiveLoss, SphericalLoss
from dpcheck.accounting.pld.pairs.tables import from_curve, from_tests
from dpcheck.numerics.rounding import Array

# Cells of the radius, and knots of a table; more of them narrow the bounds, none of them moves a side.
CELLS, KNOTS = 8192, 129
GRID, SLOPES = 384, 48  # of radius and cosine, and of t, where determinants count
# The incomplete beta and gamma functions of scipy err by less, relative to themselves, down to 1e-100
# (tests compare them with mpmath); what lies below is lost in FAINT. Radii beyond which a share FAR lies
# are one cell.
ROUNDING, FAINT, FAR = 1e-10, 1e-100, 1e-25


def exceeds(loss: SphericalLoss, losses: Array, cells: int = CELLS) -> tuple[Array, Array]:
    """(lower, upper) bounds on P(L > l) for every l in [-ratio, ratio].

    Guarantee: encloses the probability.
    """
    a, d = loss.ratio, loss.dimension
    low, high = np.zeros(len(losses)), np.zeros(len(losses))
    top = float(gammainccinv(d, FAR))
    share = np.linspace(0.0, 1.0, cells + 1) ** 2
    for i, level in enumerate(losses):
        if level >= a:
            continue
        certain = max(0.0, (a - level) / 2)
        r = certain + (max(top, certain) - certain) * share
        beyond = gammaincc(d, r)
        chance = _beyond_cosine(_cosine(r, level, a), d)
        mass = np.maximum(beyond[:-1] - beyond[1:], 0.0)
        sure = float(gammainc(d, certain))
        low[i] = sure + float(chance[1:] @ mass)
        high[i] = sure + float(chance[:-1] @ mass) + float(chance[-1] * beyond[-1])
    low, high = low * (1 - ROUNDING), high * (1 + ROUNDING) + FAINT
    return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)


def _cosine(r: Array, level: float, a: float) -> Array:
    with np.errstate(divide="ignore"):
        threshold = level / a + (level - a) * (level + a) / (2 * a * r)
    return np.clip(threshold, -1.0, 1.0)


def _beyond_cosine(threshold: Array, dimension: int) -> Array:
    """P(c > threshold)."""
    half = (dimension - 1) / 2
    return np.asarray(betainc(half, half, (1 - threshold) / 2))


def deltas(loss: SphericalLoss, epsilons: Array, cells: int = CELLS) -> tuple[Array, Array]:
    """(lower, upper) bounds on delta at every epsilon, of any sign.

    Guarantee: encloses delta; 0 from `ratio` on.

    >>> low, high = deltas(SphericalLoss(1.0, 2), np.array([0.5]))
    >>> round(float(low[0]), 3), round(float(high[0]), 3)
    (0.123, 0.123)
    """
    a = loss.ratio
    inside = np.clip(epsilons, -a, a)
    tests = _tests(loss, inside, cells)
    low = tests[0] - np.exp(inside) * tests[3]
    high = tests[1] - np.exp(inside) * tests[2]
    trivial = np.maximum(0.0, -np.expm1(epsilons))
    low = np.where(epsilons >= a, 0.0, low)
    high = np.where(epsilons >= a, 0.0, high)
    below = epsilons <= -a
    return (
        np.where(below, trivial, np.maximum(low, trivial)),
        np.where(below, trivial, np.minimum(np.maximum(high, trivial), 1.0)),
    )


def _tests(
    loss: SphericalLoss, levels: Array, cells: int = CELLS
) -> tuple[Array, Array, Array, Array]:
    """P(L > l) and Q(L > l) from both sides: (P low, P high, Q low, Q high)."""
    p_low, p_high = exceeds(loss, levels, cells)
    q_low, q_high = _less(loss, -levels, cells)
    return p_low, p_high, q_low, q_high


def _less(loss: SphericalLoss, levels: Array, cells: int) -> tuple[Array, Array]:
    """(lower, upper) bounds on P(L < l), summed on its own so that small ones keep their digits."""
    a, d = loss.ratio, loss.dimension
    low, high = np.zeros(len(levels)), np.zeros(len(levels))
    top = float(gammainccinv(d, FAR))
    share = np.linspace(0.0, 1.0, cells + 1) ** 2
    for i, level in enumerate(levels):
        if level <= -a:
            continue
        if level >= a:
            low[i] = high[i] = 1.0
            continue
        start = (a - level) / 2
        r = start + (max(top, start) - start) * share
        past = gammaincc(d, r)
        # Rises with r: the cosine has to be below a threshold that rises.
        chance = _beyond_cosine(-_cosine(r, level, a), d)
        mass = np.maximum(past[:-1] - past[1:], 0.0)
        low[i] = float(chance[:-1] @ mass) + float(chance[-1] * past[-1])
        last = float(_beyond_cosine(np.array([-level / a]), d)[0])
        high[i] = float(chance[1:] @ mass) + last * float(past[-1])
    low, high = low * (1 - ROUNDING), high * (1 + ROUNDING) + FAINT
    return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)


@lru_cache(maxsize=64)
def contained(loss: SphericalLoss) -> FiniteLoss:
    """Two tables of masses that the loss dominates, each the other backwards.

    Guarantee: no test of the table beats the loss's.
    """
    power, _, _, level = _tests(loss, _knots(loss.ratio)[:-1])
    return from_tests(power, level)


@lru_cache(maxsize=64)
def dominating(loss: SphericalLoss) -> FiniteLoss:
    """Two tables of masses that dominate the loss, each the other backwards.

    Guarantee: no test of the loss beats the table's.
    """
    levels = _knots(loss.ratio)
    return from_curve(levels, deltas(loss, levels)[1])


@lru_cache(maxsize=64)
def dominating_replaced(loss: ObjectiveLoss) -> FiniteLoss:
    """The same of objective perturbation."""
    levels = _knots(loss.epsilon)
    return from_curve(levels, _replaced(loss, levels))


def _knots(largest: float) -> Array:
    """Levels from 0 to past the largest loss, by a few roundings: what is 0 there must be 0."""
    levels = largest * (1 + 1e-12) * np.sin(np.pi / 2 * np.linspace(0.0, 1.0, KNOTS))
    levels[-1] = largest * (1 + 1e-12)
    return levels


def _replaced(loss: ObjectiveLoss, epsilons: Array) -> Array:
    """Upper bounds on delta of one replaced record, removal and addition taken together."""
    shares = np.linspace(0.0, 1.0, 33)
    first = epsilons[:, None] * shares
    removal = _removed(loss, first.ravel()).reshape(first.shape)
    # Additions at a common grid, rounded to the smaller epsilon next to it.
    grid = np.linspace(0.0, loss.flipped.ratio, 257)
    known = np.append(deltas(loss.flipped, grid)[1], 0.0)
    second = np.searchsorted(grid, epsilons[:, None] - first, side="right") - 1
    addition = known[np.where(epsilons[:, None] - first >= grid[-1], len(grid), second)]
    both = np.min(removal + np.exp(first) * addition, axis=1) * (1 + ROUNDING)
    most = loss.epsilon
    # Randomized response is the worst of all pairs of bounded loss [Kairouz2017, Theorem 3.1].
    pure = np.maximum(0.0, -np.expm1(epsilons - most) / (1 + math.exp(-most)))
    return np.asarray(np.minimum(both, pure * (1 + 1e-14)))


def _removed(loss: ObjectiveLoss, epsilons: Array) -> Array:
    """E[(1 - e^(eps - L))+] over cells, each with the largest loss it has."""
    worst, mass = _cells(loss)
    order = np.argsort(worst)
    worst, mass = worst[order], mass[order]
    # Sums over losses above eps: of the masses, and of the masses times e^-loss.
    above = np.append(np.cumsum(mass[::-1])[::-1], 0.0)
    damped = np.append(np.cumsum((mass * np.exp(-worst))[::-1])[::-1], 0.0)
    place = np.searchsorted(worst, epsilons, side="right")
    value = above[place] - np.exp(epsilons) * damped[place]
    # Sums of as many terms err by less than their number of roundings, of the larger sum.
    slack = len(mass) * 2.0**-52 * above[place]
    return np.asarray(np.minimum(1.0, np.maximum(value, 0.0) + slack + FAINT))


@lru_cache(maxsize=16)
def _cells(loss: ObjectiveLoss) -> tuple[Array, Array]:
    """(largest loss, mass) of every cell of radius and cosine: small radius, large cosine."""
    a, d = loss.ratio, loss.dimension
    # Half of the cells for the bulk, half for the tails, where small deltas come from.
    tail = np.geomspace(1e-30, 0.02, GRID // 4)
    shares = np.unique(np.concatenate([tail, np.linspace(0.02, 0.98, GRID // 2), 1 - tail]))
    r = np.concatenate([[0.0], gammaincinv(d, shares[shares < 1])])
    past = np.append(gammaincc(d, r), 0.0)
    half = (d - 1) / 2
    beyond = np.unique(np.concatenate([np.geomspace(1e-40, 0.02, GRID // 2), shares, [1.0]]))
    edges = 1 - 2 * np.asarray(betaincinv(half, half, beyond))  # falling, to -1
    c = np.append(1.0, edges[:-1])
    chance = np.diff(np.append(0.0, _beyond_cosine(edges, d)))
    t = np.linspace(0.0, a, SLOPES + 1)
    worst, before = np.full((len(r), len(c)), -np.inf), np.zeros((len(r), len(c)))
    for low, high in pairwise(t.tolist()):
        # |b + t u| is convex in t: largest at an end of the piece; the logarithm where t is next to a/2.
        square = r[:, None] ** 2 + 2 * r[:, None] * high * c + high**2
        length = np.sqrt(np.maximum(square, 0.0)) - r[:, None]
        middle = min(max(a / 2, low), high)
        bend = math.log1p(loss.curvature * middle * (a - middle) / a**2)
        worst = np.maximum(worst, np.maximum(before, length) + bend)
        before = length
    # Differences of lengths err by a few roundings of the radius.
    worst += 1e-12 * (1 + r[:, None])
    mass = np.maximum(past[:-1] - past[1:], 0.0)[:, None] * np.maximum(chance, 0.0)
    return worst.ravel(), mass.ravel() * (1 + ROUNDING)
