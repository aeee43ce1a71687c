"""DP-SGD with JAX: per-example gradients by vmap, accounting and risk by dpcheck.

pip install '.[deep]' && python examples/jax_training.py
"""

import jax
import jax.numpy as jnp
import numpy as np

import dpcheck
from dpcheck.accounting.risk import attack_risk

NOISE, RATE, STEPS, CLIP, DELTA = 1.5, 0.1, 50, 1.0, 1e-5


def loss(weights, row, label):
    """Logistic loss of one record."""
    return jnp.log1p(jnp.exp(-label * jnp.dot(row, weights)))


@jax.jit
def clipped_sum(weights, rows, labels, included):
    """The sum of clipped gradients of the included records; the others count as zero."""
    each = jax.vmap(jax.grad(loss), in_axes=(None, 0, 0))(weights, rows, labels)
    norms = jnp.linalg.norm(each, axis=1, keepdims=True)
    return (included[:, None] * each / jnp.maximum(1.0, norms / CLIP)).sum(axis=0)


def main():
    """Train on made-up data; print accuracy, epsilon on both sides, what an attacker can gain."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(500, 4))
    labels = np.sign(rows @ np.array([1.0, -1.0, 0.0, 0.5]))
    weights = jnp.zeros(4)
    for _ in range(STEPS):
        included = rng.random(len(rows)) < RATE  # Poisson: everybody on their own
        noise = rng.normal(scale=NOISE * CLIP, size=4)
        gradient = clipped_sum(weights, rows, labels, included) + noise
        weights = weights - 0.05 * gradient
    event = dpcheck.SampledGaussian(NOISE, RATE) * STEPS
    spent = dpcheck.epsilon(event, delta=DELTA, adjacency="add-remove")
    accuracy = float(np.mean(np.sign(rows @ np.asarray(weights)) == labels))
    print(f"accuracy {accuracy:.2f}, epsilon {spent} at delta {DELTA:g}")
    print(attack_risk(event, adjacency="add-remove"))


if __name__ == "__main__":
    main()
