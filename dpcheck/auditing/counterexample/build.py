"""After a verdict: shrink the pair, learn a readable event, confirm it on fresh runs."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpcheck.auditing.auditors.guessing_game import Game, play
from dpcheck.auditing.auditors.interface import Finding
from dpcheck.auditing.counterexample.conditions import Condition, as_python_sees
from dpcheck.auditing.counterexample.literals import pair_source
from dpcheck.auditing.counterexample.rules import Rule, learn_rule
from dpcheck.auditing.learning.observation import observe_pair
from dpcheck.auditing.limits import Limits
from dpcheck.auditing.mechanism import Mechanism, Pair
from dpcheck.auditing.outputs.reader import PlainReader, Reader, learn_reader
from dpcheck.auditing.outputs.tables import Encoded
from dpcheck.auditing.plain import plain_pair
from dpcheck.auditing.plan import PartPlan
from dpcheck.auditing.shrink import has_public_rows, shrink_pair
from dpcheck.auditing.statistics.game import exact_p_value
from dpcheck.auditing.statistics.sequential import Counts, lower_epsilon
from dpcheck.core.data import Plain
from dpcheck.core.errors import DpcheckError, TimeLimitReached
from dpcheck.core.method import Method
from dpcheck.core.witness import Witness
from dpcheck.execution.parallel import Workers
from dpcheck.execution.runner import Runner
from dpcheck.execution.seeds import generator
from dpcheck.execution.store import Arrays
from dpcheck.replay.losses.half_lines import HalfLine

Array = NDArray[np.float64]
_SURE = math.log(1e5)  # nats that fresh runs should give
_LEARNED = 16_384  # runs a side to learn a rule from, at most
_CHEAP = 10.0  # seconds that shrinking may take
_ATTEMPTS = 8
_CONFIRMING = 20.0  # seconds that confirming may take
_SHOWN = 1e-3  # a p-value at which calls show what was proved before
_GAME = 2000  # calls a side in which a leak that was proved may show; all are guessed
_FEWEST = 48  # calls that can confirm anything
_FEW = 8  # runs a side that tell how outputs are read
_TELLING = 1024  # calls that show about how large a leak is
_QUICK = 15.0  # seconds that these may take


@dataclass(frozen=True, slots=True)
class _Sides:
    """Outputs of both sides of a pair, read."""

    pair: Pair
    first: Array
    second: Array
    reader: Reader
    runs: int  # a side, made to get here


@dataclass(frozen=True, slots=True)
class Confirmed:
    """How a rule did on fresh calls, their number fixed before; each side picked by a fair coin."""

    right: int  # hits on the side where the rule is likelier
    wrong: int  # hits on the other
    likelier: int  # calls on that side
    calls: int

    def lower_epsilon(self, delta: float, alpha: float) -> float:
        """What the calls prove: guessing one side where the rule holds, or also the other elsewhere.

        Guarantee: above the true epsilon at `delta` with probability at most alpha.

        >>> round(Confirmed(200, 0, 200, 400).lower_epsilon(0.0, 1e-3), 2)
        3.56
        """
        one = Counts(first=self.right, second=self.wrong, neither=self.calls - self.hits)
        right = self.right + self.calls - self.likelier - self.wrong
        return lower_epsilon([one, Counts(first=right, second=self.calls - right)], delta, alpha)

    @property
    def hits(self) -> int:
        """Calls in which the rule held."""
        return self.right + self.wrong


def readable(
    plan: PartPlan, finding: Finding, limits: Limits, spent: int, runner: Runner
) -> tuple[Witness | None, Confirmed | None]:
    """The witness with a rule, fresh counts and an exact p-value; as it was where none is found.

    `spent` runs a side were made before; the limit on runs holds for these, too.

    Nothing here changes the verdict: it was given before, at the error rate of the audit.
    """
    witness, mechanism = finding.witness, plan.mechanism
    if witness is None or mechanism is None or finding.observed is None:
        return witness, None
    # What was seen in following the noise: there are no runs to learn a rule from yet.
    is_proof = finding.method in (Method.REPLAY, Method.NAMED_EVENT)
    if finding.pair is None and not is_proof:
        return witness, None
    runner = runner.within("counterexample")
    runner.progress.stage(f"{runner.prefix}: a counterexample that can be run")
    delta = float(witness["delta"])
    epsilon = plan.tested.at(delta)
    left = limits.runs_for(mechanism) - spent
    try:
        if is_proof:
            limits = replace(limits, deadline=min(limits.deadline, time.time() + _CONFIRMING))
            mechanism = replace(mechanism, deadline=limits.deadline)
            runner = replace(runner, workers=Workers())  # for so few calls nobody is started
        line = (epsilon, delta)
        known = _known(mechanism, plan, witness, line, limits, runner) if is_proof else None
        if known is None and is_proof:
            finding = _played(mechanism, plan, finding, limits, left, runner)
            if finding.seen is None:
                return witness, None
        sides, rule = known or _learned(mechanism, plan, finding, limits, left, epsilon, runner)
        left -= sides.runs
        if rule is None or left < _FEWEST:
            return witness, None
        # By chance calls may show less than they should; those of a known event show twice as much.
        calls = _SURE * (2 if delta > 0 or known else 1) / rule.worth
        calls = max(calls, _telling(finding, limits))
        most = math.ceil(calls) if known else 4 * spent
        calls = min(left, _affordable(limits, most), max(_FEWEST, math.ceil(calls)))
        found = _confirm(mechanism, sides, rule, calls, runner)
    except TimeLimitReached:
        return witness, None
    p_value = exact_p_value(found.right, found.wrong, found.calls, epsilon, delta)
    if is_proof and p_value > _SHOWN:  # proved by other means; these runs do not add to it
        return witness, None
    return witness.extended(epsilon_claimed=epsilon, **_figures(sides, rule, found, p_value)), found


def _known(
    mechanism: Mechanism,
    plan: PartPlan,
    witness: Witness,
    line: tuple[float, float],
    limits: Limits,
    runner: Runner,
) -> tuple[_Sides, Rule] | None:
    """The event of a proof whose probabilities are known, on outputs that are one number."""
    if "event" not in witness or "probability_first" not in witness:
        return None
    _, sign, cut = str(witness["event"]).split()
    first, second = float(witness["probability_first"]), float(witness["probability_second"])
    worth = HalfLine(sign == ">=", float(cut), first, second).worth(*line)
    pair = next(one for one in plan.pairs if one.label == witness["pair"])
    for attempt in range(2):  # the second is timed, the first may import what it calls
        began = time.perf_counter()
        seen = observe_pair(mechanism, pair, f"known {attempt}", _FEW, runner)
        limits.pace.took(2 * _FEW, time.perf_counter() - began)
    is_number = isinstance(seen.reader, PlainReader) and seen.first.shape[1] == 1
    if worth <= 0 or not is_number:
        return None
    rule = Rule((Condition(0, sign, float(cut)),), second > first, worth)
    return _Sides(pair, seen.first, seen.second, seen.reader, seen.runs), rule


def _learned(
    mechanism: Mechanism,
    plan: PartPlan,
    finding: Finding,
    limits: Limits,
    left: int,
    epsilon: float,
    runner: Runner,
) -> tuple[_Sides, Rule | None]:
    """A rule learned on the calls that were guessed, or on fresh runs."""
    sides = _sides(mechanism, plan, finding, limits, left, runner)
    return sides, learn_rule(sides.first, sides.second, sides.reader, epsilon)


def _played(
    mechanism: Mechanism,
    plan: PartPlan,
    finding: Finding,
    limits: Limits,
    left: int,
    runner: Runner,
) -> Finding:
    """A violation that was proved without runs, with some calls in which it shows, if it does."""
    assert finding.witness is not None
    labels = [pair.label for pair in plan.pairs]
    index = labels.index(str(finding.witness["pair"]))
    most = replace(limits, max_runs=max(1, min(_GAME, left // 4)))
    game = play(mechanism, [plan.pairs[index]], plan.tested, _SHOWN, most, runner.within("played"))
    won = game.lower > game.line[0]
    return replace(finding, pair=index, seen=game.seen if won else None)


def _figures(sides: _Sides, rule: Rule, found: Confirmed, p_value: float) -> dict[str, Plain]:
    pair = sides.pair
    source = pair_source(pair.first, pair.second)
    shown = plain_pair(pair.first, pair.second)
    return {
        "pair": pair.label,
        "first": shown[0],
        "second": shown[1],
        "rule": rule.as_python(sides.reader),
        "likelier_on": "second" if rule.swapped else "first",
        "confirmed_calls": found.calls,
        "confirmed_likelier": found.right,
        "confirmed_other": found.wrong,
        "p_value": p_value,
        **({} if source is None else {"source": list(source)}),
    }


def _sides(
    mechanism: Mechanism,
    plan: PartPlan,
    finding: Finding,
    limits: Limits,
    left: int,
    runner: Runner,
) -> _Sides:
    """What a rule is learned on: the calls that were guessed, or fresh runs where those are many."""
    assert finding.pair is not None
    assert finding.observed is not None
    pair = plan.pairs[finding.pair]
    if finding.seen is None:
        wanted = max(1, min(_LEARNED, finding.observed.learning_runs, left // 2))
        seen = observe_pair(mechanism, pair, "rule", wanted, runner)
        return _Sides(pair, seen.first, seen.second, seen.reader, seen.runs)
    pair, parts, used = _shrunk(mechanism, plan, pair, finding.seen, limits, left // 2, runner)
    reader = learn_reader(*parts)
    rows = [np.concatenate([reader.rows(part) for part in side]) for side in parts]
    return _Sides(pair, rows[0], rows[1], reader, used)


Parts = tuple[Sequence[Encoded], Sequence[Encoded]]


def _shrunk(
    mechanism: Mechanism,
    plan: PartPlan,
    pair: Pair,
    seen: Parts,
    limits: Limits,
    left: int,
    runner: Runner,
) -> tuple[Pair, Parts, int]:
    """The smallest pair on which the game is still won, where playing it a few times is cheap."""
    calls = sum(part.size for side in seen for part in side)
    cost = limits.pace.at_best().needs(2 * _ATTEMPTS * calls)
    most = max(64, calls)
    description = None if plan.pair_search is None else plan.pair_search.description
    if has_public_rows(plan.claim.adjacency, description):
        return pair, seen, 0
    if cost is None or cost > min(_CHEAP, limits.seconds_left / 4) or most * _ATTEMPTS > left:
        return pair, seen, 0
    quick = replace(limits, max_runs=most)
    played: list[int] = []
    won: dict[int, Game] = {}

    def still_fails(candidate: Pair) -> bool:
        own = runner.within(f"shrink {len(won)} {candidate.label} {len(repr(candidate))}")
        try:
            game = play(mechanism, [candidate], plan.tested, 0.01, quick, own)
            played.append(game.runs)
        except TimeLimitReached:
            raise
        except DpcheckError:  # outside of what the mechanism takes
            return False
        if game.lower > game.line[0]:
            won[id(candidate)] = game
            return True
        return False

    small = shrink_pair(pair, still_fails, _ATTEMPTS)
    shown = (pair, seen) if small is pair else (small, won[id(small)].seen)
    return *shown, sum(played)


def _affordable(limits: Limits, most: int) -> int:
    """Calls that may be made to confirm a rule: few of slow ones."""
    fitting = limits.pace.at_best().within(min(_CONFIRMING, limits.seconds_left / 2))
    return max(_FEWEST, most if fitting is None else min(max(_TELLING, most), fitting))


def _telling(finding: Finding, limits: Limits) -> int:
    """Calls that show about how large a leak is, where it was refuted by few and they are quick."""
    if finding.method not in (Method.GUESSING_GAME, Method.NAMED_EVENT):
        return 0
    seconds = limits.pace.at_best().needs(_TELLING)
    return 0 if seconds is None or seconds > min(_QUICK, limits.seconds_left / 4) else _TELLING


def hit_batch(
    mechanism: Mechanism,
    first: object,
    second: object,
    reader: Reader,
    rule: Rule,
    size: int,
    seed: np.random.SeedSequence,
) -> Arrays:
    """Tosses of a fair coin, each with one call: how many outputs in the event, by side."""
    tosses, one, two = seed.spawn(3)
    sides = generator(tosses).random(size) < 0.5
    hits = []
    for data, number, noise in (
        (first, int(sides.sum()), one),
        (second, int((~sides).sum()), two),
    ):
        if number == 0:
            hits.append(0)
            continue
        rows = reader.rows(mechanism.observe(data, number, generator(noise)))
        hits.append(int(rule.holds(as_python_sees(reader, rows)).sum()))
    right, wrong = reversed(hits) if rule.swapped else hits
    likelier = int((~sides if rule.swapped else sides).sum())
    return {"hits": np.array([right, wrong, likelier, size], dtype=float)}


def _confirm(
    mechanism: Mechanism, sides: _Sides, rule: Rule, calls: int, runner: Runner
) -> Confirmed:
    """Some `calls` calls on the sides that a coin picks."""
    size = min(calls, mechanism.batch) if mechanism.batched else min(512, max(4, calls // 16))
    total = np.zeros(4)
    for batch in runner.batches(
        "confirm",
        range(-(-calls // size)),
        hit_batch,
        mechanism,
        sides.pair.first,
        sides.pair.second,
        sides.reader,
        rule,
        size,
    ):
        total += batch["hits"]
    return Confirmed(*(int(v) for v in total))
