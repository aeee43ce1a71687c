"""From candidates to the pair worth auditing: halve, improve, shrink, all on learning runs.

The audit tests the chosen pair on fresh runs, so that nothing done here costs confidence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from dpcheck.auditing.mechanism import Mechanism, Pair, SingleCall
from dpcheck.auditing.outputs.reader import learn_reader
from dpcheck.auditing.outputs.summaries import separation
from dpcheck.auditing.outputs.tables import Encoded
from dpcheck.auditing.pairs.candidates import Candidate, candidates, mutated
from dpcheck.auditing.pairs.forms import Form
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.errors import MechanismFailed, RunTimedOut
from dpcheck.core.records import Records
from dpcheck.execution.interrupts import interruptible, time_limited
from dpcheck.execution.runner import Runner
from dpcheck.execution.seeds import generator
from dpcheck.execution.store import Arrays
from dpcheck.replay import Scorer

_FIRST_LOOK = 24  # runs a side on every candidate
_LAST_MEASURE = 192  # and on those that are left
_STEPS, _NEAR = 2, 12  # rounds of improvement, and candidates nearby that each of them tries
_KEPT = 2  # pairs that are audited
_UNSEARCHED = 12  # and where there is no time to search
_HARMLESS = 1e-3  # a loss not worth a look
_INFINITE, _TAIL = 1e6, 1e-6  # infinite losses are compared at this delta
_SECONDS = 10.0  # in which both sides of a pair must be followed


@dataclass(frozen=True, slots=True)
class PairSearch:
    """Searches the pairs of a description on which a mechanism's outputs differ most."""

    description: Records
    adjacency: Adjacency
    form: Form
    most: int = 64

    def find(self, mechanism: Mechanism, runner: Runner, delta: float = 0.0) -> list[Pair]:
        """The most promising pairs, shrunk: by exact losses at `delta` where noise can be followed.

        Following takes two calls a pair. Where it does not get to the end, runs on both sides decide.
        """
        runner = runner.within("pairs")
        listed = candidates(self.description, self.adjacency, self.most)
        measures: list[_Measure] = [_ByRuns(self, mechanism, runner)]
        if not mechanism.is_outside:
            measures.insert(0, _ByLosses(self, mechanism, runner, delta=delta))
        first: list[Candidate] = []
        second: list[Candidate] = []
        left = listed
        for measure in measures:
            best, left = measure.best(left)
            first += [self._improved(one, measure) for one in best[:1]]
            second += best[1:]
        kept = (first + second or listed)[:_KEPT]
        return [one.pair(self.description, self.form) for one in kept]

    def unsearched(self) -> list[Pair]:
        """The first candidates, for when there is no time to run them."""
        listed = candidates(self.description, self.adjacency, _UNSEARCHED)
        return [one.pair(self.description, self.form) for one in listed]

    def _improved(self, best: Candidate, measure: _Measure) -> Candidate:
        """A better pair nearby, with as few others as it needs."""
        height = measure.at([best], _LAST_MEASURE)[0]
        for _ in range(_STEPS):
            near = list(islice(mutated(best, self.description), 4 * _NEAR))[:: max(1, _NEAR // 4)]
            near = [one for one in near if repr(one.first) != repr(one.second)]
            heights = measure.at(near, _LAST_MEASURE)
            if not near or max(heights) <= 1.05 * height:
                break
            place = int(np.argmax(heights))
            best, height = near[place], heights[place]
        return _shrunk(best, lambda one: measure.at([one], _LAST_MEASURE)[0] >= 0.9 * height, self)


def _shrunk(best: Candidate, keeps: Callable[[Candidate], bool], search: PairSearch) -> Candidate:
    """The candidate with as few others as the finding needs."""
    if search.description.rows is not None:
        return best  # the number of rows is public
    for size in (0, 1, 2, 4):
        smaller = replace(best, shared=best.shared[:size])
        if size < len(best.shared) and keeps(smaller):
            return replace(smaller, label=f"{best.label}, shrunk to {size} others")
    return best


@dataclass(slots=True)
class _Measure:
    """Says how far apart the outputs of candidates are; every measurement has seeds of its own."""

    search: PairSearch
    mechanism: Mechanism
    runner: Runner
    _measured: int = 0

    def best(self, listed: Sequence[Candidate]) -> tuple[list[Candidate], list[Candidate]]:
        """The most promising, best first, and those it cannot judge."""
        raise NotImplementedError

    def at(self, listed: Sequence[Candidate], runs: int) -> list[float]:
        """How far apart the sides of each candidate are; -1 where nothing can be said."""
        raise NotImplementedError

    def _batch(self, candidate: Candidate, measure: Callable[..., Arrays], extra: float) -> Arrays:
        pair = candidate.pair(self.search.description, self.search.form)
        stage = f"{type(self).__name__}-{self._measured}"
        self._measured += 1
        (batch,) = self.runner.batches(
            stage, range(1), measure, self.mechanism, pair.first, pair.second, extra
        )
        return batch


@dataclass(slots=True)
class _ByRuns(_Measure):
    """Runs candidates, those that stay ahead more and more often."""

    def best(self, listed: Sequence[Candidate]) -> tuple[list[Candidate], list[Candidate]]:
        left, runs = list(listed), _FIRST_LOOK
        while len(left) > _KEPT:
            found = self.at(left, runs)
            order = sorted(range(len(left)), key=lambda i: -found[i])
            left = [left[i] for i in order[: max(_KEPT, len(left) // 3)]]
            runs = min(_LAST_MEASURE, 2 * runs)
        return left, []

    def at(self, listed: Sequence[Candidate], runs: int) -> list[float]:
        self.runner.progress.stage(f"{self.runner.prefix}: trying {len(listed)} pairs")
        return [float(self._batch(one, apart_batch, runs)["apart"][0]) for one in listed]


@dataclass(slots=True)
class _ByLosses(_Measure):
    """Follows the noise: two calls a candidate give its loss at `delta`."""

    delta: float = 0.0

    def best(self, listed: Sequence[Candidate]) -> tuple[list[Candidate], list[Candidate]]:
        heights = self.at(listed, 1)
        order = sorted(range(len(listed)), key=lambda i: -heights[i])
        followed = [listed[i] for i in order if heights[i] > _HARMLESS][:_KEPT]
        return followed, [one for one, h in zip(listed, heights, strict=True) if h < 0]

    def at(self, listed: Sequence[Candidate], runs: int) -> list[float]:  # noqa: ARG002 - interface
        self.runner.progress.stage(f"{self.runner.prefix}: following {len(listed)} pairs")
        found = [self._batch(one, followed_batch, self.delta) for one in listed]
        return [float(one["score"][0]) if one["followed"][0] else -1.0 for one in found]


def followed_batch(
    mechanism: Mechanism, first: object, second: object, delta: float, seed: np.random.SeedSequence
) -> Arrays:
    """What replay says of the pair in two calls: its loss at `delta`, if both sides are followed."""
    scorer = Scorer(SingleCall(mechanism), delta, int(seed.generate_state(1)[0]))
    try:
        with interruptible(), time_limited(mechanism.timeout or _SECONDS, fatal=False):
            rated = scorer.rate((first, second))
            height = rated.score
            if rated.followed and math.isinf(height):  # as for normal noise; some are worse still
                height = _INFINITE + scorer.rate((first, second), _TAIL).score
    except RunTimedOut:
        return {"score": np.zeros(1), "followed": np.zeros(1, bool)}
    return {"score": np.array([height]), "followed": np.array([rated.followed])}


def apart_batch(
    mechanism: Mechanism, first: object, second: object, size: int, seed: np.random.SeedSequence
) -> Arrays:
    """How far apart the outputs of both sides are, on `size` runs each."""
    one, two = seed.spawn(2)
    sides = [
        _observed(mechanism, data, size, generator(each))
        for data, each in ((first, one), (second, two))
    ]
    return {"apart": np.array([_apart(sides[0], sides[1])])}


def _observed(
    mechanism: Mechanism, data: object, size: int, rng: np.random.Generator
) -> Encoded | None:
    try:
        return mechanism.observe(data, size, rng)
    except MechanismFailed:  # a batched one, on data it cannot take
        return None


def _apart(first: Encoded | None, second: Encoded | None) -> float:
    """Standard errors by which the column that differs most differs; failures tell nothing.

    Of equal spread but for certain columns (constant on each side) the gap counts as well.
    """
    if first is None or second is None:
        return -1.0
    if first.raised == first.size and second.raised == second.size:
        return -1.0
    reader = learn_reader([first], [second])
    one, two = reader.rows(first), reader.rows(second)
    ranks = separation(one, two)
    spread = np.sqrt(0.5 * (one.var(axis=0) + two.var(axis=0)))
    gap = np.abs(one.mean(axis=0) - two.mean(axis=0)) / np.where(spread > 0, spread, np.inf)
    certain = (spread == 0) & (one[0] != two[0])
    return float(np.max(ranks + np.minimum(gap, 100.0) + 100.0 * certain))
