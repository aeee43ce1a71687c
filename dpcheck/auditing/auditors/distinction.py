"""Telling the sides of pairs apart: learn an event on some runs, test it on fresh ones until sure."""

from __future__ import annotations

import math
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpcheck.auditing.claims import AuditedClaim
from dpcheck.auditing.learning.events import Aim
from dpcheck.auditing.learning.observation import observe_pair
from dpcheck.auditing.learning.selection import Candidate, Learned, fit_batches, learn
from dpcheck.auditing.limits import Limits, Pace
from dpcheck.auditing.mechanism import Mechanism, Pair
from dpcheck.auditing.statistics.sequential import (
    Counts,
    average_log_e,
    count,
    detectable,
    lower_epsilon,
    separates,
    would_catch,
)
from dpcheck.auditing.verdicts import good_enough
from dpcheck.core.errors import TimeLimitReached
from dpcheck.execution.progress import duration
from dpcheck.execution.runner import Runner
from dpcheck.execution.seeds import generator
from dpcheck.execution.store import Arrays

Array = NDArray[np.float64]
__all__ = ["Candidate", "Distinction", "Limits", "count_pairs", "distinguish", "learn"]


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
    out_of_time: bool = False
    separates: bool = True  # whether an event was seen to be likelier on one side at all
    sample: tuple[Array, Array] | None = None  # recorded learning runs of the best pair
    earlier: tuple[Candidate, ...] = ()  # tested in another round, with less to show

    @property
    def pair(self) -> int:
        """The pair of the best candidate."""
        return self.candidates[self.best].pair

    @property
    def best(self) -> int:
        """The candidate with most evidence."""
        each = [average_log_e([c], self.epsilon, self.delta) for c in self.counts]
        return int(np.argmax(each))


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
        # All events of a pair were learned on one layout.
        layout = next(c.event.layout for c in candidates if c.pair == number)
        first = layout.sampled(mechanism, pairs[number].first, size, generator(one))
        second = layout.sampled(mechanism, pairs[number].second, size, generator(two))
        for index, candidate in enumerate(candidates):
            if candidate.pair == number:
                a, b = candidate.event.hits(first), candidate.event.hits(second)
                found = count(b, a) if candidate.event.swapped else count(a, b)
                rows[index] = (found.both, found.first, found.second, found.neither)
    return {"counts": rows}


def distinguish(
    mechanism: Mechanism, pairs: Sequence[Pair], claim: AuditedClaim, limits: Limits, runner: Runner
) -> Distinction:
    """Audit a black box on the given pairs: one round, and where runs are left a second one.

    The first round ends once its event is measured well enough. That says nothing about rarer
    events, so what is left of the runs looks for those, with a third of the error rate.

    Guarantee: `lower` exceeds the true epsilon at `delta` with probability at most alpha, whenever
    the audit stops and however many pairs, directions and thresholds were tried: those are chosen
    on other runs than they are tested on, and the evidence of the chosen is averaged.
    Assumes: runs are independent given the data.
    """
    mechanism = fit_batches(mechanism, pairs, runner)
    if limits.pace.calls == 0 and not math.isinf(limits.deadline):
        _take_the_time(mechanism, pairs[0], limits.pace, runner)
    limits = limits.in_time(mechanism)
    if not limits.stop_early or limits.reach is not None:
        return _round(mechanism, pairs, claim, limits, runner)
    first = replace(limits, alpha=limits.alpha * (1 - _RARER))
    found = _round(mechanism, pairs, claim, first, runner)
    left = limits.after_game(mechanism) - found.runs - found.learning_runs
    affordable = limits.pace.within(limits.seconds_left)
    left = left if affordable is None else min(left, affordable // 2)
    if found.out_of_time or found.lower > found.epsilon or left < _WORTH_A_ROUND:
        return found
    return _and_rarer(found, mechanism, pairs, claim, limits, left, runner)


_TIMED = 512  # runs a side, where so many are made at once


def _take_the_time(mechanism: Mechanism, pair: Pair, pace: Pace, runner: Runner) -> None:
    """Runs that nothing is learned from, where nobody knows how long one takes: time is to be divided."""
    runs = min(_TIMED, mechanism.batch)
    for attempt in range(2):  # the first also imports and compiles
        began = time.perf_counter()
        observe_pair(mechanism, pair, f"timed {attempt}", runs, runner)
        pace.took(2 * runs, time.perf_counter() - began)


_RARER = 1 / 3  # of the error rate, for a second round
_WORTH_A_ROUND = 4096  # runs a side


def _and_rarer(
    found: Distinction,
    mechanism: Mechanism,
    pairs: Sequence[Pair],
    claim: AuditedClaim,
    limits: Limits,
    left: int,
    runner: Runner,
) -> Distinction:
    """The better of two rounds; the second learns on as many runs as the first spent, or more."""
    second = replace(
        limits,
        alpha=limits.alpha * _RARER,
        max_runs=left,
        learning_runs=max(1, min(_MOST_LEARNED, left // 8)),
        sharpening_runs=max(1, left // 8),
    )
    try:
        rarer = _round(
            mechanism,
            pairs,
            claim,
            second,
            runner.within("rarer"),
            only=found.pair,
            aim=Aim.REFUTE,
        )
    except TimeLimitReached:
        return replace(found, out_of_time=True)
    better = max(found, rarer, key=lambda one: one.lower - one.epsilon)
    return replace(
        better,
        detectable=min(found.detectable, rarer.detectable)
        if found.delta == rarer.delta
        else better.detectable,
        runs=found.runs + rarer.runs,
        learning_runs=found.learning_runs + rarer.learning_runs,
        notes=tuple(dict.fromkeys((*found.notes, *rarer.notes))),
        out_of_time=rarer.out_of_time,
        separates=found.separates or rarer.separates,
        earlier=rarer.candidates if better is found else found.candidates,
    )


_MOST_LEARNED = 1 << 18


def _round(
    mechanism: Mechanism,
    pairs: Sequence[Pair],
    claim: AuditedClaim,
    limits: Limits,
    runner: Runner,
    *,
    only: int | None = None,
    aim: Aim = Aim.BOUND,
) -> Distinction:
    """Learn events, then test them until sure, or, to refute, until refuted or out of runs."""
    began = time.perf_counter()
    cost = limits.pace.needs(2 * limits.after_game(mechanism))
    if cost is not None:
        runner.progress.stage(f"{runner.prefix}: {duration(cost)} at most for a verdict")
    learned = learn(mechanism, pairs, claim, limits, runner, only=only, aim=aim)
    candidates, bets = learned.candidates, learned.bets
    epsilon, delta = candidates[0].event.epsilon, candidates[0].event.delta
    most = limits.testing_for(mechanism, learned.runs)
    sizes = _Sizes(mechanism, most)
    counts = [Counts()] * len(candidates)
    done, next_check, out_of_time = 0, 1, False
    batches = _test_batches(mechanism, pairs, candidates, sizes, runner)
    try:
        for done, batch in enumerate(batches, 1):
            counts = [
                old + Counts(*(int(v) for v in row))
                for old, row in zip(counts, batch["counts"], strict=True)
            ]
            if done < next_check:
                continue
            next_check = min(sizes.number, done + _until_next_check(done, limits))
            if runner.progress.on:
                runner.progress.testing(
                    runner.prefix,
                    counts[0].runs,
                    most,
                    lower_epsilon(counts, delta, limits.alpha, bets),
                    average_log_e(counts, epsilon, delta, bets),
                    limits.pace.needs(2 * (most - counts[0].runs)),
                )
            if _is_enough(counts, learned, limits, to_the_end=aim is Aim.REFUTE):
                break
    except TimeLimitReached:
        out_of_time = True
    batches.close()
    limits.pace.took(2 * (counts[0].runs + learned.runs), time.perf_counter() - began)
    return Distinction(
        candidates,
        tuple(counts),
        epsilon,
        delta,
        lower_epsilon(counts, delta, limits.alpha, bets),
        average_log_e(counts, epsilon, delta, bets),
        # A part of the outputs that nobody looked at could hold any leak.
        math.inf if learned.unread else detectable(counts, epsilon, delta, limits.alpha, bets),
        counts[0].runs,
        learned.runs,
        learned.notes,
        out_of_time,
        separates(counts),
        learned.samples.get(candidates[0].pair),
    )


@dataclass(frozen=True, slots=True)
class _Sizes:
    """The sizes of test batches: whole ones, after a few small ones where calls may be slow.

    Fixed by the number of a batch alone, so that results do not depend on how fast calls are.
    """

    mechanism: Mechanism
    most: int

    @property
    def whole(self) -> int:
        return min(self.mechanism.batch, self.most)

    @property
    def small(self) -> tuple[int, ...]:
        if self.mechanism.batched:
            return ()
        sizes: list[int] = []
        size = _SMALL
        while size < self.whole and sum(sizes) + size < self.most:
            sizes.append(size)
            size *= 2
        return tuple(sizes)

    @property
    def number(self) -> int:
        rest = (self.most - sum(self.small)) // self.whole
        return max(1, len(self.small) + rest)

    def size(self, index: int) -> int:
        return self.small[index] if index < len(self.small) else self.whole


def _test_batches(
    mechanism: Mechanism,
    pairs: Sequence[Pair],
    candidates: Sequence[Candidate],
    sizes: _Sizes,
    runner: Runner,
) -> Generator[Arrays, None, None]:
    """All batches in order; the whole ones asked for at once, so that workers need not wait."""
    arguments = (count_pairs, mechanism, pairs, candidates)
    small = len(sizes.small)
    for index in range(small):
        yield from runner.batches("test", range(index, index + 1), *arguments, sizes.size(index))
    whole = runner.batches("test", range(small, sizes.number), *arguments, sizes.whole)
    try:
        yield from whole
    finally:
        whole.close()


_SMALL = 16


def _until_next_check(done: int, limits: Limits) -> int:
    """Batches until the evidence is checked again; checking costs no confidence, only time."""
    if limits.check_every_batch:
        return 1
    return max(1, done // 4) if limits.reach is not None else min(64, done)


def _is_enough(
    counts: Sequence[Counts], learned: Learned, limits: Limits, *, to_the_end: bool
) -> bool:
    """Whether to stop: the wanted bound is reached, the claim refuted, or nothing left to catch."""
    epsilon, delta = learned.candidates[0].event.epsilon, learned.candidates[0].event.delta
    if limits.reach is not None:
        return lower_epsilon(counts, delta, limits.alpha, learned.bets) >= limits.reach
    if not limits.stop_early:
        return False
    if average_log_e(counts, epsilon, delta, learned.bets) >= -math.log(limits.alpha):
        return True
    if to_the_end:
        return False
    wanted = good_enough(epsilon, limits.tolerance / 2)
    share = learned.bets[0].share / math.fsum(bet.share for bet in learned.bets)
    return would_catch(counts[:1], epsilon, delta, limits.alpha * share, wanted, learned.bets[:1])
