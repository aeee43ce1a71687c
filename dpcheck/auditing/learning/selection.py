"""Which events to test: pairs, scores and thresholds, each chosen on runs of its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dpcheck.auditing.claims import AuditedClaim
from dpcheck.auditing.learning.cells import CellScore
from dpcheck.auditing.learning.events import (
    LENIENT,
    Aim,
    LearnedEvent,
    ScoreGrid,
    cell_thresholds,
    choose_events,
    learn_grids,
    pick,
)
from dpcheck.auditing.learning.observation import Observation, fit_batches, observe_pair
from dpcheck.auditing.limits import Limits
from dpcheck.auditing.mechanism import Mechanism, Pair
from dpcheck.auditing.statistics.sequential import Bet
from dpcheck.execution.runner import Runner
from dpcheck.execution.seeds import generator
from dpcheck.execution.store import Arrays

__all__ = ["Candidate", "Learned", "fit_batches", "learn"]
Array = NDArray[np.float64]
_SCREEN = 1 << 16  # runs a side to learn quick scores of a pair from
_JUDGED = 1 << 18  # and, at most, to tell promising pairs from others by them
_KEPT = 2  # pairs
_SHORTLIST = 10  # scores a pair
_FINALISTS = 6  # scores, over all pairs
_RECORDED = 4096  # learning runs a side that are kept to measure what would have been caught
_NAMED = 5  # parts of the output that were not looked at, in the notes
_FEW_CELLS = 64  # so few are counted well enough on the learning runs


@dataclass(frozen=True, slots=True)
class Candidate:
    """An event on one of the pairs."""

    pair: int
    event: LearnedEvent


@dataclass(frozen=True, slots=True)
class Learned:
    """Candidates worth testing, best first, the learning runs spent a side, and warnings."""

    candidates: tuple[Candidate, ...]
    runs: int
    notes: tuple[str, ...]
    unread: bool = False  # whether some part of the outputs was not looked at
    samples: Mapping[int, tuple[Array, Array]] = field(default_factory=dict)  # recorded, by pair

    @property
    def bets(self) -> tuple[Bet, ...]:
        """Most of the stake is on the best."""
        shares = [3.0] + [1.0] * (len(self.candidates) - 1)
        return tuple(
            each.event.bet(share) for each, share in zip(self.candidates, shares, strict=True)
        )


def cell_batch(
    mechanism: Mechanism,
    first: object,
    second: object,
    grids: Sequence[ScoreGrid],
    size: int,
    seed: np.random.SeedSequence,
) -> Arrays:
    """One counting batch: how often each cell is hit, per score by cells."""
    sides = _rounded(mechanism, first, second, grids, size, seed)
    return {
        f"grid-{index}": np.stack([grid.score.counted(side) for side in sides])
        for index, grid in enumerate(grids)
        if isinstance(grid.score, CellScore)
    }


def tally_batch(
    mechanism: Mechanism,
    first: object,
    second: object,
    grids: Sequence[ScoreGrid],
    size: int,
    seed: np.random.SeedSequence,
) -> Arrays:
    """One sharpening batch: counts per score and threshold."""
    sides = _rounded(mechanism, first, second, grids, size, seed)
    return {
        f"grid-{index}": np.stack([grid.tally(side) for side in sides])
        for index, grid in enumerate(grids)
    }


def _rounded(
    mechanism: Mechanism,
    first: object,
    second: object,
    grids: Sequence[ScoreGrid],
    size: int,
    seed: np.random.SeedSequence,
) -> list[Array]:
    layout = grids[0].layout  # one pair, one layout
    return [
        layout.sampled(mechanism, data, size, generator(one))
        for data, one in zip((first, second), seed.spawn(2), strict=True)
    ]


def learn(
    mechanism: Mechanism,
    pairs: Sequence[Pair],
    claim: AuditedClaim,
    limits: Limits,
    runner: Runner,
    *,
    only: int | None = None,
    aim: Aim = Aim.BOUND,
) -> Learned:
    """Screen the pairs, learn scores, count cells, choose scores and thresholds: four stages.

    With `only` the pair is known already.
    """
    spent, constant = 0, True
    unread: dict[str, str] = {}
    samples: dict[int, tuple[Array, Array]] = {}
    chosen = list(range(len(pairs)))
    if only is not None:
        chosen = [only]
    elif len(pairs) > _KEPT:
        chosen, spent = _screened(mechanism, pairs, claim, limits, runner)
    wanted = limits.learning_for(mechanism, len(chosen))
    shortlist: list[_Listed] = []
    for index in chosen:
        seen = _observed(mechanism, pairs, index, wanted, "learn", runner)
        spent += seen.runs
        unread |= seen.unread
        first, second, reader = seen.first, seen.second, seen.reader
        constant &= bool((first == first[0]).all() and (second == first[0]).all())
        grids = learn_grids(
            first, second, claim, most=_SHORTLIST, trees=limits.trees, reader=reader, aim=aim
        )
        samples[index] = (first[:_RECORDED].copy(), second[:_RECORDED].copy())
        del first, second, seen
        sharpening = limits.sharpening_for(mechanism, len(chosen))
        batches = _Batches(mechanism, pairs, index, sharpening, runner)
        if any(_many_cells(grid) for grid in grids):
            counts = batches.summed("cells", cell_batch, grids)
            grids = [
                _recounted(grid, counts.get(f"grid-{place}")) for place, grid in enumerate(grids)
            ]
            spent += batches.total
        shortlist += batches.tallied([_Listed(index, grid) for grid in grids], first_pass=True)
        spent += batches.first_pass
    runs = batches.first_pass
    if batches.total > runs:
        shortlist = sorted(shortlist, key=lambda one: -one.merit(runs, claim, aim))[:_FINALISTS]
        runs = batches.total
        for index in sorted({one.pair for one in shortlist}):
            batches = replace(batches, index=index)
            mine = [one for one in shortlist if one.pair == index]
            others = [one for one in shortlist if one.pair != index]
            shortlist = others + batches.tallied(mine, first_pass=False)
            spent += batches.total - batches.first_pass
    found: list[Candidate] = []
    for index in sorted({one.pair for one in shortlist}):
        mine = [one for one in shortlist if one.pair == index]
        events = choose_events(
            [m.grid for m in mine], [m.tally for m in mine], runs, claim, aim=aim
        )
        found += [Candidate(index, event) for event in events]
    notes = []
    if constant:
        notes.append("all learning runs gave the same output. Is this the right function?")
    notes += [f"not looked at: {path}: {why}" for path, why in sorted(unread.items())[:_NAMED]]
    if unread:
        notes.append("since not all of the output was looked at, only a violation can be decided")
    return Learned(tuple(_kept(found)), spent, tuple(notes), bool(unread), samples)


def _screened(
    mechanism: Mechanism, pairs: Sequence[Pair], claim: AuditedClaim, limits: Limits, runner: Runner
) -> tuple[list[int], int]:
    """The pairs worth learning on, and the runs a side spent on finding out."""
    merits, spent = [], 0
    each = limits.screening_for(mechanism, len(pairs))
    wanted = min(limits.learning_for(mechanism), each, _SCREEN)
    judged = min(_JUDGED, limits.sharpening_for(mechanism) // 4, each)
    for index in range(len(pairs)):
        seen = _observed(mechanism, pairs, index, wanted, "screen", runner)
        grids = learn_grids(seen.first, seen.second, claim, most=4, trees=False, reader=seen.reader)
        screen = _Batches(mechanism, pairs, index, max(1, judged), runner)
        sums = screen.summed("judge", tally_batch, grids)
        listed = [_Listed(index, g, sums[f"grid-{i}"]) for i, g in enumerate(grids)]
        merits.append(max(one.merit(screen.total, claim) for one in listed))
        spent += seen.runs + screen.total
    return sorted(range(len(pairs)), key=lambda index: -merits[index])[:_KEPT], spent


@dataclass(frozen=True, slots=True)
class _Listed:
    """A score on a pair, and its counts per side, tail and threshold so far."""

    pair: int
    grid: ScoreGrid
    tally: Array = field(default_factory=lambda: np.zeros(1))

    def merit(self, runs: int, claim: AuditedClaim, aim: Aim = Aim.BOUND) -> float:
        return max(e.merit for e in pick(self.grid, self.tally, runs, claim, LENIENT, aim=aim))


def _many_cells(grid: ScoreGrid) -> bool:
    return isinstance(grid.score, CellScore) and grid.score.partition.size > _FEW_CELLS


def _recounted(grid: ScoreGrid, counts: Array | None) -> ScoreGrid:
    if counts is None or not isinstance(grid.score, CellScore):
        return grid
    score = grid.score.recounted(counts[0], counts[1])
    return ScoreGrid(score, grid.layout, cell_thresholds(score.ratios, counts.sum(axis=0)))


def _kept(found: list[Candidate]) -> list[Candidate]:
    """The best two of the best pair, and one that bounds epsilon where those are too rare to.

    Where nothing stands out, one of another pair too. Each further one costs a little power. All are
    on one line, so that their evidence can be averaged.
    """
    found = sorted(found, key=lambda c: c.event.merit, reverse=True)
    steady = [c for c in found if c.event.bounds_epsilon]
    found = [c for c in found if not c.event.bounds_epsilon]
    best = found[0]
    keep = [c for c in found if c.pair == best.pair][:2]
    if best.event.merit <= 0:
        keep += [c for c in found if c.pair != best.pair][:1]
    line = (best.event.epsilon, best.event.delta)
    return [c for c in keep + steady[:1] if (c.event.epsilon, c.event.delta) == line]


@dataclass(frozen=True, slots=True)
class _Batches:
    """Batches on one pair whose results are summed, so memory does not grow with the runs."""

    mechanism: Mechanism
    pairs: Sequence[Pair]
    index: int
    wanted: int
    runner: Runner

    @property
    def size(self) -> int:
        return min(self.mechanism.batch, self.wanted)

    @property
    def total(self) -> int:
        """Runs a side in all."""
        return max(1, self.wanted // self.size) * self.size

    @property
    def first_pass(self) -> int:
        """Runs a side after which only the best scores go on."""
        return math.ceil(self.total / 4 / self.size) * self.size

    def tallied(self, listed: Sequence[_Listed], *, first_pass: bool) -> list[_Listed]:
        """The scores with the counts of one of the two passes added."""
        cut = self.first_pass // self.size
        batches = range(cut) if first_pass else range(cut, self.total // self.size)
        grids = [one.grid for one in listed]
        sums = self.summed("sharpen", tally_batch, grids, batches)
        return [
            replace(one, tally=one.tally + sums[f"grid-{place}"])
            for place, one in enumerate(listed)
        ]

    def summed(
        self,
        stage: str,
        function: Callable[..., Arrays],
        grids: Sequence[ScoreGrid],
        batches: range | None = None,
    ) -> dict[str, Array]:
        pair = self.pairs[self.index]
        self.runner.progress.stage(f"{self.runner.prefix}: choosing an event on {pair.label}")
        total: dict[str, Array] = {}
        for batch in self.runner.batches(
            f"{stage}-{self.index}",
            batches or range(self.total // self.size),
            function,
            self.mechanism,
            pair.first,
            pair.second,
            grids,
            self.size,
        ):
            total = {name: total[name] + part if total else part for name, part in batch.items()}
        return total


def _observed(
    mechanism: Mechanism, pairs: Sequence[Pair], index: int, wanted: int, stage: str, runner: Runner
) -> Observation:
    """At most `wanted` learning outputs of both sides of a pair."""
    runner.progress.stage(f"{runner.prefix}: learning on {pairs[index].label}")
    return observe_pair(mechanism, pairs[index], f"{stage}-{index}", wanted, runner)
