"""The real training step of DPDA under a canary: what it releases, and whether that is its event.

The network has no intercepts and every row but the canary is 0, so in the real code, unchanged, all
other gradients vanish; the canary's are far longer than the clipping norm in both blocks. With the
canary the sum is its clipped gradient g, without it 0, plus noise: the pair the accountant bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, chi2

from dpcheck.core.errors import DpcheckError

Array = NDArray[np.float64]
FEATURES, HIDDEN, CANARY = 6, 4, 1000.0
RUNS, LEVEL = 4000, 1e-6


def canary_layers() -> tuple[list[Any], int]:
    """A small network without intercepts, and how many of its layers are the extractor."""
    rng = np.random.default_rng(20)
    # Half the units fire for the canary and half for its opposite, so that a leak of the canary
    # into other rows shows whatever its sign. The head takes the canary for the other domain,
    # so the loss does not saturate and both gradients are long.
    signs = np.where(np.arange(HIDDEN) % 2 == 0, 1.0, -1.0)
    low = np.abs(rng.normal(0, np.sqrt(2 / FEATURES), (FEATURES, HIDDEN))) * signs
    high = np.tile([0.1, -0.1], (HIDDEN, 1))
    return [{"W": np.float32(low)}, {"W": np.float32(high)}], 1


def _compiled(rule: Any, shared: bool) -> Any:
    """The mechanism's own release, vmapped over keys and, unless shared, over batches."""
    from dpcheck.mechanisms.adaptation import step as mechanism

    # Compiled code is reused only while all that went into it is the same: a replaced function must
    # be seen.
    code = tuple(vars(mechanism)[name] for name in _RELEASE)
    return _compiled_as(rule, shared, code)


_RELEASE = ("gather", "release", "signals", "squared_norms", "weighted_sums", "_noised")


@cache
def _compiled_as(rule: Any, shared: bool, code: tuple[Any, ...]) -> Any:
    from dpcheck.mechanisms.adaptation.lazy_jax import jax, jnp
    from dpcheck.mechanisms.adaptation.step import TARGET

    layers, depth = canary_layers()
    gather, release = code[:2]

    def one(X: Any, chosen: Any, key: Any) -> Any:
        batch = gather(X, jnp.full(X.shape[0], TARGET, jnp.int32), chosen)
        low, high = release(layers, depth, batch, rule, key)
        used = [*low, *high] if rule.use_features else list(high)
        return jnp.concatenate([leaf.ravel() for leaf in jax.tree.leaves(used)])

    return jax.jit(jax.vmap(one, in_axes=(None, None if shared else 0, 0)))


def _keys(size: int, rng: np.random.Generator) -> Any:
    from dpcheck.mechanisms.adaptation.lazy_jax import jax

    return jax.random.split(jax.random.key(int(rng.integers(2**63))), size)


@cache
def _clipped_canary(rule: Any) -> Array:
    """The clipped gradient of the canary, by a plain loop over blocks of jax.grad.

    Written apart from the mechanism's clipped sums, so that each checks the other.
    """
    from dpcheck.mechanisms.adaptation.lazy_jax import jax
    from dpcheck.mechanisms.adaptation.network import apply, cross_entropy
    from dpcheck.mechanisms.adaptation.step import TARGET

    layers, depth = canary_layers()
    x = np.full(FEATURES, CANARY, np.float32)
    gradient = jax.jit(jax.grad(lambda w: cross_entropy(apply(w, x)[0], TARGET)))(layers)
    flat = [
        np.concatenate([np.asarray(leaf, float).ravel() for leaf in jax.tree.leaves(block)])
        for block in (gradient[:depth], gradient[depth:])
    ]
    if not rule.use_features:
        flat = flat[1:]
    if rule.joint:
        flat = [np.concatenate(flat)]
    return np.concatenate([g / max(1.0, float(np.linalg.norm(g)) / rule.clip) for g in flat])


@dataclass(frozen=True, slots=True)
class CanaryStep:
    """The release of one batch by the mechanism's own code, on rows of 0 with or without a canary."""

    rule: Any  # NoisyGradient
    rows: int

    def data(self, canaries: int) -> Array:
        """The target's rows: so many copies of the canary, else 0."""
        rows = np.zeros((self.rows, FEATURES))
        rows[:canaries] = CANARY
        return rows

    def releases(self, data: Array, size: int, rng: np.random.Generator) -> Array:
        """`size` releases on Poisson samples of the rows, flattened."""
        from dpcheck.mechanisms.adaptation.sampling import poisson_batches

        chosen = poisson_batches(len(data), self.rule.sampling_rate(self.rows), size, rng)
        draw = _compiled(self.rule, shared=False)
        return np.asarray(draw(np.float32(data), chosen, _keys(size, rng)), dtype=float)

    def canary_gradient(self) -> Array:
        """The clipped gradient of the canary."""
        return _clipped_canary(self.rule).copy()

    def summaries(self, data: Array, size: int, rng: np.random.Generator) -> Array:
        """Per release: the part along the canary's gradient, and the energy of the rest, over sigma C."""
        direction = self.canary_gradient()
        direction /= np.linalg.norm(direction)
        releases = self.releases(data, size, rng)
        along = releases @ direction
        rest = np.sum(releases**2, axis=1) - along**2
        unit = self.rule.noise * self.rule.clip
        return np.column_stack([along / unit, rest / unit**2])

    @property
    def dimensions(self) -> int:
        """Coordinates orthogonal to the canary's gradient."""
        return len(self.canary_gradient()) - 1

    def pivots(self, data: Array, summaries: Array) -> Array:
        """Gamma((dimensions)/2), or Gamma(1) where the noise depends on the batch, if all is right."""
        energy = summaries[:, 1]
        if not self.rule.noise_per_example:
            return np.asarray(energy / 2)
        # Energy over a batch of b rows is b chi2; the batch is binomial. An empty batch has energy 0.
        sizes = np.arange(1, len(data) + 1)
        shares = binom.pmf(sizes, len(data), self.rule.sampling_rate(self.rows))
        live = shares > 1e-18
        sizes, shares = sizes[live], shares[live]
        upper = chi2.cdf(energy[:, None] / sizes, self.dimensions) @ shares
        upper += binom.pmf(0, len(data), self.rule.sampling_rate(self.rows))
        return np.asarray(-np.log1p(-np.minimum(upper, 1 - 1e-15)))

    def check_length(self) -> None:
        """The canary's gradient must be as long as the event's sensitivity."""
        length = float(np.linalg.norm(self.canary_gradient())) / self.rule.clip
        blocks = 2 if self.rule.use_features and not self.rule.joint else 1
        if abs(length - blocks**0.5) > 1e-5:
            raise DpcheckError(
                f"the canary's gradient is {length:.6g} C long where the event says sqrt({blocks}) C; "
                "the canary does not reach the clipping norm.",
                length=length,
            )

    def check(self, rng: np.random.Generator) -> dict[str, float]:
        """Whether the step's sums and samples are those of its event; an error if not.

        With every row in the batch, releases have mean k g for k canaries: chi2 tests over all
        coordinates, which any leak of one row into another's gradient, any other clipping and any
        other scale of the sum fails. The sampler's inclusions are binomial.
        """
        found = {}
        gradient = self.canary_gradient()
        self.check_length()
        spread = self.rule.noise * self.rule.clip
        if self.rule.noise_per_example:
            spread *= self.rows**0.5
        draw, everybody = _compiled(self.rule, shared=True), np.arange(self.rows, dtype=np.int32)
        for canaries in (0, 1, min(5, self.rows)):
            rows = np.float32(self.data(canaries))
            releases = np.asarray(draw(rows, everybody, _keys(RUNS, rng)), dtype=float)
            apart = releases.mean(axis=0) - canaries * gradient
            energy = RUNS * float(np.sum(apart**2)) / spread**2
            found[f"mean with {canaries} canaries"] = float(chi2.sf(energy, len(gradient)))
        from dpcheck.mechanisms.adaptation.sampling import poisson_batches

        rate = self.rule.sampling_rate(self.rows)
        hits = int(np.sum(poisson_batches(self.rows, rate, 20_000, rng) == 0))
        tail = min(binom.cdf(hits, 20_000, rate), binom.sf(hits - 1, 20_000, rate))
        found["inclusions"] = min(1.0, 2 * float(tail))
        for name, p_value in found.items():
            if p_value < LEVEL:
                raise DpcheckError(
                    f"the training step does not do what its event says ({name}: p = "
                    f"{p_value:.2g}), so the accountant's pair is not the step's and no verdict is "
                    "given.",
                    p_value=p_value,
                )
        return found
