"""One real training with many canaries, each in the data by its own fair coin.

Every canary is a row with a feature of its own, so in the real network, unchanged, its gradient has a
row of the first layer to itself. The attacker sees what every step adds to the weights, before
learning rates, and adds up how much likelier it is with the canary than without.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from dpcheck.auditing.auditors.canaries import BY_CURVE, BY_GUESSES, METHODS
from dpcheck.auditing.plan import TrainingResult
from dpcheck.auditing.statistics.guesses import guess, one_run_lower, one_run_lower_by_curve
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.audit_result import Observed
from dpcheck.core.events.event import Event
from dpcheck.core.witness import Witness, WitnessKind
from dpcheck.execution.runner import Runner
from dpcheck.execution.seeds import generator

Array = NDArray[np.float64]
PLAIN = 8  # features of rows that are no canaries
AGREEMENT = 1e-4  # how unlikely so many right guesses must be under the event
LENGTH = 20.0  # of a canary: its gradient is clipped, its loss not saturated


@dataclass(frozen=True, slots=True)
class Watcher:
    """Scores canaries step by step: what `DPDA.fit` calls an observer."""

    rule: Any  # NoisyGradient
    batches: Sequence[str]  # the batches of a step the canaries may be in
    labels: NDArray[np.int32]  # the label predictor's, for the batch "label"
    rate: float
    totals: list[Array] = field(default_factory=list)

    def watch(self, shown: Any) -> Any:
        """The log-likelihood ratio of every canary, over the batches of a step."""
        return sum(self._of(getattr(shown, name), name) for name in self.batches)

    def collect(self, seen: Any) -> None:
        """Add up an epoch."""
        self.totals.append(np.asarray(seen, dtype=float).sum(axis=0))

    @property
    def scores(self) -> Array:
        """One number per canary; the larger, the likelier it was in the data."""
        return np.asarray(np.sum(self.totals, axis=0))

    def _of(self, update: Any, name: str) -> Any:
        """How much likelier one update is if the canary is in the data: a sampled Gaussian's ratio.

        Seen in the canary's own row of the first layer alone. The bounds hold for any score: a bad
        one only guesses worse.
        """
        from dpcheck.mechanisms.adaptation.lazy_jax import jax, jnp
        from dpcheck.mechanisms.adaptation.step import SOURCE, TARGET

        first, head = update.layers
        z = LENGTH * first["W"][PLAIN:] + first["b"]
        hidden = jnp.maximum(z, 0.0)
        label = {"label": self.labels, "source": SOURCE, "target": TARGET}[name]
        logits = hidden @ head["W"] + head["b"]
        error = jax.nn.softmax(logits) - jax.nn.one_hot(
            jnp.broadcast_to(label, len(self.labels)), logits.shape[1]
        )
        low = LENGTH * (error @ head["W"].T) * (z > 0)
        high = (hidden[:, :, None] * error[:, None, :]).reshape(len(hidden), -1)
        low_norm = jnp.sum(low * low, axis=1) * (1 + LENGTH**-2)
        high_norm = jnp.sum(high * high, axis=1) + jnp.sum(error * error, axis=1)
        if self.rule.joint:
            low_norm = low_norm + high_norm
        low = low / jnp.maximum(1.0, jnp.sqrt(low_norm) / self.rule.clip)[:, None]
        seen = jnp.sum(low * update.features[0]["W"][PLAIN:], axis=1)
        gain = jnp.sum(low * low, axis=1)
        spread = (self.rule.noise * self.rule.clip) ** 2 * gain
        if self.rule.noise_per_example:
            spread = spread * self.rule.batch
        spread = jnp.maximum(spread, 1e-12)

        def ratio(value: Any) -> Any:
            exponent = gain * (value - gain / 2) / spread
            return jnp.log1p(self.rate * jnp.expm1(jnp.clip(exponent, -60.0, 60.0)))

        # Less what an update of 0 gives: canaries that are out then score alike, noise or none.
        return ratio(seen) - ratio(0.0)


@dataclass(frozen=True, slots=True)
class RealTraining:
    """A real training of the audited model on made-up domains, and what its updates give away."""

    model: Any  # DPDA or GDPDA
    part: str
    rows: Mapping[str, int]  # public: rates and steps follow from them
    event: Event  # everything the training releases about the part
    claim: float
    delta: float
    canaries: int

    @property
    def tests(self) -> tuple[str, ...]:
        """The bounds it divides its error rate among."""
        return (BY_GUESSES, BY_CURVE)

    def run(self, alpha: float, runner: Runner) -> TrainingResult:
        """Train once, guess, and bound epsilon at delta; and see whether the training is its event.

        The two bounds hold for any mechanism. The test of the event is sharper: canaries have noise
        and independent coins, so no guess is right more often than (1 + delta(0)) / 2 and the right
        ones are nearly binomial. Failing it proves nothing, but takes away the proof.
        Reference: [Steinke2023] Theorem 5.2, [Mahloujifar2025] Algorithm 3.
        """
        runner.progress.stage(f"{runner.prefix}: a real training with {self.canaries} canaries")
        rng = generator(runner.seeds("one-run", 0))
        included = rng.random(self.canaries) < 0.5
        scores = self.scores(included, rng)
        # Not all: coins fall unevenly, and a forced wrong guess costs the bounds much.
        seen = guess(scores, included, max(1, 9 * self.canaries // 10))
        found = {
            BY_GUESSES: one_run_lower(seen, self.delta, alpha / 2),
            BY_CURVE: one_run_lower_by_curve(seen, self.delta, alpha / 2),
        }
        every = guess(scores, included, self.canaries)
        p_value = float(binom.sf(every.correct - 1, self.canaries, self._best_accuracy()))
        agrees = p_value >= AGREEMENT
        best = max(found, key=lambda name: found[name])
        shown = " and ".join(f"{value:.4g} ({name})" for name, value in found.items())
        note = (
            f"one run: a real training of {self.model.steps_:,} steps with {seen.canaries:,} canaries, "
            f"{seen.correct:,} of {seen.guessed:,} coins guessed rightly: epsilon at least {shown} at "
            f"delta {self.delta:g}, confidence {1 - alpha:.6g}; it "
            f"{'agrees with' if agrees else 'LEAKS MORE THAN'} its event (p = {p_value:.2g})"
        )
        observed = Observed(found[best], self.delta, 1 - alpha, METHODS[best], 1, math.inf)
        witness = Witness(
            WitnessKind.ONE_RUN,
            {
                "canaries": seen.canaries,
                "guessed": seen.guessed,
                "correct": seen.correct,
                "lower": found,
                "at_delta": self.delta,
            },
        )
        return TrainingResult(observed, witness if found[best] > self.claim else None, agrees, note)

    def _best_accuracy(self) -> float:
        """How often any attacker guesses one fair coin, at most, if the training is its event."""
        from dpcheck.accounting.api import delta

        return (1 + delta(self.event, epsilon=0.0, adjacency=Adjacency.ADD_REMOVE).upper) / 2

    def scores(self, included: NDArray[np.bool_], rng: np.random.Generator) -> Array:
        """Train on the included canaries and score them all."""
        m = self.canaries
        labels = np.arange(m, dtype=np.int32) % 2
        canaries = np.zeros((m, PLAIN + m), np.float32)
        canaries[np.arange(m), PLAIN + np.arange(m)] = LENGTH
        domains = {
            part: self._plain(max(2, rows - (m // 2 if part == self.part else 0)), m, part, rng)
            for part, rows in self.rows.items()
        }
        X, y = domains[self.part]
        domains[self.part] = (
            np.concatenate([X, canaries[included]]),
            np.concatenate([y, labels[included]]),
        )
        batches = ("target",) if self.part == "target" else ("label", "source")
        rule = self.model.gradient_rules()[self.part]
        watcher = Watcher(rule, batches, labels, rule.sampling_rate(self.rows[self.part]))
        self.model.fit(
            *domains["source"],
            domains["target"][0],
            rng=rng,
            public_rows=self.rows,
            observer=watcher,
        )
        return watcher.scores

    @staticmethod
    def _plain(
        rows: int, canaries: int, part: str, rng: np.random.Generator
    ) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
        """Rows of two classes; the target's are moved. No canary's feature is touched."""
        X = np.zeros((rows, PLAIN + canaries), np.float32)
        X[:, :PLAIN] = rng.normal(size=(rows, PLAIN)) + (0.3 if part == "target" else 0.0)
        y = (X[:, 0] > 0).astype(np.int32)
        y[:2] = (0, 1)  # both classes are there
        return X, y
