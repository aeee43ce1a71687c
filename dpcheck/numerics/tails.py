"""Masses of intervals under a normal or a Laplace law, each with a proved error.

scipy's `ndtr` errs relatively by less than (32 + 4 z^2) units for z <= 0 (test_numerics_tails.py
compares it with ball arithmetic on a dense grid down to z = -37.5); twice that is assumed here, and
the rounding of z itself moves the tail by less than (1 + z^2) units more.
"""

from __future__ import annotations

import numpy as np
from flint import arb
from scipy.special import gammaln, ndtr, xlog1py, xlogy

from dpcheck.numerics.balls import above, below, precision
from dpcheck.numerics.rounding import ELEMENTARY, TINY, UNIT, Array


def normal_masses(cuts: Array, mean: float) -> tuple[Array, Array]:
    """(mass, error) of N(mean, 1) between consecutive `cuts`, increasing, infinite ends allowed."""
    z = cuts - mean
    tail = ndtr(-np.abs(z))
    bounded = np.where(np.isfinite(z), z, 0.0)
    error = tail * (UNIT * (66 + 9 * bounded**2)) + TINY
    return _between(z, tail, error)


def laplace_masses(cuts: Array, mean: float) -> tuple[Array, Array]:
    """(mass, error) of Laplace(mean, 1) between consecutive `cuts`."""
    z = cuts - mean
    tail = 0.5 * np.exp(-np.abs(z))
    error = tail * (ELEMENTARY + UNIT * np.where(np.isfinite(z), np.abs(z), 0.0)) + TINY
    return _between(z, tail, error)


def _between(z: Array, tail: Array, error: Array) -> tuple[Array, Array]:
    """Differences of tails, each taken on the side where it is small."""
    left, right = z[:-1], z[1:]
    low, high = tail[:-1], tail[1:]
    below = high - low
    mass = np.where(right <= 0, below, np.where(left >= 0, -below, 1.0 - low - high))
    mass = np.maximum(mass, 0.0)
    error = np.where(left == right, 0.0, error[:-1] + error[1:] + 4 * UNIT * mass)
    return mass, error


def binomial_masses(successes: Array, trials: int, rate: float) -> Array:
    """P(Binomial(trials, rate) = k) for each k, rounded up.

    gammaln errs by a few units of its value, the largest of which is log trials!.

    >>> round(float(binomial_masses(np.array([2.0]), 4, 0.5)[0]), 9)
    0.375
    """
    k = np.asarray(successes, dtype=np.float64)
    whole = float(gammaln(trials + 1))
    logs = whole - gammaln(k + 1) - gammaln(trials - k + 1)
    logs = logs + xlogy(k, rate) + xlog1py(trials - k, -rate)
    return np.asarray(np.exp(logs) * (1 + 1e-14 * (1 + whole)) + TINY)


def binomial_tail(trials: int, rate: float, least: int) -> tuple[float, float]:
    """Floats below and above P(Binomial(trials, rate) >= least), in ball arithmetic.

    The sum from `least` on, cut where a geometric series bounds the rest.

    >>> round(binomial_tail(10, 0.5, 8)[1], 6)
    0.054688
    """
    if least <= 0:
        return 1.0, 1.0
    if least > trials:
        return 0.0, 0.0
    if rate >= 1:
        return 1.0, 1.0
    with precision(128):
        p = arb(rate)
        odds = p / (1 - p)
        # On the side of the smaller tail the terms fall; the other one is its complement.
        upper = least > trials * rate
        start = least if upper else least - 1
        log_term = (
            arb(trials + 1).lgamma() - arb(start + 1).lgamma() - arb(trials - start + 1).lgamma()
        )
        term = (log_term + start * p.log() + (trials - start) * (1 - p).log()).exp()
        total, k = arb(0), start
        while True:
            total += term
            if k == (trials if upper else 0):
                break
            ratio = odds * (trials - k) / (k + 1) if upper else k / (odds * (trials - k + 1))
            term, k = term * ratio, k + (1 if upper else -1)
            if ratio < 1 and term < total * arb(2) ** -90 * (1 - ratio):
                # Ratios fall from here on: the rest is at most a geometric series.
                total = total.union(total + term / (1 - ratio))
                break
        tail = total if upper else 1 - total
        return max(0.0, below(tail)), min(1.0, above(tail))
