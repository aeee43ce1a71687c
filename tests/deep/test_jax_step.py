"""A jax loop of somebody's own: consistent as it should be, faults named with the function."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpcheck.integrations.jax_step import jax_step
from dpcheck.testing import check_step

ROWS, WIDTH, RATE, NOISE, CLIP = 80, 12, 0.2, 1.5, 0.8
DIVISOR = ROWS * RATE
X = np.random.default_rng(1).normal(size=(ROWS, WIDTH)).astype(np.float32)
Y = np.sign(X[:, 0] + 0.1)
PARAMS = {"w": jnp.full(WIDTH, -0.3), "b": jnp.zeros(())}


def loss(params, x, y):
    return jnp.log1p(jnp.exp(-y * (x @ params["w"] + params["b"])))


def poisson(rng):
    return np.flatnonzero(rng.random(ROWS) < RATE)


def private_gradient(params, x, y, key, noise=NOISE, clip=CLIP):
    each = jax.vmap(jax.grad(loss), (None, 0, 0))(params, x, y)
    norms = jnp.sqrt(sum((g.reshape(len(y), -1) ** 2).sum(1) for g in jax.tree.leaves(each)))
    factors = jnp.minimum(1.0, clip / norms)
    total = jax.tree.map(lambda g: jnp.tensordot(factors, g, 1), each)
    keys = dict(zip(total, jax.random.split(key, len(total)), strict=True))
    return {
        name: (t + noise * CLIP * jax.random.normal(keys[name], t.shape)) / DIVISOR
        for name, t in total.items()
    }


def report(gradient, sample=poisson):
    accounted = {"noise_multiplier": NOISE, "clip": CLIP, "sampling_rate": RATE}
    return check_step(
        jax_step(PARAMS, loss, (X, Y), gradient, sample, divisor=DIVISOR, **accounted)
    )


def test_a_right_loop_is_consistent():
    found = report(private_gradient)
    assert found.verdict == "consistent", str(found)


@pytest.mark.parametrize(
    ("changed", "name"), [({"noise": NOISE / 4}, "noise"), ({"clip": 1e9}, "clipping")]
)
def test_a_fault_is_named_with_its_function(changed, name):
    def faulty(params, x, y, key):
        return private_gradient(params, x, y, key, **changed)

    found = report(faulty)
    assert found.wrong == (name,), str(found)
    (one,) = (check for check in found.checks if check.name == name)
    assert one.where.startswith("faulty, test_jax_step.py:")


def test_one_key_for_all_parameters_is_named():
    """The same numbers in two parameters: their differences have no noise."""

    def same_key(params, x, y, key):
        right = private_gradient(params, x, y, key, noise=0.0)
        noise = jax.random.normal(key, (WIDTH,)) * NOISE * CLIP / DIVISOR
        return {"w": right["w"] + noise, "b": right["b"] + noise[0]}

    assert "noise" in report(same_key).wrong
