"""Steps that are wrong: each with the multiplier it really has (0 where nothing protects a record)."""

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


class Wrong(NamedTuple):
    step: Any
    params: Any
    batch: Any
    truth: float
    kinds: tuple[str, ...]
    adjacencies: tuple[str, ...]
    key: Any


STEPS: dict[str, Wrong] = {}


def wrong(*kinds, params=MLP, batch=TABLE, truth=0.0, adjacencies=(ADD, REPLACE), key=KEY):
    """`kinds` of refusal that name the fault; none where it may be priced. `truth` is the real multiplier."""

    def register(step):
        STEPS[step.__name__] = Wrong(step, params, batch, truth, kinds, adjacencies, key)
        return step

    return register


def update(params, total, key, scale=SIGMA * C):
    return descend(params, noisy(total, key, scale))


@wrong("no-clip")
def never_clipped(params, batch, key):
    return update(params, jax.tree.map(lambda g: g.sum(0), per_example(params, batch)), key)


@wrong("raw-output")
def no_noise(params, batch, key):
    return descend(params, clipped_sum(per_example(params, batch)))


@wrong("after-sum", "realised-size")
def clipped_after_the_mean(params, batch, key):
    of = lambda p: jnp.mean(jax.vmap(partial(loss, p))(batch["x"], batch["y"]))  # noqa: E731
    grads = jax.grad(of)(params)
    factor = jnp.minimum(1.0, C / optax.global_norm(grads))
    return update(params, jax.tree.map(lambda g: g * factor, grads), key)


@wrong("norm-misses-leaf")
def norm_misses_a_leaf(params, batch, key):
    grads = per_example(params, batch)
    factor = jnp.minimum(
        1.0, C / jax.vmap(optax.global_norm)({k: g for k, g in grads.items() if k != "b2"})
    )
    return update(params, jax.tree.map(lambda g: jnp.tensordot(factor, g, 1), grads), key)


@wrong()
def largest_entry_for_norm(params, batch, key):
    grads = per_example(params, batch)
    tops = jnp.stack(
        [jnp.abs(g).reshape(len(g), -1).max(1) for g in jax.tree.leaves(grads)], 1
    ).max(1)
    factor = jnp.minimum(1.0, C / tops)
    return update(params, jax.tree.map(lambda g: jnp.tensordot(factor, g, 1), grads), key)


@wrong(truth=SIGMA / np.sqrt(5), params=LINEAR, batch=FLAT)
def clipped_entry_by_entry(params, batch, key):
    grads = per_example(params, batch, squared)
    return update(params, jax.tree.map(lambda g: jnp.clip(g, -C, C).sum(0), grads), key)


@wrong("threshold-from-data", "records-compared")
def median_threshold(params, batch, key):
    grads = per_example(params, batch)
    norms = jax.vmap(optax.global_norm)(grads)
    factor = jnp.minimum(1.0, jnp.median(norms) / norms)
    return update(params, jax.tree.map(lambda g: jnp.tensordot(factor, g, 1), grads), key)


@wrong()
def mean_norm_threshold(params, batch, key):
    grads = per_example(params, batch)
    norms = jax.vmap(optax.global_norm)(grads)
    factor = jnp.minimum(1.0, norms.sum() / 6 / norms)
    return update(params, jax.tree.map(lambda g: jnp.tensordot(factor, g, 1), grads), key)


@wrong(truth=SIGMA / 6)
def noise_of_the_mean_on_the_sum(params, batch, key):
    return update(params, clipped_sum(per_example(params, batch)), key, SIGMA * C / 6)


@wrong(truth=SIGMA * C)
def noise_without_c(params, batch, key):
    total = clipped_sum(per_example(params, batch), clip=1 / C)
    return update(params, total, key, SIGMA)


@wrong("key-reused")
def one_key_for_all_leaves(params, batch, key):
    total = clipped_sum(per_example(params, batch))
    total = jax.tree.map(lambda g: g + SIGMA * C * random.normal(key, g.shape), total)
    return descend(params, total)


@wrong("key-reused")
def constant_key(params, batch, key):
    return update(params, clipped_sum(per_example(params, batch)), random.PRNGKey(0))


@wrong("key-reused", params={"p": MLP, "seed": jnp.asarray(3)})
def seed_in_the_params(params, batch, key):
    total = clipped_sum(per_example(params["p"], batch))
    return update(params["p"], total, random.PRNGKey(params["seed"]))


@wrong("key-reused")
def key_from_the_data(params, batch, key):
    key = random.fold_in(key, batch["y"].sum())
    return update(params, clipped_sum(per_example(params, batch)), key)


@wrong("key-reused")
def key_comes_back(params, batch, key):
    return update(params, clipped_sum(per_example(params, batch)), key), key


@wrong("key-reused")
def parent_beside_children(params, batch, key):
    first, _ = random.split(key)
    total = clipped_sum(per_example(params, batch))
    return update(params, total, first), update(params, total, random.split(key)[0])


@wrong("key-reused")
def folded_and_split(params, batch, key):
    total = clipped_sum(per_example(params, batch))
    shown = random.normal(random.fold_in(key, 1), total["b1"].shape)
    total = dict(
        total, b1=total["b1"] + SIGMA * C * random.normal(random.split(key)[1], shown.shape)
    )
    return dict(params, b1=total["b1"]), shown


@wrong("key-reused")
def same_key_each_round(params, batch, key):
    def one(params, _):
        return update(params, clipped_sum(per_example(params, batch)), key), None

    return lax.scan(one, params, None, length=3)[0]


@wrong("key-reused")
def noise_key_is_carried(params, batch, key):
    def one(carry, _):
        params, key = carry
        key, _ = random.split(key)
        noise = random.fold_in(key, 0)
        return (update(params, clipped_sum(per_example(params, batch)), noise), key), noise

    return lax.scan(one, (params, key), None, length=3)[0][0]


@wrong("noise-reused")
def one_noise_two_views(params, batch, key):
    total = clipped_sum(per_example(params, batch))["b1"]
    noise = SIGMA * C * random.normal(key, total.shape)
    return total + noise, 2 * total + noise


@wrong("noise-reused")
def noise_is_returned(params, batch, key):
    total = clipped_sum(per_example(params, batch))["b1"]
    noise = SIGMA * C * random.normal(key, total.shape)
    return total + noise, noise


@wrong()
def one_number_for_all_entries(params, batch, key):
    total = clipped_sum(per_example(params, batch))
    noise = SIGMA * C * random.normal(key)
    return descend(params, jax.tree.map(lambda g: g + noise, total))


@wrong("raw-output")
def loss_comes_back(params, batch, key):
    losses = jax.vmap(partial(loss, params))(batch["x"], batch["y"])
    return update(params, clipped_sum(per_example(params, batch)), key), {"loss": losses.sum()}


@wrong("raw-output")
def norms_come_back(params, batch, key):
    grads = per_example(params, batch)
    return update(params, clipped_sum(grads), key), jax.vmap(optax.global_norm)(grads)


@wrong("raw-output")
def number_of_clipped_comes_back(params, batch, key):
    grads = per_example(params, batch)
    count = (jax.vmap(optax.global_norm)(grads) > C).sum()
    return update(params, clipped_sum(grads), key), count


@wrong("realised-size", adjacencies=(ADD,))
def divided_by_the_batch(params, batch, key):
    grads = noisy(clipped_sum(per_example(params, batch)), key)
    return descend(params, grads, by=float(len(batch["y"])))


@wrong(adjacencies=(ADD,))
def size_comes_back(params, batch, key):
    return update(params, clipped_sum(per_example(params, batch)), key), jnp.asarray(
        len(batch["y"])
    )


@wrong("undefined-size", adjacencies=(ADD,))
def reshaped_under_add_remove(params, batch, key):
    parts = jax.tree.map(lambda a: a.reshape(3, 2, *a.shape[1:]), batch)
    total = jax.tree.map(
        lambda g: g.sum(0), lax.map(lambda p: clipped_sum(per_example(params, p)), parts)
    )
    return update(params, total, key)


def _normalised(params, batch):
    hidden = batch["x"] @ params["w1"] + params["b1"]
    hidden = (hidden - hidden.mean(0)) / jnp.sqrt(hidden.var(0) + 1e-5)
    return jax.nn.relu(hidden) @ params["w2"] + params["b2"]


@wrong(adjacencies=(REPLACE,))
def batch_normalisation(params, batch, key):
    def one(i):
        of = lambda p: optax.softmax_cross_entropy_with_integer_labels(  # noqa: E731
            _normalised(p, batch)[i], batch["y"][i]
        )
        return jax.grad(of)(params)

    return update(params, clipped_sum(jax.vmap(one)(jnp.arange(6))), key)


@wrong(adjacencies=(REPLACE,))
def in_batch_negatives(params, batch, key):
    hidden = jax.vmap(partial(mlp, params))(batch["x"])

    def of(p, x, i):
        return -jax.nn.log_softmax(hidden @ mlp(p, x))[i]

    grads = jax.vmap(jax.grad(of), (None, 0, 0))(params, batch["x"], jnp.arange(6))
    return update(params, clipped_sum(grads), key)


@wrong(adjacencies=(REPLACE,))
def attention_across_the_batch(params, batch, key):
    mixed = jax.nn.softmax(batch["x"] @ batch["x"].T) @ batch["x"]
    return update(params, clipped_sum(per_example(params, {**batch, "x": mixed})), key)


@wrong()
def class_weights_after_clipping(params, batch, key):
    counts = jnp.zeros(3).at[batch["y"]].add(1.0) + 1.0
    grads = per_example(params, batch)
    factor = jnp.minimum(1.0, C / jax.vmap(optax.global_norm)(grads)) / counts[batch["y"]]
    return update(params, jax.tree.map(lambda g: jnp.tensordot(factor, g, 1), grads), key)


@wrong()
def divided_by_the_weights(params, batch, key):
    grads = clipped_sum(per_example(params, batch))
    grads = jax.tree.map(lambda g: g / (batch["y"] == 0).sum(), grads)
    return update(params, grads, key)


@wrong()
def standardised_inputs(params, batch, key):
    x = batch["x"] / jnp.abs(batch["x"]).max()
    return update(params, clipped_sum(per_example(params, {**batch, "x": x})), key)


@wrong("nan", params=LINEAR, batch=FLAT)
def nan_from_the_norm(params, batch, key):
    def one(x, y):
        grad = jax.grad(squared)(params, x, y)
        return jax.tree.map(lambda g: C * g / optax.global_norm(grad), grad)

    total = jax.tree.map(lambda g: g.sum(0), jax.vmap(one)(batch["x"], batch["y"]))
    return update(params, total, key)


@wrong("nan", params=LINEAR, batch=FLAT)
def nan_from_a_root_in_the_loss(params, batch, key):
    of = lambda p, x, y: jnp.linalg.norm(p["w"] * x) * y  # noqa: E731
    return update(params, clipped_sum(per_example(params, batch, of)), key)


@wrong("half-precision")
def norm_in_half_precision(params, batch, key):
    grads = jax.tree.map(lambda g: g.astype(jnp.float16), per_example(params, batch))
    norms = jnp.sqrt(sum((g**2).reshape(len(g), -1).sum(1) for g in jax.tree.leaves(grads)))
    factor = jnp.minimum(1.0, C / norms)
    total = jax.tree.map(lambda g: jnp.einsum("i...,i->...", g, factor).astype(jnp.float32), grads)
    return update(params, total, key)


@wrong()
def summed_in_half_precision(params, batch, key):
    grads = per_example(params, batch)
    norms = jax.vmap(optax.global_norm)(grads)
    half = jax.tree.map(
        lambda g: (
            jax.vmap(jnp.multiply)(g, jnp.minimum(1.0, C / norms)).astype(jnp.bfloat16).sum(0)
        ),
        grads,
    )
    return update(params, half, key)


@wrong(truth=SIGMA / 2)
def clipped_per_layer_with_noise_for_one(params, batch, key):
    def clip(g):
        norms = jnp.sqrt(jnp.sum(g.reshape(len(g), -1) ** 2, axis=1))
        return jnp.einsum("i...,i->...", g, jnp.minimum(1.0, C / norms))

    return update(params, jax.tree.map(clip, per_example(params, batch)), key)


@wrong(truth=SIGMA / np.sqrt(2))
def released_twice(params, batch, key):
    first, second = random.split(key)
    total = clipped_sum(per_example(params, batch))
    return update(params, total, first), update(params, total, second)


@wrong(truth=SIGMA / 2)
def every_record_twice(params, batch, key):
    total = clipped_sum(per_example(params, batch))
    again = clipped_sum(per_example(params, batch))
    return update(params, jax.tree.map(jnp.add, total, again), key)


@wrong(truth=SIGMA / 3)
def whole_batch_each_round(params, batch, key):
    def add(total, _):
        return jax.tree.map(jnp.add, total, clipped_sum(per_example(params, batch))), None

    total, _ = lax.scan(add, jax.tree.map(jnp.zeros_like, params), None, length=3)
    return update(params, total, key)


@wrong(truth=SIGMA / 2, adjacencies=(REPLACE,))
def overlapping_microbatches(params, batch, key):
    total = jax.tree.map(jnp.zeros_like, params)
    for i in (0, 2):
        part = jax.tree.map(lambda a, i=i: a[i : i + 4], batch)
        total = jax.tree.map(jnp.add, total, clipped_sum(per_example(params, part)))
    return update(params, total, key)


@wrong(adjacencies=(REPLACE,))
def overlapping_slices_in_a_loop(params, batch, key):
    def add(i, total):
        part = jax.tree.map(lambda a: lax.dynamic_slice_in_dim(a, i, 4), batch)
        return jax.tree.map(jnp.add, total, clipped_sum(per_example(params, part)))

    total = lax.fori_loop(0, 3, add, jax.tree.map(jnp.zeros_like, params))
    return update(params, total, key)


STEPS["overlapping_slices_in_a_loop"] = STEPS["overlapping_slices_in_a_loop"]._replace(
    truth=SIGMA / 3
)


@wrong(truth=SIGMA / np.sqrt(5))
def five_steps_counted_once(params, batch, key):
    for each in random.split(key, 5):
        params = update(params, clipped_sum(per_example(params, batch)), each)
    return params


@wrong(truth=SIGMA * 0.9, params={"p": MLP, "sigma": jnp.asarray(1.0)})
def noise_scale_from_the_params(params, batch, key):
    total = clipped_sum(per_example(params["p"], batch))
    return update(params["p"], total, key, params["sigma"])


@wrong()
def clipped_by_the_norm_of_another_order(params, batch, key):
    grads = per_example(params, batch)
    norms = sum((jnp.abs(g).reshape(len(g), -1) ** 3).sum(1) for g in jax.tree.leaves(grads)) ** (
        1 / 3
    )
    factor = jnp.minimum(1.0, C / norms)
    return update(params, jax.tree.map(lambda g: jnp.tensordot(factor, g, 1), grads), key)


@wrong()
def clipped_the_wrong_way_round(params, batch, key):
    grads = per_example(params, batch)
    factor = jnp.maximum(1.0, C / jax.vmap(optax.global_norm)(grads))
    return update(params, jax.tree.map(lambda g: jnp.tensordot(factor, g, 1), grads), key)


@wrong()
def squared_norm_forgotten_root(params, batch, key):
    grads = per_example(params, batch)
    factor = jnp.where(jax.vmap(optax.global_norm)(grads) > C, 1.0, C)
    return update(params, jax.tree.map(lambda g: jnp.tensordot(factor, g, 1), grads), key)


@wrong(truth=SIGMA * C)
def factor_is_one_over_norm(params, batch, key):
    """Clips to norm 1, with noise for C < 1."""
    grads = per_example(params, batch)
    factor = 1.0 / jnp.maximum(1.0, jax.vmap(optax.global_norm)(grads))
    return update(params, jax.tree.map(lambda g: jnp.tensordot(factor, g, 1), grads), key)


@wrong(adjacencies=(REPLACE,))
def norms_of_other_records(params, batch, key):
    grads = per_example(params, batch)
    factor = jnp.minimum(1.0, C / jax.vmap(optax.global_norm)(grads))[::-1]
    return update(params, jax.tree.map(lambda g: jnp.tensordot(factor, g, 1), grads), key)


@wrong()
def multiplied_after_clipping(params, batch, key):
    """A record's own unbounded weight, applied after its clipping."""
    grads = per_example(params, batch)
    factor = jnp.minimum(1.0, C / jax.vmap(optax.global_norm)(grads)) * jnp.abs(batch["x"][:, 0])
    return update(params, jax.tree.map(lambda g: jnp.tensordot(factor, g, 1), grads), key)


@wrong("private-branch", "after-sum", adjacencies=(REPLACE,))
def branch_on_the_data(params, batch, key):
    return lax.cond(
        batch["y"].sum() > 3, lambda p: p, lambda p: jax.tree.map(lambda a: a + 1, p), params
    )


@wrong()
def stops_when_the_loss_is_small(params, batch, key):
    total = jax.vmap(partial(loss, params))(batch["x"], batch["y"]).sum()
    new = update(params, clipped_sum(per_example(params, batch)), key)
    return jax.tree.map(lambda a, b: jnp.where(total < 1.0, a, b), params, new)


@wrong("closed-over", adjacencies=(ADD, REPLACE))
def data_in_a_closure(params, batch, key):
    return update(
        params, clipped_sum(per_example(params, {"x": _HIDDEN["x"], "y": _HIDDEN["y"]})), key
    ), (jax.vmap(partial(mlp, params))(_HIDDEN["x"]))


_HIDDEN = {"x": normal(40, 5), "y": jnp.arange(40) % 3}


@wrong(truth=SIGMA / 2, adjacencies=(ZERO,))
def bias_has_a_gradient_on_a_null_row(params, batch, key):
    return update(params, clipped_sum(per_example(params, batch)), key)


@wrong()
def prints_the_data(params, batch, key):
    jax.debug.print("{}", batch["x"].sum())
    shown = jax.pure_callback(
        lambda a: np.asarray(a), jax.ShapeDtypeStruct((), jnp.float32), batch["x"].sum()
    )
    return update(params, clipped_sum(per_example(params, batch)), key), shown


@wrong()
def noise_per_record_of_the_wrong_shape(params, batch, key):
    flat = jax.vmap(lambda g: ravel_pytree(g)[0])(per_example(params, batch))
    flat = flat * jnp.minimum(1.0, C / jnp.linalg.norm(flat, axis=1))[:, None]
    return flat + SIGMA * C * random.normal(key, (flat.shape[1],))


@wrong()
def noise_known_from_a_second_draw(params, batch, key):
    total = clipped_sum(per_example(params, batch))["b1"]
    return total + SIGMA * C * random.normal(key, total.shape), random.bits(key, (4,))


@wrong(truth=SIGMA)
def noise_looks_normal_but_is_not(params, batch, key):
    @jax.jit
    def _normal(key):
        return random.uniform(key, (6,)) * 0.0

    total = clipped_sum(per_example(params, batch))["b1"]
    return total + SIGMA * C * _normal(key)


STEPS["noise_looks_normal_but_is_not"] = STEPS["noise_looks_normal_but_is_not"]._replace(truth=0.0)


@wrong("noise-reused", adjacencies=(REPLACE,))
def noise_drawn_outside_the_loop(params, batch, key):
    noise = SIGMA * C * random.normal(key, params["b1"].shape)

    def one(b1, _):
        total = clipped_sum(per_example({**params, "b1": b1}, batch))["b1"]
        return total + noise, None

    return lax.scan(one, params["b1"], None, length=3)[0]


@wrong("positions", adjacencies=(ADD,))
def slices_by_place_under_add_remove(params, batch, key):
    total = jax.tree.map(jnp.zeros_like, params)
    for i in range(0, 4, 2):
        part = jax.tree.map(lambda a, i=i: a[i : i + 2], batch)
        total = jax.tree.map(jnp.add, total, clipped_sum(per_example(params, part)))
    return update(params, total, key)


@wrong("positions", adjacencies=(ADD,))
def a_record_by_its_place(params, batch, key):
    grads = [jax.grad(loss)(params, batch["x"][i], batch["y"][i]) for i in range(4)]
    grads = [
        jax.tree.map(lambda g, c=jnp.minimum(1.0, C / optax.global_norm(t)): g * c, t)
        for t in grads
    ]
    return update(params, jax.tree.map(lambda *g: sum(g), *grads), key)


@wrong("effect")
def shows_the_loss_while_it_runs(params, batch, key):
    jax.debug.print("{}", jax.vmap(partial(loss, params))(batch["x"], batch["y"]).sum())
    return update(params, clipped_sum(per_example(params, batch)), key)


def _by_threshold(params, batch, threshold, factor):
    grads = per_example(params, batch)
    factors = factor(jax.vmap(optax.global_norm)(grads), threshold)
    return jax.tree.map(lambda g: jnp.einsum("i...,i->...", g, factors), grads)


def _least(norm, threshold):
    return jnp.minimum(1.0, threshold / (norm + 1e-6))


STATE = (MLP, jnp.float32(1.0))


@wrong("factor-unbounded", "noise-unit", params=STATE)
def threshold_that_may_be_negative(state, batch, key):
    params, c = state
    total = _by_threshold(params, batch, c, lambda n, c: 1.0 / jnp.maximum(1.0, n / c))
    return update(params, total, key, c), c


@wrong("noise-unit", params=STATE)
def noise_by_the_square_of_the_threshold(state, batch, key):
    params, c = state
    return update(params, _by_threshold(params, batch, c, _least), key, c * c), c


@wrong("noise-unit", params=STATE)
def noise_of_a_fixed_scale_beside_a_threshold(state, batch, key):
    params, c = state
    return update(params, _by_threshold(params, batch, c, _least), key, 1.0), c


@wrong("noise-unit", params=(MLP, jnp.float32(1.0), jnp.float32(2.0)))
def noise_by_another_threshold(state, batch, key):
    params, c, d = state
    return update(params, _by_threshold(params, batch, c, _least), key, d), c, d


@wrong("no-clip", "factor-unbounded", params=(MLP, jnp.float32(1.0), jnp.float32(2.0)))
def compared_with_another_threshold(state, batch, key):
    params, c, d = state
    total = _by_threshold(params, batch, c, lambda n, c: jnp.where(n > d, c / (n + 1e-6), 1.0))
    return update(params, total, key, c), c, d


@wrong("noise-unit", params=STATE)
def threshold_that_grows_from_round_to_round(state, batch, key):
    params, c = state

    def add(carry, xy):
        total, here = carry
        grad = jax.grad(loss)(params, *xy)
        factor = _least(optax.global_norm(grad), here)
        return (jax.tree.map(lambda t, g: t + g * factor, total, grad), here * 2), None

    start = (jax.tree.map(jnp.zeros_like, params), c)
    (total, _), _ = lax.scan(add, start, (batch["x"], batch["y"]))
    return update(params, total, key, c), c


@wrong("noise-unit", params=(MLP, jnp.float32(1.0), jnp.float32(2.0)))
def threshold_of_a_branch(state, batch, key):
    params, c, d = state

    def by(threshold):
        return lambda: _by_threshold(params, batch, threshold * 1.5, _least)

    total = lax.cond(c > d, by(c), by(d))
    return update(params, total, key, c), c, d


@wrong(params=STATE, truth=0.5)
def two_thresholds_count_twice(state, batch, key):
    params, c = state
    one = _by_threshold(params, batch, c, _least)
    two = _by_threshold(params, batch, c, lambda n, c: c / jnp.maximum(n + 1e-6, jnp.abs(c)))
    return update(params, jax.tree.map(jnp.add, one, two), key, c), c


@wrong(truth=SIGMA / 2, adjacencies=(REPLACE,))
def microbatches_that_overlap_clipped_as_one(params, batch, key):
    def mean(p, part):
        return jax.vmap(loss, (None, 0, 0))(p, part["x"], part["y"]).mean()

    def group(part):
        grad = jax.grad(mean)(params, part)
        return jax.tree.map(
            lambda g: g * jnp.minimum(1.0, C / (optax.global_norm(grad) + 1e-6)), grad
        )

    one = group(jax.tree.map(lambda leaf: leaf[:4], batch))
    two = group(jax.tree.map(lambda leaf: leaf[2:], batch))
    return update(params, jax.tree.map(jnp.add, one, two), key)
