"""The guessing game: a fair coin picks D or D', one call, a guess which it was.

Let a guess be right with probability R and wrong with probability W (the rest is passed). Guessing
the first side on a set A and the second on B: R = P(A)/2 + P'(B)/2 and W = P'(A)/2 + P(B)/2, so
(epsilon, delta)-DP gives R <= e^eps W + delta. That is the half-plane of `sequential`, with "right"
in the place of P(S) and "wrong" in that of P'(S), one factor per call instead of per pair of calls.
It holds for every call given the ones before, so the pair and the rule may change from call to call.

Reference: [Ville1939]; [WaudbySmithRamdas2024] for betting.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc, expit

from dpcheck.auditing.statistics.sequential import Counts


def score_guesses(guesses: NDArray[np.int8], sides: NDArray[np.bool_]) -> Counts:
    """Right guesses as `first`, wrong ones as `second`, passes as `neither`.

    >>> score_guesses(np.array([1, 0, -1, 1], np.int8), np.array([True, True, True, False]))
    Counts(both=0, first=1, second=2, neither=1)
    """
    passed = guesses < 0
    right = int(np.count_nonzero(~passed & ((guesses == 1) == sides)))
    made = int(np.count_nonzero(~passed))
    return Counts(0, right, made - right, len(guesses) - made)


def exact_p_value(right: int, wrong: int, calls: int, epsilon: float, delta: float = 0.0) -> float:
    """How likely so many right guesses are in `calls` tosses under (epsilon, delta)-DP, at most.

    The guess is "first" on a set S fixed before, and nothing elsewhere: then R <= e^eps W + delta/2.
    Given that a call fell into S, it was right with probability at most e^eps/(1+e^eps), but for
    calls that delta/2 excuses; more than `excused` of those have probability 1e-9.

    >>> round(exact_p_value(20, 0, 40, 1.0), 5)
    0.0019
    """
    excused, surplus = 0, 0.0
    if delta > 0:
        from scipy.stats import binom  # takes a second to import

        excused, surplus = int(binom.ppf(1 - 1e-9, calls, delta / 2)), 1e-9
    best = float(expit(epsilon))
    return min(1.0, surplus + float(bdtrc(right - excused - 1, right + wrong, best)))
