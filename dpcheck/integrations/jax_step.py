"""One step of a plain jax loop taken apart: its private gradient against naive ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dpcheck.auditing.training.step import Indices, Step, Vector
from dpcheck.core.errors import MissingExtra
from dpcheck.integrations.foreign import Foreign


def jax_step(
    params: Foreign,
    loss: Callable[[Foreign, Foreign, Foreign], Foreign],
    data: tuple[Foreign, Foreign],
    private_gradient: Callable[[Foreign, Foreign, Foreign, Foreign], Foreign],
    sample: Callable[[np.random.Generator], Sequence[int] | Indices],
    *,
    noise_multiplier: float,
    clip: float,
    sampling_rate: float,
    divisor: float,
) -> Step:
    """The step of a loop of your own, to be checked with `check_step`.

    `private_gradient(params, inputs, targets, key)` is what the optimiser will be given, shaped as
    `params`; `loss(params, input, target)` is that of one example. `data` are all inputs and all
    targets, `sample(rng)` the indices of one batch.
    """
    try:
        import jax
        from jax.flatten_util import ravel_pytree
    except ImportError:
        raise MissingExtra("jax is not installed; run: pip install jax") from None
    inputs, targets = (np.asarray(part) for part in data)
    own = jax.grad(loss)

    def flat(found: Foreign) -> Vector:
        return np.asarray(ravel_pytree(found)[0], dtype=float)

    def update(indices: Indices, rng: np.random.Generator) -> Vector:
        key = jax.random.PRNGKey(int(rng.integers(1 << 31)))
        return flat(private_gradient(params, inputs[indices], targets[indices], key))

    def gradient(index: int) -> Vector:
        return flat(own(params, inputs[index], targets[index]))

    # Followed numbers would stay in what jit has compiled.
    return Step(
        update,
        gradient,
        sample,
        len(inputs),
        noise_multiplier,
        clip,
        sampling_rate,
        divisor,
        follow=False,
        code=private_gradient,
    )
