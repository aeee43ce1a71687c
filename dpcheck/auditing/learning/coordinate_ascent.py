"""From the best output that was sampled to a better one that may be too rare to be sampled."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpcheck.auditing.learning.features import as_steps

Array = NDArray[np.float64]
_CHOICES = 48  # values tried per column
_SWEEPS = 4


def ascend(loss: Callable[[Array], Array], seen: Array, start: Array) -> tuple[float, Array]:
    """The largest loss found by changing one value, or one step between values, at a time.

    Values and steps come from outputs that were `seen`, and, where they are many, from beyond
    their range. Deterministic.

    Guarantee: at least the loss of `start`.
    Assumes: `loss` is right at every output put together so, also at impossible ones, where it
    must not be above the largest possible loss (-inf will do).

    >>> ascend(lambda o: -((o - 2) ** 2).sum(axis=1), np.arange(8.0).reshape(4, 2), np.zeros(2))
    (-1.0, array([2., 1.]))
    """
    choices = [_choices(column) for column in seen.T]
    steps = [_choices(column) for column in as_steps(seen).T] if seen.shape[1] > 1 else []
    best, output = float(loss(start[None, :])[0]), start
    for _ in range(_SWEEPS):
        before = best
        for index, values in enumerate([*choices, *steps]):
            change = _with_value if index < len(choices) else _with_step
            candidates = change(output, index % len(output), values)
            losses = loss(candidates)
            place = int(np.argmax(losses))
            if losses[place] > best:
                best, output = float(losses[place]), candidates[place]
        if best <= before:
            break
    return best, output


def _choices(column: Array) -> Array:
    values = np.unique(column)
    if len(values) <= _CHOICES:
        return values
    inside = np.quantile(values, np.linspace(0, 1, _CHOICES), method="nearest")
    beyond = (values[-1] - values[0]) * 2.0 ** -np.arange(16)
    return np.concatenate([values[0] - beyond, inside, values[-1] + beyond])


def _with_value(output: Array, index: int, values: Array) -> Array:
    changed = np.repeat(output[None, :], len(values), axis=0)
    changed[:, index] = values
    return changed


def _with_step(output: Array, index: int, sizes: Array) -> Array:
    """One step changed; all later values move along."""
    own = as_steps(output[None, :])[0, index]
    changed = np.repeat(output[None, :], len(sizes), axis=0)
    changed[:, index:] += (sizes - own)[:, None]
    return changed
