"""JAX Privacy: clipped gradients and Gaussian noise."""

from __future__ import annotations

from functools import cache
from typing import Any

from dpcheck.libraries.entry import Library

LIBRARY = Library(
    "jax-privacy",
    module="jax_privacy",
    requires=("jax-privacy",),
    tried="2.0.0",
    says="The L2 sensitivity of the returned function … under add/remove or zero-out differential "
    "privacy definitions is guaranteed to be 1.0 if `rescale_to_unit_norm` is True. Otherwise, the "
    "sensitivity is `l2_clip_norm`.",
    place="docstring of jax_privacy.clipping.clipped_grad, Formal Guarantees",
    reading="The library states a sensitivity; that Gaussian noise scaled to it has the privacy curve "
    "of the Gaussian mechanism is ours.",
)
__getattr__ = LIBRARY.find


@cache
def _compiled(stddev: float, rescaled: bool) -> Any:
    """One sum of clipped gradients with Gaussian noise scaled to its sensitivity."""
    import jax
    import jax.numpy as jnp
    from jax_privacy import clipping, noise_addition

    def loss(weight: Any, row: Any) -> Any:
        return jnp.sum(weight * row)

    gradient = clipping.clipped_grad(
        loss, l2_clip_norm=1.0, batch_argnums=1, rescale_to_unit_norm=rescaled
    )
    bound = gradient.sensitivity()

    def step(data: Any, seed: Any) -> Any:
        found = gradient(jnp.zeros(2), data)
        key = jax.random.key(seed)
        privatizer = noise_addition.gaussian_privatizer(stddev=stddev * bound, prng_key=key)
        return privatizer.update(found, privatizer.init(found))[0]

    return jax.jit(step)


def _noisy(name: str, stddev: float, rescaled: bool = False) -> None:
    def step(rows: Any, rng: Any) -> Any:
        import numpy as np

        seed = int(rng.integers(1 << 31))
        return np.asarray(_compiled(stddev, rescaled)(np.array(rows), seed)).tolist()

    LIBRARY.target(
        name,
        claim={"Gaussian": stddev},
        adjacency="zero-out",
        neighbours=[([[3.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [0.0, 1.0]])],
    )(step)


_noisy("clipped_grad", 1.0)
_noisy("clipped_grad_rescaled", 1.0, rescaled=True)
_noisy("clipped_grad_more_noise", 2.0)
