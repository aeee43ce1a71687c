"""Masses of intervals under a normal or a Laplace law, each with a proved error."""

from __future__ import annotations

import numpy as np
from flint import arb

from dpcheck.numerics.balls import above, below, precision
from dpcheck.numerics.normal import LAST, normal_tail
from dpcheck.numerics.rounding import ELEMENTARY, TINY, UNIT, Array


def normal_masses(cuts: Array, mean: float | Array) -> tuple[Array, Array]:
    """(mass, error) of N(mean, 1) between consecutive `cuts`, increasing, infinite ends allowed.

    A column of means gives a row for each.
    """
    z = cuts - mean
    size = np.abs(z)
    tail, error = normal_tail(size)
    # z = cut - mean is rounded by UNIT |z|; the hazard rate is below |z| + 1 [Birnbaum1942], and
    # |z| (|z| + 1) <= 1 + 1.25 z^2. Beyond LAST there is no tail left that could move.
    bounded = np.minimum(size, LAST)
    error += tail * (UNIT * 1.01 * (1 + 1.25 * bounded * bounded))
    return _between(z, tail, error)


def laplace_masses(cuts: Array, mean: float | Array) -> tuple[Array, Array]:
    """(mass, error) of Laplace(mean, 1) between consecutive `cuts`; for a column of means a row for each."""
    z = cuts - mean
    tail = 0.5 * np.exp(-np.abs(z))
    error = tail * (ELEMENTARY + UNIT * np.where(np.isfinite(z), np.abs(z), 0.0)) + TINY
    return _between(z, tail, error)


def _between(z: Array, tail: Array, error: Array) -> tuple[Array, Array]:
    """Differences of tails, each taken on the side where it is small; z does not fall."""
    left, right = z[..., :-1], z[..., 1:]
    low, high = tail[..., :-1], tail[..., 1:]
    # A difference below 0 stands for a mass of at least 0: without its sign it is nearer.
    mass = np.abs(high - low)
    across = (left < 0) & (right > 0)
    mass[across] = np.maximum(1.0 - low[across] - high[across], 0.0)
    error = error[..., :-1] + error[..., 1:] + 4 * UNIT * mass
    error[left == right] = 0.0
    return mass, error


def binomial_masses(successes: Array, trials: int, rate: float) -> Array:
    """P(Binomial(trials, rate) = k) for each k, rounded up, in ball arithmetic.

    >>> round(float(binomial_masses(np.array([2.0]), 4, 0.5)[0]), 9)
    0.375
    """
    found: list[float] = []
    with precision(128):
        p = arb(rate)
        term, last = arb(0), -2
        for k in np.asarray(successes, dtype=np.float64).astype(np.int64).tolist():
            if k == last + 1 and rate < 1:
                term = term * p * (trials - last) / ((1 - p) * k)
            else:
                term = _binomial_mass(trials, p, k)
            last = k
            found.append(above(term))
    return np.asarray(found, dtype=np.float64)


def _binomial_mass(trials: int, p: arb, k: int) -> arb:
    log = arb(trials + 1).lgamma() - arb(k + 1).lgamma() - arb(trials - k + 1).lgamma()
    mass = log.exp()
    # p = 1 leaves one outcome; powers of 0 are 0 or 1.
    return mass * p**k * (1 - p) ** (trials - k)


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
