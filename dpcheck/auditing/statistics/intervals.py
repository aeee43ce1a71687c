"""Exact fixed-sample bounds on log P(S)/P'(S)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, logit, rel_entr


def conditional_binomial_lower(hits: Any, other: Any, alpha: float) -> NDArray[np.float64]:
    """Lower bound on epsilon from `hits` of S under P and `other` under P', equally many runs each.

    Exact where S is rare: the counts are then Poisson and, given their total, the hits are binomial
    with probability at most e^eps/(1+e^eps), whose Clopper-Pearson limit bounds eps. Where S is
    common the counts vary less than that and the bound is wide; benchmarks/false_alarms.py measures
    its rate. It ranks events; verdicts rest on `sequential`. 0 where nothing is supported.

    Reference: [ClopperPearson1934].

    >>> round(float(conditional_binomial_lower(100, 0, 0.01)), 4)
    3.0549
    """
    hits, other = np.asarray(hits, dtype=float), np.asarray(other, dtype=float)
    with np.errstate(divide="ignore"):
        lower = logit(betaincinv(np.maximum(hits, 1e-9), other + 1.0, alpha))
    result: NDArray[np.float64] = np.where(hits > 0, np.maximum(lower, 0.0), 0.0)
    return result


def hockey_stick_statistics(
    hits: Any, other: Any, runs: int, epsilon: float, delta: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """P(S) - e^eps P'(S) - delta, and what an epsilon a quarter larger would add, in standard errors.

    To choose S, not to test it. Counts are smoothed by one in the variance, so an empty side is not
    mistaken for certainty. Below the line the root of the likelihood ratio counts where it is
    further off: with a large epsilon and few hits of S the variance, nearly all of it from P', makes
    any P look near.
    """
    hits, other = np.asarray(hits, dtype=float), np.asarray(other, dtype=float)
    grow = math.exp(epsilon)
    gap = hits / runs - grow * other / runs
    error = np.sqrt((hits + 1) + grow**2 * (other + 1)) / runs
    # P(S) cannot exceed 1: in far tails a larger epsilon has no room to show.
    more = np.minimum(grow * math.expm1(0.25 * max(epsilon, 0.1)) * other, runs - hits) / runs
    excess = (gap - delta) / error
    above = np.maximum(hits - delta * runs, 0.0)
    total = above + other  # on the line P has e^eps of 1 + e^eps parts of it
    off = rel_entr(above, total * grow / (1 + grow)) + rel_entr(other, total / (1 + grow))
    further = -np.sqrt(2 * np.maximum(off, 0.0))
    return np.where(excess < 0, np.minimum(excess, further), excess), more / error
