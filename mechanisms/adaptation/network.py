"""The networks of DPDA in jax: layers, losses, and per-example gradients without building them.

Every layer is linear, z = a W + b, so the gradient of one example is the outer product of its input
a with its backward signal e = dL/dz. Both are found per example by vmap; norms and clipped sums
follow from them exactly, and the per-example gradients (batch x weights) are never stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dpcheck.mechanisms.adaptation.lazy_jax import Tensor, jax, jnp

Layer = dict[str, Tensor]  # "W" and, with intercepts, "b"
Layers = list[Layer]
_SMALL = 256  # weights


class Signals(NamedTuple):
    """Per example and layer: the input, and the gradient of the loss in the layer's output."""

    inputs: list[Tensor]
    errors: list[Tensor]


def initial_layers(
    widths: Sequence[int], rng: np.random.Generator, *, intercepts: bool = True
) -> Layers:
    """Layers of these widths, He-initialised; biases start at 0."""
    layers: Layers = []
    for fan_in, fan_out in pairwise(widths):
        layer: Layer = {
            "W": jnp.asarray(rng.normal(0, np.sqrt(2 / fan_in), (fan_in, fan_out)), jnp.float32)
        }
        if intercepts:
            layer["b"] = jnp.zeros(fan_out, jnp.float32)
        layers.append(layer)
    return layers


def apply(
    layers: Layers, x: Tensor, taps: Sequence[Tensor] | None = None
) -> tuple[Tensor, list[Tensor]]:
    """The output of the last layer, and every layer's input; ReLU between layers."""
    inputs = []
    for index, layer in enumerate(layers):
        inputs.append(x)
        z = x @ layer["W"]
        if "b" in layer:
            z = z + layer["b"]
        if taps is not None:
            z = z + taps[index]
        x = z if index == len(layers) - 1 else jax.nn.relu(z)
    return x, inputs


def cross_entropy(logits: Tensor, label: Tensor) -> Tensor:
    """-log softmax of the label."""
    # Not logits[label]: its gradient is a scatter, which runs row by row when vmapped.
    chosen = jax.nn.one_hot(label, logits.shape[-1], dtype=logits.dtype)
    return jax.nn.logsumexp(logits) - jnp.sum(logits * chosen)


def signals(layers: Layers, X: Tensor, labels: Tensor) -> Signals:
    """Inputs and backward signals of the cross-entropy, per example."""
    taps = [jnp.zeros(layer["W"].shape[1], jnp.float32) for layer in layers]

    def one(x: Tensor, label: Tensor) -> tuple[Tensor, Tensor]:
        def loss(taps: Tensor) -> tuple[Tensor, Tensor]:
            logits, inputs = apply(layers, x, taps)
            return cross_entropy(logits, label), inputs

        found: tuple[Tensor, Tensor] = jax.grad(loss, has_aux=True)(taps)
        return found

    errors, inputs = jax.vmap(one)(X, labels)
    return Signals(inputs, errors)


def squared_norms(layers: Layers, found: Signals, which: slice) -> Tensor:
    """Every example's squared gradient norm over some of the layers."""
    total = 0.0
    for layer, a, e in zip(layers[which], found.inputs[which], found.errors[which], strict=True):
        own = jnp.sum(a * a, axis=-1) + (1.0 if "b" in layer else 0.0)
        total = total + own * jnp.sum(e * e, axis=-1)
    return total


def weighted_sums(layers: Layers, found: Signals, which: slice, weights: Tensor) -> Layers:
    """sum_i weights_i gradient_i of some of the layers."""
    sums: Layers = []
    for layer, a, e in zip(layers[which], found.inputs[which], found.errors[which], strict=True):
        scaled = e * weights[:, None]
        grad: Layer = {"W": _outer_sum(a, scaled)}
        if "b" in layer:
            grad["b"] = jnp.sum(scaled, axis=0)
        sums.append(grad)
    return sums


def _outer_sum(a: Tensor, b: Tensor) -> Tensor:
    """a' b. Small ones as a fused sum: a matrix product per training does not vectorise."""
    if a.shape[1] * b.shape[1] <= _SMALL:
        return jnp.sum(a[:, :, None] * b[:, None, :], axis=0)
    return a.T @ b
