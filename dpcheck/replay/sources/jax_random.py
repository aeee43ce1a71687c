"""jax: draws from keys are noted; arrays are compiled code and are not followed."""

from __future__ import annotations

import sys

import numpy as np

from dpcheck.core.data import Value
from dpcheck.replay.draws import Family, users_line
from dpcheck.replay.marks import Mark, MarkKind
from dpcheck.replay.sources.base import Hook, Source, register

FAMILIES = {
    "normal": Family.NORMAL,
    "laplace": Family.LAPLACE,
    "uniform": Family.UNIFORM,
    "exponential": Family.EXPONENTIAL,
    "gumbel": Family.GUMBEL,
    "logistic": Family.LOGISTIC,
    "cauchy": Family.CAUCHY,
}


@register
class Jax(Source):
    """jax.random.normal and its kin outside of compiled functions, and keys made of constants.

    Only the standard forms without location and scale can be replaced by recorded numbers; inside
    jit nothing is seen, since a trace has no numbers.
    """

    name = "jax"
    needs = "jax.random"

    def install(self) -> None:
        """Replace the functions of jax.random."""
        module: Value = sys.modules[self.needs]
        for name, family in FAMILIES.items():
            if hasattr(module, name):
                self.replace(module, name, self._drawn(name, family, getattr(module, name)))
        for name in ("PRNGKey", "key"):
            if hasattr(module, name):
                self.replace(module, name, self._key(getattr(module, name)))

    def _drawn(self, name: str, family: Family, real: Hook) -> Hook:
        recorder = self.recorder

        def hook(key: Value, shape: Value = (), *args: Value, **kwargs: Value) -> Value:
            if not recorder.plain:
                recorder.mark(MarkKind.UNFOLLOWED, f"jax.random.{name}")
            jax: Value = sys.modules["jax"]
            with recorder.quietly():
                made = real(key, shape, *args, **kwargs)
                if args or kwargs or isinstance(made, jax.core.Tracer):
                    return made
                atoms = recorder.draw(f"jax.random.{name}", family, tuple(made.shape))
                values = np.array([recorder.values[a] for a in atoms]).reshape(made.shape)
                return jax.numpy.asarray(values, dtype=made.dtype)

        return hook

    def _key(self, real: Hook) -> Hook:
        recorder = self.recorder

        def hook(seed: Value, *args: Value, **kwargs: Value) -> Value:
            if issubclass(type(seed), int | np.integer):
                note = Mark(MarkKind.GENERATOR, users_line(), f"seed {seed!r:.40}")
                recorder.fixed_seeds.append(note)
            with recorder.quietly():
                return real(seed, *args, **kwargs)

        return hook
