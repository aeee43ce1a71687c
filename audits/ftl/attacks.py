"""What a party of federated transfer learning computes from its own gradients, and nothing else.

A gradient of A's last layer is, unit by unit, a linear combination of B's hidden rows whose
coefficients A knows: its own inputs, slopes and the public gamma. [Liu2018] Theorem 1 rests on
fewer equations than unknowns; here they are counted and solved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import logit

from dpcheck.mechanisms.federated.protocol.autoencoder import (
    Array,
    Layer,
    Network,
    Trace,
    flatten,
    forward,
    unflatten,
)
from dpcheck.mechanisms.federated.protocol.model import (
    KnownToA,
    KnownToB,
    Objective,
    sent_by_a,
    signal_of_b,
)
from dpcheck.mechanisms.federated.protocol.party import PartyBase


class Step(NamedTuple):
    """One iteration as a party knows it: its network, its forward pass, its gradient."""

    network: Network
    trace: Trace
    gradient: Network


def own_steps(party: PartyBase, rows: Array, gradients: list[Array]) -> list[Step]:
    """A party's networks follow from where it started and the gradients it was given."""
    network, steps = party.initial, []
    for gradient in gradients:
        steps.append(Step(network, forward(network, party.X[rows]), unflatten(gradient, network)))
        network = unflatten(flatten(network) - party.settings.rate * gradient, network)
    return steps


@dataclass(frozen=True, slots=True, eq=False)
class Recovered:
    """Rows of the other party solved for; `determined` says which the equations fix."""

    rows: Array  # (unknown rows, d)
    determined: Array  # bool, per row
    rank: int  # of the worst unit's equations
    unknowns: int  # per unit


def _last_layer(objective: Objective, step: Step) -> tuple[Array, Array, Array]:
    """The last layer's inputs with a column of ones, its slopes, its gradient less lambda theta."""
    layer, gradient = step.network[-1], step.gradient[-1]
    inputs = np.column_stack([step.trace.values[-2], np.ones(len(step.trace.hidden))])
    slopes = step.trace.hidden * (1 - step.trace.hidden)

    def stacked(one: Layer) -> Array:
        return np.vstack([one.weights, one.bias])

    known = stacked(gradient) - objective.regularization * stacked(layer)
    return inputs, slopes, known


def _solve(designs: Array, targets: Array, rows: int) -> Recovered:
    """Per unit, designs (d, equations, unknowns) against targets (d, equations); `rows` come "
    "last."""
    values, determined, ranks = [], np.ones(rows, dtype=bool), []
    for design, target in zip(designs, targets, strict=True):
        lengths = np.linalg.norm(design, axis=0)
        lengths[lengths == 0] = 1.0
        left, sizes, right = np.linalg.svd(design / lengths, full_matrices=True)
        rank = int((sizes > 1e-10 * sizes[0]).sum())
        solution = right[:rank].T @ ((left[:, :rank].T @ target) / sizes[:rank])
        values.append((solution / lengths)[-rows:])
        # A row is fixed iff no direction the equations do not see moves it.
        unseen = np.abs(right[rank:, -rows:]).max(axis=0, initial=0.0)
        determined &= unseen < 1e-8
        ranks.append(rank)
    return Recovered(np.array(values).T, determined, min(ranks), designs.shape[2])


def rows_seen_by_a(objective: Objective, step: Step, known: KnownToA) -> Recovered:
    """u_i^B of the common rows from one gradient of A.

    Per unit k: gradient_k = p_k dL/dPhi_k + gamma kappa sum_i slope_ik (x_i, 1) u_ik^B, with
    features + 1 equations for as many unknowns as common rows, and dL/dPhi_k.
    """
    inputs, slopes, target = _last_layer(objective, step)
    pooled = inputs.T @ (known.y[:, None] / len(known.y) * slopes)
    own = inputs[known.common]
    factor = objective.gamma * objective.kappa
    designs = [
        np.column_stack([pooled[:, k], factor * own.T * slopes[known.common, k]])
        for k in range(slopes.shape[1])
    ]
    return _solve(np.array(designs), target.T, len(known.common))


def signals_seen_by_b(objective: Objective, step: Step, known: KnownToB) -> tuple[Array, Recovered]:
    """The rows of B that matter, and what A contributed to each, from one gradient of B.

    A common row without a label: gamma kappa u_i^A. A labelled one: also (phi/4 - y/2) Phi^A.
    """
    inputs, slopes, target = _last_layer(objective, step)
    rows = np.union1d(known.labelled, known.common)
    designs = [inputs[rows].T * slopes[rows, k] for k in range(slopes.shape[1])]
    return rows, _solve(np.array(designs), target.T, len(rows))


def gram_of_b(
    objective: Objective, steps: list[Step], hidden: list[Array], known: KnownToA, rate: float
) -> tuple[Array, int]:
    """B's inner products x_i . x_j + 1 from its hidden rows in several iterations, and the rank.

    A step of B moves logit(u) to (1 - eta lambda) logit(u) - eta K delta; A can compute delta,
    since it knows u and what it sent. Holds for networks of one layer; needs no weight of B.
    """
    moves, deltas = [], []
    for now, after, step in zip(hidden[:-1], hidden[1:], steps, strict=False):
        places = KnownToB(np.arange(len(known.labels)), np.arange(len(known.common)))
        sent = sent_by_a(objective, step.trace.hidden, known)
        _, signal = signal_of_b(now, places, sent)
        deltas.append(-rate * signal * now * (1 - now))
        moves.append(logit(after) - (1 - rate * objective.regularization) * logit(now))
    delta, move = np.concatenate(deltas, axis=1), np.concatenate(moves, axis=1)
    # Over iterations delta hardly changes: small singular values carry rounding, not rows.
    solution, _, rank, _ = np.linalg.lstsq(delta.T, move.T, rcond=1e-9)
    return solution, int(rank)


def recovered_from_scores(translators: Array, scores: Array) -> tuple[Array, int]:
    """u_j of every row from scores (predictions, rows) under known translators, and the rank."""
    solution, _, rank, _ = np.linalg.lstsq(translators, scores, rcond=1e-12)
    return solution.T, int(rank)
