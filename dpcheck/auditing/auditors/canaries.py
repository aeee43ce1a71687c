"""A one-run audit of somebody's training function: many canaries, one training."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import binom

from dpcheck.auditing.claims import AuditedClaim
from dpcheck.auditing.guard import guarded
from dpcheck.auditing.outputs.encode import plain_rows
from dpcheck.auditing.plan import TrainingResult
from dpcheck.auditing.statistics.guesses import (
    Guesses,
    guess,
    lines_tradeoff,
    one_run_lower,
    one_run_lower_by_curve,
    p_value,
    refutes_curve,
)
from dpcheck.core.audit_result import Observed
from dpcheck.core.data import Output
from dpcheck.core.errors import BadOutput
from dpcheck.core.method import Method
from dpcheck.core.witness import Witness, WitnessKind
from dpcheck.execution.runner import Runner
from dpcheck.execution.seeds import generator
from dpcheck.execution.store import Arrays

Array = NDArray[np.float64]
BY_GUESSES, BY_CURVE = "Steinke-Nasr-Jagielski", "f-DP"
METHODS = {BY_GUESSES: Method.ONE_RUN_GUESSES, BY_CURVE: Method.ONE_RUN_CURVE}


def training_batch(
    function: Callable[..., Output],
    canaries: int,
    timeout: float | None,
    seed: np.random.SeedSequence,
) -> Arrays:
    """One training: the coins, and the score of every canary."""
    coins, noise = seed.spawn(2)
    included = generator(coins).random(canaries) < 0.5
    scores = guarded(function, included, 1, generator(noise), batched=False, timeout=timeout)
    return {"included": included.astype(float), "scores": plain_rows(scores)[0]}


@dataclass(frozen=True, slots=True)
class CanaryTraining:
    """`function(included, rng)` trains once on the included canaries and scores all of them.

    Assumes: canaries are records of their own, in the data or not by their fair coin alone.
    """

    function: Callable[..., Output]
    claim: AuditedClaim
    canaries: int
    guesses: int
    timeout: float | None = None

    def run(self, alpha: float, runner: Runner) -> TrainingResult:
        """Train, guess, and bound epsilon from below twice, each with half of the error rate.

        For a claim that is a curve the second bound is on how far the whole curve must be moved up,
        in epsilon, until it is no longer refuted.
        Reference: [Steinke2023] Theorem 5.2; [Mahloujifar2025] Algorithm 3.
        """
        runner.progress.stage(f"{runner.prefix}: one training with {self.canaries:,} canaries")
        (found,) = runner.batches(
            "canaries", range(1), training_batch, self.function, self.canaries, self.timeout
        )
        if found["scores"].shape != (self.canaries,):
            raise BadOutput(
                f"a one-run audit needs one score per canary: {self.canaries} numbers, not "
                f"{len(found['scores'])}."
            )
        seen = guess(found["scores"], found["included"] > 0, self.guesses)
        lower = self._bounds(seen, alpha / 2)
        best = max(lower, key=lambda name: lower[name])
        observed = Observed(
            lower[best],
            self.claim.delta,
            1 - alpha,
            METHODS[best],
            1,
            self._detectable(alpha / 2),
        )
        shown = " and ".join(f"{value:.4g} ({name})" for name, value in lower.items())
        note = (
            f"one training with {seen.canaries:,} canaries, {seen.correct:,} of {seen.guessed:,} "
            f"coins guessed rightly: epsilon at least {shown} at delta {self.claim.delta:g}. "
            "Detectable supposes guesses as good as that epsilon allows"
        )
        witness = Witness(
            WitnessKind.ONE_RUN,
            {
                "canaries": seen.canaries,
                "guessed": seen.guessed,
                "correct": seen.correct,
                "lower": lower,
                "at_delta": self.claim.delta,
            },
        )
        return TrainingResult(
            observed, witness if lower[best] > self.claim.epsilon else None, True, note
        )

    def _bounds(self, seen: Guesses, alpha: float) -> dict[str, float]:
        by_curve = (
            one_run_lower_by_curve(seen, self.claim.delta, alpha)
            if self.claim.lines is None
            else self._moved_curve(seen, alpha)
        )
        return {
            BY_GUESSES: one_run_lower(seen, self.claim.delta, alpha),
            BY_CURVE: by_curve,
        }

    def _moved_curve(self, seen: Guesses, alpha: float) -> float:
        """The claim's epsilon, moved as far as the moved curve is refuted; 0 if it is not at all.

        Curves moved further are larger, so one refuted refutes all before it.
        """
        lines = self.claim.lines or ()

        def refuted(shift: float) -> bool:
            moved = [(epsilon + shift, delta) for epsilon, delta in lines]
            return refutes_curve(seen, lines_tradeoff(moved), alpha)

        if not refuted(0.0):
            return 0.0
        low, high = 0.0, 0.125
        while refuted(high) and high < 50:
            low, high = high, 2 * high
        for _ in range(30):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if refuted(middle) else (low, middle)
        return self.claim.epsilon + low

    def _detectable(self, alpha: float) -> float:
        """The smallest epsilon whose best guesses are refuted with power 0.9; inf if none is."""

        def caught(epsilon: float) -> bool:
            correct = int(binom.ppf(0.1, self.guesses, float(expit(epsilon))))
            seen = Guesses(self.canaries, self.guesses, correct)
            return p_value(seen, self.claim.epsilon, self.claim.delta) <= alpha

        low, high = self.claim.epsilon, 50.0
        if not caught(high):
            return math.inf
        for _ in range(40):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if caught(middle) else (middle, high)
        return high
