"""Federated transfer learning with a budget: two parties that exchange noisy sums only.

The protocol of [Liu2018] shows each party exact gradients, functions of the other's rows. Here, in
one iteration, all that is used of one record is one vector: what it adds to its owner's gradient,
to the other's, and to the loss. It is clipped as a whole and noised once in the sum, before it
leaves its owner:

    A -> B  once:           labels of the labelled rows, by randomised response
    A       per iteration:  sum_j clip[ v_j if y_j = +1, v_j if y_j = -1, y_j / 2, w gradient_j ] + noise
    B       per iteration:  sum_i clip[ c_i v_i, v_i if y_i = +1, v_i if y_i = -1, loss_i - log 2,
                                        w gradient_i ] + noise

with v = u - 1/2, c_i = phi_i/4 - y_i/2, and w a public weight. The gradients of a party's own
weights are not sent, but they are part of the noisy vector: weights trained without noise would
carry each record into all later sums. The rest is sent. From A's sums follow Phi and A's class
means, from B's d L / d Phi, B's class means and the loss: all a step needs once the alignment of
pairs u_i^A (u_i^B)' is replaced by that of a row with the other's mean of its class. No message
needs encryption, B predicts alone from what it was sent, and nobody's honesty matters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dpcheck.core.validate import positive
from dpcheck.mechanisms.federated.protocol.autoencoder import (
    Array,
    Network,
    Trace,
    add,
    forward,
    scale,
    unflatten,
)
from dpcheck.mechanisms.federated.protocol.model import LOG_2, Objective


@dataclass(frozen=True, slots=True)
class NoisySum:
    """Rows clipped to norm `clip`, summed, plus Gaussian noise of deviation `noise` * `clip`.

    Guarantee: replacing one row moves the sum by at most 2 clip before the noise.
    """

    clip: float
    noise: float

    def __post_init__(self) -> None:
        positive("clip", self.clip)
        positive("noise", self.noise)

    @property
    def deviation(self) -> float:
        """Of the noise in every coordinate."""
        return self.noise * self.clip

    def clipped(self, vectors: Array) -> Array:
        """The sum without noise; never leaves its owner."""
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        total: Array = (vectors / np.maximum(1.0, lengths / self.clip)).sum(axis=0)
        return total

    def draw(self, vectors: Array, rng: np.random.Generator) -> Array:
        """The release: the only function through which rows act on anything."""
        exact = self.clipped(vectors)
        noisy: Array = exact + self.deviation * rng.standard_normal(exact.shape)
        return noisy


class FromA(NamedTuple):
    """What B reads off A's noisy sums; all of it is post-processing."""

    phi: Array  # (d,)
    means: Array  # (2, d): of A's rows labelled +1 and -1


class FromB(NamedTuple):
    """What A reads off B's noisy sums; all of it is post-processing."""

    slope: Array  # (d,) d L / d Phi
    means: Array  # (2, d): of B's labelled rows, by the labels B was sent
    loss: float


@dataclass(frozen=True, slots=True)
class Rules:
    """Public: the objective, the learning rate, how sums are released, the gradients' weight."""

    objective: Objective
    rate: float
    of_a: NoisySum
    of_b: NoisySum
    gradient_weight: float = 1.0


# --- A -------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class PrivateA:
    """Party A: its rows, labels and network; `labelled` are its rows whose label trains B."""

    rules: Rules
    X: Array
    y: Array
    labelled: Array
    network: Network

    def told_labels(self, flip: float, rng: np.random.Generator) -> Array:
        """The labels B is sent, each turned with probability `flip`."""
        truth = self.y[self.labelled]
        return np.where(rng.random(len(truth)) < flip, -truth, truth)

    def vectors(self, told: FromB) -> Array:
        """Per record, everything this iteration uses of it."""
        o, trace = self.rules.objective, forward(self.network, self.X)
        v, is_positive = trace.hidden - 0.5, (self.y > 0)[:, None]
        signal = np.outer(self.y / len(self.y), told.slope)
        partner = told.means[np.where(self.y[self.labelled] > 0, 0, 1)]
        signal[self.labelled] += o.gamma * o.kappa * partner
        own = self.rules.gradient_weight * record_gradients(self.network, trace, signal)
        return np.hstack([v * is_positive, v * ~is_positive, self.y[:, None] / 2, own])

    def learn(self, release: Array) -> Array:
        """One step from the own noisy sums; what is left of them is sent."""
        self.network, sent = _stepped(self.rules, self.network, release)
        return sent


def read_from_a(sent: Array, rows: int) -> FromA:
    """Phi and the class means of A's `rows` rows from one message of A."""
    d = len(sent) // 2
    plus, minus, balance = sent[:d], sent[d : 2 * d], 2 * float(sent[-1])
    phi = (plus - minus + balance / 2) / rows  # u = v + 1/2: the halves add up to balance / 2
    sizes = np.maximum(1.0, np.array([rows + balance, rows - balance]) / 2)
    means = 0.5 + np.stack([plus / sizes[0], minus / sizes[1]])
    return FromA(phi, np.clip(means, 0.0, 1.0))  # u is in (0, 1)


# --- B -------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class PrivateB:
    """Party B: its rows and network; `labels` are those A sent for the rows `labelled`."""

    rules: Rules
    X: Array
    labelled: Array
    labels: Array
    network: Network

    def vectors(self, told: FromA) -> Array:
        """Per labelled record, everything this iteration uses of it: gradients and loss."""
        o, trace = self.rules.objective, forward(self.network, self.X[self.labelled])
        u, is_positive = trace.hidden, (self.labels > 0)[:, None]
        v, score = u - 0.5, u @ told.phi
        c = o.label_sign * self.labels / 2 + score / 4
        loss = o.label_sign * self.labels * score / 2 + score**2 / 8
        partner = told.means[np.where(self.labels > 0, 0, 1)]
        signal = np.outer(c, told.phi) + o.gamma * o.kappa * partner
        own = self.rules.gradient_weight * record_gradients(self.network, trace, signal)
        return np.hstack([c[:, None] * v, v * is_positive, v * ~is_positive, loss[:, None], own])

    def learn(self, release: Array) -> Array:
        """One step from the own noisy sums; what is left of them is sent."""
        self.network, sent = _stepped(self.rules, self.network, release)
        return sent


def read_from_b(sent: Array, labels: Array, told: FromA, objective: Objective) -> FromB:
    """d L / d Phi, the class means and the loss from one message of B; `labels` as sent to B."""
    d = len(sent) // 3
    plus, minus = sent[d : 2 * d], sent[2 * d : 3 * d]
    sizes = np.array([(labels > 0).sum(), (labels < 0).sum()])
    everyone = plus + minus + len(labels) / 2  # sum of u
    slopes = told.phi @ everyone / 4 + objective.label_sign * labels.sum() / 2
    sums = np.stack([plus, minus]) / np.maximum(1, sizes)[:, None]
    means = np.clip(0.5 + sums, 0.0, 1.0)
    return FromB(sent[:d] + slopes / 2, means, float(sent[-1]) + LOG_2 * len(labels))


# --- both ----------------------------------------------------------------------------------------


def record_gradients(network: Network, trace: Trace, signal: Array) -> Array:
    """Per row j, the gradient of signal_j . u_j in all weights, in the order of `flatten`."""
    parts: list[Array] = []
    for index in reversed(range(len(network))):
        out, inputs = trace.values[index + 1], trace.values[index]
        signal = signal * out * (1 - out)
        weights = (inputs[:, :, None] * signal[:, None, :]).reshape(len(signal), -1)
        parts = [weights, signal, *parts]
        signal = signal @ network[index].weights.T
    return np.hstack(parts)


def _stepped(rules: Rules, network: Network, release: Array) -> tuple[Network, Array]:
    """The network one step on, and the part of the release that is sent."""
    size = sum(part.size for layer in network for part in layer)
    gradient = unflatten(release[-size:] / rules.gradient_weight, network)
    whole = add(gradient, scale(network, rules.objective.regularization))
    return add(network, scale(whole, -rules.rate)), release[:-size]
