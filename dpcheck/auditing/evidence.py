"""What both sides of a pair look like: losses, scores and their trade-off, in bounded memory.

A few pilot runs fix all bins and thresholds; fresh runs are then counted into them, batch by batch.
The verdict uses none of this, so a report with pictures has the error rate of one without.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcheck.auditing.auditors.likelihood import exact_losses
from dpcheck.auditing.learning.events import LearnedEvent
from dpcheck.auditing.learning.selection import learn
from dpcheck.auditing.limits import Limits
from dpcheck.auditing.mechanism import Mechanism, Pair
from dpcheck.auditing.plan import PartPlan
from dpcheck.auditing.statistics.bands import tradeoff_band
from dpcheck.auditing.statistics.loss_bands import loss_band
from dpcheck.core.evidence import Histogram, RunEvidence
from dpcheck.execution.runner import Runner
from dpcheck.execution.seeds import generator
from dpcheck.execution.store import Arrays

Array = NDArray[np.float64]
# An odd number: neither 0 nor the claim is an edge, which rounding would put outputs on both sides of.
_BINS, _FEW_BINS, _FINE_BINS = (61, 48), (31, 24), 256  # of losses and of scores
_CELLS, _FEW_VALUES = 24, 64
_SMOOTH = np.array([1.0, 2.0, 3.0, 4.0, 3.0, 2.0, 1.0]) / 16
_MOST_PAIRS = 4
_BATCHES = 4  # so that a few workers have something to share


@dataclass(frozen=True, slots=True)
class Statistic:
    """How outputs become numbers that are larger where D is likelier than D'.

    By the score of an event; without one, by the exact loss.
    """

    first: object
    second: object
    label: str
    event: LearnedEvent | None = None

    @property
    def swapped(self) -> bool:
        """Whether D is the second dataset of the pair."""
        return self.event is not None and self.event.swapped

    @property
    def name(self) -> str:
        """What is read."""
        return "exact privacy loss" if self.event is None else self.event.score.name

    @property
    def threshold(self) -> float | None:
        """The tested threshold, if an event was tested."""
        if self.event is None:
            return None
        return self.event.threshold if self.event.upper else -self.event.threshold

    def sample(self, mechanism: Mechanism, size: int, seed: np.random.SeedSequence) -> list[Array]:
        """Values of fresh runs on D and on D'."""
        found = []
        sides = ((self.first, self.second, 1.0), (self.second, self.first, -1.0))
        for (data, other, sign), one in zip(sides, seed.spawn(2), strict=True):
            if self.event is None:
                outputs = mechanism.sample(data, size, generator(one))
                found.append(sign * exact_losses(mechanism, data, other, outputs))
            else:
                layout = self.event.layout
                scores = self.event.score(layout.sampled(mechanism, data, size, generator(one)))
                found.append(scores if self.event.upper else -scores)
        return found


@dataclass(frozen=True, slots=True)
class Bins:
    """Bins and thresholds, fixed on the pilot runs.

    Where scores are read, `places` and `ratios` turn them into losses: log ratios of how often a
    score occurred on the two sides of the pilot, in between by straight lines.
    """

    thresholds: Array
    loss_edges: Array
    fine_edges: Array
    score_edges: Array
    places: Array | None = None
    ratios: Array | None = None

    def losses(self, statistics: Array) -> Array:
        """The loss of every statistic; an exact loss is its own."""
        if self.places is None or self.ratios is None:
            return statistics
        return np.interp(statistics, self.places, self.ratios)


def pilot_batch(
    mechanism: Mechanism, statistic: Statistic, size: int, seed: np.random.SeedSequence
) -> Arrays:
    """Values of the pilot."""
    return dict(zip(("first", "second"), statistic.sample(mechanism, size, seed), strict=True))


def count_batch(
    mechanism: Mechanism, statistic: Statistic, bins: Bins, size: int, seed: np.random.SeedSequence
) -> Arrays:
    """Counts of one batch: memory does not grow with the number of runs."""
    sides = statistic.sample(mechanism, size, seed)
    ordered = [np.sort(side) for side in sides]
    return {
        "reached": np.stack(
            [size - np.searchsorted(side, bins.thresholds, side="left") for side in ordered]
        ).astype(float),
        "losses": np.stack([_counted(bins.losses(side), bins.loss_edges) for side in sides]),
        "fine": np.stack([_counted(side, bins.fine_edges) for side in sides]),
        "scores": np.stack([_counted(side, bins.score_edges) for side in sides]),
    }


def _counted(values: Array, edges: Array) -> Array:
    """Counts below, in every bin, and above."""
    places = np.searchsorted(edges, values, side="right")
    return np.bincount(places, minlength=len(edges) + 1).astype(float)


def gather(
    mechanism: Mechanism,
    pairs: Sequence[Pair],
    event: tuple[int, LearnedEvent] | None,
    *,
    epsilon: float,
    alpha: float,
    runs: int,
    runner: Runner,
) -> RunEvidence | None:
    """Evidence from about `runs` fresh runs a side; None without a density and without an event.

    Where the density is known the exact loss is read, on the pair of `event` or else on the one
    whose pilot losses are largest.

    Guarantee: the band of the curve is missed with probability at most alpha.
    """
    runner = runner.within("evidence")
    runner.progress.stage(f"{runner.prefix}: sampling for the report")
    if mechanism.log_density is not None:
        chosen = pairs[:_MOST_PAIRS] if event is None else [pairs[event[0]]]
        statistics = [Statistic(pair.first, pair.second, pair.label) for pair in chosen]
    elif event is not None:
        pair, learned = pairs[event[0]], event[1]
        first, second = (pair.second, pair.first) if learned.swapped else (pair.first, pair.second)
        statistics = [Statistic(first, second, pair.label, learned)]
    else:
        return None
    size = -(-runs // _BATCHES)
    size = min(mechanism.batch, max(1, size))
    # Exact losses need a pilot for the bins only; scores need it for their log ratios too.
    pilot = max(1, size // 2) if mechanism.log_density is not None else size
    pilots = []
    for index, statistic in enumerate(statistics):
        found = runner.batches(f"pilot-{index}", range(1), pilot_batch, mechanism, statistic, pilot)
        pilots.append(next(iter(found)))
    # Infinite losses count as very large ones.
    best = int(np.argmax([np.minimum(np.abs(seen["first"]), 1e6).mean() for seen in pilots]))
    statistic = statistics[best]
    number = -(-runs // size)
    bins = choose_bins(
        pilots[best]["first"], pilots[best]["second"], statistic, epsilon, number * size
    )
    total: Arrays = {}
    for batch in runner.batches(
        "counts", range(number), count_batch, mechanism, statistic, bins, size
    ):
        total = {name: total[name] + batch[name] if total else batch[name] for name in batch}
    exact = statistic.event is None
    word = "exact" if exact else "estimated"
    runs = number * size
    curve = (
        loss_band(total["fine"][0], total["fine"][1], bins.fine_edges, alpha)
        if exact
        else tradeoff_band(total["reached"][0], total["reached"][1], runs, alpha)
    )
    return RunEvidence(
        pair=statistic.label,
        swapped=statistic.swapped,
        score=statistic.name,
        exact=exact,
        runs=runs,
        pilot_runs=pilot,
        losses=_histogram(f"{word} privacy loss", bins.loss_edges, total["losses"]),
        scores=None if exact else _histogram(statistic.name, bins.score_edges, total["scores"]),
        curve=curve,
        threshold=statistic.threshold,
    )


def _histogram(quantity: str, edges: Array, counts: Array) -> Histogram:
    whole = counts.astype(int).tolist()
    return Histogram(
        quantity,
        tuple(edges.tolist()),
        tuple(whole[0][1:-1]),
        tuple(whole[1][1:-1]),
        (whole[0][0], whole[1][0]),
        (whole[0][-1], whole[1][-1]),
    )


def choose_bins(
    first: Array, second: Array, statistic: Statistic, epsilon: float, runs: int
) -> Bins:
    """Bins and thresholds from pilot statistics; the claim's epsilon is always on the loss axis."""
    loss_bins, score_bins = _BINS if runs >= 2000 else _FEW_BINS
    pooled = np.sort(np.concatenate([first, second]))
    pooled = pooled[np.isfinite(pooled)] if np.isfinite(pooled).any() else np.zeros(1)
    size = len(pooled)
    tail = np.unique(np.geomspace(1, max(2, size // 4), 16).astype(int))
    ranks = np.concatenate([np.linspace(0, size - 1, 33).astype(int), tail, size - 1 - tail])
    thresholds = np.unique(pooled[np.clip(ranks, 0, size - 1)])
    if statistic.threshold is not None:
        thresholds = np.union1d(thresholds, [statistic.threshold])
    places = ratios = None
    largest = float(np.abs(pooled).max())
    if statistic.event is not None:
        places, ratios = _ratios(first, second, pooled)
        largest = float(np.abs(ratios).max())
    reach = max(1.25 * epsilon, 1.05 * largest, 1e-3)
    low, high = (float(v) for v in np.quantile(pooled, [0.002, 0.998]))
    margin = 0.05 * (high - low) or 0.5
    return Bins(
        thresholds=thresholds,
        loss_edges=np.linspace(-reach, reach, loss_bins + 1),
        fine_edges=max(1.05 * largest, 1e-6) * np.linspace(-1.0, 1.0, _FINE_BINS + 1),
        score_edges=np.linspace(low - margin, high + margin, score_bins + 1),
        places=places,
        ratios=ratios,
    )


def _ratios(first: Array, second: Array, pooled: Array) -> tuple[Array, Array]:
    """Scores and the log ratio of how often each, or a cell around it, occurred on the two sides."""
    values = np.unique(pooled)
    if len(values) <= _FEW_VALUES:
        places, cuts = values, 0.5 * (values[1:] + values[:-1])
    else:
        cuts = np.unique(np.quantile(pooled, np.linspace(0, 1, _CELLS + 1)[1:-1]))
        ends = np.concatenate([values[:1], cuts, values[-1:]])
        places = 0.5 * (ends[1:] + ends[:-1])
    hits, other = _counted(first, cuts), _counted(second, cuts)
    if len(values) > _FEW_VALUES:  # neighbouring cells share what they know
        hits, other = (np.convolve(np.pad(c, 3, "edge"), _SMOOTH, "valid") for c in (hits, other))
    else:
        hits, other = _ascending(hits, other)
    return places, np.log((hits + 0.5) / (other + 0.5))


def _ascending(hits: Array, other: Array) -> tuple[Array, Array]:
    """Values pooled until their ratios ascend with the score, as an attack by threshold sees them."""
    from scipy.optimize import isotonic_regression

    total = np.maximum(hits + other, 1e-9)
    share = isotonic_regression(hits / total, weights=total).x
    blocks = np.unique(share, return_inverse=True)[1]
    pooled = [np.bincount(blocks, weights=side)[blocks].astype(float) for side in (hits, other)]
    return pooled[0], pooled[1]


def evidence_runs(mechanism: Mechanism, loss_runs: int, learning_runs: int) -> int:
    """How many runs a side a report may spend: a small part of what the audit itself does."""
    if mechanism.log_density is not None:
        return min(20_000, max(64, 5 * loss_runs))
    return min(1 << 16, learning_runs)


FEWEST_DRAWN = 64  # runs a side and step that show anything
_DRAWN = 2048  # runs a side to learn an event from that is only drawn
_DRAWING_SECONDS = 15.0


def drawing_runs(mechanism: Mechanism, limits: Limits) -> int:
    """Runs a side and step that a picture may cost where no event was learned."""
    affordable = limits.pace.within(min(_DRAWING_SECONDS, limits.seconds_left / 2))
    most = min(_DRAWN, limits.runs_for(mechanism) // 4)
    # Four steps of two sides: to learn, to choose, a pilot, and what is drawn.
    return max(1, most if affordable is None else min(most, affordable // 8))


def event_to_draw(
    plan: PartPlan, mechanism: Mechanism, pair: int | None, runs: int, runner: Runner
) -> list[tuple[int, LearnedEvent]]:
    """The event that tells most on the pair that convicts, learned from `runs` runs a side."""
    limits = Limits(learning_runs=runs, sharpening_runs=runs)
    found = learn(
        mechanism, plan.pairs, plan.tested, limits, runner.within("picture"), only=pair or 0
    )
    return [(one.pair, one.event) for one in found.candidates[:1]]
