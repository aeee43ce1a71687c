"""The black-box auditor: learn an event on some runs, test it on fresh ones until sure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpcheck.auditing.auditors.interface import Finding, conforms, refuted
from dpcheck.auditing.auditors.witness_search import is_searched
from dpcheck.auditing.claims import AuditedClaim
from dpcheck.auditing.error_budget import DIRECTIONS
from dpcheck.auditing.learning.selection import Candidate, Learned, fit_batches, learn
from dpcheck.auditing.limits import Limits
from dpcheck.auditing.mechanism import Mechanism, Pair
from dpcheck.auditing.plain import plain
from dpcheck.auditing.plan import PartPlan
from dpcheck.auditing.statistics.sequential import (
    Counts,
    average_log_e,
    count,
    detectable,
    lower_epsilon,
    would_catch,
)
from dpcheck.auditing.verdicts import good_enough
from dpcheck.core.audit_result import Observed
from dpcheck.core.evidence import Spent
from dpcheck.core.method import Method
from dpcheck.core.witness import Witness, WitnessKind
from dpcheck.execution.runner import Runner
from dpcheck.execution.seeds import generator
from dpcheck.execution.store import Arrays

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
    """Audit a black box on the given pairs.

    Guarantee: `lower` exceeds the true epsilon at `delta` with probability at most alpha, whenever
    the audit stops and however many pairs, directions and thresholds were tried: those are chosen
    on other runs than they are tested on, and the evidence of the chosen is averaged.
    Assumes: runs are independent given the data.
    """
    mechanism = fit_batches(mechanism, pairs, runner)
    learned = learn(mechanism, pairs, claim, limits, runner)
    candidates, bets = learned.candidates, learned.bets
    epsilon, delta = candidates[0].event.epsilon, candidates[0].event.delta
    size = min(mechanism.batch, limits.runs_for(mechanism))
    total = max(1, limits.runs_for(mechanism) // size)
    counts = [Counts()] * len(candidates)
    done, next_check = 0, 1
    # Asked for all at once, so that workers go on while the evidence is weighed.
    batches = runner.batches("test", range(total), count_pairs, mechanism, pairs, candidates, size)
    for done, batch in enumerate(batches, 1):
        counts = [
            old + Counts(*(int(v) for v in row))
            for old, row in zip(counts, batch["counts"], strict=True)
        ]
        if done < next_check:
            continue
        next_check = min(total, done + _until_next_check(done, limits))
        if runner.progress.on:
            runner.progress.testing(
                runner.prefix,
                done * size,
                total * size,
                lower_epsilon(counts, delta, limits.alpha, bets),
                average_log_e(counts, epsilon, delta, bets),
            )
        if _is_enough(counts, learned, limits):
            break
    batches.close()
    return Distinction(
        candidates,
        tuple(counts),
        epsilon,
        delta,
        lower_epsilon(counts, delta, limits.alpha, bets),
        average_log_e(counts, epsilon, delta, bets),
        # A part of the outputs that nobody looked at could hold any leak.
        math.inf if learned.unread else detectable(counts, epsilon, delta, limits.alpha, bets),
        done * size,
        learned.runs,
        learned.notes,
    )


def _until_next_check(done: int, limits: Limits) -> int:
    """Batches until the evidence is checked again; checking costs no confidence, only time."""
    if limits.check_every_batch:
        return 1
    return max(1, done // 4) if limits.reach is not None else min(64, done)


def _is_enough(counts: Sequence[Counts], learned: Learned, limits: Limits) -> bool:
    """Whether to stop: the wanted bound is reached, the claim refuted, or nothing left to catch."""
    epsilon, delta = learned.candidates[0].event.epsilon, learned.candidates[0].event.delta
    if limits.reach is not None:
        return lower_epsilon(counts, delta, limits.alpha, learned.bets) >= limits.reach
    if not limits.stop_early:
        return False
    if average_log_e(counts, epsilon, delta, learned.bets) >= -math.log(limits.alpha):
        return True
    wanted = good_enough(epsilon, limits.tolerance / 2)
    share = learned.bets[0].share / math.fsum(bet.share for bet in learned.bets)
    return would_catch(counts[:1], epsilon, delta, limits.alpha * share, wanted, learned.bets[:1])


@dataclass(frozen=True, slots=True)
class Distinguisher:
    """The auditor of everything that runs on pairs; it may spend all that is left."""

    limits: Limits
    fraction: float = 1.0

    def applies(self, plan: PartPlan, before: Sequence[Finding]) -> bool:
        """Where nothing is refuted yet.

        Where the loss is known exactly and the code was tied to it, it could only do worse.
        """
        if plan.mechanism is None or not plan.pairs or refuted(plan, before):
            return False
        return not (is_searched(plan) and conforms(before))

    def run(self, plan: PartPlan, alpha: float, runner: Runner) -> Finding:
        """What telling the sides of a pair apart proves."""
        assert plan.mechanism is not None
        limits = replace(self.limits, alpha=alpha)
        found = distinguish(plan.mechanism, plan.pairs, plan.tested, limits, runner)
        notes = list(found.notes)
        if plan.tested.lines is not None:
            notes.append(
                f"the claimed curve allows epsilon {found.epsilon:.6g} at the tested delta "
                f"{found.delta:.3g}"
            )
        over = tuple(
            f"{each.event.describe()} on {plan.pairs[each.pair].label}, "
            f"{DIRECTIONS[each.event.swapped]}"
            for each in found.candidates
        )
        note = "evidence averaged over events, directions and pairs, valid at any stopping time"
        best = found.candidates[found.best]
        return Finding(
            Spent(Method.DISTINGUISHER, alpha, over, note),
            Observed(
                found.lower,
                found.delta,
                1 - self.limits.alpha,
                Method.DISTINGUISHER,
                found.runs,
                found.detectable,
                found.learning_runs,
            ),
            _witness(found, plan.pairs) if found.lower > found.epsilon else None,
            tuple(notes),
            event=(best.pair, best.event),
        )


def _witness(found: Distinction, pairs: Sequence[Pair]) -> Witness:
    candidate, counts = found.candidates[found.best], found.counts[found.best]
    pair = pairs[candidate.pair]
    first, second = pair.first, pair.second
    if candidate.event.swapped:
        first, second = second, first
    return Witness(
        WitnessKind.EVENT,
        {
            "pair": pair.label,
            "first": plain(first),
            "second": plain(second),
            "event": candidate.event.describe(),
            "hits_first": counts.hits,
            "hits_second": counts.other,
            "runs": counts.runs,
            "epsilon_claimed": found.epsilon,
            "delta": found.delta,
        },
    )
