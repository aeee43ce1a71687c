"""The networks of federated transfer learning: stacked auto-encoders with sigmoid layers, in numpy.

Only `backward` and `pooled_gradient` meet numbers of the other party. They add them and multiply
them by plain ones, nothing else, so they run unchanged on object arrays of ciphertexts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from dpcheck.core.errors import InvalidParameter
from dpcheck.core.validate import non_negative, positive

Array = NDArray[Any]  # floats, or ciphertexts where a docstring says so


class Layer(NamedTuple):
    """One layer, x -> sigmoid(x weights + bias); also the shape of its gradient."""

    weights: Array  # (inputs, outputs)
    bias: Array  # (outputs,)


Network = tuple[Layer, ...]


class Trace(NamedTuple):
    """What a forward pass leaves for the backward one: the rows before and after every layer."""

    values: tuple[Array, ...]

    @property
    def hidden(self) -> Array:
        """The last layer's output: the paper's u, one row per sample."""
        return self.values[-1]

    def rows(self, chosen: Array) -> Trace:
        """The same pass for some of the rows."""
        return Trace(tuple(value[chosen] for value in self.values))


def initial_network(widths: Sequence[int], rng: np.random.Generator) -> Network:
    """Random layers of these widths (features first, hidden dimension last); zero biases."""
    if len(widths) < 2 or min(widths) < 1:
        raise InvalidParameter(
            f"widths needs the number of features and at least one layer, got {tuple(widths)}.",
            name="widths",
        )
    return tuple(
        # Glorot's spread keeps sigmoid layers away from their flat ends.
        Layer(rng.normal(0, np.sqrt(2 / (fan_in + fan_out)), (fan_in, fan_out)), np.zeros(fan_out))
        for fan_in, fan_out in pairwise(widths)
    )


def forward(network: Network, X: Array) -> Trace:
    """All layers of [Liu2018] (12) on the rows of X."""
    values = [np.asarray(X, float)]
    for layer in network:
        values.append(expit(values[-1] @ layer.weights + layer.bias))
    return Trace(tuple(values))


def _slopes(trace: Trace, index: int) -> Array:
    """The sigmoid's derivative at layer `index`, from its output."""
    out: Array = trace.values[index + 1]
    slopes: Array = out * (1 - out)
    return slopes


def backward(network: Network, trace: Trace, signal: Array) -> Network:
    """The gradient in every layer of sum_j signal_j . u_j; `signal` may hold ciphertexts.

    Assumes: every row of `signal` stands for the same row of `trace`.
    """
    gradient: list[Layer] = []
    for index in reversed(range(len(network))):
        signal = signal * _slopes(trace, index)
        gradient.append(Layer(trace.values[index].T @ signal, signal.sum(axis=0)))
        if index:
            signal = signal @ network[index].weights.T
    return tuple(reversed(gradient))


def pooled_gradient(
    network: Network, trace: Trace, row_weights: Array, direction: Array
) -> Network:
    """The gradient of (sum_j row_weights_j u_j) . direction; `direction` may hold ciphertexts.

    Equal to `backward` with the signal row_weights_j * direction, but the sums over rows are taken
    in the clear first: a ciphertext is multiplied once per parameter, not once per row of it.
    """
    last = len(network) - 1
    pull = row_weights[:, None] * _slopes(trace, last)  # d u_jk / d z_jk, weighted
    gradient = [Layer((trace.values[last].T @ pull) * direction, pull.sum(axis=0) * direction)]
    if last == 0:
        return tuple(gradient)
    # Below the last layer every parameter moves every hidden unit: signals (unit, row, width).
    signals = pull.T[:, :, None] * network[last].weights.T[:, None, :]
    for index in reversed(range(last)):
        signals = signals * _slopes(trace, index)
        gradient.append(
            Layer(
                _contract(direction, trace.values[index].T @ signals),
                _contract(direction, signals.sum(axis=1)),
            )
        )
        if index:
            signals = signals @ network[index].weights.T
    return tuple(reversed(gradient))


def _contract(direction: Array, jacobian: Array) -> Array:
    """sum_k direction_k jacobian_k, also for ciphertexts."""
    return (jacobian.reshape(len(jacobian), -1).T @ direction).reshape(jacobian.shape[1:])


def add(first: Network, second: Network) -> Network:
    """first + second, layer by layer; either may hold ciphertexts."""
    return tuple(
        Layer(a.weights + b.weights, a.bias + b.bias) for a, b in zip(first, second, strict=True)
    )


def scale(network: Network, factor: float) -> Network:
    """factor * network."""
    return tuple(Layer(factor * layer.weights, factor * layer.bias) for layer in network)


def squared_norm(network: Network) -> float:
    """sum_l |theta_l|_F^2 over weights and biases: [Liu2018] L_3 of one party."""
    return float(sum((layer.weights**2).sum() + (layer.bias**2).sum() for layer in network))


def flatten(network: Network) -> Array:
    """All parameters (or their gradient, ciphertexts too) as one vector."""
    parts = [part.ravel() for layer in network for part in layer]
    return np.concatenate(parts) if parts else np.zeros(0)


def unflatten(vector: Array, like: Network) -> Network:
    """The network whose `flatten` is `vector`."""
    layers, start = [], 0
    for layer in like:
        parts = []
        for part in layer:
            parts.append(vector[start : start + part.size].reshape(part.shape))
            start += part.size
        layers.append(Layer(*parts))
    if start != vector.size:
        raise InvalidParameter(
            f"The network has {start} parameters, the vector {vector.size} entries.", name="vector"
        )
    return tuple(layers)


@dataclass(frozen=True, slots=True)
class Pretraining:
    """How one party trains its auto-encoder on its own rows, before anything is sent."""

    epochs: int = 50
    rate: float = 0.01
    batch: int = 64

    def __post_init__(self) -> None:
        positive("rate", self.rate)
        positive("batch", self.batch)
        non_negative("epochs", self.epochs)


def pretrained_network(
    X: Array, widths: Sequence[int], rng: np.random.Generator, rule: Pretraining | None = None
) -> Network:
    """A stacked auto-encoder trained layer by layer to reproduce its input (Adam, squared error).

    Every layer has its own linear decoder, dropped when the layer is trained.
    """
    rule = rule or Pretraining()
    layers: list[Layer] = []
    values = np.asarray(X, float)
    for layer in initial_network([values.shape[1], *widths], rng):
        layers.append(_one_autoencoder(values, layer, rng, rule))
        values = forward((layers[-1],), values).hidden
    return tuple(layers)


def _one_autoencoder(
    X: Array, encoder: Layer, rng: np.random.Generator, rule: Pretraining
) -> Layer:
    parameters = [*encoder, encoder.weights.T.copy(), X.mean(axis=0)]
    means = [np.zeros_like(p) for p in parameters]
    squares = [np.zeros_like(p) for p in parameters]
    step = 0
    for _ in range(rule.epochs):
        order = rng.permutation(len(X))
        for start in range(0, len(X), rule.batch):
            step += 1
            gradients = reconstruction_gradient(parameters, X[order[start : start + rule.batch]])
            for p, m, s, g in zip(parameters, means, squares, gradients, strict=True):
                m += 0.1 * (g - m)
                s += 0.001 * (g * g - s)
                p -= rule.rate * (m / (1 - 0.9**step)) / (np.sqrt(s / (1 - 0.999**step)) + 1e-8)
    return Layer(parameters[0], parameters[1])


def reconstruction_gradient(parameters: Sequence[Array], X: Array) -> list[Array]:
    """The gradient of the mean squared reconstruction error, halved, in W, b, decoder W, b."""
    weights, bias, out_weights, out_bias = parameters
    hidden = expit(X @ weights + bias)
    error = (hidden @ out_weights + out_bias - X) / len(X)
    signal = (error @ out_weights.T) * hidden * (1 - hidden)
    return [X.T @ signal, signal.sum(axis=0), hidden.T @ error, error.sum(axis=0)]
