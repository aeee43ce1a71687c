"""Choosing, on learning runs, the event that fresh runs will test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from dpcheck.auditing.claims import AuditedClaim
from dpcheck.auditing.features import Layout, learn_layout
from dpcheck.auditing.intervals import conditional_binomial_lower, hockey_stick_statistics
from dpcheck.auditing.scores import Score, TreeScore, learn_scores
from dpcheck.core.errors import BadOutput

Array = NDArray[np.float64]
_PENALTY = float(norm.cdf(-3.0))  # three standard errors, or the winner's curse eats the bound


@dataclass(frozen=True, slots=True)
class LearnedEvent:
    """S = {score >= threshold} or {score <= threshold}; `swapped`: P is the second dataset's."""

    score: Score
    layout: Layout
    threshold: float
    upper: bool
    swapped: bool
    merit: float
    epsilon: float  # the line P - e^epsilon P' <= delta it was chosen for
    delta: float

    def hits(self, outputs: Array) -> NDArray[np.bool_]:
        """Which outputs are in S."""
        if outputs.shape[1] != self.layout.width:
            raise BadOutput(
                f"the mechanism changes the shape of its output: {self.layout.width} numbers in "
                f"the first runs, {outputs.shape[1]} later. Return a list where the length is part "
                "of the answer.",
            )
        scores = self.score(self.layout.rounded(outputs))
        result: NDArray[np.bool_]
        result = scores >= self.threshold if self.upper else scores <= self.threshold
        return result

    def describe(self) -> str:
        """In words."""
        sign = ">=" if self.upper else "<="
        return f"{self.score.name} {sign} {self.threshold:.6g}"


def choose_events(
    first: Array, second: Array, claim: AuditedClaim, *, most: int = 2, trees: bool = True
) -> list[LearnedEvent]:
    """The best events of a pair, from learning runs only.

    Scores are learned on one half, thresholds on the other. Ranked by a bound that is three
    standard errors below the estimate.
    """
    layout = learn_layout(np.vstack([first[: 1 << 16], second[: 1 << 16]]))
    half = len(first) // 2
    a, b = layout.rounded(first), layout.rounded(second)
    found: list[LearnedEvent] = []
    for score in learn_scores(a[:half], b[:half], layout, trees=trees):
        # Trees saw only part of the first half; everything is judged on the second.
        one, two = score(a[half:]), score(b[half:])
        found += _thresholds(score, layout, one, two, claim)
    # A slower score must be clearly better to be preferred.
    found.sort(
        key=lambda e: e.merit * (0.99 if isinstance(e.score, TreeScore) else 1), reverse=True
    )
    return _distinct(found, most)


def _distinct(found: Sequence[LearnedEvent], most: int) -> list[LearnedEvent]:
    chosen: list[LearnedEvent] = []
    for event in found:
        if len(chosen) == most:
            break
        if all(event.score.name != other.score.name for other in chosen):
            chosen.append(event)
    return chosen


def _thresholds(
    score: Score, layout: Layout, one: Array, two: Array, claim: AuditedClaim
) -> list[LearnedEvent]:
    """The best threshold for each tail and direction of one score."""
    pooled = np.sort(np.concatenate([one, two]))
    size = len(pooled)
    # Quantiles, and both tails on a logarithmic scale: rare events carry large losses.
    tail = np.unique(np.geomspace(1, size / 2, 160).astype(int))
    at = np.unique(
        np.concatenate([np.linspace(0, size - 1, 256).astype(int), tail, size - 1 - tail])
    )
    grid = np.unique(pooled[at])
    one, two = np.sort(one), np.sort(two)
    found = []
    for upper in (True, False):
        if upper:
            hits = len(one) - np.searchsorted(one, grid, side="left")
            other = len(two) - np.searchsorted(two, grid, side="left")
        else:
            hits = np.searchsorted(one, grid, side="right")
            other = np.searchsorted(two, grid, side="right")
        for swapped in (False, True):
            mine, theirs = (other, hits) if swapped else (hits, other)
            merit, epsilon, delta, index = _best(mine, theirs, len(one), claim)
            threshold = float(grid[index])
            found.append(
                LearnedEvent(score, layout, threshold, upper, swapped, merit, epsilon, delta)
            )
    return found


def _best(
    hits: NDArray[np.int64], other: NDArray[np.int64], runs: int, claim: AuditedClaim
) -> tuple[float, float, float, int]:
    """(merit, epsilon, delta, index) of the best threshold over the claim's lines."""
    if claim.delta == 0 and claim.lines is None:
        merits = conditional_binomial_lower(hits, other, _PENALTY)
        # Where nothing is above 0 yet, prefer the event that would tell most.
        merits = np.where(merits > 0, merits, -1.0 / (1.0 + np.minimum(hits, other)))
        index = int(np.argmax(merits))
        return float(merits[index]), claim.epsilon, 0.0, index
    best = (-np.inf, claim.epsilon, claim.delta, 0)
    for epsilon, delta in claim.lines or ((claim.epsilon, claim.delta),):
        excess, signal = hockey_stick_statistics(hits, other, runs, epsilon, delta)
        # Without a clear excess, the line whose delta is measured best would tell most.
        merits = np.where(excess > 3, excess, signal / (1 + np.abs(signal)))
        index = int(np.argmax(merits))
        if merits[index] > best[0]:
            best = (float(merits[index]), epsilon, delta, index)
    return best
