"""Anytime-valid evidence against a claim, and the lower bound on epsilon it leaves.

Every claim is a half-plane P(S) - e^eps P'(S) <= delta for an event S fixed before the runs. Run
pairs (o from P, o' from P') arrive one after the other. An e-process E has expectation at most 1
under the claim at every stopping time, so it exceeds 1/alpha at any time with probability at most
alpha (Ville). A test may therefore stop when it is sure and continue later at no cost.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaln, expit, ndtri

_MOST_EPSILON = 60.0  # no number of runs supports more


@dataclass(frozen=True, slots=True)
class Counts:
    """Run pairs by membership of S: both, only P's output, only P''s output, neither."""

    both: int = 0
    first: int = 0
    second: int = 0
    neither: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.both + other.both,
            self.first + other.first,
            self.second + other.second,
            self.neither + other.neither,
        )

    @property
    def runs(self) -> int:
        """Runs a side."""
        return self.both + self.first + self.second + self.neither

    @property
    def hits(self) -> int:
        """Outputs of P in S."""
        return self.both + self.first

    @property
    def other(self) -> int:
        """Outputs of P' in S."""
        return self.both + self.second


def count(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> Counts:
    """The counts of paired indicators."""
    both = int(np.count_nonzero(first & second))
    a, b = int(np.count_nonzero(first)), int(np.count_nonzero(second))
    return Counts(both, a - both, b - both, len(first) - a - b + both)


@dataclass(frozen=True, slots=True)
class Bet:
    """How a test is bet on, fixed before its runs: its share of the stake, and a guess of r.

    The guess is a Beta(hits, other) law of r = P(S)/(P(S) + P'(S)), from learning runs.
    """

    share: float = 1.0
    hits: float = 0.0
    other: float = 0.0
    by_pairs: bool = (
        False  # half of the stake on run pairs: better where S is hit about half the time
    )

    @property
    def laws(self) -> tuple[tuple[float, float], ...]:
        """The Beta laws r is drawn from, each with the same weight."""
        spread = (0.5, 0.5)
        return (spread, (self.hits, self.other)) if self.hits > 0 < self.other else (spread,)


EVEN = Bet()


def log_e_pure(hits: float, other: float, epsilon: float, bet: Bet = EVEN) -> float:
    """Log e-process against P(S) <= e^eps P'(S).

    The factor of one run pair, for r > r0 = e^eps/(1+e^eps), is (r/r0)^[o in S]
    ((1-r)/(1-r0))^[o' in S]; with a = (r-r0)/r0 its mean is
    (1 + a p)(1 - a e^eps q) <= 1 + a (p - e^eps q) <= 1. For r <= r0 nothing is bet and the factor
    is 1. The mixture over a Beta law of r depends on the counts only and is closed form; the law is
    Beta(1/2, 1/2), averaged with the guess where the bet has one.

    It falls in eps wherever it is above 1, so inverting it by bisection is exact: the integrand is
    1 at r = r0, and its logarithm has the slope other/(1-r0) - hits/r0 in r0, which is negative for
    r0 < hits/(hits + other); above that no r > r0 has a product above 1.

    Reference: [Ville1939]; [KrichevskyTrofimov1981] for the mixture.

    >>> round(log_e_pure(600, 150, 1.0), 4)
    6.1096
    """
    low = float(expit(-epsilon))  # 1 - r0 without cancellation
    scale = hits * math.log1p(math.exp(-epsilon)) - other * math.log(low)
    logs = []
    for first, second in bet.laws:
        logs.append(_log(1.0 - float(betainc(second, first, low))))
        a, b = first + hits, second + other
        inside = _log(float(betainc(b, a, low)))
        logs.append(float(betaln(a, b)) - float(betaln(first, second)) + inside + scale)
    return _log_sum(logs) - math.log(len(bet.laws))


def _log_sum(logs: Any) -> float:
    return float(np.logaddexp.reduce(logs))  # scipy's logsumexp takes 50 times as long


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf


# Stakes as fractions of the largest admissible one; the best stake is the excess over the claim in
# units of its variance, which spans these scales for violations between 0.03% and a factor of e.
_STAKES = 0.9 * 2.0 ** (-0.5 * np.arange(26))


def log_e_approximate(counts: Counts, epsilon: float, delta: float) -> float:
    """Log e-process against P(S) - e^eps P'(S) <= delta.

    Mean over stakes l of the product over run pairs of 1 + l ([o in S] - e^eps [o' in S] - delta),
    0 <= l < 1/(e^eps + delta): positive, and of mean at most 1 under the claim.

    Reference: [WaudbySmithRamdas2024] for betting; [Ville1939].
    """
    grow = math.exp(epsilon)
    stakes = _STAKES / (grow + delta)
    logs = (
        counts.first * np.log1p(stakes * (1 - delta))
        + counts.second * np.log1p(-stakes * (grow + delta))
        + counts.both * np.log1p(stakes * (1 - grow - delta))
        + counts.neither * np.log1p(-stakes * delta)
    )
    return _log_sum(logs) - math.log(len(stakes))


def log_e(counts: Counts, epsilon: float, delta: float, bet: Bet = EVEN) -> float:
    """The e-process of the claim's kind; for a pure one perhaps the mean of two.

    Counts of hits vary like Poisson ones for all `log_e_pure` knows. Where an event has probability
    1/2, as under small epsilons, they vary half as much, and `log_e_approximate` knows it. The mean
    falls in epsilon: with a stake l = s e^-eps the second has the factors 1 + s e^-eps, 1 - s,
    1 - s (1 - e^-eps) and 1, and the first is counted only where it is above 1.
    """
    if delta != 0:
        return log_e_approximate(counts, epsilon, delta)
    pure = log_e_pure(counts.hits, counts.other, epsilon, bet)
    if not bet.by_pairs:
        return pure
    by_pairs = log_e_approximate(counts, epsilon, delta)
    return (_log_sum([pure, by_pairs]) if pure > 0 else by_pairs) - math.log(2)


def average_log_e(
    tests: Sequence[Counts], epsilon: float, delta: float, bets: Sequence[Bet] | None = None
) -> float:
    """Log of the mean e-value over several events, pairs or directions: again an e-process.

    Weighted by the bets' shares, evenly without bets. No independence is needed, which a product
    would need.
    """
    if not tests:
        return 0.0
    placed = bets or [EVEN] * len(tests)
    total = math.fsum(bet.share for bet in placed)
    logs = [
        log_e(counts, epsilon, delta, bet) + math.log(bet.share / total)
        for counts, bet in zip(tests, placed, strict=True)
    ]
    return _log_sum(logs)


def invert(evidence: Callable[[float], float], alpha: float) -> float:
    """The smallest epsilon whose e-process stays below 1/alpha.

    Guarantee: with probability 1 - alpha the true epsilon is not rejected at any time, so the
    smallest unrejected one is at most the truth. Found on a grid and by bisection: the evidence
    falls in epsilon wherever it rejects (for delta = 0, see `log_e_pure`).
    """
    needed = -math.log(alpha)
    if evidence(0.0) < needed:
        return 0.0
    low, high = 0.0, 0.125
    while evidence(high) >= needed:
        low, high = high, 1.5 * high
        if low > _MOST_EPSILON:
            return _MOST_EPSILON
    for point in np.linspace(low, high, 9)[1:]:
        if evidence(float(point)) < needed:
            high = float(point)
            break
        low = float(point)
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if evidence(middle) >= needed else (low, middle)
    return low


def lower_epsilon(
    tests: Sequence[Counts], delta: float, alpha: float, bets: Sequence[Bet] | None = None
) -> float:
    """The anytime-valid lower bound on epsilon at `delta` from all tests together."""
    return invert(lambda epsilon: average_log_e(tests, epsilon, delta, bets), alpha)


def separates(tests: Sequence[Counts]) -> bool:
    """Whether one of the events is likelier on one side, beyond four standard errors.

    Where none is, the runs say nothing about what the datasets hide: they may be alike.

    >>> separates([Counts(first=60, second=40)]), separates([Counts(first=90, second=30)])
    (False, True)
    """
    return any(abs(one.hits - one.other) > 4 * math.sqrt(one.hits + one.other) for one in tests)


_POWER = 0.9


def detectable(
    tests: Sequence[Counts],
    epsilon: float,
    delta: float,
    alpha: float,
    bets: Sequence[Bet] | None = None,
) -> float:
    """The smallest true epsilon on one of these events that as many runs reject with power 0.9.

    The event keeps its total mass, split so that P(S) = e^eps1 P'(S) + delta. Infinite when the
    event is too rare to tell anything. Normal approximation of the counts.
    """
    if not would_catch(tests, epsilon, delta, alpha, _MOST_EPSILON, bets):
        return math.inf
    low, high = epsilon, epsilon + 0.01
    while not would_catch(tests, epsilon, delta, alpha, high, bets):
        low, high = high, epsilon + 2 * (high - epsilon)
    for _ in range(30):
        middle = 0.5 * (low + high)
        caught = would_catch(tests, epsilon, delta, alpha, middle, bets)
        low, high = (low, middle) if caught else (middle, high)
    return high


def would_catch(
    tests: Sequence[Counts],
    epsilon: float,
    delta: float,
    alpha: float,
    candidate: float,
    bets: Sequence[Bet] | None = None,
) -> bool:
    """Whether a true epsilon of `candidate` would be rejected with power 0.9 by one of the tests."""
    placed = bets or [EVEN] * len(tests)
    total = math.fsum(bet.share for bet in placed)
    return any(
        test.runs > 0
        and log_e(_typical(test, epsilon, delta, candidate), epsilon, delta, bet)
        >= math.log(total / bet.share / alpha)
        for test, bet in zip(tests, placed, strict=True)
    )


def _typical(test: Counts, epsilon: float, delta: float, candidate: float) -> Counts:
    """Counts at the unfavourable tenth percentile if the true epsilon were `candidate`."""
    runs = test.runs
    mass = (test.hits + test.other) / runs
    q = max(0.0, mass - delta) / (1 + math.exp(candidate))
    p = math.exp(candidate) * q + delta
    if p > 1:  # more than S can hold: the best it can do is to be certain under P
        p, q = 1.0, (1 - delta) * math.exp(-candidate)
    # Pull the hits down and the others up along the direction the test is sensitive to.
    grow = math.exp(epsilon)
    spread = math.sqrt(p * (1 - p) / runs + grow**2 * q * (1 - q) / runs)
    if spread > 0:
        pull = float(ndtri(_POWER)) / runs / spread
        p, q = p - pull * p * (1 - p), q + pull * grow * q * (1 - q)
    p, q = max(p, 0.0), min(q, 1.0)
    both = p * q
    return Counts(
        round(both * runs),
        round((p - both) * runs),
        round((q - both) * runs),
        round((1 - p - q + both) * runs),
    )
