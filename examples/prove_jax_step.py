"""A DP-SGD step in jax, proved by one line: python examples/prove_jax_step.py (needs jax)."""

import jax
import jax.numpy as jnp

import dpcheck

CLIP, NOISE, EXPECTED_BATCH, RATE = 1.0, 1.1, 8.0, 0.1


def loss(params, x, y):
    """Of one record."""
    hidden = jax.nn.relu(x @ params["w1"] + params["b1"])
    return -jax.nn.log_softmax(hidden @ params["w2"])[y]


def step(params, batch, key):
    """Clip each record's gradient, sum, add noise, descend."""
    grads = jax.vmap(jax.grad(loss), in_axes=(None, 0, 0))(params, batch["x"], batch["y"])
    norms = jnp.sqrt(
        sum(jnp.sum(g.reshape(len(g), -1) ** 2, axis=1) for g in jax.tree.leaves(grads))
    )
    factor = jnp.minimum(1.0, CLIP / norms)
    leaves, tree = jax.tree.flatten(grads)
    keys = jax.random.split(key, len(leaves))
    noisy = [
        jnp.tensordot(factor, g, 1) + NOISE * CLIP * jax.random.normal(k, g.shape[1:])
        for g, k in zip(leaves, keys, strict=True)
    ]
    grads = jax.tree.unflatten(tree, noisy)
    return jax.tree.map(lambda p, g: p - RATE * g / EXPECTED_BATCH, params, grads)


if __name__ == "__main__":
    params = {"w1": jnp.ones((5, 4)), "b1": jnp.zeros(4), "w2": jnp.ones((4, 3))}
    batch = {"x": jnp.ones((8, 5)), "y": jnp.arange(8) % 3}
    key = jax.random.PRNGKey(0)
    proof = dpcheck.prove(step, params=params, batch=batch, key=key, adjacency="add-remove")
    print(proof.event)
    print("epsilon of one step at delta 1e-5:", round(proof.epsilon(delta=1e-5).upper, 6))
