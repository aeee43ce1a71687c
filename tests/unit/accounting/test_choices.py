"""Choices that are made again and again: a person may be in another branch every time."""

from __future__ import annotations

import math
from math import comb, log

import mpmath
import numpy as np
import pytest

import dpcheck
from dpcheck.accounting.accountants import best
from dpcheck.accounting.compose import MOST_PROFILES, profiles
from dpcheck.core.adjacency import Adjacency

RARE = ((0.02, 0.98), (0.002, 0.998))  # a rare outcome that says much
OFTEN = ((0.55, 0.45), (0.45, 0.55))  # a frequent one that says little
TIMES = 40


def _outcomes(pair, times):
    """Losses and P-masses of every count of first outcomes, from the definition."""
    (p, p_), (q, q_) = pair
    k = np.arange(times + 1)
    ways = np.array([float(comb(times, int(i))) for i in k])
    return k * log(p / q) + (times - k) * log(p_ / q_), ways * p**k * p_ ** (times - k)


def _delta(epsilon, first, second, rare):
    """The divergence of `rare` uses of one pair and the others of the other."""
    a, p = _outcomes(first, rare)
    b, r = _outcomes(second, TIMES - rare)
    over = np.maximum(a[:, None] + b - epsilon, 0.0)
    return float(p @ -np.expm1(-over) @ r)


def _worst(epsilon):
    turned = [tuple(reversed(pair)) for pair in (RARE, OFTEN)]
    mixtures = [(pairs, rare) for pairs in ((RARE, OFTEN), turned) for rare in range(TIMES + 1)]
    return max(_delta(epsilon, *pairs, rare) for pairs, rare in mixtures)


def _pair_above(epsilon):
    """The best test at each level of either table: (0, 0), (.002, .02), (.45, .55), (1, 1), by slopes."""
    p, q = np.array([0.02, 0.53, 0.45]), np.array([0.002, 0.448, 0.55])
    counts = [(i, j, TIMES - i - j) for i in range(TIMES + 1) for j in range(TIMES + 1 - i)]
    ways = np.array([comb(TIMES, i) * comb(TIMES - i, j) for i, j, _ in counts], dtype=float)
    masses = ways * np.prod(p ** np.array(counts), axis=1)
    over = np.maximum(np.array(counts) @ np.log(p / q) - epsilon, 0.0)
    return float(masses @ -np.expm1(-over))


@pytest.mark.parametrize("delta", [1e-2, 1e-6])
def test_a_choice_among_tables_costs_its_worst_mixture(delta):
    """By enumeration of every mixture, in both directions."""
    assert TIMES >= MOST_PROFILES
    event = (dpcheck.FinitePair(*RARE) | dpcheck.FinitePair(*OFTEN)) * TIMES
    bound = dpcheck.epsilon(event, delta=delta, adjacency="add-remove")
    assert _worst(bound.upper) <= delta * (1 + 1e-9)
    assert _worst(bound.lower) >= delta * (1 - 1e-9)
    # The least pair above both tables is what is accounted: it costs more than any mixture of them.
    assert _pair_above(bound.upper) <= delta * (1 + 1e-9)
    assert _pair_above(bound.upper / 1.005) > delta


def test_the_same_choice_every_time_is_a_lower_bound():
    """The closed form of 1,000 Gaussians, for the other branch costs less."""
    event = (dpcheck.Gaussian(50.0) | dpcheck.Laplace(60.0)) * 1000
    bound = dpcheck.epsilon(event, delta=1e-5, adjacency="add-remove")
    mu = math.sqrt(1000) / 50

    def exact(epsilon):
        tail = mpmath.ncdf(-epsilon / mu + mu / 2)
        return tail - mpmath.exp(epsilon) * mpmath.ncdf(-epsilon / mu - mu / 2)

    with mpmath.workdps(30):
        truth = float(mpmath.findroot(lambda e: exact(e) - mpmath.mpf("1e-5"), 2.6))
    assert truth * (1 - 1e-9) <= bound.lower <= truth * (1 + 1e-9)
    assert truth < bound.upper < 1.01 * truth


def test_alternatives_together_cost_what_the_worst_does():
    """A few pure steps of two kinds beside many others: nine alternatives."""
    event = (
        dpcheck.SampledGaussian(2.0, 0.01) * 10_000
        + (dpcheck.PureDP(1e-5) | dpcheck.SampledLaplace(1e5, 0.5)) * 8
    )
    options = profiles(event, Adjacency.ADD_REMOVE)
    assert len(options) == 9
    together = dpcheck.epsilon(event, delta=1e-6, adjacency="add-remove")
    each = [best.best_epsilon(option, 1e-6, best.accountants()) for option in options]
    assert together.upper >= max(bound.lower for bound in each)
    assert together.upper <= max(bound.upper for bound in each)
    assert together.lower == max(bound.lower for bound in each)
