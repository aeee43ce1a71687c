"""What an attacker who sees every noisy gradient of a training learns about one row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, chi2

from dpcheck.auditing.auditors.likelihood import epsilon_lower
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.data import Plain
from dpcheck.core.events.event import Event
from dpcheck.core.events.noise import FinitePair
from dpcheck.core.events.training import SampledGaussian
from dpcheck.core.evidence import Source
from dpcheck.core.witness import Witness, WitnessKind
from dpcheck.execution.runner import Runner
from dpcheck.execution.seeds import generator
from dpcheck.families.adaptation.step import CanaryStep

Array = NDArray[np.float64]
PAIR = "a canary in gradient space"
TRANSCRIPTS = 100_000
_LONGEST = 100_000  # steps up to which whole transcripts are drawn: a second opinion, not the proof
_CELLS = 100_000  # the working arrays stay in cache


def transcript_losses(
    step: SampledGaussian, steps: int, size: int, included: bool, rng: np.random.Generator
) -> Array:
    """The exact privacy loss of noise-only transcripts of a canary's pair.

    Along the canary's gradient, in units of it, a step shows N(0, s^2), or N(1, s^2) with
    probability q where the canary is in the data; everything else is the same on both sides. The
    loss of a step is log(1 - q + q exp((2x - 1) / (2 s^2))), and losses of steps add up. Without
    the canary the sign is turned, so that losses are those of the data that was used.

    Drawn and added up in single precision, whose error over a whole transcript is far below the
    1e-4 that every loss is lowered by.
    """
    s, q = step.noise_multiplier, step.sampling_rate
    total = np.zeros(size)
    rows = max(1, _CELLS // size)
    for start in range(0, steps, rows):
        shape = (min(steps - start, rows), size)
        x = rng.standard_normal(shape, dtype=np.float32)
        x *= np.float32(s)
        if included:
            x += rng.random(shape, dtype=np.float32) < q
        x -= np.float32(0.5)
        x *= np.float32(1 / (s * s))
        np.expm1(x, out=x)
        x *= np.float32(q)
        total += np.log1p(x, out=x).sum(axis=0, dtype=np.float64)
    return (total if included else -total) - 1e-4


def batch_size_pair(rows: int, rate: float, dimensions: int) -> FinitePair:
    """What noise drawn per example tells: the batch size, read off the energy of `dimensions`.

    The energy over sigma^2 C^2 is b chi2. The estimate is the energy over the dimensions, rounded:
    a function of the release, so its law with the canary (`rows` rows) and without is a lower bound.
    """
    bound = int(binom.ppf(1 - 1e-15, rows, rate)) + 3
    edges = (np.arange(bound) + 0.5) * dimensions  # between k and k + 1
    sizes = np.arange(bound + 1)
    table = np.zeros((bound + 1, bound + 1))  # P(estimate | batch size)
    table[0, 0] = 1.0
    for size in sizes[1:]:
        ends = np.concatenate([[0.0], chi2.cdf(edges / size, dimensions), [1.0]])
        table[size] = np.diff(ends)
    laws = []
    for count in (rows, rows - 1):
        shares = binom.pmf(sizes, count, rate)
        laws.append((shares / shares.sum()) @ table)
    kept = laws[0] + laws[1] > 1e-300
    with_it, without = (tuple(law[kept].tolist()) for law in laws)
    return FinitePair(with_it, without, with_record="p")


@dataclass(frozen=True, slots=True)
class TranscriptLaw:
    """The loss of all steps of the canary's pair, drawn step by step from the law of the real step."""

    step: Event
    steps: int
    label: str = PAIR
    source: Source = Source.TRANSCRIPTS

    def draw(self, backwards: bool, size: int, rng: np.random.Generator) -> Array:
        """Losses of whole trainings, with the canary or, backwards, without it."""
        if isinstance(self.step, SampledGaussian):
            return transcript_losses(self.step, self.steps, size, not backwards, rng)
        assert isinstance(self.step, FinitePair)
        p, q = (self.step.q, self.step.p) if backwards else (self.step.p, self.step.q)
        with np.errstate(divide="ignore"):
            ratios = np.log(np.array(p)) - np.log(np.array(q))
        seen = np.array(p) > 0
        counts = rng.multinomial(self.steps, np.array(p)[seen] / np.sum(np.array(p)[seen]), size)
        return np.asarray(counts @ ratios[seen])


@dataclass(frozen=True, slots=True)
class TranscriptSearch:
    """The certified epsilon of the canary's pair, once the real step was seen to be that pair."""

    canary: CanaryStep
    step: Event  # as it is
    steps: int
    claim: float
    delta: float
    header: Mapping[str, Plain]
    dimensions: int  # weights of the audited network, for noise drawn per example
    proved: float  # certified upper bound on the epsilon of all steps

    @property
    def detectable(self) -> float:
        """The truth is never above what is proved, and up to there it might be missed."""
        return max(self.claim, self.proved)

    def pair(self) -> Event:
        """What the canary shows of a step, as an event."""
        if isinstance(self.step, SampledGaussian):
            return self.step
        rate = self.canary.rule.sampling_rate(self.canary.rows)
        return batch_size_pair(self.canary.rows, rate, self.dimensions)

    def certified(self) -> float:
        """A proved lower bound on the epsilon of all steps, at delta."""
        from dpcheck.accounting.api import epsilon

        steps = self.pair() * self.steps
        return epsilon(steps, delta=self.delta, adjacency=Adjacency.ADD_REMOVE).lower

    def find(self, runner: Runner) -> tuple[float, Witness]:
        """(certified lower epsilon at delta, witness)."""
        checks = self.canary.check(generator(runner.seeds("step", 0)))
        lower = self.certified()
        figures: dict[str, Plain] = {
            **self.header,
            "pair": PAIR,
            "claim": self.claim,
            "claim_delta": self.delta,
            "steps": self.steps,
            "loss": lower,
            "step_tests": checks,
        }
        if isinstance(self.step, SampledGaussian):
            figures["noise_multiplier"] = self.step.noise_multiplier
            figures["sampling_rate"] = self.step.sampling_rate
            if self.steps <= _LONGEST:
                figures["transcripts"] = TRANSCRIPTS
                figures["epsilon_from_transcripts"] = self._from_transcripts(self.step, runner)
        return lower, Witness(WitnessKind.CANARY_TRANSCRIPT, figures)

    def replay(self, witness: Mapping[str, Plain]) -> float:
        """The certified epsilon anew, from the settings alone; the canary is taken as tested."""
        stated = (float(witness["claim"]), float(witness["claim_delta"]), int(witness["steps"]))
        if stated != (self.claim, self.delta, self.steps):
            raise ValueError(f"the settings give {(self.claim, self.delta, self.steps)}")
        self.canary.check_length()
        return self.certified()

    def _from_transcripts(self, step: SampledGaussian, runner: Runner) -> float:
        """A second opinion at confidence 0.999: sampled losses instead of the lattice."""
        runner.progress.stage(f"{runner.prefix}: {TRANSCRIPTS:,} noise-only transcripts")
        # With the canary: the direction that costs more for sampled Gaussians.
        rng = generator(runner.seeds("transcripts", 0))
        size = TRANSCRIPTS // 20
        parts = [transcript_losses(step, self.steps, size, True, rng) for _ in range(20)]
        return epsilon_lower([np.concatenate(parts)], self.delta, 1e-3)
