"""The cheapest test of an event that replay names: a coin picks the data, one call, one guess.

A fair coin picks D or D', the function runs once, and the attacker says D' where the output lies in
the event. Under (epsilon, delta) a guess is right with probability at most
(e^epsilon + delta)/(1 + e^epsilon), whatever the event [Kairouz2017, the trade-off region], so right
guesses multiply a bet against the claim. The event is fixed before the first call and runs are fresh.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpcheck.core.data import Value
from dpcheck.replay.findings import SuggestedEvent
from dpcheck.replay.hints import plain_numbers
from dpcheck.replay.outputs import flatten

CALLS = 200
_RATES = 24  # bets are spread over this many rates of right guesses


@dataclass(frozen=True, slots=True)
class GameResult:
    """How the game went; `epsilon` is a lower bound, wrong with probability at most alpha."""

    calls: int
    right: int
    epsilon: float

    def exceeds(self, epsilon: float) -> bool:
        """Whether the claim is refuted."""
        return self.epsilon > epsilon


def play(
    function: Callable[[Value, Value], Value],
    pair: tuple[Value, Value],
    event: SuggestedEvent,
    *,
    epsilon: float,
    delta: float = 0.0,
    alpha: float = 1e-3,
    seed: int = 0,
    calls: int = CALLS,
) -> GameResult:
    """Play until the claim is refuted or the calls are spent.

    Guarantee: `epsilon` of the result is above the truth with probability at most alpha, whenever
    the game stops. Assumes: runs are independent given their generators.
    """
    coins, *seeds = np.random.SeedSequence([seed, 41]).spawn(calls + 1)
    sides = np.random.default_rng(coins).integers(0, 2, size=calls)
    right = played = 0
    for side, own in zip(sides.tolist(), seeds, strict=True):
        output = function(copy.deepcopy(pair[side]), np.random.default_rng(own))
        right += int(guess_of(output, event) == side)
        played += 1
        if log_bet(right, played - right, epsilon, delta) >= -math.log(alpha):
            break
    return GameResult(played, right, lower_epsilon(right, played - right, delta, alpha))


def guess_of(output: Value, event: SuggestedEvent) -> int:
    """1 where the output lies in the event and points to D', else 0."""
    numbers = plain_numbers(flatten(output))
    if numbers is None or len(numbers) != len(event.direction):
        return 0
    return int(float(np.dot(event.direction, numbers)) >= event.threshold)


def log_bet(right: int, wrong: int, epsilon: float, delta: float) -> float:
    """log of the capital of bets at rates above what the claim allows: a supermartingale under it."""
    allowed = (math.exp(min(epsilon, 700.0)) + delta) / (1 + math.exp(min(epsilon, 700.0)))
    if allowed >= 1:
        return -math.inf
    rates = allowed + (1 - allowed) * (np.arange(_RATES) + 0.5) / _RATES
    logs = right * np.log(rates / allowed) + wrong * np.log((1 - rates) / (1 - allowed))
    top = float(logs.max())
    return top + math.log(float(np.mean(np.exp(logs - top))))


def lower_epsilon(right: int, wrong: int, delta: float, alpha: float) -> float:
    """The largest epsilon that the bets refute; the capital falls as epsilon grows."""
    if log_bet(right, wrong, 0.0, delta) < -math.log(alpha):
        return 0.0
    low, high = 0.0, 60.0
    for _ in range(60):
        middle = (low + high) / 2
        refuted = log_bet(right, wrong, middle, delta) >= -math.log(alpha)
        low, high = (middle, high) if refuted else (low, middle)
    return low
