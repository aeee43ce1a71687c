"""The auditor for the first calls: guess which side each came from, and learn from the answer.

Nothing is set aside for learning: every call is guessed by what the calls before it taught, then
taught from. Leaks without noise are proved within some fifty calls, gross ones within some hundred.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpcheck.auditing.auditors.interface import Finding, conforms, nothing_told, refuted
from dpcheck.auditing.auditors.witness_search import is_searched
from dpcheck.auditing.claims import AuditedClaim
from dpcheck.auditing.dependence import signs_of_dependence
from dpcheck.auditing.learning.guessers import KINDS, Rule, fit, worth
from dpcheck.auditing.limits import Limits
from dpcheck.auditing.mechanism import Mechanism, Pair
from dpcheck.auditing.outputs.reader import Reader, learn_reader
from dpcheck.auditing.outputs.tables import Encoded, pack, unpack
from dpcheck.auditing.plain import plain_pair
from dpcheck.auditing.plan import PartPlan
from dpcheck.auditing.statistics.game import score_guesses
from dpcheck.auditing.statistics.sequential import (
    Counts,
    average_log_e,
    detectable,
    lower_epsilon,
    separates,
)
from dpcheck.core.audit_result import Observed
from dpcheck.core.errors import TimeLimitReached
from dpcheck.core.evidence import Spent
from dpcheck.core.method import Method
from dpcheck.core.witness import Witness, WitnessKind
from dpcheck.execution.runner import Runner
from dpcheck.execution.seeds import generator
from dpcheck.execution.store import Arrays

Array = NDArray[np.float64]
Line = tuple[float, float]
_FIRST = 8  # calls on every pair before anything is guessed
_TASK = 4  # calls that are run as one task, at least
_TASKS = 16  # of a round, at most
_MOST_PAIRS = 24  # played in a first round
_MANY = 1000  # calls in which a leak worth the name shows
_JUDGED = 48  # calls after which a game without prospects ends


def play_batch(
    mechanism: Mechanism, first: object, second: object, size: int, seed: np.random.SeedSequence
) -> Arrays:
    """`size` tosses of a fair coin, each with one call on the dataset it picked."""
    tosses, one, two = seed.spawn(3)
    sides = generator(tosses).random(size) < 0.5
    made: Arrays = {"sides": sides.astype(float)}
    for name, data, chosen, noise in zip(
        _SIDES, (first, second), (sides, ~sides), (one, two), strict=True
    ):
        if chosen.any():
            encoded = mechanism.observe(data, int(chosen.sum()), generator(noise))
            made |= pack(encoded, name)
    return made


_SIDES = ("first", "second")


@dataclass(slots=True)
class _Table:
    """What was seen on one pair so far: outputs of any kind, by the side they came from."""

    parts: tuple[list[Encoded], list[Encoded]] = field(default_factory=lambda: ([], []))
    batches: int = 0

    def add(self, batch: Arrays) -> None:
        for name, parts in zip(_SIDES, self.parts, strict=True):
            if f"{name}.about" in batch:
                parts.append(unpack(batch, name))

    @property
    def calls(self) -> tuple[int, int]:
        """Calls on the first and on the second dataset."""
        first, second = (sum(part.size for part in parts) for parts in self.parts)
        return first, second

    def fitted(self, lines: Sequence[Line]) -> _Fitted | None:
        """Rules of what was seen; None before there is something from both sides."""
        if min(self.calls) == 0:
            return None
        reader = learn_reader(*self.parts)
        rows = [np.concatenate([reader.rows(part) for part in parts]) for parts in self.parts]
        outputs = np.vstack(rows)
        sides = np.repeat([True, False], [len(rows[0]), len(rows[1])])
        return _Fitted(reader, tuple(fit(outputs, sides, line[0]) for line in lines))

    def since(self, before: tuple[int, int]) -> tuple[list[Encoded], list[Encoded]]:
        """The parts that were added after so many."""
        return self.parts[0][before[0] :], self.parts[1][before[1] :]


@dataclass(frozen=True, slots=True)
class _Fitted:
    """How outputs are read, and per line of the claim how they are guessed."""

    reader: Reader
    rules: tuple[list[Rule], ...]

    def score(self, fresh: tuple[list[Encoded], list[Encoded]]) -> list[list[Counts]]:
        """Per line and rule, how the guesses on fresh outputs went."""
        found = [[Counts()] * KINDS for _ in self.rules]
        for parts, side in zip(fresh, (True, False), strict=True):
            for part in parts:
                rows = self.reader.rows(part)
                sides = np.full(len(rows), side)
                found = [
                    [
                        old + score_guesses(rule.guess(rows), sides)
                        for old, rule in zip(counts, mine, strict=True)
                    ]
                    for counts, mine in zip(found, self.rules, strict=True)
                ]
        return found


@dataclass(frozen=True, slots=True)
class Game:
    """The outcome: counts per line and kind of guesser, calls a side, the pair that told most."""

    line: Line
    counts: tuple[Counts, ...]
    lower: float
    detectable: float
    calls: int
    runs: int  # on the side that was called more often
    pair: int
    rule: Rule | None
    finished: bool
    blind: bool  # played to the end, and over many calls no guess did better than chance
    seen: tuple[Sequence[Encoded], Sequence[Encoded]]  # the outputs on that pair, by side


def lines_to_play(claim: AuditedClaim) -> tuple[Line, ...]:
    """The half-planes that are played: of a curve the flattest one and one further up."""
    if claim.lines is None:
        return ((claim.epsilon, claim.delta),)
    return tuple(dict.fromkeys((claim.lines[0], claim.lines[len(claim.lines) // 3])))


def play(
    mechanism: Mechanism,
    pairs: Sequence[Pair],
    claim: AuditedClaim,
    alpha: float,
    limits: Limits,
    runner: Runner,
) -> Game:
    """Play until the claim is refuted, there is little hope, or the limits are reached.

    Where calls are too few, or too slow for the time left, to set any aside for learning, the game
    goes on to the end.

    Guarantee: refutes a claim that holds with probability at most alpha, whenever it stops: each
    guess is made before its call, by a rule of the calls before.
    Assumes: calls are independent given the data.
    """
    state = _State(mechanism, pairs[:_MOST_PAIRS], lines_to_play(claim), alpha, runner, limits)
    most, finished = limits.game_for(mechanism), True
    alone = not limits.leaves_room_to_learn(mechanism)  # known already where few calls are allowed
    try:
        state.start(most)
        while state.room(most) > 0 and not state.is_refuted():
            # The first calls may be slower than the rest, so this may change while the game is short.
            if state.calls >= _JUDGED and state.runs < limits.short_game(mechanism):
                alone = not limits.leaves_room_to_learn(mechanism)
                most = limits.game_for(mechanism)
                if not alone and not state.is_promising(most):
                    break
            state.round(most)
    except TimeLimitReached:
        finished = False
    return state.outcome(finished, alone)


class _State:
    """The game so far."""

    def __init__(
        self,
        mechanism: Mechanism,
        pairs: Sequence[Pair],
        lines: tuple[Line, ...],
        alpha: float,
        runner: Runner,
        limits: Limits,
    ) -> None:
        self.pace, self.one_by_one = limits.pace, limits.check_every_batch
        self.mechanism, self.pairs, self.lines, self.runner = mechanism, pairs, lines, runner
        self.alpha = alpha / len(lines)  # each line of a curve has its own share
        self.tables = [_Table() for _ in pairs]
        self.counts = [[Counts()] * KINDS for _ in lines]
        self.told = np.zeros(len(pairs))  # right guesses less wrong ones, per pair
        self.last: Rule | None = None

    @property
    def calls(self) -> int:
        return sum(sum(table.calls) for table in self.tables)

    @property
    def runs(self) -> int:
        first = sum(table.calls[0] for table in self.tables)
        return max(first, self.calls - first)

    def room(self, most: int) -> int:
        """Calls that are left for sure: all of them might fall on one side."""
        return most - self.runs

    def start(self, most: int) -> None:
        each = max(1, min(_FIRST, most // len(self.pairs)))
        for index in range(len(self.pairs)):
            if self.room(most) >= 1:
                self._call(index, min(each, self.room(most)))

    def round(self, most: int) -> None:
        """Choose the pair that seems to tell most, guess, call, count."""
        fitted = [table.fitted(self.lines) for table in self.tables]
        ranked = [0.0 if one is None else worth(one.rules[0]) for one in fitted]
        index = int(np.argmax(ranked))
        if ranked[index] <= 0:  # nobody stands out: the one seen least
            index = int(np.argmin([sum(table.calls) for table in self.tables]))
        table, chosen = self.tables[index], fitted[index]
        before, made = (len(table.parts[0]), len(table.parts[1])), sum(table.calls)
        size = 1 if self.one_by_one else min(max(_TASK, made // 4), self.room(most))
        self._call(index, size)
        if chosen is None:
            self.counts = [[old + Counts(neither=size) for old in mine] for mine in self.counts]
            return
        seen = chosen.score(table.since(before))
        self.counts = [
            [old + new for old, new in zip(mine, fresh, strict=True)]
            for mine, fresh in zip(self.counts, seen, strict=True)
        ]
        self.told[index] += max(one.first - one.second for one in seen[0])
        self.last = max(chosen.rules[0], key=lambda rule: rule.worth)
        if self.runner.progress.on:
            epsilon, delta = self.lines[0]
            found = average_log_e(self.counts[0], epsilon, delta)
            self.runner.progress.testing(
                self.runner.prefix, self.runs, most, 0.0, found, self.pace.needs(2 * most)
            )

    def _call(self, index: int, size: int) -> None:
        table, pair = self.tables[index], self.pairs[index]
        one_task = size if self.mechanism.batched else max(_TASK, -(-size // _TASKS))
        number = -(-size // one_task)
        sizes = [one_task] * (number - 1) + [size - one_task * (number - 1)]
        began = time.perf_counter()
        for each in dict.fromkeys(sizes):  # tasks of one size are run together
            tasks = range(table.batches, table.batches + sizes.count(each))
            table.batches += sizes.count(each)
            for batch in self.runner.batches(
                f"game-{index}", tasks, play_batch, self.mechanism, pair.first, pair.second, each
            ):
                table.add(batch)
        self.pace.took(size, time.perf_counter() - began)

    def is_refuted(self) -> bool:
        needed = -math.log(self.alpha)
        return any(
            average_log_e(counts, epsilon, delta) >= needed
            for counts, (epsilon, delta) in zip(self.counts, self.lines, strict=True)
        )

    def is_promising(self, most: int) -> bool:
        """Whether evidence that goes on growing as it did would do within the calls left."""
        needed, guessed = -math.log(self.alpha), self.calls - _FIRST * len(self.pairs)
        best = max(
            average_log_e([one], epsilon, delta)
            for counts, (epsilon, delta) in zip(self.counts, self.lines, strict=True)
            for one in counts
        )
        return best > 0 and guessed * needed / best <= 2.0 * most

    def outcome(self, finished: bool, alone: bool) -> Game:
        lowers = [
            lower_epsilon(counts, delta, self.alpha)
            for counts, (_, delta) in zip(self.counts, self.lines, strict=True)
        ]
        best = int(np.argmax([low - line[0] for low, line in zip(lowers, self.lines, strict=True)]))
        epsilon, delta = self.lines[best]
        told = alone and any(separates(counts) for counts in self.counts)
        return Game(
            self.lines[best],
            tuple(self.counts[best]),
            lowers[best],
            detectable(self.counts[best], epsilon, delta, self.alpha) if told else math.inf,
            self.calls,
            self.runs,
            int(np.argmax(self.told)),
            self.last,
            finished,
            alone and not told and self.calls >= _MANY,
            self.tables[int(np.argmax(self.told))].parts,
        )


@dataclass(frozen=True, slots=True)
class GuessingGame:
    """Plays with a quarter of the error rate before anything else is run on pairs."""

    limits: Limits
    fraction: float = 0.25

    def applies(self, plan: PartPlan, before: Sequence[Finding]) -> bool:
        """Where code runs on pairs and nothing is refuted or proved yet."""
        if plan.mechanism is None or not plan.pairs or refuted(plan, before):
            return False
        return not (is_searched(plan) and conforms(before))

    def run(self, plan: PartPlan, alpha: float, runner: Runner) -> Finding:
        """What the guesses prove."""
        assert plan.mechanism is not None
        runner.progress.stage(f"{runner.prefix}: guessing which side a call came from")
        game = play(plan.mechanism, plan.pairs, plan.tested, alpha, self.limits, runner)
        epsilon, delta = game.line
        method = Method.GUESSING_GAME
        note = "guesses made before each call, averaged over rules, valid at any stopping time"
        observed = Observed(
            game.lower,
            delta,
            1 - self.limits.alpha,
            method,
            game.runs,
            game.detectable,
        )
        return Finding(
            Spent(method, alpha, tuple(pair.label for pair in plan.pairs), note),
            observed,
            _witness(game, plan.pairs[game.pair]) if game.lower > epsilon else None,
            (*_dependence(game.seen), *((nothing_told(game.runs),) if game.blind else ())),
            out_of_time=not game.finished,
            pair=game.pair,
            seen=game.seen,
        )


def _dependence(seen: tuple[Sequence[Encoded], Sequence[Encoded]]) -> tuple[str, ...]:
    """Signs that calls were not independent; a constant answer may be a kept one."""
    if not all(seen):
        return ()
    reader = learn_reader(*seen)
    rows = [np.concatenate([reader.rows(part) for part in side]) for side in seen]
    found = [note for side in rows for note in signs_of_dependence(side)]
    constant = all(len(side) >= _FIRST and bool((side == side[0]).all()) for side in rows)
    if constant and bool((rows[0][0] != rows[1][0]).any()):
        found.append(
            "every call on the same dataset gave the same output: either there is no noise, or "
            "the function caches its answer (then audit it without the cache, because runs that "
            "share noise are not independent)"
        )
    return tuple(dict.fromkeys(found))


def _witness(game: Game, pair: Pair) -> Witness:
    best = max(game.counts, key=lambda one: one.first - one.second)
    shown = plain_pair(pair.first, pair.second)
    return Witness(
        WitnessKind.GUESSES,
        {
            "pair": pair.label,
            "first": shown[0],
            "second": shown[1],
            "guessed_by": "" if game.rule is None else game.rule.name,
            "right": best.first,
            "wrong": best.second,
            "passed": best.neither,
            "calls": game.calls,
            "epsilon_claimed": game.line[0],
            "delta": game.line[1],
        },
    )
