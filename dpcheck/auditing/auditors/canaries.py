"""A one-run audit of somebody's training function: many canaries, one training or a few."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr

from dpcheck.auditing.claims import AuditedClaim
from dpcheck.auditing.guard import guarded
from dpcheck.auditing.outputs.encode import plain_rows
from dpcheck.auditing.plan import TrainingResult
from dpcheck.auditing.statistics.curves import (
    Tradeoff,
    gaussian_lower,
    ideal_guesses,
    independent_gaussian_lower,
    independent_p_value,
    largest_refuted,
)
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
BY_GUESSES, BY_CURVE, BY_SCORES = "Steinke-Nasr-Jagielski", "f-DP", "independent scores"
METHODS = {
    BY_GUESSES: Method.ONE_RUN_GUESSES,
    BY_CURVE: Method.ONE_RUN_CURVE,
    BY_SCORES: Method.ONE_RUN_INDEPENDENT,
}
_OF_A_CURVE = {BY_GUESSES: 0.1, BY_CURVE: 0.9}  # of the error rate; the first rarely wins there
_OF_A_POINT = {BY_GUESSES: 0.5, BY_CURVE: 0.5}
_ALONE = {BY_SCORES: 1.0}
INDEPENDENT = (
    "that scores of different canaries are independent given their coins, as those of Dirac "
    "gradients in coordinates of their own are; scores='any' supposes nothing of the kind"
)


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

    Several trainings are one mechanism with a canary of its own for every coin of every training,
    which keeps the claim about each of them; so they are guessed and bounded together.
    Assumes: canaries are records of their own, in the data or not by their fair coin alone; with
    scores "independent", INDEPENDENT.
    """

    function: Callable[..., Output]
    claim: AuditedClaim
    canaries: int
    guesses: int
    timeout: float | None = None
    trainings: int = 1
    scores: str = "any"

    def run(self, alpha: float, runner: Runner) -> TrainingResult:
        """Train, guess, and bound epsilon from below, every bound with its share of the error rate.

        For a claim that is a curve, refuted means the whole curve is; the epsilon reported is that
        of the largest Gaussian curve refuted.
        Reference: [Steinke2023] Theorem 5.2; [Mahloujifar2025] Algorithm 3.
        """
        trained = "one training" if self.trainings == 1 else f"{self.trainings} trainings"
        runner.progress.stage(f"{runner.prefix}: {trained} with {self.canaries:,} canaries")
        seen = self._guess(runner)
        lower = {
            name: self._bound(name, seen[name], share * alpha)
            for name, share in _shares(self.claim, self.scores).items()
        }
        best = max(lower, key=lambda name: lower[name])
        total = self.canaries * self.trainings
        observed = Observed(
            lower[best],
            self.claim.delta,
            1 - alpha,
            METHODS[best],
            self.trainings,
            _detectable(self.claim, total, self.guesses * self.trainings, self.scores, alpha),
        )
        shown = " and ".join(f"{value:.4g} ({name})" for name, value in lower.items())
        counted = seen[best]
        each = "" if self.trainings == 1 else " each"
        notes = [
            f"{trained} with {self.canaries:,} canaries{each}, {counted.correct:,} of "
            f"{counted.guessed:,} coins guessed rightly: epsilon at least {shown} at delta "
            f"{self.claim.delta:g}"
        ]
        if best != BY_GUESSES and self.claim.lines is not None:
            notes.append("That is the epsilon of the largest Gaussian curve the guesses refute")
        if self.scores != "any":
            notes.append(f"This supposes {INDEPENDENT}")
        notes.append("Detectable supposes scores as good as that epsilon allows")
        witness = Witness(
            WitnessKind.ONE_RUN,
            {
                "canaries": counted.canaries,
                "guessed": counted.guessed,
                "correct": counted.correct,
                "lower": lower,
                "at_delta": self.claim.delta,
            },
        )
        found = witness if lower[best] > self.claim.epsilon else None
        return TrainingResult(observed, found, True, ". ".join(notes))

    @property
    def tests(self) -> tuple[str, ...]:
        """The bounds it divides its error rate among."""
        return tuple(_shares(self.claim, self.scores))

    def _guess(self, runner: Runner) -> dict[str, Guesses]:
        """The guesses each bound is made from, over all trainings."""
        scores, included = [], []
        for found in runner.batches(
            "canaries",
            range(self.trainings),
            training_batch,
            self.function,
            self.canaries,
            self.timeout,
        ):
            if found["scores"].shape != (self.canaries,):
                raise BadOutput(
                    f"a one-run audit needs one score per canary: {self.canaries} numbers, not "
                    f"{len(found['scores'])}."
                )
            scores.append(comparable(found["scores"]) if self.trainings > 1 else found["scores"])
            included.append(found["included"] > 0)
        pooled, coins = np.concatenate(scores), np.concatenate(included)
        some = guess(pooled, coins, self.guesses * self.trainings)
        every = guess(pooled, coins, len(coins)) if self.scores != "any" else some
        return {BY_GUESSES: some, BY_CURVE: some, BY_SCORES: every}

    def _bound(self, name: str, seen: Guesses, alpha: float) -> float:
        """An epsilon at the claim's delta; above the claim's only if the claim itself is refuted."""
        claim = self.claim
        if name == BY_GUESSES:
            return one_run_lower(seen, claim.delta, alpha)
        if claim.lines is None:
            if name == BY_CURVE:
                return one_run_lower_by_curve(seen, claim.delta, alpha)
            return _largest_shift(_refuted_by(name, seen, alpha), ((0.0, claim.delta),))
        refuted = _refuted_by(name, seen, alpha)
        proved = independent_gaussian_lower if name == BY_SCORES else gaussian_lower
        gaussian = _gaussian_epsilon(proved(seen, alpha), claim.delta)
        if not refuted(lines_tradeoff(claim.lines)):
            return min(gaussian, claim.epsilon)
        if gaussian > claim.epsilon:
            return gaussian
        return claim.epsilon + max(1e-9, _largest_shift(refuted, claim.lines))


def _shares(claim: AuditedClaim, scores: str) -> dict[str, float]:
    """The bounds, and what each gets of the error rate."""
    if scores != "any":
        return _ALONE
    return _OF_A_POINT if claim.lines is None else _OF_A_CURVE


def _refuted_by(name: str, seen: Guesses, alpha: float) -> Callable[[Tradeoff], bool]:
    if name == BY_SCORES:
        return lambda tradeoff: independent_p_value(seen, tradeoff) <= alpha
    return lambda tradeoff: refutes_curve(seen, tradeoff, alpha)


@lru_cache(maxsize=64)
def _detectable(
    claim: AuditedClaim, canaries: int, guesses: int, scores: str, alpha: float
) -> float:
    """The smallest epsilon whose best scores are refuted with power 0.9; inf if none is."""
    from scipy.stats import binom  # takes a second to import

    name = BY_SCORES if scores != "any" else BY_CURVE
    made = canaries if name == BY_SCORES else guesses
    level = _shares(claim, scores)[name] * alpha
    tradeoff = lines_tradeoff(claim.lines or [(claim.epsilon, claim.delta)])

    def at(accuracy: float) -> Guesses:
        return Guesses(canaries, made, int(binom.ppf(0.1, made, accuracy)))

    def point_caught(epsilon: float) -> bool:
        seen = at(float(expit(epsilon)))
        if name == BY_SCORES:
            return independent_p_value(seen, tradeoff) <= level
        return p_value(seen, claim.epsilon, claim.delta) <= level

    def curve_caught(mu: float) -> bool:
        surest = ideal_guesses(canaries, made, mu).correct / made
        seen = at(float(ndtr(mu / 2)) if name == BY_SCORES else surest)
        return _refuted_by(name, seen, level)(tradeoff)

    if claim.lines is None or claim.delta == 0:
        return _smallest(point_caught, claim.epsilon, 50.0)
    mu = _smallest(curve_caught, 0.0, 20.0)
    return math.inf if math.isinf(mu) else _gaussian_epsilon(mu, claim.delta)


def comparable(scores: Array) -> Array:
    """Scores of one training, centred and scaled, so that those of several can be ranked together.

    A function of the output alone, as every rule of guessing may be.
    """
    spread = float(np.subtract(*np.quantile(scores, [0.75, 0.25])))
    return (scores - np.median(scores)) / (spread if spread > 0 else 1.0)


def _gaussian_epsilon(mu: float, delta: float) -> float:
    """From below; 0 where no Gaussian curve is refuted, or none has an epsilon at this delta."""
    from dpcheck.accounting.api import epsilon
    from dpcheck.core.events.noise import Gaussian

    if mu < 1e-5 or delta == 0:
        return 0.0
    return epsilon(Gaussian(1.0 / mu), delta=delta, adjacency="add-remove").lower


def _largest_shift(
    refuted: Callable[[Tradeoff], bool], lines: tuple[tuple[float, float], ...]
) -> float:
    """How far a curve can be moved up in epsilon and is still refuted; one refuted refutes those below."""
    return largest_refuted(
        lambda shift: refuted(lines_tradeoff([(e + shift, delta) for e, delta in lines])), 50.0
    )


def _smallest(caught: Callable[[float], bool], low: float, high: float) -> float:
    """Where `caught` begins, from above; inf if it never does."""
    if not caught(high):
        return math.inf
    for _ in range(30):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if caught(middle) else (middle, high)
    return high
