"""Replay as the objective of a search for pairs: two calls a candidate, no guarantees."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dpcheck.core.data import Value
from dpcheck.replay.hints import numbers
from dpcheck.replay.laws import compare_runs
from dpcheck.replay.losses.parts import epsilon_of
from dpcheck.replay.run import Observer, Run


@dataclass(frozen=True, slots=True)
class Rating:
    """How promising a pair is; `followed` says that the score is a loss and not only a shift."""

    score: float
    followed: bool


class Scorer:
    """Rates pairs by what one run on each side shows; keeps runs of datasets it has seen.

    >>> def noisy_mean(data, rng):
    ...     return np.mean(np.clip(data, 0, 1)) + rng.laplace(scale=0.25)
    >>> first = [0.0, 0.5]
    >>> pairs = [(first, [0.5, 0.5]), (first, [1.0, 0.5]), (first, [0.0, 0.5])]
    >>> scorer = Scorer(noisy_mean)
    >>> [round(scorer.score(pair), 3) for pair in pairs], scorer.calls
    ([1.0, 2.0, 0.0], 4)
    """

    def __init__(
        self, function: Callable[[Value, Value], Value], delta: float = 0.0, seed: int = 0
    ) -> None:
        self.delta = delta
        self.seed = seed
        self._observer = Observer(function)
        self._runs: dict[int, tuple[Value, Run]] = {}

    @property
    def calls(self) -> int:
        """How often the function was called."""
        return self._observer.calls

    def score(self, pair: tuple[Value, Value]) -> float:
        """The epsilon the pair would have if it were confirmed; a shift where it is not followed."""
        return self.rate(pair).score

    def rate(self, pair: tuple[Value, Value], delta: float | None = None) -> Rating:
        """The score at `delta`, and whether it is the exact loss of noise that was followed on both sides."""
        first, second = (self._run(side) for side in pair)
        if first.error != second.error:
            return Rating(math.inf, False)
        if _is_followed(first) and _is_followed(second):
            compared = compare_runs(first, second)
            value = epsilon_of(compared.parts, self.delta if delta is None else delta)
            if value > 0 or not first.recorder.draws:
                return Rating(value, True)
            return Rating(_moved(first, second), compared.complete)
        return Rating(_moved(first, second), False)

    def best(
        self, pairs: Sequence[tuple[Value, Value]], count: int = 1
    ) -> list[tuple[Value, Value]]:
        """The `count` pairs with the largest scores."""
        return sorted(pairs, key=lambda pair: -self.score(pair))[:count]

    def _run(self, data: Value) -> Run:
        known = self._runs.get(id(data))
        if known is None:
            known = (data, self._observer.run(data, self.seed))
            self._runs[id(data)] = known  # the data is kept, so its id stays its own
        return known[1]


def _is_followed(run: Run) -> bool:
    return run.recorder.clean and not run.recorder.decisions


def _moved(first: Run, second: Run) -> float:
    """How far the output moves with the same draws, in units of nothing; infinite for another shape."""
    one, other = numbers(first), numbers(second)
    if one is None or other is None:
        return math.inf if (one is None) != (other is None) else 0.0
    if one.shape != other.shape:
        return math.inf
    distance = float(np.linalg.norm(other - one))
    return distance / (1.0 + distance) * 1e-3  # below every followed loss worth the name
