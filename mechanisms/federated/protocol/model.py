"""The mathematics of secure federated transfer learning, split by who computes what ([Liu2018]).

Party A holds features and labels, party B other features. Per iteration, in this order:

    A alone      translator, sent_by_a            -> three arrays that A encrypts and sends
    B alone      sent_by_b                        -> four arrays that B encrypts and sends
    A from B's   gradient_of_a, loss_seen_by_a    (9), (7), under B's encryption
    B from A's   gradient_of_b                    (8), under A's encryption

The functions of the last two lines only add what was received and multiply it by plain numbers:
handed object arrays of ciphertexts they return ciphertexts. `joint_gradients` is one holder of all
data in the clear, with the Taylor or the exact logistic loss.

Letters: u hidden representations (rows x d), Phi the translator vector, gamma `alignment_weight`,
lambda `regularization`, N_c labelled rows of B, N_AB rows both parties have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from dpcheck.core.errors import InvalidParameter
from dpcheck.core.validate import non_negative
from dpcheck.mechanisms.federated.protocol.autoencoder import (
    Array,
    Network,
    Trace,
    add,
    backward,
    pooled_gradient,
    scale,
    squared_norm,
)
from dpcheck.mechanisms.federated.protocol.messages import Computed

LOG_2 = float(np.log(2.0))


@dataclass(frozen=True, slots=True)
class Objective:
    """[Liu2018] (3): labelled loss + gamma * alignment + lambda/2 * squared weights.

    `variant` "corrected" has the Taylor expansion of the logistic loss, log 2 - y phi/2 + phi^2/8,
    and adds the alignment loss. "printed" keeps both signs of the paper: C(y) = y below (6), and
    the minus of (2), which (7)-(9) drop.
    `alignment` "inner" is -u_A u_B' (the paper's experiments), "distance" |u_A - u_B|^2.
    """

    alignment_weight: float = 0.05
    regularization: float = 0.005
    alignment: Literal["inner", "distance"] = "inner"
    variant: Literal["corrected", "printed"] = "corrected"

    def __post_init__(self) -> None:
        for name, allowed in (
            ("alignment", ("inner", "distance")),
            ("variant", ("corrected", "printed")),
        ):
            if getattr(self, name) not in allowed:
                raise InvalidParameter(
                    f"{name} must be one of {', '.join(allowed)}, got {getattr(self, name)!r}.",
                    name=name,
                )
        for name in ("alignment_weight", "regularization"):
            non_negative(name, getattr(self, name))

    @property
    def label_sign(self) -> float:
        """C(y) = label_sign * y."""
        return -1.0 if self.variant == "corrected" else 1.0

    @property
    def gamma(self) -> float:
        """The alignment weight with the variant's sign."""
        return self.alignment_weight * (1.0 if self.variant == "corrected" else -1.0)

    @property
    def kappa(self) -> float:
        """l_2(u_A, u_B) = l_2(u_A) + l_2(u_B) + kappa u_A u_B'."""
        return -1.0 if self.alignment == "inner" else -2.0

    @property
    def own_alignment(self) -> float:
        """l_2(u) = own_alignment * |u|^2, the part of the alignment one party computes alone."""
        return 0.0 if self.alignment == "inner" else 1.0


class SentByA(NamedTuple):
    """h_1^A, h_2^A, h_3^A: what A encrypts under its own key and sends."""

    curvature: Array  # (N_c, d, d)   1/8 D(y_i) Phi' Phi
    slope: Array  # (N_c, d)          1/2 C(y_i) Phi
    aligned: Array  # (N_AB, d)       gamma kappa u_i^A


class SentByB(NamedTuple):
    """h_1^B .. h_4^B: what B encrypts under its own key and sends."""

    products: Array  # (N_c, d, d)    u_i' u_i
    hidden: Array  # (N_c, d)         u_i
    aligned: Array  # (N_AB, d)       kappa u_i^B
    local_loss: Computed  # a number       lambda/2 L_3^B + gamma sum l_2^B


class KnownToA(NamedTuple):
    """A's side: labels of its own rows, labels of B's labelled rows, its rows that B has too."""

    y: Array  # (N_A,) +1 or -1
    labels: Array  # (N_c,) +1 or -1, in the order of KnownToB.labelled
    common: Array  # (N_AB,) row numbers of A


class KnownToB(NamedTuple):
    """B's side: which of its rows have a label at A, and which A has too."""

    labelled: Array  # (N_c,) row numbers of B
    common: Array  # (N_AB,) row numbers of B, in the order of KnownToA.common


def check_labels(y: ArrayLike, name: str = "y") -> Array:
    """Labels as floats; they must be +1 or -1, so that D(y) = y^2 = 1."""
    labels: Array = np.asarray(y, float)
    if labels.ndim != 1 or not np.isin(labels, (-1.0, 1.0)).all():
        raise InvalidParameter(f"{name} must hold labels +1 and -1 only.", name=name)
    return labels


# --- A alone -------------------------------------------------------------------------------------


def translator(hidden: Array, y: Array) -> Array:
    """Phi = 1/N sum_j y_j u_j; the prediction for a row u of the other party is Phi . u."""
    mean: Array = y @ hidden / len(y)
    return mean


def sent_by_a(objective: Objective, hidden: Array, known: KnownToA) -> SentByA:
    """What A sends to B, computed from A's rows and labels alone."""
    phi = translator(hidden, known.y)
    curvature = np.multiply.outer(known.labels**2 / 8, np.outer(phi, phi))
    slope = np.multiply.outer(objective.label_sign * known.labels / 2, phi)
    return SentByA(curvature, slope, objective.gamma * objective.kappa * hidden[known.common])


# --- B alone -------------------------------------------------------------------------------------


def sent_by_b(objective: Objective, network: Network, hidden: Array, known: KnownToB) -> SentByB:
    """What B sends to A, computed from B's rows alone."""
    u, v = hidden[known.labelled], hidden[known.common]
    own = objective.regularization / 2 * squared_norm(network)
    own += objective.gamma * objective.own_alignment * float((v**2).sum())
    return SentByB(u[:, :, None] * u[:, None, :], u, objective.kappa * v, own)


# --- A from what B sent --------------------------------------------------------------------------


def translator_signal(objective: Objective, hidden: Array, known: KnownToA, sent: SentByB) -> Array:
    """d L / d Phi (d,): sum_i 1/4 D(y_i) Phi u_i'u_i + 1/2 C(y_i) u_i. `sent` may be ciphertexts.

    D(y) = 1 is not multiplied in, and C(y) decides between plus and minus: ciphertexts are summed
    over the rows before the first multiplication.
    """
    phi = translator(hidden, known.y)
    quarter: Array = (phi / 4) @ sent.products.sum(axis=0)
    half: Array = objective.label_sign / 2 * _signed_sum(sent.hidden, known.labels)
    return quarter + half


def _signed_sum(rows: Array, labels: Array) -> Array:
    """sum_i labels_i rows_i, by additions and subtractions."""
    plus, minus = rows[labels > 0], rows[labels < 0]
    total: Array = plus.sum(axis=0) if len(plus) else -1 * minus.sum(axis=0)
    if len(plus) and len(minus):
        total = total - minus.sum(axis=0)
    return total


def gradient_of_a(
    objective: Objective, network: Network, trace: Trace, known: KnownToA, sent: SentByB
) -> Network:
    """(9): d L / d theta^A. `sent` may be ciphertexts; then so is the gradient."""
    signal = translator_signal(objective, trace.hidden, known, sent)
    total = pooled_gradient(network, trace, known.y / len(known.y), signal)
    common = trace.rows(known.common)
    total = add(total, backward(network, common, objective.gamma * sent.aligned))
    return add(total, _own_gradient(objective, network, common))


def loss_seen_by_a(
    objective: Objective, network: Network, hidden: Array, known: KnownToA, sent: SentByB
) -> Computed:
    """(7): the loss of both parties. `sent` may be ciphertexts; then so is the loss."""
    phi = translator(hidden, known.y)
    own = hidden[known.common]
    plain = len(known.labels) * LOG_2 + objective.regularization / 2 * squared_norm(network)
    plain += objective.gamma * objective.own_alignment * float((own**2).sum())
    total = sent.local_loss + plain
    total = total + objective.label_sign / 2 * (phi @ _signed_sum(sent.hidden, known.labels))
    total = total + (np.outer(phi, phi) / 8 * sent.products.sum(axis=0)).sum()
    return total + (objective.gamma * own * sent.aligned).sum()


# --- B from what A sent --------------------------------------------------------------------------


def gradient_of_b(
    objective: Objective, network: Network, trace: Trace, known: KnownToB, sent: SentByA
) -> Network:
    """(8): d L / d theta^B. `sent` may be ciphertexts; then so is the gradient."""
    rows, signal = signal_of_b(trace.hidden, known, sent)
    total = backward(network, trace.rows(rows), signal)
    return add(total, _own_gradient(objective, network, trace.rows(known.common)))


def signal_of_b(hidden: Array, known: KnownToB, sent: SentByA) -> tuple[Array, Array]:
    """The rows of B that A's messages touch, and d L / d u of each without B's own terms.

    Labelled row: 2 u_i (1/8 D Phi'Phi) + 1/2 C Phi. Common row: gamma kappa u_i^A. Both: the sum.
    """
    twice = 2 * hidden[known.labelled]
    # The middle factor of (8) is symmetric, so rows times matrix is the derivative.
    labelled = (twice[:, None, :] @ sent.curvature)[:, 0, :] + sent.slope
    numbers = np.concatenate([known.labelled, known.common])
    signals = np.concatenate([labelled, sent.aligned])
    order = np.argsort(numbers, kind="stable")
    rows, starts = np.unique(numbers[order], return_index=True)
    return rows, np.add.reduceat(signals[order], starts, axis=0)


# --- both ----------------------------------------------------------------------------------------


def _own_gradient(objective: Objective, network: Network, common: Trace) -> Network:
    """What a party adds without the other: lambda theta, and its own half of the alignment."""
    weights = scale(network, objective.regularization)
    if not objective.own_alignment:
        return weights
    pull = 2 * objective.gamma * objective.own_alignment * common.hidden
    return add(weights, backward(network, common, pull))


class Joint(NamedTuple):
    """The loss and both gradients, computed by one holder of everything."""

    loss: float
    of_a: Network
    of_b: Network


def joint_gradients(
    objective: Objective,
    networks: tuple[Network, Network],
    traces: tuple[Trace, Trace],
    known_a: KnownToA,
    known_b: KnownToB,
    loss: Literal["taylor", "logistic"] = "taylor",
) -> Joint:
    """Objective (3) in the clear, with either labelled loss; no message is formed.

    Guarantee: with loss "taylor" equal to `gradient_of_a`, `gradient_of_b` and `loss_seen_by_a`
    on the plain messages, up to rounding (tested).
    """
    if loss not in ("taylor", "logistic"):
        raise InvalidParameter(f'loss must be "taylor" or "logistic", got {loss!r}.', name="loss")
    hidden_a, hidden_b = traces[0].hidden, traces[1].hidden
    phi, u = translator(hidden_a, known_a.y), hidden_b[known_b.labelled]
    score, y, sign = u @ phi, known_a.labels, objective.label_sign
    if loss == "taylor":
        values, slopes = LOG_2 + sign * y * score / 2 + score**2 / 8, sign * y / 2 + score / 4
    else:
        # log(1 + exp(C(y) phi)): the logistic loss once C has its right sign.
        margin = sign * y * score
        values, slopes = np.logaddexp(0.0, margin), sign * y * expit(margin)
    common_a, common_b = traces[0].rows(known_a.common), traces[1].rows(known_b.common)
    gamma, kappa, own = objective.gamma, objective.kappa, objective.own_alignment
    total = values.sum() + gamma * kappa * (common_a.hidden * common_b.hidden).sum()
    total += gamma * own * ((common_a.hidden**2).sum() + (common_b.hidden**2).sum())
    total += objective.regularization / 2 * sum(squared_norm(network) for network in networks)
    pulled = np.outer(known_a.y / len(known_a.y), slopes @ u)
    of_a = backward(networks[0], traces[0], pulled)
    of_b = backward(networks[1], traces[1].rows(known_b.labelled), np.outer(slopes, phi))
    gradients = []
    for network, gradient, mine, other in (
        (networks[0], of_a, common_a, common_b),
        (networks[1], of_b, common_b, common_a),
    ):
        shared = backward(network, mine, gamma * kappa * other.hidden)
        gradients.append(add(add(gradient, shared), _own_gradient(objective, network, mine)))
    return Joint(float(total), gradients[0], gradients[1])
