"""From candidates to the pair worth auditing: halve, improve, shrink, all on learning runs.

The audit tests the chosen pair on fresh runs, so that nothing done here costs confidence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from dpcheck.auditing.mechanism import Mechanism, Pair
from dpcheck.auditing.outputs.reader import learn_reader
from dpcheck.auditing.outputs.summaries import separation
from dpcheck.auditing.outputs.tables import Encoded
from dpcheck.auditing.pairs.candidates import Candidate, candidates, mutated
from dpcheck.auditing.pairs.forms import Form
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.errors import MechanismFailed
from dpcheck.core.records import Records
from dpcheck.execution.runner import Runner
from dpcheck.execution.seeds import generator
from dpcheck.execution.store import Arrays

_FIRST_LOOK = 24  # runs a side on every candidate
_LAST_LOOK = 192  # and on those that are left
_STEPS, _NEAR = 2, 12  # rounds of improvement, and candidates nearby that each of them tries
_KEPT = 2  # pairs that are audited


@dataclass(frozen=True, slots=True)
class PairSearch:
    """Searches the pairs of a description on which a mechanism's outputs differ most."""

    description: Records
    adjacency: Adjacency
    form: Form
    most: int = 64

    def find(self, mechanism: Mechanism, runner: Runner) -> list[Pair]:
        """The most promising pairs, shrunk."""
        look = _Look(self, mechanism, runner.within("pairs"))
        left = candidates(self.description, self.adjacency, self.most)
        runs = _FIRST_LOOK
        while len(left) > _KEPT:
            found = look.at(left, runs)
            order = sorted(range(len(left)), key=lambda i: -found[i])
            left = [left[i] for i in order[: max(_KEPT, len(left) // 3)]]
            runs = min(_LAST_LOOK, 2 * runs)
        best, height = left[0], look.at(left[:1], _LAST_LOOK)[0]
        for _ in range(_STEPS):
            near = list(islice(mutated(best, self.description), 4 * _NEAR))[:: max(1, _NEAR // 4)]
            near = [one for one in near if repr(one.first) != repr(one.second)]
            heights = look.at(near, _LAST_LOOK)
            if not near or max(heights) <= 1.05 * height:
                break
            place = int(np.argmax(heights))
            best, height = near[place], heights[place]
        best = _shrunk(best, lambda one: look.at([one], _LAST_LOOK)[0] >= 0.9 * height, self)
        chosen = [best, *(one for one in left if one.label != best.label)][:_KEPT]
        return [one.pair(self.description, self.form) for one in chosen]


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
class _Look:
    """Runs candidates and says how far apart their outputs are; every look has seeds of its own."""

    search: PairSearch
    mechanism: Mechanism
    runner: Runner
    _looks: int = 0

    def at(self, listed: Sequence[Candidate], runs: int) -> list[float]:
        """How far apart the sides of each candidate are; -1 where the mechanism always fails."""
        self.runner.progress.stage(f"{self.runner.prefix}: trying {len(listed)} pairs")
        found = []
        for candidate in listed:
            pair = candidate.pair(self.search.description, self.search.form)
            stage = f"look-{self._looks}"
            self._looks += 1
            (batch,) = self.runner.batches(
                stage, range(1), apart_batch, self.mechanism, pair.first, pair.second, runs
            )
            found.append(float(batch["apart"][0]))
        return found


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
