"""Models and helpers that the example steps share."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import random

KEY = random.PRNGKey(7)
C, SIGMA = 0.7, 1.3
RNG = np.random.default_rng(0)


def normal(*shape):
    return jnp.asarray(RNG.normal(size=shape) * 0.3, jnp.float32)


MLP = {"w1": normal(5, 6), "b1": normal(6), "w2": normal(6, 3), "b2": normal(3)}
TABLE = {"x": normal(6, 5), "y": jnp.arange(6) % 3}
LINEAR = {"w": normal(5)}
FLAT = {"x": normal(6, 5), "y": normal(6)}


def mlp(params, x):
    hidden = jax.nn.relu(x @ params["w1"] + params["b1"])
    return hidden @ params["w2"] + params["b2"]


def loss(params, x, y):
    return optax.softmax_cross_entropy_with_integer_labels(mlp(params, x), y)


def squared(params, x, y):
    return (x @ params["w"] - y) ** 2


def per_example(params, batch, of=loss):
    return jax.vmap(jax.grad(of), in_axes=(None, 0, 0))(params, batch["x"], batch["y"])


def clipped_sum(grads, clip=C):
    norms = jax.vmap(optax.global_norm)(grads)
    factor = jnp.minimum(1.0, clip / norms)
    return jax.tree.map(lambda g: jnp.einsum("i...,i->...", g, factor), grads)


def noisy(tree, key, scale=SIGMA * C):
    leaves, shape = jax.tree.flatten(tree)
    keys = random.split(key, len(leaves))
    drawn = [g + scale * random.normal(k, g.shape) for g, k in zip(leaves, keys, strict=True)]
    return jax.tree.unflatten(shape, drawn)


def descend(params, grads, by=8.0, rate=0.1):
    return jax.tree.map(lambda p, g: p - rate * g / by, params, grads)
