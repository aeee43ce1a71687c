"""The trade-off curve of a score, with a band that holds for the whole curve at once.

Thresholds are fixed before the runs. At each, the share of runs on D that score at least as much is
one minus a false-negative rate, that on D' a false-positive rate; Clopper-Pearson intervals at level
alpha/(2 thresholds) hold for all of them together (union bound). Between thresholds both rates are
monotone, and mixing two tests mixes their rates, so convex hulls extend the band to the whole curve.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from dpcheck.core.evidence import Points, TradeoffBand

Array = NDArray[np.float64]
METHOD = "Clopper-Pearson intervals, union bound over thresholds and sides"


def clopper_pearson(hits: Any, runs: int, alpha: float) -> tuple[Array, Array]:
    """Two-sided limits of a binomial probability, each side missed with probability alpha/2 at most.

    Reference: [ClopperPearson1934].

    >>> [round(float(limit), 4) for limit in clopper_pearson(8, 10, 0.05)]
    [0.4439, 0.9748]
    """
    k = np.asarray(hits, dtype=float)
    low = np.where(k > 0, betaincinv(np.maximum(k, 1e-9), runs - k + 1, alpha / 2), 0.0)
    high = np.where(k < runs, betaincinv(k + 1, np.maximum(runs - k, 1e-9), 1 - alpha / 2), 1.0)
    return low, high


def tradeoff_band(hits: Array, alarms: Array, runs: int, alpha: float) -> TradeoffBand:
    """The band from counts of `score >= t` on D (`hits`) and on D' (`alarms`), t ascending.

    Guarantee: the trade-off function of all (randomised) threshold tests of this score lies between
    `lower` and `upper` everywhere with probability at least 1 - alpha. `upper` is never below the
    trade-off function of the two datasets themselves, on the same event.
    Reference: [ClopperPearson1934]; [Dong2022] Definition 2.1 for trade-off functions.
    Assumes: independent runs; thresholds and the score chosen on other runs.
    """
    thresholds = len(hits)
    # Ascending false-positive rates: from the highest threshold to the lowest.
    tpr, fpr = np.asarray(hits)[::-1] / runs, np.asarray(alarms)[::-1] / runs
    share = alpha / (2 * thresholds)
    tpr_low, tpr_high = clopper_pearson(np.asarray(hits)[::-1], runs, share)
    fpr_low, fpr_high = clopper_pearson(np.asarray(alarms)[::-1], runs, share)
    # A test between thresholds k and k+1 has at least the false positives of k, and misses at least
    # what k+1 misses; before the first and after the last it is bounded by 0 and 1.
    corners = np.column_stack([np.append(0.0, fpr_low), 1 - np.append(tpr_high, 1.0)])
    return TradeoffBand(
        estimate=convex(np.column_stack([fpr, 1 - tpr])),
        lower=convex(corners),
        upper=convex(np.column_stack([fpr_high, 1 - tpr_low])),
        confidence=1 - alpha,
        method=METHOD,
        thresholds=thresholds,
    )


def convex(points: Array) -> Points:
    """The lower convex hull of points and of the two trivial tests, (0, 1) and (1, 0).

    >>> convex(np.array([[0.5, 0.1], [0.5, 0.9], [0.9, 0.08]]))
    ((0.0, 1.0), (0.5, 0.1), (1.0, 0.0))
    """
    every = np.vstack([points, [[0.0, 1.0], [1.0, 0.0]]])
    order = np.lexsort((every[:, 1], every[:, 0]))
    hull: list[tuple[float, float]] = []
    for x, y in every[order].tolist():
        if hull and x == hull[-1][0]:
            continue  # the lowest of a column came first
        while len(hull) > 1 and _right_turn(hull[-2], hull[-1], (x, y)):
            hull.pop()
        hull.append((x, y))
    return tuple(hull)


def _right_turn(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]) <= 0
