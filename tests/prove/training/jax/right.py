"""Steps that are right: each with the multiplier of its noise, and under which adjacencies."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax, random
from jax.flatten_util import ravel_pytree

from .models import (
    FLAT,
    KEY,
    LINEAR,
    MLP,
    SIGMA,
    TABLE,
    C,
    clipped_sum,
    descend,
    loss,
    mlp,
    noisy,
    normal,
    per_example,
    squared,
)

ADD, REPLACE, ZERO = "add-remove", "replace-one", "zero-out"


class Right(NamedTuple):
    step: Any
    params: Any
    batch: Any
    multiplier: float
    adjacencies: tuple[str, ...] = (ADD, REPLACE)
    key: Any = KEY


STEPS: dict[str, Right] = {}


def right(params, batch, multiplier=SIGMA, adjacencies=(ADD, REPLACE), key=KEY):
    def register(step):
        STEPS[step.__name__] = Right(step, params, batch, multiplier, adjacencies, key)
        return step

    return register


@right(MLP, TABLE)
def plain(params, batch, key):
    return descend(params, noisy(clipped_sum(per_example(params, batch)), key))


@right(MLP, TABLE, key=random.key(3))
def typed_key(params, batch, key):
    return descend(params, noisy(clipped_sum(per_example(params, batch)), key))


@right(MLP, TABLE)
@jax.jit
def jitted(params, batch, key):
    return descend(params, noisy(clipped_sum(per_example(params, batch)), key))


@right(LINEAR, FLAT, adjacencies=(ADD, REPLACE, ZERO))
def linear_without_bias(params, batch, key):
    return descend(params, noisy(clipped_sum(per_example(params, batch, squared)), key))


@right(MLP, TABLE)
def flat_vector(params, batch, key):
    grads = per_example(params, batch)
    flat = jax.vmap(lambda g: ravel_pytree(g)[0])(grads)
    norms = jnp.linalg.norm(flat, axis=1, keepdims=True)
    total = jnp.sum(flat / jnp.maximum(norms / C, 1.0), axis=0)
    _, back = ravel_pytree(params)
    total = total + SIGMA * C * random.normal(key, total.shape)
    return descend(params, back(total))


@right(MLP, TABLE)
def flat_noise_after_unravel(params, batch, key):
    grads = per_example(params, batch)
    flat = jax.vmap(lambda g: ravel_pytree(g)[0])(grads)
    norms = jnp.sqrt(jnp.sum(flat**2, axis=1) + 1e-12)
    total = jnp.sum(flat * jnp.minimum(1.0, C / norms)[:, None], axis=0)
    _, back = ravel_pytree(params)
    return descend(params, noisy(back(total), key))


@right(MLP, TABLE)
def clip_inside_vmap(params, batch, key):
    def one(x, y):
        grad = jax.grad(loss)(params, x, y)
        norm = optax.global_norm(grad)
        return jax.tree.map(lambda g: g * jnp.where(norm > C, C / norm, 1.0), grad)

    total = jax.tree.map(lambda g: g.sum(0), jax.vmap(one)(batch["x"], batch["y"]))
    return descend(params, noisy(total, key))


@right(MLP, TABLE, adjacencies=(REPLACE,))
def mean_and_noise_of_mean(params, batch, key):
    grads = per_example(params, batch)
    norms = jax.vmap(optax.global_norm)(grads)
    factor = jnp.minimum(1.0, C / (norms + 1e-6))
    mean = jax.tree.map(lambda g: jnp.mean(jax.vmap(jnp.multiply)(g, factor), axis=0), grads)
    return descend(params, noisy(mean, key, SIGMA * C / len(batch["y"])), by=1.0)


@right(MLP, TABLE, multiplier=SIGMA / 2)
def per_layer(params, batch, key):
    grads = per_example(params, batch)

    def clip(g):
        norms = jnp.sqrt(jnp.sum(jnp.square(g), axis=tuple(range(1, g.ndim))))
        return jnp.einsum("i...,i->...", g, jnp.minimum(1.0, C / norms))

    return descend(params, noisy(jax.tree.map(clip, grads), key))


@right(MLP, TABLE)
def automatic_clipping(params, batch, key):
    grads = per_example(params, batch)
    factor = C / (jax.vmap(optax.global_norm)(grads) + 0.01)
    total = jax.tree.map(lambda g: jnp.tensordot(factor, g, 1), grads)
    return descend(params, noisy(total, key))


@right(MLP, TABLE)
def l1_clipping(params, batch, key):
    grads = per_example(params, batch)
    norms = sum(jnp.abs(g).sum(tuple(range(1, g.ndim))) for g in jax.tree.leaves(grads))
    factor = jnp.minimum(1.0, C / norms)
    total = jax.tree.map(lambda g: jnp.tensordot(factor, g, 1), grads)
    return descend(params, noisy(total, key))


@right(MLP, TABLE, adjacencies=(REPLACE,))
def microbatches_in_scan(params, batch, key):
    parts = jax.tree.map(lambda a: a.reshape(3, 2, *a.shape[1:]), batch)

    def add(total, part):
        grads = clipped_sum(per_example(params, part))
        return jax.tree.map(jnp.add, total, grads), None

    total, _ = lax.scan(add, jax.tree.map(jnp.zeros_like, params), parts)
    return descend(params, noisy(total, key))


@right(MLP, TABLE, adjacencies=(REPLACE,))
def microbatches_unrolled(params, batch, key):
    total = jax.tree.map(jnp.zeros_like, params)
    for i in range(0, 6, 2):
        part = jax.tree.map(lambda a, i=i: a[i : i + 2], batch)
        total = jax.tree.map(jnp.add, total, clipped_sum(per_example(params, part)))
    return descend(params, noisy(total, key))


@right(MLP, TABLE)
def one_record_a_round(params, batch, key):
    def add(total, row):
        grad = jax.grad(loss)(params, row["x"], row["y"])
        factor = jnp.minimum(1.0, C / optax.global_norm(grad))
        return jax.tree.map(lambda t, g: t + g * factor, total, grad), None

    total, _ = lax.scan(add, jax.tree.map(jnp.zeros_like, params), batch)
    return descend(params, noisy(total, key))


@right(MLP, TABLE, adjacencies=(REPLACE,))
def blocks_by_fori_loop(params, batch, key):
    def add(i, total):
        part = jax.tree.map(lambda a: lax.dynamic_slice_in_dim(a, i * 2, 2), batch)
        return jax.tree.map(jnp.add, total, clipped_sum(per_example(params, part)))

    total = lax.fori_loop(0, 3, add, jax.tree.map(jnp.zeros_like, params))
    return descend(params, noisy(total, key))


@right(MLP, TABLE)
def dropout_per_example(params, batch, key):
    coins, noise = random.split(key)

    def dropped(params, x, y, key):
        keep = random.bernoulli(key, 0.8, (6,))
        hidden = jax.nn.relu(x @ params["w1"] + params["b1"]) * keep / 0.8
        return optax.softmax_cross_entropy_with_integer_labels(
            hidden @ params["w2"] + params["b2"], y
        )

    keys = random.split(coins, len(batch["y"]))
    grads = jax.vmap(jax.grad(dropped), (None, 0, 0, 0))(params, batch["x"], batch["y"], keys)
    return descend(params, noisy(clipped_sum(grads), noise))


@right({"p": MLP, "m": jax.tree.map(jnp.zeros_like, MLP), "n": jnp.asarray(0)}, TABLE)
def momentum_in_the_tree(params, batch, key):
    grads = noisy(clipped_sum(per_example(params["p"], batch)), key)
    moved = jax.tree.map(lambda m, g: 0.9 * m + g, params["m"], grads)
    return {"p": descend(params["p"], moved), "m": moved, "n": params["n"] + 1}


ADAM = optax.adam(1e-2)


@right((MLP, ADAM.init(MLP)), TABLE)
def adam(params, batch, key):
    weights, state = params
    grads = noisy(clipped_sum(per_example(weights, batch)), key)
    grads = jax.tree.map(lambda g: g / 8, grads)
    updates, state = ADAM.update(grads, state, weights)
    return optax.apply_updates(weights, updates), state


@right(MLP, TABLE)
def next_key_returned(params, batch, key):
    key, noise = random.split(key)
    return descend(params, noisy(clipped_sum(per_example(params, batch)), noise)), key


@right({"p": MLP, "step": jnp.asarray(3)}, TABLE)
def key_folded_with_the_step(params, batch, key):
    key = random.fold_in(key, params["step"])
    grads = noisy(clipped_sum(per_example(params["p"], batch)), key)
    return {"p": descend(params["p"], grads), "step": params["step"] + 1}


@right(MLP, TABLE)
def remat(params, batch, key):
    grads = per_example(params, batch, jax.checkpoint(loss))
    return descend(params, noisy(clipped_sum(grads), key))


@jax.custom_vjp
def _swish(x):
    return x * jax.nn.sigmoid(x)


_swish.defvjp(
    lambda x: (_swish(x), x),
    lambda x, g: (g * jax.nn.sigmoid(x) * (1 + x * (1 - jax.nn.sigmoid(x))),),
)


@right(MLP, TABLE)
def custom_vjp(params, batch, key):
    def of(params, x, y):
        out = _swish(x @ params["w1"] + params["b1"]) @ params["w2"] + params["b2"]
        return -jax.nn.log_softmax(out)[y]

    return descend(params, noisy(clipped_sum(per_example(params, batch, of)), key))


def _masked(params, x, y, weight):
    return weight * loss(params, x, y)


@right(MLP, {**TABLE, "w": jnp.ones(6)})
def mask_of_weights(params, batch, key):
    grads = jax.vmap(jax.grad(_masked), (None, 0, 0, 0))(params, batch["x"], batch["y"], batch["w"])
    return descend(params, noisy(clipped_sum(grads), key))


@right(MLP, TABLE)
def guarded_against_nan(params, batch, key):
    grads = per_example(params, batch)
    grads = jax.tree.map(lambda g: jnp.where(jnp.isfinite(g), g, 0.0), grads)
    return descend(params, noisy(clipped_sum(grads), key))


@right(MLP, TABLE, multiplier=1 / np.sqrt(1 / SIGMA**2 + 1 / 2.0**2))
def noisy_count_beside(params, batch, key):
    first, second = random.split(key)
    right_ones = jnp.argmax(jax.vmap(partial(mlp, params))(batch["x"]), -1) == batch["y"]
    # a sum of zeros and ones moves by 1 under either adjacency; here with 2 C worth of noise under add-remove
    count = jnp.sum(jnp.where(right_ones, 0.5, -0.5)) + 1.0 * random.normal(second)
    return descend(params, noisy(clipped_sum(per_example(params, batch)), first)), count


CNN = {"k1": normal(4, 1, 3, 3), "k2": normal(6, 4, 3, 3), "b": normal(6), "w": normal(24, 3)}
IMAGES = {"x": normal(4, 1, 8, 8), "y": jnp.arange(4) % 3}


def cnn(params, x, y):
    hidden = jax.nn.relu(lax.conv(x[None], params["k1"], (1, 1), "SAME"))
    hidden = lax.reduce_window(hidden, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
    hidden = lax.conv(hidden, params["k2"], (1, 1), "VALID") + params["b"][None, :, None, None]
    hidden = lax.reduce_window(
        jax.nn.relu(hidden), 0.0, lax.add, (1, 1, 1, 1), (1, 1, 1, 1), "VALID"
    )
    return optax.softmax_cross_entropy_with_integer_labels(hidden.reshape(-1) @ params["w"], y)


@right(CNN, IMAGES)
def convolutions(params, batch, key):
    return descend(params, noisy(clipped_sum(per_example(params, {**batch}, cnn)), key))


CNN["w"] = normal(6 * 2 * 2, 3)
WIDTH, HEADS, LENGTH, WORDS = 8, 2, 5, 11
TRANSFORMER = {
    "embed": normal(WORDS, WIDTH),
    "place": normal(LENGTH, WIDTH),
    "qkv": normal(WIDTH, 3 * WIDTH),
    "out": normal(WIDTH, WIDTH),
    "up": normal(WIDTH, 16),
    "down": normal(16, WIDTH),
    "scale": jnp.ones(WIDTH),
    "bias": jnp.zeros(WIDTH),
}
TEXT = {"x": jnp.asarray(RNG_TEXT := np.random.default_rng(1).integers(0, WORDS, (4, LENGTH + 1)))}


def layer_norm(params, x):
    mean = x.mean(-1, keepdims=True)
    var = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) / jnp.sqrt(var + 1e-5) * params["scale"] + params["bias"]


def transformer(params, tokens):
    x = params["embed"][tokens[:-1]] + params["place"]
    q, k, v = jnp.split(layer_norm(params, x) @ params["qkv"], 3, axis=-1)
    split = lambda a: a.reshape(LENGTH, HEADS, -1).transpose(1, 0, 2)  # noqa: E731
    scores = split(q) @ split(k).transpose(0, 2, 1) / 2.0
    scores = jnp.where(jnp.tril(jnp.ones((LENGTH, LENGTH), bool)), scores, -1e9)
    mixed = (jax.nn.softmax(scores) @ split(v)).transpose(1, 0, 2).reshape(LENGTH, WIDTH)
    x = x + mixed @ params["out"]
    x = x + jax.nn.gelu(layer_norm(params, x) @ params["up"]) @ params["down"]
    logits = x @ params["embed"].T
    return optax.softmax_cross_entropy_with_integer_labels(logits, tokens[1:]).mean()


@right(TRANSFORMER, TEXT)
def small_transformer(params, batch, key):
    grads = jax.vmap(jax.grad(transformer), (None, 0))(params, batch["x"])
    return descend(params, noisy(clipped_sum(grads), key))


FROZEN = {"frozen": normal(5, 6), "a": normal(5, 2), "b": normal(2, 6), "head": normal(6, 3)}


@right(FROZEN, TABLE)
def lora(params, batch, key):
    adapters = {name: params[name] for name in ("a", "b")}

    def of(adapters, x, y):
        hidden = jnp.tanh(x @ params["frozen"] + x @ adapters["a"] @ adapters["b"])
        return optax.softmax_cross_entropy_with_integer_labels(hidden @ params["head"], y)

    grads = noisy(clipped_sum(per_example(adapters, batch, of)), key)
    return {**params, **descend(adapters, grads)}


BAG = {"table": normal(WORDS, 4), "w": normal(4, 3)}
WORDS_IN = {"x": TEXT["x"][:, :3], "y": jnp.arange(4) % 3}


@right(BAG, WORDS_IN)
def embedding(params, batch, key):
    def of(params, words, y):
        return -jax.nn.log_softmax(params["table"][words].mean(0) @ params["w"])[y]

    return descend(params, noisy(clipped_sum(per_example(params, batch, of)), key))


# Eight rows of 512 zeros are computed while the step is read, nine are one too many.
WIDE = {"w1": normal(5, 512), "b1": normal(512), "w2": normal(512, 3), "b2": normal(3)}


@right(WIDE, {"x": normal(8, 5), "y": jnp.arange(8) % 3})
def wide_layer(params, batch, key):
    return descend(params, noisy(clipped_sum(per_example(params, batch)), key))


@right(MLP, TABLE, multiplier=SIGMA / np.sqrt(3), adjacencies=(REPLACE,))
def three_steps_in_scan(params, batch, key):
    def one(params, key):
        return descend(params, noisy(clipped_sum(per_example(params, batch)), key)), None

    return lax.scan(one, params, random.split(key, 3))[0]


@right(MLP, TABLE, multiplier=SIGMA / np.sqrt(50))
def fifty_steps_with_a_carried_key(params, batch, key):
    def one(carry, _):
        params, key = carry
        key, noise = random.split(key)
        return (descend(params, noisy(clipped_sum(per_example(params, batch)), noise)), key), None

    return lax.scan(one, (params, key), None, length=50)[0][0]


@right(MLP, TABLE, multiplier=SIGMA / np.sqrt(4))
def steps_with_folded_keys(params, batch, key):
    def one(i, params):
        noise = random.fold_in(key, i)
        return descend(params, noisy(clipped_sum(per_example(params, batch)), noise))

    return lax.fori_loop(0, 4, one, params)


GRU = {"w": normal(7, 4), "head": normal(4, 3)}
SERIES = {"x": normal(4, 5, 3), "y": jnp.arange(4) % 3}


@right(GRU, SERIES)
def recurrent_over_time(params, batch, key):
    def of(params, x, y):
        def cell(state, now):
            return jnp.tanh(jnp.concatenate([state, now]) @ params["w"]), None

        state, _ = lax.scan(cell, jnp.zeros(4), x)
        return optax.softmax_cross_entropy_with_integer_labels(state @ params["head"], y)

    return descend(params, noisy(clipped_sum(per_example(params, batch, of)), key))


@right(MLP, TABLE, adjacencies=(REPLACE,))
def clipped_microbatch_means(params, batch, key):
    parts = jax.tree.map(lambda a: a.reshape(3, 2, *a.shape[1:]), batch)

    def mean_grad(part):
        grads = jax.grad(lambda p: jnp.mean(jax.vmap(partial(loss, p))(part["x"], part["y"])))(
            params
        )
        return jax.tree.map(lambda g: g * jnp.minimum(1.0, C / optax.global_norm(grads)), grads)

    total = jax.tree.map(lambda g: g.sum(0), lax.map(mean_grad, parts))
    return descend(params, noisy(total, key))


@right(MLP, TABLE)
def optax_clip_of_each_record(params, batch, key):
    clip = optax.clip_by_global_norm(C)

    def one(x, y):
        return clip.update(jax.grad(loss)(params, x, y), clip.init(params))[0]

    grads = jax.vmap(one)(batch["x"], batch["y"])
    return descend(params, noisy(jax.tree.map(lambda g: g.sum(0), grads), key))


def _first_label_loss(params, x, y):
    return -jax.nn.log_softmax(mlp(params, x))[y]


@right(MLP, TABLE)
def one_record_a_round_by_its_label(params, batch, key):
    def record(x, y):
        grad = jax.grad(_first_label_loss)(params, x, y)
        norm = jnp.sqrt(sum(jnp.vdot(g, g) for g in jax.tree.leaves(grad)) + 1e-9)
        return jax.tree.map(lambda g: g * jnp.clip(C / norm, max=1.0), grad)

    def add(total, xy):
        return jax.tree.map(jnp.add, total, record(*xy)), None

    zeros = jax.tree.map(jnp.zeros_like, params)
    total, _ = lax.scan(add, zeros, (batch["x"], batch["y"]))
    return descend(params, noisy(total, key))


@right(MLP, TABLE, adjacencies=(REPLACE,))
def records_by_their_index(params, batch, key):
    def add(i, total):
        grad = jax.grad(_first_label_loss)(params, batch["x"][i], batch["y"][i])
        return jax.tree.map(
            lambda t, g: t + g * jnp.minimum(1.0, C / optax.global_norm(grad)), total, grad
        )

    total = lax.fori_loop(0, 6, add, jax.tree.map(jnp.zeros_like, params))
    return descend(params, noisy(total, key))


@right(MLP, TABLE)
def norms_stacked_over_augmentations(params, batch, key):
    def one(x, y):
        views = jnp.stack([x, -x, x[::-1]])
        grad = jax.grad(lambda p: jax.vmap(lambda v: loss(p, v, y))(views).mean())(params)
        norm = jnp.sqrt(jnp.sum(jnp.stack([jnp.sum(g**2) for g in jax.tree.leaves(grad)])))
        return jax.tree.map(lambda g: g / jnp.maximum(norm / C, 1.0), grad)

    grads = jax.vmap(one)(batch["x"], batch["y"])
    return descend(params, noisy(jax.tree.map(lambda g: g.sum(0), grads), key))


@right(MLP, TABLE, adjacencies=(REPLACE,))
def microbatches_clipped_as_one(params, batch, key):
    parts = jax.tree.map(lambda leaf: leaf.reshape(3, 2, *leaf.shape[1:]), batch)

    def mean(p, part):
        return jax.vmap(loss, (None, 0, 0))(p, part["x"], part["y"]).mean()

    grads = jax.vmap(jax.grad(mean), (None, 0))(params, parts)
    return descend(params, noisy(clipped_sum(grads), key))


ADAPTIVE = 1 / (SIGMA**-2 + (0.5 / 4) ** 2) ** 0.5  # the gradient, and a count that moves by 1/2


def _adaptive(params, threshold, clip, batch, key):
    """Andrew et al., Differentially private learning with adaptive clipping: the threshold follows a noisy count."""
    first, second = random.split(key)
    grads = per_example(params, batch)
    norms = jax.vmap(optax.global_norm)(grads)
    count = jnp.sum((norms <= threshold) - 0.5) + 4.0 * random.normal(second)
    factors = clip(norms, threshold)
    total = jax.tree.map(lambda g: jnp.einsum("i...,i->...", g, factors), grads)
    params = descend(params, noisy(total, first, SIGMA * threshold))
    return params, threshold * jnp.exp(-0.2 * count / 64)


@right((MLP, jnp.float32(3.0)), TABLE, multiplier=ADAPTIVE)
def adaptive_threshold(state, batch, key):
    return _adaptive(*state, lambda n, c: jnp.minimum(1.0, c / (n + 1e-6)), batch, key)


@right((MLP, jnp.float32(0.2)), TABLE, multiplier=ADAPTIVE)
def adaptive_threshold_chosen(state, batch, key):
    held = jnp.maximum(state[1], 1e-3)
    return _adaptive(state[0], held, lambda n, c: jnp.where(n > c, c / n, 1.0), batch, key)


@right((MLP, jnp.int32(4)), TABLE)
def threshold_by_a_schedule(state, batch, key):
    params, step = state
    threshold = optax.linear_schedule(2.0, 0.5, 100)(step)
    grads = per_example(params, batch)
    total = clipped_sum(grads, threshold)
    unit = jax.tree.map(lambda g: g / threshold, total)
    return descend(params, noisy(unit, key, SIGMA)), step + 1


@right(
    {"w": normal(5)},
    {"x": normal(6, 5), "y": normal(6), "kept": jnp.array([1, 1, 1, 1, 0, 0], bool)},
    adjacencies=(ADD, REPLACE, ZERO),
)
def mask_that_is_false_for_nobody(params, batch, key):
    def one(x, y, kept):
        grad = jax.grad(squared)(
            params, x + 1.0, y
        )  # a null record has a gradient, which the mask drops
        norm = optax.global_norm(grad)
        return jax.tree.map(lambda g: jnp.where(kept, g / jnp.maximum(norm / C, 1.0), 0.0), grad)

    grads = jax.vmap(one)(batch["x"], batch["y"], batch["kept"])
    return descend(params, noisy(jax.tree.map(lambda g: g.sum(0), grads), key))
