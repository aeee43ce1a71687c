"""The likely part of a binomial law in few blocks of neighbouring counts, their masses rounded up.

Ratios of neighbouring masses fall (the law is log-concave), so from the middle m of a block on,
f(m + i) <= f(m) rho^i with rho = f(m+1)/f(m), and likewise downward: a block has at most the mass of two
geometric series. With blocks of a few hundredths of a standard deviation that is some 1e-5 more than it has.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from flint import arb

from dpcheck.numerics.balls import below, precision
from dpcheck.numerics.rounding import ELEMENTARY, UNIT, Array
from dpcheck.numerics.tails import binomial_masses

# What lies outside of the blocks, at most. By Bernstein's inequality a count is t from its mean with
# probability at most 2 exp(-t^2 / (2 (var + t/3))); at t = 11 sd + 60 the exponent is above 60, so 2e-26. For
# fair coins (Hoeffding) it is at most 2 exp(-72) at t = 12 sd.
BEYOND = 5e-26
# Blocks that are cut; fair coins of fewer are not grouped.
BLOCKS, FEW = 4000, 2000


@dataclass(frozen=True, slots=True)
class Blocks:
    """Counts first[i] to last[i], whole numbers as floats, have at most the probability masses[i]."""

    first: Array
    last: Array
    masses: Array


def binomial_mass_below(trials: int, rows: int, k: int) -> float:
    """A float at most P(Binomial(trials, 1/rows) = k), in ball arithmetic.

    >>> round(binomial_mass_below(4, 2, 2), 9)
    0.375
    """
    with precision(256):
        log = arb(trials + 1).lgamma() - arb(k + 1).lgamma() - arb(trials - k + 1).lgamma()
        share = 1 / arb(rows)
        return max(0.0, below(log.exp() * share**k * (1 - share) ** (trials - k)))


def likely_blocks(trials: int, rate: float) -> Blocks:
    """All counts of Binomial(trials, rate) but for a probability of BEYOND.

    Guarantee: no mass is below the true one.

    >>> blocks = likely_blocks(10**15, 0.5)
    >>> len(blocks.first) <= 4000, round(float(blocks.masses.sum()), 4)
    (True, 1.0)
    """
    fair = rate == 0.5
    reach = (12 if fair else 11) * math.sqrt(trials * rate * (1 - rate)) + 60
    start = max(0, math.floor(trials * rate - reach))
    stop = min(trials, math.ceil(trials * rate + reach))
    size = -(-(stop - start + 1) // BLOCKS)
    # Whole numbers below 2^53 are exact as floats.
    first: Array = np.arange(start, stop + 1, size).astype(np.float64)
    last = np.minimum(first + (size - 1), stop)
    middle = np.floor((first + last) / 2)
    many = fair and trials >= FEW
    masses = _fair_masses(middle, trials) if many else binomial_masses(middle, trials, rate)
    if size > 1:
        # rho and its inverse at the counts next to the middle: four roundings.
        odds = rate / (1 - rate)
        up = np.log((trials - middle) * odds / (middle + 1))
        down = np.log(middle / ((trials - middle + 1) * odds))
        masses = masses * (1 + _series(up, last - middle) + _series(down, middle - first))
    return Blocks(first, last, masses)


def _series(log_ratio: Array, terms: Array) -> Array:
    """sum_{i=1}^{terms} e^(i log_ratio), rounded up.

    An error d of the logarithm, here at most 16 units of 1 + |log|, moves the sum by `terms` d relatively.
    """
    far = np.expm1(terms * log_ratio) * np.exp(log_ratio)
    near = np.expm1(log_ratio)
    sums = np.where(near == 0, terms, far / np.where(near == 0, 1.0, near))
    return np.asarray(sums * (1 + 32 * UNIT * (1 + np.abs(log_ratio)) * (2 + terms)))


def _fair_masses(k: Array, trials: int) -> Array:
    """P(Binomial(trials, 1/2) = k), rounded up, for k within 12 sd + 60 of the mean and trials >= FEW.

    By Stirling's formula with its bounds [Robbins1955]: n! is sqrt(2 pi n) (n/e)^n times a factor between
    e^(1/(12n+1)) and e^(1/(12n)). With d = 2k - n, exact, the exponent is k log(1 + d/n) + (n-k) log(1 - d/n)
    with |d| <= n/3: two terms of at most |d| each, right within 13 units; all else is at most 100 and errs by
    10 units of it.
    """
    n, j, d = float(trials), trials - k, 2 * k - trials
    exponent = -(k * np.log1p(d / n) + j * np.log1p(-d / n))
    logs = exponent + 0.5 * np.log(n / (2 * math.pi * k * j))
    logs = logs + (1 / (12 * n) - 1 / (12 * k + 1) - 1 / (12 * j + 1))
    slip = UNIT * (26 * np.abs(d) + 1000)
    return np.asarray(np.exp(logs + slip) * (1 + 2 * ELEMENTARY))
