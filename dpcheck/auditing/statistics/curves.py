"""One-run audits of a claim that is a curve: Gaussian bounds, and what independence adds.

A training is one mechanism whose output depends on all coins. A claim speaks of each canary given
all others, and says nothing about how their leaks go together: a mechanism that with probability q
leaks about everybody and else about nobody keeps a claim that looks at one canary at a time. So
without more being known no test can be sharp; `refutes_curve` is valid for every such mechanism.
Where each score depends on its own canary and on noise of its own alone, it can: `independent_*`.
docs/explanation/one-run.md has the proofs and how far each can reach.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import bdtrc, expit, ndtr, ndtri

from dpcheck.auditing.statistics.guesses import Guesses, refutes_curve
from dpcheck.core.validate import open_probability

Tradeoff = Callable[[float], float]
_SHARES = (0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.25, 0.5, 1.0)
_LARGEST_MU = 40.0


def gaussian_tradeoff(mu: float) -> Tradeoff:
    """f of mu-GDP: the least false-negative rate at a false-positive rate.

    Reference: [Dong2022] Definition 2.6.

    >>> round(gaussian_tradeoff(1.0)(0.05), 6)
    0.740489
    """

    def f(rate: float) -> float:
        if rate <= 0.0:
            return 1.0
        return 0.0 if rate >= 1.0 else float(ndtr(-ndtri(rate) - mu))

    return f


def largest_refuted(refuted: Callable[[float], bool], highest: float = _LARGEST_MU) -> float:
    """The largest parameter that is refuted, from below; 0 if none is. Refuted means all below are."""
    if not refuted(1e-6):
        return 0.0
    low, high = 1e-6, 0.5
    while refuted(high):
        low, high = high, 2 * high
        if high > highest:
            return low
    for _ in range(24):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low


def gaussian_lower(seen: Guesses, alpha: float) -> float:
    """The largest mu for which mu-GDP is refuted at level alpha.

    Guarantee: a mu-GDP training gets a value of mu or more with probability at most alpha.
    Reference: [Mahloujifar2025] Algorithm 3 with the trade-off function of mu-GDP.
    Assumes: independent fair coins.

    >>> round(gaussian_lower(Guesses(5000, 250, 236), 0.05), 2)
    0.77
    """
    return largest_refuted(lambda mu: refutes_curve(seen, gaussian_tradeoff(mu), alpha))


def best_accuracy(tradeoff: Tradeoff) -> float:
    """The best accuracy of a guess of one fair coin under a symmetric trade-off function.

    A test with rates (a, b) guesses rightly with probability 1 - (a + b)/2; on a symmetric convex f
    that is largest at the fixed point f(c) = c. Guarantee: never below it.

    >>> round(best_accuracy(gaussian_tradeoff(1.0)), 6) == round(float(ndtr(0.5)), 6)
    True
    """
    low, high = 0.0, 0.5
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if tradeoff(middle) >= middle else (low, middle)
    return 1.0 - low


def independent_p_value(seen: Guesses, tradeoff: Tradeoff) -> float:
    """How likely so many right guesses are under f-DP if the scores are independent, at most.

    Given all scores the coins are independent, each guessed rightly with probability at most its
    own larger posterior, which depends on its own score alone and is `best_accuracy` on average.
    Right guesses are therefore stochastically at most Binomial(canaries, best_accuracy).
    Assumes: every coin is guessed; scores of different canaries are independent given the coins.

    >>> round(independent_p_value(Guesses(100, 100, 60), gaussian_tradeoff(0.0)), 4)
    0.0284
    """
    if seen.guessed != seen.canaries:
        raise ValueError("independent_p_value needs a guess of every coin.")
    if seen.correct == 0:
        return 1.0
    return float(bdtrc(seen.correct - 1, seen.guessed, best_accuracy(tradeoff)))


def independent_gaussian_lower(seen: Guesses, alpha: float) -> float:
    """The largest mu for which mu-GDP is refuted at level alpha if the scores are independent.

    >>> round(independent_gaussian_lower(Guesses(5000, 5000, 3457), 0.05), 2)
    0.94
    """
    open_probability("alpha", alpha)
    return largest_refuted(lambda mu: independent_p_value(seen, gaussian_tradeoff(mu)) <= alpha)


def mu_of_lines(lines: tuple[tuple[float, float], ...]) -> float:
    """The mu whose curve has the same total variation as the one above these lines."""
    tradeoff = min(delta + math.expm1(epsilon) / 2 for epsilon, delta in lines)
    return 2.0 * float(ndtri(min(0.5 * (1.0 + tradeoff), 1 - 1e-16)))


def ideal_guesses(canaries: int, guessed: int, mu: float) -> Guesses:
    """What the surest `guessed` coins of a mu-GDP training with ideal scores give on average."""
    y = np.linspace(0.0, 0.5 * mu + 9.0, 4001)
    density = np.exp(-0.5 * (y - 0.5 * mu) ** 2) + np.exp(-0.5 * (y + 0.5 * mu) ** 2)
    above = np.cumsum(density[::-1])[::-1] / density.sum()
    surest = density * (above <= guessed / canaries)
    accuracy = float((surest * expit(mu * y)).sum() / max(surest.sum(), 1e-300))
    return Guesses(canaries, guessed, math.floor(guessed * accuracy))


def guesses_for(canaries: int, mu: float, alpha: float) -> int:
    """How many of the surest coins to guess, fixed before the run: best for ideal scores."""

    def proved(guessed: int) -> float:
        return gaussian_lower(ideal_guesses(canaries, guessed, mu), alpha)

    counts = sorted({max(2, min(canaries, round(share * canaries))) for share in _SHARES})
    return max(counts, key=proved)
