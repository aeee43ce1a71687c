"""The auditor that follows the noise: exact losses of the code itself, in a handful of calls."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from dpcheck.auditing.auditors.interface import Finding, refuted
from dpcheck.auditing.auditors.named_event import LEAST_CALLS, play_named
from dpcheck.auditing.limits import Limits
from dpcheck.auditing.mechanism import Mechanism, Pair, SingleCall
from dpcheck.auditing.plain import plain_pair
from dpcheck.auditing.plan import PartPlan
from dpcheck.core.audit_result import Observed
from dpcheck.core.data import Plain
from dpcheck.core.errors import RunTimedOut
from dpcheck.core.evidence import Spent
from dpcheck.core.method import Method
from dpcheck.core.witness import Witness, WitnessKind
from dpcheck.execution.facts import watched
from dpcheck.execution.interrupts import Interrupted, interruptible, time_limited
from dpcheck.execution.runner import Runner
from dpcheck.replay import FindingKind, HintKind, ReplayFinding, examine, keeps_answers

Found = TypeVar("Found")
MOST_PAIRS = 24
MOST_TESTED = 2  # named events
SECONDS = 20.0  # a pair: following makes code slower, and slow code has the other auditors
KEPT = (
    "the function caches its answer: the first call on a dataset draws noise, the second "
    "gives the same answer and draws none. That is good practice, but an audit needs "
    "independent calls: audit the function inside the cache"
)
# What is worth a line in a report even where nothing is refuted.
TELLING = frozenset(
    {
        HintKind.ADDITIVE,
        HintKind.FIXED_SEED,
        HintKind.NO_DRAW,
        HintKind.PATH,
        HintKind.REUSED,
        HintKind.SCALE,
        HintKind.UNREPEATABLE,
        HintKind.UNUSED,
    }
)


@dataclass(frozen=True, slots=True)
class Replay:
    """Proofs first, at no error rate; what was merely seen becomes notes, and an event to be tested.

    The tests are at most two, of the event that the outputs of the same draws name, on fresh calls.
    """

    limits: Limits = field(default_factory=Limits)
    fraction: float = 0.05

    def applies(self, plan: PartPlan, before: Sequence[Finding]) -> bool:
        """Where somebody's code runs on pairs; reference mechanisms have a search of their own."""
        return (
            plan.mechanism is not None
            and not plan.mechanism.is_outside
            and bool(plan.pairs)
            and plan.search is None
            and not plan.floating_point
            and not refuted(plan, before)
        )

    def run(self, plan: PartPlan, alpha: float, runner: Runner) -> Finding:
        """The first pair whose exact loss is above the claim, or what was seen on the way."""
        assert plan.mechanism is not None
        runner.progress.stage(f"{runner.prefix}: following the noise")
        spent = Spent(Method.REPLAY, 0.0, (), "the noise was followed: a proof, not a test")
        if self._keeps(plan, runner.seed):
            return Finding(spent, notes=(KEPT,), dependent=True)
        seen: list[ReplayFinding] = []
        calls = 0
        for pair in plan.pairs[:MOST_PAIRS]:
            finding = self._examine(plan, pair, runner.seed)
            if finding is None:
                break
            calls += finding.calls
            self.limits.early.calls += finding.calls
            seen.append(finding)
            found = _refutation(plan, finding)
            if found is not None:
                epsilon, delta = found
                observed = Observed(
                    epsilon, delta, 1.0, Method.REPLAY, calls, plan.tested.at(delta)
                )
                notes = (finding.sentence(delta), *_told(seen[-1:]))
                return Finding(
                    spent,
                    observed,
                    _witness(pair, finding, epsilon, delta),
                    notes,
                    pair=len(seen) - 1,
                )
        tested = self._tested(plan, seen, alpha, runner, calls)
        if tested is not None and tested.refutes(plan):
            return tested
        # Nothing is refuted: what was attained exactly, and what was merely seen.
        suspects = _suspects(plan, seen)
        return replace(
            tested or Finding(spent, notes=_told(seen)),
            observed=_attained(plan, seen, calls),
            suspected=max((seen[n].suspected for n in suspects), default=0.0),
            suspects=suspects,
        )

    def _tested(
        self,
        plan: PartPlan,
        seen: Sequence[ReplayFinding],
        alpha: float,
        runner: Runner,
        calls: int,
    ) -> Finding | None:
        """The named events that fresh calls confirm; None where no event is named."""
        named = [n for n, f in enumerate(seen) if f.event is not None and not _is_judged(f)]
        named.sort(key=lambda n: not any(h.kind is HintKind.ADDITIVE for h in seen[n].hints))
        named = named[:MOST_TESTED]
        assert plan.mechanism is not None
        most = self.limits.named_for(plan.mechanism) // max(1, len(named))
        if not named or most < LEAST_CALLS:
            return None
        runner.progress.stage(f"{runner.prefix}: testing the event that replay named")
        labels = tuple(plan.pairs[n].label for n in named)
        spent = Spent(Method.NAMED_EVENT, alpha, labels, "guesses by an event fixed before")
        for number in named:
            event = seen[number].event
            assert event is not None
            played = play_named(plan, number, event, alpha / len(named), runner, most)
            calls += played.calls
            self.limits.early.calls += played.calls
            if played.refutes:
                epsilon, delta = played.lower, played.line[1]
                confidence = 1 - alpha
                observed = Observed(
                    epsilon,
                    delta,
                    confidence,
                    Method.NAMED_EVENT,
                    calls,
                    plan.tested.at(delta),
                )
                return Finding(
                    spent, observed, played.witness(), _told([seen[number]]), pair=number
                )
        return Finding(spent, notes=_told(seen))

    def _keeps(self, plan: PartPlan, seed: int) -> bool:
        assert plan.mechanism is not None
        self.limits.early.calls += 2
        run, data = SingleCall(plan.mechanism), plan.pairs[0].first
        return bool(_limited(plan.mechanism, lambda: keeps_answers(run, data, seed)))

    def _examine(self, plan: PartPlan, pair: Pair, seed: int) -> ReplayFinding | None:
        assert plan.mechanism is not None
        run, claim = SingleCall(plan.mechanism), plan.claim
        return _limited(
            plan.mechanism, lambda: examine(run, pair, claim.budget, claim.recorded, seed)
        )


def _limited(mechanism: Mechanism, look: Callable[[], Found]) -> Found | None:
    """What `look` finds; None where the code hangs, or raises what is no Exception.

    What code reads once in a process it reads here: a result depends on it as on all other files.
    """
    limit = min(SECONDS, mechanism.timeout or SECONDS)
    try:
        with watched(entropy=False), interruptible(), time_limited(limit, fatal=False):
            return look()
    except (Exception, Interrupted) as error:
        if not isinstance(error, RunTimedOut):
            raise
    except BaseException:  # a KeyboardInterrupt or CancelledError of the code: the runs report it
        pass
    return None


def _is_judged(finding: ReplayFinding) -> bool:
    """Whether something is proved of the pair, or that there is nothing to prove."""
    return finding.kind is FindingKind.EXACT or (finding.proved and bool(finding.parts))


def _refutation(plan: PartPlan, finding: ReplayFinding) -> tuple[float, float] | None:
    """(epsilon, delta) proved above what the claim allows; a curve is tried at each of its lines."""
    if not finding.proved or not finding.parts:
        return None
    lines = plan.tested.lines or ((plan.tested.epsilon, plan.tested.delta),)
    for allowed, delta in lines:
        epsilon = finding.epsilon(delta).lower
        if epsilon > allowed:
            return epsilon, delta
    return None


def _attained(plan: PartPlan, seen: Sequence[ReplayFinding], calls: int) -> Observed | None:
    """The largest exact loss of all pairs; it says nothing about what else might have been caught."""
    delta = plan.tested.delta
    reached = max((f.epsilon(delta).lower for f in seen if f.proved), default=0.0)
    if reached <= 0:
        return None
    return Observed(reached, delta, 1.0, Method.REPLAY, calls, math.inf)


def _suspects(plan: PartPlan, seen: Sequence[ReplayFinding]) -> tuple[int, ...]:
    """Pairs with a loss above the claim that was seen and not followed, the worst first."""
    above = [n for n, f in enumerate(seen) if not f.proved and f.suspected > plan.tested.epsilon]
    return tuple(sorted(above, key=lambda n: -seen[n].suspected)[:MOST_TESTED])


def _told(findings: Sequence[ReplayFinding]) -> tuple[str, ...]:
    hints = [h for f in findings for h in f.hints if h.kind in TELLING]
    return tuple(dict.fromkeys(f"replay: {hint}" for hint in hints))[:4]


def _witness(pair: Pair, finding: ReplayFinding, epsilon: float, delta: float) -> Witness:
    line = finding.lines[0] if finding.lines else None
    shown = plain_pair(pair.first, pair.second)
    return Witness(
        WitnessKind.REPLAY,
        {
            "pair": pair.label,
            "first": shown[0],
            "second": shown[1],
            "epsilon": "inf" if math.isinf(epsilon) else epsilon,
            "delta": delta,
            "exact": finding.kind is FindingKind.EXACT,
            "outputs": [way for part in finding.parts[:8] for way in part.ways[:8]],
            "reasons": [part.words for part in finding.parts[:8]],
            "noise": None if line is None else {"path": line.relative, "line": line.number},
            **_event(finding),
        },
    )


def _event(finding: ReplayFinding) -> dict[str, Plain]:
    """An event that refutes the claim by its exact probabilities, where they are known."""
    half = finding.half_line
    if half is None:
        return {}
    sign = ">=" if half.above else "<="
    return {
        "event": f"out {sign} {half.cut:.12g}",
        "probability_first": half.first,
        "probability_second": half.second,
    }
