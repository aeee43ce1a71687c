"""The jitted step against naive loops; the audit catches what goes wrong in private training."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import chi2, kstest

from dpcheck import Budget, Ledger, epsilon
from dpcheck.core.errors import InvalidParameter
from dpcheck.core.events.training import SampledGaussian
from dpcheck.mechanisms import DPDA, GDPDA
from dpcheck.mechanisms.adaptation import step as _dpda_step
from dpcheck.mechanisms.adaptation.network import apply, cross_entropy, initial_layers
from dpcheck.mechanisms.adaptation.noisy_steps import NoisyGradient, noisy_gradient
from dpcheck.mechanisms.adaptation.step import (
    Batch,
    StepRules,
    Weights,
    jitted_run,
    jitted_runs,
    jitted_step,
    release,
)

QUIET = 1e-7  # noise so small that float32 sums show through


def _network(rng, intercepts=True):
    low = initial_layers([5, 4, 3], rng, intercepts=intercepts)
    high = initial_layers([3, 2], rng, intercepts=intercepts)
    return low + high, 2


def _batch(rng, size=7, padded=3):
    mask = np.r_[np.ones(size), np.zeros(padded)].astype(np.float32)
    X = rng.normal(size=(size + padded, 5)).astype(np.float32) * 3 * mask[:, None]
    return Batch(jnp.asarray(X), jnp.asarray(rng.integers(0, 2, size + padded)), jnp.asarray(mask))


def _flat(tree):
    return np.concatenate([np.asarray(leaf, float).ravel() for leaf in jax.tree.leaves(tree)])


def _naive(layers, depth, batch, rule):
    """Per-example gradients one by one with jax.grad, clipped and summed in numpy."""
    low_sum, high_sum = 0.0, 0.0
    for x, y, used in zip(batch.X, batch.y, batch.mask, strict=True):
        if not used:
            continue
        g = jax.grad(lambda w, x=x, y=y: cross_entropy(apply(w, x)[0], y))(layers)
        low, high = _flat(g[:depth]), _flat(g[depth:])
        if rule.joint:
            parts = [low, high] if rule.use_features else [high]
            norm = np.linalg.norm(np.concatenate(parts))
            factors = [1 / max(1.0, norm / rule.clip)] * 2
        else:
            factors = [1 / max(1.0, np.linalg.norm(v) / rule.clip) for v in (low, high)]
        low_sum = low_sum + factors[0] * low
        high_sum = high_sum + factors[1] * high
    return low_sum, high_sum


@pytest.mark.parametrize("intercepts", [True, False])
@pytest.mark.parametrize("clip", [0.05, 0.7, 100.0])
@pytest.mark.parametrize("variant", ["corrected", "blocks-apart", "printed-algorithm"])
def test_clipped_sums_equal_a_per_example_loop(variant, clip, intercepts):
    rng = np.random.default_rng(3)
    layers, depth = _network(rng, intercepts)
    batch = _batch(rng)
    rule = noisy_gradient(variant, QUIET, clip, 7)
    low, high = release(layers, depth, batch, rule, jax.random.key(0))
    naive_low, naive_high = _naive(layers, depth, batch, rule)
    np.testing.assert_allclose(_flat(high), naive_high, atol=2e-5 * clip + 1e-5)
    if variant == "printed-algorithm":
        assert not _flat(low).any()
    else:
        np.testing.assert_allclose(_flat(low), naive_low, atol=2e-5 * clip + 1e-5)


def test_joint_clipping_bounds_one_row_and_separate_clipping_does_not():
    rng = np.random.default_rng(4)
    layers, depth = _network(rng)
    for variant, wanted in (("corrected", 0.5), ("blocks-apart", 0.5 * np.sqrt(2))):
        rule = noisy_gradient(variant, QUIET, 0.5, 7)
        batch = _batch(rng, size=1)
        found = _flat(release(layers, depth, batch, rule, jax.random.key(0)))
        assert np.linalg.norm(found) == pytest.approx(wanted, rel=1e-4)


def test_noise_has_the_stated_scale_and_is_normal():
    rng = np.random.default_rng(5)
    layers, depth = _network(rng)
    empty = Batch(jnp.zeros((4, 5)), jnp.zeros(4, int), jnp.zeros(4))
    rule = noisy_gradient("corrected", 6.0, 3.0, 4)
    keys = jax.random.split(jax.random.key(1), 500)
    draw = jax.jit(jax.vmap(lambda key: release(layers, depth, empty, rule, key)))
    values = _flat(draw(keys)) / 18
    assert kstest(values, "norm").pvalue > 1e-4
    assert chi2.sf(np.sum(values**2), len(values)) > 1e-4


def test_noise_per_example_grows_with_the_batch():
    rng = np.random.default_rng(5)
    layers, depth = _network(rng)
    rule = NoisyGradient(6.0, 3.0, 4, joint=False, noise_per_example=True)
    keys = jax.random.split(jax.random.key(1), 400)
    spreads = []
    for size in (1, 9):
        batch = Batch(jnp.zeros((9, 5)), jnp.zeros(9, int), jnp.asarray(np.arange(9) < size, float))
        draws = jax.vmap(lambda key, b=batch: release(layers, depth, b, rule, key))(keys)
        spreads.append(np.std(np.stack([np.asarray(d[0]["W"])[:, 0, 0] for d in (draws[0],)])))
    assert spreads[1] / spreads[0] == pytest.approx(3, rel=0.15)


def _naive_step(rules, weights, label, source, target, nu):
    """Equations (11)-(15) for a public source, one jax.grad of a summed loss after the other."""

    def total(layers, batch):
        losses = jax.vmap(lambda x, y: cross_entropy(apply(layers, x)[0], y))(batch.X, batch.y)
        return jnp.sum(losses * batch.mask)

    size, depth = rules.target.batch, len(weights.features)
    g = jax.grad(total)(weights.features + weights.label, label)
    features = [
        {k: w[k] - rules.label_rate / size * d[k] for k in w}
        for w, d in zip(weights.features, g[:depth], strict=True)
    ]
    head = [
        {k: w[k] - rules.label_rate / size * d[k] for k in w}
        for w, d in zip(weights.label, g[depth:], strict=True)
    ]
    g_s = jax.grad(total)(features + weights.domain, source)
    g_t = jax.grad(total)(features + weights.domain, target)
    both = jax.tree.map(jnp.add, g_s, g_t)
    rate = rules.domain_rate / size
    features = [
        {k: w[k] + nu * rate * d[k] for k in w} for w, d in zip(features, both[:depth], strict=True)
    ]
    domain = [
        {k: w[k] - rate * d[k] for k in w}
        for w, d in zip(weights.domain, both[depth:], strict=True)
    ]
    return Weights(features, head, domain)


def _setting(rng, noise=QUIET, clip=1e4):
    weights = Weights(
        initial_layers([5, 4], rng), initial_layers([4, 2], rng), initial_layers([4, 2], rng)
    )
    rules = StepRules(noisy_gradient("corrected", noise / clip, clip, 7), None, 0.3, 0.2)
    batches = [_batch(rng) for _ in range(3)]
    batches[1] = batches[1]._replace(y=jnp.zeros(10, int))
    batches[2] = batches[2]._replace(y=jnp.ones(10, int))
    return rules, weights, batches


def test_step_follows_the_equations_with_gradient_reversal():
    rules, weights, batches = _setting(np.random.default_rng(8))
    moved = jitted_step(rules, weights, *batches, 0.4, jax.random.key(0))
    wanted = _naive_step(rules, weights, *batches, 0.4)
    np.testing.assert_allclose(_flat(moved), _flat(wanted), atol=1e-5)


def test_scan_and_vmap_run_the_same_steps():
    rng = np.random.default_rng(9)
    rules, weights, _ = _setting(rng)
    data = _dpda_step.Data(
        jnp.asarray(rng.normal(size=(20, 5)), jnp.float32),
        jnp.asarray(rng.integers(0, 2, 20)),
        jnp.asarray(rng.normal(size=(15, 5)), jnp.float32),
    )
    rows = np.stack([rng.integers(0, 15, (6, 3, 4)) for _ in range(2)]).astype(np.int32)
    rows[:, :, :, -1] = 20  # padding for both datasets
    nus = np.linspace(0, 1, 6, dtype=np.float32)
    keys = jax.random.split(jax.random.key(3), 2)
    twice = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), weights)
    many = jitted_runs(rules, twice, data, rows, nus, keys)
    for index in range(2):
        one = jitted_run(rules, weights, data, rows[index], nus, keys[index])
        mine = jax.tree.map(lambda leaf, i=index: leaf[i], many)
        np.testing.assert_allclose(_flat(mine), _flat(one), atol=1e-5)


# Training ----------------------------------------------------------------------------------------


def _domains(rng, shift=0.4):
    X = rng.normal(size=(400, 8)).astype(np.float32)
    y = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")
    other = rng.normal(size=(300, 8)).astype(np.float32)
    truth = np.where(other[:, 0] + other[:, 1] > 0, "yes", "no")
    return X, y, other + shift * np.eye(8)[5], truth


@pytest.mark.parametrize("kind", [DPDA, GDPDA])
def test_training_learns_and_spends_what_it_says(kind):
    rng = np.random.default_rng(1)
    X, y, target, truth = _domains(rng)
    model = kind(8.0, 1e-5, noise=1.5, clip=1.0, batch=40, epochs=25, hidden=(16,), label_rate=0.2)
    model.fit(X, y, target, rng=rng)
    assert (model.predict(target) == truth).mean() > 0.8
    np.testing.assert_allclose(model.predict_proba(target).sum(axis=1), 1, rtol=1e-6)
    event = model.release_event("target")
    assert event == SampledGaussian(1.5, 40 / 300) * model.steps_
    if kind is GDPDA:
        assert model.release_event("source") == SampledGaussian(1.5, 40 / 400) * (2 * model.steps_)


def test_training_stops_at_the_ledgers_budget():
    rng = np.random.default_rng(2)
    X, y, target, _ = _domains(rng)
    ledger = Ledger(budget=Budget(1.0, 1e-5), adjacency="add-remove")
    patients = ledger.dataset("patients", rows=300)
    model = DPDA(9.0, 1e-5, noise=4.0, batch=40, epochs=400, hidden=(4,))
    model.fit(X, y, target, rng=rng, ledger=ledger, target=patients)
    assert model.stopped_
    assert 0 < model.steps_ < model.plan_.steps
    assert ledger.epsilon(delta=1e-5).upper <= 1.0
    spent = epsilon(model.release_event("target"), delta=1e-5, adjacency="add-remove")
    assert spent.upper <= 1.0


def test_bad_input_is_named():
    rng = np.random.default_rng(2)
    X, y, target, _ = _domains(rng)
    for wrong, words in (
        ({"batch": 1000}, "batch / rows"),
        ({"clip": 0.0}, "clip"),
        ({"nu": 1.5}, "nu must be"),
        ({"variant": "x"}, "variant"),
        ({"noise": -1.0}, "noise"),
        ({"delta": 0.0}, "delta"),
    ):
        with pytest.raises(InvalidParameter, match=words):
            DPDA(**{"epochs": 1, **wrong}).fit(X, y, target)
    with pytest.raises(InvalidParameter, match="same features"):
        DPDA(epochs=1).fit(X, y, target[:, :5])
    with pytest.raises(InvalidParameter, match="one class"):
        DPDA(epochs=1).fit(X, np.full(len(X), "no"), target)
    with pytest.raises(InvalidParameter, match="no algorithm for G-DPDA"):
        GDPDA(variant="printed-algorithm", epochs=1).fit(X, y, target)
