"""Choosing, on learning runs, the event that fresh runs will test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from dpcheck.auditing.claims import AuditedClaim
from dpcheck.auditing.learning.features import Layout, learn_layout
from dpcheck.auditing.learning.guessers import growth
from dpcheck.auditing.learning.scores import Score, TreeScore, learn_scores
from dpcheck.auditing.outputs.reader import Reader
from dpcheck.auditing.statistics.intervals import (
    conditional_binomial_lower,
    hockey_stick_statistics,
)
from dpcheck.auditing.statistics.sequential import Bet

Array = NDArray[np.float64]
# How far below the estimate an event is ranked, or the winner's curse eats the bound: the best of some
# ten thousand correlated thresholds is up to four standard errors high by luck alone. Three when
# drawing up a shortlist that fresh runs will judge again.
_PENALTY, LENIENT = float(ndtr(-4.5)), float(ndtr(-3.0))
_BEYOND_LUCK, _FIRST = 4.5, 1e4
_NEAR = -4.0  # standard errors below a claimed line at which an event may still cross it
_SMALL_EPSILON = 0.5  # below it the best event of a pair has a probability near 1/2


class Aim(Enum):
    """What an event is wanted for: to bound epsilon well, or to refute the claim if anything can.

    The event that bounds best is often one that cannot refute: at its best threshold a mechanism may
    keep the claim by a hair while a rarer output gives everything away.
    """

    BOUND = auto()
    REFUTE = auto()


@dataclass(frozen=True, slots=True)
class LearnedEvent:
    """S = {score >= threshold} or {score <= threshold}; `swapped`: P is the second dataset's."""

    score: Score
    layout: Layout
    threshold: float
    upper: bool
    swapped: bool
    merit: float
    seen: tuple[float, float]  # hits under P and under P' when it was chosen
    epsilon: float  # the line P - e^epsilon P' <= delta it was chosen for
    delta: float
    bounds_epsilon: bool = False  # chosen to bound epsilon well, where the others may be too rare

    def hits(self, rounded: Array) -> NDArray[np.bool_]:
        """Which outputs, rounded by the layout, are in S."""
        scores = self.score(rounded)
        result: NDArray[np.bool_]
        result = scores >= self.threshold if self.upper else scores <= self.threshold
        return result

    def bet(self, share: float) -> Bet:
        """A stake on what was seen when the event was chosen, spread to twice its error."""
        hits, other = self.seen
        return Bet(share, hits / 4, other / 4, by_pairs=self.epsilon <= _SMALL_EPSILON)

    def describe(self) -> str:
        """In words."""
        sign = ">=" if self.upper else "<="
        which = self.score.feature
        if which is None:
            return f"{self.score.name} {sign} {self.threshold:.6g}"
        return f"{self.layout.title(which)} {sign} {self.layout.label(which, self.threshold)}"


@dataclass(frozen=True, slots=True)
class ScoreGrid:
    """A score and the thresholds it is tried at."""

    score: Score
    layout: Layout
    thresholds: Array

    def tally(self, rounded: Array) -> Array:
        """For every threshold, how many rounded outputs score at least and at most that."""
        scores = np.sort(self.score(rounded))
        at_least = len(scores) - np.searchsorted(scores, self.thresholds, side="left")
        at_most = np.searchsorted(scores, self.thresholds, side="right")
        return np.stack([at_least, at_most]).astype(float)


def learn_grids(
    first: Array,
    second: Array,
    claim: AuditedClaim,
    *,
    most: int,
    trees: bool = True,
    aim: Aim = Aim.BOUND,
    reader: Reader | None = None,
) -> list[ScoreGrid]:
    """A shortlist of scores: learned on one half of the learning runs, ranked on the other."""
    layout = learn_layout(np.vstack([first[: 1 << 16], second[: 1 << 16]]), reader)
    half = len(first) // 2
    a, b = layout.rounded(first[:half]), layout.rounded(second[:half])
    c, d = layout.rounded(first[half:]), layout.rounded(second[half:])
    ranked: list[tuple[float, ScoreGrid]] = []
    for score in learn_scores(a, b, layout, trees=trees):
        grid = ScoreGrid(score, layout, _thresholds(score(a), score(b)))
        tallies = np.stack([grid.tally(c), grid.tally(d)])
        merit = max(
            e.merit for e in pick(grid, tallies, len(first) - half, claim, LENIENT, aim=aim)
        )
        ranked.append((merit, grid))
    ranked.sort(key=lambda item: -item[0])
    return [grid for place, (_, grid) in enumerate(ranked) if _is_worth(place, ranked, most)]


def _is_worth(place: int, ranked: Sequence[tuple[float, ScoreGrid]], most: int) -> bool:
    """Whether to judge a score again: trees, being slow, only where they are clearly ahead.

    Scores of whole outputs always: their strength shows only on many runs.
    """
    merit, grid = ranked[place]
    if isinstance(grid.score, TreeScore):
        next_best = max((other for other, g in ranked if g is not grid), default=-np.inf)
        return merit > max(0.0, 1.1 * next_best)
    return place < most or not grid.score.is_local


def _thresholds(one: Array, two: Array) -> Array:
    """Quantiles, and both tails on a logarithmic scale: rare events carry large losses."""
    pooled = np.sort(np.concatenate([one, two]))
    size = len(pooled)
    tail = np.unique(np.geomspace(1, size / 2, 96).astype(int))
    middle = np.linspace(0, size - 1, 128).astype(int)
    at = np.concatenate([middle, tail, size - 1 - tail])
    ends = [one.min(), one.max(), two.min(), two.max()]
    return np.unique(np.concatenate([pooled[at], ends]))


def cell_thresholds(ratios: Array, mass: Array) -> Array:
    """Thresholds of a score by cells: its ratios, thinned out by mass where there are very many."""
    order = np.argsort(ratios)
    pooled, heights = np.cumsum(mass[order]), ratios[order]
    size = float(pooled[-1])
    tail = np.geomspace(1, max(2.0, size / 2), 128)
    wanted = np.concatenate([np.linspace(1, size, 256), tail, size + 1 - tail])
    places = np.minimum(np.searchsorted(pooled, wanted), len(heights) - 1)
    return np.unique(heights if len(heights) <= 512 else heights[places])


def choose_events(
    grids: Sequence[ScoreGrid],
    tallies: Sequence[Array],
    runs: int,
    claim: AuditedClaim,
    most: int = 2,
    aim: Aim = Aim.BOUND,
) -> list[LearnedEvent]:
    """The best events by a bound that lies well below the estimate.

    For a bare (epsilon, delta) the clearest excess may sit on an event too rare to bound epsilon;
    the event that bounds it best is added, last.
    """
    found: list[LearnedEvent] = []
    steady: list[LearnedEvent] = []
    for grid, tally in zip(grids, tallies, strict=True):
        found += pick(grid, tally, runs, claim, _PENALTY, aim=aim)
        if claim.delta > 0 and claim.lines is None:
            steady += pick(grid, tally, runs, claim, _PENALTY, steady=True)
    found.sort(key=lambda event: -event.merit)
    chosen: list[LearnedEvent] = []
    for event in found:
        if len(chosen) < most and all(event.score.name != c.score.name for c in chosen):
            chosen.append(event)
    if steady:
        best = max(steady, key=lambda event: event.merit)
        chosen.append(replace(best, bounds_epsilon=True))
    return chosen


def pick(
    grid: ScoreGrid,
    tallies: Array,
    runs: int,
    claim: AuditedClaim,
    penalty: float,
    *,
    steady: bool = False,
    aim: Aim = Aim.BOUND,
) -> list[LearnedEvent]:
    """The best threshold for each tail and direction; tallies are (side, tail, threshold)."""
    found = []
    for tail, upper in enumerate((True, False)):
        hits, other = tallies[0, tail], tallies[1, tail]
        for swapped in (False, True):
            mine, theirs = (other, hits) if swapped else (hits, other)
            merit, epsilon, delta, index = _best(mine, theirs, runs, claim, penalty, steady, aim)
            found.append(
                LearnedEvent(
                    grid.score,
                    grid.layout,
                    float(grid.thresholds[index]),
                    upper,
                    swapped,
                    merit,
                    (float(mine[index]), float(theirs[index])),
                    epsilon,
                    delta,
                )
            )
    return found


def _best(
    hits: Array,
    other: Array,
    runs: int,
    claim: AuditedClaim,
    penalty: float,
    steady: bool,
    aim: Aim,
) -> tuple[float, float, float, int]:
    """(merit, epsilon, delta, index) of the best threshold over the claim's lines.

    Pure epsilon, or `steady`: by the lower bound on epsilon. Otherwise by the excess over delta in
    standard errors; for a curve plus those that an epsilon a quarter larger would add, so that
    chance on a rare event does not decide which line is tested.
    """
    if claim.lines is None and claim.delta == 0 and aim is Aim.REFUTE:
        merits = growth(hits, other, runs, claim.epsilon)
        # Where nothing would refute, what comes nearest is first.
        nearest = _bound_on_epsilon(hits, other, 0.0, penalty) - claim.epsilon
        merits = np.where(merits > 0, merits, np.minimum(nearest, 0.0) - 1e-9)
        index = int(np.argmax(merits))
        return float(merits[index]), claim.epsilon, claim.delta, index
    if claim.lines is None and (claim.delta == 0 or steady):
        merits = _bound_on_epsilon(hits, other, claim.delta * runs, penalty)
        index = int(np.argmax(merits))
        return float(merits[index]), claim.epsilon, claim.delta, index
    best = (-np.inf, claim.epsilon, claim.delta, 0)
    for epsilon, delta in claim.lines or ((claim.epsilon, claim.delta),):
        excess, clarity = hockey_stick_statistics(hits, other, runs, epsilon, delta)
        merits = excess
        if claim.lines is not None:
            # Only near the line: far below it, as the event of all outputs is, a larger epsilon
            # changes much and still shows nothing. Beyond luck, the excess alone decides.
            merits = np.where(merits > _NEAR, merits + clarity, merits)
            merits = np.where(excess > _BEYOND_LUCK, _FIRST + excess, merits)
        index = int(np.argmax(merits))
        if merits[index] > best[0]:
            best = (float(merits[index]), epsilon, delta, index)
    return best


def _bound_on_epsilon(hits: Array, other: Array, excused: float, penalty: float) -> Array:
    """Lower bounds on log (P - delta)/P'; where none is above 0, what would tell most is first."""
    # What delta excuses is known, what was hit is not: three standard errors of it are left out.
    kept = np.maximum(0.0, hits - excused - 3 * np.sqrt(hits)) if excused else hits
    bounds = conditional_binomial_lower(kept, other, penalty)
    clear = (kept - other) / np.sqrt(hits + other + 1)
    coarse = np.sqrt(1 / (hits + 1) + 1 / (other + 1))
    return np.where(bounds > 0, bounds, 1e-6 * (np.maximum(clear, -3) - 10 * coarse - 10))
