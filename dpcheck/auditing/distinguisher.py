"""The black-box auditor: learn an event on some runs, test it on fresh ones until sure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcheck.auditing.claims import AuditedClaim
from dpcheck.auditing.events import Gauge, LearnedEvent, choose_events, learn_gauges
from dpcheck.auditing.mechanism import Mechanism, Pair
from dpcheck.auditing.sequential import (
    Counts,
    average_log_e,
    count,
    detectable,
    lower_epsilon,
    would_catch,
)
from dpcheck.auditing.verdicts import good_enough
from dpcheck.core.errors import BadOutput
from dpcheck.execution.runner import Runner
from dpcheck.execution.seeds import generator
from dpcheck.execution.store import Arrays

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Limits:
    """What an audit may spend. Runs are per side; `alpha` is its share of the error rate."""

    alpha: float = 1e-3
    max_runs: int | None = None
    learning_runs: int | None = None
    sharpening_runs: int | None = None
    tolerance: float = 0.25
    stop_early: bool = True
    trees: bool = True
    look_every_batch: bool = False  # rather than each time the runs have doubled

    def runs_for(self, mechanism: Mechanism) -> int:
        """Test runs a side at most."""
        if self.max_runs is not None:
            return self.max_runs
        return 4_000_000 if mechanism.batched else 200_000

    def learning_for(self, mechanism: Mechanism) -> int:
        """Runs a side and pair to learn scores from."""
        if self.learning_runs is not None:
            return self.learning_runs
        wanted = 1 << 17 if mechanism.batched else 8192
        return min(wanted, max(1024, self.runs_for(mechanism) // 8))

    def sharpening_for(self, mechanism: Mechanism) -> int:
        """Further runs a side and pair to choose among scores and thresholds."""
        if self.sharpening_runs is not None:
            return self.sharpening_runs
        return max(self.learning_for(mechanism), self.runs_for(mechanism) // 16)


@dataclass(frozen=True, slots=True)
class Candidate:
    """An event on one of the pairs."""

    pair: int
    event: LearnedEvent


@dataclass(frozen=True, slots=True)
class Distinction:
    """What the runs showed, at the tested line (epsilon, delta)."""

    candidates: tuple[Candidate, ...]
    counts: tuple[Counts, ...]
    epsilon: float  # the claim's epsilon on the tested line
    delta: float
    lower: float
    log_e: float
    detectable: float
    runs: int
    learning_runs: int
    notes: tuple[str, ...]

    @property
    def best(self) -> int:
        """The candidate with most evidence."""
        each = [average_log_e([c], self.epsilon, self.delta) for c in self.counts]
        return int(np.argmax(each))


def sample_pair(
    mechanism: Mechanism, first: object, second: object, size: int, seed: np.random.SeedSequence
) -> Arrays:
    """One learning batch: outputs of both sides."""
    one, two = seed.spawn(2)
    return {
        "first": mechanism.sample(first, size, generator(one)),
        "second": mechanism.sample(second, size, generator(two)),
    }


def count_pairs(
    mechanism: Mechanism,
    pairs: Sequence[Pair],
    candidates: Sequence[Candidate],
    size: int,
    seed: np.random.SeedSequence,
) -> Arrays:
    """One test batch: counts only, so memory does not grow with the number of runs."""
    rows = np.zeros((len(candidates), 4))
    for number in sorted({c.pair for c in candidates}):
        one, two = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, number)).spawn(
            2
        )
        first = mechanism.sample(pairs[number].first, size, generator(one))
        second = mechanism.sample(pairs[number].second, size, generator(two))
        # All events of a pair were learned on one layout.
        layout = next(c.event.layout for c in candidates if c.pair == number)
        first, second = layout.rounded(first), layout.rounded(second)
        for index, candidate in enumerate(candidates):
            if candidate.pair == number:
                a, b = candidate.event.hits(first), candidate.event.hits(second)
                found = count(b, a) if candidate.event.swapped else count(a, b)
                rows[index] = (found.both, found.first, found.second, found.neither)
    return {"counts": rows}


def tally_batch(
    mechanism: Mechanism,
    first: object,
    second: object,
    gauges: Sequence[Gauge],
    size: int,
    seed: np.random.SeedSequence,
) -> Arrays:
    """One sharpening batch: counts per score and threshold."""
    found = sample_pair(mechanism, first, second, size, seed)
    layout = gauges[0].layout  # one pair, one layout
    one, two = layout.rounded(found["first"]), layout.rounded(found["second"])
    return {
        f"gauge-{index}": np.stack([gauge.tally(one), gauge.tally(two)])
        for index, gauge in enumerate(gauges)
    }


_SCREEN = 1 << 16  # runs a side to tell promising pairs from others
_KEPT = 2  # pairs
_SHORTLIST = 10  # scores a pair


def learn(
    mechanism: Mechanism, pairs: Sequence[Pair], claim: AuditedClaim, limits: Limits, runner: Runner
) -> tuple[list[Candidate], int, list[str]]:
    """Candidates worth testing, the learning runs spent a side, and what to warn about.

    Three stages on separate runs: screen the pairs, learn scores, choose scores and thresholds.
    """
    wanted = limits.learning_for(mechanism)
    spent, constant = 0, True
    chosen = list(range(len(pairs)))
    if len(pairs) > _KEPT and wanted > 1024:
        merits = []
        for index in chosen:
            first, second = _outputs(
                mechanism, pairs, index, min(wanted, _SCREEN), "screen", runner
            )
            spent += len(first)
            merits.append(_promise(first, second, claim))
        chosen = sorted(chosen, key=lambda index: -merits[index])[:_KEPT]
    found: list[Candidate] = []
    for index in chosen:
        first, second = _outputs(mechanism, pairs, index, wanted, "learn", runner)
        spent += len(first)
        constant &= bool((first == first[0]).all() and (second == first[0]).all())
        gauges = learn_gauges(first, second, claim, most=_SHORTLIST, trees=limits.trees)
        del first, second
        tallies, runs = _sharpen(mechanism, pairs[index], index, gauges, limits, runner)
        spent += runs
        events = choose_events(gauges, tallies, runs, claim)
        found += [Candidate(index, event) for event in events]
    found.sort(key=lambda c: c.event.merit, reverse=True)
    notes = []
    if constant:
        notes.append("all learning runs gave one and the same output; is this the mechanism?")
    # The two best, the best of another pair, and one that bounds epsilon where the best are too rare
    # to: each further one costs a little power.
    steady = [c for c in found if c.event.merit < -1e6]
    found = [c for c in found if c.event.merit >= -1e6]
    keep = found[:2] + [c for c in found[2:] if c.pair != found[0].pair][:1] + steady[:1]
    # One line for all, so that their evidence can be averaged.
    line = (keep[0].event.epsilon, keep[0].event.delta)
    keep = [c for c in keep if (c.event.epsilon, c.event.delta) == line]
    return keep, spent, notes


def _promise(first: Array, second: Array, claim: AuditedClaim) -> float:
    """How much a pair seems to tell apart, from quick scores."""
    gauges = learn_gauges(first, second, claim, most=4, trees=False)
    half = len(first) // 2
    layout = gauges[0].layout
    one, two = layout.rounded(first[half:]), layout.rounded(second[half:])
    tallies = [np.stack([g.tally(one), g.tally(two)]) for g in gauges]
    return choose_events(gauges, tallies, len(one), claim, 1)[0].merit


def _sharpen(
    mechanism: Mechanism, pair: Pair, index: int, gauges: Sequence[Gauge], limits: Limits,
    runner: Runner,
) -> tuple[list[Array], int]:  # fmt: skip
    """Tallies of the shortlist on fresh runs, and how many runs a side."""
    wanted = limits.sharpening_for(mechanism)
    size = min(mechanism.batch, wanted)
    number = math.ceil(wanted / size)
    runner.progress.stage(f"{runner.prefix}: choosing an event on {pair.label}")
    total: list[Array] = []
    for batch in runner.batches(
        f"sharpen-{index}", range(number), tally_batch, mechanism, pair.first, pair.second, gauges,
        size,
    ):  # fmt: skip
        found = [batch[f"gauge-{i}"] for i in range(len(gauges))]
        total = found if not total else [a + b for a, b in zip(total, found, strict=True)]
    return total, number * size


def _outputs(
    mechanism: Mechanism, pairs: Sequence[Pair], index: int, wanted: int, stage: str, runner: Runner
) -> tuple[Array, Array]:
    """At least `wanted` learning outputs of both sides of a pair."""
    pair = pairs[index]
    runner.progress.stage(f"{runner.prefix}: learning on {pair.label}")
    size = min(mechanism.batch, wanted)
    batches = list(
        runner.batches(
            f"{stage}-{index}", range(math.ceil(wanted / size)), sample_pair, mechanism,
            pair.first, pair.second, size,
        )
    )  # fmt: skip
    first, second = _joined(batches, "first"), _joined(batches, "second")
    if first.shape[1] != second.shape[1]:
        raise BadOutput(
            f"the mechanism returns {first.shape[1]} numbers on one dataset and {second.shape[1]} "
            "on its neighbour; return a list where the length is part of the answer."
        )
    return first, second


def _joined(batches: Sequence[Arrays], name: str) -> Array:
    widths = {batch[name].shape[1] for batch in batches}
    if len(widths) > 1:
        raise BadOutput(
            f"the mechanism changes the shape of its output: {sorted(widths)} numbers. Return a "
            "list where the length is part of the answer."
        )
    return np.concatenate([batch[name] for batch in batches])


def distinguish(
    mechanism: Mechanism, pairs: Sequence[Pair], claim: AuditedClaim, limits: Limits, runner: Runner
) -> Distinction:
    """Audit a black box on the given pairs.

    Guarantee: `lower` exceeds the true epsilon at `delta` with probability at most alpha, whenever
    the audit stops and however many pairs, directions and thresholds were tried: those are chosen
    on other runs than they are tested on, and the evidence of the chosen is averaged.
    Assumes: runs are independent given the data.
    """
    candidates, learning, notes = learn(mechanism, pairs, claim, limits, runner)
    epsilon, delta = candidates[0].event.epsilon, candidates[0].event.delta
    most, size = limits.runs_for(mechanism), mechanism.batch
    size = min(size, max(1, most))
    total = max(1, most // size)
    counts = [Counts()] * len(candidates)
    done, ahead = 0, 1
    while done < total:
        upto = min(total, done + ahead)
        for batch in runner.batches(
            "test", range(done, upto), count_pairs, mechanism, pairs, candidates, size
        ):
            counts = [
                old + Counts(*(int(v) for v in row))
                for old, row in zip(counts, batch["counts"], strict=True)
            ]
        done, ahead = upto, 1 if limits.look_every_batch else min(64, upto)
        evidence = average_log_e(counts, epsilon, delta)
        if runner.progress.on:
            bound = lower_epsilon(counts, delta, limits.alpha)
            runner.progress.testing(runner.prefix, done * size, total * size, bound, evidence)
        if not limits.stop_early:
            continue
        if evidence >= -math.log(limits.alpha):
            break
        wanted = good_enough(epsilon, limits.tolerance / 2)
        if would_catch(counts[:1], epsilon, delta, limits.alpha / len(counts), wanted):
            break
    return Distinction(
        tuple(candidates), tuple(counts), epsilon, delta,
        lower_epsilon(counts, delta, limits.alpha),
        average_log_e(counts, epsilon, delta),
        detectable(counts, epsilon, delta, limits.alpha),
        done * size, learning, tuple(notes),
    )  # fmt: skip
