"""Testing the event that replay names where it could not follow the noise to the end.

Nothing has to be learned: the event is fixed by the two outputs that the same draws gave, and fresh
calls test it. A fair coin picks D or D', one call, one guess: a gross leak takes tens of calls.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpcheck.auditing.mechanism import Mechanism, Pair, SingleCall
from dpcheck.auditing.plain import plain_pair
from dpcheck.auditing.plan import PartPlan
from dpcheck.core.data import Data, Output
from dpcheck.core.witness import Witness, WitnessKind
from dpcheck.execution.runner import Runner
from dpcheck.execution.seeds import generator
from dpcheck.execution.store import Arrays
from dpcheck.replay.coin_game import guess_of, log_bet, lower_epsilon
from dpcheck.replay.findings import SuggestedEvent

MOST_CALLS = 160  # on a pair
LEAST_CALLS = _TASK = 16  # calls between two looks


@dataclass(frozen=True, slots=True)
class GuessedSide:
    """A mechanism that answers with the side its output points to: 1 for D', 0 for D."""

    run: SingleCall
    event: SuggestedEvent

    @property
    def __wrapped__(self) -> Callable[..., Output]:
        return self.run.mechanism.function

    def __call__(self, data: Data, rng: np.random.Generator) -> float:
        """One call, one guess; a call that raises counts for D."""
        try:
            return float(guess_of(self.run(data, rng), self.event))
        except Exception:
            return 0.0


def named_batch(
    mechanism: Mechanism,
    first: object,
    second: object,
    event: SuggestedEvent,
    size: int,
    seed: np.random.SeedSequence,
) -> Arrays:
    """How many of `size` guesses were right, each on the side a fair coin picked."""
    tosses, *noises = seed.spawn(3)
    picked = generator(tosses).random(size) < 0.5
    counts = (int((~picked).sum()), int(picked.sum()))
    guesser = Mechanism(
        GuessedSide(SingleCall(mechanism), event),
        False,
        mechanism.timeout,
        deadline=mechanism.deadline,
    )
    right = 0.0
    for side, (data, count, noise) in enumerate(zip((first, second), counts, noises, strict=True)):
        if count:
            right += float((guesser.sample(data, count, generator(noise)) == side).sum())
    return {"right": np.array([right])}


@dataclass(frozen=True, slots=True)
class Played:
    """How guesses by a named event went, against one line of the claim."""

    pair: Pair
    line: tuple[float, float]
    calls: int
    right: int
    lower: float

    @property
    def refutes(self) -> bool:
        """Whether the line is refuted."""
        return self.lower > self.line[0]

    def witness(self) -> Witness:
        """What was guessed."""
        shown = plain_pair(self.pair.first, self.pair.second)
        return Witness(
            WitnessKind.GUESSES,
            {
                "pair": self.pair.label,
                "first": shown[0],
                "second": shown[1],
                "guessed_by": "the event that replay named",
                "right": self.right,
                "wrong": self.calls - self.right,
                "passed": 0,
                "calls": self.calls,
                "epsilon_claimed": self.line[0],
                "delta": self.line[1],
            },
        )


def play_named(
    plan: PartPlan,
    number: int,
    event: SuggestedEvent,
    alpha: float,
    runner: Runner,
    most: int = MOST_CALLS,
) -> Played:
    """Guess by the event until the claim is refuted, there is little hope, or `most` calls are made.

    Guarantee: refutes a claim that holds with probability at most alpha, whenever it stops: the event
    was fixed before the first of these calls.
    Assumes: calls are independent given the data.
    """
    assert plan.mechanism is not None
    pair = plan.pairs[number]
    lines = plan.tested.lines
    line = (plan.tested.epsilon, plan.tested.delta) if lines is None else lines[len(lines) // 3]
    calls = right = 0
    stage = f"named-{number}"
    for task in range(min(most, MOST_CALLS) // _TASK):
        (batch,) = runner.batches(
            stage,
            range(task, task + 1),
            named_batch,
            plan.mechanism,
            pair.first,
            pair.second,
            event,
            _TASK,
        )
        calls += _TASK
        right += int(batch["right"][0])
        grown = log_bet(right, calls - right, *line)
        if grown >= -math.log(alpha) or (calls >= 2 * _TASK and grown < 0):
            break
    return Played(pair, line, calls, right, lower_epsilon(right, calls - right, line[1], alpha))
