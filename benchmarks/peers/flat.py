"""Other people's ways to audit a function, given its outputs as rows of numbers.

They take arrays of one width. Outputs that numpy makes such rows of are given to them as they are;
whatever the outputs are, they are also given the columns that dpcheck reads in them. Both get the same
`RUNS` calls a side, since neither may stop early: half to learn a score, half to test it.

- DP-Sniper style [BichselSDV2021]: a logistic regression tells the sides apart, the outputs it is
  surest of are the event, Clopper-Pearson bounds on fresh outputs give the epsilon. Written here: it is
  not on PyPI.
- jax-privacy 2.0.0: CanaryScoreAuditor on the scores of the same regression.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.stats import beta
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dpcheck.auditing.outputs.reader import learn_reader
from dpcheck.auditing.outputs.tables import Encoded

from . import jax_privacy

RUNS = 2048  # calls a side
ALPHA = 1e-3
SURE = 0.05  # of the outputs of one side, the least that an event may hold


class CannotTake(Exception):
    """The outputs are not rows of numbers of one width."""


def flat(outputs: list[Any]) -> np.ndarray:
    """The outputs as rows of finite numbers, by numpy's own conversion alone."""
    try:
        rows = [np.asarray(output, dtype=float).ravel() for output in outputs]
    except Exception as error:
        raise CannotTake(f"{type(error).__name__}: {error}") from None
    if len({len(row) for row in rows}) != 1 or len(rows[0]) == 0:
        raise CannotTake("outputs of several lengths")
    stacked = np.stack(rows)
    if not np.isfinite(stacked).all():
        raise CannotTake("NaN or infinity")
    return stacked


def read(first: list[Encoded], second: list[Encoded]) -> tuple[np.ndarray, np.ndarray]:
    """The columns dpcheck reads; which ones is learned on the first half of the outputs, as the score.

    Were it learned on all of them, the one of 4,900 columns that is largest by chance would be tested.
    """
    reader = learn_reader(first[:1], second[:1])
    one, two = (np.vstack([reader.rows(part) for part in side]) for side in (first, second))
    return one, two


def scores(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Log odds that fresh outputs came from the first side."""
    if first.shape[1] != second.shape[1]:
        raise CannotTake("outputs of several lengths")
    half = RUNS // 2
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=200))
    model.fit(np.vstack([first[:half], second[:half]]), np.repeat([1, 0], half))
    return model.decision_function(first[half:]), model.decision_function(second[half:])


def sniper(one: np.ndarray, two: np.ndarray, delta: float) -> float:
    """The epsilon of the event of one direction; thresholds on a third, counts on the rest."""
    third = len(one) // 3
    best, threshold = -math.inf, 0.0
    for cut in np.unique(np.quantile(one[:third], np.linspace(0.0, 1 - SURE, 40))):
        hits, other = (one[:third] >= cut).sum(), (two[:third] >= cut).sum()
        merit = math.log((hits + 0.5) / (other + 0.5)) - 2 / math.sqrt(hits + other + 1)
        if merit > best:
            best, threshold = merit, float(cut)
    runs = len(one) - third
    hits, other = (one[third:] >= threshold).sum(), (two[third:] >= threshold).sum()
    share = ALPHA / 4  # two limits, two directions
    low = float(beta.ppf(share, hits, runs - hits + 1)) if hits else 0.0
    high = float(beta.ppf(1 - share, other + 1, runs - other)) if other < runs else 1.0
    return math.log((low - delta) / high) if low > delta else 0.0


def bounds(one: np.ndarray, two: np.ndarray, delta: float) -> dict[str, float]:
    """Lower bounds on epsilon by name, at the same confidence as an audit."""
    found = {"DP-Sniper style": max(sniper(one, two, delta), sniper(-two, -one, delta))}
    for peer in jax_privacy():
        if "split" in peer.name:
            pairs = ((one, two), (-two, -one))
            both = [peer.bound(a, b, ALPHA / 2, delta) for a, b in pairs]
            found["jax-privacy"] = float(max(both))
    return found
