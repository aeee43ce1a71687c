"""The audit of the private variant: an attacker chooses the messages and one record, and sees all.

For each party the other's messages are fixed (an attacker may send what it likes), and one record is
a canary or its opposite. Two shadows of the party, one with each record, follow the same noisy
releases through the real code; what a release would be without noise then differs by a shift. Given
the past the two laws of a release are Gaussians that far apart, so the loss of a whole transcript
is known exactly. Where the shift is the same on every path the pair is that many Gaussians in a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.data import Plain
from dpcheck.core.events.event import Event
from dpcheck.core.events.noise import Gaussian
from dpcheck.core.witness import Witness, WitnessKind
from dpcheck.execution.runner import Runner
from dpcheck.execution.seeds import generator
from dpcheck.mechanisms.federated.protocol.autoencoder import Array, initial_network
from dpcheck.mechanisms.federated.protocol.private import FromA, FromB, NoisySum, PrivateA, PrivateB

PATHS = 5  # noisy paths on which shifts are measured
# Saturates every unit (but for weights with a sum below 1e-11): the opposite row has the opposite v.
CANARY = 1e12


class _Silent:
    """In place of a generator: noise that is 0."""

    def standard_normal(self, shape: int | tuple[int, ...]) -> Array:
        return np.zeros(shape)


class Chosen(NamedTuple):
    """What the attacker chose: two records (row, label) and the message it sends every time."""

    label: str
    records: tuple[tuple[Array, float], tuple[Array, float]]
    message: FromA | FromB


class Side(NamedTuple):
    """One of two neighbours: which choice, and which of its records."""

    choice: int
    record: int


@dataclass(frozen=True, slots=True)
class Attack:
    """Transcripts of one party of the real code against a fixed message."""

    model: Any  # PrivateFederatedTransfer, or a faulty one
    rules: Any  # its `rules()`, calibrated once
    part: str
    rows: int
    features: int

    def choices(self) -> list[Chosen]:
        """Records and messages, each with a reason."""
        d, big = self.model.hidden[-1], np.full(self.features, CANARY)
        plus, minus, other = (big, 1.0), (-big, 1.0), (big, -1.0)
        small = np.ones(self.features)
        near, far = (small, 1.0), (-small, 1.0)
        middle = np.full((2, d), 0.5)
        if self.part == "b":
            still = FromA(np.zeros(d), middle)
            loud = FromA(np.full(d, 100.0), middle)
            return [
                Chosen("a saturated record and its opposite, Phi = 0", (plus, minus), still),
                Chosen("a saturated record and its opposite, Phi large", (plus, minus), loud),
                Chosen("an ordinary record and its opposite, Phi large", (near, far), loud),
            ]
        quiet = FromB(np.zeros(d), middle, 0.0)
        steep = FromB(np.full(d, 1e6), middle, 0.0)
        return [
            Chosen("a saturated record and its opposite", (plus, minus), quiet),
            Chosen("a saturated record with either label", (plus, other), quiet),
            Chosen("an ordinary record and its opposite, d L / d Phi large", (near, far), steep),
        ]

    def party(self, record: tuple[Array, float]) -> PrivateA | PrivateB:
        """The party with this record in row 0; other rows and the starting weights are public."""
        rng = np.random.default_rng(7)
        X, y = rng.normal(size=(self.rows, self.features)), rng.choice([-1.0, 1.0], self.rows)
        X[0], y[0] = record
        network = initial_network([self.features, *self.model.hidden], rng)
        everyone = np.arange(self.rows)
        if self.part == "a":
            return PrivateA(self.rules, X, y, everyone, network)
        return PrivateB(self.rules, X, everyone, y, network)

    @property
    def release(self) -> NoisySum:
        """How this party's sums are released."""
        found: NoisySum = self.rules.of_a if self.part == "a" else self.rules.of_b
        return found

    def run(self, side: Side, rng: np.random.Generator) -> tuple[float, float, list[float]]:
        """(exact loss of the first record against the second, energy of the rest, shifts)."""
        chosen, release = self.choices()[side.choice], self.release
        shadows: list[Any] = [self.party(record) for record in chosen.records]
        loss, energy, shifts = self._labels(shadows, side, rng), 0.0, []
        for _ in range(self.model.iterations):
            vectors = [shadow.vectors(chosen.message) for shadow in shadows]
            silent: Any = _Silent()
            exact = [release.draw(each, silent) for each in vectors]
            seen = release.draw(vectors[side.record], rng)
            apart = (exact[0] - exact[1]) / release.deviation
            middle = (seen - (exact[0] + exact[1]) / 2) / release.deviation
            step = float(middle @ apart)
            shift = float(np.linalg.norm(apart))
            loss += step
            energy += float(middle @ middle) - (step / shift) ** 2 if shift > 0 else 0.0
            shifts.append(shift)
            for shadow in shadows:
                shadow.learn(seen)
        return loss, energy, shifts

    def _labels(self, shadows: list[Any], side: Side, rng: np.random.Generator) -> float:
        """The loss of the labels A sends: that of its record's, if the records differ there."""
        if self.part == "b":
            return 0.0
        flip = self.model.label_event().noise / 2
        told = shadows[side.record].told_labels(flip, rng)
        truths = [shadow.y for shadow in shadows]
        kept, turned = np.log1p(-flip), np.log(flip)
        logs = [np.where(told == truth, kept, turned).sum() for truth in truths]
        return float(logs[0] - logs[1])

    def sample(self, side: Side, size: int, rng: np.random.Generator) -> Array:
        """Per transcript: the exact loss, and the energy of what is the same on both sides."""
        return np.array([self.run(side, rng)[:2] for _ in range(size)])

    def log_density(self, side: Side, outputs: Array) -> Array:
        """Up to what both sides share; the loss is sufficient for which side it was."""
        half: Array = outputs[:, 0] / 2
        return half if side.record == 0 else -half

    @property
    def shape(self) -> float:
        """Half the energy's degrees of freedom, if the noise is what the rules say."""
        chosen = self.choices()[0]
        party: Any = self.party(chosen.records[0])
        width: int = party.vectors(chosen.message).shape[1]
        return int(self.model.iterations) * (width - 1) / 2

    def pivots(self, side: Side, outputs: Array) -> Array:  # noqa: ARG002 - the interface
        """Gamma(shape) if the noise has the stated deviation."""
        return np.asarray(outputs[:, 1] / 2)


@dataclass(frozen=True, slots=True)
class ShiftSearch:
    """The certified epsilon of the worst chosen pair."""

    attack: Attack
    delta: float
    header: Mapping[str, Plain]

    @property
    def detectable(self) -> None:
        """Everything above the claim."""
        return

    def find(self, runner: Runner) -> tuple[float, Witness]:
        """(certified lower epsilon at delta, witness)."""
        from dpcheck.accounting.api import epsilon

        rng, best, figures = generator(runner.seeds("paths", 0)), 0.0, {}
        limit = 2 / self.attack.release.noise
        for number, chosen in enumerate(self.attack.choices()):
            shifts = np.concatenate(
                [self.attack.run(Side(number, path % 2), rng)[2] for path in range(PATHS)]
            )
            least, most = float(shifts.min()), float(shifts.max())
            figures[chosen.label] = [round(least / limit, 6), round(most / limit, 6)]
            # Only a shift that is the same on every path, as saturated records have, is a bound on
            # all paths; the others are left to sampled transcripts.
            if least <= 0 or most - least > 1e-9 * least:
                continue
            event = self._event(chosen, 2 / (least * (1 - 1e-9)))
            bound = epsilon(event, delta=self.delta, adjacency=Adjacency.REPLACE_ONE)
            best = max(best, bound.lower)
        return best, Witness(
            WitnessKind.SHIFTED_GAUSSIANS,
            {
                **self.header,
                "epsilon": best,
                "shift_over_2C_least_and_most": figures,
                "paths": PATHS,
            },
        )

    def _event(self, chosen: Chosen, noise: float) -> Event:
        sums = Gaussian(noise) * int(self.attack.model.iterations)
        if self.attack.part == "b" or chosen.records[0][1] == chosen.records[1][1]:
            return sums
        labels: Event = self.attack.model.label_event()
        return labels + sums
