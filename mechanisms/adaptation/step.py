"""One training step of DPDA and G-DPDA, jitted; the release of a private batch on its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from dpcheck.core.errors import InvalidParameter
from dpcheck.core.validate import positive
from dpcheck.mechanisms.adaptation.lazy_jax import Tensor, jax, jnp
from dpcheck.mechanisms.adaptation.network import (
    Layers,
    Signals,
    signals,
    squared_norms,
    weighted_sums,
)
from dpcheck.mechanisms.adaptation.noisy_steps import NoisyGradient

SOURCE, TARGET = 0, 1  # domain labels


class Weights(NamedTuple):
    """All parameters. With separate heads the target's domain classifier is `target_domain`."""

    features: Layers
    label: Layers
    domain: Layers
    target_domain: Layers | None = None


class Batch(NamedTuple):
    """Rows padded to a fixed size; `mask` is 1 for rows that were sampled."""

    X: Tensor
    y: Tensor
    mask: Tensor


@dataclass(frozen=True, slots=True)
class StepRules:
    """What a step does: its learning rates, and how private batches are released.

    `source` None is DPDA, whose source is public; with it, G-DPDA. `adapt` False is plain training
    on the source, `noisy` False DANN.
    """

    target: NoisyGradient
    source: NoisyGradient | None = None
    label_rate: float = 0.05
    domain_rate: float = 1e-3
    adapt: bool = True
    noisy: bool = True

    def __post_init__(self) -> None:
        positive("label_rate", self.label_rate)
        positive("domain_rate", self.domain_rate)


def release(
    layers: Layers, features: int, batch: Batch, rule: NoisyGradient, key: Tensor
) -> tuple[Layers, Layers]:
    """The noisy gradient sums of the extractor (the first `features` layers) and of the head.

    Guarantee: with `rule.joint`, adding or removing one row of the batch moves the pair by at most
    rule.clip in norm before noise of deviation rule.noise * rule.clip in every coordinate.
    """
    found = signals(layers, batch.X, batch.y)
    low, high = slice(0, features), slice(features, len(layers))
    squares = (squared_norms(layers, found, low), squared_norms(layers, found, high))
    if rule.joint:
        both = squares[1] + (squares[0] if rule.use_features else 0.0)
        squares = (both, both)
    shares = [batch.mask / jnp.maximum(1.0, jnp.sqrt(square) / rule.clip) for square in squares]
    spread = rule.noise * rule.clip
    if rule.noise_per_example:
        spread = spread * jnp.sqrt(jnp.sum(batch.mask))
    keys = jax.random.split(key, 2)
    head = _noised(weighted_sums(layers, found, high, shares[1]), spread, keys[1])
    if not rule.use_features:
        return jax.tree.map(jnp.zeros_like, layers[low]), head
    return _noised(weighted_sums(layers, found, low, shares[0]), spread, keys[0]), head


def _noised(sums: Layers, spread: Tensor, key: Tensor) -> Layers:
    leaves, shape = jax.tree.flatten(sums)
    keys = jax.random.split(key, len(leaves))
    noisy = [
        leaf + spread * jax.random.normal(k, leaf.shape, leaf.dtype)
        for leaf, k in zip(leaves, keys, strict=True)
    ]
    filled: Layers = jax.tree.unflatten(shape, noisy)
    return filled


def _plain(layers: Layers, features: int, batch: Batch) -> tuple[Layers, Layers]:
    """Gradient sums of public rows."""
    found: Signals = signals(layers, batch.X, batch.y)
    low, high = slice(0, features), slice(features, len(layers))
    return (
        weighted_sums(layers, found, low, batch.mask),
        weighted_sums(layers, found, high, batch.mask),
    )


def _gradients(
    layers: Layers, features: int, batch: Batch, rule: NoisyGradient | None, key: Tensor
) -> tuple[Layers, Layers]:
    if rule is None:
        return _plain(layers, features, batch)
    return release(layers, features, batch, rule, key)


def _moved(layers: Layers, gradient: Layers, step: Tensor) -> Layers:
    moved: Layers = jax.tree.map(lambda w, g: w - step * g, layers, gradient)
    return moved


class Update(NamedTuple):
    """The gradient sums one batch contributed, and the layers they were taken at."""

    layers: Layers
    features: Layers
    head: Layers


class Updates(NamedTuple):
    """All that a step adds to the weights; without adaptation only the first."""

    label: Update
    source: Update | None = None
    target: Update | None = None


Watch = Callable[[Updates], Tensor]  # what an observer keeps of a step, in jax


def step(rules: StepRules, *arguments: Tensor) -> Weights:
    """The weights after one step; the arguments are those of `watched_step`."""
    return watched_step(rules, *arguments)[0]


def watched_step(
    rules: StepRules,
    weights: Weights,
    label: Batch,
    source: Batch,
    target: Batch,
    nu: Tensor,
    key: Tensor,
) -> tuple[Weights, Updates]:
    """One step: phase 1 on `label`, then phase 2 on `source` and `target`, [Wang2020] (11)-(15).

    Batches are other Poisson samples; phase 2 sees the weights that phase 1 left. The updates are
    what the step really applies, before learning rates: what an attacker of the training sees.
    """
    size = rules.target.batch
    keys = jax.random.split(key, 3)
    depth = len(weights.features)
    own = rules.source if rules.noisy else None
    layers = weights.features + weights.label
    low, high = _gradients(layers, depth, label, own, keys[0])
    shown = Updates(Update(layers, low, high))
    rate = rules.label_rate / size
    weights = weights._replace(
        features=_moved(weights.features, low, rate), label=_moved(weights.label, high, rate)
    )
    if not rules.adapt:
        return weights, shown
    apart = weights.target_domain
    heads = (weights.domain, weights.domain if apart is None else apart)
    ours, theirs = (weights.features + head for head in heads)
    low_s, high_s = _gradients(ours, depth, source, own, keys[1])
    hidden = rules.target if rules.noisy else None
    low_t, high_t = _gradients(theirs, depth, target, hidden, keys[2])
    shown = shown._replace(source=Update(ours, low_s, high_s), target=Update(theirs, low_t, high_t))
    rate = rules.domain_rate / size
    # The extractor climbs the domain loss: gradient reversal by -nu, noise included.
    both = jax.tree.map(jnp.add, low_s, low_t)
    features = _moved(weights.features, both, -nu * rate)
    if apart is not None:
        return weights._replace(
            features=features,
            domain=_moved(heads[0], high_s, rate),
            target_domain=_moved(heads[1], high_t, rate),
        ), shown
    head = _moved(heads[0], jax.tree.map(jnp.add, high_s, high_t), rate)
    return weights._replace(features=features, domain=head), shown


@cache
def _compiled(function: Callable[..., object]) -> Callable[..., Tensor]:
    """A function of rules and arrays, compiled once for every set of rules and shapes."""
    compiled: Callable[..., Tensor] = jax.jit(function, static_argnums=0)
    return compiled


def jitted_step(rules: StepRules, *arguments: Tensor) -> Weights:
    """`step` as one compiled call."""
    moved: Weights = _compiled(step)(rules, *arguments)
    return moved


def gather(X: Tensor, y: Tensor, rows: Tensor) -> Batch:
    """The batch that row numbers stand for; a number beyond the last row is padding."""
    mask = (rows < X.shape[0]).astype(jnp.float32)
    safe = jnp.minimum(rows, X.shape[0] - 1)
    return Batch(X[safe] * mask[:, None], y[safe], mask)


class Data(NamedTuple):
    """Source rows and labels, target rows."""

    X_source: Tensor
    y_source: Tensor
    X_target: Tensor


def run(
    rules: StepRules, weights: Weights, data: Data, rows: Tensor, nus: Tensor, key: Tensor
) -> Weights:
    """All steps of `rows` (steps, 3, padded batch): label, source and target rows of each."""
    return watched_run((rules, None), weights, data, rows, nus, key)[0]


def watched_run(
    how: tuple[StepRules, Watch | None],
    weights: Weights,
    data: Data,
    rows: Tensor,
    nus: Tensor,
    key: Tensor,
) -> tuple[Weights, Tensor]:
    """`run`, and what an observer keeps of every step, stacked."""
    rules, watch = how
    zeros = jnp.zeros(data.X_source.shape[0], jnp.int32) + SOURCE
    ones = jnp.zeros(data.X_target.shape[0], jnp.int32) + TARGET

    def one(carried: Weights, given: Tensor) -> tuple[Weights, Tensor]:
        chosen, nu, own_key = given
        moved, shown = watched_step(
            rules,
            carried,
            gather(data.X_source, data.y_source, chosen[0]),
            gather(data.X_source, zeros, chosen[1]),
            gather(data.X_target, ones, chosen[2]),
            nu,
            own_key,
        )
        return moved, None if watch is None else watch(shown)

    keys = jax.random.split(key, rows.shape[0])
    final: tuple[Weights, Tensor] = jax.lax.scan(one, weights, (rows, nus, keys))
    return final


def jitted_run(rules: StepRules, *arguments: Tensor) -> Weights:
    """`run` as one compiled call."""
    final: Weights = _compiled(run)(rules, *arguments)
    return final


def jitted_watched_run(
    rules: StepRules, watch: Watch | None, *arguments: Tensor
) -> tuple[Weights, Tensor]:
    """`watched_run` as one compiled call."""
    final: tuple[Weights, Tensor] = _compiled(watched_run)((rules, watch), *arguments)
    return final


def _runs(
    rules: StepRules, weights: Weights, data: Data, rows: Tensor, nus: Tensor, keys: Tensor
) -> Tensor:
    return jax.vmap(lambda w, r, k: run(rules, w, data, r, nus, k))(weights, rows, keys)


def jitted_runs(rules: StepRules, *arguments: Tensor) -> Weights:
    """Many trainings on the same data, vmapped over weights, samples and keys."""
    final: Weights = _compiled(_runs)(rules, *arguments)
    return final


def check_widths(data: Data) -> None:
    """Source and target must have the same features."""
    if data.X_source.shape[1] != data.X_target.shape[1]:
        raise InvalidParameter(
            f"X_source and X_target must have the same features, got {data.X_source.shape[1]} and "
            f"{data.X_target.shape[1]}.",
            name="X_target",
        )
