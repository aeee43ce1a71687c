"""Auditing with a single run: many canaries, each included by its own fair coin.

The auditor sees the output and guesses some coins. Under pure epsilon-DP the number of right guesses
is stochastically at most Binomial(guesses, e^eps/(1+e^eps)): given the output and the other coins,
the posterior odds of a coin are at most e^eps, whatever was guessed before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc, expit

from dpcheck.core.errors import BadOutput, InvalidParameter
from dpcheck.core.validate import count, non_negative, open_probability, probability

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Guesses:
    """How many of the `canaries` coins were guessed, and how many rightly."""

    canaries: int
    guessed: int
    correct: int

    def __post_init__(self) -> None:
        count("canaries", self.canaries)
        count("guessed", self.guessed)
        if not 0 <= self.correct <= self.guessed <= self.canaries:
            raise InvalidParameter("correct <= guessed <= canaries must hold.", name="guessed")


def guess(scores: Array, included: NDArray[np.bool_], guessed: int) -> Guesses:
    """Guess "in" for the highest scores and "out" for the lowest, `guessed` in all.

    `guessed` must not depend on the scores.
    """
    scores = np.asarray(scores, dtype=float)
    if scores.shape != included.shape or not np.isfinite(scores).all():
        raise BadOutput("a one-run audit needs one finite score per canary.")
    order = np.argsort(scores, kind="stable")
    low, high = guessed // 2, guessed - guessed // 2
    correct = int(np.count_nonzero(~included[order[:low]]))
    correct += int(np.count_nonzero(included[order[len(order) - high :]]))
    return Guesses(len(scores), guessed, correct)


def p_value(seen: Guesses, epsilon: float, delta: float = 0.0) -> float:
    """How likely so many right guesses are under (epsilon, delta)-DP, at most.

    Reference: [Steinke2023] Theorem 5.2; for delta > 0 the tail is raised by
    2 m delta max_i P(v - i <= X < v)/i, X binomial, v right guesses of m canaries.
    Assumes: independent fair coins; add-remove (or zero-out) neighbours.

    >>> round(p_value(Guesses(100, 100, 60), 0.0), 4)
    0.0284
    """
    non_negative("epsilon", epsilon)
    probability("delta", delta)
    if seen.correct == 0:
        return 1.0
    accuracy = float(expit(epsilon))
    tail = float(bdtrc(seen.correct - 1, seen.guessed, accuracy))
    if delta > 0:
        from scipy.stats import binom  # takes a second to import

        under = np.arange(seen.correct - 1, -1, -1)
        below = np.cumsum(binom.pmf(under, seen.guessed, accuracy))
        tail += 2 * seen.canaries * delta * float(np.max(below / np.arange(1, seen.correct + 1)))
    return min(1.0, tail)


def one_run_lower(seen: Guesses, delta: float, alpha: float) -> float:
    """The smallest epsilon not rejected at level alpha.

    Guarantee: above the true epsilon with probability at most alpha. The p-value grows with
    epsilon, as a binomial tail does; for delta > 0 the smallest unrejected one is taken on a grid.
    """
    open_probability("alpha", alpha)
    high = 0.0
    while p_value(seen, high, delta) <= alpha:
        high += 0.05
        if high > 50:
            return high
    low = max(0.0, high - 0.05)
    if low == high:
        return 0.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if p_value(seen, middle, delta) <= alpha else (low, middle)
    return low


def refutes_curve(seen: Guesses, tradeoff: Callable[[float], float], alpha: float) -> bool:
    """Whether so many right guesses refute f-DP at level alpha.

    `tradeoff` is f of the claim between a record in and out, symmetric, never above the truth.

    Reference: [Mahloujifar2025] Algorithm 3, with two options per canary.
    Assumes: independent fair coins.
    """
    open_probability("alpha", alpha)
    total, right = seen.guessed, seen.correct
    if right == 0:
        return False
    share = total / seen.canaries
    rejected = alpha * share * right / total  # r: mass of outcomes with at least this many right
    wrong = alpha * share * (total - right) / total  # h: its counterpart for wrong guesses
    for index in range(right - 1, -1, -1):
        # Blown up by f, the mass r must not be more than what a wrong guess may weigh.
        grown = max(wrong, float(tradeoff(1.0 - min(1.0, rejected))))
        rejected += index / (total - index) * (grown - wrong)
        wrong = grown
    return rejected + wrong > share


def lines_tradeoff(lines: Sequence[tuple[float, float]]) -> Callable[[float], float]:
    """The symmetric trade-off function above its supporting lines (epsilon, delta).

    Reference: [Dong2022] Proposition 2.5: (epsilon, delta)-DP is f-DP with the larger of
    1 - delta - e^eps x and e^-eps (1 - delta - x), and 0; of several lines the largest.
    """
    known = [(math.exp(epsilon), 1 - delta) for epsilon, delta in lines]

    def f(rate: float) -> float:
        return max(0.0, *(max(kept - e * rate, (kept - rate) / e) for e, kept in known))

    return f


def one_run_lower_by_curve(seen: Guesses, delta: float, alpha: float) -> float:
    """The smallest epsilon whose f of (epsilon, delta) is not refuted at level alpha.

    Guarantee: above the true epsilon with probability at most alpha.
    Reference: [Mahloujifar2025] Algorithm 3.
    """

    def refuted(epsilon: float) -> bool:
        return refutes_curve(seen, lines_tradeoff([(epsilon, delta)]), alpha)

    if not refuted(0.0):
        return 0.0
    low, high = 0.0, 0.5
    while refuted(high):
        low, high = high, 2 * high
        if high > 50:
            return low
    for _ in range(30):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low


@dataclass(frozen=True, slots=True)
class GuessedRun:
    """The outcome of a one-run audit."""

    guesses: Guesses
    epsilon: float
    delta: float
    confidence: float


def audit_one_run(
    score_canaries: Callable[[NDArray[np.bool_], np.random.Generator], Array],
    *,
    canaries: int,
    guessed: int,
    delta: float,
    alpha: float,
    seed: np.random.SeedSequence,
) -> GuessedRun:
    """Toss the coins, run once, guess, bound.

    `score_canaries(included, rng)` trains on the included canaries and returns one score each.
    """
    coins, noise = (np.random.default_rng(s) for s in seed.spawn(2))
    included = coins.random(count("canaries", canaries)) < 0.5
    seen = guess(score_canaries(included.copy(), noise), included, guessed)
    return GuessedRun(seen, one_run_lower(seen, delta, alpha), delta, 1 - alpha)


def best_guess_count(canaries: int) -> int:
    """A count of guesses that serves weak and strong leaks alike, fixed before the run."""
    return max(2, 2 * math.ceil(canaries / 8))
