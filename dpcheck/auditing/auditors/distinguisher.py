"""The black-box auditor: learn an event on some runs, test it on fresh ones until sure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpcheck.auditing.auditors.distinction import Distinction, distinguish
from dpcheck.auditing.auditors.interface import Finding, conforms, nothing_told, refuted
from dpcheck.auditing.auditors.witness_search import is_searched
from dpcheck.auditing.dependence import signs_of_dependence
from dpcheck.auditing.error_budget import DIRECTIONS
from dpcheck.auditing.limits import Limits
from dpcheck.auditing.mechanism import Pair
from dpcheck.auditing.plain import plain_pair
from dpcheck.auditing.plan import PartPlan
from dpcheck.core.audit_result import Observed
from dpcheck.core.evidence import Spent
from dpcheck.core.method import Method
from dpcheck.core.witness import Witness, WitnessKind
from dpcheck.execution.runner import Runner

Array = NDArray[np.float64]


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
        game = [each.observed for each in before if each.method is Method.GUESSING_GAME]
        if any(seen and seen.runs > self.limits.short_game(plan.mechanism) for seen in game):
            return False  # it went on alone: no runs are left
        if not self.limits.leaves_room_to_learn(plan.mechanism):
            return False
        return not (is_searched(plan) and conforms(before))

    def run(self, plan: PartPlan, alpha: float, runner: Runner) -> Finding:
        """What telling the sides of a pair apart proves."""
        assert plan.mechanism is not None
        limits = replace(self.limits, alpha=alpha, tolerance=_tolerance(plan, self.limits))
        found = distinguish(plan.mechanism, plan.pairs, plan.tested, limits, runner)
        notes = [*found.notes, *_honest(found)]
        if plan.tested.lines is not None:
            notes.append(
                f"the claimed curve allows epsilon {found.epsilon:.6g} at the tested delta "
                f"{found.delta:.3g}"
            )
        over = tuple(
            f"{each.event.describe()} on {plan.pairs[each.pair].label}, "
            f"{DIRECTIONS[each.event.swapped]}"
            for each in (*found.candidates, *found.earlier)
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
                found.detectable if found.separates else math.inf,
                found.learning_runs,
            ),
            _witness(found, plan.pairs) if found.lower > found.epsilon else None,
            tuple(notes),
            event=(best.pair, best.event),
            out_of_time=found.out_of_time,
            pair=found.pair,
        )


def _tolerance(plan: PartPlan, limits: Limits) -> float:
    """How far above the claim a leak may be that is missed: less than one that was seen already."""
    claim = plan.tested.epsilon
    if plan.suspected <= claim:
        return limits.tolerance
    return min(limits.tolerance, (plan.suspected - claim) / max(claim, 0.1))


def _honest(found: Distinction) -> list[str]:
    """What the verdict rests on: that runs are independent, that something was told apart."""
    notes: list[str] = []
    if found.sample is not None:
        notes += dict.fromkeys(note for side in found.sample for note in signs_of_dependence(side))
    if found.lower > found.epsilon:
        return notes
    return notes if found.separates else [*notes, nothing_told(found.runs)]


def _witness(found: Distinction, pairs: Sequence[Pair]) -> Witness:
    candidate, counts = found.candidates[found.best], found.counts[found.best]
    pair = pairs[candidate.pair]
    first, second = pair.first, pair.second
    if candidate.event.swapped:
        first, second = second, first
    shown = plain_pair(first, second)
    return Witness(
        WitnessKind.EVENT,
        {
            "pair": pair.label,
            "first": shown[0],
            "second": shown[1],
            "event": candidate.event.describe(),
            "hits_first": counts.hits,
            "hits_second": counts.other,
            "runs": counts.runs,
            "epsilon_claimed": found.epsilon,
            "delta": found.delta,
        },
    )
